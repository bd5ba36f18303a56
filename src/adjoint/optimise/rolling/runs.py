"""Runs of equations with a period, found by a rolling hash."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from adjoint.loops.declared import SCAN
from adjoint.primitives.structure.slicing import INCREMENT, SLICE, UPDATE
from adjoint.program import Equation, Literal

# Equations that must agree to be taken for a repetition. What is repeated may repeat something
# shorter within it (the stages of a Runge-Kutta step): longer windows see past that.
WINDOWS: Final = (24, 96, 384, 1536)
INDEXED: Final = frozenset({SLICE, UPDATE, INCREMENT})
_NEARLY_ALL: Final = 0.95
_BASE: Final = 1_000_003
_MODULUS: Final = (1 << 61) - 1


class Run(NamedTuple):
    """Equations start, ..., stop - 1, each like the one a period later."""

    start: int
    stop: int
    period: int

    @property
    def rounds(self) -> int:
        """How many whole periods there are."""
        return (self.stop - self.start) // self.period


def codes(equations: Sequence[Equation]) -> list[int]:
    """A number for each equation, equal for those that may be the same in two rounds.

    They are of the same primitive and types. An index may differ from round to round, but not the
    shape of what it names, and not which axes it drops.
    """
    known: dict[Any, int] = {}
    heads: dict[Any, Any] = {}  # by operation: hashing its index once per equation would be slow
    numbers = []
    for equation in equations:
        op = equation.operation
        head = heads.get(op)
        if head is None:
            if op.primitive in INDEXED:
                head = (op.primitive, *(_form(entry) for entry in op.params["index"]))
            else:
                head = op
            heads[op] = head
        atoms = [x.key if isinstance(x, Literal) else x.type for x in equation.inputs]
        if op.primitive is SCAN:
            # A loop within the loop must run equally often in all rounds; other numbers that it is
            # given may differ.
            atoms[1:] = [x.type for x in equation.inputs[1:]]
        numbers.append(known.setdefault((head, equation.derived, *atoms), len(known)))
    return numbers


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
    """Runs with a period. A window is looked up by a rolling hash."""
    count = len(codes)
    if count < 2 * window:
        return []
    top = pow(_BASE, window - 1, _MODULUS)
    seen: dict[int, int] = {}
    value = 0
    distances = [0] * count
    for place, code in enumerate(codes):
        if place >= window:
            value = (value - (codes[place - window] + 1) * top) % _MODULUS
        value = (value * _BASE + code + 1) % _MODULUS
        if place >= window - 1:
            before = seen.get(value)
            distances[place] = 0 if before is None else place - before
            seen[value] = place
    widest = []
    place = 0
    while place < count:
        period = distances[place]
        stop = place + 1
        while stop < count and distances[stop] == period:
            stop += 1
        if period and stop - place >= period:
            widest.append(_widest(codes, place - window + 1 - period, stop, period))
        place = stop
    return [run for run in widest if run is not None]


def _widest(codes: Sequence[int], start: int, stop: int, period: int) -> Run | None:
    """The run as far as it goes; None where two windows had the same hash by chance."""
    start = max(start, 0)
    if any(codes[i] != codes[i + period] for i in range(start, stop - period)):
        return None
    while start and codes[start - 1] == codes[start - 1 + period]:
        start -= 1
    while stop < len(codes) and codes[stop] == codes[stop - period]:
        stop += 1
    return Run(start, stop, period)
