"""Derivatives in units of the last place: the table of docs/accuracy.md, on fewer points."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.accuracy import BOUNDS, ENOUGH, Case, cases, measure, ulps

PAGE = Path(__file__).parents[2] / "docs" / "accuracy.md"
FAST = [each for each in cases() if each.name not in BOUNDS]
EXECUTORS = ("NumPy", "native")


@pytest.mark.parametrize("case", FAST, ids=lambda case: case.name)
def test_both_derivatives_are_within_four_units(case: Case) -> None:
    found = measure(case, 10, orders=(1, 2))
    for key, worst in found.worst.items():
        assert worst.ulps <= ENOUGH, (key, worst)


def test_the_unit() -> None:
    assert ulps(1.0, 1, "float64") == 0
    assert ulps(1.0 + 2**-51, 1, "float64") == 2
    assert ulps(1.0 - 2**-53, 1, "float64") == 0.5
    assert ulps(float("nan"), 1, "float64") == float("inf")
    assert ulps(5e-324, 0, "float64") == 1
    assert ulps(0.0, 0, "float64") == 0


def test_the_page_names_every_function() -> None:
    page = PAGE.read_text(encoding="utf-8")
    missing = [each.name for each in cases() if f"`{each.name}`" not in page]
    assert not missing
    assert BOUNDS.keys() <= {each.name for each in cases()}
