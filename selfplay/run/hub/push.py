"""Pushing a run to the hub, by huggingface_hub: one repository, one commit, private unless told otherwise.

What can go wrong there is said in a sentence with the way out, and ends no training. A repository that holds something else,
or that everybody can read although nobody asked for that, is left alone. The token is huggingface_hub's business: it comes
from where that keeps it, and what is said of an error is made of its status and the hub's own short message. Left out: deleting
what an earlier push had and this one has not.
"""

from __future__ import annotations

import json
import shlex
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.errors import SelfplayError
from selfplay.printing import printable
from selfplay.run.hub.card import TAG
from selfplay.run.hub.licence import licence_of
from selfplay.run.hub.parcel import Parcel, pack

if TYPE_CHECKING:
    from huggingface_hub import HfApi

WORDS = {
    401: "the token is not accepted; log in again with `hf auth login`, or set HF_TOKEN",
    402: "the account has no room left for private repositories; free some, or give --public",
    403: "the token may not write there; take a name of your own, or a token that can write",
    404: "there is no such user, organisation or revision; see how the name is spelled",
    409: "somebody changed it at the same moment; try again",
    413: "it is too large for the hub",
    429: "the hub asks to wait, there were too many requests; try again later",
}


class HubError(SelfplayError):
    """A push that did not come through."""


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
    """Both adapters of `run` and their card as one commit. Raises BadInput for a run, HubError for the hub.

    `base` and `dataset`: the hub's names of the base and of the problems, where the run had them from this machine.
    """
    api = api or client()
    check(repo, api)
    for name in filter(None, (base, dataset)):
        if not _is_name(name):
            raise HubError(
                f"{printable(name)[:100]} is no name on the hub, which is user/name; see --base and --dataset"
            )
    with tempfile.TemporaryDirectory(prefix="selfplay-push-") as folder:
        return send(pack(run, repo, Path(folder), base, dataset), public, revision, api)


def send(parcel: Parcel, public: bool = False, revision: str | None = None, api: HfApi | None = None) -> Pushed:
    """What `pack` made and its card, as one commit. Raises HubError."""
    api, began = api or client(), time.monotonic()
    folder, repo = parcel.folder, parcel.about.repo
    parcel.write_card(licence_of(parcel.about.base, api))
    with said(repo, "pushed"):
        _open(api, repo, public)
        if revision:
            api.create_branch(repo, branch=revision, exist_ok=True)
        api.upload_folder(
            repo_id=repo, folder_path=folder, commit_message=f"selfplay: {parcel.record.path.name}", revision=revision
        )
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Pushed(f"{api.endpoint}/{repo}", size, time.monotonic() - began)


def client() -> HfApi:
    from huggingface_hub import HfApi

    return HfApi(library_name="selfplay")


def check(repo: str, api: HfApi | None = None) -> None:
    """Raises HubError where the name is none, or nobody is logged in; asks no network."""
    named(repo)
    _logged_in(api or client())


def again(run: Path, repo: str, public: bool = False) -> str:
    """The command that pushes this run."""
    return shlex.join(["python", "-m", "selfplay.hub", "push", str(run), repo, *["--public"] * public])


def named(repo: str) -> None:
    """Raises HubError where it is no name of a repository that somebody can have."""
    if not _is_name(repo) or "/" not in repo:
        raise HubError("the name of a repository is user/name, of letters, digits, dots, dashes and underscores")


def _is_name(repo: str) -> bool:
    """Whether the hub takes it: old models have a name without a user."""
    from huggingface_hub.utils import HFValidationError, validate_repo_id

    try:
        validate_repo_id(repo)
    except HFValidationError:
        return False
    return True


def _logged_in(api: HfApi) -> None:
    from huggingface_hub import get_token

    if not (api.token or get_token()):
        raise HubError("there is no token for the hub: log in with `hf auth login`, or set HF_TOKEN")


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


@contextmanager
def said(repo: str, done: str) -> Iterator[None]:
    """Turns what huggingface_hub raises into a HubError. `done`: what was to be done."""
    from httpx import HTTPError  # what huggingface_hub speaks with

    try:
        yield
    except (OSError, HTTPError, RuntimeError, json.JSONDecodeError) as error:  # RuntimeError: a file could not be sent
        raise HubError(f"{repo} was not {done}: {_why(error)}") from None


def _why(error: BaseException) -> str:
    """By the status of the hub's answer, wherever in the chain of causes that is."""
    for each in _causes(error):
        response = getattr(each, "response", None)
        if response is not None:
            status = int(response.status_code)
            if status >= 500:
                return f"the hub failed (status {status}); try again later"
            own = printable(str(getattr(each, "server_message", None) or ""))[:200]
            return WORDS.get(status, f"the hub refused it (status {status}{': ' + own if own else ''})")
    return f"the connection failed ({type(error).__name__}); try again"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
