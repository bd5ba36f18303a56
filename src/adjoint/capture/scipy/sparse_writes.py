"""Writes to parts of sparse matrices and vectors with traced entries.

SciPy writes the numbers of the new entries to the pattern; what is there then says which entries
the matrix has, old ones and new ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.capture.numpy.table import as_operand
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.capture.scipy.sparse_matrix import (
    SparseTraced,
    as_traced,
    is_sparse,
    taken,
)
from adjoint.capture.scipy.sparse_patterns import known_index
from adjoint.capture.scipy.sparse_vector import SparseVectorTraced


def _written(whole: SparseTraced, pattern: Any, index: Any, value: Any) -> tuple[Any, Any]:
    """The pattern after a write, and the entries that its numbers stand for.

    pattern: that of the matrix as SciPy would have it, which is written to.
    """
    count = whole.pattern.nnz
    if isinstance(value, SparseVectorTraced):
        value = value.row.reshape(value.shape[0]) if pattern.ndim == 1 else value.row
    if is_sparse(value):
        other = as_traced(value).canonical()
        numbers, values = other.pattern.copy(), other.entries
        numbers.data = numbers.data + count
    else:
        values = as_operand(value)
        size = np.size(values)
        numbers = np.arange(count + 1, count + size + 1).reshape(np.shape(values))[()]
        values = np.reshape(values, (size,))
    np.asarray(np.zeros(1, values.dtype), whole.dtype)  # NumPy's warning of parts that get lost
    pattern[known_index(index)] = numbers
    return pattern, np.concatenate([whole.entries, values.astype(whole.dtype)])


def _set_item(self: SparseTraced, index: Any, value: Any) -> None:
    """Write to a part of a matrix.

    Where SciPy writes to the data it has, it is the entries that are written to: others may have
    them too, such as the transpose.
    """
    whole = self.canonical()
    pattern = whole.pattern.copy()
    memory = pattern.data
    pattern, pool = _written(whole, pattern.asformat(self.format), index, value)
    in_place = whole is self and self.form is None and pattern.data is memory
    if not in_place or type(self.entries) is not Traced:
        self._become(taken(pattern, pool))
        return
    changed = np.flatnonzero(memory != whole.pattern.data)
    padded = np.concatenate([np.zeros(1, self.dtype), pool])
    self.entries[changed] = padded[memory[changed]]


def _set_vector_item(self: SparseVectorTraced, index: Any, value: Any) -> None:
    """Write to a part of a vector."""
    whole = self.row.canonical()
    pattern = whole.pattern.copy().reshape(self.shape)
    self.row = taken(*_written(whole, pattern, index, value)).row


setattr(SparseTraced, "__setitem__", _set_item)  # noqa: B010  # a method that is set is no override
setattr(SparseVectorTraced, "__setitem__", _set_vector_item)  # noqa: B010
