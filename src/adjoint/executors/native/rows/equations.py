"""Which equations are functions along an axis that NumPy has, and what these are to do."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import array_type
from adjoint.executors.native.machine.fourier import fourier_loop, loop_dtypes
from adjoint.executors.native.machine.orders import argsort_function
from adjoint.executors.native.rows.plan import RowRoutine, Side
from adjoint.primitives.elementwise.conversion import CAST
from adjoint.primitives.structure.fourier import FFT, IRFFT, RFFT
from adjoint.primitives.structure.sorting import ARGSORT
from adjoint.program import Equation, Variable, operation

ALL: Final = frozenset({ARGSORT, FFT, IRFFT, RFFT})
_KIND_OF_LETTER: Final = {"q": "quicksort", "s": "stable", "m": "stable"}


def is_callable(equation: Equation) -> bool:
    """Whether this process has the function."""
    if equation.inputs[0].type.weak:
        return False
    if equation.primitive is ARGSORT:
        return _order(equation) is not None
    loop, given = _loop(equation), equation.inputs[0].type.dtype
    # A factor of single precision, in a loop of double, would be computed in double here.
    return bool(loop) and (_is_plain(equation) or _precision(loop[0]) == _precision(given))


def converted(equation: Equation) -> list[Equation]:
    """The equation between casts, to the dtypes that the function takes and gives."""
    (atom,), (output,) = equation.inputs, equation.outputs
    if equation.primitive is ARGSORT:
        return [equation]
    taken, _, given = _loop(equation)
    before: list[Equation] = []
    after: list[Equation] = []
    result = output
    if atom.type.dtype != taken:
        narrow, atom = atom, Variable(array_type(atom.type.shape, taken))
        before = [Equation(operation(CAST, dtype=taken), (narrow,), (atom,))]
    if output.type.dtype != given:
        result = Variable(array_type(output.type.shape, given))
        cast = operation(CAST, dtype=output.type.dtype)
        after = [Equation(cast, (result,), (output,), equation.origin, equation.derived)]
    same = Equation(equation.operation, (atom,), (result,), equation.origin, equation.derived)
    return [*before, same, *after]


def routine_of(equation: Equation, strides: Sequence[int]) -> RowRoutine:
    """The routine of a converted equation. strides: of its operand, for each axis."""
    operand, result = equation.inputs[0].type, equation.outputs[0].type
    axis = equation.params["axis"]
    own = [prod(result.shape[n + 1 :]) for n in range(result.ndim)]
    others = [n for n, length in enumerate(result.shape) if n != axis and length != 1]
    read, written = (
        Side(type_.dtype, type_.shape[axis], steps[axis], tuple(steps[n] for n in others))
        for type_, steps in ((operand, strides), (result, own))
    )
    batch, name = tuple(result.shape[n] for n in others), equation.primitive.name
    if equation.primitive is ARGSORT:
        return RowRoutine(name, _order(equation) or "", batch, read, written)
    symbol = fourier_loop(_name(equation), operand.dtype) or ""
    inner = equation.params.get("inner", 1.0)
    return RowRoutine(name, symbol, batch, read, written, _factor(equation), inner)


def flops_of(equation: Equation) -> float:
    """About how many additions an equation takes as long as."""
    return routine_of(equation, (0,) * equation.inputs[0].type.ndim).flops


# --- sorting --------------------------------------------------------------------------------------


def _order(equation: Equation) -> str | None:
    """The symbol of the function for the kind of sorting that NumPy chooses."""
    kind = _sorting(dict(equation.params["given"]))
    return None if kind is None else argsort_function(equation.inputs[0].type.dtype, kind)


def _sorting(given: dict[str, Any]) -> str | None:
    if not given:
        return "quicksort"
    if set(given) == {"stable"}:
        return "stable" if given["stable"] else "quicksort"
    kind = given.get("kind")
    if set(given) == {"kind"} and isinstance(kind, str):
        return _KIND_OF_LETTER.get(kind[:1].lower())
    return None


# --- Fourier transforms ---------------------------------------------------------------------------


def _name(equation: Equation) -> str:
    """The name of NumPy's ufunc."""
    params = equation.params
    if equation.primitive is FFT:
        return "ifft" if params["inverse"] else "fft"
    if equation.primitive is IRFFT:
        return "irfft"
    odd = equation.inputs[0].type.shape[params["axis"]] % 2
    return "rfft_n_odd" if odd else "rfft_n_even"


def _loop(equation: Equation) -> tuple[np.dtype[Any], ...]:
    """The dtypes of the loop that NumPy chooses."""
    dtype, result = equation.inputs[0].type.dtype, equation.outputs[0].type.dtype
    return loop_dtypes(_name(equation), dtype, result, _is_plain(equation))


def _precision(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.zeros(0, dtype).real.dtype


def _is_plain(equation: Equation) -> bool:
    """Whether NumPy multiplies by Python's 1."""
    inverse = equation.primitive is IRFFT or bool(equation.params.get("inverse", False))
    return str(equation.params["norm"]) == ("forward" if inverse else "backward")


def _factor(equation: Equation) -> float:
    """What NumPy multiplies by, in the precision in which it computes it."""
    if _is_plain(equation):
        return 1.0
    n = equation.params.get("n", equation.inputs[0].type.shape[equation.params["axis"]])
    real = _precision(equation.outputs[0].type.dtype)
    if equation.params["norm"] == "ortho":
        return float(np.reciprocal(np.sqrt(n, dtype=real)))
    return float(np.reciprocal(n, dtype=real))
