"""What a user decides about the cloud. The key is no setting: the SDK takes it from the environment (E2B_API_KEY)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class E2BSettings:
    """All times in seconds. `budget` counts sandbox-seconds, from the order to create a sandbox to its end.

    E2B's Hobby plan allows 20 sandboxes at once, one creation per second and a lifetime of 3600; Pro 100, 5 and 86400.
    """

    size: int = 4
    lifetime: int = 900  # after which a sandbox is replaced; also the most that one can cost when this process dies
    internet: bool = False
    budget: float | None = 36_000.0
    template: str | None = None  # None: E2B's base template; another must offer Python 3.10 or newer as python3
    label: str = "selfplay"  # what the sandboxes are called in E2B's dashboard
    creation_interval: float = 1.0
    patience: float = 30.0  # how long to wait out a rate limit or a busy service
    request_timeout: float = 60.0
    batch_seconds: float = 20.0  # after which a batch ends early and the rest goes into the next one

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"size is {self.size}, it must be at least 1")
        if self.lifetime < 60:
            raise ValueError(f"lifetime is {self.lifetime} s, it must be at least 60")
