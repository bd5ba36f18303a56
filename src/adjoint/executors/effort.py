"""How much a program has to do, and when machine code pays."""

from __future__ import annotations

from math import ceil
from typing import Any, Final
from zlib import crc32

from adjoint.loops.declared import SCAN
from adjoint.program import Equation, Literal, Program, held_programs

FEWEST_RUNS: Final = 4
MOST_RUNS: Final = 32
LOADING: Final = 0.2  # seconds that loading LLVM takes, about, once in a process
_CALL: Final = 1e-5  # seconds that a call takes besides what NumPy does in it, at least


def runs_on_numpy(program: Program) -> int:
    """How often a program is run on NumPy before it becomes machine code.

    By then NumPy has taken an eighth of the time that compiling will take, or the program has come
    by MOST_RUNS times. The estimate depends on the program alone: so the same run of a script
    always gives the same results.
    """
    seconds, equations = _effort(program)
    compiling = 2e-2 + 3e-4 * equations
    return int(min(max(compiling / 8 / max(seconds, 1e-9), FEWEST_RUNS), MOST_RUNS))


def runs_apart(program: Program, most: int) -> int:
    """How many runs later than others a program has its turn; fewer than `most`.

    Programs that make up one call (forward, backward, questions) are hot at the same call. Apart,
    they come to machine code at different calls, each of which waits for one of them. It depends
    on the program alone, by a digest that is the same in each process.
    """
    words = [len(program.inputs), len(program.outputs), *(x.size for x in program.output_types)]
    for equation in program.equations:
        words += [equation.primitive.name, equation.outputs[0].type.size]
    return crc32(repr(words).encode()) % max(most, 1)


def compiling_seconds(program: Program) -> float:
    """How long compiling takes, about: half as long to twice as long, of nearly all programs."""
    return 2e-2 + 1e-3 * _effort(program)[1]


def runs_within(program: Program, seconds: float) -> int:
    """In how many runs on NumPy so much time has passed, for certain."""
    return ceil(seconds / (_CALL + _effort(program)[0]))


def _effort(program: Program) -> tuple[float, int]:
    """The seconds that NumPy takes, about, and the equations to be compiled, in bodies too."""
    seconds, equations = 0.0, len(program.equations)
    for equation in program.equations:
        numbers = sum(variable.type.size for variable in equation.outputs)
        seconds += 0.7e-6 + 1e-9 * numbers
        for body in held_programs(equation.operation):
            inner, count = _effort(body)
            seconds += inner * _rounds(equation)
            equations += count
    return seconds, equations


def _rounds(equation: Equation) -> int:
    """How often what an equation holds is run, about: one time where nobody can say."""
    count = equation.inputs[0]
    if equation.primitive is SCAN and isinstance(count, Literal):
        rounds: Any = count.value
        return max(int(rounds), 1)
    return equation.params.get("length") or 1
