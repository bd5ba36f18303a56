"""Traced arrays carry NumPy's own values, and refusals outlive the user's `except`."""

from __future__ import annotations

import array
import json
import math
import pickle
import warnings
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.stats

import adjoint as ad
from adjoint.capture.recording.tracing.traced import from_array

X = np.array([0.7, 1.3, 0.7])


def value(function: Any, *args: Any) -> Any:
    """The value of a captured function."""
    return ad.value_and_grad(function)(*args)[0]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: sum({x[0], x[1], x[2]}),
        lambda x: {0: 2.0, 1: 3.0}.get(np.argmax(x), 9.0) * x[0],
        lambda x: Counter([float(v) for v in x])[0.7] * x[1],
        lambda x: len({v > 1 for v in x}) * x[0],
        lambda x: x[0] * (hash(x[0]) == hash(0.7)),
        lambda x: sorted(x.tolist(), key=lambda v: -v)[0] * 2,
        lambda x: {(v, 1): v for v in x}[(1.3, 1)],
    ],
)
def test_values_hash_and_compare_as_numpys(function: Any) -> None:
    assert value(function, X) == function(X)


def test_an_array_of_no_axes_is_an_array() -> None:
    def function(x: Any) -> Any:
        total = np.asarray(x * 0)
        state = {"a": total}
        total += x
        assert isinstance(total, np.ndarray)
        assert not isinstance(total * 1.0, np.ndarray)
        return state["a"] * x

    assert ad.grad(function)(2.0) == 4.0


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(np.unravel_index(np.argmax(x) + 9, (2, 2))[0] * x),
        lambda x: np.digitize(x, [1.0, 0.0, 2.0]).sum() * x[0],
        lambda x: np.histogram(x * np.nan)[0].sum() * x[0],
        lambda x: np.quantile(x, x[1]),
        lambda x: np.average(x, weights=x - x),
        lambda x: float(x[0]) // 0.0,
        lambda x: math.log(x[0] - 0.7),
        lambda x: math.exp(2000 * x[0]),
        lambda x: np.ones(2) @ x,
        lambda x: x[5],
        lambda x: np.linalg.inv(np.outer(x, x) * 0),
        lambda x: scipy.linalg.solveh_banded(np.array([x, -x]), x)[0],
        lambda x: scipy.interpolate.CubicSpline(x, x)(0.5),
        lambda x: scipy.integrate.simpson(x, x=np.ones(7)),
    ],
)
def test_checks_of_values_are_numpys_and_scipys(function: Any) -> None:
    """The same class of error, and an `except` catches it."""
    with pytest.raises(Exception) as expected:
        function(X)
    with pytest.raises(expected.type):
        ad.grad(function)(X)

    def caught(x: Any) -> Any:
        try:
            return function(x)
        except expected.type:
            return 3.0 * x[0]

    np.testing.assert_array_equal(ad.grad(caught)(X), [3.0, 0.0, 0.0])


def test_floating_point_errors_inside_the_function() -> None:
    def raising(x: Any) -> Any:
        with np.errstate(all="raise"):
            try:
                return np.sum(np.log(x))
            except FloatingPointError:
                return np.sum(x)

    def recording(x: Any) -> Any:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            y = np.sum(np.log(x))
        return np.sum(x) if found else y

    for function in (raising, recording):
        np.testing.assert_array_equal(ad.grad(function)(np.array([1.0, 0.0])), [1.0, 1.0])
        np.testing.assert_array_equal(ad.grad(function)(np.array([1.0, 2.0])), [1.0, 0.5])


def test_a_warning_is_at_the_users_line_and_comes_once() -> None:
    def function(x: Any) -> Any:
        return np.sum(np.log(x))  # this line

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        ad.value_and_grad(function)(np.array([0.0, 1.0]))
    (warned,) = found
    assert str(warned.message) == "divide by zero encountered in log"
    assert warned.filename == __file__
    with open(__file__) as source:
        assert "# this line" in source.read().splitlines()[warned.lineno - 1]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: scipy.stats.levy_stable.pdf(x, 1.5, 0.2).sum(),
        lambda x: np.sum(pickle.loads(pickle.dumps(x)) * x),
        lambda x: Fraction(x[0]) * x[1],
        lambda x: np.sum(x.view(np.int64) * x),
        lambda x: np.array(json.loads(json.dumps(float(np.asarray(memoryview(x))[0])))) * x[0],
    ],
)
def test_a_refusal_is_never_swallowed(function: Any) -> None:
    def swallowing(x: Any) -> Any:
        try:
            return function(x)
        except Exception:
            return 0.0 * x[0]

    try:
        found = ad.grad(swallowing)(X)
    except (ad.errors.AdjointError, TypeError):
        return
    raise AssertionError(found)


