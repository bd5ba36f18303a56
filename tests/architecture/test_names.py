"""A name says what it names, and names one thing."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "adjoint"
EMPTY = frozenset({"found", "each", "made"})
# The public `NaNReport.made`.
PUBLIC = SOURCE / "calculus" / "inspecting" / "nans.py"


def _modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def _names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The names in a module: variables, arguments, attributes, functions, classes."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                yield name, node.lineno
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno


def test_no_name_says_only_that_something_was_found() -> None:
    empty = [
        f"{path.relative_to(SOURCE)}:{line}: {name}"
        for path in _modules()
        for name, line in _names(ast.parse(path.read_text()))
        if name.strip("_") in EMPTY and (path, name) != (PUBLIC, "made")
    ]
    assert not empty, "\n".join(empty)


def test_a_class_name_names_one_thing() -> None:
    places = defaultdict(list)
    for path in _modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name.strip("_")].append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    repeated = {name: where for name, where in places.items() if len(where) > 1}
    assert not repeated, repeated
