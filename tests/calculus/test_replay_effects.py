"""Replay: what has effects is captured at each call; nothing of a capture is left over."""

from __future__ import annotations

import math
import operator
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.calculus.jit import replay
from tests.calculus.replaying import X
from tests.counting import counting


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    """Each test begins with nothing kept, and runs on NumPy."""
    replay.forget_all()
    with ad.config(native=False):
        yield


# --- what is captured at every call ---------------------------------------------------------------


def test_random_numbers_are_drawn_anew() -> None:
    rng, same = (np.random.default_rng(3) for _ in range(2))

    def function(x: Any) -> Any:
        return np.sum(x * rng.normal(size=3))

    jitted = ad.jit(ad.grad(function))
    for _ in range(5):
        np.testing.assert_array_equal(ad.grad(function)(X), same.normal(size=3))
        np.testing.assert_array_equal(jitted(X), same.normal(size=3))


def test_seeds() -> None:
    def function(x: Any) -> Any:
        return np.sum(x * np.random.random(3))  # the old functions, too

    for seed in (1, 1, 1, 2, 2, 3):
        np.random.seed(seed)
        found = ad.grad(function)(X)
        np.random.seed(seed)
        np.testing.assert_array_equal(found, np.random.random(3))


def test_what_is_printed_is_printed_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    def function(x: Any) -> Any:
        print("here")
        return np.sum(x)

    for _ in range(5):
        ad.grad(function)(X)
    assert capsys.readouterr().out.split() == ["here"] * 5


def test_effects_happen_at_each_call() -> None:
    seen: list[Any] = []
    count = 0

    def appends(x: Any) -> Any:
        seen.append(1)
        return np.sum(x)

    def counts(x: Any) -> Any:
        nonlocal count
        count += 1
        return count * np.sum(x)

    jitted = ad.jit(appends)
    for number in range(1, 7):
        ad.grad(appends)(X)
        jitted(X)
        assert len(seen) == 2 * number
        assert ad.grad(counts)(X)[0] == number


def test_an_iterator_goes_on() -> None:
    numbers = iter(range(1, 100))

    def function(x: Any) -> Any:
        return next(numbers) * np.sum(x)

    assert [ad.grad(function)(X)[0] for _ in range(6)] == [1, 2, 3, 4, 5, 6]


def test_what_is_stored_at_one_point_is_stored_at_the_next() -> None:
    class Keeps:
        last: Any = None

        def loss(self, x: Any) -> Any:
            self.last = float(np.sum(x))
            return np.sum(x**2)

    model = Keeps()
    for factor in (1.0, 1.0, 1.0, 1.0, 2.0, 3.0):  # the same at first
        ad.grad(model.loss)(factor * X)
        assert type(model.last) is float
        assert math.isclose(model.last, factor * X.sum())


def test_a_warm_cache_is_replayed() -> None:
    tables: dict[int, Any] = {}

    def table(n: int) -> Any:
        if n not in tables:
            tables[n] = np.arange(1.0, n + 1)
        return tables[n]

    function, calls = counting(lambda x: np.sum(table(3) * x))
    for _ in range(8):
        np.testing.assert_array_equal(ad.grad(function)(X), [1.0, 2.0, 3.0])
    assert len(calls) <= replay.FEWEST_CALLS + 2
    tables[3] = np.ones(3)
    np.testing.assert_array_equal(ad.grad(function)(X), 1.0)


# --- what is written into -------------------------------------------------------------------------


def _writes() -> list[tuple[str, Callable[[Any, Any], Any]]]:
    from numpy import copyto as c

    blas = pytest.importorskip("scipy.linalg.blas")
    return [
        ("np.add", lambda W, _: np.add(W, 1.0, W)),
        ("flat", lambda W, _: setattr(W, "flat", 2.0)),
        ("clip", lambda W, _: W.clip(2, 3, W)),
        ("cumsum", lambda W, _: np.cumsum(W, 0, None, W)),
        ("copyto", lambda W, _: c(W, 3.0)),
        ("getattr", lambda W, _: getattr(W, "fill")(2.0)),  # noqa: B009  # what is tested
        ("iadd", lambda W, _: operator.iadd(W, 1.0)),
        ("setitem", lambda W, _: operator.setitem(W, 0, 9.0)),
        ("out", lambda W, _: np.add(W, 1.0, **{"out": W})),
        ("view", lambda W, _: W[1:].fill(3.0)),
        ("reshaped", lambda W, _: W.reshape(-1, 1).__setitem__(0, 5.0)),
        ("put", lambda W, _: np.put(W, [0], 7.0)),
        ("sort", lambda W, _: W[::-1].sort()),
        ("partition", lambda W, _: W.partition(2)),
        ("attribute", lambda _, box: box.buf.fill(2.0)),
        ("multiply", lambda W, _: np.multiply(W, 2.0, W)),
        ("ufunc.at", lambda W, _: np.add.at(W, [0, 0], 1.0)),
        ("byteswap", lambda W, _: W.byteswap(True)),
        ("blas", lambda W, _: blas.dscal(2.0, W)),
        ("itemset", lambda W, _: W.__setitem__(slice(None), 4.0)),
    ]


