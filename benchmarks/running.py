"""Running the cases and refreshing the page."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path

from benchmarks.compiled import say_whether_it_compiles
from benchmarks.machine import description
from benchmarks.peers import say_what_is_skipped
from benchmarks.table import replaced


def run_cases(cases: Mapping[str, str], names: Iterable[str], target: Path | None) -> None:
    """Print the tables of these cases, and put them into a page if there is one."""
    say_what_is_skipped()
    say_whether_it_compiles()
    _say_whether_it_is_busy()
    machine = description()
    print(machine, flush=True)
    page = target.read_text(encoding="utf-8") if target else None
    for name in names:
        module = import_module(cases[name])
        print(f"\n## {name}: {(module.__doc__ or '').strip()}\n", flush=True)
        text = "\n".join(table.markdown() for table in module.run())
        print(text, flush=True)
        if page is not None:
            page = replaced(page, name, f"{text}\n{machine}\n")
    if target is not None and page is not None:
        target.write_text(page, encoding="utf-8")


def _say_whether_it_is_busy() -> None:
    """Tell on stderr when others compute here: turns are fair, but caches and cores are shared."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load > 0.5:
        print(f"busy: the load of this machine is {load:.1f} without this run", file=sys.stderr)
