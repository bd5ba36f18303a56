"""Even powers of square roots: they have the derivatives of what is under the root, also at 0."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np

from adjoint.primitives.declaration import UFUNCS
from adjoint.primitives.elementwise.arithmetic import (
    INTEGER_POWER,
    MULTIPLY,
    SQUARE,
    integer_power,
)
from adjoint.primitives.elementwise.conversion import IMAG, REAL
from adjoint.primitives.elementwise.kinks import ABSOLUTE
from adjoint.primitives.elementwise.smooth import ROOT_OF_SQUARES, SQRT
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.identities import same_as
from adjoint.program import Equation, Program, Variable
from adjoint.transforms.recognition.rewriting import Makers, Replacement, Rewriting

ROOTS: Final = frozenset({SQRT, ROOT_OF_SQUARES, ABSOLUTE, UFUNCS[np.hypot]})
POWERS: Final = frozenset({MULTIPLY, SQUARE, INTEGER_POWER})


def powers_of_roots(program: Program) -> dict[Equation, Replacement]:
    """What even powers of square roots are replaced by."""
    numbers = _numbered(program)
    makers = Makers(program)
    replacements: dict[Equation, Replacement] = {}
    for equation in program.equations:
        if not _is_even_power(equation, numbers):
            continue
        root, _ = makers.maker(equation.inputs[0])
        if root is not None and root.primitive in ROOTS:
            norm, power = root.outputs[0].type, equation.outputs[0].type
            if norm.dtype.kind == "f" and norm.shape == power.shape:
                replacements[equation] = partial(_without_root, equation, root)
    return replacements


def _is_even_power(equation: Equation, numbers: dict[Variable, int]) -> bool:
    if equation.primitive is INTEGER_POWER:
        return equation.params["exponent"] in range(2, 100, 2)
    if equation.primitive is MULTIPLY:
        left, right = (
            numbers[atom] if isinstance(atom, Variable) else None for atom in equation.inputs
        )
        return left is not None and left == right
    return equation.primitive is SQUARE


def _numbered(program: Program) -> dict[Variable, int]:
    """A number for each value, the same for those that are computed in the same way."""
    numbers: dict[Variable, int] = {variable: n for n, variable in enumerate(program.inputs)}
    known: dict[Any, int] = {}
    for equation in program.equations:
        operands = tuple(
            numbers[a] if isinstance(a, Variable) else ("literal", a.key) for a in equation.inputs
        )
        for place, variable in enumerate(equation.outputs):
            key = (equation.operation, operands, place)
            numbers[variable] = known.setdefault(key, len(program.inputs) + len(known))
    return numbers


def _without_root(equation: Equation, root: Equation, rewriting: Rewriting) -> Expression:
    """The value of an even power of a root, with the derivatives of a power of what is under it."""
    under = _under(root, [*map(rewriting.expression, root.inputs)])
    half = equation.params.get("exponent", 2) // 2
    value = rewriting.expression(equation.outputs[0])
    return same_as(value, integer_power(under, half))  # type: ignore[no-any-return]


def _under(root: Equation, operands: list[Expression]) -> Expression:
    """What is under a root, as an expression of the root's operands."""
    if root.primitive in (SQRT, ROOT_OF_SQUARES):
        return operands[0]
    if root.primitive is ABSOLUTE and operands[0].dtype.kind == "c":
        operands = [bind(REAL, operands[0]), bind(IMAG, operands[0])]
    first, *others = (np.square(operand) for operand in operands)
    total: Expression = sum(others, first)
    return total
