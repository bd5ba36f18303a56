"""Which equations are routines on square matrices, and what these are to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from adjoint.base.arrays import array_type
from adjoint.executors.native.systems import lapack
from adjoint.executors.native.systems.plan import LARGEST, WRITTEN_OUT, SquareSystem, Strides
from adjoint.primitives.elementwise.conversion import CAST
from adjoint.primitives.linear_algebra.cholesky import (
    CHOLESKY,
    CHOLESKY_PULLBACK,
    CHOLESKY_PUSHFORWARD,
)
from adjoint.primitives.linear_algebra.determinants import ADJUGATE, ADJUGATE_SLOPE, DET, SLOGDET
from adjoint.primitives.linear_algebra.systems import INV, LU_FACTORS, SOLVE, SOLVE_FACTORED
from adjoint.primitives.linear_algebra.triangular import ADJOINT, PLAIN, SOLVE_TRIANGULAR
from adjoint.program import Atom, Equation, Variable, operation

LARGEST_SLOPE: Final = 192  # rows of Cholesky factors whose derivatives are machine code
ADJUGATE_LIMIT: Final = 1e3  # as `adjugate` has it
SYSTEMS: Final = frozenset(
    {ADJUGATE, ADJUGATE_SLOPE, CHOLESKY, DET, INV, LU_FACTORS, SLOGDET, SOLVE}
)
SOLVING: Final = frozenset({SOLVE, SOLVE_FACTORED, SOLVE_TRIANGULAR})
ALL: Final = SYSTEMS | SOLVING
CHOLESKY_SLOPES: Final = frozenset({CHOLESKY_PULLBACK, CHOLESKY_PUSHFORWARD})
ROUTINES: Final = ALL | CHOLESKY_SLOPES


def converted(equation: Equation) -> list[Equation]:
    """The equation, after casts of its operands to the dtype in which it computes."""
    dtype = equation.outputs[0].type.dtype
    casts, inputs = [], []
    for number, atom in enumerate(equation.inputs):
        if atom.type.dtype != dtype and number != _pivots(equation) and atom in used(equation):
            given, atom = atom, Variable(array_type(atom.type.shape, dtype))
            casts.append(Equation(operation(CAST, dtype=dtype), (given,), (atom,)))
        inputs.append(atom)
    op, outputs = equation.operation, equation.outputs
    return [*casts, Equation(op, inputs, outputs, equation.origin, equation.derived)]


def is_supported(equation: Equation) -> bool:
    """Whether the matrices are small enough for code that is better than calls of LAPACK."""
    largest = WRITTEN_OUT if equation.primitive is ADJUGATE_SLOPE else LARGEST
    return _matrix(equation).type.shape[-1] <= largest


def is_callable(equation: Equation) -> bool:
    """Whether there is code, of our own or of LAPACK, which within loops is better than NumPy.

    Derivatives of large Cholesky factors take NumPy fewer operations, and those of adjugates
    are written for small matrices alone.
    """
    size, columns = _matrix(equation).type.shape[-1], equation.outputs[0].type.shape[-1:]
    primitive = equation.primitive
    if primitive is ADJUGATE_SLOPE or size <= LARGEST:
        return is_supported(equation)
    if primitive in CHOLESKY_SLOPES and size > LARGEST_SLOPE:
        return False
    dtype = equation.outputs[0].type.dtype.str[1:]
    return max((size, *columns)) < 2**31 and lapack.is_there(dtype)


def is_there(equation: Equation) -> bool:
    """Whether there is code for a linear system whose matrix is the last operand."""
    size, dtype = equation.inputs[-1].type.shape[-1], equation.outputs[0].type.dtype
    return size <= LARGEST or lapack.is_there(dtype.str[1:])


def used(equation: Equation) -> tuple[Variable, ...]:
    """The operands that the routine reads: the matrix, or else its factors; the right-hand side."""
    inputs: Any = equation.inputs
    if equation.primitive is ADJUGATE:
        return tuple(inputs[:1])
    return tuple(inputs[1:]) if _is_factored(equation) else tuple(inputs)


def system_of(equation: Equation, strides: Sequence[tuple[int, ...]]) -> SquareSystem:
    """The routine of an equation. strides: of the operands that it reads, for each axis."""
    primitive, params = equation.primitive, equation.params
    trans = params.get("trans", ADJOINT if params.get("adjoint") else PLAIN)
    result = equation.outputs[0].type
    size = _matrix(equation).type.shape[-1]
    solves = primitive in SOLVING
    rank = result.ndim if primitive in (DET, SLOGDET) else result.ndim - 2
    batch = result.shape[:rank]
    kept = [axis for axis, length in enumerate(batch) if length != 1]
    place, operands = _pivots(equation), []
    pivots = None if place is None else equation.inputs[place]
    for atom, steps in zip(used(equation), strides, strict=True):
        own = 1 if atom is pivots else 2
        lead = atom.type.ndim - own
        along = [steps[axis - rank + lead] if axis >= rank - lead else 0 for axis in kept]
        operands.append(Strides(tuple(along), *steps[lead:]))
    return SquareSystem(
        operation=primitive.name,
        dtype=result.dtype,
        size=size,
        columns=result.shape[-1] if solves else 0,
        batch=tuple(batch[axis] for axis in kept),
        operands=tuple(operands),
        factored=primitive is not ADJUGATE and _is_factored(equation),
        turned=trans != PLAIN,
        conjugated=trans == ADJOINT,
        lower=params.get("lower", True),
        unit=params.get("unit", False),
        checked=params.get("check_finite", False),
        limit=ADJUGATE_LIMIT if primitive is ADJUGATE else params.get("limit"),
    )


def flops_of(equation: Equation) -> float:
    """Additions and multiplications together, about."""
    strides = [(0,) * atom.type.ndim for atom in used(equation)]
    return float(system_of(equation, strides).flops)


def _matrix(equation: Equation) -> Atom:
    return equation.inputs[0]


def _pivots(equation: Equation) -> int | None:
    """Which operand has the pivots, one axis of them for each matrix."""
    return 2 if _is_factored(equation) else None


def _is_factored(equation: Equation) -> bool:
    if equation.primitive is SOLVE_FACTORED:
        return True
    return (
        equation.primitive not in (SOLVE, CHOLESKY, SOLVE_TRIANGULAR, ADJUGATE_SLOPE)
        and len(equation.inputs) > 1
    )
