"""Which equations cannot be run, or not transposed, for want of a rule that only a user can give.

`ad.primitive` with a VJP rule alone, and `ad.linear` without a transpose, have one direction.
"""

from __future__ import annotations

from collections.abc import Callable

from adjoint.base.errors import MissingRuleError
from adjoint.optimise.simplify import eliminate_dead_code
from adjoint.primitives.calls.custom import CUSTOM_LINEAR
from adjoint.primitives.calls.linear import LINEAR_CALL
from adjoint.program import Equation, Program, held_programs


def is_applicable(equation: Equation) -> bool:
    """Whether there are rules to run it by, and the programs that it holds."""
    params = equation.params
    if equation.primitive is CUSTOM_LINEAR:
        return bool(params["function"].applicable)
    if equation.primitive is LINEAR_CALL:
        return not params["transposed"] or params["function"].transpose is not None
    held = held_programs(equation.operation)
    return all(is_applicable(inner) for program in held for inner in program.equations)


def is_transposable(equation: Equation) -> bool:
    """Whether its transpose, where it is linear, can be run."""
    if equation.primitive is LINEAR_CALL:
        return equation.params["transposed"] or equation.params["function"].transpose is not None
    return True


def possible(make: Callable[[], Program]) -> Program | None:
    """A derived program without dead code; None if a rule is missing to derive it or to run it."""
    try:
        program = eliminate_dead_code(make())
    except MissingRuleError:
        return None
    return program if all(map(is_applicable, program.equations)) else None
