"""`python -m tests.fuzz [--count N] [--start SEED] [--state]`: random programs.

Of primitives and of NumPy by turns; or over state, call by call.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

import numpy as np

from tests.fuzz.checks import check
from tests.fuzz.numpy_checks import check_numpy
from tests.fuzz.state_programs import check_state, choices_of
from tests.fuzz.test_fuzz import NATIVE

REPORT = 1000  # programs between two lines


def numbers_of(seed: int) -> list[int]:
    """The choices that make the program of a seed."""
    generator = np.random.default_rng(seed)
    return generator.integers(0, 2**16, int(generator.integers(4, 48))).tolist()


def checked(seed: int, native: int = NATIVE, state: bool = False) -> bool:
    """Hold the program of a seed to the reference: primitives where it is even, else NumPy.

    state: instead, a program over state.
    """
    if state:
        return check_state(choices_of(seed), seed, seed % native == 0)
    point, odd = divmod(seed, 2)
    return (check_numpy if odd else check)(numbers_of(seed), point, point % native == 0)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, metavar="N")
    parser.add_argument("--start", type=int, default=0, metavar="SEED", help="of the first program")
    parser.add_argument("--native", type=int, default=NATIVE, help="machine code of one in so many")
    parser.add_argument("--state", action="store_true", help="programs over state instead")
    options = parser.parse_args()
    began, empty = time.process_time(), 0
    failures: Counter[str] = Counter()
    for number, seed in enumerate(range(options.start, options.start + options.count)):
        if number and number % REPORT == 0:
            print(f"{number} programs, {failures.total()} failures", flush=True)
        try:
            empty += not checked(seed, options.native, options.state)
        except Exception as error:  # every failure is counted, and the run goes on
            kind = f"{type(error).__name__}: {error}".partition("\n")[0][:160]
            failures[kind] += 1
            print(f"seed {seed}: {kind}", flush=True)
    taken = time.process_time() - began
    print(f"{options.count} programs in {taken:.0f} s, {empty} without a result to compare")
    for kind, count in failures.most_common():
        print(f"{count} x {kind}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
