"""The state of a run: everything that decides what its next step does, in one place, and how it is kept.

    RUN/checkpoints/8/adapters/      both adapters, as PEFT reads them: a checkpoint can be played from
    RUN/checkpoints/8/tensors.pt     adapters and optimizers bit for bit, and the adapters as they were when the stage began
    RUN/checkpoints/8/bank.jsonl     the tests that killed something, as `selfplay.bank` reads them; none without any
    RUN/checkpoints/8/state.json     the rest

It is the same on every rank, so the first writes it and each reads it. Random numbers are no state: they are keyed by step
and turn. What can be computed again is no state either: mutants, function classes and the sampler's prefixes are caches.
Where in a step the run is cannot be kept: between two updates of one step the weights are those of no step (`whole`).
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from selfplay.config import ANEW, Config
from selfplay.errors import SelfplayError
from selfplay.evaluation.evaluator import Opponent
from selfplay.evaluation.figures import Measured
from selfplay.game.advantages import RunningMeans
from selfplay.game.episode import ROLES, Role
from selfplay.game.phases import Step
from selfplay.learning.drift import Drift
from selfplay.learning.policy import Policy, Relief
from selfplay.learning.update import UpdateStats
from selfplay.match.ledger import chain_from_json, chain_to_json
from selfplay.match.livebank import Bank, suite_from_json
from selfplay.run.bankfile import bank_lines, read_bank
from selfplay.run.checkpoints import GREEDY, PROTOTYPE, About
from selfplay.run.folder import BANK, versions

SCHEMA = 1
TENSORS, JSON = "tensors.pt", "state.json"
OF_LAST_STEP = {  # what a manifest tells of the last step, and which of its metrics that is
    "generator_reward": "reward/generator",
    "discriminator_reward": "reward/discriminator",
    "test_validity": "validity",
}


@dataclass(slots=True)
class State:
    """Both adapters and optimizers (in `policy`), and how far the run `plan` came.

    `done`: steps that are done. `running`: the advantages' memory. `drift`: the adapters as they were when the stage began.
    `opponent`: what the untrained player did, once it is recorded. `evaluations`: those that are made; `measured`: what
    `before` measured, for the change since. `paid`: whether any reward was not 0. `skipped`: a role's updates in a row whose
    gradient was not finite. `relief`: what a forward and backward take at once. `scores`: of the present weights,
    by what a best checkpoint can be chosen by. `bank`: the tests so far that killed something. `begun`: whether an update was
    tried, from where on there is something to lose.
    """

    policy: Policy
    config: Config
    plan: Sequence[Step]
    relief: Relief
    done: int = 0
    running: RunningMeans = field(default_factory=RunningMeans)
    drift: Drift = field(default_factory=Drift)
    opponent: Opponent | None = None
    evaluations: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    measured: Sequence[Measured] = ()
    paid: bool = False
    skipped: Mapping[Role, int] = field(default_factory=dict)
    scores: Mapping[str, float | None] = field(default_factory=dict)
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    bank: Bank = field(default_factory=dict)
    begun: bool = False
    _moves: Mapping[Role, int] = field(default_factory=dict)  # of the policy when the last step was done

    def __post_init__(self) -> None:
        self._moves = dict(self.policy.moves)

    @property
    def whole(self) -> bool:
        """Whether weights and records are those of the last step that is done, not on their way to the next."""
        return self._moves == self.policy.moves

    def ahead(self) -> None:
        """Call before recording: from here to `step_done` no checkpoint can be made."""
        self._moves = {}

    @property
    def last(self) -> Step | None:
        """The last step that is done."""
        return self.plan[self.done - 1] if self.done else None

    @property
    def due(self) -> list[str]:
        """The evaluations to make before the next step: `before`; `stage-1` after a stage's last step; `after`."""
        ended = [f"stage-{self.last.stage}"] if self.last and self.last.ends_stage else []
        moments = [*ended, *["after"] * (self.done == len(self.plan))] if self.done else ["before"]
        return [when for when in moments if when not in self.evaluations]

    @property
    def finished(self) -> bool:
        return self.done == len(self.plan) and not self.due

    def step_done(
        self,
        running: RunningMeans,
        stats: Mapping[Role, UpdateStats],
        banks: Sequence[Bank],
        metrics: Mapping[str, Any],
    ) -> None:
        """Takes in what a step leaves, all of it at once: a step that was cut off has left nothing.

        `banks`: for each rank the suites of the bank that its matches changed.
        """
        self.done += 1
        self.running = running
        for role, own in stats.items():
            if own.skipped or own.tokens:  # an update without a scored token says nothing about the gradient
                self.skipped = {**self.skipped, role: self.skipped.get(role, 0) + 1 if own.skipped else 0}
        for bank in banks:
            self.bank = {**self.bank, **bank}
        self.paid |= any(metrics.get(f"reward/{role}") for role in ROLES)
        self.scores = {PROTOTYPE: prototype_score(metrics)}
        self.metrics = {name: metrics.get(figure) for name, figure in OF_LAST_STEP.items()}
        self._moves = dict(self.policy.moves)

    def evaluated(self, records: Mapping[str, Mapping[str, Any]], measured: Sequence[Measured]) -> None:
        """Takes in the records of an evaluation by their moments, and what they were made of."""
        self.evaluations |= records
        if "before" in records:
            self.measured = measured
        else:  # of a stage's evaluation and the final one the stage's counts: all of them read the same problems
            self.scores = {**self.scores, GREEDY: next(iter(records.values()))[GREEDY]["value"]}
        self._moves = dict(self.policy.moves)

    # ---- keeping ----

    def about(self, records: Mapping[str, int]) -> About:
        """What a checkpoint of it is of."""
        stage = self.last.stage if self.last else 0
        evaluated = bool(self.last and self.last.ends_stage and not self.due)
        return About(
            self.done, len(self.plan), stage, evaluated, self.finished, self.scores, dict(records), self.metrics
        )

    def save(self, folder: Path) -> None:
        """Writes all of it into a folder. Raises OSError, SafetensorError."""
        self.policy.save(folder)
        tensors = {"trainer": self.policy.trainer.state(), "anchor": self.drift.then}
        packed = io.BytesIO()  # torch's own writer has no word for a full disk
        torch.save(tensors, packed)
        (folder / TENSORS).write_bytes(packed.getbuffer())
        with open(folder / JSON, "w", encoding="utf-8") as file:
            json.dump(self._record(), file)
        if self.bank:  # in one order, however many processes found it
            (folder / BANK).write_text(bank_lines(self.bank[name] for name in sorted(self.bank)), encoding="utf-8")

    def load(self, folder: Path) -> Mapping[str, str]:
        """Puts back what `save` wrote, and returns the versions that wrote it.

        Raises SelfplayError where it is of another version or another configuration.
        """
        record = json.loads((folder / JSON).read_text(encoding="utf-8"))
        if record["schema"] != SCHEMA:
            raise SelfplayError(
                f"{folder} holds a state of schema {record['schema']}, where {SCHEMA} is read: it is of another version"
            )
        check_same(folder, record["config"], self.config)
        tensors = torch.load(folder / TENSORS, map_location="cpu", weights_only=True)
        self.policy.load_state(tensors["trainer"])
        self.drift = Drift(record["drift_stage"], tensors["anchor"])
        self.done, self.paid, self.skipped, self.begun = record["done"], record["paid"], record["skipped"], True
        self.relief.size, self.scores = record["micro_batch_tokens"], record["scores"]
        self.metrics = record.get("metrics", {})
        held = read_bank(folder / BANK) if (folder / BANK).exists() else []
        self.bank = {suite["id"]: suite_from_json(suite) for suite in held}
        means = {(role, stage): mean for role, stage, mean in record["running"]["means"]}
        self.running = RunningMeans(MappingProxyType(means), record["running"]["decay"])
        self.evaluations = record["evaluations"]
        self.measured = tuple(_measured_of(each) for each in record["measured"])
        self.opponent = _opponent_of(record["opponent"])
        self._moves = dict(self.policy.moves)
        return record["versions"]

    def _record(self) -> dict[str, Any]:
        assert self.opponent is not None  # it is recorded before the first step
        means = [[role, stage, mean] for (role, stage), mean in self.running.means.items()]
        return {
            "schema": SCHEMA,
            "config": asdict(self.config),
            "versions": versions(),
            "done": self.done,
            "running": {"means": means, "decay": self.running.decay},
            "drift_stage": self.drift.stage,
            "opponent": _opponent(self.opponent),
            "evaluations": self.evaluations,
            "measured": [asdict(each) for each in self.measured],
            "paid": self.paid,
            "skipped": dict(self.skipped),
            "micro_batch_tokens": self.relief.size,
            "scores": dict(self.scores),
            "metrics": dict(self.metrics),
        }


