"""NumPy's functions of sets: what values decide to take keeps its derivative.

The number of results depends on values, so that these are not for `vmap`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.capture.numpy.making.values import astype, sort
from adjoint.capture.numpy.reducing.sorting import searchsorted
from adjoint.capture.numpy.shaping.shape import concatenate, ravelled
from adjoint.capture.numpy.table import as_array, implements, perform
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.primitives.structure.gathering import GATHER_ADD


def _row(a: Any) -> Any:
    return ravelled(as_array(a))


def _first_places(a: Any, **arguments: Any) -> Any:
    """Where each value occurs first, in the order of the values."""
    return np.unique(np.asarray(concrete(a)), return_index=True, **arguments)[1]


@implements(np.unique)
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The different values, or slices along an axis, in order."""
    ar = as_array(ar)
    find: Any = np.unique
    answers = find(
        np.asarray(concrete(ar)),
        return_index=True,
        return_inverse=return_inverse,
        return_counts=return_counts,
        axis=axis,
        equal_nan=equal_nan,
    )
    places = answers[1]
    values = _row(ar)[places] if axis is None else np.take(ar, places, axis)
    rest = answers[1:] if return_index else answers[2:]
    return (values, *rest) if rest else values


_Result = {
    name: type(getattr(np, name)(np.zeros(1)))
    for name in ("unique_all", "unique_counts", "unique_inverse")
}


@implements(np.unique_all)
def unique_all(x: Any) -> Any:
    """The different values, where each is first, which each entry is, and how often they occur."""
    return _Result["unique_all"](*unique(x, True, True, True, equal_nan=False))


@implements(np.unique_counts)
def unique_counts(x: Any) -> Any:
    """The different values, and how often they occur."""
    return _Result["unique_counts"](*unique(x, return_counts=True, equal_nan=False))


@implements(np.unique_inverse)
def unique_inverse(x: Any) -> Any:
    """The different values, and which of them each entry is."""
    return _Result["unique_inverse"](*unique(x, return_inverse=True, equal_nan=False))


@implements(np.unique_values)
def unique_values(x: Any) -> Any:
    """The different values, in NumPy's order."""
    x = as_array(x)
    values = np.asarray(concrete(x)).ravel()
    order = np.unique_values(values)  # in no particular order in newer versions
    known, first = np.unique(values, return_index=True, equal_nan=False)
    return _row(x)[first[np.searchsorted(known, order)]]


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Any:
    """The values that are in one or the other."""
    return unique(concatenate([_row(ar1), _row(ar2)]))


@implements(np.intersect1d)
def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """The values that are in both, taken from the first."""
    first, second = _row(ar1), _row(ar2)
    one, other = np.asarray(concrete(first)), np.asarray(concrete(second))
    _, place, place2 = np.intersect1d(one, other, assume_unique, return_indices=True)
    values = astype(first, np.result_type(one, other))[place]
    return (values, place, place2) if return_indices else values


@implements(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The values of the first that are not in the second."""
    first = _row(ar1)
    places = np.arange(first.size) if assume_unique else _first_places(first)
    values = np.asarray(concrete(first))[places]
    return first[places[~np.isin(values, np.asarray(concrete(ar2)))]]


@implements(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The values that are in one of both only."""
    first, second = _row(ar1), _row(ar2)
    if not assume_unique:
        first, second = unique(first), unique(second)
    whole = concatenate([first, second])
    _, places, counts = np.unique(
        np.asarray(concrete(whole)), return_index=True, return_counts=True
    )
    return whole[places[counts == 1]]


@implements(np.isin)
def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: Any = None,
) -> Any:
    """Whether each entry is among others."""
    element, others = as_array(element), _row(test_elements)
    if kind == "table" and not {element.dtype.kind, others.dtype.kind} <= set("biu"):
        raise ValueError(
            "The 'table' method is only supported for boolean or integer arrays. Please select "
            "'sort' or None for kind."
        )
    if not others.size:
        return np.full(element.shape, invert)
    others = sort(others)
    place = np.minimum(searchsorted(others, element), others.size - 1)
    isin = others[place] == element
    return ~isin if invert else isin


if hasattr(np, "in1d"):  # before NumPy 2.4

    @implements(np.in1d)
    def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
        """Whether each entry of the flattened array is among others."""
        return isin(_row(ar1), ar2, assume_unique, invert)


@implements(np.bincount)
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each whole number occurs, or the sum of the weights that are its own."""
    numbers = np.asarray(concrete(x))
    if weights is None:
        return np.bincount(numbers, None, minlength)
    weights = as_array(weights)
    np.bincount(numbers, None, minlength)  # for NumPy's errors, here and below
    if weights.dtype.kind == "c":
        raise TypeError("Cannot cast weights from complex to float64 according to the rule 'safe'")
    total = np.bincount(numbers, np.zeros(weights.shape), minlength)
    weights = astype(weights, float)
    return perform(GATHER_ADD, total, weights, numbers.astype(np.intp))
