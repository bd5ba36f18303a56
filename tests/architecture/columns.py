"""How wide code may be on a page, so that nothing of it is cut at the edge of the column."""

from __future__ import annotations

import ast
import doctest
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.markdown import blocks

# Furo's column has room for 90 characters of code, in whatever window. A docstring is indented on
# the page of reference, one of a method twice: 86 characters, and 82.
PAGE_COLUMNS = 88
DOCSTRING_COLUMNS = 82

COMMAND = "<!-- command: "  # a command of the README is one line, which is run as it stands


def wide_code(path: Path) -> list[str]:
    """The lines of code on a page that are cut there."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    return [
        f"{path}:{number}: {len(line)} columns, at most {PAGE_COLUMNS}"
        for block in blocks(text)
        if not lines[block.line - 3].startswith(COMMAND)
        for number, line in enumerate(block.text.splitlines(), block.line)
        if len(line) > PAGE_COLUMNS
    ]


def wide_examples(path: Path) -> list[str]:
    """The lines of the examples in the docstrings of a module that are cut on the reference."""
    return [
        f"{path}: {line}"
        for docstring in _docstrings(ast.parse(path.read_text(encoding="utf-8")))
        for line in _example_lines(docstring)
        if len(line) > DOCSTRING_COLUMNS
    ]


def _docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def _example_lines(docstring: str) -> Iterator[str]:
    """With their prompts, as they are shown, and what they print."""
    for example in doctest.DocTestParser().get_examples(docstring):
        yield from (">>> " + line for line in example.source.splitlines())
        yield from example.want.splitlines()