def evaluations_in(folder: Path) -> dict[str, Mapping[str, Any]]:
    """The evaluations that a checkpoint holds."""
    return json.loads((folder / JSON).read_text(encoding="utf-8"))["evaluations"]


def prototype_score(metrics: Mapping[str, Any]) -> float | None:
    """The prototype's score of a checkpoint: 0.7 x mean reward of the generator + 0.3 x validity; None without the two."""
    reward, validity = metrics.get("reward/generator"), metrics.get("validity")
    return None if reward is None or validity is None else 0.7 * reward + 0.3 * validity


def check_same(folder: Path, then: Mapping[str, Any], config: Config) -> None:
    """Raises SelfplayError where a key that decides the steps is not what it was when the checkpoint was made."""
    for name, value in asdict(config).items():
        held = list(value) if isinstance(value, tuple) else value
        if name in then and name not in ANEW and name != "output_dir" and then[name] != held:
            raise SelfplayError(
                f"{folder} was made with {name} {then[name]}, config.yaml says {held}; put it back, or begin a new run on its "
                f"adapters: --init-from {folder}"
            )


def _opponent(opponent: Opponent) -> list[dict[str, Any]]:
    return [
        {"problem": problem, "chain": chain_to_json(chain), "wrong": list(opponent.wrong[problem])}
        for problem, chain in opponent.chains.items()
    ]


def _opponent_of(record: Sequence[Mapping[str, Any]]) -> Opponent:
    return Opponent(
        {each["problem"]: chain_from_json(each["chain"]) for each in record},
        {each["problem"]: tuple(each["wrong"]) for each in record},
    )


def _measured_of(record: Mapping[str, Any]) -> Measured:
    kills = record["kills"] and {origin: tuple(pair) for origin, pair in record["kills"].items()}
    return Measured(
        **{**record, "correct": tuple(record["correct"]), "cases": _tuples(record["cases"]), "kills": kills}
    )


def _tuples(value: Any) -> Any:
    """Keys of cases are nested tuples, which JSON has as lists."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
