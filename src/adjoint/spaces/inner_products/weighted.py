"""A space under another inner product than its own: <x, y> = x' W y (E.1.25)."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from adjoint.base.arrays import real_dtype
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    NotPositiveDefiniteError,
    SpaceMismatchError,
)
from adjoint.spaces import opaque
from adjoint.spaces.elements.values import describe
from adjoint.spaces.euclidean import Euclidean
from adjoint.spaces.inner_products.conjugate_gradient import ConjugateGradient
from adjoint.spaces.inner_products.same_elements import SameElements
from adjoint.spaces.inner_products.weights import (
    DenseWeight,
    DiagonalWeight,
    MapWeight,
    SparseWeight,
    Weight,
)
from adjoint.spaces.space import Dual, Space


class _WeightOperand(Enum):
    """What the weight acts on."""

    ELEMENTS = "the elements as they are"
    ENTRIES = "the entries, as a flat vector"
    COORDINATES = "the real coordinates"


class Weighted(SameElements):
    """The space `base` under <x, y> = x' W y (E.1.25), or Re x^H W y where it is complex.

    Args:
        base: a space whose basis is orthonormal: Euclidean, one of matrices with structure, a Span,
            or a product of such.
        weight: what W is, with n the number of entries of a Euclidean base (flattened row by row):
            a positive scalar, or positive weights of shape base.shape: a diagonal W;
            an n x n matrix, symmetric positive definite, Hermitian if complex (complex base only);
            a SciPy sparse matrix, the same, factorised once, when first needed;
            a map from base to base, self-adjoint and positive, with an `inverse`: a LinearMap, or
            a ConjugateGradient, which needs only to apply the operator.
            For any other base, and on request for a complex one, the matrix or the vector of
            weights refers to the real coordinates, n = base.dimension.

    Arrays are copied (at the precision of the space) and made read-only. Elements, basis and
    covectors are those of the base; the Riesz map is x -> W x and its inverse solves with W.

    Raises:
        NotPositiveDefiniteError: W is not symmetric, or not positive definite, or singular to
            rounding (for a sparse W with a positive diagonal: raised when it is factorised).
        ArgumentError, ArgumentTypeError: W has the wrong shape or type, or base has weights itself
            or is a dual.

    Example:
        >>> import numpy as np
        >>> space = Weighted(Euclidean(2), np.array([[2.0, 1.0], [1.0, 2.0]]))
        >>> float(space.inner(np.array([1.0, 0.0]), np.array([0.0, 1.0])))
        1.0
    """

    def __init__(self, base: Space, weight: Any) -> None:
        if not isinstance(base, Space):
            raise ArgumentTypeError(
                f"Weighted takes a space and a weight. Got {describe(base)} for the space. "
                "Euclidean(shape) is the space of arrays of that shape."
            )
        if isinstance(base, Dual):
            raise ArgumentError(
                f"Weighted takes a space of vectors. Got {base!r}. Weighted(...).dual is the dual "
                "of a weighted space, under the inner product that its Riesz map carries over."
            )
        if not base._orthonormal:
            raise ArgumentError(
                "Weighted takes a base whose basis is orthonormal, for x' W y to have one meaning. "
                f"Got {base!r}. Give the one weight that is meant to the space without weights."
            )
        self.base = base
        self._frame, self._weight = _read_weight(base, weight)
        if isinstance(self._weight, MapWeight):
            self._try_map(self._weight)

    @property
    def weight(self) -> Any:
        """The weight: a read-only array, a SciPy sparse array, or the map that was given."""
        return self._weight.given

    def _key(self) -> tuple[Any, ...]:
        return self.base, self._weight

    def __repr__(self) -> str:
        return f"Weighted({self.base!r}, {self._weight.describe()})"

    # Both are self-adjoint where they are applied whole: after `_restrict`, which projects.

    def _riesz(self, x: Any) -> Any:
        return self._multiplied(x) if self._elementwise else opaque.APPLY(self._riesz_whole, x)

    def _represent(self, components: Any) -> Any:
        if self._elementwise:
            return self._solved(components)
        return opaque.APPLY(self._represent_whole, components)

    def _riesz_whole(self, x: Any) -> Any:
        return self._multiplied(x if self._full else self._restrict(x))

    def _represent_whole(self, components: Any) -> Any:
        return self._solved(components if self._full else self._restrict(components))

    @property
    def _elementwise(self) -> bool:
        return isinstance(self._weight, DiagonalWeight)

    def _multiplied(self, x: Any) -> Any:
        if self._frame is _WeightOperand.ELEMENTS:
            return self.base._riesz(self._weight.multiply(x))
        if self._frame is _WeightOperand.ENTRIES:
            return self._shaped(self._weight.multiply(self._flat(x)))
        coordinates = self._weight.multiply(self.base._coordinates(x))
        return self.base._components_from_coordinates(coordinates)

    def _solved(self, components: Any) -> Any:
        if self._frame is _WeightOperand.ELEMENTS:
            return self._weight.solve(self.base._represent(components))
        if self._frame is _WeightOperand.ENTRIES:
            return self._shaped(self._weight.solve(self._flat(components)))
        coordinates = self._weight.solve(self.base._component_coordinates(components))
        return self.base._from_coordinates(coordinates)

    def _flat(self, x: Any) -> Any:
        assert isinstance(self.base, Euclidean)
        return np.reshape(x, (self.base.size,))

    def _shaped(self, flat: Any) -> Any:
        assert isinstance(self.base, Euclidean)
        return np.reshape(flat, self.base.shape) if self.base.shape else flat[0]

    def _try_map(self, weight: MapWeight) -> None:
        """Check on two random elements what can be checked: symmetry, positivity, the inverse."""
        for name in ("domain", "codomain"):
            space = getattr(weight.given, name, self.base)
            if space != self.base:
                raise SpaceMismatchError(
                    f"A weight on {self.base!r} must map that space to itself. "
                    f"Its {name} is {space!r}. Build the map on the base of the weighted space."
                )
        if self.dimension == 0:
            return
        base, x, y = self.base, self.base.random(0), self.base.random(1)
        tolerance = float(np.finfo(self._real_dtype).eps) ** 0.5
        wx, wy = weight.multiply(x), weight.multiply(y)
        base.check(wx, "the weight applied to an element")
        scale = base._norm(wx) * base._norm(y) + base._norm(x) * base._norm(wy)
        if not abs(base._inner(wx, y) - base._inner(x, wy)) <= tolerance * scale:
            raise _bad_map("<W x, y> and <x, W y> differ for random x and y")
        if not base._inner(wx, x) > 0:
            raise _bad_map("<W x, x> is not positive for a random x")
        if isinstance(weight.given, ConjugateGradient):
            return  # which checks each solution by itself
        error = base._add(weight.solve(wx), base._scale(-1, x))
        if not base._norm(error) <= tolerance * base._norm(x):
            raise _bad_map("its inverse does not undo it on a random x")


def _bad_map(reason: str) -> NotPositiveDefiniteError:
    return NotPositiveDefiniteError(
        "A map used as a weight must be self-adjoint, positive and inverted by its `inverse`. "
        f"This one is not: {reason}. Weighted(space, map.matrix()) checks a matrix completely."
    )


def _read_weight(base: Space, weight: Any) -> tuple[_WeightOperand, Weight]:
    """Which kind of weight this is, and what it acts on."""
    is_sparse = hasattr(weight, "tocsc")
    if callable(weight) and not is_sparse:
        return _WeightOperand.ELEMENTS, MapWeight(weight)
    array = weight if is_sparse else np.asarray(weight)
    dtype = base._real_dtype
    if array.dtype.kind not in "iufc":
        raise ArgumentTypeError(
            "A weight is a positive scalar, an array, a sparse matrix, or a map with an inverse. "
            f"Got {describe(weight)}. Euclidean spaces need no weight."
        )
    is_complex, shape = array.dtype.kind == "c", tuple(array.shape)
    entries = base.size if isinstance(base, Euclidean) else -1
    diagonal = shape in ((), base.shape if isinstance(base, Euclidean) else (base.dimension,))
    kind: Any = SparseWeight if is_sparse else DenseWeight
    if diagonal and not is_sparse and not is_complex:
        elementwise = isinstance(base, Euclidean)
        frame = _WeightOperand.ELEMENTS if elementwise else _WeightOperand.COORDINATES
        return frame, DiagonalWeight(array, dtype)
    if shape == (entries, entries) and (base._complex or not is_complex):
        return _WeightOperand.ENTRIES, kind(array, _weight_dtype(dtype, is_complex))
    if shape == (base.dimension, base.dimension) and not is_complex:
        return _WeightOperand.COORDINATES, kind(array, dtype)
    raise _wrong_shape(base, weight)


def _weight_dtype(dtype: np.dtype[Any], is_complex: bool) -> np.dtype[Any]:
    return np.result_type(dtype, np.complex64) if is_complex else real_dtype(dtype)


def _wrong_shape(base: Space, weight: Any) -> ArgumentError:
    dimension = base.dimension
    wanted = [f"real of shape ({dimension}, {dimension})"]
    if isinstance(base, Euclidean):
        wanted.append(f"diagonal of shape {base.shape}")
        if base._complex:
            wanted.append(f"Hermitian of shape ({base.size}, {base.size})")
    else:
        wanted.append(f"diagonal of shape ({dimension},)")
    return ArgumentError(
        f"This weight does not fit {base!r}. Got {describe(weight)}. "
        f"It may be a positive scalar, or {', or '.join(wanted)}."
    )
