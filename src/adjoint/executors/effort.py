"""How much a program has to do, and when machine code pays."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from adjoint.loops.declared import LOOPS, SCAN
from adjoint.program import Equation, Literal, Program, held_programs

FEWEST_RUNS: Final = 4
MOST_RUNS: Final = 32
LOADING: Final = 0.1  # seconds that loading LLVM takes, about, once in a process
_CALL: Final = 1e-5  # seconds that a call takes besides what NumPy does in it
_UNROLLED: Final = 64  # numbers of an array for which code is written out, about


def runs_on_numpy(program: Program) -> int:
    """How often a program is run on NumPy before it becomes machine code.

    By then NumPy has taken an eighth of the time that compiling will take, or the program has come
    by MOST_RUNS times. The estimate depends on the program alone: so the same run of a script
    always gives the same results.
    """
    needed = _effort(program)
    runs = needed.compiling / 8 / max(needed.running, 1e-9)
    return int(min(max(runs, FEWEST_RUNS), MOST_RUNS))


def compiling_seconds(program: Program) -> float:
    """How long compiling takes, about; of nine programs in ten no more than twice as long.

    It is fitted to the programs of `benchmarks.unjitted`: three in four take less.
    """
    return _effort(program).compiling


def seconds_of_run(program: Program, rounds: int = 1) -> float:
    """How long a run on NumPy takes, about. rounds: of loops of which nobody can say how many."""
    return _CALL + _of_equations(program, rounds).running


class _Seconds(NamedTuple):
    """The seconds that NumPy takes for a program, about, and LLVM to compile it."""

    running: float
    compiling: float


def _effort(program: Program) -> _Seconds:
    running, compiling = _of_equations(program)
    return _Seconds(running, 1.2e-2 + compiling)


def _of_equations(program: Program, rounds: int = 1) -> _Seconds:
    """Of the equations of a program, and of those in the bodies of its loops and branches."""
    running = compiling = 0.0
    for equation in program.equations:
        sizes = [variable.type.size for variable in equation.outputs]
        largest = max([*sizes, *(atom.type.size for atom in equation.inputs)], default=0)
        running += 0.7e-6 + 1e-9 * sum(sizes)
        compiling += 4e-5 * (1 + min(largest, _UNROLLED))
        for body in held_programs(equation.operation):
            inner = _of_equations(body, rounds)
            running += inner.running * _rounds(equation, rounds)
            compiling += 2e-3 + inner.compiling
    return _Seconds(running, compiling)


def _rounds(equation: Equation, unknown: int) -> int:
    """How often what an equation holds is run, about. unknown: the rounds of other loops."""
    count = equation.inputs[0]
    if equation.primitive is SCAN and isinstance(count, Literal):
        rounds: Any = count.value
        return max(int(rounds), 1)
    if equation.primitive not in LOOPS:
        return 1
    return max(equation.params["length"] or 1, unknown)
