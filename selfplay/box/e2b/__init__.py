"""Programs in E2B's virtual machines, behind the same interface as the local box.

    with SplitBox(E2BBox(E2BSettings(size=4)), home=LocalBox()) as box:
        Judge(box).matrix(...)

What runs in a machine is the local box itself, with the same accounts and limits: a batch of tasks goes there, their executions
come back. `remote` is the script that does so there · `machine` one machine, by the SDK · `pool` the machines of a box, with
their label and budget · `e2b_box` the box · `split` the box that keeps references at home.
"""

from selfplay.box.e2b.e2b_box import E2BBox
from selfplay.box.e2b.pool import E2BSettings
from selfplay.box.e2b.split import SplitBox, open_split

__all__ = ["E2BBox", "E2BSettings", "SplitBox", "open_split"]
