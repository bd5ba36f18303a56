"""How many operations on numbers a program takes."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, prod
from typing import Final

from adjoint.calculus.missing_rules import is_applicable
from adjoint.primitives.structure.contraction import CONTRACT, split_spec
from adjoint.primitives.structure.moving import SUM
from adjoint.primitives.structure.reductions import CUMULATIVE_SUM, MAX, MIN
from adjoint.program import Equation, Program

# They move numbers, or make them up, and compute nothing.
_MOVES: Final = frozenset(
    {
        *("broadcast", "cast", "concatenate", "conjugate", "constant", "fill", "gather"),
        *("gather_set", "imag", "iota", "last_write", "python_number", "real", "reshape"),
        *("slice", "stack", "stop_gradient", "transpose", "update", "hard", "tame", "same_as"),
    }
)
# They take n^3 operations on each n x n matrix, or n for each number that a system is solved for.
_FACTORISING: Final = frozenset(
    {
        *("adjugate", "adjugate_slope", "cholesky", "cholesky_pullback", "cholesky_pushforward"),
        *("det", "inv", "lu_factors", "slogdet", "solve"),
    }
)
_SOLVING: Final = frozenset({"solve", "solve_factored"})
_REDUCTIONS: Final = frozenset({SUM, MAX, MIN, CUMULATIVE_SUM})


def operations(equation: Equation) -> float:
    """Multiply-adds for a product, and else one operation for each number that is computed.

    A reduction takes one for each number that goes in, a factorisation of an n x n matrix n^3;
    moving numbers around takes none. What is not looked into is taken for a pass over all that goes
    in and comes out. What cannot be run, for want of a rule, takes infinitely many.
    """
    primitive = equation.primitive
    if not is_applicable(equation):
        return inf
    if primitive is CONTRACT:
        left, right, _ = split_spec(equation.params["spec"])
        shapes = (length for atom in equation.inputs for length in atom.type.shape)
        return prod(dict(zip(left + right, shapes, strict=True)).values())
    if primitive.name in _MOVES:
        return 0
    if primitive.name in _FACTORISING | _SOLVING:
        return _of_matrices(equation)
    if primitive in _REDUCTIONS:
        return equation.inputs[0].type.size
    if primitive.name in ("increment", "gather_add"):
        return equation.inputs[1].type.size
    computed = sum(variable.type.size for variable in equation.outputs)
    if primitive.opaque or primitive.multiple:
        computed += sum(atom.type.size for atom in equation.inputs)
    return computed


def _of_matrices(equation: Equation) -> int:
    matrices = equation.inputs[0].type
    count = matrices.size * matrices.shape[-1] if equation.primitive.name in _FACTORISING else 0
    if equation.primitive.name in _SOLVING:
        count += equation.outputs[0].type.size * matrices.shape[-1]
    return count


def count_operations(equations: Iterable[Equation]) -> float:
    """The operations of all these equations."""
    return sum(map(operations, equations))


def program_operations(program: Program) -> float:
    """The operations of a program."""
    return count_operations(program.equations)
