"""Riesz maps and spaces, on concrete and on traced components."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType
from adjoint.base.errors import ArgumentTypeError, NotDifferentiableError
from adjoint.capture import Traced, apply, is_known, sealed, traced_type, unwrap
from adjoint.primitives.calls.linear import LINEAR_CALL, LinearFunction
from adjoint.program import operation
from adjoint.spaces import Metric, Space, TangentBundle, infer, opaque


def space_of(point: Any, space: Space | TangentBundle | None, argument: str) -> Space:
    """The space of a point: the one given, which must hold it, or the Euclidean one.

    A tangent bundle gives its space at the point.
    """
    if space is None:
        return infer(point)
    check_space(space, argument)
    return _resolved(space, point, argument)


def check_space(space: Any, argument: str) -> None:
    """ArgumentTypeError unless it is a space, or gives one at every point."""
    if not isinstance(space, (Space, TangentBundle)):
        raise ArgumentTypeError(
            f"A space was expected for {argument}, got a {type(space).__name__}. "
            "ad.spaces.infer(x) gives the Euclidean space of x; ad.spaces.Weighted(...) gives it "
            "another inner product, ad.spaces.Metric(...) one that depends on the point."
        )


def represent(home: Space | None, components: Any) -> Any:
    """The Riesz representative of a covector given by components; without a space, those."""
    return components if home is None else home._represent(home._restrict(components))


def _resolved(space: Space | TangentBundle, point: Any, argument: str) -> Space:
    if isinstance(space, Space):
        space.check(point, argument)
        return space
    if not isinstance(space, Metric):
        return space.at(point, argument)
    leaves, treedef = pytrees.flatten(point)
    if any(type(leaf) is Traced and not is_known(leaf) for leaf in leaves):
        raise NotDifferentiableError(
            f"The inner product of {space!r} was asked for at a traced point, inside jit, vmap or "
            "another derivative. A metric is a function of concrete points, and is not "
            "differentiated. Take the gradient outside, or without a metric."
        )
    return space.at(pytrees.unflatten(treedef, map(unwrap, leaves)), argument)


def apply_whole(function: Any, tree: Any) -> Any:
    """A linear function that is its own transpose, as Riesz maps are; one primitive when traced."""
    leaves, treedef = pytrees.flatten(tree)
    if all(type(leaf) is not Traced or is_known(leaf) for leaf in leaves):
        return function(pytrees.unflatten(treedef, map(unwrap, leaves)))
    linear = _whole(function, treedef, tuple(map(traced_type, leaves)))
    results = apply(operation(LINEAR_CALL, function=linear, transposed=False), leaves)
    return pytrees.unflatten(treedef, results)


@lru_cache(maxsize=256)  # the same one again, so that programs that hold it are found again
def _whole(function: Any, treedef: Any, types: tuple[ArrayType, ...]) -> LinearFunction:
    def on_leaves(*arrays: Any) -> tuple[Any, ...]:
        with sealed("The inner product of a space"):
            covector = function(pytrees.unflatten(treedef, arrays))
        return tuple(pytrees.leaves(covector))

    return LinearFunction(on_leaves, on_leaves, types, types, "riesz")


opaque.APPLY = apply_whole
