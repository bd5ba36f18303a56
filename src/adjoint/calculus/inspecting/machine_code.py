"""Looking at machine code: its text, its loops, its memory, and what is left to NumPy."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from adjoint.base.arrays import ArrayType
from adjoint.base.settings import settings
from adjoint.executors import NativeExecutor
from adjoint.executors.native.executor import crossing_bytes, lowering
from adjoint.primitives.calls.custom import is_users_code
from adjoint.program import Equation, Program
from adjoint.program.operation import parameter_text

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


class LeftEquation(NamedTuple):
    """An equation that NumPy runs, and why."""

    equation: str
    reason: str


class NativeView:
    """The machine code of a program, to look at. `print(view)` says what became of the program.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> print(ad.program(lambda x: np.sum(x * x), np.ones(3)).native())
        one piece of machine code
    """

    def __init__(self, program: Program, values: Sequence[Any] | None = None) -> None:
        chosen = settings()
        self.program = program
        self._values = values
        self._options = (chosen.precise, chosen.threads)
        executable = self.executable = NativeExecutor(*self._options).compile(program)
        self._pieces = (
            [piece for _, piece in executable.segments if piece is not None] if executable else []
        )

    def ir(self) -> str:
        """The code of LLVM's virtual machine, of one piece after another."""
        return "\n".join(piece.ir() for piece in self._pieces)

    def assembly(self) -> str:
        """The assembly text, of one piece after another."""
        return "\n".join(piece.assembly() for piece in self._pieces)

    def regions(self) -> NativeRegions:
        """The loops, with what they do; the program is run to find out the times."""
        regions = [region for piece in self._pieces for region in piece.regions]
        return NativeRegions(
            NativeRegion(region.name, region.equations, region.flops, region.bytes, seconds)
            for region, seconds in zip(regions, self._times(len(regions)), strict=True)
        )

    def _times(self, count: int) -> Sequence[float | None]:
        """The seconds of each region: those of a run, divided as the regions' own counters say."""
        unknown = [None] * count
        if self._values is None or self.executable is None or self.executable.piece is None:
            return unknown
        timed = NativeExecutor(*self._options, timed=True).compile(self.program)
        if timed is None or timed.piece is None or timed(*self._values) is None:
            return unknown
        native = timed.piece.native
        before = native.cycles()
        start = time.perf_counter()
        runs, taken = 0, 0.0
        while runs < _MOST_RUNS and taken < _LONGEST:
            timed(*self._values)
            runs, taken = runs + 1, time.perf_counter() - start
        ticks = [after - earlier for after, earlier in zip(native.cycles(), before, strict=True)]
        whole = sum(ticks)
        if not whole or len(ticks) != count:
            return unknown
        return [taken / runs * cycles / whole for cycles in ticks]

    def memory(self) -> MemoryReport:
        """What memory it takes."""
        segments = self.executable.segments if self.executable is not None else ()
        return MemoryReport(
            _bytes(self.program.input_types),
            _bytes(self.program.output_types),
            max((piece.workspace_bytes for piece in self._pieces), default=0),
            max((piece.stack_bytes for piece in self._pieces), default=0),
            crossing_bytes(self.program, [segment for segment, _ in segments]),
        )

    def left(self) -> tuple[LeftEquation, ...]:
        """The equations that are left to NumPy, and why."""
        if self.executable is None:
            equations: Sequence[Equation] = self.program.equations
        else:
            equations = [
                equation
                for segment, piece in self.executable.segments
                if piece is None
                for equation in segment.program.equations
            ]
        return tuple(
            LeftEquation(_text(equation), self._reason(equation)) for equation in equations
        )

    def _reason(self, equation: Equation) -> str:
        if is_users_code(equation.primitive):
            return "it calls a function that is not looked into"
        if lowering().lowerable(equation, self._options[0]):
            return "it is too little for machine code by itself"
        inner = lowering().hindrance(equation, self._options[0])
        if inner is not None:
            return f"it holds {_text(inner)}: {self._reason(inner)}"
        types = [atom.type for atom in (*equation.inputs, *equation.outputs)]
        if any(not type_.size for type_ in types):
            return "it has no numbers"
        odd = next((x for x in types if x.dtype.kind not in "biufc" or not _known(x)), None)
        if odd is not None:
            return f"there is no machine code for numbers of dtype {odd.dtype}"
        return "there is no machine code for it"

    def __str__(self) -> str:
        left = self.left()
        if not left and len(self._pieces) == 1:
            return "one piece of machine code"
        pieces = len(self._pieces)
        lines = [f"{pieces} piece{'s' * (pieces != 1)} of machine code; left to NumPy:"]
        return "\n".join(
            [*lines, *(f"  {remaining.equation}: {remaining.reason}" for remaining in left)]
        )

    def __repr__(self) -> str:
        return f"<native view: {str(self).splitlines()[0].removesuffix('; left to NumPy:')}>"


def _known(type_: ArrayType) -> bool:
    sizes = {"f": (4, 8), "c": (8, 16)}.get(type_.dtype.kind, (1, 2, 4, 8))
    return type_.dtype.isnative and type_.dtype.itemsize in sizes


def _text(equation: Equation) -> str:
    operands = ", ".join(str(atom.type) for atom in equation.inputs)
    name, params = equation.primitive.name, equation.params
    text = "" if lowering().programs_within(equation) else parameter_text(params)
    return f"{name}{text} of {operands or 'nothing'}"


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
