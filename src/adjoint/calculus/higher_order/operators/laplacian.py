"""Laplacians, in any inner product, and with the value and the gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from adjoint.base import pytrees
from adjoint.base.errors import NotDifferentiableError
from adjoint.base.signatures.calling import named
from adjoint.base.signatures.derived import Parameters, Result, core, derived
from adjoint.calculus.higher_order.operators.frames import DirectionFrame, frame_of
from adjoint.calculus.higher_order.operators.programs import OperatorKind, operator_program
from adjoint.calculus.inputs.arguments import (
    Argnums,
    Chosen,
    check_argnums,
    check_callable,
    refuse_gradient,
)
from adjoint.calculus.jit.replay import replay, replays, way_of
from adjoint.calculus.second_order.products import check_flat
from adjoint.capture import Captured, with_cells
from adjoint.pipeline import prepare, run
from adjoint.spaces import Space


def real_arguments(argnums: Argnums, args: Any, kwargs: Any, name: str) -> Chosen:
    """The arguments chosen; NotDifferentiableError where they are not real."""
    chosen = Chosen(argnums, args, kwargs)
    for number, type_ in enumerate(chosen.types):
        if type_.dtype.kind != "f":
            raise NotDifferentiableError(
                f"{name} was asked with respect to {chosen.path(number)}, which is {type_}; it is "
                "defined for real floating-point arrays. Write the function of the real and the "
                "imaginary part."
            )
    return chosen


def one_later(argnums: Argnums) -> Argnums:
    """The places of arguments with one more before them."""
    if isinstance(argnums, (tuple, list)):
        return [number + (number >= 0) for number in argnums]
    return argnums + (argnums >= 0)  # type: ignore[operator]


def check_inexact(captured: Captured, name: str) -> None:
    """NotDifferentiableError where a result is of integers or truth values."""
    for type_ in captured.output_types:
        if not type_.inexact:
            raise NotDifferentiableError(
                f"{name} was asked of a function whose value is {type_}; integers and booleans "
                "carry no derivative."
            )


def applied(
    function: Any,
    chosen: Chosen,
    captured: Captured,
    frame: DirectionFrame,
    kind: OperatorKind,
    drift: Sequence[Any] = (),
) -> Sequence[Any]:
    """The results of an operator's program."""
    compiled = prepare(kind, captured, operator_program, chosen.recapture, function)
    return run(compiled, [*chosen.leaves, *captured.constants, *frame.arrays, *drift])


def in_space(chosen: Chosen, space: Space | None) -> DirectionFrame:
    """An orthonormal basis of the space of the arguments, which must be in it."""
    if space is not None:
        space.check(chosen.point, "the argument")
    return frame_of(space, chosen.types)


@named
def laplacian(
    function: Callable[Parameters, Result],
    argnums: Argnums = 0,
    space: Space | None = None,
) -> Callable[Parameters, Result]:
    """The Laplacian Δf = div ∇f of a function, as a function of the same arguments.

    It is the trace of G⁻¹ ∂²f(x), where G is the Gram matrix of the inner product: the sum of the
    second derivatives along the vectors of an orthonormal basis. They are never computed one by
    one: value, slopes and the sum are carried through the function together (collapsed Taylor mode,
    the forward Laplacian), which takes about as long as evaluating it at d + 2 points. What is done
    entry by entry, or for each particle alone, multiplies no zeros.

    Args:
        function: plain NumPy code. Of a value that is an array, or a pytree, it is taken entry by
            entry.
        argnums: which positional argument, or arguments. Each may be a pytree; all their real
            entries count.
        space: the inner-product space of the arguments; Euclidean if not given. With several
            argnums, a `Product` of a tuple. Under an inner product that depends on the point this
            would need a connection, and is refused.

    Returns:
        A function that returns the Laplacian, in the structure and shapes of the value.

    Raises:
        NotDifferentiableError: an argument is not real and floating-point, or the value holds
            integers or booleans.
        MembershipError: an argument that is not in the space.
        ArgumentError: `argnums` names an argument that the call does not have.
        ArgumentTypeError: it is no function, or the space is none with one inner product.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> f = lambda x: np.sum(x**3)
        >>> float(ad.laplacian(f)(np.array([1.0, 2.0])))
        18.0

        Under the inner product 4 x₁ y₁ + 9 x₂ y₂, whose orthonormal basis is e₁/2, e₂/3:

        >>> from adjoint.spaces import Euclidean, Weighted
        >>> space = Weighted(Euclidean(2), np.array([4.0, 9.0]))
        >>> round(float(ad.laplacian(f, space=space)(np.array([1.0, 2.0]))), 6)
        2.833333
    """
    power: Callable[Parameters, Result] = _power(function, argnums, space, laplacian, 1)
    return power


