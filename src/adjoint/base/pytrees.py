"""Pytrees: nested containers whose leaves are arrays, by way of `optree`.

Dicts, lists, tuples, namedtuples and whatever is registered with optree are containers; so is every
dataclass, which is registered when it is first met. None is an empty container.
"""

from __future__ import annotations

import dataclasses
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np
import optree

NAMESPACE = "adjoint"
_HELD = re.compile(r"CustomTreeNode\(_Held\[(\w+)\], \[\]\)")  # see `held.py`
TreeDef = optree.PyTreeSpec
_ARRAYS = frozenset({np.ndarray, float, int, complex, np.float64, np.float32})
_ATOMS = (np.ndarray, float, np.generic, int, complex)


def row(tree: Any) -> TreeDef | None:
    """The structure of a list or tuple of bare arrays, in a fraction of the time; None for others.

    Its leaves are its entries.
    """
    kind = type(tree)
    if (kind is list or kind is tuple) and tree:
        for leaf in tree:
            if type(leaf) is not np.ndarray:
                return None
        return _row(kind is list, len(tree))
    return None


@lru_cache(maxsize=256)
def _row(is_list: bool, length: int) -> TreeDef:
    example: Any = [0] * length if is_list else (0,) * length
    return optree.tree_structure(example, namespace=NAMESPACE)


def flatten(tree: Any) -> tuple[list[Any], TreeDef | None]:
    """The leaves of a tree in order, and its structure; the structure of a bare array is None."""
    if isinstance(tree, _ATOMS):
        return [tree], None
    known = row(tree)
    if known is not None:
        return list(tree), known
    leaves, treedef = optree.tree_flatten(tree, namespace=NAMESPACE)
    for leaf in leaves:
        if (
            type(leaf) not in _ARRAYS
            and hasattr(leaf, "__dataclass_fields__")
            and not isinstance(leaf, type)
        ):
            _register(type(leaf))
            return flatten(tree)
    if treedef.is_leaf():
        return leaves, None
    if _has_order(treedef) and any(map(_reordered, _ordered(tree))):
        return flatten(_straightened(tree))
    return leaves, treedef


@lru_cache(maxsize=1024)
def _has_order(treedef: TreeDef) -> bool:
    """Whether an OrderedDict is among the containers."""
    return treedef.type is OrderedDict or any(map(_has_order, treedef.children()))


def _ordered(tree: Any) -> list[OrderedDict[Any, Any]]:
    """The containers of a tree that are an OrderedDict."""
    seen: list[OrderedDict[Any, Any]] = []

    def look(part: Any) -> bool:
        if type(part) is OrderedDict:
            seen.append(part)
        return False

    optree.tree_leaves(tree, is_leaf=look, namespace=NAMESPACE)
    return seen


def _reordered(mapping: Any) -> bool:
    """Whether an OrderedDict is not in the order in which its keys were put in (`move_to_end`).

    optree takes it apart, and builds it again, in that order: a function would see another one.
    """
    return type(mapping) is OrderedDict and list(mapping) != list(dict.__iter__(mapping))


def _straightened(tree: Any) -> Any:
    """The tree, with a new OrderedDict in place of each that was reordered."""

    def straight(part: Any) -> Any:
        if not _reordered(part):
            return part
        return OrderedDict((key, _straightened(entry)) for key, entry in part.items())

    return optree.tree_map(straight, tree, is_leaf=_reordered, namespace=NAMESPACE)


def is_leaf(value: Any) -> bool:
    """Whether a value is no container, whatever attributes it has. Dataclasses are known by now."""
    return optree.tree_is_leaf(value, namespace=NAMESPACE)


def unflatten(treedef: TreeDef | None, leaves: Iterable[Any]) -> Any:
    """Rebuild a tree from its structure and its leaves."""
    if treedef is None:
        (leaf,) = leaves
        return leaf
    return treedef.unflatten(leaves)


def leaves(tree: Any) -> list[Any]:
    """The leaves of a tree in order."""
    return flatten(tree)[0]


def tree_map(function: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """Apply a function to corresponding leaves of trees with the same structure."""
    first, treedef = flatten(tree)
    others = [flatten(other)[0] for other in rest]
    return unflatten(treedef, [function(*group) for group in zip(first, *others, strict=True)])


def paths(tree: Any) -> list[str]:
    """For each leaf, how a user would write its place: `['w'][0]`; empty for a bare array."""
    _, treedef = flatten(tree)
    if treedef is None:
        return [""]
    return [accessor.codify("") for accessor in optree.tree_accessors(tree, namespace=NAMESPACE)]


def alike(one: TreeDef | None, other: TreeDef | None) -> bool:
    """Whether two structures are the same once their leaves are plain arrays.

    A container may be an object of one class or of another depending on its leaves, as polynomials
    are whose coefficients are under capture.
    """
    if one == other or one is None or other is None or one.num_leaves != other.num_leaves:
        return one == other
    return _settled(one) == _settled(other)


def _settled(treedef: TreeDef) -> TreeDef:
    plain = treedef.unflatten([np.zeros(1)] * treedef.num_leaves)
    return optree.tree_structure(plain, namespace=NAMESPACE)


def find(tree: Any, kind: type) -> Any:
    """The first part of a tree that is of a type, which may be a container itself; or None."""
    parts = optree.tree_leaves(
        tree, is_leaf=lambda part: isinstance(part, kind), namespace=NAMESPACE
    )
    return next((part for part in parts if isinstance(part, kind)), None)


def structure_text(treedef: TreeDef | None) -> str:
    """A structure as one would read it in an error message; what it holds, by its class."""
    if treedef is None:
        return "an array"
    text = str(treedef).removeprefix("PyTreeSpec(").removesuffix(")")
    return _HELD.sub(r"\1", text.removesuffix(f", namespace={NAMESPACE!r}"))


def _register(cls: type) -> None:
    """Make a dataclass a container whose children are its fields."""
    names = tuple(field.name for field in dataclasses.fields(cls))

    def split(instance: Any) -> tuple[tuple[Any, ...], None, tuple[str, ...]]:
        return tuple(getattr(instance, name) for name in names), None, names

    def join(_: Any, children: Iterable[Any]) -> Any:
        # Without __init__: leaves may be anything while a tree is being mapped, and __post_init__
        # may check them.
        instance: Any = object.__new__(cls)
        for name, child in zip(names, children, strict=True):
            object.__setattr__(instance, name, child)
        return instance

    # ValueError: another thread was first.
    with suppress(ValueError):
        optree.register_pytree_node(
            cls, split, join, path_entry_type=optree.GetAttrEntry, namespace=NAMESPACE
        )
