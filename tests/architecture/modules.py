"""The modules of a package as syntax trees, and which of them each one imports.

Nothing is imported to find out: the files are read. Imports inside functions, under TYPE_CHECKING
and through `importlib.import_module("...")` count like any other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "adjoint"


@dataclass(frozen=True)
class Module:
    """A source file: its dotted name, where it lies, and its syntax tree."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def package(self) -> str:
        return self.name if self.is_package else self.name.rpartition(".")[0]


@dataclass(frozen=True)
class Import:
    """One import of a module of the same package, and the line that makes it."""

    importer: str
    imported: str
    path: Path
    line: int

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


def read_modules(package: Path) -> dict[str, Module]:
    """Every module below the folder of a package, by dotted name."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = Module(name, path, ast.parse(path.read_text(encoding="utf-8"), str(path)))
    return found


def imports(modules: dict[str, Module]) -> list[Import]:
    """Every import of one of the modules by another."""
    found = []
    for module in modules.values():
        for line, name in _imported_names(module):
            target = _closest_module(name, modules)
            if target is not None:
                found.append(Import(module.name, target, module.path, line))
    return found


def _imported_names(module: Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(module, node)
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and _is_import_call(node.func):
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield node.lineno, first.value


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    """`from ..a import b` in x.y.z means x.a."""
    if not node.level:
        return node.module or ""
    parts = module.package.split(".")
    parts = parts[: len(parts) - (node.level - 1)]
    return ".".join([*parts, node.module] if node.module else parts)


def _is_import_call(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in {"import_module", "__import__"}


def _closest_module(name: str, modules: dict[str, Module]) -> str | None:
    """`adjoint.base.errors.ShapeError` is a name in the module `adjoint.base.errors`."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name or None
