"""What SciPy has no function for: the determinant of a sparse matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import DTypeError
from adjoint.capture.numpy.table import perform
from adjoint.capture.scipy.sparse_matrix import as_traced, is_sparse
from adjoint.capture.scipy.sparse_patterns import scipy_sparse
from adjoint.primitives.linear_algebra.sparse.determinants import SPARSE_LOG_DETERMINANT


def log_determinant(A: Any) -> Any:
    """The logarithm of the determinant of a sparse symmetric positive definite matrix.

    By a sparse factorisation, which `spsolve` with the same matrix uses too. The derivative takes
    the entries of the inverse where A has entries, by Takahashi's equations, at about the cost of
    the factorisation; a second derivative takes twice as many solves as there are unknowns.

    Args:
        A: a matrix or array of `scipy.sparse`, whose entries may be traced.

    Returns:
        The logarithm, a number.

    Raises:
        NotPositiveDefiniteError: A is not symmetric, or not positive definite.
        SingularError: A is singular.
        ValueError: A is not square.
        DTypeError: A is complex.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> from scipy import sparse
        >>> def f(t):  # of a determinant that is t^3 - 2 t
        ...     A = sparse.diags([t, -1.0, -1.0], [0, 1, -1], shape=(3, 3))
        ...     return ad.scipy.sparse.log_determinant(A)
        >>> bool(np.isclose(f(4.0), np.log(56)))
        True
        >>> bool(np.isclose(ad.grad(f)(4.0), (3 * 4.0**2 - 2) / 56))
        True
    """
    matrix = as_traced(A if is_sparse(A) else scipy_sparse().csc_array(A)).canonical()
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"matrix must be square (has shape {matrix.shape})")
    if np.dtype(matrix.dtype).kind == "c":
        raise DTypeError(
            "log_determinant takes a real sparse matrix. Got one of complex entries; of a "
            "Hermitian A the real matrix [[Re A, -Im A], [Im A, Re A]] has twice the logarithm."
        )
    operands = (matrix.entries, *matrix.places)
    how = {"unknowns": matrix.shape[0], "count": 1}
    if isinstance(matrix.entries, np.ndarray):
        return SPARSE_LOG_DETERMINANT.evaluate(*operands, **how)[0]
    return perform(SPARSE_LOG_DETERMINANT, *operands, **how)[0]
