"""Symmetric and skew-symmetric matrices: subspaces of the square matrices."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Final, final

import numpy as np

from adjoint.base.arrays import real_dtype
from adjoint.base.errors import MembershipError
from adjoint.spaces.euclidean import (
    Euclidean,
    array_mismatch,
    as_inexact_dtype,
    as_shape,
    join_parts,
    plain_pairing,
    real_and_imaginary,
)
from adjoint.spaces.space import Mismatch, Space

# Asymmetry that a few dozen roundings can explain, relative to the largest entry.
_ROUNDINGS: Final = 256


class _MatrixSubspace(Space):
    """Square matrices with X' = sign X under the Frobenius inner product."""

    _sign: ClassVar[int]

    def __init__(self, n: int, dtype: Any = float) -> None:
        (self.n,) = as_shape(n)
        self.dtype: Final = as_inexact_dtype(dtype)
        self.shape: Final = (self.n, self.n)

    @property
    def _count(self) -> int:
        """Independent entries."""
        return self.n * (self.n + self._sign) // 2

    @property
    def dimension(self) -> int:
        """The dimension over the reals: complex entries count twice."""
        return 2 * self._count if self._complex else self._count

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

    @property
    def _full(self) -> bool:
        return False

    def _key(self) -> tuple[Any, ...]:
        return self.n, self.dtype

    def __repr__(self) -> str:
        suffix = "" if self.dtype == np.float64 else f", {self.dtype}"
        return f"{type(self).__name__}({self.n}{suffix})"

    def _why_not(self, x: Any, deep: bool) -> Mismatch | None:
        found = array_mismatch(self, x, self.shape, self.dtype)
        # Entries of a traced array cannot be inspected; its shape and dtype can.
        if found is None and deep and isinstance(x, np.ndarray) and not _is_signed(x, self._sign):
            sign, word = ("+", "symmetric") if self._sign > 0 else ("-", "skew-symmetric")
            advice = f"It is not {word}: (x {sign} x.T) / 2 is."
            return Mismatch(MembershipError, self, x, advice)
        return found

    def _zero(self) -> Any:
        return np.zeros(self.shape, self.dtype)

    def _pair(self, components: Any, x: Any) -> Any:
        return plain_pairing(self, components, x)

    def _riesz(self, x: Any) -> Any:
        return x

    def _represent(self, components: Any) -> Any:
        return components

    def _restrict(self, components: Any) -> Any:
        return (components + self._sign * np.transpose(components)) / 2

    # The basis: (E_ij + sign E_ji)/sqrt(2) for i < j, and E_ii among the symmetric; orthonormal.

    @cached_property
    def _layout(self) -> tuple[Any, Any, Any, Any, Any]:
        rows, columns = np.triu_indices(self.n, 0 if self._sign > 0 else 1)
        outward = np.where(rows == columns, 1, np.sqrt(2)).astype(self._real_dtype)
        place = np.zeros(self.shape, np.intp)
        factor = np.zeros(self.shape, self._real_dtype)
        place[columns, rows] = place[rows, columns] = np.arange(len(rows))
        factor[columns, rows] = self._sign / outward
        factor[rows, columns] = 1 / outward
        return rows, columns, outward, place, factor

    def _coordinates(self, x: Any) -> Any:
        rows, columns, outward, _, _ = self._layout
        entries = x[rows, columns]
        if self._complex:
            return real_and_imaginary(entries) * np.concatenate([outward, outward])
        return entries * outward

    def _from_coordinates(self, coordinates: Any) -> Any:
        if self._count == 0:
            return self._zero()
        if coordinates.dtype != self._real_dtype:
            coordinates = coordinates.astype(self._real_dtype)
        _, _, _, place, factor = self._layout
        entries = join_parts(coordinates, self._count) if self._complex else coordinates
        return entries[place] * factor


@final
class Symmetric(_MatrixSubspace):
    """Symmetric n x n matrices, X = X', under the Frobenius inner product (E.1.26).

    Elements are full n x n arrays, symmetric to rounding. Covectors have symmetric components;
    `restrict` symmetrises. The basis is E_ii and (E_ij + E_ji)/sqrt(2), i < j, row by row:
    orthonormal. A complex one holds the complex matrices equal to their plain transpose (not the
    Hermitian ones).

    Raises:
        ArgumentError, ArgumentTypeError: n or the dtype makes no sense.

    Example:
        >>> import numpy as np
        >>> space = Symmetric(2)
        >>> space.dimension, space.contains(np.array([[1.0, 2.0], [0.0, 1.0]]))
        (3, False)
    """

    _sign = 1


@final
class Skew(_MatrixSubspace):
    """Skew-symmetric n x n matrices, X = -X', under the Frobenius inner product (E.1.26).

    Elements are full n x n arrays, skew-symmetric to rounding; `restrict` maps C to (C - C')/2.
    The basis is (E_ij - E_ji)/sqrt(2), i < j, row by row: orthonormal.

    Raises:
        ArgumentError, ArgumentTypeError: n or the dtype makes no sense.

    Example:
        >>> import numpy as np
        >>> Skew(3).dimension
        3
    """

    _sign = -1


def _is_signed(x: Any, sign: int) -> bool:
    magnitudes = np.abs(x)
    largest = np.max(magnitudes, initial=0, where=np.isfinite(magnitudes))
    with np.errstate(invalid="ignore"):  # infinity against infinity is no asymmetry
        asymmetry = np.abs(x - sign * x.T)
    # Written so that NaN passes: it is an element's right to be NaN.
    return not np.any(asymmetry > _ROUNDINGS * np.finfo(x.dtype).eps * largest)
