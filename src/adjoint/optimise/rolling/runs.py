"""Runs of equations with a period, found by hashes of windows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adjoint.loops.declared import SCAN
from adjoint.primitives.structure.slicing import INCREMENT, SLICE, UPDATE
from adjoint.program import Equation, Literal, Operation

# Equations that must agree to be taken for a repetition. What is repeated may repeat something
# shorter within it (the stages of a Runge-Kutta step): longer windows see past that.
WINDOWS: Final = (24, 96, 384, 1536)
INDEXED: Final = frozenset({SLICE, UPDATE, INCREMENT})
_NEARLY_ALL: Final = 0.95
_BASE: Final = 0x5851F42D4C957F2D  # odd, with bits all over
_MIXER: Final = 0x9E3779B97F4A7C15


class Run(NamedTuple):
    """Equations start, ..., stop - 1, each like the one a period later."""

    start: int
    stop: int
    period: int

    @property
    def rounds(self) -> int:
        """How many whole periods there are."""
        return (self.stop - self.start) // self.period


class Codes:
    """Numbers for equations, equal for those that may be the same in two rounds.

    They are of the same primitive and types. An index may differ from round to round, but not the
    shape of what it names, and not which axes it drops. What has been given a number keeps it.
    """

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}
        # By operation: hashing its index once per equation would be slow.
        self._heads: dict[Operation, int] = {}
        self._forms: dict[Any, int] = {}

    def of(self, equations: Iterable[Equation]) -> list[int]:
        """The numbers of equations."""
        known, heads = self._known, self._heads
        numbers = []
        for equation in equations:
            op = equation.operation
            head = heads.get(op)
            if head is None:
                head = heads[op] = self._head(op)
            atoms = [x.key if isinstance(x, Literal) else x.type for x in equation.inputs]
            if op.primitive is SCAN:
                # A loop within the loop must run equally often in all rounds; other numbers that it
                # is given may differ.
                atoms[1:] = [x.type for x in equation.inputs[1:]]
            numbers.append(known.setdefault((head, equation.derived, *atoms), len(known)))
        return numbers

    def _head(self, op: Operation) -> int:
        """A number for an operation, equal for those that differ in an index alone."""
        indexed = op.primitive in INDEXED
        form = (op.primitive, *map(_form, op.params["index"])) if indexed else op
        return self._forms.setdefault(form, len(self._forms))


def codes(equations: Iterable[Equation]) -> list[int]:
    """A number for each equation, as `Codes` gives it."""
    return Codes().of(equations)


def codes_with_makers(codes: Sequence[int], operands: Sequence[Sequence[int | None]]) -> list[int]:
    """Numbers that tell equations apart by how far back their operands are made, too.

    operands: of each equation, where its operands are made; None for what is made elsewhere. A name
    that is bound to something else every tenth round repeats every ten rounds, not every round.
    """
    known: dict[Any, int] = {}
    numbers = []
    for number, (code, makers) in enumerate(zip(codes, operands, strict=True)):
        deltas = [None if maker is None else number - maker for maker in makers]
        numbers.append(known.setdefault((code, *deltas), len(known)))
    return numbers


def _form(entry: Any) -> Any:
    """What an entry of an index has in all rounds."""
    return None if isinstance(entry, int) else (len(range(*entry)), entry[2])


def runs(codes: Sequence[int], windows: Iterable[int] = WINDOWS) -> list[Run]:
    """Runs, which may overlap: those of short periods first, and of equal ones the longest."""
    repetitions: set[Run] = set()
    for window in windows:
        repetitions.update(_runs(codes, window))
        if any(run.stop - run.start >= _NEARLY_ALL * len(codes) for run in repetitions):
            break  # one run covers nearly all equations: longer windows have little to add
    return sorted(repetitions, key=lambda run: (run.period, run.start - run.stop, run.start))


def _runs(codes: Sequence[int], window: int) -> list[Run]:
    """Runs with a period. A window is looked up by a hash."""
    count = len(codes)
    if count < 2 * window:
        return []
    before = distances(codes, window)
    bounds = [0, *(np.flatnonzero(np.diff(before)) + 1).tolist(), count]
    widest = []
    for place, stop in pairwise(bounds):
        period = int(before[place])
        if period and stop - place >= period:
            widest.append(_widest(codes, place - window + 1 - period, stop, period))
    return [run for run in widest if run is not None]


def distances(codes: Sequence[int], window: int) -> NDArray[np.int64]:
    """How far before the window that ends at a place the same window ended last; 0 for never."""
    hashes = _hashes(codes, window)
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]])
    lags = np.zeros(len(codes), np.int64)
    lags[order[same + 1] + window - 1] = order[same + 1] - order[same]
    return lags


def _hashes(codes: Sequence[int], window: int) -> NDArray[np.uint64]:
    """Hashes of all windows, modulo 2 ** 64: those of half the length, twice, and so on."""
    single = (np.asarray(codes, np.uint64) + np.uint64(1)) * np.uint64(_MIXER)
    single ^= single >> np.uint64(29)
    whole = np.zeros(len(codes) - window + 1, np.uint64)
    length, power, part, passed = 1, _BASE, single, 0
    while True:
        if window & length:  # this many codes more, after those that have been passed
            whole = whole * np.uint64(power) + part[passed : passed + len(whole)]
            passed += length
        if passed == window:
            return whole
        part = part[: len(part) - length] * np.uint64(power) + part[length:]
        length, power = 2 * length, power * power % (1 << 64)


def _widest(codes: Sequence[int], start: int, stop: int, period: int) -> Run | None:
    """The run as far as it goes; None where two windows had the same hash by chance."""
    start = max(start, 0)
    if codes[start : stop - period] != codes[start + period : stop]:
        return None
    while start and codes[start - 1] == codes[start - 1 + period]:
        start -= 1
    while stop < len(codes) and codes[stop] == codes[stop - period]:
        stop += 1
    return Run(start, stop, period)