@pytest.mark.parametrize("length", [10, 4097])
@pytest.mark.parametrize(("name", "write"), _writes(), ids=[name for name, _ in _writes()])
def test_writes_after_an_array_was_used(
    name: str, write: Callable[[Any, Any], Any], length: int
) -> None:
    W = np.arange(float(length))[::-1].copy()
    W[2] = -1.0
    box = types.SimpleNamespace(buf=W)

    def function(x: Any) -> Any:
        y = np.sum(W * x)
        write(W, box)
        return y + np.sum(W * x) * 0.5

    x, start = np.ones(length), W.copy()
    for _ in range(4):
        W[:] = start
        expected = function(x)
        after = W.copy()
        W[:] = start
        value, gradient = ad.value_and_grad(function)(x)
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        np.testing.assert_allclose(gradient, start + 0.5 * after, rtol=1e-12)
        np.testing.assert_array_equal(W, after)


# --- nothing left over ----------------------------------------------------------------------------


def test_what_outlives_a_capture_is_numpys() -> None:
    kept: dict[Any, Any] = {"list": [], "set": set(), "nested": {"pair": None}}

    class Holder:
        __slots__ = ("loss",)

    holder, model = Holder(), types.SimpleNamespace()

    def function(x: Any) -> Any:
        loss = np.sum(x**2)
        kept["list"].append(float(loss))
        kept["set"].add(loss)
        kept["nested"]["pair"] = (loss, [x * 2])
        holder.loss, model.work, model.x = loss, np.zeros(3), x
        return loss

    x = X.copy()
    for _ in range(4):
        ad.grad(function)(x)
        loss = float(np.sum(x**2))
        assert type(kept["list"][-1]) is float
        assert math.isclose(kept["list"][-1], loss)
        assert all(type(each) is np.float64 for each in kept["set"])
        pair, (twice,) = kept["nested"]["pair"]
        assert type(pair) is np.float64
        np.testing.assert_array_equal(twice, 2 * x)
        assert type(holder.loss) is np.float64
        assert type(model.work) is np.ndarray
        assert model.x is x


def test_objects_of_classes_that_are_containers() -> None:
    class Log(dict[str, Any]):
        last: Any = None

    log = Log()

    def function(x: Any) -> Any:
        log["loss"] = np.sum(x)
        log.last = (np.sum(x), {"x": x * 2})
        return np.sum(x**2)

    ad.grad(function)(X)
    assert type(log["loss"]) is type(log.last[0]) is np.float64
    assert type(log.last[1]["x"]) is np.ndarray


def test_after_a_failure_too() -> None:
    model = types.SimpleNamespace()

    def function(x: Any) -> Any:
        model.state = x * 2
        raise KeyError("here")

    with pytest.raises(KeyError):
        ad.grad(function)(X)
    np.testing.assert_array_equal(model.state, 2 * X)
    assert type(model.state) is np.ndarray


class Memo:
    key: Any = None
    value: Any = None

    def loss(self, x: Any) -> Any:
        if self.key is None or not np.array_equal(self.key, x):
            self.key, self.value = x, np.sum(x**2)
        return self.value


def test_memoisation_by_hand_is_no_zero_gradient() -> None:
    memo = Memo()
    np.testing.assert_array_equal(ad.grad(memo.loss)(X), 2 * X)
    with pytest.raises(ad.errors.DroppedDerivativeError, match="an earlier call"):
        ad.grad(memo.loss)(X)
    np.testing.assert_array_equal(ad.grad(memo.loss)(2 * X), 4 * X)


def test_a_warm_start_is_a_warning() -> None:
    model = types.SimpleNamespace(guess=np.ones(3))

    def root(x: Any) -> Any:
        y = model.guess
        for _ in range(30):
            y = (y + x / y) / 2
        model.guess = y
        return np.sum(y)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(ad.grad(root)(X**2), 0.5 / np.abs(X))
    with pytest.warns(ad.errors.StaleValueWarning, match="implicit.root"):
        np.testing.assert_allclose(ad.grad(root)(4 * X**2), 0.25 / np.abs(X))


def test_an_array_without_entries_has_no_order_in_memory() -> None:
    """The last outer product of an elimination is of nothing: no reason to capture again."""

    def eliminated(matrix: Any) -> Any:
        a = matrix.copy()
        for k in range(3):
            a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k] / a[k, k], a[k, k + 1 :])
        return np.sum(np.log(np.diag(a)))

    matrix = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.3, 0.1, 2.0]])
    counted, calls = counting(eliminated)
    jitted = ad.jit(lambda matrix: ad.vjp(counted, matrix)[1](1.0))
    for _ in range(4):
        (gradient,) = jitted(matrix)
    np.testing.assert_allclose(gradient, np.linalg.inv(matrix).T, rtol=1e-12)
    before = len(calls)
    jitted(matrix + 0.1 * np.eye(3))
    assert len(calls) == before
