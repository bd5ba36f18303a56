"""The command `adjoint`. What it needs beyond the package is the extra `cli`."""

from __future__ import annotations

import sys
from importlib.util import find_spec

NEEDS = ("matplotlib", "rich", "typer")


def missing_packages(names: tuple[str, ...] = NEEDS) -> list[str]:
    """The packages among these that are not installed."""
    return [name for name in names if find_spec(name) is None]


def main() -> None:
    """Run the command line."""
    missing = missing_packages()
    if missing:
        lacking = ", ".join(missing)
        print(
            f"adjoint: the command line needs {lacking}; pip install 'adjoint[cli]'",
            file=sys.stderr,
        )
        raise SystemExit(2)
    # Imported here, because the packages that it needs may not be there.
    from adjoint.commands.app import app

    app(prog_name="adjoint")
