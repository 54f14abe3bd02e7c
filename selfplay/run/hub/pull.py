"""A player from the hub: the adapters and settings of a repository, in huggingface_hub's own cache.

What comes from there is data: weights as safetensors, settings as JSON and YAML. Nothing in a repository is run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.errors import BadInput
from selfplay.game.episode import ROLES
from selfplay.run.folder import ADAPTER, BASE, CONFIG, WEIGHTS
from selfplay.run.hub.client import HubError, asking, check_repository, client

if TYPE_CHECKING:
    from huggingface_hub import HfApi

PATIENCE = 5.0  # seconds for a first answer; huggingface_hub sets no limit, and a mistyped name may wait for ever
FILES = (CONFIG, *(f"{role}/{name}" for role in ROLES for name in (WEIGHTS, ADAPTER, BASE)))


def pull(repo: str, revision: str | None = None, endpoint: str | None = None, token: str | None = None) -> Path:
    """The folder with both adapters and the run's settings. Raises HubError; BadInput where the repository holds no player."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import LocalEntryNotFoundError

    check_repository(repo)
    api = HfApi(endpoint or client().endpoint, token, library_name="selfplay")
    there = _answers(api, repo, revision)
    with asking(repo, "fetched"):
        try:
            folder = Path(
                api.snapshot_download(repo, revision=revision, allow_patterns=list(FILES), local_files_only=not there)
            )
        except LocalEntryNotFoundError:
            if there:
                raise
            raise HubError(
                f"{repo} cannot be fetched: {api.endpoint} does not answer, and no copy of it is kept here; see how the "
                "name is spelled, and whether there is a network"
            ) from None
    missing = [role for role in ROLES if not (folder / role / WEIGHTS).is_file()]
    if missing:
        raise BadInput(f"{repo} holds no adapter of the {' and none of the '.join(missing)}; name another player")
    return folder


def _answers(api: HfApi, repo: str, revision: str | None) -> bool:
    """Whether the hub says anything of a repository, if only that there is none."""
    from httpx import HTTPError, TransportError

    try:
        api.model_info(repo, revision=revision, timeout=PATIENCE)
    except (OSError, HTTPError) as error:  # what the hub says is the fetching's to tell
        return not isinstance(error, TransportError)
    return True


def here_or_fetched(name: str) -> Path:
    """The folder of this name; where there is none, and none that could hold it, the player user/name or user/name@revision.

    Raises BadInput where it is neither.
    """
    path, (repo, _, revision) = Path(name), name.partition("@")
    if path.exists() or path.is_absolute() or path.parent.is_dir() or repo.count("/") != 1:
        return path
    try:
        return pull(repo, revision or None)
    except HubError as error:
        raise BadInput(f"{name} is no folder here, and {error}") from None
