"""What this machine offers to a run, one finding per line: Python, packages, GPU, backend, sandbox, disk, credentials.

A finding is `ok`, `note` (a run works, something is worth knowing) or `missing` (the embedded run cannot work, and what
to do). Bounds come from the package's own metadata, or from pyproject.toml in a checkout that is not installed.
Credentials are looked for, never read out. Left out: transformers is not imported, and no network is asked.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from selfplay.errors import DISTRIBUTION, SelfplayError, install
from selfplay.run.folder import cannot_write, nearest_folder

Status = Literal["ok", "note", "missing"]

EMBEDDED_NEEDS = ("torch", "transformers", "peft", "tokenizers", "safetensors", "jinja2", "numpy", "pyyaml")
FREE_MIB = 200  # an embedded run writes some tens of MiB
WEIGHTS = ("config.json", "model.safetensors", "tokenizer.json")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w.-]+)['\"]")


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it is, what was found, and what to do about it (empty where nothing is to be done)."""

    about: str
    status: Status
    found: str
    advice: str = ""


def findings(output_dir: Path) -> list[Finding]:
    """Everything, in the order of a table. Takes a second or two where torch is installed."""
    if find_spec("packaging") is None:  # huggingface_hub and transformers need it too
        return [Finding("packaging", "missing", "not installed", "python -m pip install packaging")]
    checks: tuple[Callable[[], Iterable[Finding]], ...] = (
        python,
        packages,
        gpu_and_backend,
        embedded_player,
        sandbox,
        lambda: [disk(output_dir)],
        credentials,
    )
    return [finding for check in checks for finding in check()]


def works(found: Iterable[Finding]) -> bool:
    """Whether the embedded run can work."""
    return all(finding.status != "missing" for finding in found)


# ---- Python and packages ----


def python() -> list[Finding]:
    wanted, version = requires_python(), ".".join(map(str, sys.version_info[:3]))
    if not fits(version, wanted):
        return [Finding("Python", "missing", version, f"use a Python {wanted}")]
    return [Finding("Python", "ok", f"{version} ({sys.executable})")]


def requires_python() -> str:
    try:
        return str(metadata.metadata(DISTRIBUTION).json.get("requires_python", ""))
    except metadata.PackageNotFoundError:
        return str(_project().get("requires-python", ""))


def requirements() -> list[tuple[str, str, str]]:
    """Our dependencies as (package, bounds, extra); the extra is empty for those that every installation needs."""
    try:
        lines = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        project = _project()
        lines = list(project.get("dependencies", ()))
        for extra, wanted in project.get("optional-dependencies", {}).items():
            lines += [f'{line} ; extra == "{extra}"' for line in wanted]
    from packaging.requirements import Requirement

    needed = [(each, _EXTRA.search(str(each.marker))) for each in map(Requirement, lines)]
    # An extra may name others of this package.
    return [(n.name, str(n.specifier), extra[1] if extra else "") for n, extra in needed if n.name != DISTRIBUTION]


def _project() -> dict[str, Any]:
    """pyproject.toml's table of a checkout; empty elsewhere."""
    path = Path(__file__).resolve().parents[2] / "pyproject.toml"
    return tomllib.loads(path.read_text("utf-8")).get("project", {}) if path.is_file() else {}


def fits(version: str, bounds: str) -> bool:
    """Whether a version lies within bounds."""
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(bounds).contains(version.partition("+")[0], prereleases=True)


def packages() -> list[Finding]:
    """One finding per dependency, however many extras name it; extras that are not installed share one."""
    found, absent = [], dict[str, list[str]]()
    for package, bounds, extra in requirements():
        version = installed(package)
        if version is None and extra:
            absent.setdefault(extra, []).append(package)
        else:
            found.append(_package(package, bounds, version))
    optional = [f"{', '.join(names)} ({extra})" for extra, names in absent.items() if extra != "dev"]
    rest = [Finding("not installed", "ok", "; ".join(optional))] if optional else []
    return [*dict.fromkeys(found), *rest]


def installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _package(package: str, bounds: str, version: str | None) -> Finding:
    wanted = f"{package}{bounds}"
    install = f"python -m pip install '{wanted}'"
    if version is None:
        status: Status = "missing" if package in EMBEDDED_NEEDS else "note"
        return Finding(package, status, "not installed", install)
    if not fits(version, bounds):
        return Finding(package, "note", f"{version}, outside {bounds}: not tested", install)
    return Finding(package, "ok", f"{version} {f'({bounds})' if bounds else ''}".strip())


