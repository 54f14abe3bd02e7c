"""Play: problems in, groups of conversations out.

The generator never sees a test, so its chains are played first and the discriminator then reads them; each stage is one
batched call per role. Stages before the branching stage are the frozen prefix, played once per problem and shared by all
branches of both roles.

A conversation goes on by appending ids. Where the chat template rewrites earlier turns, and after a turn that holds a
thought, the next turn is asked in a prompt of its own, which quotes what was read and said so far: nobody, the thinker
included, is shown a thought.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from selfplay.game.episode import Conversation, Group, Turn, TurnKey
from selfplay.game.phases import Step, Trained
from selfplay.game.players import Chat, Completion, Player, Request, Sampling
from selfplay.game.problems import Problem
from selfplay.game.prompts import Earlier, Prompts
from selfplay.game.stages import get_stage

PREFIX = -1  # the branch number of the shared prefix


@dataclass(frozen=True, slots=True)
class Table:
    """How a group is laid out: G episodes of the trained role, S suites read in a generator step, C further targets.

    `num_suites` 0 plays without an adversary: the exam is the problem's baseline cases.
    """

    num_generations: int = 8
    num_suites: int = 2
    num_targets: int = 4
    generator: Sampling = field(default_factory=Sampling)
    discriminator: Sampling = field(default_factory=Sampling)

    def seats(self, role: Trained) -> tuple[int, tuple[int, ...]]:
        """How many chains are played, and which of them each suite reads, in a group laid out for `role`."""
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


def converse(
    player: Player, prompts: Prompts, seats: Sequence[Seat], stages: Sequence[int], sampling: Sampling
) -> list[Conversation]:
    """Continue every seat's conversation through `stages`, one batched call per stage. All seats are of one role."""
    sampling = replace(sampling, marks=player.chat.marks)
    for stage in stages:
        prompted = [_prompt(player, prompts, seat, stage) for seat in seats]
        requests = [
            Request(key, prompt if fresh else (*seat.conversation.ids, *prompt))
            for seat, (key, prompt, fresh) in zip(seats, prompted, strict=True)
        ]
        completions = player.complete(requests, sampling) if seats else []
        turns = [
            _turn(player.chat, *asked, completion) for asked, completion in zip(prompted, completions, strict=True)
        ]
        seats = [
            replace(seat, conversation=seat.conversation.then(turn)) for seat, turn in zip(seats, turns, strict=True)
        ]
    return [seat.conversation for seat in seats]


def _prompt(player: Player, prompts: Prompts, seat: Seat, stage: int) -> tuple[TurnKey, tuple[int, ...], bool]:
    """The key of a turn, the ids that ask for it, and whether they start a new token sequence."""
    conversation, problem = seat.conversation, seat.problem
    role, chat = conversation.role, player.chat
    key = TurnKey(seat.step, problem.id, role, seat.branch, stage)
    material = seat.chain.text(stage) if seat.chain else None
    last = conversation.turns[-1] if conversation.turns else None
    if last is not None and chat.prefix_preserving and not last.thought:
        return key, chat.next(prompts.ask(problem, role, stage, material), last.ids), False
    earlier = [
        Earlier(get_stage(turn.stage), turn.text, seat.chain.text(turn.stage) if seat.chain else "")
        for turn in conversation.turns
    ]
    asked = prompts.ask(problem, role, stage, material, first=True, earlier=earlier)
    return key, chat.first(asked, prompts.system(role)), True


def _turn(chat: Chat, key: TurnKey, prompt: tuple[int, ...], fresh: bool, done: Completion) -> Turn:
    text, thought = chat.text(done.ids), chat.thought(done.ids)
    return Turn(key, prompt, done.ids, done.logprobs, text, done.truncated, fresh, thought)


def play(player: Player, prompts: Prompts, problems: Sequence[Problem], step: Step, table: Table) -> list[Group]:
    """One step's groups, one per problem: branches from the step's stage, laid out as it says."""
    before = [stage for stage in step.played if stage < step.stage]
    after = [stage for stage in step.played if stage >= step.stage]
    num_chains, reads = table.seats(step.layout or step.role)

    openings = [Seat(step.index, problem, Conversation("generator"), PREFIX) for problem in problems]
    beginnings = converse(player, prompts, openings, before, table.generator)
    branches = [
        Seat(step.index, problem, beginning, branch)
        for problem, beginning in zip(problems, beginnings, strict=True)
        for branch in range(num_chains)
    ]
    chains = _rows(converse(player, prompts, branches, after, table.generator), num_chains)
    if not reads:
        return [
            Group(problem, step.role, step.stage, own, (), reads) for problem, own in zip(problems, chains, strict=True)
        ]

    # Suites share their beginning too: it reads the chains' beginning, which is the same for all of them.
    readers = [
        Seat(step.index, problem, Conversation("discriminator"), PREFIX, beginning)
        for problem, beginning in zip(problems, beginnings, strict=True)
    ]
    read_so_far = converse(player, prompts, readers, before, table.discriminator)
    branches = [
        Seat(step.index, problem, beginning, branch, own[read])
        for problem, beginning, own in zip(problems, read_so_far, chains, strict=True)
        for branch, read in enumerate(reads)
    ]
    suites = _rows(converse(player, prompts, branches, after, table.discriminator), len(reads))
    return [
        Group(problem, step.role, step.stage, own, written, reads)
        for problem, own, written in zip(problems, chains, suites, strict=True)
    ]


def _rows(conversations: list[Conversation], width: int) -> list[tuple[Conversation, ...]]:
    """Conversations by problem, `width` to each."""
    return [tuple(conversations[i : i + width]) for i in range(0, len(conversations), width)] if width else []
