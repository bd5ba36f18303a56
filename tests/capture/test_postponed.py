"""Values of large arrays are computed when somebody looks, and are then what NumPy computes.

Here all arrays are large. `pytest --postpone -o filterwarnings=default tests/calculus` runs other
tests in the same way. What it warns of is tested in `test_postponed_warnings.py`.
"""

from __future__ import annotations

import gc
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint.capture.recording.values import asking, postponed
from adjoint.capture.recording.values.postponed import Postponed

# All arrays are large; and nothing is postponed where a warning is an error.
pytestmark = [pytest.mark.usefixtures("computed"), pytest.mark.filterwarnings("default")]
X = np.array([0.5, -1.0, 2.0, 0.25])


# --- what NumPy is asked --------------------------------------------------------------------------

BINARY = [operator.add, operator.mul, operator.lt, np.maximum, np.hypot, np.divide, pow]
UNARY = [operator.neg, np.exp, np.isnan, np.sign, np.sqrt]
OVER_AXES = [np.sum, np.mean, np.max, np.prod]


@st.composite
def arrays(draw: Any, shape: tuple[int, ...]) -> Any:
    """An array of that shape, or one that is broadcast to it, however it lies in memory."""
    sizes = [draw(st.sampled_from([n, n, 1])) for n in shape]
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 2, -1])) for _ in shape]
    dtype = draw(st.sampled_from([np.float64, np.float64, np.float32, np.complex128, np.bool_]))
    wide = np.ones([sizes[axis] * abs(steps[axis]) for axis in order], dtype)
    laid = np.transpose(wide, np.argsort(order))
    array = laid[tuple(slice(None, None, step) for step in steps)]
    return np.broadcast_to(array, shape) if draw(st.booleans()) else array


def told(function: Callable[..., Any], args: list[Any], kwargs: Any) -> Any:
    """What is said of a call within a capture, before anything is computed."""
    answers = []

    def asks(*args: Any) -> Any:
        answers.append(asking.later(function, args, kwargs))
        return 0.0

    ad.jit(asks)(*args)
    return answers[0]


def agrees(answer: Any, expected: Any) -> None:
    if answer is None:
        return
    assert (answer.dtype, answer.shape) == (expected.dtype, expected.shape)
    assert answer.kind is type(expected)
    if answer.shape:
        laid = np.transpose(expected, answer.order)
        assert laid.flags.c_contiguous
        assert answer.taken().strides == expected.strides
    np.testing.assert_array_equal(answer.taken(), expected)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_result_is_as_numpy_says(data: Any) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    one, other = data.draw(arrays(shape)), data.draw(arrays(shape))
    function = data.draw(st.sampled_from(BINARY + UNARY + OVER_AXES))
    kwargs: dict[str, Any] = {}
    args = [one, other] if function in BINARY else [one]
    if function in OVER_AXES:
        axes = st.sampled_from([None, *range(-one.ndim, one.ndim)])
        kwargs = {"axis": data.draw(axes), "keepdims": data.draw(st.booleans())}
    try:
        with np.errstate(all="ignore"):
            expected = function(*args, **kwargs)
    except TypeError:
        return
    agrees(told(function, args, kwargs), expected)


@pytest.mark.parametrize(
    "shapes", [((3, 4), (4, 2)), ((4,), (4, 3)), ((5, 3, 4), (4, 4)), ((4,), (4,))]
)
@pytest.mark.parametrize("function", [operator.matmul, np.matmul, np.dot])
def test_products_are_as_numpy_says(function: Any, shapes: Any) -> None:
    args = [np.ones(shape) for shape in shapes]
    answer = told(function, args, {})
    assert answer is not None
    agrees(answer, function(*args))


def test_where_makes_an_array_of_numbers() -> None:
    args = [np.float64(1.0), np.float64(2.0), np.float64(3.0)]
    answer = told(np.where, args, {})
    assert answer is not None
    agrees(answer, np.where(*args))


def test_a_sliding_window_is_computed_at_once() -> None:
    windows = np.lib.stride_tricks.sliding_window_view(np.arange(8.0), 3)
    assert told(np.exp, [windows], {}) is None
    assert told(np.exp, [np.ones((0, 3))], {}) is None
    assert told(np.exp, [np.ones(3, int)], {}) is None


def test_a_function_of_the_users_is_not_asked() -> None:
    seen: list[Any] = []
    ufunc = np.frompyfunc(lambda number: seen.append(number) or number, 1, 1)
    assert told(ufunc, [X], {}) is None
    assert seen == []


# --- when it is computed --------------------------------------------------------------------------


def test_nothing_is_computed_that_nobody_looks_at(computed: list[Any]) -> None:
    def cost(x: Any) -> Any:
        return np.sum(np.exp(x) * np.where(x > 0, x, 0.1 * x) ** 2)

    def step(x: Any) -> Any:
        return x - 0.1 * ad.grad(cost)(x) / np.sqrt(ad.hvp(cost, x, np.ones_like(x)) ** 2 + 1)

    result = ad.jit(step)(X)
    assert computed == []
    np.testing.assert_allclose(result, step(X))


def test_attributes_and_containers_compute_nothing(computed: list[Any]) -> None:
    def step(x: Any) -> Any:
        y = np.exp(x)
        return y, {"mean": y.sum(axis=0) / y.shape[0]}, [y * y.ndim]

    ad.jit(step)(X)
    assert computed == []


