"""Pushing at the end of a run, `--push-to-hub user/name`: a recorder. A push that fails is said, with the command that repeats
it, and stops nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.config import Config
from selfplay.errors import SelfplayError
from selfplay.run.hub.push import again, check, push
from selfplay.run.recorders import Recorder, Savable

if TYPE_CHECKING:
    from huggingface_hub import HfApi


class Pushing(Recorder):
    """Pushes `config.output_dir`. `say`: where to say so. Raises HubError where nobody is logged in or the name is none."""

    def __init__(self, config: Config, say: Callable[[str], None], api: HfApi | None = None) -> None:
        from huggingface_hub.utils import disable_progress_bars

        assert config.push_to_hub
        self.repo, self.run = config.push_to_hub, Path(config.output_dir)
        self._say, self._api, self._saved = say, api, False
        check(self.repo, api)
        disable_progress_bars()  # they would be drawn into the run's own lines

    def save(self, policy: Savable) -> None:
        self._saved = True

    def close(self) -> None:
        """Pushes what the run saved."""
        if not self._saved:
            return
        self._saved = False
        self._say(f"pushing to {self.repo}; Ctrl-C leaves it")
        try:
            self._say(str(push(self.run, self.repo, api=self._api)))
        except Exception as error:  # noqa: BLE001 -- a stranger's library and network: no run ends for them
            why = error if isinstance(error, SelfplayError) else f"{self.repo} was not pushed: {type(error).__name__}"
            self._say(f"{why}. To push later: {again(self.run, self.repo)}")