def test_an_argument_is_never_changed_and_read_only_is_respected() -> None:
    def function(x: Any) -> Any:
        y = x.T
        y += 1.0
        return np.sum(x * x)

    x = np.ones(3)
    np.testing.assert_array_equal(ad.grad(function)(x), [4.0, 4.0, 4.0])
    np.testing.assert_array_equal(x, np.ones(3))
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        ad.grad(function)(x)


@pytest.mark.parametrize(
    "make", [lambda x: x, lambda x: np.asfortranarray(x), lambda x: x[::2, ::-1]]
)
def test_what_is_a_view_follows_the_memory_of_the_argument(make: Any) -> None:
    """A reshape is a view or a copy as the argument lies in memory."""
    x = make(np.arange(24.0).reshape(6, 4))

    def function(x: Any) -> Any:
        flat = x.reshape(-1)
        flat[0] = 5.0
        return np.sum(x * x)

    expected = function(x.copy(order="K") if make is not None else x)
    with_strides = np.lib.stride_tricks.as_strided(x, x.shape, x.strides).copy(order="K")
    if x.flags.c_contiguous or x.flags.f_contiguous:
        assert value(function, x) == expected == function(with_strides)
    else:
        assert value(function, x) == np.sum(x * x)


def test_questions_alone_are_said() -> None:
    def bisection(a: Any) -> Any:
        low, high = 0.0, 4.0
        for _ in range(30):
            middle = (low + high) / 2
            if middle * middle > a:  # asked here
                high = middle
            else:
                low = middle
        return (low + high) / 2

    for _ in range(6):  # and not the first time alone: it is never replayed
        with pytest.warns(ad.errors.QuestionsAloneWarning, match=r"asked here.*implicit\.root"):
            assert ad.grad(bisection)(2.0) == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ad.grad(lambda a: bisection(a) + a if a > 0 else a)(2.0) == 1.0
        assert ad.grad(lambda a: ad.stop_gradient(a) * 1.0 if a > 0 else a)(2.0) == 0.0


def test_the_direction_of_a_complex_number_is_not_a_step() -> None:
    def directed(x: Any) -> Any:
        direction = np.sign(x + 2j * x * x)
        return array.array("d", [np.real(direction)])[0] * x

    def stepped(x: Any) -> Any:
        return array.array("d", [np.sign(x)])[0] * x

    with pytest.raises(ad.errors.DroppedDerivativeError):
        ad.grad(directed)(1.5)
    assert ad.grad(stepped)(1.5) == 1.0


def test_memoisation_by_hand_is_said() -> None:
    class Model:
        key: Any = None
        features: Any = None

        def loss(self, x: Any) -> Any:
            if self.key is None or not np.array_equal(self.key, x):
                self.key, self.features = x.copy(), np.tanh(x)
            return np.sum(np.square(self.features))

    model = Model()
    assert np.all(ad.grad(model.loss)(X) > 0)
    for _ in range(6):
        with pytest.raises(ad.errors.DroppedDerivativeError):
            ad.grad(model.loss)(X)
    assert np.all(ad.grad(model.loss)(X + 1.0) > 0)


def test_errors_of_a_primitive_come_whether_it_was_seen_or_not() -> None:
    @ad.primitive
    def fragile(x: Any) -> Any:
        if x[0] > 1:
            raise RuntimeError("too large")
        return 2 * x

    fragile.jvp(lambda primals, tangents: (fragile(primals[0]), 2 * tangents[0]))

    def function(x: Any) -> Any:
        try:
            return np.sum(fragile(x))
        except RuntimeError:
            return np.sum(3 * x)

    for x in (np.array([0.5]), np.array([1.5]), np.array([0.5]), np.array([1.5])):
        np.testing.assert_array_equal(ad.grad(function)(x), [2.0 if x[0] < 1 else 3.0])


def test_what_outlives_a_capture_is_numpys_though_other_arrays_die_meanwhile():
    others, kept = [from_array(np.zeros(2)) for _ in range(3)], []

    def keeps(x):
        others.clear()
        kept.append(np.indices((2, 2)))
        return 2 * x

    ad.jit(keeps)(1.0)
    assert type(kept[0]) is np.ndarray
