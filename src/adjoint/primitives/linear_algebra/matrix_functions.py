"""Functions of square matrices, such as exp, log and the square root, and Sylvester's equation.

The derivative of a function f of a matrix A in a direction E stands in the corner of
f([[A, E], [0, A]]), and that of order k in the corner of a matrix of 2^k blocks, so one primitive
is closed under differentiation. Sources: R. Mathias, "A chain rule for matrix functions and
applications" (1996), and N. Higham, "Functions of Matrices" (2008), sections 3.1 and 3.2.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import DegenerateError, LinearAlgebraError, ShapeError
from adjoint.primitives.declaration import Each, Primitive
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.linear_algebra.systems import adjoint, matrix_dtype, multiply, square_shape
from adjoint.primitives.samples import Fixed, draw, sample, square
from adjoint.primitives.structure.moving import align_batch, broadcast_to, sum_to
from adjoint.primitives.typing_rules import broadcast_shape


def _type(*types: ArrayType, function: str) -> ArrayType:
    lead = broadcast_shape(function, *(square_shape(function, type_) for type_ in types))
    if len({type_.shape[-1] for type_ in types}) > 1:
        raise ShapeError(f"{function}: matrices of several sizes: {[t.shape for t in types]}.")
    return array_type((*lead, *types[0].shape[-2:]), matrix_dtype(function, *types))


def _dtype(*arrays: Any) -> np.dtype[Any]:
    """Single or double precision, as SciPy computes."""
    dtype = np.result_type(*arrays, np.float32)
    return dtype if dtype.char in "fdFD" else np.dtype(complex if dtype.kind == "c" else float)


def _blocks(matrix: Any, directions: Any) -> Any:
    for number, direction in enumerate(directions):
        corner = np.kron(np.eye(2**number), direction)
        matrix = np.block([[matrix, corner], [np.zeros_like(matrix), matrix]])
    return matrix


_CUT = frozenset({"sqrtm", "logm"})  # along the negative axis
_NEAR_THE_CUT = 1e-6
_OF_REALS = " of reals"  # the complex root or logarithm that SciPy gives real numbers


def _evaluate(*operands: Any, function: str) -> Any:
    dtype = _dtype(*operands)
    arrays = np.broadcast_arrays(*(np.asarray(operand, dtype) for operand in operands))
    size = arrays[0].shape[-1]
    compute = _meaning(function)
    function = function.removesuffix(_OF_REALS)
    values = np.empty(arrays[0].shape, dtype)
    for place in np.ndindex(arrays[0].shape[:-2]):
        matrix, *directions = (array[place] for array in arrays)
        with _regular(function if directions else ""):
            if directions and function in _CUT:
                value = _on_one_branch(function, compute, matrix, directions)
            else:
                value = compute(_blocks(matrix, directions))[:size, -size:]
        values[place] = _real_enough(value, function) if dtype.kind != "c" else value
    return values


def _meaning(function: str) -> Callable[..., Any]:
    """SciPy's function. Given complex numbers that are real, it may take the cut's other side."""
    compute: Callable[..., Any] = getattr(
        import_module("scipy.linalg"), function.removesuffix(_OF_REALS)
    )
    return (lambda matrix: compute(matrix.real)) if function.endswith(_OF_REALS) else compute


def _on_one_branch(function: str, compute: Any, matrix: Any, directions: Any) -> Any:
    """A derivative, where eigenvalues may lie on the cut, to one or the other side by rounding.

    The copies of the matrix in the blocks must take the side that the matrix alone takes: the cut
    is turned away from it, by half the angle to the next eigenvalue.
    """
    whole, size = _blocks(matrix, directions), matrix.shape[-1]
    scipys = _meaning(function)
    distances = np.pi - np.abs(np.angle(np.linalg.eigvals(matrix)))
    if matrix.dtype.kind != "c" or not (distances < _NEAR_THE_CUT).any():
        return scipys(whole)[:size, -size:]
    value = compute(matrix)
    angle = np.min(distances, where=distances >= _NEAR_THE_CUT, initial=1.0) / 2
    for turn in (angle, -angle):
        turned = np.asarray(scipys(np.exp(-1j * turn) * whole))
        if function == "logm":
            turned = turned + 1j * turn * np.eye(len(whole))
        else:
            turned = np.exp(0.5j * turn) * turned
        if np.allclose(turned[:size, :size], value, rtol=1e-6):
            return turned[:size, -size:]
    raise DegenerateError(
        f"scipy.linalg.{function} has no derivative here: eigenvalues lie on both sides of the "
        "negative axis, on which it jumps, and nearer to it than 1e-6."
    )


@contextmanager
def _regular(function: str) -> Iterator[None]:
    """DegenerateError where SciPy warns of a singular matrix of which a derivative is taken."""
    if function not in _CUT:
        yield
        return
    singular = import_module("scipy.linalg").LinAlgWarning
    with warnings.catch_warnings():
        warnings.simplefilter("error", singular)
        try:
            yield
        except singular as error:
            raise DegenerateError(
                f"scipy.linalg.{function} has no derivative at a singular matrix: its slope is "
                f"infinite there ({error})."
            ) from None


def _real_enough(value: Any, function: str) -> Any:
    if np.iscomplexobj(value):
        size = np.max(np.abs(value), initial=0.0)
        if np.max(np.abs(value.imag), initial=0.0) > 1e-7 * size or not np.isfinite(size):
            raise LinearAlgebraError(
                f"scipy.linalg.{function} of this real matrix is not real, or does not exist: it "
                "has eigenvalues on the negative axis. Pass A.astype(complex)."
            )
        return value.real
    return value


def _derivative(tangents: Any, operands: Any, results: Any, function: str) -> Any:
    dtype, total = results[0].dtype, None
    for place, tangent in enumerate(tangents):
        if tangent is None:
            continue
        tangent = cast(tangent, dtype)
        # In the matrix: one direction more. In a direction: that one replaced.
        whole = [*operands, tangent]
        if place:
            whole = [*operands[:place], tangent, *operands[place + 1 :]]
        term = broadcast_to(matrix_function(function, *whole), results[0].shape)
        total = term if total is None else total + term
    return (total,)


def _transpose(cotangents: Any, operands: Any, function: str) -> Any:
    (cotangent,) = cotangents
    pulled: list[Any] = [None] * len(operands)
    (place,) = (n for n, operand in enumerate(operands) if not isinstance(operand, Expression))
    # tr(W^H f(A; E)) = tr(f(A; W^H) E), at A itself: on its cut, f(A^H) is not f(A)^H.
    others = [adjoint(cotangent) if n == place else operand for n, operand in enumerate(operands)]
    back = adjoint(matrix_function(function, *others))
    pulled[place] = cast(sum_to(back, operands[place].shape), operands[place].dtype)
    return tuple(pulled)


def _batch(operands: Any, batched: Any, size: int, function: str) -> Any:
    return matrix_function(function, *align_batch(operands, batched))


MATRIX_FUNCTION = Primitive(
    "matrix_function",
    infer=_type,
    evaluate=_evaluate,
    linear=Each(frozenset(range(1, 8))),
    derivative=_derivative,
    transpose=_transpose,
    batch=_batch,
    samples=(
        sample(draw(2, 2, low=-0.6, high=0.6), function="expm", order=2),
        sample(square(2, 2), function="sqrtm", order=2),
        sample(square(2, 2), draw(2, 2), function="logm", order=2),
        sample(draw(2, 2, low=-0.6, high=0.6, dtype=complex), function="expm", order=2),
        sample(draw(2, 2, 2, low=-0.6, high=0.6), draw(2, 2), function="sinm", order=2),
        sample(Fixed([[2.0, 0.5], [0.3, -1.0]]), draw(2, 2), function="signm", order=2),
    ),
)


def matrix_function(function: str, *operands: Any) -> Any:
    """f(A), or with directions E_1, ..., E_k its k-th derivative in them."""
    return bind(MATRIX_FUNCTION, *operands, function=function)


# --- the equation A X + X B = Q -------------------------------------------------------------------


def _sylvester_type(a: ArrayType, b: ArrayType, q: ArrayType) -> ArrayType:
    leads = [square_shape("solve_sylvester", type_) for type_ in (a, b)]
    if q.shape[-2:] != (a.shape[-1], b.shape[-1]):
        raise ShapeError(f"solve_sylvester: shapes {a.shape}, {b.shape}, {q.shape} do not fit.")
    lead = broadcast_shape("solve_sylvester", *leads, q.shape[:-2])
    return array_type((*lead, *q.shape[-2:]), matrix_dtype("solve_sylvester", a, b, q))


def _sylvester_evaluate(a: Any, b: Any, q: Any) -> Any:
    dtype = _dtype(a, b, q)
    solve: Callable[..., Any] = import_module("scipy.linalg").solve_sylvester
    lead = np.broadcast_shapes(np.shape(a)[:-2], np.shape(b)[:-2], np.shape(q)[:-2])
    a, b, q = (np.broadcast_to(matrix, (*lead, *np.shape(matrix)[-2:])) for matrix in (a, b, q))
    solutions = np.empty(q.shape, dtype)
    for place in np.ndindex(lead):
        solutions[place] = solve(a[place], b[place], q[place])
    return solutions


def _sylvester_derivative(tangents: Any, operands: Any, results: Any) -> Any:
    """A dX + dX B = dQ - dA X - X dB."""
    (a, b, _), (x,) = operands, results
    d_a, d_b, d_q = (None if tangent is None else cast(tangent, x.dtype) for tangent in tangents)
    right = None if d_q is None else broadcast_to(d_q, x.shape)
    for term in (
        None if d_a is None else multiply(d_a, x),
        None if d_b is None else multiply(x, d_b),
    ):
        if term is not None:
            right = -term if right is None else right - term
    return (bind(SYLVESTER, a, b, right),)


def _sylvester_transpose(cotangents: Any, operands: Any) -> Any:
    a, b, q = operands
    pulled = bind(SYLVESTER, adjoint(a), adjoint(b), cotangents[0])
    return None, None, cast(sum_to(pulled, q.shape), q.dtype)


SYLVESTER: Primitive = Primitive(
    "sylvester",
    infer=_sylvester_type,
    evaluate=_sylvester_evaluate,
    linear=Each(frozenset({2})),
    derivative=_sylvester_derivative,
    transpose=_sylvester_transpose,
    batch=lambda operands, batched, size: bind(SYLVESTER, *align_batch(operands, batched)),
    samples=(
        sample(square(3, 3), square(2, 2), draw(3, 2)),
        sample(square(2, 2, dtype=complex), square(2, 2, dtype=complex), draw(2, 2, dtype=complex)),
    ),
)
