"""What a run left is read line by line; what cannot be read is named by line and reason, and costs little."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from selfplay.config import configure
from selfplay.errors import SelfplayError
from selfplay.match.ledger import LedgerError, to_json
from selfplay.run import reading
from selfplay.run.folder import RunFolder, RunFolderError
from selfplay.run.reading import Ledger, Lines, groups_of_steps, open_ledger, read_config
from tests.match.groups import group, trained

ROOT = Path(__file__).parents[2]
MATCHES = [match for _, match in trained([group({"a": ("passed", "passed"), "b": ("failed", "passed")}, [{1: ["x"]}])])]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run of one step."""
    folder = RunFolder(configure({"output_dir": str(tmp_path / "run")}))
    folder.step({"kind": "step", "step": 0, "groups": 2, "groups/generator": 1, "groups/discriminator": 1})
    folder.episodes([to_json(match) for match in MATCHES])
    return tmp_path / "run"


def test_a_ledger_gives_the_matches_with_their_lines(run: Path) -> None:
    assert list(open_ledger(run, read_config(run))) == [(1, MATCHES[0])]


def test_the_groups_of_each_step_are_those_of_the_metrics(run: Path) -> None:
    assert groups_of_steps(run) == {0: 1}
    (run / "metrics.jsonl").unlink()
    assert groups_of_steps(run) == {}


def test_a_torn_last_line_is_left_out_and_told(run: Path) -> None:
    file = run / "episodes.jsonl"
    whole = file.read_bytes()
    for cut in (1, 100, len(whole) - 2):
        file.write_bytes(whole + whole[:cut])
        lines = Lines(file)
        assert [number for number, _ in lines] == [1]
        assert lines.torn


def test_what_is_written_after_the_file_was_opened_is_not_read(run: Path) -> None:
    lines = Lines(run / "episodes.jsonl")
    with open(run / "episodes.jsonl", "a") as file:
        file.write("half a li")
    assert len(list(lines)) == 1
    assert not lines.torn


def test_who_shows_what_there_is_counts_the_lines_that_cannot_be_read(run: Path) -> None:
    file = run / "episodes.jsonl"
    whole = file.read_text()
    file.write_text("no line\n" + whole + json.dumps(to_json(MATCHES[0]) | {"schema": 9}) + "\n" + whole[:100])
    ledger = Ledger(Lines(file, forgiving=True))
    assert list(ledger) == [(2, MATCHES[0])]
    assert (ledger.lines.damaged, ledger.lines.torn, ledger.strange) == (2, True, 1)
    assert list(Lines(run / "nowhere", forgiving=True)) == []


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "it is not JSON"),
        (b"{'a': 1}", "it is not JSON (Expecting property name"),
        (b"[1]", "it is no JSON object"),
        (b'{"a": NaN}', "a number that cannot be read"),
        (b'{"a": ' + b"9" * 5000 + b"}", "a number that cannot be read"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
        (b'{"a": "\xff"}', "it is not UTF-8"),
    ],
)
def test_a_line_that_no_run_writes_is_named_with_the_reason(tmp_path: Path, line: bytes, why: str) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_bytes(b'{"a": 1}\n' + line + b"\n" + b'{"a": 2}\n')
    with pytest.raises(LedgerError) as raised:
        list(Lines(file))
    assert f"{file}, line 2: " in str(raised.value)
    assert why in str(raised.value)


def test_a_line_that_is_too_long_is_refused_without_being_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_LINE", 1 << 20)
    file = tmp_path / "lines.jsonl"
    file.write_bytes(b'{"a": 1}\n{"a": "' + b"x" * (2 << 20) + b'"}\n')
    with pytest.raises(LedgerError, match="line 2: it is longer than 1 MiB"):
        list(Lines(file))


def test_memory_is_that_of_one_line_however_long_the_ledger(run: Path) -> None:
    """200 MB of lines, read in a process that may take 64 MB more than it has when it begins."""
    record = json.dumps(to_json(MATCHES[0]) | {"mood": "x" * 1_000_000})
    with open(run / "episodes.jsonl", "w") as file:
        for _ in range(200):
            file.write(record + "\n")
    code = (
        "import resource, sys\nfrom pathlib import Path\nfrom selfplay.run.reading import Ledger, Lines\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "count = sum(1 for _ in Ledger(Lines(Path(sys.argv[1]))))\n"
        "print(count, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, str(run / "episodes.jsonl")], cwd=ROOT, capture_output=True, text=True, check=True
    )
    count, mebibytes = map(int, told.stdout.split())
    assert count == 200
    assert mebibytes < 64


def test_a_record_of_another_version_is_named_by_its_line(run: Path) -> None:
    with open(run / "episodes.jsonl", "a") as file:
        file.write(json.dumps(to_json(MATCHES[0]) | {"schema": 9}) + "\n")
    with pytest.raises(LedgerError, match=r"line 2: a record of schema 9, where 3 is read; use the version"):
        list(Ledger(Lines(run / "episodes.jsonl")))


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match=r"holds no run: config\.yaml is missing"):
        read_config(tmp_path)


def test_a_run_without_a_ledger_says_why(run: Path) -> None:
    config = read_config(run)
    (run / "episodes.jsonl").unlink()
    with pytest.raises(RunFolderError, match=r"holds no episodes\.jsonl"):
        open_ledger(run, config)
    with pytest.raises(RunFolderError, match="was made with --ledger off"):
        open_ledger(run, configure({"ledger": "off"}))


def test_a_ledger_that_is_a_folder_is_an_error_in_words(run: Path) -> None:
    (run / "episodes.jsonl").unlink()
    (run / "episodes.jsonl").mkdir()
    with pytest.raises(SelfplayError, match="holds no"):
        list(open_ledger(run, read_config(run)))
