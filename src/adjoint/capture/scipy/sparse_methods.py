"""Methods of sparse matrices with traced entries that are alike, and the questions they answer."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.scipy.refusing import refuse_sparse
from adjoint.capture.scipy.sparse_matrix import (
    SparseTraced,
    as_traced,
    is_sparse,
    joined,
    taken,
)
from adjoint.capture.scipy.sparse_patterns import KEEPING_ZERO, at_places
from adjoint.capture.scipy.sparse_vector import SparseVectorTraced

# Methods that move entries.
_MOVING: Final = (
    *("tocsr", "tocsc", "tocoo", "todia", "tobsr", "tolil", "todok", "getrow", "getcol"),
)


def _mover(name: str) -> Any:
    def method(self: SparseTraced, *args: Any, **kwargs: Any) -> Any:
        if name == f"to{self.format}":
            return self.copy() if kwargs.get("copy", True in args[-1:]) else self
        return self.moved(lambda pattern: getattr(pattern, name)(*args, **kwargs))

    method.__name__ = name
    return method


def _by_ufunc(name: str) -> Any:
    def method(self: SparseTraced) -> SparseTraced:
        return self.mapped(getattr(np, name))

    method.__name__ = name
    return method


for _name in _MOVING:
    setattr(SparseTraced, _name, _mover(_name))
for _name in KEEPING_ZERO:
    setattr(SparseTraced, _name, _by_ufunc(_name))


def _rounded(self: SparseTraced, ndigits: int = 0) -> SparseTraced:
    """Each entry rounded."""
    return self.mapped(lambda entries: np.round(entries, ndigits))


def _resize(self: SparseTraced, *shape: Any) -> None:
    """Without what is outside of another shape, or with room for more."""
    whole = self.canonical()
    pattern = whole.pattern.asformat(self.format).copy()
    pattern.resize(*shape)
    self._become(taken(pattern, whole.entries))


setattr(SparseTraced, "__round__", _rounded)  # noqa: B010  # as below
setattr(SparseTraced, "resize", _resize)  # noqa: B010


# --- what is greatest and least -------------------------------------------------------------------


# For each method, the greater or less of two, and that of all numbers.
_EXTREMES: Final[dict[str, tuple[Any, Any]]] = {
    "max": (np.maximum, np.max),
    "min": (np.minimum, np.min),
    "nanmax": (np.fmax, np.fmax.reduce),
    "nanmin": (np.fmin, np.fmin.reduce),
}


def _extremum(name: str) -> Any:
    between, of_all = _EXTREMES[name]

    def method(
        self: SparseTraced, axis: Any = None, out: Any = None, *, explicit: bool = False
    ) -> Any:
        if out is not None:
            getattr(self.pattern, name)(out=out)  # SciPy has none either
        whole = self.canonical()
        axis = _one_axis(whole, name, axis)
        if axis is not None:
            return _along(whole, name, axis, explicit)
        if not whole.pattern.nnz:
            return getattr(whole.pattern, name)(explicit=explicit)
        extreme = of_all(whole.entries)
        if explicit or whole.pattern.nnz == whole.shape[0] * whole.shape[1]:
            return extreme
        return between(extreme, whole.dtype.type(0))  # of the places without an entry

    method.__name__ = name
    return method


def _one_axis(whole: SparseTraced, name: str, axis: Any) -> Any:
    """The axis that a tuple of axes comes to: its only one, or None for both."""
    if not isinstance(axis, tuple):
        return axis
    getattr(whole.pattern, name)(axis=axis)  # SciPy looks at the axes, which few formats take
    return axis[0] if len(axis) == 1 else None


def _along(whole: SparseTraced, name: str, axis: Any, explicit: bool) -> Any:
    """The greatest or the least in each column (axis 0) or row (axis 1), as SciPy shapes them.

    explicit: whether a place without an entry does not count; a line of such has no entry.
    """
    shaped = getattr(whole.pattern, name)(axis=axis)  # SciPy looks at the axis
    kept = 1 if axis % 2 == 0 else 0
    count, across = whole.shape[kept], whole.shape[1 - kept]
    lines = whole.places[kept]
    numbers = np.bincount(lines, minlength=count)
    # The entries line by line, and a zero for each line that lacks one: they come in order.
    short = np.flatnonzero(numbers < (0 if explicit else across))
    owners = np.concatenate([lines, short])
    order = np.argsort(owners, kind="stable")
    entries = np.concatenate([whole.entries, np.zeros(len(short), whole.dtype)])[order]
    held = np.flatnonzero(numbers) if explicit else np.arange(count)
    starts = np.searchsorted(owners[order], held)
    extremes = _EXTREMES[name][0].reduceat(entries, starts) if len(starts) else entries
    places = (np.zeros(len(held), np.int64), held)
    row = SparseTraced(extremes, at_places(*places, (1, count), whole.pattern))
    if shaped.ndim == 1:
        return SparseVectorTraced(row)
    return row.reshape(shaped.shape)


def _place(name: str) -> Any:
    def method(
        self: SparseTraced, axis: Any = None, out: Any = None, *, explicit: bool = False
    ) -> Any:
        return getattr(known_matrix(self), name)(axis=axis, out=out, explicit=explicit)

    method.__name__ = name
    return method


def known_matrix(self: SparseTraced) -> Any:
    """SciPy's own matrix of these values, of which a question is asked."""
    whole = self.canonical()
    known = whole.pattern.copy()
    known.data = np.asarray(concrete(whole.entries))
    return known


