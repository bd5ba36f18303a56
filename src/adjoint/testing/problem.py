"""The function under audit, as a function of one point, with what all tests need to know of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import is_numeric, real_dtype, type_of
from adjoint.base.errors import ArgumentError, NotDifferentiableError
from adjoint.base.trees.containers import container_advice
from adjoint.base.trees.held import hold
from adjoint.spaces import Euclidean, Product, Skew, Space, Symmetric, Weighted, infer

_DENSE = 64  # coordinates up to which a random inner product is a full matrix


class CheckedFunction:
    """A function of one point, which is the argument that varies, or a tuple of them.

    function: of the point; its result holds floating-point numbers only. point, value: there.
    domain, codomain: the spaces. epsilon: the relative precision of the coarsest array.
    """

    def __init__(self, function: Callable[..., Any], args: Sequence[Any], spaces: Any) -> None:
        self.original = function
        self.args = [_copied(arg) for arg in args]
        self.places = [n for n, arg in enumerate(args) if _varies(arg)]
        if not self.places:
            raise NotDifferentiableError(
                "check needs an argument of floating-point numbers to differentiate at. It was "
                f"given {', '.join(type(arg).__name__ for arg in args) or 'no arguments'}. "
                "Integers and booleans carry no derivative: write 2.0 for 2, or x.astype(float)."
                + "".join(map(container_advice, args))
            )
        parts = [_moving(self.args[n]) for n in self.places]
        chosen, self.whole = tuple(part for part, _ in parts), [whole for _, whole in parts]
        self.single = len(chosen) == 1
        self.point = chosen[0] if self.single else chosen
        whole = self.plain(self.point)
        leaves = pytrees.leaves(whole)
        self.kept = [n for n, leaf in enumerate(leaves) if is_numeric(leaf) and _inexact(leaf)]
        if not self.kept:
            leaf_types = ", ".join(_describe(leaf) for leaf in leaves) or "nothing"
            raise NotDifferentiableError(
                f"check was asked of a function whose value is {leaf_types}. Only floating-point "
                "numbers vary smoothly: one that returns integers or booleans has no derivative."
            )
        self.filtered = len(self.kept) < len(leaves)
        self.value = self.kept_part(whole)
        given = (None, None) if spaces is None else spaces
        if not isinstance(given, (tuple, list)) or len(given) != 2:
            raise ArgumentError(
                f"spaces must be a pair (domain, codomain), each a space or None; got {spaces!r}."
            )
        self.given = any(space is not None for space in given)
        self.domain: Space = infer(self.point) if given[0] is None else given[0]
        self.codomain: Space = infer(self.value) if given[1] is None else given[1]
        self.domain.check(self.point, "the point")
        self.codomain.check(self.value, "the function's value")
        every = [*pytrees.leaves(self.point), *pytrees.leaves(self.value)]
        self.epsilon = max(float(np.finfo(type_of(leaf).dtype).eps) for leaf in every)
        self.wide = self._widened()

    # --- calling ---------------------------------------------------------------------------------

    def plain(self, point: Any) -> Any:
        """The function on plain arrays, with copies, so that it cannot change them."""
        with np.errstate(all="ignore"):
            return self.original(*map(_copied, self.merged(point)))

    def merged(self, point: Any) -> list[Any]:
        """All arguments, with the point in its places."""
        chosen = (point,) if self.single else point
        merged = list(self.args)
        for place, value, whole in zip(self.places, chosen, self.whole, strict=True):
            leaves = value if whole is None else pytrees.leaves(value)
            merged[place] = value if whole is None else pytrees.unflatten(whole, leaves)
        return merged

    @property
    def function(self) -> Callable[[Any], Any]:
        """The function of the point, to be captured: rebinding reaches the user's through it."""
        original, merged, kept = self.original, self.merged, self.kept_part
        return lambda point: kept(original(*merged(point)))

    def kept_part(self, whole: Any) -> Any:
        """The part of a result that varies smoothly."""
        if not self.filtered:
            return whole
        leaves = pytrees.leaves(whole)
        return [leaves[n] for n in self.kept]

    def at(self, step: float, direction: Any) -> Any:
        """The function's value at point + step * direction, as one real vector.

        In double precision also where the function is in single, if it can be called so.
        """
        dtype = np.float64 if self.wide else None
        moved = pytrees.tree_map(
            lambda x, u: _widen(x, dtype) + step * _widen(u, dtype), self.point, direction
        )
        moved = pytrees.tree_map(_like, moved, self.point) if not self.wide else moved
        return pack(self.kept_part(self.plain(moved)))

    def _widened(self) -> bool:
        """Whether the function can be evaluated in double precision."""
        if self.epsilon < 1e-10:
            return True
        try:
            value = self.plain(pytrees.tree_map(lambda x: _widen(x, np.float64), self.point))
            leaves = pytrees.leaves(self.kept_part(value))
        except Exception:  # whatever a function does that wants single precision
            return False
        return all(real_dtype(type_of(leaf).dtype).itemsize >= 8 for leaf in leaves)

    # --- names -----------------------------------------------------------------------------------

    def paths(self) -> list[str]:
        """For each leaf of the point, how a user would name it."""
        chosen = (self.point,) if self.single else self.point
        return [
            f"argument {place}{path}"
            for place, value in zip(self.places, chosen, strict=True)
            for path in pytrees.paths(value)
        ]


