"""Inner-product spaces and their duals."""

from __future__ import annotations

import operator
from abc import abstractmethod
from typing import Any, final

import numpy as np

from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    SpaceMismatchError,
)
from adjoint.base.pytrees import tree_map
from adjoint.base.signatures.checked import Seed, generator_of
from adjoint.spaces.elements.basis import Basis
from adjoint.spaces.elements.covector import Covector
from adjoint.spaces.elements.members import Mismatch, SpaceMembers
from adjoint.spaces.elements.values import copied, describe


class Space(SpaceMembers):
    """A finite-dimensional real inner-product space, whose elements are arrays or trees of arrays.

    A complex array space is one too, under Re<x, y>: its real dimension counts every entry twice.

    Every space has a basis over the reals that is orthonormal for the natural pairing of components
    (the unit arrays, for arrays), so a covector has the same coordinates in the dual basis as its
    components have in the basis. Where the inner product is not the plain one, `gram()` says how
    the basis vectors lie.

    Public methods check their arguments. Each has a private twin (`_inner`, `_riesz`, `_represent`,
    `_pair`, ...) that trusts them and works on raw components; those run on traced arrays too.

    Spaces with equal parameters are equal and hash alike. A space of one's own is a
    `adjoint.spaces.CustomSpace`, which asks for public members only.

    Example:
        >>> from adjoint.spaces import Euclidean, Symmetric
        >>> isinstance(Symmetric(3), Space), Euclidean(3) == Euclidean((3,))
        (True, True)
    """

    __slots__ = ()

    # --- what a space must say -------------------------------------------------------------------

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The dimension over the reals."""

    @property
    @abstractmethod
    def ambient(self) -> Space:
        """The space of all arrays of this kind, under the plain inner product."""

    @property
    def _component_space(self) -> Space:
        """The space whose elements are the components that `covector` and `restrict` take."""
        return self.ambient

    def _as_covector(self, components: Any) -> Any:
        """The element of `self.dual` that has these raw components."""
        return Covector(self, components)

    @property
    def dual(self) -> Space:
        """The space of covectors, with the inner product that the Riesz map carries over."""
        return Dual(self)

    # --- membership ------------------------------------------------------------------------------

    @final
    def _mismatch(self, x: Any, deep: bool = True) -> Mismatch | None:
        if isinstance(x, Covector) and not isinstance(self, Dual):
            return Mismatch(SpaceMismatchError, self, x, _COVECTOR_FOR_VECTOR)
        return self._why_not(x, deep)

    @final
    def contains(self, x: Any) -> bool:
        """Whether x is an element of the space.

        Args:
            x: anything.

        Returns:
            True or False; no error, whatever x is.
        """
        return self._mismatch(x) is None

    @final
    def check(self, x: Any, argument: str = "x") -> None:
        """Raise unless x is an element of the space.

        Args:
            x: anything.
            argument: what to call x in the message.

        Raises:
            MembershipError: x has another type, shape, structure or dtype.
            SpaceMismatchError: x is a covector where a vector should be, or the reverse.
        """
        mismatch = self._mismatch(x)
        if mismatch is not None:
            raise mismatch.error(mismatch.message(argument))

    # --- inner product and duality ---------------------------------------------------------------

    @final
    def zero(self) -> Any:
        """The zero element, newly made.

        Returns:
            An element: an array of the shape and dtype of the elements, or a tree of such for a
            product.
        """
        return self._zero()

    def _inner(self, x: Any, y: Any) -> Any:
        return self._pair(self._riesz(x), y)

    def inner(self, x: Any, y: Any) -> Any:
        """The inner product <x, y>, a real scalar (E.1.25, E.1.26, E.1.28).

        Args:
            x: an element of the space.
            y: another.

        Returns:
            A real scalar, in the precision of the elements.

        Raises:
            MembershipError, SpaceMismatchError: x or y is not an element.

        Example:
            >>> import numpy as np
            >>> from adjoint.spaces import Weighted, Euclidean
            >>> space = Weighted(Euclidean(2), np.array([1.0, 100.0]))
            >>> float(space.inner(np.array([1.0, 2.0]), np.array([3.0, 4.0])))
            803.0
        """
        self.check(x, "x")
        self.check(y, "y")
        return self._inner(x, y)

    def _norm(self, x: Any) -> Any:
        return np.sqrt(self._inner(x, x))

    @final
    def norm(self, x: Any) -> Any:
        """The norm sqrt(<x, x>), a real scalar (E.1.29).

        Args:
            x: an element of the space.

        Returns:
            A real scalar, in the precision of the elements.

        Raises:
            MembershipError: x is not an element of the space.
            SpaceMismatchError: x is a covector, whose norm is that of `space.dual`.
        """
        self.check(x, "x")
        return self._norm(x)

    @final
    def riesz(self, x: Any) -> Any:
        """The covector <x, .>, an element of `dual` (E.1.30).

        Args:
            x: an element of the space.

        Returns:
            A `Covector` on the space; on a dual, the element of the space itself.

        Raises:
            MembershipError: x is not an element of the space.

        Example:
            >>> import numpy as np
            >>> from adjoint.spaces import Euclidean, Weighted
            >>> space = Weighted(Euclidean(2), np.array([1.0, 100.0]))
            >>> space.riesz(np.array([1.0, 2.0])).components
            array([  1., 200.])
        """
        self.check(x, "x")
        return self._as_covector(self._sealed(self._riesz(x)))

    @final
    def represent(self, covector: Any) -> Any:
        """The vector x with <x, u> = covector(u) for all u: the inverse of `riesz` (E.1.30).

        Args:
            covector: an element of `dual`.

        Returns:
            An element: an array of the shape and dtype of the elements, or a tree of such for a
            product.

        Raises:
            SpaceMismatchError: the argument is not a covector on this space.

        Example:
            >>> import numpy as np
            >>> from adjoint.spaces import Euclidean, Weighted
            >>> space = Weighted(Euclidean(2), np.array([1.0, 100.0]))
            >>> space.represent(space.covector(np.array([1.0, 200.0])))
            array([1., 2.])
        """
        self.dual.check(covector, "covector")
        vector = self._represent(self._components_of(covector))
        return tree_map(lambda leaf: copied(leaf, writeable=True), vector)

    @final
    def covector(self, components: Any) -> Any:
        """The element of `dual` with these components, which are copied.

        The components may be any array of the ambient space; they are restricted to this one.

        Args:
            components: an array of the shape of the elements, or a tree of such.

        Returns:
            A `Covector` on the space.

        Raises:
            MembershipError: the components have the wrong shape, structure or dtype.
        """
        self._component_space.check(components, "components")
        return self._as_covector(self._sealed(self._restrict(components)))

    def restrict(self, components: Any) -> Any:
        """Components of a covector on the ambient arrays, seen as a covector on this space.

        The transpose of the embedding: the identity for Euclidean spaces, (C + C')/2 for symmetric
            ones.

        Args:
            components: an array of the shape of the elements, or a tree of such.

        Returns:
            An array of the same shape, or a tree of such, which is an element of the dual.

        Raises:
            MembershipError: the components are no array of the ambient space.
        """
        self._component_space.check(components, "components")
        return self._restrict(components)

    def _sealed(self, components: Any) -> Any:
        # Covectors are immutable, so their arrays are; the "covectors" of a dual are plain vectors.
        writeable = isinstance(self, Dual)
        return tree_map(lambda leaf: copied(leaf, writeable), components)

    # --- bases and coordinates -------------------------------------------------------------------

    @final
    def basis(self) -> Basis:
        """The basis over the reals, a sequence of `dimension` elements made when asked for.

        Returns:
            A `Basis`, of which `basis[i]` is an element and `len(basis)` the dimension.
        """
        return Basis(self)

    def coordinates(self, x: Any) -> Any:
        """The coordinates of x in `basis()`: a real array of shape (dimension,).

        Args:
            x: an element of the space.

        Returns:
            A real array of shape (dimension,); complex numbers have two each.

        Raises:
            MembershipError: x is not an element of the space.
        """
        self.check(x, "x")
        return copied(self._coordinates(x), writeable=True)

    def from_coordinates(self, coordinates: Any) -> Any:
        """The element with these coordinates in `basis()`.

        Args:
            coordinates: real numbers, shape (dimension,).

        Returns:
            An element: an array of the shape and dtype of the elements, or a tree of such for a
            product.

        Raises:
            ArgumentError: the shape is another one.
            ArgumentTypeError: the numbers are complex, or no numbers.
        """
        if isinstance(coordinates, (list, tuple)):
            coordinates = np.asarray(coordinates)
        dtype = getattr(coordinates, "dtype", None)
        if dtype is None or dtype.kind not in "iuf":
            raise ArgumentTypeError(
                f"coordinates must be real numbers. Got {describe(coordinates)}. "
                "A complex space has two real coordinates for each entry."
            )
        if tuple(coordinates.shape) != (self.dimension,):
            raise ArgumentError(
                f"coordinates in {self!r} must have shape ({self.dimension},). "
                f"Got {describe(coordinates)}. space.basis() lists the basis they refer to."
            )
        if isinstance(coordinates, np.ndarray):
            coordinates = np.array(coordinates, self._real_dtype)
        return self._from_coordinates(coordinates)

    @final
    def random(self, seed: Seed) -> Any:
        """An element with standard normal coordinates; the same seed gives the same element.

        Args:
            seed: what `np.random.default_rng` takes; a generator moves on.

        Returns:
            An element: an array of the shape and dtype of the elements, or a tree of such for a
            product.

        Raises:
            ArgumentTypeError: the seed is nothing that `np.random.default_rng` takes.
        """
        return self._random(generator_of(seed))

    def _random(self, generator: np.random.Generator) -> Any:
        coordinates = generator.standard_normal(self.dimension)
        return self._from_coordinates(coordinates.astype(self._real_dtype))

    def gram(self) -> Any:
        """The inner products of the basis vectors, shape (dimension, dimension).

        Returns:
            A symmetric positive definite real array of shape (dimension, dimension).
        """
        return self._gram()

    def _gram(self) -> Any:
        columns = [self._component_coordinates(self._riesz(vector)) for vector in self.basis()]
        if not columns:
            return np.zeros((0, 0), self._real_dtype)
        return np.stack(columns, axis=1)

    # --- the vector space ------------------------------------------------------------------------

    @final
    def _add(self, x: Any, y: Any) -> Any:
        return tree_map(operator.add, x, y)

    @final
    def _scale(self, scalar: Any, x: Any) -> Any:
        return tree_map(lambda leaf: scalar * leaf, x)

    @final
    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Space) and type(self) is type(other) and self._key() == other._key()
        )

    @final
    def __hash__(self) -> int:
        return hash((type(self), self._key()))


@final
class Dual(Space):
    """The dual of a space X: covectors under <Rx, Ry>' = <x, y>, where R is the Riesz map of X.

    `X.dual` makes it, and `X.dual.dual` is X again: a covector on covectors is a vector. So the
    Riesz map of the dual is `X.represent`.

    Args:
        primal: X.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean, Weighted
        >>> space = Weighted(Euclidean(2), np.array([1.0, 4.0]))
        >>> float(space.dual.norm(space.covector(np.array([0.0, 2.0]))))
        1.0
    """

    __slots__ = ("__weakref__", "primal")

    def __init__(self, primal: Space) -> None:
        if not isinstance(primal, Space):
            raise ArgumentTypeError(f"Dual takes the space that it is of. Got {describe(primal)}.")
        self.primal = primal

    @property
    def dual(self) -> Space:
        """The space that this is the dual of."""
        return self.primal

    @property
    def dimension(self) -> int:
        """The dimension over the reals."""
        return self.primal.dimension

    @property
    def ambient(self) -> Space:
        """This space: covectors carry no constraint."""
        return self

    @property
    def _real_dtype(self) -> np.dtype[Any]:
        return self.primal._real_dtype

    @property
    def _complex(self) -> bool:
        return False  # covectors take real factors only

    @property
    def _orthonormal(self) -> bool:
        return self.primal._orthonormal

    @property
    def _full(self) -> bool:
        return True

    def _key(self) -> tuple[Any, ...]:
        return (self.primal,)

    def __repr__(self) -> str:
        return f"Dual({self.primal!r})"

    def _why_not(self, x: Any, deep: bool) -> Mismatch | None:
        if not isinstance(x, Covector):
            return Mismatch(SpaceMismatchError, self, x, _VECTOR_FOR_COVECTOR)
        if x.space is not self.primal and x.space != self.primal:
            advice = "Pull it back with map.T, where map joins the two spaces."
            return Mismatch(SpaceMismatchError, self, x, advice)
        return None

    def _zero(self) -> Any:
        return Covector(self.primal, self.primal._zero_components())

    def _zero_components(self) -> Any:
        return self.primal._zero()

    def _pair(self, components: Any, x: Any) -> Any:
        return self.primal._pair(x.components, components)

    def _riesz(self, x: Any) -> Any:
        return self.primal._represent(x.components)

    def _represent(self, components: Any) -> Any:
        return Covector(self.primal, self.primal._riesz(components))

    def _restrict(self, components: Any) -> Any:
        return components

    def _coordinates(self, x: Any) -> Any:
        return self.primal._component_coordinates(x.components)

    def _from_coordinates(self, coordinates: Any) -> Any:
        return Covector(self.primal, self.primal._components_from_coordinates(coordinates))

    def _component_coordinates(self, components: Any) -> Any:
        return self.primal._coordinates(components)

    def _components_from_coordinates(self, coordinates: Any) -> Any:
        return self.primal._from_coordinates(coordinates)

    @property
    def _component_space(self) -> Space:
        return self.primal

    def _as_covector(self, components: Any) -> Any:
        return components

    def _components_of(self, covector: Any) -> Any:
        return covector


_COVECTOR_FOR_VECTOR = (
    "A covector is not a vector: space.represent(covector) gives the vector that stands for it "
    "under the "
    "inner product, and map.T takes covectors as they are."
)
_VECTOR_FOR_COVECTOR = (
    "A vector is not a covector: space.riesz(x) gives the covector <x, .>, "
    "space.covector(components) "
    "the one with given components, and map.H takes vectors as they are."
)
