"""`python -m benchmarks [CASE ...] [--write docs/benchmarks.md] [--cores N]`."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.cores import keep_to

CASES = {
    "wine": "benchmarks.wine",
    "rosenbrock": "benchmarks.rosenbrock",
    "elementwise": "benchmarks.elementwise",
    "logsumexp": "benchmarks.logsumexp",
    "bundle": "benchmarks.bundle",
    "polynomial": "benchmarks.polynomial",
    "kmeans": "benchmarks.kmeans",
    "mixture": "benchmarks.mixture",
    "kalman": "benchmarks.kalman",
    "rk4": "benchmarks.rk4",
    "lstm": "benchmarks.lstm",
    "descents": "benchmarks.descents",
    "minors": "benchmarks.minors",
    "laplacian": "benchmarks.laplacian",
    "gradbench": "benchmarks.gradbench.figures",
    "elimination": "benchmarks.elimination",
    "checkpoints": "benchmarks.checkpoints",
    "modes": "benchmarks.modes",
    "unjitted": "benchmarks.unjitted",
    "exceptions": "benchmarks.exceptions",
    "devices": "benchmarks.devices",
    "sparse": "benchmarks.sparse",
    "rows": "benchmarks.rows",
    "waits": "benchmarks.waits",
    "capture": "benchmarks.capture",
    "compile": "benchmarks.compile_time",
    "import": "benchmarks.import_time",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="refresh the tables of a page")
    parser.add_argument("--cores", type=int, default=1, metavar="N", help="for everybody (1)")
    options = parser.parse_args()
    unknown = [name for name in options.cases if name not in CASES]
    if unknown:
        parser.error(f"there is no case {unknown[0]!r}; there are {', '.join(CASES)}")
    if options.cores < 1:
        parser.error("--cores must be at least 1")
    keep_to(options.cores)
    # Only now: what is imported here starts threads.
    from benchmarks.running import run_cases

    run_cases(CASES, options.cases or list(CASES), options.write)


if __name__ == "__main__":
    main()
