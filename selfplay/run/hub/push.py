"""Pushing a run to the hub, by huggingface_hub: one repository, one commit, private unless told otherwise.

What is pushed is what `--player RUN` plays: both adapters, the settings, curves, a card; for the embedded player its base too.
An adapter names its base in adapter_config.json. The embedded player lies on this machine only, so its files go to the root of
the repository, and the adapters name that; any other base must have a name on the hub. A repository that holds something else,
or that everybody can read although nobody asked for that, is left alone. Left out: records, whose texts are many and somebody's
to look through first; checkpoints' optimizers; deleting what an earlier push had and this one has not.

`Pushing` does it at the end of a run, `--push-to-hub user/name`. There a push that fails is said, with the command that repeats
it, and stops nothing.
"""

from __future__ import annotations

import json
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.config import Config
from selfplay.errors import BadInput, SelfplayError
from selfplay.game.episode import ROLES
from selfplay.printing import printable
from selfplay.run.adapters import TrainedAdapters, find_adapters
from selfplay.run.folder import ADAPTER, BASE, CONFIG, WEIGHTS
from selfplay.run.hub.card import CURVES, TAG, Subject, card, curves
from selfplay.run.hub.client import HubError, asking, check_repository, client, is_name
from selfplay.run.reading import RunRecord, read_run
from selfplay.run.recorders import Recorder, Savable

if TYPE_CHECKING:
    from huggingface_hub import HfApi

EMBEDDED = "embedded"  # what the player that comes with the package is called as a base
PLAYER = ("tiny", "player")  # the last parts of its folder, which PEFT alone would name


@dataclass(frozen=True, slots=True)
class Pushed:
    """Where it lies, how many bytes it was and how long it took."""

    url: str
    size: int
    seconds: float

    def __str__(self) -> str:
        return f"pushed to {self.url} ({self.size / 1e6:.1f} MB, {self.seconds:.0f} s)"


def push(
    run: Path,
    repo: str,
    public: bool = False,
    revision: str | None = None,
    base: str | None = None,
    dataset: str | None = None,
    api: HfApi | None = None,
) -> Pushed:
    """Both adapters of `run` and their card as one commit. Raises BadInput, AdapterError for a run, HubError for the hub.

    `base` and `dataset`: the hub's names of the base and of the problems, where the run had them from this machine.
    """
    api, began = api or client(), time.monotonic()
    check(repo, api)
    for name in filter(None, (base, dataset)):
        if not is_name(name):
            raise HubError(
                f"{printable(name)[:100]} is no name on the hub, which is user/name; see --base and --dataset"
            )
    with tempfile.TemporaryDirectory(prefix="selfplay-push-") as made:
        folder, record = Path(made), read_run(run)
        subject = pack(record, repo, folder, base, dataset)
        (folder / "README.md").write_text(card(record, subject, api), encoding="utf-8")
        with asking(repo, "pushed"):
            _open(api, repo, public)
            if revision:
                api.create_branch(repo, branch=revision, exist_ok=True)
            message = f"selfplay: {run.name}"
            api.upload_folder(repo_id=repo, folder_path=folder, commit_message=message, revision=revision)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Pushed(f"{api.endpoint}/{repo}", size, time.monotonic() - began)


def check(repo: str, api: HfApi | None = None) -> None:
    """Raises HubError where the name is none, or nobody is logged in; asks no network."""
    from huggingface_hub import get_token

    check_repository(repo)
    if not ((api or client()).token or get_token()):
        raise HubError("there is no token for the hub: log in with `hf auth login`, or set HF_TOKEN")


def pack(record: RunRecord, repo: str, into: Path, base: str | None, dataset: str | None) -> Subject:
    """Fills the empty folder `into`, but for the card; asks no network. Raises BadInput."""
    adapters = find_adapters(record.path)
    missing = [
        role for role in ROLES if role not in adapters.folders or not (adapters.folders[role] / WEIGHTS).is_file()
    ]
    if missing:
        raise BadInput(
            f"{record.path} holds no adapter of the {missing[0]}; a run saves both when it ends or is interrupted"
        )
    base = _base(adapters, base)
    for role, folder in adapters.folders.items():
        (into / role).mkdir()
        for name in (WEIGHTS, BASE):
            if (folder / name).is_file():
                shutil.copy(folder / name, into / role)
        settings = json.loads((folder / ADAPTER).read_text(encoding="utf-8"))
        text = json.dumps({**settings, "base_model_name_or_path": base or repo}, indent=2)
        (into / role / ADAPTER).write_text(text + "\n", encoding="utf-8")
    if base is None:
        for path in Path(__file__).parents[2].joinpath(*PLAYER).iterdir():
            if path.suffix in (".json", ".jinja", ".safetensors"):
                shutil.copy(path, into)
    if (record.path / CONFIG).is_file():
        shutil.copy(record.path / CONFIG, into)
    drawn = curves(record)
    if drawn:
        (into / CURVES).write_text(drawn, encoding="utf-8")
    return Subject(repo, base, bool(drawn), adapters.rank, dataset)


def _base(adapters: TrainedAdapters, base: str | None) -> str | None:
    """The hub's name of what the adapters were made for: `base` where that is a folder here; None for the embedded player."""
    named = adapters.model
    if named == EMBEDDED or Path(named).parts[-2:] == PLAYER:
        return None
    if base is None and (named.count("/") != 1 or Path(named).is_dir()):
        raise BadInput(
            f"the adapters' base is {printable(named) or 'not named'}, which is no user/name on the hub: nobody else could "
            "find it; give --base with its name on the hub"
        )
    return base or named


def _open(api: HfApi, repo: str, public: bool) -> None:
    """The repository, made where it is not there. Raises HubError where it is not ours to write to."""
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        info = api.model_info(repo)
    except RepositoryNotFoundError:
        api.create_repo(repo, private=not public, exist_ok=True)
        return
    files = {each.rfilename for each in info.siblings or ()} - {".gitattributes"}
    if files and TAG not in (info.tags or ()):
        raise HubError(f"{repo} holds something else ({', '.join(sorted(files)[:3])}); give another name")
    if not info.private and not public:
        raise HubError(f"{repo} can be read by everybody; give --public to push there all the same, or another name")


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
            command = shlex.join(["python", "-m", "selfplay.hub", "push", str(self.run), self.repo])
            self._say(f"{why}. To push later: {command}")
