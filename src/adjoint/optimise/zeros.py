"""Zeros that need not be written twice: a fill whose only use is to have a band of it added to.

The cotangent of a slice begins as an array of zeros. Where the slice is a band of the first axis,
the band can be written and the rest set to zero, which spares reading and writing the band once.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from adjoint.optimise.plan import Plan
from adjoint.optimise.workspace import is_large
from adjoint.primitives.structure.moving import FILL
from adjoint.primitives.structure.slicing import INCREMENT
from adjoint.program import Program


def completed_fills(program: Program, plan: Plan) -> dict[int, int]:
    """For each fill, by the number of its equation, the increment that can write its zeros too."""
    uses = Counter(atom for equation in plan.equations for atom in equation.inputs)
    uses.update(program.outputs)
    fills: dict[Any, int] = {
        equation.outputs[0]: number
        for number, equation in enumerate(plan.equations)
        if equation.primitive is FILL and not equation.params["value"]
    }
    increments = {}
    for number, equation in enumerate(plan.equations):
        if equation.primitive is not INCREMENT:
            continue
        target = equation.inputs[0]
        alone = plan.takes.get(number) is target and uses[target] == 1
        if alone and target in fills and is_large(target.type) and band(equation) is not None:
            increments[fills[target]] = number
    return increments


def band(equation: Any) -> tuple[int, int] | None:
    """The rows of the first axis that an increment touches, if all of each; else None."""
    first, *rest = equation.params["index"]
    shape = equation.inputs[0].type.shape
    if any(entry != (0, length, 1) for entry, length in zip(rest, shape[1:], strict=True)):
        return None
    if isinstance(first, int):
        return first, first + 1
    start, stop, step = first
    return (start, stop) if step == 1 and start < stop else None
