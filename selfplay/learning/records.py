"""What a step leaves behind: counts that add up over ranks, the metrics made of them, and one record per episode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from selfplay.game.episode import Conversation, Role, Turn
from selfplay.game.phases import Step
from selfplay.judging.exam import Suite, admitted_of
from selfplay.learning.credit import Credit
from selfplay.learning.scoring import Scored, kills, wrong_targets
from selfplay.learning.update import UpdateStats

Counts = Counter[str]  # `name` counts hits, `name/of` what they are a share of


def step_counts(scored: Sequence[Scored], drifted: tuple[float, int], credits: Mapping[Role, Credit]) -> Counts:
    """Sums over this rank's groups. `drifted`: summed KL of the frozen prefixes and their tokens."""
    counts: Counts = Counter()
    counts["frozen_kl"], counts["frozen_kl/of"] = drifted  # type: ignore[assignment]
    for group in scored:
        _count_programs(counts, group)
        for suite, rewards in zip(group.examined.suites, group.discriminator, strict=True):
            _count_suite(counts, suite)
            _add(counts, "reward/discriminator", [r for r in rewards if r is not None])
        conversations = (*group.examined.group.chains, *group.examined.group.suites)
        _add(counts, "truncated", [turn.truncated for c in conversations for turn in c.turns])
        _count_kills(counts, group)
    for role, own in credits.items():
        counts["informative_groups"] += own.informative
        counts["groups"] += own.groups
        counts[f"informative_groups/{role}"] += own.informative
        counts[f"groups/{role}"] += own.groups
    return counts


def merged(every: Iterable[Counts]) -> Counts:
    total: Counts = Counter()
    for counts in every:
        total.update(counts)
    return total


def _add(counts: Counts, name: str, values: Sequence[float]) -> None:
    counts[name] += sum(values)  # type: ignore[assignment]  # a Counter of floats adds up just as well
    counts[f"{name}/of"] += len(values)


def _count_programs(counts: Counts, group: Scored) -> None:
    for program, reward in zip(group.programs, group.generator, strict=True):
        _add(counts, "pass_rate", [v == "passed" for v in (*program.baseline, *program.exam) if v != "infra_error"])
        _add(counts, "pass_rate_baseline", [v == "passed" for v in program.baseline if v != "infra_error"])
        counts["masked"] += sum(v == "infra_error" for v in (*program.baseline, *program.exam))
        _add(counts, "no_code", [not program.has_code])
        _add(counts, "reward/generator", [] if reward is None else [reward])


def _count_suite(counts: Counts, suite: Suite) -> None:
    written = sum(turn.written for turn in suite)
    for name, count in (
        ("validity", sum(sum(turn.valid) for turn in suite)),
        ("well_formed", sum(len(turn.cases) for turn in suite)),
        ("distinct", len({case.key for turn in suite for case in turn.cases})),
    ):
        counts[name] += count
        counts[f"{name}/of"] += written
    counts["written"] += written
    counts["suites"] += 1
    for turn in suite:
        counts["salvaged"] += turn.salvaged
        for refusal in turn.refused:
            counts[f"refused/{refusal.reason}"] += 1


def _count_kills(counts: Counts, group: Scored) -> None:
    """Of each suite, the share of the group's wrong programs and mutants that it kills."""
    targets = wrong_targets(group.examined)
    for suite in group.examined.suites:
        cases = admitted_of(suite)
        _add(counts, "kills", [any(kills(target, case) for case in cases) for target in targets])


def step_metrics(counts: Counts, stats: Mapping[Role, UpdateStats]) -> dict[str, Any]:
    """The metrics of a step, shares as numbers in 0..1; None where there was nothing to count."""
    shares = {
        name.removesuffix("/of"): round(counts[name.removesuffix("/of")] / counts[name], 5) if counts[name] else None
        for name in sorted(counts)
        if name.endswith("/of")
    }
    plain = {name: counts[name] for name in sorted(counts) if f"{name}/of" not in counts and not name.endswith("/of")}
    return shares | plain | _update_metrics(stats)


def _update_metrics(stats: Mapping[Role, UpdateStats]) -> dict[str, Any]:
    names = (
        "loss",
        "clip_share",
        "ratio_max",
        "kl",
        "grad_norm",
        "tokens",
        "entropy",
        "logprob_gap",
        "logprob_gap_max",
        "skipped",
    )
    by_role = {f"{name}/{role}": getattr(own, name) for role, own in stats.items() for name in names}
    last = list(stats.values())[-1:]
    return {name: getattr(own, name) for own in last for name in names} | (by_role if len(stats) > 1 else {})


def episode_records(scored: Sequence[Scored], step: Step) -> list[dict[str, Any]]:
    """One record per episode: a chain with the suite that read it, or alone."""
    records: list[dict[str, Any]] = []
    for group in scored:
        readers = {read: j for j, read in enumerate(group.examined.group.reads)}
        pairs = list(enumerate(group.examined.group.reads)) if step.role == "discriminator" else []
        chains = range(len(group.examined.programs))
        pairs = [(j, i) for j, i in pairs] or [(readers.get(i), i) for i in chains]
        records += [_episode(group, step, chain, suite) for suite, chain in pairs]
    return records


def _episode(group: Scored, step: Step, chain: int, suite: int | None) -> dict[str, Any]:
    examined = group.examined
    record: dict[str, Any] = {
        "step": step.index,
        "stage": step.stage,
        "role": step.role,
        "problem": examined.group.problem.id,
        "chain": chain,
        "suite": suite,
        "generator": _conversation(examined.group.chains[chain]),
        "generator_reward": group.generator[chain],
        "code": examined.programs[chain].source,
        "baseline": group.programs[chain].baseline,
    }
    if suite is not None:
        record |= {
            "discriminator": _conversation(examined.group.suites[suite]),
            "discriminator_rewards": group.discriminator[suite],
            "cases": [
                {"source": case.source, "stage": turn.stage, "admitted": ok, "verdict": examined.on(chain, (case,))[0]}
                for turn in examined.suites[suite]
                for case, ok in zip(turn.cases, turn.valid, strict=True)
            ],
            "refused": [
                {"source": r.source, "stage": turn.stage, "reason": r.reason}
                for turn in examined.suites[suite]
                for r in turn.refused
            ],
        }
    return record


def _conversation(conversation: Conversation) -> list[dict[str, Any]]:
    return [_turn(turn) for turn in conversation.turns]


def _turn(turn: Turn) -> dict[str, Any]:
    return {
        "stage": turn.stage,
        "branch": turn.key.branch,
        "text": turn.text,
        "truncated": turn.truncated,
        "prompt_ids": turn.prompt,
        "ids": turn.ids,
        "logprobs": [round(x, 4) for x in turn.logprobs],
    }
