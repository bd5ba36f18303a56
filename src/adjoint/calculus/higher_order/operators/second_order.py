"""Second-order operators Σ aᵢⱼ ∂ᵢ∂ⱼ + Σ bᵢ ∂ᵢ, whose coefficients may depend on the point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from adjoint.base.signatures.calling import named
from adjoint.base.signatures.derived import core, derived
from adjoint.calculus.first_order.stopping import stop_gradient
from adjoint.calculus.higher_order.operators.frames import DirectionForm, DirectionFrame, Family
from adjoint.calculus.higher_order.operators.laplacian import (
    applied,
    check_inexact,
    one_later,
    real_arguments,
)
from adjoint.calculus.higher_order.operators.programs import OperatorKind
from adjoint.calculus.inputs.arguments import Argnums, Chosen, check_argnums, check_callable
from adjoint.calculus.inputs.leaves import matching_leaves
from adjoint.calculus.jit.replay import replay, way_of
from adjoint.capture import Traced, is_known, traced_type, unwrap
from adjoint.pipeline import prepare, run

_NAME = "second_order_operator"


@named
def second_order_operator(
    function: Callable[..., Any],
    coefficients: Any = None,
    drift: Any = None,
    factor: Any = None,
    argnums: Argnums = 0,
) -> Callable[..., Any]:
    """The function L f = Σ aᵢⱼ ∂ᵢ∂ⱼ f + Σ bᵢ ∂ᵢ f, of the same arguments as f.

    A is written as a sum of ± s sᵀ, and the second derivatives along the vectors s are added up as
    they are computed (see `laplacian`): a matrix of rank r takes r directions, whatever its signs.
    The generator of the process dX = b dt + σ dW has the factor S = σ / √2, for A = S Sᵀ.

    Args:
        function: f, plain NumPy code. Of a value that is an array, or a pytree, the operator is
            taken entry by entry.
        coefficients: A, a matrix in the entries of the arguments, shape (n, n) or
            `x.shape + x.shape`, of which only the symmetric part counts; or its diagonal, an array
            of the shape of x. Or a function that gives it at the arguments of f.
        drift: b, of the structure and shapes of the argument, or a function that gives it.
        factor: instead of A, a matrix S with A = S Sᵀ, shape (n, m) or `x.shape + (m,)`, or a
            function that gives it.
        argnums: with respect to which arguments. Of several, or of pytrees, all entries are
            numbered one after another.

    Returns:
        A function that returns L f, in the structure and shapes of the value.

    Raises:
        NotDifferentiableError: an argument is not real and floating-point, or the value holds
            integers or booleans.
        ShapeError, DTypeError, ArgumentTypeError: coefficients, drift or factor do not fit the
            arguments.
        ArgumentError: both coefficients and factor are given, or nothing at all; coefficients that
            are not finite; or `argnums` names an argument that the call does not have.

    Example:
        The wave operator, and the generator of an Ornstein-Uhlenbeck process:

        >>> import numpy as np
        >>> import adjoint as ad
        >>> wave = lambda x: np.sin(x[0] - 2 * x[1])
        >>> operator = ad.second_order_operator(wave, np.array([-4.0, 1.0]))
        >>> abs(float(operator(np.array([0.3, 0.7])))) < 1e-12
        True
        >>> generator = ad.second_order_operator(
        ...     lambda x: np.sum(x**2), drift=lambda x: -x, factor=np.eye(2)
        ... )
        >>> float(generator(np.array([1.0, 2.0])))
        -6.0
    """
    check_callable(function, _NAME)
    check_argnums(argnums)
    if coefficients is not None and factor is not None:
        raise ArgumentError(
            f"{_NAME} takes coefficients A, or a factor S with A = S S', and not both."
        )
    if coefficients is None and factor is None and drift is None:
        raise ArgumentError(
            f"{_NAME} takes coefficients, a factor or a drift, and was given none of them."
        )
    given = (coefficients, drift, factor)
    # Functions of the point are evaluated at each: what they depend on is not noted.
    way = None if any(map(callable, given)) else way_of(_NAME, one_later(argnums))

    def compute(function: Any, given: Any, *args: Any, **kwargs: Any) -> Any:
        chosen = real_arguments(argnums, args, kwargs, _NAME)
        named_given = zip(("coefficients", "drift", "factor"), given, strict=True)
        matrix, along, root = (_at(value, chosen, name) for name, value in named_given)
        frame = _frame(chosen, matrix, root)
        drifting = [] if along is None else matching_leaves(chosen.point, along, "drift")
        captured = chosen.capture(function)
        check_inexact(captured, _NAME)
        kind = OperatorKind(_NAME, len(chosen.leaves), frame.families, drift=bool(drifting))
        results = applied(function, chosen, captured, frame, kind, drifting)
        return pytrees.unflatten(captured.treedef, results)

    origin, function = function, core(function)

    def operator_of(*args: Any, **kwargs: Any) -> Any:
        return replay(way, function, compute, (given, *args), kwargs)

    options = {
        "coefficients": coefficients,
        "drift": drift,
        "factor": factor,
        "argnums": argnums,
    }
    return derived(operator_of, second_order_operator, origin, options)


def _at(value: Any, chosen: Chosen, name: str) -> Any:
    """A coefficient, or what a function gives for it at the arguments."""
    if not callable(value):
        return value
    captured = chosen.capture(value)
    if not captured.outputs:  # as of one that forgot to return
        raise ArgumentTypeError(
            f"{name} is a function that returns {pytrees.structure_text(captured.treedef)}; "
            "expected arrays."
        )
    compiled = prepare(("value",), captured, _itself, chosen.recapture, value)
    results = run(compiled, [*chosen.leaves, *captured.constants])
    return pytrees.unflatten(captured.treedef, results)


def _itself(program: Any, kind: Any) -> Any:
    return program, (), None


# --- directions of which the second derivatives add up --------------------------------------------


def _frame(chosen: Chosen, matrix: Any, root: Any) -> DirectionFrame:
    """The directions of coefficients, or of a factor of theirs."""
    if matrix is None and root is None:
        return DirectionFrame((), [])
    shapes = [type_.shape for type_ in chosen.types]
    size = sum(map(prod, shapes))
    if matrix is None:
        columns = _checked(root, chosen, "factor")
        shape = columns.shape
        if shape[:-1] != (size,) and (len(shapes) != 1 or shape[:-1] != shapes[0]):
            _refuse("factor", shape, f"({size}, m)", shapes, "m")
        rows = np.transpose(np.reshape(columns, (size, shape[-1])))
        return DirectionFrame((Family(DirectionForm.GIVEN, shape[-1]),), _split(rows, chosen))
    matrix = _checked(matrix, chosen, "coefficients")
    traced = type(matrix) is Traced
    if len(shapes) == 1 and matrix.shape == shapes[0]:
        return _of_numbers(chosen, matrix, traced)
    if matrix.shape != (size, size) and (len(shapes) != 1 or matrix.shape != shapes[0] * 2):
        _refuse("coefficients", matrix.shape, f"({size}, {size})", shapes, None)
    square = np.reshape(matrix, (size, size))
    square = (square + np.transpose(square)) / 2
    return _of_unknown(chosen, square, size) if traced else _of_matrix(chosen, square, size)


def _checked(value: Any, chosen: Chosen, name: str) -> Any:
    """An array of real numbers, as precise as the arguments: traced, or NumPy's own and finite."""
    if type(value) is Traced and is_known(value):
        value = unwrap(value)
    if type(value) is not Traced:
        try:
            value = np.asarray(value)
        except (TypeError, ValueError):
            value = np.asarray(None)
        if value.dtype.kind not in "iuf":
            raise DTypeError(f"{name} must be an array of real numbers, got dtype {value.dtype}.")
        if not np.all(np.isfinite(value)):
            raise ArgumentError(f"{name} must be finite: it holds NaN or infinity.")
    elif traced_type(value).dtype.kind not in "iuf":
        raise DTypeError(f"{name} must be an array of real numbers, got {traced_type(value)}.")
    own = (type_.dtype for type_ in chosen.types)  # roots of what is less precise would show
    return value.astype(np.result_type(traced_type(value).dtype, np.float32, *own))


