"""The floors of the house: who may import whom. The table is that of `docs/architecture.md`."""

from __future__ import annotations

import ast

from tests.architecture.modules import Import, Module, imports

# Floor and place on the floor. A file imports from its own room, or from one with a smaller pair.
ROOMS: dict[str, tuple[int, int]] = {
    "base": (0, 0),
    "spaces": (1, 0),
    "maps": (1, 1),
    "tensors": (1, 2),
    "manifolds": (1, 3),
    "program": (2, 0),
    "primitives": (3, 0),
    "capture": (4, 0),
    "transforms": (5, 0),
    "loops": (5, 1),
    "optimise": (6, 0),
    "executors": (7, 0),
    "pipeline": (8, 0),
    "calculus": (9, 0),
    "datasets": (10, 0),
    "drawing": (10, 0),
    "interop": (10, 0),
    "numpy": (10, 0),
    "scipy": (10, 0),
    "testing": (10, 0),
    # The front door `import adjoint as ad`. The rooms after it use the package as its users do.
    "": (10, 1),
    "report": (10, 2),
    "commands": (10, 3),
    "cli": (10, 4),
    "__main__": (10, 5),
}

# What a room must not know although it lies below.
SECRETS: dict[str, set[str]] = {"executors": {"spaces", "maps"}}

# The rooms within a room, the lowest first. Files that lie beside them may import them all.
INNER_ROOMS: dict[str, tuple[str, ...]] = {
    "capture.clones": ("entering", "stand_ins", "wrapping", "remembering"),
    "capture.recording": ("tracing", "memory", "values", "effects", "exits"),
    "executors.native": (
        "machine",
        "functions",
        "elements",
        "products",
        "systems",
        "rows",
        "preparation",
        "graph",
        "schedule",
        "emission",
        "entry",
        "lowering",
        "running",
    ),
}


def room_of(name: str) -> str:
    """`adjoint.base.errors` lies in `base`; the top package itself is the room ''."""
    return [*name.split("."), ""][1]


def floor_violations(modules: dict[str, Module]) -> list[str]:
    """Imports of a higher floor, of another room on the same floor, or of an unknown room."""
    return [f"{entry.place}: {fault}" for entry in imports(modules) if (fault := _fault(entry))]


def _fault(entry: Import) -> str | None:
    here, there = room_of(entry.importer), room_of(entry.imported)
    for room in (here, there):
        if room not in ROOMS:
            return f"the room {room!r} has no floor: give it one in tests/architecture/floors.py"
    if here == there:
        return None
    if ROOMS[there] >= ROOMS[here]:
        low, high = ROOMS[here][0], ROOMS[there][0]
        return f"{entry.importer} (floor {low}) imports {entry.imported} (floor {high})"
    if there in SECRETS.get(here, set()):
        return f"{entry.importer} imports {entry.imported}, of which {here} should know nothing"
    return None


def inner_violations(modules: dict[str, Module]) -> list[str]:
    """Imports of a higher room within a room, and folders there that the table does not have."""
    return [
        f"{entry.place}: {fault}"
        for entry in imports(modules)
        for outer, order in INNER_ROOMS.items()
        if (fault := _inner_fault(entry, f"adjoint.{outer}.", order))
    ]


def _inner_fault(entry: Import, outer: str, order: tuple[str, ...]) -> str | None:
    if not (entry.importer.startswith(outer) and entry.imported.startswith(outer)):
        return None
    steps = []
    for name in (entry.importer, entry.imported):
        room, _, file = name.removeprefix(outer).partition(".")
        if file and room not in order:
            return f"{outer}{room} has no place: give it one in tests/architecture/floors.py"
        steps.append(order.index(room) if room in order else len(order))
    here, there = steps
    return f"{entry.importer} imports {entry.imported}, which lies above" if there > here else None


def cycles(modules: dict[str, Module]) -> list[str]:
    """Each ring of modules that import one another, written out once."""
    graph: dict[str, set[str]] = {name: set() for name in modules}
    for entry in imports(modules):
        graph[entry.importer].add(entry.imported)
    done: set[str] = set()
    found: list[str] = []
    for start in graph:
        _walk(start, graph, [], done, found)
    return found


def _walk(
    name: str, graph: dict[str, set[str]], path: list[str], done: set[str], found: list[str]
) -> None:
    if name in path:
        found.append(" -> ".join([*path[path.index(name) :], name]))
        return
    if name in done:
        return
    for target in sorted(graph[name]):
        _walk(target, graph, [*path, name], done, found)
    done.add(name)


def init_violations(modules: dict[str, Module]) -> list[str]:
    """Statements of `__init__.py` files other than a docstring, imports and simple assignments."""
    found = []
    for module in modules.values():
        if module.is_package:
            for node in module.tree.body:
                if not _re_exports(node):
                    found.append(f"{module.path}:{node.lineno}: an __init__.py only re-exports")
    return found


def _re_exports(node: ast.stmt) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant(value=str())):
            return True
        case ast.Assign() | ast.AnnAssign():
            return not any(
                isinstance(part, ast.Lambda | ast.comprehension) for part in ast.walk(node)
            )
    return False