def test_a_question_computes_what_it_needs(computed: list[Any]) -> None:
    def branches(x: Any) -> Any:
        y, z = np.sin(x), np.cos(x)
        return y * z if np.sum(y) > 0 else y - z

    jitted = ad.jit(branches)
    np.testing.assert_allclose(jitted(X), branches(X))
    assert np.sin in computed
    assert np.cos not in computed
    for x in (-X, X, X + 3.0):
        np.testing.assert_allclose(jitted(x), branches(x))


def test_a_derivative_within_is_computed_for_a_question(computed: list[Any]) -> None:
    def descends(x: Any) -> Any:
        for _ in range(3):
            slope = ad.grad(lambda y: np.sum(np.cosh(y)))(x)
            if np.max(np.abs(slope)) < 0.5:
                break
            x = x - 0.5 * slope
        return x

    jitted = ad.jit(descends)
    for x in (X, 0.1 * X, 2 * X):
        np.testing.assert_allclose(jitted(x), descends(x), rtol=1e-12)


def test_writes_come_after_what_was_read() -> None:
    def writes(x: Any) -> Any:
        y = x * 2
        z = y + 1  # of what y is here
        w = z[1:] * 3
        y[0] = 7.0
        z += 10.0
        return y * z if np.sum(w) + np.sum(z) > y[0] else w

    jitted = ad.jit(writes)
    for x in (X, -X, X + 4.0):
        np.testing.assert_allclose(jitted(x), writes(x))


def test_what_the_user_writes_into_outside_is_not_read_late(computed: list[Any]) -> None:
    def writes(x: Any) -> Any:
        scratch = np.array([1.0, 2.0, 3.0, 4.0])
        y = x * scratch
        scratch[:] = -1.0
        return y if np.sum(y) > 0 else y + scratch

    np.testing.assert_allclose(ad.jit(writes)(X), writes(X))
    assert operator.mul in computed


def test_values_that_outlive_the_call_are_numpys() -> None:
    kept: list[Any] = []

    def keeps(x: Any) -> Any:
        y = np.exp(x)
        kept.append(y)
        return y * 2

    ad.jit(keeps)(X)
    np.testing.assert_array_equal(kept[0], np.exp(X))


def test_small_arrays_are_computed_beside_their_records(computed: list[Any]) -> None:
    postponed.LARGE = 1 << 19
    np.testing.assert_allclose(ad.jit(lambda x: np.sum(np.exp(x)))(X), np.sum(np.exp(X)))
    assert computed == []
    assert ad.jit(lambda x: np.sum(x * 2.0))(np.ones(1 << 20)) == 2.0**21
    assert computed == []


def test_memory_is_let_go_of() -> None:
    def asks(x: Any) -> Any:
        for _ in range(3):
            x = np.tanh(x) * 1.1
            if np.sum(x) > 1e9:
                return x
        return x * 2

    jitted = ad.jit(asks)
    jitted(X)
    gc.collect()
    assert not [x for x in gc.get_objects() if type(x) is Postponed]


def test_what_waits_holds_few_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    living: list[int] = []
    compute = Postponed._compute

    def counted(self: Postponed) -> None:
        compute(self)
        arrays = [x for x in gc.get_objects() if type(x) is Postponed and x._array is not None]
        living.append(sum([x.size > 1 for x in arrays]))

    def adds(x: Any) -> Any:
        total = 0.0
        for k in range(20):
            y = np.exp(x * k)
            total = total + np.sum(y * x)
            if y[0] < 0:
                return x
        return total

    monkeypatch.setattr(Postponed, "_compute", counted)
    np.testing.assert_allclose(ad.jit(adds)(X), adds(X))
    assert max(living) < 10


# --- inputs ---------------------------------------------------------------------------------------


def test_inputs_are_not_copied_until_somebody_writes(computed: list[Any]) -> None:
    def writes(x: Any, y: Any) -> Any:
        z = x + y
        x[0] = 9.0
        x *= 2
        return z + x if np.sum(z) > 0 else z - x + y

    jitted = ad.jit(writes)
    for value in (X, -X, X + 2):
        given, other = value.copy(), value.copy()
        expected = writes(value.copy(), value.copy())
        np.testing.assert_allclose(jitted(given, other), expected)
        np.testing.assert_array_equal(other, value)


def test_a_result_that_is_an_input_has_memory_of_its_own() -> None:
    for function in (
        lambda x: x,
        lambda x: (x, x + 0),
        lambda x: x.T,
        lambda x: ad.grad(np.sum)(x),
    ):
        given = X.copy()
        result = ad.jit(function)(given)
        for part in result if isinstance(result, tuple) else (result,):
            expected = part.copy()
            given += 1.0
            np.testing.assert_array_equal(part, expected)
            part += 1.0


def test_captures_within_see_what_is_written_between_them() -> None:
    def writes(x: Any) -> Any:
        y = x * 2

        def cost(z: Any) -> Any:
            return np.sum(z * y * y)

        first = ad.grad(cost)(x)
        y[1] = 5.0
        second = ad.grad(cost)(x)
        y += first
        return first + second * ad.grad(cost)(x) if np.sum(second) > 0 else second

    jitted = ad.jit(writes)
    for x in (X, -X):
        np.testing.assert_allclose(jitted(x), writes(x))
