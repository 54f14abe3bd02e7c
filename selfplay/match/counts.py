"""What a step's matches add up to: shares and counts that merge over ranks, and the metrics made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from selfplay.match.record import KILLS, Match, Suite
from selfplay.match.score import program_outcome


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
    own = [verdict for each in programs for verdict in each.baseline]
    exam = [verdict for each in programs for verdict in (*each.baseline, *each.exam)]
    turns = [turn for role in ("generator", "discriminator") for c in match.conversations(role) for turn in c.turns]
    wrong = list(match.wrong())
    killed = [any(v in KILLS for v in match.each(row, suite.admitted)) for suite in match.suites for row in wrong]
    shares = {
        "pass_rate": _share([verdict == "passed" for verdict in exam if verdict != "infra_error"]),
        "pass_rate_baseline": _share([verdict == "passed" for verdict in own if verdict != "infra_error"]),
        "no_code": _share([not each.has_code for each in programs]),
        "reward/generator": _share([chain.reward for chain in match.chains if chain.reward is not None]),
        "reward/discriminator": _share([r for suite in match.suites for r in suite.rewards if r is not None]),
        "truncated": _share([turn.truncated for turn in turns]),
        "thought_cut": _share([turn.thought_cut for turn in turns if turn.thought]),
        "kills": _share(killed),
    }
    return merged([Counts(shares, {"masked": exam.count("infra_error")}), *map(_of_suite, match.suites)])


def _share(values: Sequence[float]) -> Share:
    return Share(sum(values), len(values))


def _of_suite(suite: Suite) -> Counts:
    distinct = len({case.key for case in suite.cases})
    hits = {
        "validity": sum(map(sum, (t.valid for t in suite.turns))),
        "well_formed": len(suite.cases),
        "distinct": distinct,
    }
    plain = {"written": suite.written, "suites": 1, "salvaged": sum(turn.salvaged for turn in suite.turns)}
    for turn in suite.turns:
        for refusal in turn.refused:
            name = f"refused/{refusal.reason}"
            plain[name] = plain.get(name, 0) + 1
    return Counts({name: Share(count, suite.written) for name, count in hits.items()}, plain)
