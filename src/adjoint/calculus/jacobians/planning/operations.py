"""How many operations on numbers a program takes."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, prod
from typing import Final

from adjoint.calculus.custom.missing_rules import is_applicable
from adjoint.primitives.calls.custom import CONSTANT
from adjoint.primitives.elementwise.conversion import (
    CAST,
    CONJUGATE,
    IMAG,
    PYTHON_NUMBER,
    REAL,
    STOP_GRADIENT,
)
from adjoint.primitives.hardness import HARD, TAME
from adjoint.primitives.identities import SAME_AS
from adjoint.primitives.linear_algebra.cholesky import (
    CHOLESKY,
    CHOLESKY_PULLBACK,
    CHOLESKY_PUSHFORWARD,
)
from adjoint.primitives.linear_algebra.determinants import ADJUGATE, ADJUGATE_SLOPE, DET, SLOGDET
from adjoint.primitives.linear_algebra.systems import INV, LU_FACTORS, SOLVE, SOLVE_FACTORED
from adjoint.primitives.linear_algebra.triangular import SOLVE_TRIANGULAR
from adjoint.primitives.structure.contraction import CONTRACT, split_spec
from adjoint.primitives.structure.gathering import GATHER, GATHER_ADD, GATHER_SET, IOTA, LAST_WRITE
from adjoint.primitives.structure.moving import BROADCAST, FILL, RESHAPE, SUM, TRANSPOSE
from adjoint.primitives.structure.reductions import CUMULATIVE_SUM, MAX, MIN
from adjoint.primitives.structure.slicing import CONCATENATE, INCREMENT, SLICE, STACK, UPDATE
from adjoint.program import Equation, Program

# They move numbers, or make them up, and compute nothing.
_MOVES: Final = frozenset(
    {
        *(BROADCAST, CAST, CONCATENATE, CONJUGATE, CONSTANT, FILL, GATHER, GATHER_SET, IMAG),
        *(IOTA, LAST_WRITE, PYTHON_NUMBER, REAL, RESHAPE, SLICE, STACK, STOP_GRADIENT),
        *(TRANSPOSE, UPDATE, HARD, TAME, SAME_AS),
    }
)
# They take n^3 operations on each n x n matrix, or n for each number that a system is solved for.
_FACTORISING: Final = frozenset(
    {
        *(ADJUGATE, ADJUGATE_SLOPE, CHOLESKY, CHOLESKY_PULLBACK, CHOLESKY_PUSHFORWARD),
        *(DET, INV, LU_FACTORS, SLOGDET, SOLVE),
    }
)
_SOLVING: Final = frozenset({SOLVE, SOLVE_FACTORED, SOLVE_TRIANGULAR})
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
    if primitive in _MOVES:
        return 0
    if primitive in _FACTORISING | _SOLVING:
        return _of_matrices(equation)
    if primitive in _REDUCTIONS:
        return equation.inputs[0].type.size
    if primitive in (INCREMENT, GATHER_ADD):
        return equation.inputs[1].type.size
    computed = sum(variable.type.size for variable in equation.outputs)
    if primitive.opaque or primitive.multiple:
        computed += sum(atom.type.size for atom in equation.inputs)
    return computed


def _of_matrices(equation: Equation) -> int:
    matrices = equation.inputs[0].type
    count = matrices.size * matrices.shape[-1] if equation.primitive in _FACTORISING else 0
    if equation.primitive in _SOLVING:
        count += equation.outputs[0].type.size * matrices.shape[-1]
    return count


def count_operations(equations: Iterable[Equation]) -> float:
    """The operations of all these equations."""
    return sum(map(operations, equations))


def program_operations(program: Program) -> float:
    """The operations of a program."""
    return count_operations(program.equations)
