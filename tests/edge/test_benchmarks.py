"""The benchmarks' own parts: taking turns, tables, pages, and refusing a wrong gradient."""

import time

import numpy as np
import pytest

from benchmarks import rosenbrock
from benchmarks.__main__ import CASES
from benchmarks.measure import medians
from benchmarks.peers import PEERS, assert_agreement, installed, say_what_is_skipped
from benchmarks.table import Table, compared, duration, ratio, replaced
from tests.architecture.modules import ROOT


def test_medians_tell_slow_from_fast() -> None:
    times = medians(
        {"slow": lambda: time.sleep(2e-3), "fast": lambda: None}, seconds=0.05, rounds=6
    )
    assert 2e-3 <= times["slow"] < 0.1
    assert times["fast"] < 1e-4


def test_a_table_has_its_columns_in_line() -> None:
    table = compared({"by hand": 1e-5, "adjoint": 2.5e-5}, "by hand", ("peak", 1e-6))
    assert table.markdown() == (
        "|             | median | by hand = 1 |\n"
        "|-------------|-------:|------------:|\n"
        "| by hand     |  10 µs |          1× |\n"
        "| adjoint     |  25 µs |        2.5× |\n"
        "| limit: peak |   1 µs |        0.1× |\n"
    )


def test_notes_follow_the_table() -> None:
    assert Table(["a"], notes=["a note"], rows=[["1"]]).markdown().endswith("| 1 |\n\na note\n")


@pytest.mark.parametrize(("seconds", "text"), [(2.0, "2 s"), (5e-10, "0.5 ns"), (0.25, "250 ms")])
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_ratios() -> None:
    assert [ratio(v) for v in (0.12345, 2.0, 190.4)] == ["0.123×", "2×", "190×"]


def test_a_page_is_refreshed_between_its_marks() -> None:
    page = "a\n<!-- benchmark: wine -->\nold\n<!-- end -->\nb\n"
    fresh = replaced(page, "wine", "new\n")
    assert fresh == "a\n<!-- benchmark: wine -->\n\nnew\n\n<!-- end -->\nb\n"
    assert replaced(fresh, "wine", "new\n") == fresh
    with pytest.raises(ValueError, match="no place"):
        replaced(page, "modes", "new")


def test_the_page_has_a_place_for_every_case() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for name in CASES:
        assert replaced(page, name, "x") != page


def test_missing_peers_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    say_what_is_skipped()
    said = capsys.readouterr().err
    for name in PEERS:
        assert (f"skipped: {name} " in said) == (not installed(name))


def test_a_wrong_gradient_is_not_timed() -> None:
    x = np.linspace(-1.0, 1.0, 5)
    right = rosenbrock.by_hand(x)
    assert_agreement({"right": lambda: right, "in a list": lambda: [right]}, right, 1e-12)
    with pytest.raises(AssertionError, match="by wrong is off"):
        assert_agreement({"wrong": lambda: right * 1.001}, right, 1e-4)


def test_the_gradient_of_rosenbrock_by_hand() -> None:
    from scipy.optimize import rosen, rosen_der

    x = np.linspace(-1.5, 1.5, 10)
    np.testing.assert_allclose(rosenbrock.rosenbrock(x), rosen(x), rtol=1e-14)
    np.testing.assert_allclose(rosenbrock.by_hand(x), rosen_der(x), rtol=1e-13)
