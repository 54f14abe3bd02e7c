"""What a GPU shows and a CPU cannot: every invariant on CUDA with both backends, speed, memory, and the plan against the peak.

    python -m benchmarks.gpu                  # everything, 30 minutes at most, each part 9 at most and in a process of its own
    python -m benchmarks.gpu --minutes 60     # with more time; a part that would begin too late is left out, and it is said
    python -m benchmarks.gpu --part NAME      # one part; --list names them
    python -m benchmarks.gpu --dry-run        # the same on tiny models and this CPU: shows that the benchmark runs

Offline: models are random, of real shapes (random_models.py). Each part plays a step of the game with the policy as
`selfplay.train` opens it, judges it, and makes an update from advantages of plus and minus one, since random models earn
nothing. `two models` holds a base for each role, as the prototype did. `as a T4` may use 14.7 GiB and computes in fp16. Without
a GPU it is the dry run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

LIMIT, MINUTES = 540, 30  # seconds of a part, and minutes of all


@dataclass(frozen=True, slots=True)
class Part:
    """What is run: a shape of random_models.py and keys of the configuration."""

    name: str
    shape: str
    keys: tuple[tuple[str, Any], ...] = ()
    two_models: bool = False
    gib: float | None = None


PEFT, UNSLOTH = ("backend", "transformers"), ("backend", "unsloth")
NF4, HALF = ("load_in_4bit", True), ("dtype", "float16")
PARTS = (
    Part("0.5B, transformers, 16 bit", "0.5b", (PEFT, ("load_in_4bit", False))),
    Part("1.5B, transformers, 4 bit", "1.5b", (PEFT, NF4)),
    Part("1.5B, unsloth, 4 bit", "1.5b", (UNSLOTH, NF4)),
    Part("1.5B, unsloth, 4 bit, as a T4", "1.5b", (UNSLOTH, NF4, HALF), gib=14.7),
    Part("Qwen3 1.7B, unsloth, 4 bit", "qwen3-1.7b", (UNSLOTH, NF4)),
    Part("7B, transformers, 4 bit", "7b", (PEFT, NF4)),
    Part("7B, unsloth, 4 bit", "7b", (UNSLOTH, NF4)),
    Part("7B, two models, 4 bit", "7b", (PEFT, NF4), two_models=True),
)
DRY = (
    Part("tiny, transformers", "tiny", (PEFT, ("sampler", "own"))),
    Part("tiny, generate", "tiny3", (PEFT, ("sampler", "generate"))),
    Part("tiny, two models", "tiny3", (PEFT,), two_models=True),
)
GAME = {"problems_per_step": 1, "num_generations": 4, "num_suites": 2, "num_targets": 2, "max_completion_length": 256}
DRY_GAME = {"problems_per_step": 1, "num_generations": 2, "num_suites": 1, "num_targets": 1, "max_completion_length": 8}
COLUMNS = ("tokens/s", "play s", "judge s", "update s", "swap ms", "plan GiB", "peak GiB", "invariants")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", help="run this part alone")
    parser.add_argument("--list", action="store_true", help="print the parts")
    parser.add_argument("--dry-run", action="store_true", help="tiny models on this CPU")
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"for all parts together; {MINUTES}")
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    dry = arguments.dry_run or not _cuda()
    parts = DRY if dry else PARTS
    if arguments.list:
        print("\n".join(part.name for part in parts))
        return 0
    chosen = [part for part in parts if arguments.part in (None, part.name)]
    if not chosen:
        parser.error(f"there is no part {arguments.part!r}; --list names them")
    if arguments.folder:
        print("TOLD" + json.dumps(measured(chosen[0], Path(arguments.folder), dry)))
        return 0
    print(_heading(dry), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        return in_time(
            chosen, lambda part, most: _run(part, Path(folder) / part.shape, dry, most), 60 * arguments.minutes
        )


def in_time(
    parts: Iterable[Part],
    run: Callable[[Part, float], int],
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Runs parts, each with the time that it may take, until all `seconds` are used up. The exit code: 0 where all did well."""
    end, codes = clock() + seconds, [0]
    for part in parts:
        left = end - clock()
        if left > 0:
            codes.append(run(part, min(LIMIT, left)))
        else:
            print(
                f"| {part.name} | skipped: the {seconds / 60:g} minutes are over; give --part or more --minutes |",
                flush=True,
            )
            codes.append(1)
    return max(codes)


