"""What the pages compute is computed again, what they list is complete, and what they tell to write works."""

from __future__ import annotations

import ast
import csv
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import torch

from docs import glossary
from selfplay.box.local import LocalBox
from selfplay.cases.case import Case, Verdict
from selfplay.config import CARDS, Config
from selfplay.evaluation.figures import Measured, figures
from selfplay.game.advantages import RunningMeans
from selfplay.game.episode import ROLES, Role
from selfplay.game.phases import Step
from selfplay.game.players import Sampling
from selfplay.game.problems import load_problems
from selfplay.game.prompts import Prompts
from selfplay.game.rewards import CaseOutcome, get_rule
from selfplay.game.rewards.adversarial import VALIDITY_WEIGHT
from selfplay.game.rollout import Table, play
from selfplay.judging.actors import Subject
from selfplay.judging.execute import execute_tests
from selfplay.judging.judge import Judge
from selfplay.learning.choice import card, choose
from selfplay.learning.credit import Credit, credit, group_counts
from selfplay.learning.memory import GIB, plan
from selfplay.learning.ranks import Ranks
from selfplay.learning.samples import Span
from selfplay.learning.shapes import model_config, shape_of
from selfplay.learning.update import UpdateStats, clip_bounds, surrogate, update_metrics
from selfplay.match.counts import step_counts
from selfplay.match.examine import examine
from selfplay.match.match import KILLS, Match, Row
from selfplay.match.score import program_outcome, score, suite_outcomes
from selfplay.mutation import operators
from selfplay.mutation.cache import MutantCache
from selfplay.run.report.tallies import REASONS
from tests.scripted import ScriptedPlayer

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGE = (DOCS / "how-it-works.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
GLOSSARY = (DOCS / "glossary.md").read_text(encoding="utf-8")
NAMES = "ABC"
STAGE = 5
SHOWN = (
    *("pass_rate", "pass_rate_baseline", "validity", "distinct", "kills", "reward/generator"),
    *("reward/discriminator", "bug_catch_rate"),
)


@dataclass(frozen=True, slots=True)
class Worked:
    """The page's match, and its credit by role."""

    match: Match
    credits: dict[Role, Credit]

    def verdict(self, row: Row, case: Case) -> Verdict | None:
        [verdict] = self.match.row_on(row, [case])
        return verdict

    def turn(self, suite: int) -> tuple[tuple[Case, ...], tuple[CaseOutcome, ...]]:
        """The cases of a suite's last turn, and what became of them."""
        return self.match.suites[suite].turns[-1].cases, suite_outcomes(self.match)[suite].turns[-1].cases

    def spans(self, role: Role) -> list[Span]:
        """The trained turns, one for each conversation."""
        return [span for sample in self.credits[role].samples for span in sample.spans]

    def rewards(self, role: Role) -> list[float]:
        chains, suites = self.match.chains, self.match.suites
        rewards = [each.reward for each in chains] if role == "generator" else [each.rewards[-1] for each in suites]
        return [reward for reward in rewards if reward is not None]


@pytest.fixture(scope="module")
def worked(walk_through) -> Iterator[Worked]:
    """One group of a joint step at stage 5: the walk-through up to stage 4, then the page's programs and tests."""
    said = {
        (role, branch): block(f"{kind} {name}")
        for role, kind in (("generator", "program"), ("discriminator", "tests"))
        for branch, name in enumerate(NAMES)
    }
    player = ScriptedPlayer(
        lambda key: (
            said[key.role, key.branch]
            if key.stage == STAGE
            else walk_through.script[walk_through.problem.id, key.role, key.stage]
        )
    )
    long = Sampling(max_tokens=4000)
    table = Table(num_generations=3, num_suites=3, num_targets=0, generator=long, discriminator=long)
    step = Step(0, STAGE, "both", "stage 5 joint")
    box = LocalBox()
    groups = play(player, Prompts("instruct"), [walk_through.problem], step, table)
    [match] = score(examine(groups, step, Judge(box), 2, MutantCache()), get_rule("novel_kills"))
    config = Config(advantages="group_std")
    credits: dict[Role, Credit] = {
        role: credit([match], role, (STAGE,), config, RunningMeans(), Ranks()) for role in ROLES
    }
    yield Worked(match, credits)
    box.close()


def block(mark: str, page: str = PAGE) -> str:
    """A page's code after the mark `<!-- MARK -->`."""
    found = re.search(rf"<!-- {mark} -->\n```\w+\n(.*?)\n```", page, re.DOTALL)
    assert found, f"no page has {mark}"
    return found[1]


def table(*rows: Sequence[object]) -> str:
    head, *body = [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])


