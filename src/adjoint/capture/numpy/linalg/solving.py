"""NumPy's linear algebra of square matrices: `numpy.linalg` but for its products and norms."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from adjoint.base.errors import LinearAlgebraError
from adjoint.capture.numpy.indexing.indexing import reshape_plain
from adjoint.capture.numpy.linalg.products import matmul
from adjoint.capture.numpy.shaping.shape import matrix_transpose
from adjoint.capture.numpy.table import as_array, implements, perform
from adjoint.primitives import PRIMITIVES
from adjoint.primitives.elementwise.conversion import CAST

_SlogdetResult = type(np.linalg.slogdet(np.eye(1)))


def _factors(a: Any) -> Any:
    """The LU factors of one matrix, which its uses and their derivatives share; none of a stack."""
    fits = np.ndim(a) == 2 and a.shape[0] == a.shape[1]
    if not fits or (a.dtype.char not in "fdFD" and a.dtype.kind not in "biu"):
        return ()  # what cannot be factorised is refused under the name of NumPy's function
    return perform(PRIMITIVES["lu_factors"], a)


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    """Solve a linear matrix equation, or system of linear scalar equations."""
    a, b = as_array(a), as_array(b)
    if np.ndim(b) != 1:
        return _solve_columns(a, b)
    x = _solve_columns(a, reshape_plain(b, (*b.shape, 1)))
    return reshape_plain(x, x.shape[:-1])


def _solve_columns(a: Any, b: Any) -> Any:
    wide = a
    if a.dtype.char in "fF" and b.dtype.char not in "fF":
        wide = perform(CAST, a, dtype=np.dtype(a.dtype.char.replace("f", "d").replace("F", "D")))
    factors = _factors(wide)
    if not factors:
        return perform(PRIMITIVES["solve"], a, b)
    return perform(PRIMITIVES["solve_factored"], wide, *factors, b, adjoint=False)


@implements(np.linalg.inv)
def inv(a: Any) -> Any:
    """Compute the inverse of a matrix."""
    return perform(PRIMITIVES["inv"], as_array(a), limit=None)


@implements(np.linalg.det)
def det(a: Any) -> Any:
    """Compute the determinant of an array."""
    a = as_array(a)
    return perform(PRIMITIVES["det"], a, *_factors(a))


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    """Compute the sign and (natural) logarithm of the determinant of an array."""
    a = as_array(a)
    return _SlogdetResult(*perform(PRIMITIVES["slogdet"], a, *_factors(a)))


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """Cholesky decomposition: of the lower triangle of a, or of the upper one."""
    a = as_array(a)
    if not upper:
        return perform(PRIMITIVES["cholesky"], a)
    # a = U^H U with U = L^H, and the lower triangle of a^H is the upper one of a.
    return _conjugate_transpose(perform(PRIMITIVES["cholesky"], _conjugate_transpose(a)))


def _conjugate_transpose(a: Any) -> Any:
    a = matrix_transpose(a) if np.ndim(a) > 1 else a
    return np.conjugate(a) if a.dtype.kind == "c" else a


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: Any) -> Any:
    """Raise a square matrix to the (integer) power n."""
    a, n = as_array(a), index(n)
    if np.ndim(a) < 2 or a.shape[-1] != a.shape[-2]:
        raise LinearAlgebraError(
            f"matrix_power takes square matrices, in the last two axes. Got an array of shape "
            f"{np.shape(a)}."
        )
    if n == 0:
        return np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape).copy()
    if n < 0:
        a, n = inv(a), -n
    result = None
    while n:  # by repeated squaring
        if n % 2:
            result = a if result is None else matmul(result, a)
        n //= 2
        a = matmul(a, a) if n else a
    return result
