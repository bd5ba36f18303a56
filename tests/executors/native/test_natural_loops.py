"""Loops as people write them, which nothing in them may send back to NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.executors import tiered

A = np.random.default_rng(0).standard_normal((5, 5)) + 5 * np.eye(5)


def relaxed(b: Any, omega: Any) -> Any:
    """Successive over-relaxation: the first and the last row have nothing on one side."""
    x = np.zeros(5)
    for _ in range(6):
        for i in range(5):
            rest = A[i, :i] @ x[:i] + A[i, i + 1 :] @ x[i + 1 :]
            x[i] += omega * ((b[i] - rest) / A[i, i] - x[i])
    return x


def aligned(x: Any, y: Any) -> Any:
    """The score of an alignment, by a table that Python fills entry by entry."""
    table = np.zeros((len(x) + 1, len(y) + 1))
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            gap = max(table[i - 1, j] - 0.5, table[i, j - 1] - 0.25)
            table[i, j] = np.maximum(gap, table[i - 1, j - 1] + x[i - 1] * y[j - 1])
    return table[-1]


def smoothed(x: Any, y: Any) -> Any:
    """The least cost of a path, with infinities around the table."""
    table = np.full((len(x) + 1, len(y) + 1), np.inf)
    table[0, 0] = 0.0
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            least = min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
            table[i, j] = (x[i - 1] - y[j - 1]) ** 2 + least
    return table[-1, -1]


ARGUMENTS = {
    relaxed: (np.linspace(-1, 1, 5), 1.2),
    aligned: (np.linspace(-1, 2, 12), np.cos(np.arange(15.0))),
    smoothed: (np.linspace(-1, 2, 9), np.cos(np.arange(11.0))),
}


@pytest.mark.parametrize("function", list(ARGUMENTS))
def test_a_loop_is_machine_code(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ARGUMENTS[function]
    slope = ad.grad(lambda *given: np.sum(np.sin(function(*given))))
    with ad.config(native=False):
        expected = function(*arguments), slope(*arguments)
    value, gradient = ad.jit(function), ad.jit(slope)
    got = value(*arguments), gradient(*arguments)
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)

    def on_numpy(*_: Any) -> Any:
        raise AssertionError("NumPy runs it")

    monkeypatch.setattr(tiered.Tiered, "_on_numpy", on_numpy)
    for call in (value, gradient):
        report = call(*arguments)
        assert np.isfinite(report).all()
