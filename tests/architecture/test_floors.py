"""A file imports from lower floors only and nothing imports in a ring; the rules are tested too."""

from pathlib import Path

import pytest

from tests.architecture.floors import (
    INNER_ROOMS,
    ROOMS,
    cycles,
    floor_violations,
    init_violations,
    inner_violations,
    room_of,
)
from tests.architecture.modules import SOURCE, Module, imports, read_modules


def plant(folder: Path, files: dict[str, str]) -> dict[str, Module]:
    """A package `adjoint` with these files."""
    for name, text in files.items():
        path = folder / "adjoint" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return read_modules(folder / "adjoint")


# --- the package ----------------------------------------------------------------------------------


def test_files_import_from_lower_floors_only() -> None:
    assert floor_violations(read_modules(SOURCE)) == []


def test_files_import_from_lower_rooms_of_their_room_only() -> None:
    assert inner_violations(read_modules(SOURCE)) == []


def test_rooms_within_rooms_are_folders() -> None:
    for outer, order in INNER_ROOMS.items():
        folder = SOURCE.joinpath(*outer.split("."))
        assert {path.parent.name for path in folder.glob("*/*.py")} == set(order)


def test_no_module_imports_itself_in_a_ring() -> None:
    assert cycles(read_modules(SOURCE)) == []


def test_init_files_only_re_export() -> None:
    assert init_violations(read_modules(SOURCE)) == []


def test_every_file_lies_in_a_room_of_the_table() -> None:
    strangers = {name for name in read_modules(SOURCE) if room_of(name) not in ROOMS}
    assert strangers == set()


# --- the rules ------------------------------------------------------------------------------------

UPWARD = [
    "from adjoint.transforms.linearize import linearize",
    "from adjoint.transforms import linearize",
    "import adjoint.transforms.linearize",
    "from ..transforms import linearize",
    "from adjoint import transforms",
    "def f():\n    from adjoint.transforms import linearize",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import adjoint.transforms",
    "import importlib\nimportlib.import_module('adjoint.transforms')",
]


@pytest.mark.parametrize("statement", UPWARD)
def test_an_upward_import_is_found(tmp_path: Path, statement: str) -> None:
    files = {
        "program/__init__.py": "",
        "program/printer.py": statement,
        "transforms/__init__.py": "",
        "transforms/linearize.py": "",
    }
    (fault,) = floor_violations(plant(tmp_path, {"__init__.py": "", **files}))
    assert "printer.py" in fault
    assert "(floor 2) imports" in fault
    assert "(floor 5)" in fault


def test_maps_stand_on_spaces_and_not_the_other_way(tmp_path: Path) -> None:
    allowed = {"maps/a.py": "import adjoint.spaces.b", "spaces/b.py": ""}
    assert floor_violations(plant(tmp_path / "1", allowed)) == []
    refused = {"maps/a.py": "", "spaces/b.py": "import adjoint.maps.a"}
    assert len(floor_violations(plant(tmp_path / "2", refused))) == 1


def test_executors_know_nothing_of_spaces(tmp_path: Path) -> None:
    files = {"executors/a.py": "import adjoint.spaces.b", "spaces/b.py": ""}
    (fault,) = floor_violations(plant(tmp_path, files))
    assert "should know nothing" in fault


def test_the_front_door_imports_everything_below_and_is_not_imported_there(tmp_path: Path) -> None:
    files = {"__init__.py": "from adjoint.calculus.a import f", "calculus/a.py": "import adjoint"}
    (fault,) = floor_violations(plant(tmp_path, files))
    assert "adjoint.calculus.a (floor 9) imports adjoint (floor 10)" in fault


def test_a_room_without_a_floor_is_found(tmp_path: Path) -> None:
    files = {"helpers/a.py": "import adjoint.base.b", "base/b.py": ""}
    (fault,) = floor_violations(plant(tmp_path, files))
    assert "'helpers' has no floor" in fault


NATIVE = "adjoint.executors.native"


@pytest.mark.parametrize(
    ("file", "statement", "fault"),
    [
        ("machine/a.py", f"from {NATIVE}.graph import b", "which lies above"),
        ("machine/a.py", f"import {NATIVE}.graph.b", "which lies above"),
        ("graph/a.py", f"import {NATIVE}.lower", "which lies above"),
        ("helpers/a.py", f"import {NATIVE}.graph.b", "helpers has no place"),
    ],
)
def test_an_upward_import_within_a_room_is_found(
    tmp_path: Path, file: str, statement: str, fault: str
) -> None:
    files = {file: statement, "graph/__init__.py": "", "graph/b.py": "", "lower.py": ""}
    modules = plant(tmp_path, {f"executors/native/{name}": text for name, text in files.items()})
    (violation,) = inner_violations(modules)
    assert fault in violation


@pytest.mark.parametrize("file", ["graph/a.py", "emission/a.py", "lower.py"])
def test_a_downward_import_within_a_room_is_fine(tmp_path: Path, file: str) -> None:
    files = {file: f"from {NATIVE}.graph.b import f", "graph/b.py": ""}
    modules = plant(tmp_path, {f"executors/native/{name}": text for name, text in files.items()})
    assert inner_violations(modules) == []
    assert len(imports(modules)) == 1


def test_a_ring_is_found_even_inside_functions(tmp_path: Path) -> None:
    files = {
        "base/a.py": "from adjoint.base.b import f",
        "base/b.py": "from adjoint.base import c",
        "base/c.py": "def g():\n    from .a import h",
    }
    assert cycles(plant(tmp_path, {"base/__init__.py": "", **files})) == [
        "adjoint.base.a -> adjoint.base.b -> adjoint.base.c -> adjoint.base.a"
    ]


def test_a_file_that_imports_its_own_room_makes_a_ring(tmp_path: Path) -> None:
    files = {"base/__init__.py": "from adjoint.base.a import f", "base/a.py": "import adjoint.base"}
    assert len(cycles(plant(tmp_path, files))) == 1


def test_a_tree_of_imports_has_no_ring(tmp_path: Path) -> None:
    files = {
        "base/a.py": "import adjoint.base.b, adjoint.base.c",
        "base/b.py": "import adjoint.base.c",
    }
    modules = plant(tmp_path, {**files, "base/c.py": ""})
    assert cycles(modules) == []
    assert len(imports(modules)) == 3


@pytest.mark.parametrize(
    "statement",
    [
        "def f():\n    return 1",
        "for x in ():\n    pass",
        "if True:\n    x = 1",
        "f = lambda: 1",
        "print(1)",
    ],
)
def test_code_in_an_init_file_is_found(tmp_path: Path, statement: str) -> None:
    modules = plant(tmp_path, {"base/__init__.py": f'"""Doc."""\n{statement}\n'})
    assert len(init_violations(modules)) == 1


def test_re_exports_in_an_init_file_are_fine(tmp_path: Path) -> None:
    text = '"""Doc."""\nfrom adjoint.base import a\n__all__ = ["a"]\n__version__: str = "0"\n'
    assert init_violations(plant(tmp_path, {"base/__init__.py": text, "base/a.py": ""})) == []
