"""How a space of square matrices with structure is made: a subspace under the Frobenius product."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np

from adjoint.base.arrays import real_dtype
from adjoint.base.errors import ArgumentError, MembershipError
from adjoint.spaces.elements.members import Mismatch
from adjoint.spaces.euclidean import (
    Euclidean,
    array_mismatch,
    as_inexact_dtype,
    as_shape,
)
from adjoint.spaces.space import Space

# What a few dozen roundings can explain, relative to the largest entry; or to 1 where that is
# smaller, so that the difference of two elements is one, though nothing but roundings is left.
_ROUNDINGS: Final = 256


class MatrixSubspace(Space):
    """A real linear subspace of the n x n matrices, under the Frobenius inner product (E.1.26).

    Elements are full n x n arrays that obey the structure to rounding: up to 256 roundings of their
    largest entry, or of 1 where that is smaller. Covectors have components that obey it too. What a
    new one must say:

    - `_restrict`, the orthogonal projection of any matrix, in NumPy functions that run on traced
      arrays too; it decides membership, and is the adjoint of the embedding;
    - `dimension`, `_coordinates` and `_from_coordinates`, for an orthonormal basis. Where each
      basis matrix is one entry, or one and its mirror image, `Patterned` provides them.

    Args:
        n: how many rows and columns.
        dtype: of the entries; real or complex.

    Raises:
        ArgumentError, ArgumentTypeError: n or the dtype makes no sense.

    Example:
        >>> from adjoint.spaces import Diagonal, Hermitian, Symmetric
        >>> all(
        ...     issubclass(family, MatrixSubspace)
        ...     for family in (Diagonal, Hermitian, Symmetric)
        ... )
        True
    """

    _structure: str  # completes "It is not ..."
    _remedy: str  # an expression of x that has the structure

    def __init__(self, n: int, dtype: Any = float) -> None:
        self.shape: Final = as_shape(n) * 2
        if len(self.shape) != 2:
            raise ArgumentError(
                f"{type(self).__name__} takes one number n, for n x n matrices. Got {n!r}. "
                "Euclidean((m, n)) is the space of all m x n matrices."
            )
        self.n: Final = self.shape[0]
        self.dtype: Final = as_inexact_dtype(dtype)

    @property
    def ambient(self) -> Space:
        """All n x n matrices."""
        return Euclidean(self.shape, self.dtype)

    @property
    def _real_dtype(self) -> np.dtype[Any]:
        return real_dtype(self.dtype)

    @property
    def _complex(self) -> bool:
        return self.dtype.kind == "c"

    @property
    def _orthonormal(self) -> bool:
        return True

    def _key(self) -> tuple[Any, ...]:
        return self.n, self.dtype

    def __repr__(self) -> str:
        suffix = "" if self.dtype == np.float64 else f", {self.dtype}"
        return f"{type(self).__name__}({self.n}{suffix})"

    def _why_not(self, x: Any, deep: bool) -> Mismatch | None:
        mismatch = array_mismatch(self, x, self.shape, self.dtype)
        # Entries of a traced array cannot be inspected; its shape and dtype can.
        if mismatch is None and deep and isinstance(x, np.ndarray) and not self._has_structure(x):
            advice = f"It is not {self._structure}: {self._remedy} is."
            return Mismatch(MembershipError, self, x, advice)
        return mismatch

    def _has_structure(self, x: Any) -> bool:
        magnitudes = np.abs(x)
        largest = np.max(magnitudes, initial=1, where=np.isfinite(magnitudes))
        with np.errstate(invalid="ignore", over="ignore"):  # infinities may meet in the projection
            deviation = 4 * np.abs(x / 4 - self._restrict(x / 4))  # no overflow in a sum of two
        # Written so that NaN passes: it is an element's right to be NaN.
        return not np.any(deviation > _ROUNDINGS * np.finfo(x.dtype).eps * largest)


class FreeEntries:
    """Where coordinates stand in a real n x n matrix: at (rows, columns), and mirrored with a sign.

    The basis is E_ij, or (E_ij + sign E_ji)/sqrt(2) where there is a mirror and i != j:
    orthonormal.
    """

    def __init__(self, n: int, places: Any, mirror: int, dtype: np.dtype[Any]) -> None:
        rows, columns = places
        self.rows, self.columns = rows, columns
        doubled = (rows != columns) & (mirror != 0)
        self.outward = np.where(doubled, np.sqrt(2), 1).astype(dtype)
        self.place = np.zeros((n, n), np.intp)
        self.factor = np.zeros((n, n), dtype)
        if mirror:
            self.place[columns, rows] = np.arange(len(rows))
            self.factor[columns, rows] = mirror / self.outward
        self.place[rows, columns] = np.arange(len(rows))
        self.factor[rows, columns] = 1 / self.outward
        count = int(np.count_nonzero(self.factor))
        if count != len(rows) + np.count_nonzero(doubled) or (mirror < 0 and not doubled.all()):
            raise ArgumentError(
                f"The places of a pattern must be different ones, and no mirror images of one "
                f"another (nor on the diagonal, where x[j, i] = -x[i, j]). Got {len(rows)} places, "
                f"which fill {count} entries. np.triu_indices(n) lists each pair once."
            )

    def __len__(self) -> int:
        return len(self.rows)

    def read(self, x: Any) -> Any:
        """The coordinates, shape (count,)."""
        return x[self.rows, self.columns] * self.outward

    def write(self, coordinates: Any) -> Any:
        """The matrix with these coordinates."""
        if not len(self):
            return np.zeros_like(self.factor)
        return coordinates[self.place] * self.factor


class Patterned(MatrixSubspace):
    """Matrices whose independent entries stand at certain places, some of them mirrored.

    A new one says `_pattern()`, the rows and columns of the independent entries, and `_mirror`:
    1 or -1 where x[j, i] = +-x[i, j], and 0 where the other entries are zero.

    Args:
        n: how many rows and columns.
        dtype: of the entries; real or complex.

    Raises:
        ArgumentError: when the pattern is first used, if it names an entry twice.

    Example:
        >>> import numpy as np
        >>> class Bidiagonal(Patterned):
        ...     _mirror = 0
        ...     _structure, _remedy = "upper bidiagonal", "np.triu(np.tril(x, 1))"
        ...
        ...     def _pattern(self):
        ...         rows = np.arange(self.n)
        ...         return np.append(rows, rows[:-1]), np.append(rows, rows[1:])
        >>> Bidiagonal(3).dimension
        5
        >>> Bidiagonal(2).restrict(np.array([[1.0, 2.0], [3.0, 4.0]]))
        array([[1., 2.],
               [0., 4.]])
    """

    _mirror: ClassVar[int]

    @abstractmethod
    def _pattern(self) -> tuple[Any, Any]:
        """Rows and columns of the independent entries."""

    @cached_property
    def _layout(self) -> FreeEntries:
        return FreeEntries(self.n, self._pattern(), self._mirror, self._real_dtype)

    @property
    def dimension(self) -> int:
        """The dimension over the reals: complex entries count twice."""
        return (2 if self._complex else 1) * len(self._layout)

    def _restrict(self, components: Any) -> Any:
        if self._mirror:
            components = (components + self._mirror * np.transpose(components)) / 2
        return np.where(self._layout.factor != 0, components, 0)

    def _coordinates(self, x: Any) -> Any:
        if not self._complex:
            return self._layout.read(x)
        return np.concatenate([self._layout.read(np.real(x)), self._layout.read(np.imag(x))])

    def _from_coordinates(self, coordinates: Any) -> Any:
        layout, coordinates = self._layout, cast(coordinates, self._real_dtype)
        if not self._complex:
            return layout.write(coordinates)
        real, imaginary = coordinates[: len(layout)], coordinates[len(layout) :]
        return complex_matrix(layout.write(real), layout.write(imaginary))


def cast(coordinates: Any, dtype: np.dtype[Any]) -> Any:
    """The coordinates in this dtype."""
    return coordinates if coordinates.dtype == dtype else coordinates.astype(dtype)


def complex_matrix(real: Any, imaginary: Any) -> Any:
    """The matrix with these real and imaginary parts."""
    if not isinstance(real, np.ndarray) or not isinstance(imaginary, np.ndarray):
        return real + 1j * imaginary
    # Not real + 1j * imaginary, which turns an infinite imaginary part into NaN.
    matrix = np.empty(real.shape, np.result_type(real.dtype, np.complex64))
    matrix.real, matrix.imag = real, imaginary
    return matrix
