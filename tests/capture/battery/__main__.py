"""`python -m tests.capture.battery [--only TEXT] [--quiet]`: what every program comes to."""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict

import adjoint as ad
from tests.capture.battery.everything import TABLES
from tests.capture.battery.known import WRONG
from tests.capture.battery.observing import Outcome, wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.capture.battery", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="names that contain it")
    parser.add_argument("--mode", default="", help="one way alone")
    parser.add_argument("--reasons", action="store_true", help="what was found, and wanted")
    options = parser.parse_args()
    began, failed = time.process_time(), False
    for kind, (table, module) in TABLES.items():
        for mode in module.MODES:
            if options.mode not in ("", mode):
                continue
            found = defaultdict(list)
            names = [name for name in table if options.only in name and mode in table[name].ways]
            with ad.config(native=False, debug=True):
                for name in names:
                    try:
                        verdict = module.outcome(name, mode)
                    except AssertionError as error:
                        verdict = wrong(f"the program itself: {error}")
                    found[verdict.outcome].append((name, verdict.reason))
            counts = ", ".join(f"{len(found[each])} {each.value}" for each in Outcome)
            print(f"{kind} {mode}: {counts}", flush=True)
            for each in (Outcome.REFUSED, Outcome.WRONG):
                for name, reason in found[each]:
                    known = " (known)" if name in WRONG.get(mode, ()) else ""
                    failed |= each is Outcome.WRONG and not known
                    why = f": {reason[:200]}".replace("\n", " ") if options.reasons else ""
                    print(f"    {each.value}{known} {name}{why}")
    print(f"{time.process_time() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
