"""Which equations are functions of matrices that NumPy has ufuncs for, and what these are to do.

They are eigenvalues and eigenvectors, singular values, Q and R, and solutions by least squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import array_type
from adjoint.executors.native.machine.matrices import lengths_of, matrix_loop
from adjoint.executors.native.rows.plan import LeastSquaresRoutine, MatrixRoutine
from adjoint.primitives.elementwise.conversion import CAST
from adjoint.primitives.linear_algebra.least_squares import LSTSQ
from adjoint.primitives.linear_algebra.orthogonal import QR
from adjoint.primitives.linear_algebra.spectra.eigen import EIGH, EIGVALSH
from adjoint.primitives.linear_algebra.spectra.eigen_general import EIG, EIGVALS
from adjoint.primitives.linear_algebra.spectra.singular_values import SVD, SVDVALS
from adjoint.program import Atom, Equation, Variable, operation

ALL: Final = frozenset({EIG, EIGH, EIGVALS, EIGVALSH, LSTSQ, QR, SVD, SVDVALS})
_GENERAL: Final = frozenset({EIG, EIGVALS})  # matrices without symmetry
_WORK: Final = 25.0  # additions for each number and each row, about


def is_callable(equation: Equation) -> bool:
    """Whether this process has the function."""
    symbols = _symbol(equation), _factor(equation)
    return None not in symbols and not any(atom.type.weak for atom in equation.inputs)


def converted(equation: Equation) -> list[Equation]:
    """The equation between casts: NumPy computes in double precision."""
    before: list[Equation] = []
    after: list[Equation] = []
    taken = _taken(equation)
    inputs: list[Atom] = []
    for atom in equation.inputs:
        inputs.append(atom)
        if atom.type.dtype != taken:
            wide = Variable(array_type(atom.type.shape, taken))
            before.append(Equation(operation(CAST, dtype=taken), (atom,), (wide,)))
            inputs[-1] = wide
    own: list[Variable] = []
    for output in equation.outputs[:3]:
        dtype = np.dtype("D" if output.type.dtype.kind == "c" else "d")
        own.append(output)
        if output.type.dtype != dtype:
            own[-1] = Variable(array_type(output.type.shape, dtype))
            after.append(_cast(equation, own[-1], output))
    # The singular values with signs begin as those without.
    after += [_cast(equation, own[1], output) for output in equation.outputs[3:]]
    same = Equation(equation.operation, inputs, own, equation.origin, equation.derived)
    return [*before, same, *after]


def _cast(equation: Equation, atom: Atom, output: Variable) -> Equation:
    cast = operation(CAST, dtype=output.type.dtype)
    return Equation(cast, (atom,), (output,), equation.origin, equation.derived)


def routine_of(
    equation: Equation, strides: Sequence[Sequence[int]]
) -> MatrixRoutine | LeastSquaresRoutine:
    """The routine of a converted equation. strides: of its operands, for each axis."""
    type_ = equation.inputs[0].type
    if equation.primitive is LSTSQ:
        return _least_squares(equation, strides)
    results = [output.type for output in equation.outputs]
    return MatrixRoutine(
        symbol=_symbol(equation) or "",
        factor=_factor(equation) or None,
        lengths=lengths_of(_name(equation), *type_.shape[-2:]),
        batch=type_.shape[:-2],
        dtype=type_.dtype,
        operand=tuple(step * type_.dtype.itemsize for step in strides[0]),
        dtypes=tuple(result.dtype for result in results),
        shapes=tuple(result.shape[type_.ndim - 2 :] for result in results),
        values=int(equation.primitive is SVD),
        finite=equation.primitive in _GENERAL,
    )


def _least_squares(equation: Equation, strides: Sequence[Sequence[int]]) -> LeastSquaresRoutine:
    a, b = [atom.type for atom in equation.inputs]
    result, cutoff = equation.outputs[0].type, equation.params["rcond"]
    lead = result.shape[:-2]
    if cutoff is None:  # NumPy computes in double precision
        cutoff = float(np.finfo(float).eps) * max(a.shape[-2:])
    steps = []
    for own in strides:
        fill = (0,) * (len(lead) + 2 - len(own))
        steps.append(tuple(step * result.dtype.itemsize for step in (*fill, *own)))
    lengths = lengths_of("lstsq", a.shape[-2], a.shape[-1], b.shape[-1])
    symbol = _symbol(equation) or ""
    return LeastSquaresRoutine(symbol, lengths, lead, result.dtype, (steps[0], steps[1]), cutoff)


def flops_of(equation: Equation) -> float:
    """About how many additions an equation takes as long as."""
    shape = equation.inputs[0].type.shape
    return _WORK * prod(shape) * min(shape[-2:])


def _taken(equation: Equation) -> np.dtype[Any]:
    kinds = [atom.type.dtype.kind for atom in equation.inputs]
    return np.dtype("D" if "c" in kinds else "d")


def _name(equation: Equation) -> str:
    """The name of NumPy's ufunc."""
    params = equation.params
    if equation.primitive is LSTSQ:
        return "lstsq"
    if equation.primitive is SVDVALS:
        return "svd"
    if equation.primitive is SVD:
        return "svd_f" if params["full"] else "svd_s"
    if equation.primitive is QR:
        rows, columns = equation.inputs[0].type.shape[-2:]
        return "qr_complete" if params["complete"] and rows > columns else "qr_reduced"
    name = str(equation.primitive.name)
    if equation.primitive in _GENERAL:
        return name
    return f"{name}_{'lo' if params['lower'] else 'up'}"


def _symbol(equation: Equation) -> str | None:
    return matrix_loop(_name(equation), _taken(equation).char)


def _factor(equation: Equation) -> str | None:
    """The symbol of what goes before; an empty one where nothing does."""
    return matrix_loop("qr_r_raw", _taken(equation).char) if equation.primitive is QR else ""
