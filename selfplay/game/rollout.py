"""Play: problems in, groups of conversations out.

The generator never sees a test, so its chains are played first and the discriminator then reads them; each stage is one
batched call per role. Stages before the branching stage are the frozen prefix, played once per problem and shared by all
branches of both roles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from selfplay.game.episode import Conversation, Group, Role, Turn, TurnKey
from selfplay.game.players import Player, Request, Sampling
from selfplay.game.problems import Problem
from selfplay.game.prompts import Prompts

PREFIX = -1  # the branch number of the shared prefix
STAGES = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Table:
    """How a group is laid out: G episodes of the trained role, S suites read in a generator step, C further targets."""

    num_generations: int = 8
    num_suites: int = 2
    num_targets: int = 4
    stages: tuple[int, ...] = STAGES
    generator: Sampling = field(default_factory=Sampling)
    discriminator: Sampling = field(default_factory=Sampling)

    def seats(self, role: Role | None) -> tuple[int, tuple[int, ...]]:
        """How many chains are played and which of them each suite reads, when `role` is trained (None: both)."""
        if role == "generator":
            return self.num_generations, tuple(range(min(self.num_suites, self.num_generations)))
        if role == "discriminator":
            return 1 + self.num_targets, (0,) * self.num_generations
        return self.num_generations, tuple(range(self.num_generations))


@dataclass(frozen=True, slots=True)
class Seat:
    """A conversation about to go on: whose problem, which branch, and the chain that a discriminator reads."""

    step: int
    problem: Problem
    conversation: Conversation
    branch: int
    chain: Conversation | None = None


def converse(player: Player, prompts: Prompts, seats: Sequence[Seat], stages: Sequence[int], sampling: Sampling) -> list[Conversation]:
    """Continue every seat's conversation through `stages`, one batched call per stage. All seats are of one role."""
    for stage in stages:
        prompted = [_prompt(player, prompts, seat, stage) for seat in seats]
        requests = [
            Request(key, prompt if fresh else (*seat.conversation.ids, *prompt))
            for seat, (key, prompt, fresh) in zip(seats, prompted, strict=True)
        ]
        completions = player.complete(seats[0].conversation.role, requests, sampling) if seats else []
        turns = [
            Turn(key, prompt, said.ids, said.logprobs, player.chat.text(said.ids), said.truncated, fresh)
            for (key, prompt, fresh), said in zip(prompted, completions, strict=True)
        ]
        seats = [replace(seat, conversation=seat.conversation.then(turn)) for seat, turn in zip(seats, turns, strict=True)]
    return [seat.conversation for seat in seats]


def _prompt(player: Player, prompts: Prompts, seat: Seat, stage: int) -> tuple[TurnKey, tuple[int, ...], bool]:
    """The key of a turn, the ids that ask for it, and whether they start a new token sequence."""
    conversation, problem = seat.conversation, seat.problem
    role = conversation.role
    key = TurnKey(seat.step, problem.id, role, seat.branch, stage)
    material = seat.chain.text(stage) if seat.chain else None
    if not conversation.turns:
        return key, player.chat.first(prompts.ask(problem, role, stage, material, first=True), prompts.system(role)), True
    if player.chat.prefix_preserving:
        asked = prompts.ask(problem, role, stage, material, first=False)
        return key, player.chat.next(asked, conversation.turns[-1].truncated), False
    said = "\n\n".join(turn.text for turn in conversation.turns)
    asked = f"{said}\n\n{prompts.ask(problem, role, stage, material, first=True)}"
    return key, player.chat.first(asked, prompts.system(role)), True


def play(player: Player, prompts: Prompts, problems: Sequence[Problem], role: Role | None, stage: int, step: int, table: Table) -> list[Group]:
    """One step's groups, one per problem: branches from `stage`, laid out for training `role` (None: both roles)."""
    before = [s for s in table.stages if s < stage]
    after = [s for s in table.stages if s >= stage]
    num_chains, reads = table.seats(role)

    opened = [Seat(step, problem, Conversation("generator"), PREFIX) for problem in problems]
    shared = converse(player, prompts, opened, before, table.generator)
    chains = converse(
        player,
        prompts,
        [Seat(step, p, prefix, branch) for p, prefix in zip(problems, shared, strict=True) for branch in range(num_chains)],
        after,
        table.generator,
    )
    chains_P = [tuple(chains[i * num_chains : (i + 1) * num_chains]) for i in range(len(problems))]

    opened = [Seat(step, p, Conversation("discriminator"), PREFIX, chain) for p, chain in zip(problems, shared, strict=True)]
    shared = converse(player, prompts, opened, before, table.discriminator) if reads else []
    suites = converse(
        player,
        prompts,
        [
            Seat(step, problem, prefix, branch, own[read])
            for problem, prefix, own in zip(problems, shared, chains_P, strict=True)
            for branch, read in enumerate(reads)
        ]
        if reads
        else [],
        after,
        table.discriminator,
    )
    return [
        Group(problem, role, stage, chains_P[i], tuple(suites[i * len(reads) : (i + 1) * len(reads)]), reads)
        for i, problem in enumerate(problems)
    ]
