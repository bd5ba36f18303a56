"""The base class of spaces of the user's own: a few public members say what the space is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from adjoint.base.errors import ArgumentError, ArgumentTypeError, MembershipError
from adjoint.spaces import opaque
from adjoint.spaces.custom import members
from adjoint.spaces.custom.embedding import Embedding, TrivialEmbedding
from adjoint.spaces.custom.parameters import attributes, comparable, seal
from adjoint.spaces.elements.members import Mismatch
from adjoint.spaces.elements.values import is_concrete
from adjoint.spaces.inner_products.weighted import Weighted
from adjoint.spaces.space import Space

T = TypeVar("T")
_DERIVED = "_derived"


class CustomSpace(Space):
    """A space of one's own: a subclass says in a few members what it is, the rest is derived.

    Which elements it has is said in one of two ways:

    - by a basis: `dimension`, and `from_coordinates(c)`, the element with the coordinates c;
    - by an orthogonal projection: `ambient`, the space of all arrays of this kind, and
      `restrict(x)`, the element that is nearest to any of them.

    What else may be said:

    - `inner(x, y)`, or `gram()`, the inner products of the basis vectors. Without either, the
      space has the plain inner product of the arrays in its elements;
    - `coordinates(x)`, where it is quicker than the solution of a linear system; and with a basis
      `ambient` or `restrict` too;
    - `why_not(x)`, words for a value that is no element;
    - `parameters`, where two spaces are told apart by other things than their attributes.

    Elements are arrays, or objects of a class that is a container: a dataclass whose fields are
    arrays, or one given to `adjoint.register_container`. They add and take factors part by part.

    All these are called with arrays of NumPy, never with traced ones, so that they may use
    whatever there is: SciPy's solvers, loops, compiled code. Only where a function that is
    differentiated calls them by name are they differentiated as it is. What they say is tried when
    it is first needed; `adjoint.testing.check_space` tries all of it. A space does not change once
    it was used: attributes cannot be set any more, and arrays among them are then read-only copies.
    Its class is no dataclass.

    Args:
        args: what `__init__` of the subclass takes.
        keywords: likewise.

    Raises:
        ArgumentError, ArgumentTypeError, MembershipError, NotLinearError,
        NotPositiveDefiniteError: when the space is used, if a member is at fault, which the message
            names.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> class Rotations(ad.spaces.CustomSpace):
        ...     '''Skew-symmetric matrices, under the inner product of their axes.'''
        ...     dimension = 3
        ...
        ...     def from_coordinates(self, c):
        ...         x, y, z = c
        ...         return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        ...
        ...     def gram(self):
        ...         return np.eye(3)
        >>> gradient = ad.grad(lambda W: W[0, 1], space=Rotations())(np.zeros((3, 3)))
        >>> gradient[0], gradient[:, 0] + 0.0  # by the Frobenius product it has 1/2
        (array([0., 1., 0.]), array([ 0., -1.,  0.]))
    """

    def __new__(cls, *args: Any, **keywords: Any) -> Any:
        """An object of the subclass, whose `__init__` need not call this one's."""
        if dataclasses.is_dataclass(cls):
            raise ArgumentTypeError(
                f"{cls.__qualname__} must not be a dataclass: an object of one is a container of "
                "its fields, and a space is none. Write __init__, which sets attributes."
            )
        return super().__new__(cls)

    # --- what a subclass may say -----------------------------------------------------------------

    @property
    def dimension(self) -> int:
        """The dimension over the reals. Given by the subclass, unless `restrict` alone says it.

        An attribute of the class or of the object, or a property.
        """
        if "dimension" in vars(self):
            return members.as_dimension(self, vars(self)["dimension"])
        if self._writes("from_coordinates"):
            raise ArgumentError(
                f"{members.name(self)} has from_coordinates and must say its dimension: the number "
                "of coordinates that it takes. dimension = 3 in the class does, or self.dimension "
                "= n in __init__."
            )
        return self._embedding.count

    @dimension.setter
    def dimension(self, dimension: int) -> None:
        vars(self)["dimension"] = dimension

    @property
    def ambient(self) -> Space:
        """The space of all arrays of this kind, under the plain inner product.

        Unless the subclass gives it, that of the element whose coordinates are zero.
        """
        if "ambient" in vars(self):
            given: Space = vars(self)["ambient"]
            return given
        return self._derive("ambient", lambda: members.ambient_of(self))

    @ambient.setter
    def ambient(self, ambient: Space) -> None:
        vars(self)["ambient"] = ambient

    @property
    def parameters(self) -> Any:
        """What tells this space from others of its class: its attributes, unless overridden.

        Arrays are compared by their entries.
        """
        return attributes(self, but=_DERIVED)

    def why_not(self, x: Any) -> str | None:
        """Why an array of the right kind is no element, as a sentence; None where it is one.

        What is wrong with type, shape and dtype is told before, and a value that `restrict` changes
        after, so that this is for better words.

        Args:
            x: of the type, shape and dtype of an element.

        Returns:
            A sentence, with its stop, for the message of a MembershipError; or None.
        """
        return None

    def from_coordinates(self, coordinates: Any) -> Any:
        """The element with these coordinates in `basis()`: linear, and no two give the same.

        Args:
            coordinates: real numbers, shape (dimension,).

        Returns:
            An element: an array of shape `shape` and dtype `dtype`.
        """
        return super().from_coordinates(coordinates)

    def coordinates(self, x: Any) -> Any:
        """The coordinates of an element in `basis()`: a real array of shape (dimension,).

        Args:
            x: an element.

        Returns:
            A real array of shape (dimension,), the inverse of `from_coordinates`.
        """
        return super().coordinates(x)

    def restrict(self, components: Any) -> Any:
        """The element nearest to an array of the ambient space, in the plain inner product.

        It takes the components of a covector on all arrays to those of the same on this space.

        Args:
            components: an array of the ambient space.

        Returns:
            An array of the same shape, which is an element; elements stay as they are.
        """
        return super().restrict(components)

    def inner(self, x: Any, y: Any) -> Any:
        """The inner product <x, y>, a real scalar.

        Args:
            x: an element.
            y: another.

        Returns:
            A real scalar, positive where x = y is not zero.
        """
        return super().inner(x, y)

    def gram(self) -> Any:
        """The inner products of the basis vectors.

        A subclass may return anything that is a weight on coordinates: a matrix of shape
        (dimension, dimension), dense or sparse, a vector for a diagonal one, a number, or a
        ConjugateGradient on Euclidean(dimension).

        Returns:
            A weight on coordinates, symmetric and positive definite.
        """
        return members.gram_of_inner(self) if self._writes("inner") else self._embedding.gram()

    # --- what is derived -------------------------------------------------------------------------

    def _writes(self, member: str) -> bool:
        """Whether the subclass says this member, or leaves it to what is derived."""
        return member in vars(self) or getattr(type(self), member) is not getattr(
            CustomSpace, member
        )

    def _derive(self, what: str, make: Callable[[], T]) -> T:
        if _DERIVED not in vars(self):
            seal(self)
        derived: dict[str, Any] = vars(self).setdefault(_DERIVED, {})
        if what not in derived:
            derived[what] = make()
        value: T = derived[what]
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if _DERIVED in vars(self):
            raise AttributeError(
                f"{self!r} was used, and does not change any more: {name!r} cannot be set. Set it "
                "in __init__, or compute it when it is needed with functools.cached_property."
            )
        super().__setattr__(name, value)

    def _member_checks(self) -> list[tuple[str, Callable[[], object]]]:
        """For each member, what raises where it is at fault; in the order of what rests on what."""
        return members.checks(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != _DERIVED}

    def __repr__(self) -> str:
        return f"<{type(self).__qualname__}>"

    @property
    def _arrays(self) -> Space:
        """The ambient space, which may be what a subclass gave, tried."""
        return self._derive("arrays", lambda: members.checked_ambient(self))

    @property
    def _embedding(self) -> Embedding:
        return self._derive("embedding", lambda: members.embedding_of_space(self))

    @property
    def _metric(self) -> Weighted | None:
        """The inner product on coordinates; None where it is the plain one of the elements."""
        if not (self._writes("gram") or self._writes("inner")):
            return None
        return self._derive("metric", lambda: members.metric_of(self))

    # Whether the subclass gives the projection, or coordinates; tried when first asked for.

    @property
    def _projects(self) -> bool:
        return self._writes("restrict") and self._derive(
            "projection", lambda: members.try_restrict(self)
        )

    @property
    def _reads_coordinates(self) -> bool:
        return self._writes("coordinates") and self._derive(
            "round trip", lambda: members.try_coordinates(self)
        )

    @property
    def _complex(self) -> bool:
        return self._derive("complex", lambda: members.closed_under_i(self))

    @property
    def _orthonormal(self) -> bool:
        if self._metric is not None:
            return False
        return not self._writes("from_coordinates") or self._embedding.orthonormal

    @property
    def _full(self) -> bool:
        # Only where coordinates are the entries: those who ask take one for the other.
        return not self._writes("restrict") and isinstance(self._embedding, TrivialEmbedding)

    @property
    def _component_space(self) -> Space:
        return self.ambient._component_space

    def _key(self) -> tuple[Any, ...]:
        return self._derive("key", lambda: (comparable(self.parameters),))

    def _why_not(self, x: Any, deep: bool) -> Mismatch | None:
        mismatch = self._arrays._mismatch(x, deep)
        if mismatch is not None:
            return mismatch if mismatch.path else mismatch._replace(expected=self)
        if not deep or not is_concrete(x):
            return None  # entries of a traced array cannot be inspected
        words = self.why_not(x)
        if words is None and members.lies_outside(self, x):
            words = "It is changed by space.restrict(x), which is the element nearest to it."
        return None if words is None else Mismatch(MembershipError, self, x, words)

    def _zero_components(self) -> Any:
        return self.ambient._zero_components()

    def _inner(self, x: Any, y: Any) -> Any:
        metric = self._metric
        if metric is None:
            return self.ambient._inner(x, y)
        return metric._inner(self._coordinates(x), self._coordinates(y))

    def _riesz(self, x: Any) -> Any:
        metric = self._metric
        if metric is None:
            return self.ambient._riesz(x)
        return self._components_from_coordinates(metric._riesz(self._coordinates(x)))

    def _represent(self, components: Any) -> Any:
        metric = self._metric
        if metric is None:
            return self.ambient._represent(components)
        return self._from_coordinates(metric._represent(self._component_coordinates(components)))

    def _restrict(self, components: Any) -> Any:
        if self._projects:
            if is_concrete(components):
                return self.restrict(components)
            return opaque.APPLY(self.restrict, components)
        embedding = self._embedding
        if embedding.count == embedding.size:
            return components
        projected = embedding.project(self.ambient._component_coordinates(components))
        return self.ambient._components_from_coordinates(projected)

    def _coordinates(self, x: Any) -> Any:
        if is_concrete(x) and self._reads_coordinates:
            return np.asarray(self.coordinates(x), self._real_dtype)
        return self._embedding.solve(self.ambient._coordinates(x))

    def _from_coordinates(self, coordinates: Any) -> Any:
        embedding = self._embedding  # whose making tries what the subclass says
        if coordinates.dtype != self._real_dtype:
            coordinates = coordinates.astype(self._real_dtype)
        if self._writes("from_coordinates") and is_concrete(coordinates):
            return self.from_coordinates(coordinates)
        return self.ambient._from_coordinates(embedding.lift(coordinates))

    def _component_coordinates(self, components: Any) -> Any:
        return self._embedding.pull(self.ambient._component_coordinates(components))

    def _components_from_coordinates(self, coordinates: Any) -> Any:
        return self.ambient._components_from_coordinates(self._embedding.spread(coordinates))

    def _gram(self) -> Any:
        metric = self._metric
        return self._embedding.gram() if metric is None else metric._gram()

    def _random(self, generator: np.random.Generator) -> Any:
        if self._metric is None and not self._writes("from_coordinates"):
            # A projected normal array is normal in any orthonormal basis, which need not be known.
            return self._restrict(self.ambient._random(generator))
        return super()._random(generator)
