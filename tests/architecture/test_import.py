"""`import adjoint` loads what it needs and no more."""

import os
import subprocess
import sys

from tests.architecture.modules import SOURCE

LATER = {"llvmlite", "matplotlib", "pandas", "rich", "scipy", "typer"}


def loaded_by(statement: str) -> set[str]:
    """The top-level modules in memory after a statement in a fresh interpreter."""
    path = os.pathsep.join([str(SOURCE.parent), os.environ.get("PYTHONPATH", "")])
    code = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_import_is_light() -> None:
    loaded = loaded_by("import adjoint")
    assert {"adjoint", "numpy"} <= loaded
    assert loaded & LATER == set()


def test_the_command_line_loads_only_when_it_runs() -> None:
    assert loaded_by("import adjoint.cli") & LATER == set()


def test_a_heavy_import_is_found() -> None:
    assert loaded_by("import adjoint, scipy") & LATER == {"scipy"}
