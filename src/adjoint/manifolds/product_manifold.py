"""Products of manifolds and spaces, over trees."""

from __future__ import annotations

from typing import Any, Final, final

import numpy as np

from adjoint.base.errors import ArgumentTypeError
from adjoint.base.pytrees import flatten, paths, structure_text, unflatten
from adjoint.manifolds.manifold import Manifold
from adjoint.spaces import Product, Space
from adjoint.spaces.elements.values import describe


@final
class ProductManifold(Manifold):
    """The product of a tree of manifolds and spaces: points are trees of the same structure.

    Args:
        tree: a dict, list, tuple, dataclass, ... whose leaves are manifolds, or spaces, whose
            elements are both points and tangents.

    Inner products add up, as in a `Product` (E.1.28); each part moves by itself.

    Raises:
        ArgumentTypeError: the tree is a bare leaf, or a leaf is neither a manifold nor a space.

    Example:
        >>> import numpy as np
        >>> from adjoint.manifolds import PositiveDefinite
        >>> from adjoint.spaces import Euclidean
        >>> gaussians = ProductManifold(
        ...     {"mean": Euclidean(2), "covariance": PositiveDefinite(2)}
        ... )
        >>> gaussians.dimension
        5
        >>> gaussians.contains({"mean": np.zeros(2), "covariance": np.eye(2)})
        True
    """

    def __init__(self, tree: Any) -> None:
        leaves, treedef = flatten(tree)
        if treedef is None:
            raise ArgumentTypeError(
                f"ProductManifold takes a tree of manifolds and spaces. Got {describe(tree)}. "
                "A single manifold needs no product."
            )
        self._paths: Final = paths(tree)
        for leaf, path in zip(leaves, self._paths, strict=True):
            if not isinstance(leaf, Manifold | Space):
                raise ArgumentTypeError(
                    f"ProductManifold takes a tree of manifolds and spaces. Got {describe(leaf)} "
                    f"at tree{path}. adjoint.spaces.Euclidean(shape) is the space of arrays."
                )
        self.parts: Final[tuple[Manifold | Space, ...]] = tuple(leaves)
        self.treedef: Final = treedef

    @property
    def tree(self) -> Any:
        """The tree of manifolds and spaces."""
        return unflatten(self.treedef, self.parts)

    @property
    def dimension(self) -> int:
        """The sum of the dimensions."""
        return sum(part.dimension for part in self.parts)

    @property
    def ambient(self) -> Space:
        """The product of the ambient spaces."""
        return Product(unflatten(self.treedef, [part.ambient for part in self.parts]))

    def _key(self) -> tuple[Any, ...]:
        return self.treedef, self.parts

    def __repr__(self) -> str:
        return f"ProductManifold({self.tree!r})"

    def _why_not(self, x: Any) -> tuple[str, Any, str] | None:
        try:
            leaves = self.treedef.flatten_up_to(x)
        except (ValueError, TypeError):
            return "", x, f"Its structure must be {structure_text(self.treedef)}."
        for part, leaf, path in zip(self.parts, leaves, self._paths, strict=True):
            if isinstance(part, Manifold):
                failure = part._why_not(leaf)
            else:
                mismatch = part._mismatch(leaf)
                failure = None if mismatch is None else (mismatch.path, leaf, mismatch.advice)
            if failure is not None:
                return path + failure[0], *failure[1:]
        return None

    def _tangent_space(self, x: Any) -> Space:
        leaves = self.treedef.flatten_up_to(x)
        spaces = [
            part._tangent_space(leaf) if isinstance(part, Manifold) else part
            for part, leaf in zip(self.parts, leaves, strict=True)
        ]
        return Product(unflatten(self.treedef, spaces))

    def _retract(self, x: Any, u: Any) -> Any:
        return self._moved_by("_retract", x, u)

    def _exponential(self, x: Any, u: Any) -> Any:
        return self._moved_by("_exponential", x, u)

    def _moved_by(self, way: str, x: Any, u: Any) -> Any:
        leaves = zip(
            self.parts, self.treedef.flatten_up_to(x), self.treedef.flatten_up_to(u), strict=True
        )
        moved = [
            getattr(part, way)(point, tangent)
            if isinstance(part, Manifold)
            else part._add(point, tangent)
            for part, point, tangent in leaves
        ]
        return unflatten(self.treedef, moved)

    def _random(self, generator: np.random.Generator) -> Any:
        return unflatten(self.treedef, [part.random(generator) for part in self.parts])
