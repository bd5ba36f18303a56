"""`python -m tests.packages [--most N] fluids chemicals ...` prints what came of each package."""

from __future__ import annotations

import argparse
import importlib.util

from tests.packages.collecting import COLLECTIONS
from tests.packages.sweeping import sweep, table


def main() -> None:
    """Sweep the packages that are named, or all that are installed."""
    parser = argparse.ArgumentParser(prog="python -m tests.packages")
    parser.add_argument("packages", nargs="*", help=", ".join(COLLECTIONS))
    parser.add_argument("--most", type=int, help="functions of each package")
    given = parser.parse_args()
    sweeps = []
    for package in given.packages or COLLECTIONS:
        if importlib.util.find_spec(package) is None:
            print(f"{package} is not installed")
            continue
        sweeps.append(sweep(package, given.most))
        for verdict in sweeps[-1].verdicts:
            if verdict.outcome != "right":
                print(f"{verdict.outcome}: {verdict.name}: {verdict.detail[:400]}")
    print(table(sweeps))


if __name__ == "__main__":
    main()
