"""Methods of sparse matrices with traced entries that are alike, and the questions they answer."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from adjoint.capture.scipy.refusing import refuse_sparse
from adjoint.capture.scipy.sparse_matrix import SparseTraced

# Methods that move entries, and those that are functions of each entry which keep zeros.
_MOVING: Final = ("tocsr", "tocsc", "tocoo", "todia", "tobsr", "getrow", "getcol")
_KEEPING_ZERO: Final = (
    *("sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arctanh", "expm1", "log1p"),
    *("sqrt", "deg2rad", "rad2deg", "rint", "sign", "floor", "ceil", "trunc"),
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
for _name in _KEEPING_ZERO:
    setattr(SparseTraced, _name, _by_ufunc(_name))


def _extremum(name: str) -> Any:
    between = {"max": np.maximum, "min": np.minimum}[name]

    def method(
        self: SparseTraced, axis: Any = None, out: Any = None, *, explicit: bool = False
    ) -> Any:
        if axis is not None or out is not None:
            raise refuse_sparse(
                f"{name} along an axis of a sparse matrix with traced entries has no derivative "
                "here. Make it dense with toarray(), or take that of all entries."
            )
        whole = self.canonical()
        if not whole.pattern.nnz:
            return getattr(whole.pattern, name)()
        extreme = getattr(np, name)(whole.entries)
        if explicit or whole.pattern.nnz == whole.shape[0] * whole.shape[1]:
            return extreme
        return between(extreme, whole.dtype.type(0))  # of the places without an entry

    method.__name__ = name
    return method


for _name in ("max", "min"):
    setattr(SparseTraced, _name, _extremum(_name))


def _nonzero(self: SparseTraced) -> Any:
    """The places of all entries: an entry whose value happens to be zero is one, too."""
    return self.canonical().pattern.nonzero()


def _truth(self: SparseTraced) -> bool:
    """As SciPy answers, which is an error but for a matrix of one entry."""
    if self.shape == (1, 1):
        return bool(np.sum(self.entries) != 0)
    return bool(self.pattern)


def _compared(self: SparseTraced, other: object) -> Any:
    raise refuse_sparse(
        "A comparison of sparse matrices with traced entries is not supported. Compare their data "
        "where they have the same places, or make them dense with toarray()."
    )


setattr(SparseTraced, "nonzero", _nonzero)  # noqa: B010  # as below
setattr(SparseTraced, "__bool__", _truth)  # noqa: B010  # a method that is set is no override
for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
    setattr(SparseTraced, _name, _compared)
setattr(SparseTraced, "__hash__", object.__hash__)  # noqa: B010
