"""Programs in E2B's virtual machines, behind the same interface as the local box.

    with SplitBox(E2BBox(E2BSettings(size=4)), home=LocalBox()) as box:
        Judge(box).matrix(...)

`settings` what a user decides · `faults` every error of the SDK by name · `batch` orders and answers as bytes ·
`machine` one sandbox · `pool` the sandboxes of a box, their rate, label and budget · `box` the box · `split` the box
that keeps references at home. What runs in the sandbox is sandbox/batch.py and, below it, the runner of the local box.
"""

from selfplay.box.e2b.e2b_box import E2BBox
from selfplay.box.e2b.settings import E2BSettings
from selfplay.box.e2b.split import SplitBox, open_split

__all__ = ["E2BBox", "E2BSettings", "SplitBox", "open_split"]
