"""`python -m benchmarks.gradbench [--check [EVAL ...]] [--cores N]`."""

from __future__ import annotations

import argparse
import sys

from benchmarks.cores import keep_to


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gradbench", description=__doc__)
    parser.add_argument(
        "--check", nargs="*", metavar="EVAL", help="hold functions against references, or all"
    )
    parser.add_argument("--cores", type=int, default=1, metavar="N", help="to compute on (1)")
    options = parser.parse_args()
    keep_to(options.cores)
    # Only now: what is imported here starts threads.
    if options.check is not None:
        from benchmarks.gradbench.check import report

        return report(options.check)
    from benchmarks.gradbench.protocol import serve

    serve(sys.stdin, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
