"""Figures side by side: in columns, and as pictures that are the same every time."""

from __future__ import annotations

from pathlib import Path

import pytest

from selfplay.errors import BadInput
from selfplay.evaluation.crossplay import CrossPlay
from selfplay.evaluation.intervals import NOTHING, Estimate
from selfplay.evaluation.standings import chart, check_chart, cross_chart, cross_json, cross_text, text_table

ONE, OTHER = Estimate(0.5, 0.4, 0.6), Estimate(0.25, 0.125, 0.375)
TABLE = {"a": {"code_greedy": ONE, "oracle": NOTHING}, "runs/b": {"code_greedy": OTHER}}
CROSS = CrossPlay(("start", "stage 1"), ((ONE, OTHER), (ONE, ONE)), ((NOTHING, ONE), (OTHER, ONE)))


def test_players_stand_in_columns_and_what_is_unknown_is_a_dash() -> None:
    head, first, second = text_table(TABLE, "2 problems").splitlines()
    assert head.split("  ")[0] == "2 problems"
    assert first.endswith("0.500 (0.400 to 0.600)  0.250 (0.125 to 0.375)")
    assert second.split() == ["oracle", "-", "-"]


def test_cross_play_has_a_row_per_generator() -> None:
    text = cross_text(CROSS)
    assert text.count("generator of \\ discriminator of  start") == 2
    assert cross_json(CROSS)["kills"][0][0] == {"value": None, "low": None, "high": None}


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_a_picture_is_the_same_every_time(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("matplotlib")
    for name in "ab":
        chart({"a": {"code_greedy": ONE}, "b": {"code_greedy": OTHER}}, tmp_path / f"{name}.{kind}")
        cross_chart(CROSS, tmp_path / f"cross-{name}.{kind}")
    assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()
    assert (tmp_path / f"cross-a.{kind}").read_bytes() == (tmp_path / f"cross-b.{kind}").read_bytes()


def test_another_kind_of_picture_is_refused() -> None:
    with pytest.raises(BadInput, match=r"a picture is a \.png or a \.svg"):
        check_chart(Path("figure.pdf"))
