"""What a step's matches add up to: shares and counts that merge over ranks, and the metrics made of them.

Our figures are shares of verdicts, of tests and of (suite, target) pairs. The prototype's stand beside them under its
names, by its formulas: shares of each program's tests, averaged, and tests that catch the program they read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from selfplay.game.episode import ROLES
from selfplay.game.rewards.outcomes import ProgramOutcome, SuiteOutcome, Verdict, known, lost
from selfplay.match.match import Match, Suite
from selfplay.match.score import program_outcome, suite_outcomes


@dataclass(frozen=True, slots=True)
class Share:
    """`hits` of so many; floats where the hits are rewards or nats."""

    hits: float = 0
    of: float = 0

    def __add__(self, other: Share) -> Share:
        return Share(self.hits + other.hits, self.of + other.of)

    @property
    def value(self) -> float | None:
        """None where there was nothing to count."""
        return round(self.hits / self.of, 5) if self.of else None


@dataclass(frozen=True, slots=True)
class Counts:
    """Shares and plain counts by metric name."""

    shares: Mapping[str, Share] = field(default_factory=dict)
    plain: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: Counts) -> Counts:
        shares = {
            name: self.shares.get(name, Share()) + other.shares.get(name, Share())
            for name in (*self.shares, *other.shares)
        }
        plain = {name: self.plain.get(name, 0) + other.plain.get(name, 0) for name in (*self.plain, *other.plain)}
        return Counts(shares, plain)

    def metrics(self) -> dict[str, float | int | None]:
        """By name, sorted: shares as numbers, then counts."""
        shares = {name: self.shares[name].value for name in sorted(self.shares)}
        return shares | {name: self.plain[name] for name in sorted(self.plain)}


def merged(every: Iterable[Counts]) -> Counts:
    """The counts of all ranks together."""
    return sum(every, Counts())


def step_counts(matches: Sequence[Match], drifted: tuple[float, int], order_dependent: int = 0) -> Counts:
    """Sums over this rank's matches. `drifted`: summed KL of the frozen prefixes and their tokens. `order_dependent`:
    programs whose verdicts depended on the order of their cases."""
    own = Counts({"frozen_kl": Share(*drifted)}, {"order_dependent": order_dependent})
    return merged([own, *map(_of_match, matches)])


def _of_match(match: Match) -> Counts:
    programs = [program_outcome(match, number) for number in range(len(match.chains))]
    suites = suite_outcomes(match)
    own: list[Verdict] = [verdict for each in programs for verdict in each.baseline]
    exam: list[Verdict] = [verdict for each in programs for verdict in (*each.baseline, *each.exam)]
    turns = [turn for role in ROLES for c in match.conversations(role) for turn in c.turns]
    targets = range(sum(1 for _ in match.wrong_rows()))
    killed = [any(case.valid and case.killed[target] for case in suite.cases) for suite in suites for target in targets]
    judged = [suite for suite in suites if not lost(suite.program)]  # all but those that infrastructure took
    shares = {
        "pass_rate": _share([verdict == "passed" for verdict in known(exam)]),
        "pass_rate_baseline": _share([verdict == "passed" for verdict in known(own)]),
        "no_code": _share([not each.has_code for each in programs]),
        "reward/generator": _share([chain.reward for chain in match.chains if chain.reward is not None]),
        "reward/discriminator": _share([r for suite in match.suites for r in suite.rewards if r is not None]),
        "truncated": _share([turn.truncated for turn in turns]),
        "thought_cut": _share([turn.thought_cut for turn in turns if turn.thought]),
        "kills": _share(killed),
        # tests that count and fail the program that their suite read, of all written
        "bug_catch_rate": Share(sum(suite.caught for suite in judged), sum(suite.written for suite in judged)),
    }
    plain = {
        "masked": exam.count("infra_error"),
        "generated_tokens": sum(map(len, {id(t): t.ids for t in turns}.values())),
    }
    counts = Counts(shares | _pass_rates(programs) | _empty(match), plain)
    own_cases = {case.identity for case in match.baseline}
    pairs = zip(match.suites, suites, strict=True)
    return merged([counts, *(_of_suite(suite, outcome, own_cases) for suite, outcome in pairs)])


def _pass_rates(programs: Sequence[ProgramOutcome]) -> dict[str, Share]:
    """The prototype's pass rate, a mean over programs: on the problem's own tests, on the discriminator's, on both."""
    sides: dict[str, Callable[[ProgramOutcome], tuple[Verdict, ...]]] = {
        "test_pass_rate": lambda program: (*program.baseline, *program.exam),
        "test_pass_rate_baseline": lambda program: program.baseline,
        "test_pass_rate_discriminator": lambda program: program.exam,
    }
    faced = {name: [known(verdicts(program)) for program in programs] for name, verdicts in sides.items()}
    return {name: _share([own.count("passed") / len(own) for own in every if own]) for name, every in faced.items()}


def _empty(match: Match) -> dict[str, Share]:
    """Turns without text, of a role's turns at a stage; one that branches share counts once."""
    turns = {id(turn): turn for role in ROLES for c in match.conversations(role) for turn in c.turns}
    empty: dict[str, list[bool]] = {}
    for turn in turns.values():
        empty.setdefault(f"empty/{turn.key.role}/{turn.stage}", []).append(not turn.text.strip())
    return {name: _share(values) for name, values in empty.items()}


def _of_suite(suite: Suite, outcome: SuiteOutcome, own: Collection[object]) -> Counts:
    """Of a suite as a whole, and per stage how many tests were written, valid, new, and killed a target that no earlier
    stage's test kills. `own` are the keys of the problem's own cases: a test that repeats one of them is not new.
    """
    distinct, valid = len({case.identity for case in suite.cases}), sum(map(sum, (t.valid for t in suite.turns)))
    hits = {"validity": valid, "test_validity": valid, "well_formed": len(suite.cases), "distinct": distinct}
    refused = Counter(f"refused/{refusal.reason}" for turn in suite.turns for refusal in turn.refused)
    plain = {"written": suite.written, "suites": 1, "salvaged": sum(turn.salvaged for turn in suite.turns), **refused}
    earlier: set[int] = set()
    for turn, outcomes in zip(suite.turns, outcome.turns, strict=True):
        valid = [(case.identity, each) for case, each in zip(turn.cases, outcomes.cases, strict=True) if each.valid]
        kills = [{target for target, killed in enumerate(each.killed) if killed} for _, each in valid]
        plain |= {
            f"written/{turn.stage}": turn.written,
            f"valid/{turn.stage}": len(valid),
            f"new/{turn.stage}": sum(each.fresh and key not in own for key, each in valid),
            f"new_kills/{turn.stage}": sum(bool(targets - earlier) for targets in kills),
        }
        earlier = earlier.union(*kills)
    shares = {name: Share(count, suite.written) for name, count in hits.items()}
    return Counts(shares | {"no_test": _share([turn.written == 0 for turn in suite.turns])}, plain)


def _share(values: Sequence[float]) -> Share:
    return Share(sum(values), len(values))
