"""Least squares: `numpy.linalg.lstsq`."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from adjoint.base.errors import LinearAlgebraError, ValueNeededError
from adjoint.capture.numpy.indexing.indexing import reshape_plain
from adjoint.capture.numpy.linalg.decompositions import cutoff_number, svd
from adjoint.capture.numpy.linalg.products import matmul
from adjoint.capture.numpy.reducing.reduce import count_nonzero, sum_
from adjoint.capture.numpy.table import as_array, implements, perform
from adjoint.capture.recording.values.valued import attempting, refuse
from adjoint.primitives import PRIMITIVES


class UnsettledResiduals:
    """Residuals whose shape is not the same in every round of a loop or example of a batch.

    They are as many as there are right-hand sides if the matrix has full rank, and none if not. The
    solution is there in any case: an error comes only if somebody looks at these.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        _unsettled()


def _unsettled(*_: Any, **__: Any) -> NoReturn:
    error = ValueNeededError(
        "The residuals of numpy.linalg.lstsq were asked for. There are none where the matrix has "
        "not full rank, which may differ from round to round of a loop and from example to "
        "example under vmap. Compute them from the solution x: np.sum((a @ x - b) ** 2, 0)."
    )
    refuse(error)
    raise error


for _name in ("array", "array_ufunc", "array_function", "len", "iter", "getitem", "bool", "float"):
    setattr(UnsettledResiduals, f"__{_name}__", _unsettled)
for _name in ("add", "sub", "mul", "truediv", "pow", "eq", "ne", "lt", "gt", "le", "ge", "neg"):
    setattr(UnsettledResiduals, f"__{_name}__", _unsettled)
for _name in ("radd", "rsub", "rmul", "rtruediv", "rpow", "abs", "matmul", "rmatmul", "hash"):
    setattr(UnsettledResiduals, f"__{_name}__", _unsettled)


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """Return the least-squares solution to a linear matrix equation."""
    a, b = as_array(a), as_array(b)
    columns = b if np.ndim(b) != 1 else reshape_plain(b, (*b.shape, 1))
    if np.ndim(a) != 2 or np.ndim(columns) != 2:
        raise LinearAlgebraError(
            f"lstsq takes one matrix, and a vector or matrix. Got shapes {np.shape(a)} and "
            f"{np.shape(b)}."
        )
    if a.shape[0] != columns.shape[0]:
        raise LinearAlgebraError(f"Incompatible dimensions: {np.shape(a)} and {np.shape(b)}.")
    cutoff = None if rcond is None else cutoff_number("lstsq", rcond)
    x = perform(PRIMITIVES["lstsq"], a, columns, rcond=cutoff)
    sizes, rank, settled = _rank(a, x.dtype, cutoff)
    rest: Any = np.zeros(0, sizes.dtype)
    if a.shape[0] > a.shape[1] and not settled:
        rest = UnsettledResiduals()
    elif a.shape[0] > a.shape[1] and rank == a.shape[1]:
        left = columns - matmul(a, x)
        squares = left * left if left.dtype.kind != "c" else left.real**2 + left.imag**2
        rest = sum_(squares, 0).astype(sizes.dtype)
    if np.ndim(b) == 1:
        x = reshape_plain(x, (a.shape[1],))
    return x, rest, rank, sizes


def _rank(a: Any, dtype: Any, cutoff: float | None) -> tuple[Any, Any, bool]:
    """The singular values of a matrix, how many of them count, and whether that is one number."""
    a = a.astype(dtype) if np.dtype(dtype).kind != "c" or a.dtype.kind == "c" else a
    sizes = svd(a, compute_uv=False)
    eps = np.finfo(sizes.dtype).eps
    cutoff = eps * max(a.shape) if cutoff is None else cutoff if cutoff >= 0 else eps
    if not np.size(sizes):
        return sizes, np.int32(0), True
    count = count_nonzero(sizes > cutoff * sizes[0])
    try:
        with attempting():
            return sizes, np.int32(int(count)), True
    except ValueNeededError:
        return sizes, count.astype(np.int32), False
