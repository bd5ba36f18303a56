"""Products of spaces, over trees."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, final

import numpy as np

from adjoint.base.errors import ArgumentTypeError, MembershipError
from adjoint.base.pytrees import flatten, paths, structure_text, unflatten
from adjoint.spaces.elements.members import Mismatch
from adjoint.spaces.elements.values import describe
from adjoint.spaces.space import Space


@final
class Product(Space):
    """The product of a tree of spaces: elements are trees of the same structure (E.1.28).

    Args:
        tree: a dict, list, tuple, dataclass, ... (nested as you like) whose leaves are spaces.

    The inner product adds: <(x1, y1), (x2, y2)> = <x1, x2> + <y1, y2>. Covectors have trees of
    components, and the basis runs through the leaves in order.

    Raises:
        ArgumentTypeError: the tree is a bare space, or a leaf is not a space.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> space = Product({"w": Euclidean(2), "b": Euclidean(())})
        >>> float(space.norm({"w": np.array([2.0, 2.0]), "b": 1.0}))
        3.0
    """

    def __init__(self, tree: Any) -> None:
        leaves, treedef = flatten(tree)
        if treedef is None:
            raise ArgumentTypeError(
                f"Product takes a tree of spaces. Got {describe(tree)}. "
                "A single space needs no Product; a list or dict of spaces makes one."
            )
        self._paths: Final = paths(tree)
        for leaf, path in zip(leaves, self._paths, strict=True):
            if not isinstance(leaf, Space):
                raise ArgumentTypeError(
                    f"Product takes a tree of spaces. Got {describe(leaf)} at tree{path}. "
                    "adjoint.spaces.infer(value) gives the space of a tree of arrays."
                )
        self.spaces: Final[tuple[Space, ...]] = tuple(leaves)
        self.treedef: Final = treedef

    @property
    def tree(self) -> Any:
        """The tree of spaces."""
        return unflatten(self.treedef, self.spaces)

    @cached_property
    def dimension(self) -> int:
        """The sum of the dimensions."""
        return sum(space.dimension for space in self.spaces)

    @property
    def ambient(self) -> Space:
        """The product of the ambient spaces."""
        return Product(unflatten(self.treedef, [space.ambient for space in self.spaces]))

    @cached_property
    def _real_dtype(self) -> np.dtype[Any]:
        dtypes = [space._real_dtype for space in self.spaces]
        return np.result_type(*dtypes) if dtypes else np.dtype(float)

    @property
    def _complex(self) -> bool:
        return all(space._complex for space in self.spaces)

    @property
    def _orthonormal(self) -> bool:
        return all(space._orthonormal for space in self.spaces)

    @property
    def _full(self) -> bool:
        return all(space._full for space in self.spaces)

    def _key(self) -> tuple[Any, ...]:
        return self.treedef, self.spaces

    def __repr__(self) -> str:
        return f"Product({self.tree!r})"

    def _split(self, tree: Any) -> list[Any]:
        return self.treedef.flatten_up_to(tree)

    def _assemble(self, leaves: list[Any]) -> Any:
        return unflatten(self.treedef, leaves)

    def _leafwise(self, method: Callable[[Space, Any], Any], tree: Any) -> Any:
        leaves = self._split(tree)
        results = [method(space, leaf) for space, leaf in zip(self.spaces, leaves, strict=True)]
        return unflatten(self.treedef, results)

    def _why_not(self, x: Any, deep: bool) -> Mismatch | None:
        try:
            leaves = self._split(x)
        except (ValueError, TypeError):
            advice = f"Its structure must be {structure_text(self.treedef)}."
            return Mismatch(MembershipError, self, x, advice)
        for space, leaf, path in zip(self.spaces, leaves, self._paths, strict=True):
            mismatch = space._mismatch(leaf, deep)
            if mismatch is not None:
                return mismatch._replace(path=path + mismatch.path)
        return None

    def _zero(self) -> Any:
        return unflatten(self.treedef, [space._zero() for space in self.spaces])

    def _zero_components(self) -> Any:
        return unflatten(self.treedef, [space._zero_components() for space in self.spaces])

    def _pair(self, components: Any, x: Any) -> Any:
        parts = zip(self.spaces, self._split(components), self._split(x), strict=True)
        return _total([space._pair(mine, yours) for space, mine, yours in parts])

    def _inner(self, x: Any, y: Any) -> Any:
        parts = zip(self.spaces, self._split(x), self._split(y), strict=True)
        return _total([space._inner(mine, yours) for space, mine, yours in parts])

    def _riesz(self, x: Any) -> Any:
        return self._leafwise(lambda space, leaf: space._riesz(leaf), x)

    def _represent(self, components: Any) -> Any:
        return self._leafwise(lambda space, leaf: space._represent(leaf), components)

    def _restrict(self, components: Any) -> Any:
        return self._leafwise(lambda space, leaf: space._restrict(leaf), components)

    @property
    def _component_space(self) -> Space:
        return Product(unflatten(self.treedef, [space._component_space for space in self.spaces]))

    def _coordinates(self, x: Any) -> Any:
        parts = zip(self.spaces, self._split(x), strict=True)
        return _joined([space._coordinates(leaf) for space, leaf in parts])

    def _component_coordinates(self, components: Any) -> Any:
        parts = zip(self.spaces, self._split(components), strict=True)
        return _joined([space._component_coordinates(leaf) for space, leaf in parts])

    def _from_coordinates(self, coordinates: Any) -> Any:
        return self._from_pieces(lambda space, piece: space._from_coordinates(piece), coordinates)

    def _components_from_coordinates(self, coordinates: Any) -> Any:
        return self._from_pieces(
            lambda space, piece: space._components_from_coordinates(piece), coordinates
        )

    def _from_pieces(self, method: Callable[[Space, Any], Any], coordinates: Any) -> Any:
        results, start = [], 0
        for space in self.spaces:
            stop = start + space.dimension
            results.append(method(space, coordinates[start:stop]))
            start = stop
        return unflatten(self.treedef, results)


def _total(terms: list[Any]) -> Any:
    return sum(terms[1:], start=terms[0]) if terms else 0.0


def _joined(pieces: list[Any]) -> Any:
    return np.concatenate(pieces) if pieces else np.zeros(0)
