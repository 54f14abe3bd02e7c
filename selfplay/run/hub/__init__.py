"""A run's adapters on the hub: `parcel` makes the folder that is pushed, `card` its page, `push` sends it.

push(Path("runs/a"), "user/name")      one repository: generator/, discriminator/, README.md; private
"""

from selfplay.run.hub.push import HubError, push

__all__ = ["HubError", "push"]
