"""Arrays under the Euclidean (Frobenius) inner product."""

from __future__ import annotations

import operator
from math import prod
from typing import Any, Final, final

import numpy as np

from adjoint.base.arrays import real_dtype
from adjoint.base.errors import ArgumentError, ArgumentTypeError, MembershipError
from adjoint.spaces.elements.members import Mismatch
from adjoint.spaces.elements.values import describe
from adjoint.spaces.space import Space


@final
class Euclidean(Space):
    """Arrays of one shape and dtype, <x, y> = Re sum conj(x) y: Frobenius for matrices (E.1.26).

    Args:
        shape: an integer or a tuple; () for scalars, whose elements are Python numbers, NumPy
            scalars and zero-dimensional arrays.
        dtype: a real or complex floating dtype.

    Elements are arrays of that shape whose dtype casts safely to the space's: a float32 array is an
    element of a float64 or complex64 space, a float64 array is none of a float32 space. Integers
    and booleans are no elements, except Python integers among scalars. Lists are none: use
    np.asarray.

    A covector with components c is u -> Re sum conj(c) u, so the Riesz map is the identity.

    Raises:
        ArgumentError, ArgumentTypeError: the shape or the dtype makes no sense.

    Example:
        >>> import numpy as np
        >>> matrices = Euclidean((2, 2))
        >>> float(matrices.inner(np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]])))
        5.0
    """

    __slots__ = ("__weakref__", "_size", "_widths", "dtype", "shape")

    def __init__(self, shape: int | tuple[int, ...], dtype: Any = float) -> None:
        self.shape: Final = as_shape(shape)
        self.dtype: Final = as_inexact_dtype(dtype)
        self._size: Final = prod(self.shape)
        self._widths: Final = real_dtype(self.dtype)

    @property
    def size(self) -> int:
        """The number of entries, real or complex."""
        return self._size

    @property
    def dimension(self) -> int:
        """The dimension over the reals: complex entries count twice."""
        return 2 * self._size if self._complex else self._size

    @property
    def ambient(self) -> Space:
        """This space."""
        return self

    @property
    def _real_dtype(self) -> np.dtype[Any]:
        return self._widths

    @property
    def _complex(self) -> bool:
        return self.dtype.kind == "c"

    @property
    def _orthonormal(self) -> bool:
        return True

    @property
    def _full(self) -> bool:
        return True

    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.dtype

    def __repr__(self) -> str:
        suffix = "" if self.dtype == np.float64 else f", {self.dtype}"
        return f"Euclidean({self.shape}{suffix})"

    def _why_not(self, x: Any, deep: bool) -> Mismatch | None:
        if type(x) in (int, float) and self.shape == ():
            return None
        return array_mismatch(self, x, self.shape, self.dtype)

    def _zero(self) -> Any:
        return np.zeros(self.shape, self.dtype) if self.shape else self.dtype.type(0)

    def _pair(self, components: Any, x: Any) -> Any:
        return plain_pairing(self, components, x)

    def _restrict(self, components: Any) -> Any:
        return components

    def _coordinates(self, x: Any) -> Any:
        if hasattr(x, "toarray"):  # one of SciPy's sparse matrices, as a function's value may be
            x = x.toarray()
        if not self._complex:
            return np.reshape(x, (self._size,))
        return real_and_imaginary(np.reshape(x, (self._size,)))

    def _from_coordinates(self, coordinates: Any) -> Any:
        if coordinates.dtype != self._widths:
            coordinates = coordinates.astype(self._widths)
        entries = join_parts(coordinates, self._size) if self._complex else coordinates
        return np.reshape(entries, self.shape) if self.shape else entries[0]


# --- shared with the other array spaces -----------------------------------------------------------


def plain_pairing(space: Any, components: Any, x: Any) -> Any:
    """Re sum conj(components) x, a real scalar."""
    if space.dtype.kind == "c":
        products = np.conj(components) * x
        return np.real(np.sum(products) if space.shape else products)
    products = components * x
    return np.sum(products) if space.shape else products


def real_and_imaginary(entries: Any) -> Any:
    """The coordinates of complex entries, shape (n,): all real parts, then all imaginary ones."""
    return np.concatenate([np.real(entries), np.imag(entries)])  # (2 n,)


def join_parts(coordinates: Any, count: int) -> Any:
    """The inverse of `real_and_imaginary`."""
    real, imaginary = coordinates[:count], coordinates[count:]
    if not isinstance(coordinates, np.ndarray):
        return real + 1j * imaginary
    # Not real + 1j * imaginary, which turns an infinite imaginary part into NaN.
    entries = np.empty(count, np.result_type(coordinates.dtype, np.complex64))
    entries.real, entries.imag = real, imaginary
    return entries


def array_mismatch(
    space: Space, x: Any, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Mismatch | None:
    """Why x is not an array of this shape whose dtype casts safely to this one."""
    if type(x) is complex and shape == () and dtype.kind == "c":
        return None
    found_shape, found_dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
    if found_dtype is None or found_shape is None:
        advice = "Turn it into an array with np.asarray, of shape {shape} and dtype {dtype}."
    elif isinstance(x, (np.matrix, np.ma.MaskedArray)):
        advice = "It has products or masks of its own: take its plain numbers with np.asarray."
    elif tuple(found_shape) != shape:
        advice = "Its shape must be {shape}."
    elif found_dtype == dtype:
        return None
    elif found_dtype.kind not in "fc":
        advice = "Its numbers must be floating ones: convert it with x.astype({dtype})."
    elif np.can_cast(found_dtype, dtype, "safe"):
        return None
    elif found_dtype.kind == "c" and dtype.kind == "f":
        advice = "The space is real: take np.real(x), or choose a complex space."
    else:
        advice = "It is wider than the space: convert it with x.astype({dtype})."
    return Mismatch(MembershipError, space, x, advice.format(shape=shape, dtype=dtype))


def as_shape(shape: Any) -> tuple[int, ...]:
    """A shape as a tuple of non-negative integers."""
    lengths = shape if isinstance(shape, (tuple, list)) else (shape,)
    try:
        whole_lengths = tuple(operator.index(length) for length in lengths)
    except TypeError:
        raise ArgumentTypeError(
            f"shape must be an integer or a tuple of integers. Got {describe(shape)}: {shape!r}. "
            "Use () for scalars."
        ) from None
    if any(length < 0 for length in whole_lengths):
        raise ArgumentError(f"shape must not be negative. Got {shape!r}. Use () for scalars.")
    return whole_lengths


def as_inexact_dtype(dtype: Any) -> np.dtype[Any]:
    """A real or complex floating dtype."""
    try:
        element_type: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        element_type = np.dtype(object)
    if element_type.kind not in "fc":
        raise ArgumentTypeError(
            f"A space needs a real or complex floating dtype. Got {dtype!r}. "
            "Use float32, float64, complex64 or complex128: integers form no vector space."
        )
    return element_type