def _refuse(name: str, shape: Any, wanted: str, shapes: Sequence[Any], last: str | None) -> None:
    text = f"{name} has shape {shape}; expected {wanted}"
    if len(shapes) == 1:
        own = ", ".join(map(str, shapes[0] if last else shapes[0] * 2))
        text += f", or ({own}{', ' if own and last else ''}{last or ''})"
        text += "" if last else f", or {shapes[0]} for a diagonal"
    raise ShapeError(f"{text}, for arguments with {sum(map(prod, shapes))} entries.")


def _split(rows: Any, chosen: Chosen) -> list[Any]:
    """Stacks of flat vectors, as stacks for each argument."""
    arrays, start = [], 0
    for type_ in chosen.types:
        part = rows[:, start : start + type_.size]
        arrays.append(np.reshape(part, (rows.shape[0], *type_.shape)).astype(type_.dtype))
        start += type_.size
    return arrays


def _of_matrix(chosen: Chosen, square: Any, size: int) -> DirectionFrame:
    """A known matrix, by its eigenvectors: as many directions as its rank.

    It is A = D B D with powers of 2 in D, and entries of B of about 1 at most, whose eigenvectors v
    give A = Σ λ Dv (Dv)ᵀ: so a coefficient that is small beside others is not taken for their
    rounding errors.
    """
    most = np.max(np.abs(square), axis=1, initial=0)
    roots = np.exp2(np.rint(np.log2(np.where(most > 0, most, 1)) / 2))
    values, vectors = np.linalg.eigh(square / roots[:, None] / roots)
    rounding = size * np.finfo(values.dtype).eps * np.max(np.abs(values), initial=0)
    families: list[Family] = []
    arrays: list[Any] = []
    for sign in (1, -1):
        kept = sign * values > rounding
        if np.any(kept):
            rows = (vectors[:, kept] * np.sqrt(sign * values[kept])).T * roots
            families.append(Family(DirectionForm.GIVEN, len(rows), sign))
            arrays += _split(rows, chosen)
    return DirectionFrame(tuple(families), arrays)


