"""The whole sweep: `python -m tests.capture.shapes [share [start]] [text in the call ...]`."""

from __future__ import annotations

import sys
import time
from collections import Counter

import adjoint as ad
from tests.capture.shapes.checking import check
from tests.capture.shapes.grid import rows
from tests.capture.shapes.refusals import is_expected


def main(share: int, first: int, texts: list[str]) -> int:
    """Check one row in so many, and say what differs; the number of rows that do."""
    counts: Counter[str] = Counter()
    start = time.perf_counter()
    for row in rows()[first::share]:
        if texts and not any(text in row[0] for text in texts):
            continue
        kind, said = check(row)
        if said and is_expected(row, said):
            kind = f"{kind}, as listed"
        elif said:
            text = " ".join(said.split())[:300]
            print(f"{kind} | {row[0]} | {row[1]} | {text}", flush=True)
        counts[kind] += 1
    print(sum(counts.values()), dict(counts), f"{time.perf_counter() - start:.0f} s")
    return counts["differs"] + counts["derivative"] + counts["refused"]


if __name__ == "__main__":
    with ad.config(native=False):
        numbers = [int(each) for each in sys.argv[1:3] if each.isdigit()]
        share, first = (*numbers, 1, 0)[:2] if len(numbers) != 1 else (numbers[0], 0)
        sys.exit(min(main(share, first, sys.argv[1 + len(numbers) :]), 1))