# ---- torch, GPU, backend ----


def gpu_and_backend() -> list[Finding]:
    if installed("torch") is None:
        return [Finding("GPU", "note", "not looked for: torch is not installed")]
    try:
        import torch
    except (ImportError, OSError) as error:
        return [Finding("torch", "missing", f"cannot be imported: {error}", "install torch again")]
    if not torch.cuda.is_available():
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        found = f"none; {cores} CPU cores"
        return [Finding("GPU", "ok", found), Finding("backend", "ok", "transformers and peft, fp32 on the CPU")]
    memory = torch.cuda.get_device_properties(0).total_memory >> 30
    gpus = Finding("GPU", "ok", f"{torch.cuda.device_count()} x {torch.cuda.get_device_name(0)}, {memory} GiB")
    return [gpus, _gpu_backend(torch.cuda.is_bf16_supported())]


def _gpu_backend(bf16: bool) -> Finding:
    if find_spec("bitsandbytes") is not None:
        return Finding(
            "backend", "ok", "transformers and peft, 4 bit on the GPU; the embedded player in fp32 on the CPU"
        )
    found = f"transformers and peft, {'bf16' if bf16 else 'fp16'} on the GPU; the embedded player in fp32 on the CPU"
    return Finding("backend", "note", found, "4 bit takes a quarter of the memory: python -m pip install bitsandbytes")


def embedded_player() -> list[Finding]:
    folder = Path(__file__).resolve().parents[1] / "tiny" / "player"
    absent = [name for name in WEIGHTS if not (folder / name).is_file()]
    if absent:
        found = f"{', '.join(absent)} missing from {folder}"
        return [Finding("embedded player", "missing", found, f"install {DISTRIBUTION} again")]
    size = (folder / "model.safetensors").stat().st_size / 1e6
    return [Finding("embedded player", "ok", f"{size:.1f} MB of weights")]


# ---- sandbox, disk, credentials ----


def sandbox() -> list[Finding]:
    from selfplay.box.local import probe

    try:
        tier = probe()
    except SelfplayError as error:
        return [Finding("sandbox", "missing", str(error), "run on Linux or WSL, or use --sandbox e2b")]
    if not tier.missing:
        return [Finding("sandbox", "ok", f"local, tier {tier.name}")]
    walls = [Finding(f"  {wall}", "note", reason) for wall, reason in tier.missing]
    return [Finding("sandbox", "note", f"local, tier {tier.name}", f"to raise it: {'; '.join(tier.advice)}"), *walls]


def disk(output_dir: Path) -> Finding:
    trouble = cannot_write(output_dir)
    if trouble:
        return Finding("disk", "missing", f"{output_dir}: {trouble}", "give another --output-dir")
    free = shutil.disk_usage(nearest_folder(output_dir)).free >> 20
    found = f"{free / 1024:.1f} GiB free for {output_dir}"
    if free < FREE_MIB:
        return Finding("disk", "missing", found, f"a run needs {FREE_MIB} MiB: free some, or give another --output-dir")
    return Finding("disk", "ok", found)


def credentials() -> list[Finding]:
    return [_hub(), _e2b()]


def _hub() -> Finding:
    home = Path(os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface")
    file = Path(os.environ.get("HF_TOKEN_PATH") or home / "token").expanduser()
    if os.environ.get("HF_TOKEN") or os.environ.get("HUGGING_FACE_HUB_TOKEN"):
        return Finding("hub", "ok", "a token is set in the environment")
    try:
        there = file.is_file() and file.stat().st_size > 0
    except OSError:
        there = False
    if there:
        return Finding("hub", "ok", f"a token lies in {file}")
    return Finding("hub", "ok", "no token: public models only", "hf auth login, or set HF_TOKEN")


def _e2b() -> Finding:
    key, sdk = bool(os.environ.get("E2B_API_KEY")), installed("e2b")
    found = f"{'a key is set' if key else 'no key'}, the SDK is {f'installed ({sdk})' if sdk else 'not installed'}"
    steps = [] if key else ["set E2B_API_KEY"]
    steps += [] if sdk else [install("e2b")]
    return Finding("E2B", "ok", found, f"for --sandbox e2b: {', '.join(steps)}" if steps else "")
