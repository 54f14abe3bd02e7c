"""Pushing at the end of a run: `--push-to-hub user/name`.

A recorder. What is pushed is copied at once and sent by a thread, which is waited for. A push that fails is said, with the
command that repeats it, and stops nothing.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.config import Config
from selfplay.errors import SelfplayError
from selfplay.run.hub.parcel import Parcel, find_adapters, pack
from selfplay.run.hub.push import again, check, send
from selfplay.run.recorders import Recorder, Savable

if TYPE_CHECKING:
    from huggingface_hub import HfApi


class Pushing(Recorder):
    """Pushes `config.output_dir`. `say`: where to say so. Raises HubError where nobody is logged in or the name is none."""

    def __init__(self, config: Config, say: Callable[[str], None], api: HfApi | None = None) -> None:
        from huggingface_hub.utils import disable_progress_bars

        assert config.push_to_hub
        self.repo, self.run = config.push_to_hub, Path(config.output_dir)
        self._say, self._api = say, api
        self._thread: threading.Thread | None = None
        self._pushed: Path | None = None
        check(self.repo, api)
        disable_progress_bars()  # they would be drawn into the run's own lines

    def save(self, policy: Savable) -> None:
        """The run ends: what is under way is waited for, then the last is sent."""
        self._wait()
        self._start()

    def close(self) -> None:
        if self._thread and self._thread.is_alive():
            self._say(f"waiting for the push to {self.repo}; Ctrl-C leaves it")
        self._wait()

    def _start(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="selfplay-push-"))
        try:
            newest = find_adapters(self.run).folder
            if newest == self._pushed:
                shutil.rmtree(folder)
                return
            parcel = pack(self.run, self.repo, folder)
        except (SelfplayError, OSError) as error:
            shutil.rmtree(folder, ignore_errors=True)
            self._failed(error)
            return
        self._pushed = newest
        self._thread = threading.Thread(target=self._send, args=(parcel,), daemon=True)
        self._thread.start()

    def _send(self, parcel: Parcel) -> None:
        try:
            self._say(str(send(parcel, api=self._api)))
        except Exception as error:  # noqa: BLE001 -- a stranger's library and network: no run ends for them
            self._failed(error)
        finally:
            shutil.rmtree(parcel.folder, ignore_errors=True)

    def _failed(self, error: Exception) -> None:
        why = error if isinstance(error, SelfplayError) else f"{self.repo} was not pushed: {type(error).__name__}"
        self._say(f"{why}. The run goes on; to push later: {again(self.run, self.repo)}")

    def _wait(self) -> None:
        if self._thread:
            self._thread.join()
