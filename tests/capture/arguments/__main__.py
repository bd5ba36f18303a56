"""The long sweep: `python -m tests.capture.arguments [limit] [names ...]`."""

from __future__ import annotations

import sys
import time
from collections import Counter

import adjoint as ad
from tests.capture.arguments import indexing, outputs, ufuncs
from tests.capture.arguments.checking import check_derivative, check_known, check_value
from tests.capture.arguments.grid import GRID, METHODS, method_rows, rows_of
from tests.capture.arguments.refusals import is_expected


def main(limit: int, names: list[str]) -> int:
    """Run the sweep; the number of rows that disagree with NumPy."""
    counts: Counter[str] = Counter()
    start = time.perf_counter()
    every = [(name, rows_of(name, limit)) for name in GRID]
    every += [(f".{name}", method_rows(name, limit)) for name in METHODS]
    every += [("ufuncs", ufuncs.rows()), ("indices", indexing.rows())]
    every += [("outputs", outputs.rows(max(1, limit // 100)))] if not names else []
    for name, rows in every:
        if names and name not in names:
            continue
        for number, row in enumerate(rows):
            counts["rows"] += 1
            said, expected = check_value(row)
            if not said and not isinstance(expected, Exception):
                said = check_derivative(row, expected)
                counts["derivatives"] += 1
                if not said and number % 3 == 0:
                    said = check_known(row)
                    said = said and f"KNOWN {said}"
            counts["raise"] += isinstance(expected, Exception)
            counts["refused"] += bool(said) and is_expected(said)
            if said and not is_expected(said):
                counts["disagree"] += 1
                print(f"{row}   ## {said[:260]}", flush=True)
    print(dict(counts), f"{time.perf_counter() - start:.0f} s")
    return counts["disagree"]


if __name__ == "__main__":
    with ad.config(native=False):
        given = sys.argv[1:]
        number = int(given[0]) if given else 400
        sys.exit(min(main(number, given[1:]), 1))
