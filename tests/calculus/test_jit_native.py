"""jit on machine code: the short way gives what the long one would, whatever it is called with."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base import pytrees
from tests.executors.native.fake import FakeLowering, install

X = np.array([0.5, -1.0, 2.0])


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeLowering:
    ad.cache_clear()
    return install(monkeypatch)


def quickly(take: Any, fake: FakeLowering) -> Any:
    """The result of a call that machine code answered at its first attempt."""
    runs, hits = fake.runs, fake.hits
    found = take()
    assert (fake.runs - runs, fake.hits - hits) == (1, 1)
    return found


def test_arrays_take_the_short_way(fake: FakeLowering) -> None:
    jitted = ad.jit(lambda x, y: np.exp(x) * y)
    jitted(X, X)
    np.testing.assert_array_equal(quickly(lambda: jitted(X, 2 * X), fake), np.exp(X) * 2 * X)


def test_trees_do_too(fake: FakeLowering) -> None:
    jitted = ad.jit(lambda p, q, s: {"a": np.exp(p["x"]) * q[0], "b": (q[1] * s,)})
    for _ in range(2):
        found = jitted({"x": X}, [X, X + 1], s=2.0)
    found = quickly(lambda: jitted({"x": X + 1}, [X, X], s=3.0), fake)
    np.testing.assert_array_equal(found["a"], np.exp(X + 1) * X)
    np.testing.assert_array_equal(found["b"][0], 3 * X)


def test_the_same_leaves_in_another_structure() -> None:
    jitted = ad.jit(lambda *args: args[0][0] - args[-1][-1])
    y = X + 5
    for _ in range(2):
        assert (jitted([X, y]) == X - y).all()
        assert jitted(X, y) == X[0] - y[-1]
        assert (jitted((X, y), [y, X]) == 0).all()
        assert jitted(X) == X[0] - X[-1]


def test_keywords_and_numbers_of_arguments() -> None:
    def function(x, y=None, z=None):
        return x if y is None else x * y if z is None else x * z

    jitted = ad.jit(function)
    for _ in range(2):
        for args, kwargs in [
            ((X,), {}),
            ((X, X), {}),
            ((X,), {"y": X}),
            ((X,), {"y": 2.0, "z": 3.0}),
            ((), {"x": X}),
            ((X, None), {}),
            ((X, X, X + 1), {}),
        ]:
            np.testing.assert_array_equal(jitted(*args, **kwargs), function(*args, **kwargs))
    with pytest.raises(TypeError):
        jitted()
    with pytest.raises(TypeError):
        jitted(X, X, X, X)


def test_types_that_look_alike() -> None:
    jitted = ad.jit(lambda x, s: x * s)
    x = X.astype(np.float32)
    for _ in range(2):
        for s in (2.0, np.float64(2), np.float32(2), np.array(2.0), 2, True, np.int64(2), 2j):
            for argument in (x, X, x[:2], X.astype(">f8"), x[::-1], float(X[0]), np.arange(3)):
                found, expected = jitted(argument, s), argument * s
                np.testing.assert_array_equal(found, expected)
                assert np.asarray(found).dtype == np.asarray(expected).dtype


def test_arguments_that_are_no_arrays() -> None:
    jitted = ad.jit(lambda x, how: getattr(np, how)(x))
    for _ in range(2):
        for how in ("sin", "cos"):
            np.testing.assert_array_equal(jitted(X, how), getattr(np, how)(X))


def test_values_that_were_asked_for() -> None:
    jitted = ad.jit(lambda x: x * 2 if x[0] > 0 else x * 3)
    for _ in range(3):
        np.testing.assert_array_equal(jitted(X), 2 * X)
        np.testing.assert_array_equal(jitted(-X), -3 * X)


def test_constants_are_those_of_the_call(fake: FakeLowering) -> None:
    scale = np.full(3, 2.0)
    jitted = ad.jit(lambda x: np.exp(x) * scale + 1.5)
    jitted(X)
    scale[:] = 7
    np.testing.assert_array_equal(jitted(X), np.exp(X) * 7 + 1.5)
    np.testing.assert_array_equal(quickly(lambda: jitted(X), fake), np.exp(X) * 7 + 1.5)


def test_settings_are_those_of_the_call(fake: FakeLowering) -> None:
    slope = ad.jit(ad.grad(lambda x: np.sum(np.abs(x) * x)))
    for _ in range(2):
        for weight in (0.0, 1.0, 0.5):
            with ad.config(kink=weight):
                slope(X)
    runs = fake.runs
    with ad.config(native=False):
        slope(X)
    assert fake.runs == runs
    with ad.config(precise=True):
        slope(X)
    assert fake.made[-1].needs.precise


def test_under_an_outer_capture(fake: FakeLowering) -> None:
    inner = ad.jit(lambda x, y: np.exp(x) * y)
    inner(X, X)
    gradient = ad.grad(lambda x: np.sum(inner(x, X)))
    np.testing.assert_allclose(gradient(X), np.exp(X) * X)
    assert ad.grad(lambda s: s * np.sum(inner(X, X)))(2.0) == pytest.approx(np.sum(np.exp(X) * X))
    np.testing.assert_array_equal(inner(X, X), np.exp(X) * X)
    batch = ad.vmap(inner)(np.stack([X, X]), np.stack([X, 2 * X]))
    np.testing.assert_allclose(batch[1], np.exp(X) * 2 * X)


def test_results_are_the_callers_own() -> None:
    jitted = ad.jit(lambda x: (x, x * 1.0, np.zeros(3)))
    for _ in range(3):
        found = jitted(X)
        for array in found:
            assert not np.shares_memory(array, X)
            array[:] = np.nan
    assert X.tolist() == [0.5, -1, 2]


def test_a_miss_takes_the_long_way(fake: FakeLowering) -> None:
    jitted = ad.jit(lambda x: np.log(x) * 2)
    jitted(X + 2)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert np.isneginf(jitted(np.zeros(3))).all()
    assert fake.runs == 2  # it is not tried twice
    np.testing.assert_array_equal(jitted(X + 2), np.log(X + 2) * 2)


def test_what_is_given_up_is_not_tried_again(fake: FakeLowering) -> None:
    fake.misses = True
    jitted = ad.jit(lambda x: np.exp(x) * x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(30):
            np.testing.assert_array_equal(jitted(X), np.exp(X) * X)
    runs = fake.runs
    jitted(X)
    assert fake.runs == runs


def test_programs_in_pieces_take_the_long_way(fake: FakeLowering) -> None:
    fake.cannot = frozenset({"tanh"})
    jitted = ad.jit(lambda x: np.exp(np.tanh(np.sin(x) * x)) * x)
    for _ in range(3):
        np.testing.assert_allclose(jitted(X), np.exp(np.tanh(np.sin(X) * X)) * X)


def test_the_short_way_looks_at_no_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    jitted = ad.jit(lambda x, y: np.exp(x) * y)

    def refuse(*_: Any) -> None:
        raise AssertionError("the arguments were flattened")

    with ad.config(debug=False):  # which takes the long way, to compare
        expected = jitted(X, X)
        monkeypatch.setattr(pytrees, "flatten", refuse)
        np.testing.assert_array_equal(jitted(X, X), expected)
        with pytest.raises(AssertionError, match="flattened"):
            jitted(X[:1], X)  # of another type, which is looked up
