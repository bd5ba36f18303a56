"""All functions of a package, judged and counted."""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from typing import NamedTuple

from tests.packages.collecting import COLLECTIONS
from tests.packages.judging import Verdict, judged

OUTCOMES = ("right", "refused", "late", "nan", "crash", "wrong")


class Sweep(NamedTuple):
    """The verdicts on the functions of a package that were suited."""

    package: str
    verdicts: list[Verdict]

    @property
    def counts(self) -> dict[str, int]:
        """How many functions came out how."""
        counted = Counter(verdict.outcome for verdict in self.verdicts)
        return {outcome: counted[outcome] for outcome in OUTCOMES}


def sweep(package: str, most: int | None = None) -> Sweep:
    """Judge the functions of a package; at most so many that are suited."""
    verdicts: list[Verdict] = []
    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function, points in COLLECTIONS[package](package):
            verdict = judged(name, function, points)
            if verdict is not None:
                verdicts.append(verdict)
            if len(verdicts) == most:
                break
    logging.disable(logging.NOTSET)
    return Sweep(package, verdicts)


def table(sweeps: list[Sweep]) -> str:
    """The counts, one row for each package."""
    rows = [f"{'package':16}{'tried':>8}" + "".join(f"{outcome:>9}" for outcome in OUTCOMES)]
    for package, verdicts in sweeps:
        counts = Sweep(package, verdicts).counts.values()
        rows.append(f"{package:16}{len(verdicts):8}" + "".join(f"{count:9}" for count in counts))
    return "\n".join(rows)