@named
def biharmonic(
    function: Callable[Parameters, Result],
    argnums: Argnums = 0,
    space: Space | None = None,
) -> Callable[Parameters, Result]:
    """The biharmonic operator Δ²f, the Laplacian of the Laplacian.

    The program of the Laplacian is carried through collapsed Taylor mode once more, at the cost of
    about (d + 2)² evaluations; fourth derivatives along d² directions would take four times that,
    and cancel.

    Args:
        function: plain NumPy code, as of `laplacian`.
        argnums: which positional argument, or arguments.
        space: the inner-product space of the arguments; Euclidean if not given.

    Returns:
        A function that returns Δ²f, in the structure and shapes of the value.

    Raises:
        NotDifferentiableError: an argument is not real and floating-point, or the value holds
            integers or booleans.
        MembershipError: an argument that is not in the space.
        ArgumentError: `argnums` names an argument that the call does not have.
        ArgumentTypeError: it is no function, or the space is none with one inner product.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> f = lambda x: x[0] ** 2 * x[1] ** 2
        >>> float(ad.biharmonic(f)(np.array([1.0, 2.0])))
        8.0
    """
    power: Callable[Parameters, Result] = _power(function, argnums, space, biharmonic, 2)
    return power


def _power(function: Any, argnums: Argnums, space: Space | None, operator: Any, times: int) -> Any:
    """A power of the Laplacian."""
    name = operator.__name__
    check_callable(function, name)
    check_argnums(argnums)
    check_flat(space, "space")
    way = way_of(name, argnums) if replays(space) else None

    def compute(function: Any, *args: Any, **kwargs: Any) -> Any:
        chosen = real_arguments(argnums, args, kwargs, name)
        frame = in_space(chosen, space)
        captured = chosen.capture(function)
        check_inexact(captured, name)
        kind = OperatorKind(name, len(chosen.leaves), frame.families, times=times)
        return pytrees.unflatten(captured.treedef, applied(function, chosen, captured, frame, kind))

    origin, function = function, core(function)

    def power_of(*args: Any, **kwargs: Any) -> Any:
        return replay(way, function, compute, args, kwargs, space)

    return derived(power_of, operator, origin, {"argnums": argnums, "space": space})


@named
def value_grad_laplacian(
    function: Callable[..., Any],
    argnums: Argnums = 0,
    space: Space | None = None,
) -> Callable[..., tuple[Any, Any, Any]]:
    """The value, the gradient and the Laplacian together, for the cost of the Laplacian alone.

    The local energy of a wave function takes all of log|ψ|, ∇ log|ψ| and Δ log|ψ|, and so does the
    residual of a differential equation of u, ∇u and Δu.

    Args:
        function: plain NumPy code; its value a real scalar.
        argnums: which positional argument, or arguments.
        space: the inner-product space of the arguments, of both gradient and Laplacian; Euclidean
            if not given.

    Returns:
        A function that returns `(value, gradient, laplacian)`.

    Raises:
        NotDifferentiableError: an argument is not real and floating-point, or the value is not a
            real scalar.
        MembershipError: an argument that is not in the space.
        ArgumentError: `argnums` names an argument that the call does not have.
        ArgumentTypeError: it is no function, or the space is none with one inner product.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> log_psi = lambda r: -np.sqrt(np.sum(r**2))  # the hydrogen atom
        >>> r = np.array([1.0, 2.0, 2.0])
        >>> value, gradient, laplacian = ad.value_grad_laplacian(log_psi)(r)
        >>> round(float(-0.5 * (laplacian + gradient @ gradient) - 1 / 3), 12)
        -0.5
    """
    name = "value_grad_laplacian"
    check_callable(function, name)
    check_argnums(argnums)
    check_flat(space, "space")
    way = way_of(name, argnums) if replays(space) else None

    def compute(function: Any, *args: Any, **kwargs: Any) -> Any:
        chosen = real_arguments(argnums, args, kwargs, name)
        frame = in_space(chosen, space)
        captured = chosen.capture(function)
        if captured.treedef is not None or len(captured.outputs) != 1:
            _refuse_tree(captured)
        type_ = captured.output_types[0]
        if type_.ndim or type_.dtype.kind != "f":
            refuse_gradient(type_, name)
        kind = OperatorKind(name, len(chosen.leaves), frame.families, gradient=True)
        first, *slopes, last = applied(function, chosen, captured, frame, kind)
        (value,) = with_cells([first], captured.cells)
        return value, chosen.unflatten(slopes), last

    origin, function = function, core(function)

    def value_grad_laplacian_of(*args: Any, **kwargs: Any) -> Any:
        return replay(way, function, compute, args, kwargs, space)

    options = {"argnums": argnums, "space": space}
    return derived(value_grad_laplacian_of, value_grad_laplacian, origin, options)


def _refuse_tree(captured: Captured) -> NoReturn:
    raise NotDifferentiableError(
        "value_grad_laplacian was asked of a function that returns "
        f"{pytrees.structure_text(captured.treedef)}, not a real scalar. ad.laplacian takes "
        "each entry of others."
    )
