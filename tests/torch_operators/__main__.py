"""`python -m tests.torch_operators [NAME ...] [--dtype DTYPE] [--verbose]`: counts."""

from __future__ import annotations

import argparse
from collections import Counter

from tests.torch_operators.comparing import compare, operators
from tests.torch_operators.operators import COUNTERPARTS

parser = argparse.ArgumentParser(
    prog="python -m tests.torch_operators", description=compare.__doc__
)
parser.add_argument(
    "names", nargs="*", help="torch's names, with their variant after '|'; all by default"
)
parser.add_argument("--dtype", choices=("float64", "complex128"), action="append")
parser.add_argument("--verbose", action="store_true", help="each disagreement, not one an operator")
chosen = parser.parse_args()
table = operators()
for dtype in chosen.dtype or ("float64", "complex128"):
    total: Counter[str] = Counter()
    several: Counter[str] = Counter()
    for name in chosen.names or COUNTERPARTS:
        if name not in table:
            print(f"{name}: not in this torch")
            continue
        found = compare(name, dtype, table[name])
        total += found.counts
        several["operators"] += bool(found.counts)
        for texts in (found.disagreements, found.skipped):
            for text in texts[: None if chosen.verbose else 1]:
                print(f"{text}\n  ({len(texts)} of this operator)", flush=True)
    print(f"\n{dtype}: {several['operators']} operators")
    for what, count in sorted(total.items()):
        print(f"  {what}: {count}")
