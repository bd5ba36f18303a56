"""How long files, functions and lines may be, and that open ends are written down as issues."""

from __future__ import annotations

import ast
import re
from pathlib import Path

FILE_LINES = 500
FUNCTION_LINES = 60  # without the docstring; aim at 40
LINE_COLUMNS = 100
ROOM_ENTRIES = 14  # aim at 12
# The package has the floors themselves, and SciPy's modules are as many as they are.
LARGE_ROOMS = {".": 24, "scipy": 15}

_OPEN_END = re.compile(r"\b(TODO|FIXME)\b(?!.*#\d)")


def size_violations(path: Path) -> list[str]:
    """A file, function or line that is too long."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    found = []
    if len(lines) > FILE_LINES:
        found.append(f"{path}: {len(lines)} lines, at most {FILE_LINES}")
    for number, line in enumerate(lines, 1):
        if len(line) > LINE_COLUMNS:
            found.append(f"{path}:{number}: {len(line)} columns, at most {LINE_COLUMNS}")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = function_length(node)
            if length > FUNCTION_LINES:
                place = f"{path}:{node.lineno}: {node.name}"
                found.append(f"{place} has {length} lines, at most {FUNCTION_LINES}")
    return found


def crowded_rooms(source: Path) -> list[str]:
    """Folders with too many files and folders in them."""
    rooms = [source, *(path for path in sorted(source.rglob("*")) if path.is_dir())]
    faults = []
    for room in rooms:
        entries = {
            path.relative_to(room).parts[0] for path in room.rglob("*.py") if path.parent != room
        } | {path.name for path in room.glob("*.py") if path.name != "__init__.py"}
        name = str(room.relative_to(source))
        most = LARGE_ROOMS.get(name, ROOM_ENTRIES)
        if len(entries) > most:
            faults.append(f"{name}: {len(entries)} entries, at most {most}")
    return faults


def function_length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines from `def` to the end, without those of the docstring."""
    length = (node.end_lineno or node.lineno) - node.lineno + 1
    first = node.body[0]
    if ast.get_docstring(node) is not None:
        length -= (first.end_lineno or first.lineno) - first.lineno + 1
    return length


def open_ends(path: Path) -> list[str]:
    """Notes of things to do that name no issue (`#12`)."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        f"{path}:{number}: {line.strip()}"
        for number, line in enumerate(lines, 1)
        if _OPEN_END.search(line)
    ]