# --- vectors -------------------------------------------------------------------------------------


def pack(tree: Any) -> Any:
    """All numbers of a tree as one real vector of double precision."""
    parts: list[Any] = []
    for leaf in pytrees.leaves(tree):
        flat = np.ravel(np.asarray(leaf))
        parts += [flat.real, flat.imag] if flat.dtype.kind == "c" else [flat]
    return np.concatenate(parts).astype(np.float64) if parts else np.zeros(0)


def pairing(covector: Any, tree: Any) -> Any:
    """Re sum conj(c) x over all leaves; also of traced arrays."""
    total: Any = 0.0
    for c, x in zip(pytrees.leaves(covector), pytrees.leaves(tree), strict=True):
        product = np.conj(c) * x
        total = total + np.sum(np.real(product))
    return total


def only(problem: CheckedFunction, number: int, direction: Any) -> Any:
    """A direction in which one leaf moves alone."""
    leaves, treedef = pytrees.flatten(direction)
    kept = [
        leaf if place == number else np.zeros_like(leaf)[()] for place, leaf in enumerate(leaves)
    ]
    return pytrees.unflatten(treedef, kept)


def randomised(space: Space, generator: np.random.Generator) -> Space:
    """The same vectors under a random inner product."""
    if isinstance(space, Product):
        spaces = [randomised(part, generator) for part in space.spaces]
        return Product(pytrees.unflatten(space.treedef, spaces))
    if isinstance(space, Weighted):
        return randomised(space.base, generator)
    if not isinstance(space, (Euclidean, Symmetric, Skew)) or space.dimension == 0:
        return space
    count = space.dimension
    if count > _DENSE:
        shape = space.shape if isinstance(space, Euclidean) else (count,)
        return Weighted(space, generator.uniform(0.5, 2.0, shape))
    factor = generator.normal(size=(count, count)) / np.sqrt(count)
    return Weighted(space, np.eye(count) + factor @ factor.T)


def _varies(arg: Any) -> bool:
    leaves = pytrees.leaves(arg)
    return bool(leaves) and any(is_numeric(leaf) and _inexact(leaf) for leaf in leaves)


def _moving(arg: Any) -> tuple[Any, pytrees.TreeDef | None]:
    """An argument with None for the leaves that carry no derivative, and its structure with these.

    None in the place of the structure where all leaves carry one.
    """
    leaves, treedef = pytrees.flatten(arg)
    moves = [is_numeric(leaf) and _inexact(leaf) for leaf in leaves]
    if treedef is None or all(moves):
        return arg, None
    kept = [leaf if moving else None for leaf, moving in zip(leaves, moves, strict=True)]
    return pytrees.unflatten(treedef, kept), hold(leaves, treedef, moves)[1]


def _inexact(leaf: Any) -> bool:
    return type_of(leaf).inexact


def _copied(tree: Any) -> Any:
    return pytrees.tree_map(lambda x: x.copy() if isinstance(x, np.ndarray) else x, tree)


def _widen(x: Any, dtype: Any) -> Any:
    if dtype is None:
        return x
    array = np.asarray(x)
    return array.astype(np.result_type(array.dtype, dtype))[()]


def _like(x: Any, model: Any) -> Any:
    return np.asarray(x, type_of(model).dtype)[()]


def _describe(leaf: Any) -> str:
    return str(type_of(leaf)) if is_numeric(leaf) else f"a {type(leaf).__name__}"