def _cuda() -> bool:
    import torch

    return torch.cuda.is_available()


def _heading(dry: bool) -> str:
    from importlib import metadata

    import torch

    where = "this CPU: a dry run, whose figures mean nothing" if dry else torch.cuda.get_device_name()
    names = ("torch", "transformers", "peft", "unsloth", "bitsandbytes")
    have = {each.metadata["Name"].lower(): each.version for each in metadata.distributions()}
    versions = ", ".join(f"{name} {have.get(name, 'not installed')}" for name in names)
    return f"{where}; {versions}\n\n| part | {' | '.join(COLUMNS)} |\n|---|{'---|' * len(COLUMNS)}"


def _run(part: Part, model: Path, dry: bool, most: float) -> int:
    """One part in a process of its own: Unsloth changes classes, and memory is counted per process."""
    end = time.monotonic() + most
    if not model.is_dir():
        from benchmarks.random_models import make

        make(part.shape, model, "cpu" if dry else "cuda", "float32" if dry else "bfloat16")
        if not dry:
            import torch

            torch.cuda.empty_cache()
    words = [sys.executable, "-m", "benchmarks.gpu", "--part", part.name, "--folder", str(model)]
    try:
        ran = subprocess.run(
            [*words, *["--dry-run"] * dry], capture_output=True, text=True, timeout=max(1.0, end - time.monotonic())
        )
    except subprocess.TimeoutExpired:
        print(f"| {part.name} | stopped after {most:.0f} s |", flush=True)
        return 1
    if ran.returncode:
        print(f"| {part.name} | failed: {ran.stderr.strip().splitlines()[-1:]} |", flush=True)
        print(ran.stderr[-3000:], file=sys.stderr)
        return 1
    told = json.loads(ran.stdout.rpartition("TOLD")[2])
    print(f"| {part.name} | {' | '.join(str(told[column]) for column in COLUMNS)} |", flush=True)
    return 0


def measured(part: Part, model: Path, dry: bool) -> dict[str, Any]:
    """The figures of one part; raises where an invariant does not hold."""
    import torch

    from selfplay.config import configure
    from selfplay.game.phases import Step
    from selfplay.game.rollout import play
    from selfplay.learning import setup
    from selfplay.learning.ranks import Ranks
    from selfplay.match.examine import examine
    from selfplay.match.score import score
    from selfplay.run.recorders import Recorder

    if part.gib is not None:
        torch.cuda.set_per_process_memory_fraction(part.gib * (1 << 30) / torch.cuda.mem_get_info()[1])
    game = DRY_GAME if dry else GAME
    config = configure({"model": str(model), "processes": 1, "prompts": "compact", **game, **dict(part.keys)})
    with ExitStack() as stack:
        run = stack.enter_context(setup.open_run(config, Recorder(), Ranks()))
        others = [setup.policy_of(config)] if part.two_models else []
        if others:
            run = replace(run, policy=_Two(run.policy, others[0]))  # type: ignore[arg-type]
        problems = run.problems["train"][: config.problems_per_step]
        trainer: Any = run.policy.trainer
        laps, made = [time.perf_counter()], 0
        for index, role in enumerate(("generator", "discriminator")):
            step = Step(index, 5, role, "benchmark")
            groups = play(run.policy, run.prompts, problems, step, run.table)
            laps.append(_now())
            score(examine(groups, step, run.judge, config.cases_per_turn, run.mutants), run.rule)
            laps.append(_now())
            talks = [talk for group in groups for talk in (*group.chains, *group.suites)]
            made += sum(len(turn.ids) for talk in talks for turn in talk.turns)
            _update(run, role, groups)
            laps.append(_now())
        played, judged, updated = (sum(b - a for a, b in list(pairwise(laps))[i::3]) for i in range(3))
        swap = _swap(trainer)
        _saved(trainer)
    peak = torch.cuda.max_memory_allocated() / (1 << 30) if torch.cuda.is_available() else 0.0
    figures = (made / played, played, judged, updated, 1000 * swap, _plan(config) * (1 + part.two_models), peak)
    return dict(zip(COLUMNS, [*(f"{figure:.2f}" for figure in figures), "hold"], strict=True))


