"""From a trace to a program: what the outputs need, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.capture.recording.tracing import building

X = np.array([1.0, 2.0, 3.0])


def test_what_nobody_needs_tells_no_programs_apart() -> None:
    def plain(x: Any) -> Any:
        return np.sum(np.sin(x) * 2.0 + 3.0)

    def with_more(x: Any) -> Any:
        np.cos(x) * 7.0
        first = np.sin(x)
        np.exp(first - 5.0)
        return np.sum(first * 2.0 + 3.0)

    ad.cache_clear()
    ad.grad(plain)(X)
    before = ad.cache_info()
    np.testing.assert_array_equal(ad.grad(with_more)(X), ad.grad(plain)(X))
    assert ad.cache_info().misses == before.misses


def test_the_constants_are_those_that_are_used_in_the_order_of_their_use() -> None:
    def function(x: Any) -> Any:
        late, early = x + 11.0, x + 22.0
        x * 33.0
        return np.sum(early * late)

    program = ad.program(function, X).program
    assert len(program.inputs) == 3
    ad.cache_clear()
    expected = 2 * X + 33.0
    for _ in range(5):
        np.testing.assert_allclose(ad.grad(function)(X), expected)
        np.testing.assert_allclose(ad.jit(ad.grad(function))(X), expected)


def test_a_kept_capture_derives_nothing_that_was_derived() -> None:
    ad.cache_clear()
    gradient = ad.grad(lambda x: np.mean(np.sin(x) * 2.0))
    gradient(X)
    misses = ad.cache_info().misses
    for _ in range(5):
        np.testing.assert_allclose(gradient(X), np.cos(X) * 2.0 / 3.0)
    assert ad.cache_info().misses == misses


def test_what_is_known_of_traces_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "_TRACES", 8)
    monkeypatch.setattr(building, "_RECORDS", 200)
    for number in range(40):
        x = np.ones(number + 1)
        np.testing.assert_array_equal(ad.grad(lambda x: np.sum(x * x) + np.prod(x))(x), x * 3)
        assert len(building._known) <= 8 + 2
    ad.cache_clear()
    assert not building._known