def _between(name: str, ufunc: Any) -> Any:
    def method(self: SparseTraced, other: Any) -> Any:
        if is_sparse(other):
            return joined(self, as_traced(other), ufunc)
        if np.ndim(other):
            return ufunc(self.toarray(), other)
        known = concrete(other)
        if ufunc(known, 0) != 0:
            raise refuse_sparse(
                f"{name} of a sparse matrix with traced entries and a number that takes the place "
                "of zeros is dense. Make the matrix dense with toarray()."
            )
        return self.mapped(lambda entries: ufunc(entries, other))

    method.__name__ = name
    return method


for _name in _EXTREMES:
    setattr(SparseTraced, _name, _extremum(_name))
for _name in ("max", "min"):
    setattr(SparseTraced, f"arg{_name}", _place(f"arg{_name}"))
for _name, _ufunc in (("maximum", np.maximum), ("minimum", np.minimum)):
    setattr(SparseTraced, _name, _between(_name, _ufunc))


# --- questions ------------------------------------------------------------------------------------


def _nonzero(self: SparseTraced) -> Any:
    """The places of entries that are not zero, as SciPy has them: several at one are as many.

    Which are zero is asked of the traced numbers, and nothing else.
    """
    known = self.pattern.copy()
    known.data = np.asarray(concrete(self.entries != 0)).reshape(known.data.shape)
    return known.nonzero()


def _count_nonzero(self: SparseTraced, axis: Any = None) -> Any:
    """How many numbers are not zero."""
    return known_matrix(self).count_nonzero(axis)


def _of_pattern(name: str) -> Any:
    def method(self: SparseTraced, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.pattern, name)(*args, **kwargs)

    method.__name__ = name
    return method


def _in_order(self: SparseTraced) -> SparseTraced:
    """A copy with the entries of each row or column in order."""
    copied = self.copy()
    copied.sort_indices()
    return copied


for _name in ("getnnz", "check_format"):
    setattr(SparseTraced, _name, _of_pattern(_name))
setattr(SparseTraced, "count_nonzero", _count_nonzero)  # noqa: B010  # as below
setattr(SparseTraced, "sorted_indices", _in_order)  # noqa: B010


def _truth(self: SparseTraced) -> bool:
    """As SciPy answers, which is an error but for a matrix of one entry."""
    if self.shape == (1, 1):
        return bool(np.sum(self.entries) != 0)
    return bool(self.pattern)


setattr(SparseTraced, "nonzero", _nonzero)  # noqa: B010  # as below
setattr(SparseTraced, "__bool__", _truth)  # noqa: B010  # a method that is set is no override