def _of_unknown(chosen: Chosen, square: Any, size: int) -> DirectionFrame:
    """A matrix that is differentiated, or not known yet: eigenvectors may not have derivatives.

    Σ aᵢⱼ ∂ᵢ∂ⱼ f = Σᵢ ∂²f[eᵢ, A eᵢ], and 4 ∂²f[u, v] = ∂²f[u + v, u + v] - ∂²f[u - v, u - v], where
    u = sᵢ eᵢ and v = A eᵢ / sᵢ are about as long, so that little cancels.
    """
    scale = _about(np.max(np.abs(square), axis=1, initial=0))[:, None]
    unit = np.eye(size) * scale
    families = (Family(DirectionForm.GIVEN, size, 1), Family(DirectionForm.GIVEN, size, -1))
    arrays = [
        array for sign in (1, -1) for array in _split((unit + sign * square / scale) / 2, chosen)
    ]
    return DirectionFrame(families, arrays)


def _of_numbers(chosen: Chosen, diagonal: Any, traced: bool) -> DirectionFrame:
    """A diagonal, of which no other entry is multiplied."""
    dtype = chosen.types[0].dtype
    if traced:
        scale = _about(diagonal)
        parts = [(scale + sign * diagonal / scale) / 2 for sign in (1, -1)]
    else:
        parts = [np.sqrt(np.maximum(sign * diagonal, 0)) for sign in (1, -1)]
    signed = [
        (part, sign) for part, sign in zip(parts, (1, -1), strict=True) if traced or np.any(part)
    ]
    families = tuple(Family(DirectionForm.SCALED, sign=sign) for _, sign in signed)
    return DirectionFrame(
        families,
        [
            np.asarray(part).astype(dtype) if not traced else part.astype(dtype)
            for part, _ in signed
        ],
    )


def _about(sizes: Any) -> Any:
    """The square roots of how large numbers are, or 1 where they are 0: constants."""
    still = np.abs(stop_gradient(sizes))
    return np.sqrt(np.where(still > 0, still, 1.0))
