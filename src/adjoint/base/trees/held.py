"""Leaves that no program computes: they keep their place in a structure, as they are.

Text, a count, an object: what is no array of numbers is taken out of the leaves of a tree, and
stands in its structure instead, so that the tree is whole again once the leaves are put in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import optree

from adjoint.base.pytrees import NAMESPACE, TreeDef, unflatten

_ATOMS: Final = frozenset({bool, bytes, int, range, str, type(...)})


class _HeldValue:
    """What is held, as part of a structure: two are the same if nobody could tell them apart."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def _identity(self) -> tuple[Any, Any]:
        kind = type(self.value)
        return kind, self.value if kind in _ATOMS else id(self.value)

    def __eq__(self, other: object) -> bool:
        return type(other) is _HeldValue and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        return type(self.value).__name__


class _Held:
    """A container of nothing, which is what it holds once it is put together."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _taken_apart(held: Any) -> tuple[tuple[()], _HeldValue]:
    return (), _HeldValue(held.value)


def _put_together(fixed: Any, _: Any) -> Any:
    return fixed.value


_HELD: Any = _Held  # optree's annotations ask for a class of collections
optree.register_pytree_node(_HELD, _taken_apart, _put_together, namespace=NAMESPACE)


def hold(
    leaves: Sequence[Any], treedef: TreeDef | None, moves: Sequence[bool]
) -> tuple[list[Any], TreeDef | None]:
    """The leaves that move, and the structure with the others in their places."""
    held = [leaf if moving else _Held(leaf) for leaf, moving in zip(leaves, moves, strict=True)]
    if treedef is None and moves[0]:
        return held, None
    # Not by `flatten`: what it remembers of structures would keep what they hold alive.
    return optree.tree_flatten(unflatten(treedef, held), namespace=NAMESPACE)


def values_in(treedef: TreeDef | None) -> Iterator[Any]:
    """What a structure holds."""
    if treedef is not None:
        if treedef.type is _Held:
            yield treedef.unflatten(())
        for child in treedef.children():
            yield from values_in(child)


def holds(treedef: TreeDef | None) -> bool:
    """Whether a structure holds anything.

    It is not remembered: a cache would keep what is held alive.
    """
    return any(True for _ in values_in(treedef))


def may_change(values: Iterable[Any]) -> list[Any]:
    """Those that are no numbers and no text: objects, which are others at every call."""
    return [value for value in values if type(value) not in _ATOMS]
