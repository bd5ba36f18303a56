"""`python -m benchmarks [CASE ...] [--write docs/benchmarks.md]`."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from benchmarks.machine import description
from benchmarks.peers import say_what_is_skipped
from benchmarks.table import replaced

CASES = {
    "wine": "benchmarks.wine",
    "rosenbrock": "benchmarks.rosenbrock",
    "modes": "benchmarks.modes",
    "capture": "benchmarks.capture",
    "import": "benchmarks.import_time",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="refresh the tables of a page")
    options = parser.parse_args()
    unknown = [name for name in options.cases if name not in CASES]
    if unknown:
        parser.error(f"there is no case {unknown[0]!r}; there are {', '.join(CASES)}")
    say_what_is_skipped()
    machine = description()
    print(machine, flush=True)
    page = options.write.read_text(encoding="utf-8") if options.write else None
    for name in options.cases or CASES:
        module = import_module(CASES[name])
        print(f"\n## {name}: {(module.__doc__ or '').strip()}\n", flush=True)
        text = "\n".join(table.markdown() for table in module.run())
        print(text, flush=True)
        if page is not None:
            page = replaced(page, name, f"{text}\n{machine}\n")
    if page is not None:
        options.write.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
