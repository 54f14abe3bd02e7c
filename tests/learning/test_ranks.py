"""Several processes do what one does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from selfplay.learning.ranks import Ranks, RanksError, connect, launch

ROOT = Path(__file__).parents[2]
WORKER = """
import json, sys
from pathlib import Path
import torch
sys.path[:0] = [{root!r}]
from selfplay.learning.ranks import connect, launch
from selfplay.learning.policy import open_policy, Choice
from selfplay.config import Config
from selfplay.learning.update import clipped_update
from tests.learning.conftest import stir
from tests.learning.test_update import SAMPLES

def main(size, model, out):
    with launch(int(size), sys.argv[1:], module=__spec__.name):
        ranks = connect()
        policy = stir(open_policy(model, Choice(rank=4), device="cpu"))
        mine = SAMPLES[ranks.rank :: ranks.size] if ranks.size < 3 else SAMPLES * (ranks.rank == 1)
        stats = [clipped_update(policy, "generator", mine, Config(), ranks) for _ in range(2)]
        empty = clipped_update(policy, "generator", [], Config(), ranks)
        digests = ranks.gather(policy.trainer.digest("generator"))
        if ranks.first:
            moved = torch.cat([p.detach().flatten() for p in policy.trainer.adapters.parameters["generator"].values()])
            Path(out).write_text(json.dumps(dict(digests=digests, tokens=[s.tokens for s in stats], empty=empty.tokens,
                loss=[s.loss for s in stats], moved=moved.tolist())))
        ranks.barrier()
        ranks.close()

main(*sys.argv[1:])
"""


def run(size: int, model: Path, folder: Path) -> dict:
    (folder / "worker.py").write_text(WORKER.format(root=str(ROOT)))
    out = folder / f"{size}.json"
    env = os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "worker", str(size), str(model), str(out)]
    subprocess.run(command, env=env, check=True, timeout=120, cwd=folder)
    return json.loads(out.read_text())


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
def test_ranks_update_as_one_process_does(model_folder: Path, tmp_path: Path, size: int) -> None:
    one, several = run(1, model_folder, tmp_path), run(size, model_folder, tmp_path)
    assert len(several["digests"]) == size
    assert len(set(several["digests"])) == 1
    assert several["tokens"] == one["tokens"] == [29, 29]
    assert several["empty"] == 0
    assert several["loss"] == pytest.approx(one["loss"], abs=1e-5)
    assert torch.allclose(torch.tensor(several["moved"]), torch.tensor(one["moved"]), atol=1e-4)


def test_one_process_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    ranks = connect()
    assert (ranks.rank, ranks.size, ranks.first) == (0, 1, True)
    assert type(ranks) is Ranks
    assert ranks.gather("x") == ["x"]
    assert ranks.reduce(torch.ones(1)).tolist() == [1.0]


CHILD = """
import os, pathlib, sys, time
from selfplay.learning.ranks import _end_with_parent
_end_with_parent()
pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
time.sleep(60)
"""


def wait_for(path: Path) -> int:
    for _ in range(400):
        if path.exists() and path.read_text():
            return int(path.read_text())
        time.sleep(0.05)
    raise TimeoutError(path)


def gone(pid: int) -> bool:
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                return True
            os.kill(pid, 0)
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.slow
def test_launched_processes_end_with_the_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sleeper.py").write_text(CHILD)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT}")
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    pid = -1
    with pytest.raises(RuntimeError, match="enough"), launch(2, [str(tmp_path / "pid")], module="sleeper"):  # noqa: PT012 -- the block is what ends them
        assert (os.environ["RANK"], os.environ["WORLD_SIZE"]) == ("0", "2")
        pid = wait_for(tmp_path / "pid")
        raise RuntimeError("enough")
    assert gone(pid)
    assert "WORLD_SIZE" not in os.environ


@pytest.mark.slow
def test_launched_processes_end_when_the_first_is_killed(tmp_path: Path) -> None:
    (tmp_path / "sleeper.py").write_text(CHILD)
    parent = (
        "import sys, time\nfrom selfplay.learning.ranks import launch\n"
        "with launch(2, [sys.argv[1]], module='sleeper'): time.sleep(60)\n"
    )
    env = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    first = subprocess.Popen([sys.executable, "-c", parent, str(tmp_path / "pid")], env=env)
    pid = wait_for(tmp_path / "pid")
    first.kill()
    first.wait()
    assert gone(pid)


def test_a_process_that_ended_is_what_broke_the_connection() -> None:
    with (
        pytest.raises(
            RanksError, match="process 1 of 2 ended with exit code 2, and the others cannot go on without it"
        ),
        launch(2, ["--no-such-flag"], module="json.tool"),
    ):
        raise RuntimeError("Connection closed by peer")