def shown(case: Case) -> str:
    return f"`{case.source.removeprefix('assert ')}`"


def share(verdicts: Sequence[Verdict]) -> tuple[int, int]:
    return verdicts.count("passed"), len(verdicts)


def matrix(worked: Worked) -> str:
    """Every case once, in order of appearance, with its writers and the verdicts."""
    match = worked.match
    cases = {case.identity: case for case in match.baseline}
    writers: dict[tuple[object, ...], dict[int, list[str]]] = {key: {} for key in cases}
    for name, suite in zip(NAMES, match.suites, strict=True):
        for turn in suite.turns:
            for case in turn.cases:
                cases.setdefault(case.identity, case)
                writers.setdefault(case.identity, {}).setdefault(turn.stage, []).append(name)
    counting = {case.identity for case in (*match.baseline, *match.admitted)}
    rows = []
    for key, case in cases.items():
        by = "; ".join(
            f"{stage}: {', '.join(names) if len(names) < 3 else 'all'}" for stage, names in writers[key].items()
        )
        killed = sum(worked.verdict(target.verdicts, case) in KILLS for target in match.targets)
        kills = f"{killed}/{len(match.targets)}" if key in counting else "does not count"
        failed = [
            name for name, row in zip(NAMES, match.programs, strict=True) if worked.verdict(row, case) != "passed"
        ]
        rows.append((by or "the problem", shown(case), ", ".join(failed), kills))
    return table(("written at stage, by", "case", "failed by", "mutants killed"), *rows)


def generator_rewards(worked: Worked) -> str:
    rows = []
    for index, (name, reward) in enumerate(zip(NAMES, worked.rewards("generator"), strict=True)):
        program = program_outcome(worked.match, index)
        exam, own = share(program.exam), share(program.baseline)
        whole = exam[0] == exam[1] and own[0] == own[1]
        terms = f"0.4 x {exam[0] / exam[1]:.2f} + {'0.4' if whole else '0'} + 0.2 x {own[0] / own[1]:.2f}"
        assert reward == pytest.approx(0.4 * exam[0] / exam[1] + 0.4 * whole + 0.2 * own[0] / own[1])
        rows.append((name, f"{exam[0]}/{exam[1]}", f"{own[0]}/{own[1]}", terms, f"{reward:.2f}"))
    return table(("program", "exam", "own tests", "sum", "reward"), *rows)


def discriminator_rewards(worked: Worked) -> str:
    rows = []
    for index, name in enumerate(NAMES):
        told = [(shown(case), *worth(outcome)) for case, outcome in zip(*worked.turn(index), strict=True)]
        reward = worked.rewards("discriminator")[index]
        assert reward == pytest.approx(sum(own[-1] for own in told) / len(told))
        last = ["" for _ in told[1:]] + [f"{reward:.3f}"]
        rows += [(name, *own[:-1], f"{own[-1]:.3f}", end) for own, end in zip(told, last, strict=True)]
    return table(("suite", "case", "kills", "new kills", "suites with it", "worth", "turn's reward"), *rows)


def worth(case: CaseOutcome) -> tuple[str, str, str, float]:
    """A case's kills, those that the problem's own tests miss, the suites that hold it, its worth."""
    if not case.valid:
        return "does not count", "", "", 0.0
    killed, total = sum(case.killed), len(case.killed)
    new = sum(kill and not old for kill, old in zip(case.killed, case.killed_by_baseline, strict=True))
    paid = (VALIDITY_WEIGHT + new / total) / sqrt(case.shared)
    return f"{killed}/{total}", f"{new}/{total}", str(case.shared), paid


