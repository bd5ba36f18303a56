"""What is computed when somebody looks warns, and fails, as it would have before."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import special

import adjoint as ad

# All arrays are large; and nothing is postponed where a warning is an error.
pytestmark = [pytest.mark.usefixtures("computed"), pytest.mark.filterwarnings("default")]
X = np.array([0.5, -1.0, 2.0, 0.25])


def lines_of(function: Any, x: Any) -> list[tuple[str, int]]:
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        function(x)
    return [(str(warning.message), warning.lineno) for warning in record]


@pytest.mark.parametrize("x", [np.array([0.0, 1.0, -1.0]), np.array([1.0, 2.0])])
def test_the_first_call_warns_as_numpy_does(x: Any) -> None:
    def warns(x: Any) -> Any:
        y = np.log(x)
        with np.errstate(divide="ignore"):
            z = 1 / x
        return np.sum(np.sqrt(x) + y * z)

    assert lines_of(ad.jit(warns), x) == lines_of(warns, x)


@pytest.mark.parametrize("ignored", ["divide", "under"])
def test_what_is_partly_ignored_warns_of_the_rest(computed: list[Any], ignored: str) -> None:
    def warns(x: Any) -> Any:
        with np.errstate(**{ignored: "ignore"}):
            return np.log(x)

    x = np.array([0.0, 1.0, -1.0])
    assert lines_of(ad.jit(warns), x) == lines_of(warns, x) != []
    with np.errstate(divide="ignore"):
        assert len(lines_of(ad.jit(lambda x: np.log(x)), x)) == 1
    assert computed == [np.log]  # where it warned of the rest


def test_what_is_ignored_waits(computed: list[Any]) -> None:
    def step(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.log(x)

    assert lines_of(ad.jit(step), np.array([0.0, 1.0])) == []
    assert computed == []


def test_a_question_warns_at_the_line_that_computes() -> None:
    def warns(x: Any) -> Any:
        y = np.log(x)
        return x if np.isinf(y).any() else y

    x = np.array([0.0, 1.0])
    assert lines_of(ad.jit(warns), x) == lines_of(warns, x) != []


def test_a_question_where_warnings_are_ignored_does_not_silence_what_was_before() -> None:
    def asks(x: Any) -> Any:
        y = np.log(x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return x if np.isinf(y).any() else y

    x = np.array([0.0, 1.0])
    assert lines_of(ad.jit(asks), x) == lines_of(asks, x) != []


def test_who_listens_to_warnings_does_not_hear_what_was_before() -> None:
    def listens(x: Any) -> Any:
        y = np.log(x)
        with warnings.catch_warnings(record=True) as record:
            warnings.simplefilter("always")
            z = x if np.isinf(y).any() else y
        return z * (1 + len(record))

    x = np.array([0.0, 1.0])
    np.testing.assert_array_equal(ad.jit(listens)(x), listens(x))
    assert lines_of(ad.jit(listens), x) == lines_of(listens, x) != []


def test_a_jitted_function_within_leaves_what_waits_to_warn() -> None:
    inner = ad.jit(np.cosh)

    def calls(x: Any) -> Any:
        y = np.log(x)
        return y, inner(x), inner(np.ones(2))

    x = np.array([0.0, 1.0])
    assert lines_of(ad.jit(calls), x) == lines_of(calls, x) != []


def test_warnings_come_before_an_error() -> None:
    def fails(x: Any) -> Any:
        y = np.log(x)
        if np.sum(x) > 0:
            raise RuntimeError
        return y

    def catches(function: Any) -> Any:
        def caught(x: Any) -> None:
            with pytest.raises(RuntimeError):
                function(x)

        return caught

    x = np.array([0.0, 1.0])
    assert lines_of(catches(ad.jit(fails)), x) == lines_of(catches(fails), x) != []


def test_what_was_said_of_one_line_is_said_of_another() -> None:
    def warns(x: Any) -> Any:
        y = np.log(x)
        if np.isinf(y).any():
            y = y + 1
        return y, np.log(2 * x)

    x = np.array([0.0, 1.0])
    assert len(lines_of(warns, x)) == 2
    assert lines_of(ad.jit(warns), x) == lines_of(warns, x)


def test_who_listens_to_warnings_hears_them() -> None:
    def listens(x: Any) -> Any:
        with warnings.catch_warnings(record=True) as record:
            warnings.simplefilter("always")
            y = np.log(x)
        return y * len(record)

    x = np.array([0.0, 1.0])
    np.testing.assert_array_equal(ad.jit(listens)(x), listens(x))


def test_who_listens_to_a_batch_within_hears_it() -> None:
    def listens(x: Any) -> Any:
        with warnings.catch_warnings(record=True) as record:
            warnings.simplefilter("always")
            y = ad.vmap(lambda a: np.log(a) * 2)(x)
        return y, x * len(record)

    x = np.array([0.0, 0.3, -0.6])
    np.testing.assert_array_equal(ad.jit(listens)(x), listens(x))


def test_who_raises_at_infinities_is_raised_to() -> None:
    def raises(x: Any) -> Any:
        try:
            with np.errstate(all="raise"):
                return np.log(x)
        except FloatingPointError:
            return x - 1

    x = np.array([0.0, 1.0])
    np.testing.assert_array_equal(ad.jit(raises)(x), raises(x))


def test_who_leaves_the_process_is_warned_before() -> None:
    def leaves(x: Any) -> Any:
        y = np.log(x)
        if np.sum(x) > 0:
            raise SystemExit
        return y

    def caught(function: Any) -> Any:
        def call(x: Any) -> None:
            with pytest.raises(SystemExit):
                function(x)

        return call

    x = np.array([0.0, 1.0])
    assert lines_of(caught(ad.jit(leaves)), x) == lines_of(caught(leaves), x) != []


def test_what_scipy_is_asked_to_raise_is_raised() -> None:
    def raises(x: Any) -> Any:
        try:
            with special.errstate(all="raise"):
                return special.gamma(x) * 2
        except special.SpecialFunctionError:
            return x - 1

    x = np.array([0.0, 1.0])
    np.testing.assert_array_equal(ad.jit(raises)(x), raises(x))


def test_a_question_where_scipy_raises_does_not_ask_that_of_what_was_before() -> None:
    def asks(x: Any) -> Any:
        y = special.gamma(x)
        with special.errstate(all="raise"):
            return x if np.isinf(y).any() else y

    x = np.array([0.0, 1.0])
    np.testing.assert_array_equal(ad.jit(asks)(x), asks(x))


def test_errors_are_numpys() -> None:
    def fails(x: Any) -> Any:
        return np.exp(x) + np.ones(3)

    with pytest.raises(ValueError, match="could not be broadcast together") as expected:
        fails(X)
    with pytest.raises(ValueError, match="could not be broadcast together") as error:
        ad.jit(fails)(X)
    assert str(error.value).splitlines()[0] == str(expected.value)


def test_a_negative_power_of_whole_numbers_fails_where_it_stands() -> None:
    def fails(x: Any) -> Any:
        count = np.sum(x > 0)
        try:
            return np.power(2, count - 3)
        except ValueError:
            return count

    jitted = ad.jit(fails)
    for x in (X, X + 3, X):
        assert jitted(x) == fails(x)
