"""How far stages drift that a step does not train: KL of today's player to the one at the stage's start, on frozen prefixes.

Stages before the trained one carry no gradient, but there is one adapter per role, so they move all the same. The
estimate is k3 (Schulman 2020) on the tokens that a step sampled for its prefixes anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from selfplay.game.episode import ROLES, Conversation, Group, Role
from selfplay.game.rollout import PREFIX
from selfplay.learning.policy import Relief
from selfplay.learning.policy.protocol import Snapshot, Trainer
from selfplay.learning.samples import Sample, conversation_samples, micro_batches
from selfplay.learning.update import k3


@dataclass(slots=True)
class Drift:
    """Remembers both adapters as they were when `stage` began."""

    stage: int = 0
    then: dict[Role, Snapshot] = field(default_factory=dict)

    def measure(
        self, trainer: Trainer, stage: int, groups: Sequence[Group], temperature: float, relief: Relief
    ) -> tuple[float, int]:
        """Summed KL in nats and the number of tokens, over the prefixes of a step's groups; called before any update of the
        step, since that is when they were played. `relief`: the tokens of a micro-batch, halved when memory runs out."""
        if stage != self.stage:
            self.stage, self.then = stage, {role: trainer.snapshot(role) for role in ROLES}
        return relief.run(partial(self._measure, trainer, groups, temperature))

    def _measure(self, trainer: Trainer, groups: Sequence[Group], temperature: float, tokens: int) -> tuple[float, int]:
        total, count = 0.0, 0
        for role in ROLES:
            played = [group.chains if role == "generator" else group.suites for group in groups]
            # The shared turns are the same in every branch.
            samples = [sample for branches in played for first in branches[:1] for sample in _prefix(first)]
            for batch in micro_batches(samples, tokens, trainer.device):
                then_N, _ = trainer.logprobs(role, batch, temperature, self.then[role])
                # What the sampler said is the present player's side of the estimate: nothing is scored twice.
                total += float(k3(batch.sampled_K, then_N[batch.known_N]).sum())
                count += len(batch.sampled_K)
        return total, count


def _prefix(conversation: Conversation) -> list[Sample]:
    """The shared turns, as scored spans."""
    return conversation_samples(
        conversation, [0.0 if turn.key.branch == PREFIX else None for turn in conversation.turns]
    )
