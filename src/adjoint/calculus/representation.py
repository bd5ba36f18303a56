"""Riesz maps and spaces, on concrete and on traced components."""

from __future__ import annotations

from typing import Any

from adjoint.base import pytrees
from adjoint.capture import Traced, apply, is_known, traced_type
from adjoint.primitives.calls import LINEAR_CALL, LinearFunction
from adjoint.program import operation
from adjoint.spaces import Space, infer


def space_of(point: Any, space: Space | None, argument: str) -> Space:
    """The space of a point: the one given, if the point is in it, or the Euclidean one of its shape."""
    if space is None:
        return infer(point)
    space.check(point, argument)
    return space


def represent(space: Space, components: Any, point: Any) -> Any:
    """The Riesz representative of a covector given by ambient components."""
    space.check(point, "argument")
    return linear_on_trees(
        lambda tree: space._represent(space._restrict(tree)), components, symmetric=True
    )


def linear_on_trees(function: Any, tree: Any, symmetric: bool = False) -> Any:
    """A linear function from trees to trees of the same structure; applied as one opaque linear primitive to traced leaves.

    symmetric: that it equals its own transpose, as Riesz maps do.
    """
    leaves, treedef = pytrees.flatten(tree)
    if all(type(leaf) is not Traced or is_known(leaf) for leaf in leaves):
        return function(tree)
    types = tuple(traced_type(leaf) for leaf in leaves)

    def on_leaves(*arrays: Any) -> tuple[Any, ...]:
        return tuple(pytrees.leaves(function(pytrees.unflatten(treedef, arrays))))

    linear = LinearFunction(on_leaves, on_leaves if symmetric else None, types, types, "riesz")
    results = apply(operation(LINEAR_CALL, function=linear, transposed=False), leaves)
    return pytrees.unflatten(treedef, results)
