"""How much a program has to do, and when machine code pays."""

from __future__ import annotations

from typing import Final

from adjoint.program import Program, held_programs

FEWEST_RUNS: Final = 4
MOST_RUNS: Final = 32


def runs_on_numpy(program: Program) -> int:
    """How often a program is run on NumPy before it becomes machine code.

    By then NumPy has taken an eighth of the time that compiling will take, or the program has come
    by MOST_RUNS times. The estimate depends on the program alone: so the same run of a script
    always gives the same results.
    """
    seconds, equations = _effort(program)
    compiling = 2e-2 + 3e-4 * equations
    return int(min(max(compiling / 8 / max(seconds, 1e-9), FEWEST_RUNS), MOST_RUNS))


def _effort(program: Program) -> tuple[float, int]:
    """The seconds that NumPy takes, about, and the equations to be compiled, in bodies too."""
    seconds, equations = 0.0, len(program.equations)
    for equation in program.equations:
        numbers = sum(variable.type.size for variable in equation.outputs)
        seconds += 0.7e-6 + 1e-9 * numbers
        for body in held_programs(equation.operation):
            inner, count = _effort(body)
            seconds += inner * (equation.params.get("length") or 1)
            equations += count
    return seconds, equations
