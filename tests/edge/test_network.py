"""The wine network: its derivative by hand, its training, and the comparison of four methods."""

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import adjoint as ad
from adjoint.datasets import load_wine
from adjoint.report import (
    accuracy,
    compare,
    comparison_table,
    default_learning_rate,
    draw_weights,
    hand_written_gradient,
    loss_on,
    train,
)
from adjoint.report.figures import save_figure, wine_figure
from adjoint.report.tables import duration, size


def wide_case(hidden: int = 5) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    X, y = load_wine().network_data(np.float64)
    weights = [w.astype(np.float64) for w in draw_weights(hidden, 13, seed=3)]
    return weights, X, y


def test_the_derivative_by_hand_is_the_slope_of_the_loss() -> None:
    W, X, y = wide_case()
    loss = loss_on(X, y)
    random = np.random.default_rng(0)
    U = [random.standard_normal(w.shape) for w in W]
    h = 1e-6
    above = loss([w + h * u for w, u in zip(W, U, strict=True)])
    below = loss([w - h * u for w, u in zip(W, U, strict=True)])
    slope = sum(np.sum(g * u) for g, u in zip(hand_written_gradient(W, X, y), U, strict=True))
    np.testing.assert_allclose(slope, (above - below) / (2 * h), rtol=1e-7)


def test_grad_is_the_derivative_by_hand() -> None:
    W, X, y = wide_case()
    for found, expected in zip(
        ad.grad(loss_on(X, y))(W), hand_written_gradient(W, X, y), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_grad_stays_in_single_precision() -> None:
    X, y = load_wine().network_data()
    W = draw_weights(16, 13, seed=0)
    assert [g.dtype for g in ad.grad(loss_on(X, y))(W)] == [np.float32, np.float32]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_training_tells_the_wines_apart(seed: int) -> None:
    X, y = load_wine().network_data()
    training = train(loss_on(X, y), draw_weights(16, 13, seed), 2000, default_learning_rate(16))
    assert len(training.losses) == 2001
    assert training.losses[-1] < 0.04
    assert accuracy(training.weights, X, y) > 0.97


def test_a_training_that_diverges_says_so() -> None:
    X, y = load_wine().network_data()
    with pytest.raises(ad.errors.ArgumentError, match="smaller learning rate"):
        train(loss_on(X, y), draw_weights(16, 13, 0), 100, 10.0)


def test_the_four_methods_agree() -> None:
    X, y = load_wine().network_data(np.float64)
    weights = [w.astype(np.float64) for w in draw_weights(2, 13, seed=1)]
    rows = compare(X, y, weights, seconds_each=0.0)
    assert [row.method.name for row in rows] == [
        "forward mode",
        "reverse mode",
        "by hand",
        "central differences",
    ]
    limits = {"central differences": 1e-7}  # h^2 with h = eps^(1/3), times the third derivative
    for row in rows:
        assert row.error < limits.get(row.method.name, 1e-13)
        assert row.seconds > 0
        assert row.peak_bytes > 0


def test_the_table_has_a_line_for_each_method() -> None:
    X, y = load_wine().network_data()
    rows = compare(X, y, draw_weights(1, 13, seed=1), seconds_each=0.0)
    assert comparison_table(rows, "a title").row_count == 4


@pytest.mark.parametrize("width", [40, 50, 80, 120])
def test_no_digit_is_lost_however_narrow_the_terminal(width: int) -> None:
    """Where columns do not fit, each method is a small list."""
    X, y = load_wine().network_data()
    rows = compare(X, y, draw_weights(16, 13, seed=1), seconds_each=0.0)
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(comparison_table(rows, "a title", width))
    text = console.export_text()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    for row in rows:
        for cell in (row.method.name, duration(row.seconds), f"{row.error:.1e}"):
            assert cell in text
    assert ("method" in text.splitlines()[2]) == (width >= 80)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.5, "2.5 s"), (0.0125, "12.5 ms"), (1.234e-4, "123 µs"), (4e-8, "40 ns")],
)
def test_durations_are_told_to_three_digits(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(("count", "text"), [(512, "512 B"), (1536, "1.5 KiB"), (2**31, "2 GiB")])
def test_sizes_are_told_to_three_digits(count: int, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize("steps", [1, 50])
@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_picture_is_written(tmp_path: Path, steps: int, suffix: str) -> None:
    X, y = load_wine().network_data()
    training = train(loss_on(X, y), draw_weights(3, 13, 0), steps, 1e-3)
    path = tmp_path / f"wine{suffix}"
    save_figure(wine_figure(training, X, y), path)
    assert path.stat().st_size > 10_000
