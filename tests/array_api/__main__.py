"""`python -m tests.array_api PATH_OF_THE_SUITE [--max-examples N] [arguments of pytest]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.array_api.running import SOURCE, run

parser = argparse.ArgumentParser(prog="python -m tests.array_api", description=run.__doc__)
parser.add_argument("suite", type=Path, help=f"a checkout of {SOURCE}, with its submodule")
parser.add_argument("--max-examples", type=int, default=100, help="of each test, 100 by default")
chosen, rest = parser.parse_known_args()
try:
    sys.exit(run(chosen.suite, chosen.max_examples, rest))
except FileNotFoundError as error:
    sys.exit(str(error))
