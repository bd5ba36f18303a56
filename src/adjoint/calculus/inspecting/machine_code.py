"""Looking at machine code: its text, its loops, its memory, and what is left to NumPy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from adjoint.base.arrays import ArrayType
from adjoint.base.settings import settings
from adjoint.calculus.inspecting.loops import equation_lines
from adjoint.executors import LeftEquation, NativeExecutor, Needs
from adjoint.executors.attempt import conforming
from adjoint.program import Program, Variable

_MOST_RUNS: Final = 1000
_LONGEST: Final = 0.1  # seconds of runs, about, to find out the times of regions


class NativeRegion(NamedTuple):
    """A loop nest or product of machine code.

    name: what it is. equations: how many. flops: operations on numbers. bytes: of the arrays that
    it reads and writes. seconds: its share of the time of a run at the arguments given; None where
    there are none, or parts of the program are left to NumPy.
    """

    name: str
    equations: int
    flops: float
    bytes: int
    seconds: float | None


class NativeRegions(tuple[NativeRegion, ...]):
    """The regions of a program in the order in which they run; `print` shows a table."""

    __slots__ = ()

    def __str__(self) -> str:
        rows = [("region", "equations", "flops", "bytes", "time")]
        rows += [
            (
                region.name,
                str(region.equations),
                f"{region.flops:.0f}",
                str(region.bytes),
                _time(region),
            )
            for region in self
        ]
        return _table(rows)


@dataclass(frozen=True)
class MemoryReport:
    """The bytes of a program: of its arguments, its results, and what it needs while it runs.

    workspace: scratch memory, in which arrays that are not needed at the same time share places.
    stack: scratch on the stack. between: arrays handed from one piece to the next, at their most;
    zero for a program that is one piece of machine code. What NumPy takes for what is left to it
    comes on top.
    """

    inputs: int
    outputs: int
    workspace: int
    stack: int
    between: int

    def __str__(self) -> str:
        return _table([(name, str(getattr(self, name))) for name in self.__dataclass_fields__])


class NativeView:
    """The machine code of a program, to look at. `print(view)` says what became of the program.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> print(ad.program(lambda x: np.sum(x * x), np.ones(3)).native())
        one piece of machine code
    """

    def __init__(
        self,
        program: Program,
        values: Sequence[Any] | None = None,
        lines: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        chosen = settings()
        self.program = program
        self._lines = lines  # the user's, by the origin of an equation
        self._values = values
        self._needs = Needs(precise=chosen.precise, threads=chosen.threads)
        self._report = NativeExecutor().compile(program, self._needs).report()

    def ir(self) -> str:
        """The code of LLVM's virtual machine, of one piece after another."""
        return "\n".join(code.ir() for code in self._report.codes)

    def assembly(self) -> str:
        """The assembly text, of one piece after another."""
        return "\n".join(code.assembly() for code in self._report.codes)

    def regions(self) -> NativeRegions:
        """The loops, products and runs of numbers; the program is run to find out the times."""
        regions = [region for code in self._report.codes for region in code.regions]
        return NativeRegions(
            NativeRegion(region.name, region.equations, region.flops, region.bytes, seconds)
            for region, seconds in zip(regions, self._times(len(regions)), strict=True)
        )

    def places(self) -> tuple[int | str | None, ...]:
        """Where each equation of `program` is computed.

        The number of its region, in the order of `regions()`; the reason why it is left to NumPy;
        or None for one that is no work of its own, such as a transpose, which disappears into the
        indices at which others read, or that was lowered to something else.

        Example:
            >>> import numpy as np
            >>> import adjoint as ad
            >>> f = lambda x: np.partition(np.exp(x) + 1, 1) * np.sin(x)
            >>> code = ad.program(f, np.ones(1000)).native()
            >>> for equation, place in zip(code.program.equations, code.places()):
            ...     print(equation.primitive.name, place)
            exp 0
            add 0
            argpartition there is no machine code for it
            gather 1
            sin 0
            multiply 1
        """
        where: dict[Variable, int | str] = {}
        regions = [region for code in self._report.codes for region in code.regions]
        for number, region in enumerate(regions):
            where.update(dict.fromkeys(region.results, number))
        for left in self._report.left:
            where.update(dict.fromkeys(left.results, left.reason))
        return tuple(where.get(equation.outputs[0]) for equation in self.program.equations)

    def lines(self) -> tuple[str, ...]:
        """For each equation of `program` the user's line, as `file:number`, or ""."""
        return equation_lines(self.program, self._lines())

    def _times(self, count: int) -> Sequence[float | None]:
        """The seconds of each region: those of a run, divided as the regions' own counters say."""
        unknown = [None] * count
        values = self._values
        if values is None or not count:
            return unknown
        timed = NativeExecutor().compile(self.program, self._needs._replace(timed=True))
        if not timed.guarded:
            return unknown
        values = conforming(self.program.input_types, values) or values
        if timed.run(*values) is None:
            return unknown
        (code,) = timed.report().codes
        before = code.cycles()
        start = time.perf_counter()
        runs, taken = 0, 0.0
        while runs < _MOST_RUNS and taken < _LONGEST:
            timed.run(*values)
            runs, taken = runs + 1, time.perf_counter() - start
        ticks = [after - earlier for after, earlier in zip(code.cycles(), before, strict=True)]
        whole = sum(ticks)
        if not whole or len(ticks) != count:
            return unknown
        return [taken / runs * cycles / whole for cycles in ticks]

    def memory(self) -> MemoryReport:
        """What memory it takes."""
        report = self._report
        return MemoryReport(
            _bytes(self.program.input_types),
            _bytes(self.program.output_types),
            report.workspace,
            report.stack,
            report.between,
        )

    def left(self) -> tuple[LeftEquation, ...]:
        """The equations that are left to NumPy, and why."""
        return self._report.left

    def __str__(self) -> str:
        left = self.left()
        if not left and len(self._report.codes) == 1:
            return "one piece of machine code"
        pieces = len(self._report.codes)
        lines = [f"{pieces} piece{'s' * (pieces != 1)} of machine code; left to NumPy:"]
        return "\n".join(
            [*lines, *(f"  {remaining.equation}: {remaining.reason}" for remaining in left)]
        )

    def __repr__(self) -> str:
        return f"<native view: {str(self).splitlines()[0].removesuffix('; left to NumPy:')}>"


def _bytes(types: Iterable[ArrayType]) -> int:
    return sum(type_.size * type_.dtype.itemsize for type_ in types)


def _time(region: NativeRegion) -> str:
    return "" if region.seconds is None else f"{region.seconds * 1e6:.2f} µs"


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Names to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