class _Two:
    """Two policies, each of which serves one role from a base of its own; the other adapter of each lies idle."""

    def __init__(self, generator: Any, discriminator: Any) -> None:
        self.by_role = {"generator": generator, "discriminator": discriminator}
        self.chat, self.trainer, self.sampler = generator.chat, generator.trainer, generator.sampler

    def complete(self, requests: Sequence[Any], sampling: Any) -> list[Any]:
        from selfplay.game.players import role_by_role

        return role_by_role(requests, lambda role, own: self.by_role[role].complete(own, sampling))


def _update(run: Any, role: Any, groups: Iterable[Any]) -> None:
    """Plus and minus one by turns; the idle adapter and the base must stay, the ratio be one and the gap within bounds."""
    from selfplay.game.episode import ROLES
    from selfplay.learning.samples import conversation_samples
    from selfplay.learning.update import clipped_update

    policy = run.policy.by_role[role] if isinstance(run.policy, _Two) else run.policy
    talks = [talk for group in groups for talk in (group.chains if role == "generator" else group.suites)]
    samples = [
        sample for i, talk in enumerate(talks) for sample in conversation_samples(talk, [(-1.0) ** i] * len(talk.turns))
    ]
    before = {each: policy.trainer.digest(each) for each in (*ROLES, None)}
    stats = clipped_update(policy, role, samples, run.config, run.ranks)
    moved = [each for each in before if policy.trainer.digest(each) != before[each]]
    _hold(bool(stats.skipped) or moved == [role], f"an update of the {role} moved {moved}")
    _hold(stats.ratio_max == 1.0, f"the ratio of a first update is {stats.ratio_max}")
    _hold(stats.logprob_gap <= policy.trainer.bounds.logprob_gap, f"the gap is {stats.logprob_gap}")


def _saved(trainer: Any) -> None:
    from selfplay.game.episode import ROLES

    before = {role: trainer.digest(role) for role in ROLES}
    with tempfile.TemporaryDirectory() as folder:
        trainer.save(Path(folder) / "adapters")
        trainer.load(Path(folder) / "adapters")
    _hold(before == {role: trainer.digest(role) for role in ROLES}, "adapters change when saved and loaded")


def _hold(holds: bool, otherwise: str) -> None:
    if not holds:
        raise SystemExit(otherwise)


def _swap(trainer: Any, times: int = 20) -> float:
    """Seconds from one role to the other."""
    from selfplay.game.episode import ROLES

    started = _now()
    for i in range(times):
        with trainer.adapters.role(ROLES[i % 2]):
            pass
    return (_now() - started) / times


def _now() -> float:
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def _plan(config: Any) -> float:
    from selfplay.learning.choice import choose, this_machine
    from selfplay.learning.memory import GIB, plan
    from selfplay.learning.shapes import model_config, shape_of

    shape = shape_of(model_config(config.model))
    choice = choose(config, this_machine(config.device), shape)
    seats = config.num_generations + config.num_targets
    return plan(shape, replace(choice, rows=min(choice.rows, seats))).peak / GIB


if __name__ == "__main__":
    sys.exit(main())