def advantages(worked: Worked) -> str:
    rows = []
    for role, what in zip(ROLES, ("program", "tests"), strict=True):
        rewards = worked.rewards(role)
        mean = sum(rewards) / len(rewards)
        deviation = sqrt(sum((reward - mean) ** 2 for reward in rewards) / len(rewards))
        for name, reward, span in zip(NAMES, rewards, worked.spans(role), strict=True):
            assert span.advantage == pytest.approx((reward - mean) / deviation)
            centred = f"({reward:.3f} - {mean:.3f}) / {deviation:.3f}"
            rows.append((f"{what} {name}", centred, f"{span.advantage:+.3f}", span.end - span.start))
    return table(("turn", "(reward - mean) / deviation", "advantage A", "tokens"), *rows)


def loss(worked: Worked) -> str:
    rows = []
    for role in ROLES:
        spans = worked.spans(role)
        advantage_N = torch.cat([torch.full((span.end - span.start,), span.advantage) for span in spans])
        loss_N, clipped_N = surrogate(torch.ones_like(advantage_N), advantage_N, clip_bounds(Config()))
        assert not clipped_N.any()
        terms = " ".join(f"{span.advantage:+.3f} x {span.end - span.start}" for span in spans)
        rows.append((role, f"-({terms.removeprefix('+')}) / {len(loss_N)}", f"{float(loss_N.mean()):+.3f}"))
    return table(("role", "sum", "loss"), *rows)


def metrics(worked: Worked) -> str:
    told = (step_counts([worked.match], (0.0, 0)) + group_counts(worked.credits)).metrics()
    return table(("metric", "value"), *((f"`{name}`", f"{told[name]:.3g}") for name in SHOWN))


@pytest.mark.parametrize(
    "part",
    [matrix, generator_rewards, discriminator_rewards, advantages, loss, metrics],
    ids=lambda f: f.__name__,
)
def test_the_worked_group_is_what_the_package_computes(worked: Worked, part: Callable[[Worked], str]) -> None:
    assert part(worked) in PAGE


STATS = UpdateStats(tokens=1)


def in_general(name: str) -> str:
    """`loss/generator` as `loss/ROLE`, `refused/syntax` as `refused/REASON`, `empty/generator/3` as `empty/ROLE/STAGE`."""
    head, *tail = name.split("/")
    kinds = ["ROLE" if each in ROLES else "STAGE" if each.isdigit() else "REASON" for each in tail]
    return "/".join([head, *kinds]) if head != "seconds" else name


def test_every_metric_of_a_step_stands_in_the_glossary(worked: Worked) -> None:
    counts = step_counts([worked.match], (0.0, 0)) + group_counts(worked.credits)
    names = {in_general(name) for name in (*counts.metrics(), *update_metrics(dict.fromkeys(ROLES, STATS)))}
    assert {name for name in names if "refused" in name} == {"refused/REASON"}
    of_a_role = {f"{name}/ROLE" for row in glossary.METRICS["learning/update.py"] for name in row.split(", ")}
    assert names - glossary.names(glossary.METRICS) - of_a_role == set()


def test_every_figure_of_an_evaluation_stands_in_the_glossary() -> None:
    measured = Measured("p", (True,) * 4, True, 2, 1, 1, (), {"recorded": (1, 1), "paid": (1, 1), "kept": (1, 1)})
    assert set(figures([measured]).estimates()) - glossary.names(glossary.FIGURES) == set()


def test_every_reason_of_a_refusal_stands_in_the_glossary() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "selfplay").glob("[cj]*/**/*.py")]
    slug = r'(?:Unusable\(\s*|(?:return|detail =) |\.source, |\.name, [\w.]+, )"([a-z_]+)"'
    reasons = {reason for source in sources for reason in re.findall(slug + r',\s*(?:f?"|detail)', source)}
    assert {"weak", "domain", "unstable", "budget", "no_jail"} <= reasons
    told = set(re.findall(r"`(\w+)`", GLOSSARY.partition("| reason |")[2].partition("\n\n")[0]))
    assert reasons - told == told - set(REASONS) == set()


@pytest.mark.parametrize("tables", [glossary.METRICS, glossary.FIGURES], ids=["metrics", "figures"])
def test_the_glossary_has_the_tables_of_the_code(tables: Mapping[str, Mapping[str, str]]) -> None:
    assert glossary.markdown(tables) in GLOSSARY
    assert [place for place in tables if not (ROOT / "selfplay" / place).exists()] == []


