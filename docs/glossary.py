"""What every metric means: a name, or several that belong together, and the formula.

`python docs/glossary.py` prints the tables that docs/glossary.md shows; a test holds that the page has them as they are
here, and that every metric of a step and of an evaluation is among them. ROLE, STAGE, REASON and K stand for what varies.
"""

from __future__ import annotations

from collections.abc import Mapping

# Where the figures are computed, and their formulas.
METRICS: Mapping[str, Mapping[str, str]] = {
    "learning/loop.py": {
        "step, steps, stage, role, phase": "which step this is, of how many, and what it trains",
        "seconds, seconds/play, seconds/judge, seconds/update": "wall-clock time, first process",
    },
    "match/counts.py": {
        "pass_rate": "passed / verdicts, on baseline tests and exam",
        "pass_rate_baseline": "the same on the baseline tests alone",
        "masked": "`infra_error` verdicts, which count nowhere else",
        "no_code": "programs without code / programs",
        "order_dependent": "programs whose verdicts depend on the order of cases",
        "reward/ROLE": "mean reward: over chains, or over all turns of the suites",
        "validity, test_validity": "admitted cases / tests written",
        "well_formed": "well-formed tests / tests written",
        "distinct": "different cases within their suite / tests written",
        "kills": "(suite, target) pairs with a kill / such pairs",
        "written, suites, salvaged": "how many: tests, suites, tests salvaged",
        "refused/REASON": "tests refused for this reason",
        "truncated": "truncated turns / turns",
        "no_test": "turns of suites without a test / turns of suites",
        "thought_cut": "turns ended by the token limit within a thought / turns with a thought",
        "generated_tokens": "tokens of the turns played; shared turns count once",
        "empty/ROLE/STAGE": "turns without text / turns; shared ones count once",
        "written/STAGE, valid/STAGE": "how many tests of this stage are written, valid",
        "new/STAGE": "how many of these valid ones are none of the problem's own",
        "new_kills/STAGE": "how many of these valid ones kill what no earlier stage of the suite kills",
        "test_pass_rate": "mean over programs of passed / verdicts, on baseline tests and exam",
        "test_pass_rate_baseline, test_pass_rate_discriminator": "the same on the baseline tests, on the exam",
        "bug_catch_rate": "admitted cases that the program which was read fails / tests written",
    },
    "learning/credit.py": {
        "groups, informative_groups": "how many, once for each role that is trained",
        "groups/ROLE, informative_groups/ROLE": "the same of one role",
    },
    "learning/drift.py": {
        "frozen_kl": "mean k3(now, when the stage began) over tokens of the prefixes, in nats",
    },
    "learning/update.py": {
        "loss": "in the first update, mean over tokens of -min(r A, clip(r, 1 - `epsilon`, 1 + `epsilon`) A), "
        "plus `beta` k3(now, base)",
        "clip_share": "tokens where the clip decides / tokens, over all updates on the batch",
        "ratio_max": "largest r: a token's probability now / before the first update",
        "kl": "mean over tokens of k3(now, base); 0 where `beta` is 0",
        "grad_norm": "length of the last update's gradient before it is scaled down",
        "tokens": "number of trained tokens",
        "entropy": "mean entropy of the next token, in nats",
        "logprob_gap, logprob_gap_max": "mean and largest difference of sampler and trainer, in nats",
        "importance_clip_share": "tokens whose importance weight was cut / tokens that the sampler scored; 0 without weights",
        "skipped": "1 where the gradient was not finite and nothing moved",
        "moved": "length of the adapter's change as one vector, over all updates on the batch",
    },
}
FIGURES: Mapping[str, Mapping[str, str]] = {
    "learning/heldout.py": {
        "when, split, problems, tier, seconds, by_problem": "when, on what, where, how long; each problem's results",
        "change": "at the end: each figure minus `before`, paired over problems",
        "code_correct": "right programs / programs sampled (4); right: passes every baseline and hidden test",
        "code_greedy": "problems whose program at temperature 0 is right / problems",
        "pass_at_4": "mean of 1 - C(n - c, 4) / C(n, 4), c of n right: the chance that one of four is",
        "test_validity": "admitted cases / tests written, a suite for each problem, which reads a recorded chain",
        "mutation_score, mutation_score_kept": "mutants killed / mutants, of the paid and of the kept operators",
        "fixed_kills": "recorded wrong programs killed / recorded wrong programs",
        "distinct": "different cases within their suite / tests written",
        "distinct_all": "different cases over all problems / well-formed cases",
    },
    "evaluation/figures.py": {
        "pass_at_K": "as `pass_at_4`, for each `--k`",
        "best_of_n": "problems whose chosen program is right / problems; chosen by baseline tests, then agreement",
        "oracle": "problems with a right program among n / problems",
        "gap_closed": "(`best_of_n` - `code_correct`) / (`oracle` - `code_correct`), pooled",
        "average_test_pass_rate": "mean over programs of passed / baseline tests and own suites' admitted cases",
        "failure_rate": "admitted cases that the program which was read does not pass / admitted cases",
        "test_diversity": "different cases over a problem's own suites / their well-formed cases",
        "ending_agreement": "of four programs that end one chain, pairs with the same verdict on every test / pairs",
        "bug_catch_rate": "admitted cases that fail the program which was read / tests written, on the opponent's chain",
        "test_validity/stage-S": "`test_validity` of the turns of stage S",
        "new_kills/stage-S": "wrong programs and mutants killed first at S / all",
        "tokens/ROLE": "sampled tokens per chain, or per suite",
    },
    "evaluation/bugs.py": {
        "bugs_caught": "(suite, bug) pairs with a kill / such pairs",
        "bugs_caught_by_any": "bugs that one of n suites catches / bugs",
        "bugs_validity": "admitted cases / tests written, over these suites",
    },
}


def names(tables: Mapping[str, Mapping[str, str]]) -> set[str]:
    """Every name that the tables explain."""
    return {name for rows in tables.values() for row in rows for name in row.split(", ")}


def markdown(tables: Mapping[str, Mapping[str, str]]) -> str:
    """The tables as one."""
    lines = ["| name | formula |", "|---|---|"]
    for rows in tables.values():
        lines += [f"| {', '.join(f'`{name}`' for name in row.split(', '))} | {text} |" for row, text in rows.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    print(markdown(METRICS), markdown(FIGURES), sep="\n\n")
