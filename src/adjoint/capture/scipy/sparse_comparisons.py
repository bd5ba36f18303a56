"""Comparisons of sparse matrices with traced entries: which numbers are greater, less or equal.

Where the result has entries depends on the numbers, so it is asked for, as the condition of an `if`
is: what is noted of the numbers is how the comparison comes out at each entry, and nothing else.
The matrix of Booleans is SciPy's own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from adjoint.capture.recording.tracing.applying import concrete, peek
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.capture.scipy.sparse_matrix import SparseTraced, as_traced, is_sparse, joined
from adjoint.capture.scipy.sparse_vector import SparseVectorTraced

_COMPARISONS: Final = (
    *(operator.eq, operator.ne, operator.lt),
    *(operator.le, operator.gt, operator.ge),
)


def _compared(compare: Callable[[Any, Any], Any], one: SparseTraced, other: Any) -> Any:
    """Which numbers compare so with those of a sparse matrix, an array, or one number."""
    if isinstance(other, SparseVectorTraced):
        other = other.row.pattern.reshape(
            other.shape
        )  # of another shape, which is all SciPy looks at
    if is_sparse(other) and other.ndim == 2 and other.shape == one.shape:
        other = as_traced(other)
        concrete(joined(one, other, compare).entries)
    elif np.ndim(other) == 0 and isinstance(other, (Traced, np.generic, np.ndarray, int, float)):
        concrete(compare(one.canonical().entries, other))
    elif not is_sparse(other) and np.ndim(other):
        return compare(one.toarray(), other)
    return compare(_seen(one), _seen(other))


def _seen(value: Any) -> Any:
    """SciPy's own matrix of the numbers of one with traced entries; others as they are."""
    if not isinstance(value, SparseTraced):
        return peek(value)
    whole = value.canonical()
    known = whole.pattern.copy()
    known.data = np.asarray(peek(whole.entries))
    return known.asformat(value.format)


def _of_matrix(compare: Callable[[Any, Any], Any]) -> Any:
    def method(self: SparseTraced, other: Any) -> Any:
        return _compared(compare, self, other)

    return method


def _of_vector(compare: Callable[[Any, Any], Any]) -> Any:
    def method(self: SparseVectorTraced, other: Any) -> Any:
        if isinstance(other, SparseVectorTraced):
            other = other.row
        elif is_sparse(other) and other.ndim == 1:
            other = other.reshape((1, -1))
        result = _compared(compare, self.row, other)
        if np.ndim(result) == 2 and is_sparse(result):
            return result.reshape(self.shape)
        return result[0] if np.ndim(result) == 2 else result  # dense, beside a dense vector

    return method


for _compare in _COMPARISONS:
    _name = f"__{_compare.__name__}__"
    setattr(SparseTraced, _name, _of_matrix(_compare))
    setattr(SparseVectorTraced, _name, _of_vector(_compare))
for _kind in (SparseTraced, SparseVectorTraced):
    setattr(_kind, "__hash__", object.__hash__)  # noqa: B010  # which goes with a new `__eq__`