@pytest.mark.parametrize("page", [*(path.name for path in DOCS.glob("*.md")), "../README.md", "../CONTRIBUTING.md"])
def test_every_link_of_a_page_leads_somewhere(page: str) -> None:
    links = re.findall(r"\]\((?!http)([^)#\s]+)", (DOCS / page).read_text(encoding="utf-8"))
    assert [link for link in links if not ((DOCS / page).parent / link).exists()] == []


def test_the_problem_of_the_page_can_be_trained_on(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(f"[{block('a problem', CONTRIBUTING)}]", encoding="utf-8")
    [problem] = load_problems(file)
    tests = [test for test in (*problem.baseline_tests, *problem.hidden_tests) if isinstance(test, str)]
    outcome = execute_tests(problem.reference_solution or "", tests)
    assert (outcome.passed, outcome.total) == (2, 2)


def test_the_mutation_operator_of_the_page_changes_a_program() -> None:
    names: dict[str, Any] = vars(operators).copy()
    exec(block("a mutation operator", CONTRIBUTING), names)
    node = ast.parse("a if c else b", mode="eval").body
    [(name, changed)] = names["_branches"](node, node)
    assert (name, ast.unparse(changed), ast.unparse(node)) == ("branches", "b if c else a", "a if c else b")


def test_the_page_of_real_models_shows_the_memory_plan_as_it_is() -> None:
    page = (ROOT / "docs" / "real-models.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z]+\d+)(?: --model (\S+))?` \| (.*) \|$", page, re.MULTILINE)
    assert {preset for preset, _, _ in rows} == set(CARDS)
    for preset, model, shown in rows:
        config = Config(preset=preset, **({"model": model} if model else {}))
        machine = card(preset)
        assert machine
        assert config.model
        shape = shape_of(model_config(config.model))
        made = plan(shape, choose(config, machine, shape))
        sizes = [made.stays["weights"], made.stays["adapters"] + made.stays["optimizers"]]
        sizes += [sum(made.sampling.values()), sum(made.update.values()), made.peak]
        told = [f"{size / GIB:.2f}" for size in sizes]
        told[2] += f", {made.choice.rows}"
        assert [config.model.split("/")[1].removesuffix("-Instruct"), f"{machine.gib}", *told] == shown.split(" | ")


def test_the_page_of_tests_says_which_run() -> None:
    page = (DOCS / "tests.md").read_text(encoding="utf-8")
    text, shown = re.findall(r"```python\n(.*?)```\n```\n(.*?)```", page, re.DOTALL)[0]
    judge = Judge(LocalBox())
    reference = "def f(xs):\n    return sorted(xs)\n"
    try:
        reading = judge.desk.tests(text, "f", "def f(xs):")
        subject = Subject("f", reference)
        sites = judge.texts.cases(subject, "def f(xs):", reading.rest)
    finally:
        judge.close()
    kinds = [("literal", case) for case in reading.cases] + [("run", case) for case, refusal in sites if not refusal]
    assert "".join(f"{kind} {case.name}: {' '.join(case.source.split())}\n" for kind, case in kinds) == shown


def test_the_means_of_the_results_are_those_of_their_seeds() -> None:
    seeds: defaultdict[tuple[str, str, str], list[float]] = defaultdict(list)
    for row in csv.DictReader((DOCS / "results.csv").open(encoding="utf-8")):
        seeds[row["table"], row["arm"], row["figure"]].append(float(row["value"]))
    shown: dict[tuple[str, str, str], float] = {}
    page = (DOCS / "results.md").read_text(encoding="utf-8")
    for name, part in zip(("evidence", "rules"), page.split("\n## Which rule pays"), strict=True):
        for head, rows in re.findall(r"^(\| \| `.*)\n\|[-|]+\n((?:\|.*\n)+)", part, re.MULTILINE):
            figures = re.findall(r"`(\w+)`", head)
            for row in rows.splitlines():
                arm, *cells = [cell.strip().partition(":")[0] for cell in row.strip("|").split("|")]
                means = zip(figures, map(float, cells), strict=True)
                shown |= {(name, arm.removesuffix(" (default)"), figure): mean for figure, mean in means}
    both = seeds.keys() & shown.keys()
    assert len(both) == 60
    assert {key: shown[key] for key in both} == pytest.approx({key: fmean(seeds[key]) for key in both}, abs=0.0011)
