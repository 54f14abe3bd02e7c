"""The embedded player: small enough to ship, and wrong in the ways that the laboratory needs."""

from __future__ import annotations

import pytest

from selfplay.config import configure
from selfplay.learning import setup
from selfplay.tiny.measure import measure


def test_it_fits_into_the_package_with_its_card() -> None:
    files = [path for path in setup.EMBEDDED.rglob("*") if path.is_file()]
    assert {"model.safetensors", "tokenizer.json", "config.json", "README.md"} <= {path.name for path in files}
    assert sum(path.stat().st_size for path in files) < 15 * 2**20


@pytest.mark.slow
def test_it_errs_as_its_card_says() -> None:
    told = {name: estimate.value for name, estimate in measure(configure({}), "dev").items()}
    assert 0.30 <= told["code_correct"] <= 0.55
    assert 0.20 <= told["code_greedy"] <= 0.55
    assert 0.20 <= told["test_validity"] <= 0.55
    assert told["distinct"] >= 0.90
    assert told["caught_by_baseline"] <= 0.27  # a quarter, and what another machine's rounding may move
