"""Judged groups of every kind, for what must hold of any match. Nothing is played or run.

A match is made of a seed: drawn field by field it takes hypothesis a hundred times as long.
"""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from selfplay.cases.case import Case, Refusal, Verdict
from selfplay.game.episode import Conversation, Role, Turn, TurnKey
from selfplay.game.extract import Code
from selfplay.game.phases import Step
from selfplay.game.problems import Contract, Problem
from selfplay.judging.turns import WrittenTurn
from selfplay.match.match import Chain, Match, Row, Suite, Target

CASES = tuple(
    Case(
        f"test_{n}",
        f"assert {n}",
        f'["l",{n}]',
        "approx",
        str(n),
        (n / 8, n / 16),
        (f"f({n})", "f(9)")[: 1 + n % 2],
        mark=("", "110111111")[n % 2],
    )
    for n in range(8)
)
VERDICTS: tuple[Verdict, ...] = ("passed", "failed", "error", "timeout", "infra_error", "not_collected")
JUDGED = VERDICTS[:4]  # what a program that loads can bring about
SOURCES = (None, "def f(n): return n", "def f(n): return 0", "def f(n): return -n")
STAGES = (3, 4, 5)


def conversation(random: Random, role: Role, branch: int) -> Conversation:
    turns = []
    for stage in STAGES:
        logprobs = tuple(-random.expovariate(1) for _ in range(random.randrange(4)))
        text = random.choice(["", "so\nmany\nlines", "\x1b[31m", f"{role} at {stage}"])
        turns.append(
            Turn(
                TurnKey(0, "p", role, branch, stage),
                (stage,),
                (7,) * len(logprobs),
                logprobs,
                text,
                random.random() < 0.2,
                stage == STAGES[0],
                random.choice(["", "<think>so</think>"]),
            )
        )
    return Conversation(role, tuple(turns))


def written(random: Random, right: set[Case]) -> tuple[WrittenTurn, ...]:
    """A suite's turns. A case counts where the reference passes it (it is `right`) and the suite does not hold it yet."""
    seen: set[object] = set()
    turns = []
    for stage in STAGES:
        cases = tuple(random.choices(CASES, k=random.randrange(4)))
        refusals: list[Refusal | None] = []
        for case in cases:
            reason = "duplicate" if case.identity in seen else "" if case in right else "reference"
            refusals.append(Refusal(case.name, case.source, reason, "why") if reason else None)
            seen.add(case.identity)
        unread = (Refusal("turn", "assert f(((", "syntax"),) * random.randrange(2)
        turns.append(WrittenTurn(stage, cases, tuple(refusals), unread, random.randrange(2), "because"))
    return tuple(turns)


def judged(seed: int, verdicts: tuple[Verdict, ...]) -> Match:
    """A match as `examine` lays it out, without rewards."""
    random = Random(seed)
    right = {case for case in CASES if random.random() < 0.7}
    chains = tuple(
        Chain(conversation(random, "generator", branch), Code(random.choice(SOURCES), "bare"))
        for branch in range(random.randint(1, 3))
    )
    suites = tuple(
        Suite(
            conversation(random, "discriminator", branch),
            random.randrange(len(chains)),
            written(random, right),
            advantages=(None,) * len(STAGES),
        )
        for branch in range(random.randint(0, 3))
    )
    baseline = random.sample(CASES, k=random.randrange(3))
    counting = dict.fromkeys((*baseline, *(case for suite in suites for case in suite.admitted)))
    cases = tuple(dict.fromkeys((*counting, *(case for suite in suites for case in suite.cases))))

    def row(ran: int) -> Row:
        return (*random.choices(verdicts, k=ran), *(None,) * (len(cases) - ran))

    return Match(
        Problem(
            "p",
            "Say it.",
            "f",
            "def f(n: int) -> int:",
            ("assert f(0) == 0",),
            SOURCES[1],
            contract=Contract(("n > 0",)),
        ),
        Step(0, STAGES[0], "both", "joint", played=STAGES),
        random.randint(1, 3),
        chains,
        suites,
        cases,
        len(baseline),
        tuple(row(len(cases)) for _ in chains),
        tuple(Target("paid", f"mutant {n}", row(len(counting))) for n in range(random.randrange(3))),
    )


def matches(verdicts: tuple[Verdict, ...] = VERDICTS) -> st.SearchStrategy[Match]:
    """Any match; `verdicts` are those that its programs and targets may have."""
    return st.integers(0, 100_000).map(lambda seed: judged(seed, verdicts))
