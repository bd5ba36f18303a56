"""Square matrices with structure, each a real inner-product space under the Frobenius product."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Final, final

import numpy as np

from adjoint.base.errors import ArgumentTypeError
from adjoint.base.signatures.checked import checked_class
from adjoint.spaces.matrices.patterned import (
    FreeEntries,
    MatrixSubspace,
    Patterned,
    cast,
    complex_matrix,
)


@final
class Symmetric(Patterned):
    """Symmetric n x n matrices, X = X', under the Frobenius inner product (E.1.26).

    Elements are full n x n arrays, symmetric to rounding. Covectors have symmetric components;
    `restrict` symmetrises. The basis is E_ii and (E_ij + E_ji)/sqrt(2), i < j, row by row:
    orthonormal. So the coordinates are the entries of the upper triangle, those off the diagonal
    times sqrt(2), because each of them stands in X twice: the dot product of coordinates is the
    Frobenius product. (The half-vectorisation vech X has no sqrt(2); its basis is not orthonormal.)
    A complex one holds the complex matrices equal to their plain transpose, not the Hermitian ones.

    Args:
        n: how many rows and columns.
        dtype: of the entries; real or complex.

    Raises:
        ArgumentError, ArgumentTypeError: n or the dtype makes no sense.

    Example:
        >>> import numpy as np
        >>> space = Symmetric(2)
        >>> space.dimension, space.contains(np.array([[1.0, 2.0], [0.0, 1.0]]))
        (3, False)
    """

    _mirror = 1
    _structure, _remedy = "symmetric", "(x + x.T) / 2"

    def _pattern(self) -> tuple[Any, Any]:
        return np.triu_indices(self.n)

    def _restrict(self, components: Any) -> Any:
        return (components + np.transpose(components)) / 2  # the pattern leaves no entry out


@final
class Skew(Patterned):
    """Skew-symmetric n x n matrices, X = -X', under the Frobenius inner product (E.1.26).

    Elements are full n x n arrays, skew-symmetric to rounding; `restrict` maps C to (C - C')/2.
    The basis is (E_ij - E_ji)/sqrt(2), i < j, row by row: orthonormal.

    Args:
        n: how many rows and columns.
        dtype: of the entries; real or complex.

    Raises:
        ArgumentError, ArgumentTypeError: n or the dtype makes no sense.

    Example:
        >>> import numpy as np
        >>> Skew(3).dimension
        3
    """

    _mirror = -1
    _structure, _remedy = "skew-symmetric", "(x - x.T) / 2"

    def _pattern(self) -> tuple[Any, Any]:
        return np.triu_indices(self.n, 1)

    def _restrict(self, components: Any) -> Any:
        return (components - np.transpose(components)) / 2  # the pattern leaves no entry out


@final
class Diagonal(Patterned):
    """Diagonal n x n matrices under the Frobenius inner product (E.1.26).

    Elements are full n x n arrays, zero off the diagonal; `restrict` drops what stands there. The
    basis is E_ii.

    Args:
        n: how many rows and columns.
        dtype: of the entries; real or complex.

    Raises:
        ArgumentError, ArgumentTypeError: n or the dtype makes no sense.

    Example:
        >>> import numpy as np
        >>> Diagonal(2).restrict(np.array([[1.0, 2.0], [3.0, 4.0]]))
        array([[1., 0.],
               [0., 4.]])
    """

    _mirror = 0
    _structure, _remedy = "diagonal", "np.diag(np.diag(x))"

    def _pattern(self) -> tuple[Any, Any]:
        return np.arange(self.n), np.arange(self.n)


@checked_class
class _Triangular(Patterned):
    _mirror = 0

    def __init__(self, n: int, dtype: Any = float, strict: bool = False) -> None:
        super().__init__(n, dtype)
        self.strict: Final = bool(strict)

    def _key(self) -> tuple[Any, ...]:
        return self.n, self.dtype, self.strict

    def __repr__(self) -> str:
        plain = super().__repr__()
        return f"{plain[:-1]}, strict=True)" if self.strict else plain


@final
class LowerTriangular(_Triangular):
    """Lower triangular n x n matrices under the Frobenius inner product (E.1.26).

    Elements are full n x n arrays, zero above the diagonal, and on it too if `strict`; `restrict`
    drops what stands there. The basis is E_ij, i >= j, row by row.

    Args:
        n: how many rows and columns.
        dtype: of the entries; real or complex.
        strict: whether the diagonal is zero as well.

    Raises:
        ArgumentError, ArgumentTypeError: n or the dtype makes no sense.

    Example:
        >>> import numpy as np
        >>> LowerTriangular(2).coordinates(np.array([[1.0, 0.0], [2.0, 3.0]]))
        array([1., 2., 3.])
    """

    @property
    def _structure(self) -> str:  # type: ignore[override]
        return "strictly lower triangular" if self.strict else "lower triangular"

    @property
    def _remedy(self) -> str:  # type: ignore[override]
        return "np.tril(x, -1)" if self.strict else "np.tril(x)"

    def _pattern(self) -> tuple[Any, Any]:
        return np.tril_indices(self.n, -1 if self.strict else 0)


@final
class UpperTriangular(_Triangular):
    """Upper triangular n x n matrices under the Frobenius inner product (E.1.26).

    Elements are full n x n arrays, zero below the diagonal, and on it too if `strict`; `restrict`
    drops what stands there. The basis is E_ij, i <= j, row by row.

    Args:
        n: how many rows and columns.
        dtype: of the entries; real or complex.
        strict: whether the diagonal is zero as well.

    Raises:
        ArgumentError, ArgumentTypeError: n or the dtype makes no sense.

    Example:
        >>> import numpy as np
        >>> UpperTriangular(3, strict=True).dimension
        3
    """

    @property
    def _structure(self) -> str:  # type: ignore[override]
        return "strictly upper triangular" if self.strict else "upper triangular"

    @property
    def _remedy(self) -> str:  # type: ignore[override]
        return "np.triu(x, 1)" if self.strict else "np.triu(x)"

    def _pattern(self) -> tuple[Any, Any]:
        return np.triu_indices(self.n, 1 if self.strict else 0)


# --- conjugate symmetry ---------------------------------------------------------------------------


class _ConjugateSymmetric(MatrixSubspace):
    """X^H = sign X: the real part is (skew-)symmetric, and the imaginary part the other."""

    _sign: ClassVar[int]

    def __init__(self, n: int, dtype: Any = complex) -> None:
        super().__init__(n, dtype)
        if self.dtype.kind != "c":
            raise ArgumentTypeError(
                f"{type(self).__name__} matrices are complex. Got dtype {self.dtype}. "
                "Symmetric and Skew are the spaces of real ones."
            )

    @property
    def _complex(self) -> bool:
        return False  # i times a Hermitian matrix is none

    @property
    def dimension(self) -> int:
        """The dimension over the reals."""
        return self.n * self.n

    def _restrict(self, components: Any) -> Any:
        return (components + self._sign * np.conj(np.transpose(components))) / 2

    @cached_property
    def _layouts(self) -> tuple[FreeEntries, FreeEntries]:
        sign, n, dtype = self._sign, self.n, self._real_dtype
        real = FreeEntries(n, np.triu_indices(n, 0 if sign > 0 else 1), sign, dtype)
        return real, FreeEntries(n, np.triu_indices(n, 1 if sign > 0 else 0), -sign, dtype)

    def _coordinates(self, x: Any) -> Any:
        real, imaginary = self._layouts
        return np.concatenate([real.read(np.real(x)), imaginary.read(np.imag(x))])

    def _from_coordinates(self, coordinates: Any) -> Any:
        coordinates, (real, imaginary) = cast(coordinates, self._real_dtype), self._layouts
        return complex_matrix(
            real.write(coordinates[: len(real)]), imaginary.write(coordinates[len(real) :])
        )


@final
class Hermitian(_ConjugateSymmetric):
    """Hermitian n x n matrices, X = X^H, under Re Tr(X^H Y): a real space of dimension n^2.

    Elements are full complex n x n arrays, Hermitian to rounding; `restrict` maps C to
    (C + C^H)/2. The basis is that of Symmetric(n), and i times that of Skew(n): orthonormal.

    Args:
        n: how many rows and columns.
        dtype: of the entries, a complex one.

    Raises:
        ArgumentError, ArgumentTypeError: n or the dtype makes no sense; the dtype is real.

    Example:
        >>> import numpy as np
        >>> (
        ...     Hermitian(2).contains(np.array([[1.0, 1j], [-1j, 2.0]])),
        ...     Hermitian(2).dimension,
        ... )
        (True, 4)
    """

    _sign = 1
    _structure, _remedy = "Hermitian", "(x + x.conj().T) / 2"


@final
class SkewHermitian(_ConjugateSymmetric):
    """Skew-Hermitian n x n matrices, X = -X^H, under Re Tr(X^H Y): a real space of dimension n^2.

    They are i times the Hermitian ones; `restrict` maps C to (C - C^H)/2. The basis is that of
    Skew(n), and i times that of Symmetric(n): orthonormal.

    Args:
        n: how many rows and columns.
        dtype: of the entries, a complex one.

    Raises:
        ArgumentError, ArgumentTypeError: n or the dtype makes no sense; the dtype is real.

    Example:
        >>> import numpy as np
        >>> SkewHermitian(2).contains(np.array([[1j, 1.0], [-1.0, 2j]]))
        True
    """

    _sign = -1
    _structure, _remedy = "skew-Hermitian", "(x - x.conj().T) / 2"


# --- the trace ------------------------------------------------------------------------------------


@final
class TraceFree(MatrixSubspace):
    """n x n matrices with Tr X = 0, under the Frobenius inner product (E.1.26).

    `restrict` maps C to C - (Tr C / n) I. The basis is E_ij, i != j, row by row, and then the
    diagonal matrices (1, ..., 1, -k, 0, ...)/sqrt(k (k + 1)) for k = 1, ..., n - 1: orthonormal.

    Args:
        n: how many rows and columns.
        dtype: of the entries; real or complex.

    Raises:
        ArgumentError, ArgumentTypeError: n or the dtype makes no sense.

    Example:
        >>> import numpy as np
        >>> TraceFree(2).restrict(np.array([[3.0, 5.0], [0.0, 1.0]]))
        array([[ 1.,  5.],
               [ 0., -1.]])
    """

    _structure, _remedy = "trace-free", "x - np.trace(x) / len(x) * np.eye(len(x))"

    @property
    def dimension(self) -> int:
        """The dimension over the reals: complex entries count twice."""
        return (2 if self._complex else 1) * self._count

    @property
    def _count(self) -> int:
        return max(self.n * self.n - 1, 0)

    def _restrict(self, components: Any) -> Any:
        if self.n == 0:
            return components
        mean = np.trace(components) / self.n
        return components - mean * np.eye(self.n, dtype=self._real_dtype)

    @cached_property
    def _off_diagonal(self) -> Any:
        """The places of the entries off the diagonal, in the flattened matrix."""
        return np.flatnonzero(~np.eye(self.n, dtype=bool))

    @cached_property
    def _frame(self) -> Any:
        """(n, n - 1): orthonormal columns, each of sum zero."""
        steps = np.arange(1, max(self.n, 1))
        above = np.arange(self.n)[:, None] < steps
        columns: Any = above - np.diag(np.arange(1.0 * self.n))[:, 1:]
        return (columns / np.sqrt(steps * (steps + 1))).astype(self._real_dtype)

    def _read(self, x: Any) -> Any:
        flat = np.reshape(x, (self.n * self.n,))
        diagonal = flat[:: self.n + 1]
        return np.concatenate([flat[self._off_diagonal], diagonal @ self._frame])

    @cached_property
    def _order(self) -> Any:
        """Where each entry stands in the list of those off the diagonal and then those on it."""
        on_diagonal = np.flatnonzero(np.eye(self.n, dtype=bool))
        return np.argsort(np.concatenate([self._off_diagonal, on_diagonal]))

    def _write(self, coordinates: Any) -> Any:
        count = len(self._off_diagonal)
        diagonal = self._frame @ coordinates[count:]
        entries = np.concatenate([coordinates[:count], diagonal])
        return np.reshape(entries[self._order], self.shape)

    def _coordinates(self, x: Any) -> Any:
        if not self._complex:
            return self._read(x)
        return np.concatenate([self._read(np.real(x)), self._read(np.imag(x))])

    def _from_coordinates(self, coordinates: Any) -> Any:
        coordinates = cast(coordinates, self._real_dtype)
        if not self._complex:
            return self._write(coordinates)
        real, imaginary = coordinates[: self._count], coordinates[self._count :]
        return complex_matrix(self._write(real), self._write(imaginary))
