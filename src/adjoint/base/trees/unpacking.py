"""Calls with the leaves of a tree whose structure is known: much faster than to flatten it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.base.pytrees import TreeDef, flatten

Unpacked = Callable[[tuple[Any, ...], dict[str, Any]], Any]


def is_flat(treedef: TreeDef) -> bool:
    """Whether a structure of (args, kwargs) is that of positional arguments without containers."""
    positional, named = treedef.children()
    return not named.children() and all(child.is_leaf() for child in positional.children())


def unpacking(function: Callable[..., Any], treedef: TreeDef) -> Unpacked:
    """`(args, kwargs) -> function(*leaves)`; None, without a call, where the structure differs."""
    lines = _Lines()
    if not lines.write(treedef):
        return _flattening(function, treedef)
    names: dict[str, Any] = {"function": function}
    exec(compile(lines.text(), "<adjoint arguments>", "exec"), names)  # our own text
    unpacked: Unpacked = names["unpacked"]
    return unpacked


def _flattening(function: Callable[..., Any], treedef: TreeDef) -> Unpacked:
    def unpacked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        leaves, structure = flatten((args, kwargs))
        return function(*leaves) if structure == treedef else None

    return unpacked


class _Lines:
    """Writes the function that takes containers of the plain kinds apart."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.leaves: list[str] = []
        self.count = 0

    def write(self, treedef: TreeDef) -> bool:
        """Whether all containers are tuples, lists, and dicts with strings for keys."""
        positional, named = treedef.children()
        return self._node(positional, "args", False) and self._node(named, "kwargs", False)

    def text(self) -> str:
        """The source of the function."""
        body = "\n".join(f"        {line}" for line in self.lines)
        return (
            f"def unpacked(args, kwargs):\n    try:\n{body}\n"
            "    except (KeyError, ValueError):\n        return None\n"
            f"    return function({', '.join(self.leaves)})\n"
        )

    def _node(self, treedef: TreeDef, name: str, checked: bool = True) -> bool:
        if treedef.is_leaf():
            self.leaves.append(name)
            return True
        kind = treedef.type
        if kind not in (tuple, list, dict):
            return False
        if checked:
            self.lines.append(f"if type({name}) is not {kind.__name__}: return None")
        children, keys = treedef.children(), treedef.entries()
        parts = [self._fresh() for _ in children]
        if kind is dict:
            if not all(type(key) is str for key in keys):
                return False
            self.lines.append(f"if len({name}) != {len(keys)}: return None")
            self.lines += [
                f"{part} = {name}[{key!r}]" for part, key in zip(parts, keys, strict=True)
            ]
        else:
            self.lines.append(f"[{', '.join(parts)}] = {name}")
        return all(self._node(child, part) for child, part in zip(children, parts, strict=True))

    def _fresh(self) -> str:
        self.count += 1
        return f"a{self.count}"
