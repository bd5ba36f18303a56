"""Truth values as indices, alone and among others: as in NumPy, known or computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.capture.comparing import same_values

X = np.arange(12.0).reshape(3, 4) + 0.5
MASK = np.array([[False, True, False, False], [False] * 4, [True, False, False, True]])
INDICES: dict[str, Any] = {
    "alone": lambda t: t,
    "in a tuple": lambda t: (t,),
    "before an integer": lambda t: (t, 0),
    "after an integer": lambda t: (0, t),
    "after a slice": lambda t: (slice(None), t),
    "beside a list": lambda t: ([0, 1], t),
    "beside a list of truth values": lambda t: ([True, False, True], t),
    "beside a mask": lambda t: (t, MASK),
    "beside a new axis": lambda t: (None, t, 1),
    "beside an ellipsis": lambda t: (..., t),
    "twice": lambda t: (t, slice(0, 2), t),
    "between": lambda t: (0, t, [0, 1]),
    "too many": lambda t: (0, 0, t, 0),
    "that do not broadcast": lambda t: ([0, 1, 2], t, t, [0, 1]),
}
KINDS: dict[str, Any] = {
    "bool": lambda truth, x: truth,
    "numpy.bool": lambda truth, x: np.bool_(truth),
    "array": lambda truth, x: np.array(truth),
    "computed": lambda truth, x: (x.sum() > 0) == truth,
}


def same_outcome(function: Any) -> None:
    """A function of X gives under capture what it gives in NumPy, or the same kind of error."""
    try:
        expected = function(X)
    except IndexError:
        with pytest.raises(IndexError):
            ad.jit(function)(X)
        return
    same_values(ad.jit(function)(X), expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("truth", [True, False])
def test_reading_and_writing(name: str, kind: str, truth: bool) -> None:
    def index(x: Any) -> Any:
        return INDICES[name](KINDS[kind](truth, x))

    def written(x: Any) -> Any:
        y = x * 2.0
        y[index(x)] = x.sum()
        return y

    def increased(x: Any) -> Any:
        y = np.ones((3, 4))
        y[index(x)] += x.sum()
        return y

    same_outcome(lambda x: x[index(x)])
    same_outcome(lambda x: np.ones((3, 4))[index(x)] * x.sum())
    same_outcome(written)
    same_outcome(increased)


def test_the_derivative_is_that_of_what_is_taken() -> None:
    def f(x: Any) -> Any:
        y = x * 2.0
        y[x.sum() > 0] = x[0] * x[1]
        return (y * x)[True].sum() + x[False].sum()

    x = np.array([1.0, 3.0])
    assert ad.grad(f)(x).tolist() == [15.0, 7.0]  # of x0 x1 (x0 + x1)
    assert ad.grad(f)(-x).tolist() == (-4 * x).tolist()


def test_a_batch_has_no_one_truth() -> None:
    with pytest.raises(ad.errors.ValueNeededError):
        ad.vmap(lambda x: x[x.sum() > 0])(np.ones((2, 3)))
    assert ad.vmap(lambda x: x[True])(np.ones((2, 3))).shape == (2, 1, 3)
