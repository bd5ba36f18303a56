"""Gradients: the Riesz representative of a differential (E.1.37), by reverse mode.

Of one number, by forward mode where there is a loop: the same number, without a tape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Literal, overload

from adjoint.base import pytrees
from adjoint.base.errors import ArgumentTypeError, NotDifferentiableError
from adjoint.base.signatures.calling import named
from adjoint.base.signatures.checked import check_flag
from adjoint.base.signatures.derived import Auxiliary, First, Parameters, Result, core, derived
from adjoint.calculus.custom.missing_rules import possible
from adjoint.calculus.inputs.arguments import (
    Argnums,
    Chosen,
    check_argnums,
    check_callable,
    refuse_gradient,
)
from adjoint.calculus.inputs.representation import check_space, represent, space_of
from adjoint.calculus.jit.captures import captured_at
from adjoint.calculus.jit.replay import replay, replays, way_of
from adjoint.capture import Captured, with_cells
from adjoint.loops import LOOPS
from adjoint.pipeline import prepare, run
from adjoint.primitives.calls.custom import CUSTOM_LINEAR
from adjoint.program import Builder, Program, all_equations
from adjoint.program import Literal as Constant
from adjoint.spaces import Covector, Space, TangentBundle
from adjoint.transforms import jvp, vjp
from adjoint.transforms.jvp import tangent_type


def gradient_program(program: Program, inputs: int, aux: int) -> Program:
    """inputs -> (value, auxiliary outputs, cotangents of the first `inputs` inputs).

    The seed is 1.
    """
    active = [number < inputs for number in range(len(program.inputs))]
    forward = None
    if inputs == 1 and not aux and _is_loop_of_one_number(program):
        forward = possible(lambda: jvp(program, active))
    if forward is not None and _has_rules_for_reverse_mode(forward):
        forward = None
    seeded = [number == 0 for number in range(1 + aux)]
    derivative = forward or vjp(program, active, seeded)
    builder = Builder()
    arguments = [builder.input(variable.type) for variable in program.inputs]
    one = Constant(program.outputs[0].type.dtype.type(1))
    return builder.build(builder.inline(derivative, [*arguments, one]))


def _is_loop_of_one_number(program: Program) -> bool:
    """Whether its tangent, for a tangent of 1, is the cotangent, and needs no tape of a loop."""
    argument, value = (tangent_type(atom.type) for atom in (program.inputs[0], program.outputs[0]))
    one = argument is value and not argument.ndim
    return one and any(equation.primitive in LOOPS for equation in all_equations(program))


def _has_rules_for_reverse_mode(derivative: Program) -> bool:
    """Whether there are derivatives whose transpose the user has given: gradients go by that.

    A JVP rule beside it may raise an error, or be another's; without one there may be none.
    """
    return any(equation.primitive is CUSTOM_LINEAR for equation in all_equations(derivative))


def _value_and_cotangents(
    function: Any,
    chosen: Chosen,
    captured: Captured,
    has_aux: bool,
    with_value: bool,
    name: str,
) -> tuple[Any, list[Any], Any]:
    """The value, the cotangents of the leaves, and the auxiliary output."""
    aux_tree = None
    if has_aux:
        aux_tree = _split_aux(captured.treedef)
    elif captured.treedef is not None or len(captured.outputs) != 1:
        raise NotDifferentiableError(
            f"{name} was asked of a function that returns "
            f"{pytrees.structure_text(captured.treedef)}, not a real scalar. If the rest is not "
            "to be differentiated, pass has_aux=True; else use ad.jacobian or ad.vjp."
        )
    type_ = captured.trace.types[captured.outputs[0]]
    if type_.ndim or type_.dtype.kind != "f":
        refuse_gradient(type_, name)
    count, aux = len(chosen.leaves), len(captured.outputs) - 1
    compiled = prepare(
        ("gradient", count, aux, with_value), captured, _derive, chosen.recapture, function
    )
    results = run(compiled, chosen.leaves + captured.constants)
    if not with_value and not has_aux:
        return None, list(results), None
    first = len(results) - count
    values = with_cells([*[None] * (not with_value), *results[:first]], captured.cells)
    rest = pytrees.unflatten(aux_tree, values[1:]) if has_aux else None
    return values[0] if with_value else None, list(results[first:]), rest


def _derive(program: Program, kind: Any) -> tuple[Program, tuple[int, ...], Any]:
    _, count, aux, with_value = kind
    whole = gradient_program(program, count, aux)
    if not with_value:
        whole = Program(whole.inputs, whole.equations, whole.outputs[1:])
    first = len(whole.outputs) - count
    return whole, tuple(range(first, first + count)), None


def _split_aux(treedef: Any) -> Any:
    pair = treedef is not None and treedef.type is tuple
    children: Sequence[Any] = treedef.children() if pair else ()
    if len(children) == 2 and not children[0].is_leaf():
        raise ArgumentTypeError(
            "With has_aux=True the function must return a pair (value, auxiliary), whose value is "
            f"a number; the value is {pytrees.structure_text(children[0])}."
        )
    if len(children) != 2:
        raise ArgumentTypeError(
            "With has_aux=True the function must return a pair (value, auxiliary); it returned "
            f"{pytrees.structure_text(treedef)}."
        )
    return None if children[1].is_leaf() else children[1]


def _home(chosen: Chosen, space: Space | TangentBundle | None) -> Space | None:
    """The space at the point, found before the function runs: it may fail at what is not in it."""
    return None if space is None else space_of(chosen.point, space, "the argument")


# The overloads with `has_aux` take functions of one and the same type: where an Any in a function
# fits several whose types differ, mypy gives up and tells the caller of an untyped function.
@overload
def grad(
    function: Callable[Concatenate[First, Parameters], Any],
    argnums: Literal[0] = ...,
    space: Space | TangentBundle | None = ...,
    has_aux: Literal[False] = ...,
) -> Callable[Concatenate[First, Parameters], First]: ...


@overload
def grad(
    function: Callable[Concatenate[First, Parameters], tuple[Any, Auxiliary]],
    argnums: Literal[0] = ...,
    space: Space | TangentBundle | None = ...,
    *,
    has_aux: Literal[True],
) -> Callable[Concatenate[First, Parameters], tuple[First, Auxiliary]]: ...


@overload
def grad(
    function: Callable[Parameters, Any],
    argnums: Argnums,
    space: Space | TangentBundle | None = ...,
    has_aux: bool = ...,
) -> Callable[Parameters, Any]: ...


@overload
def grad(
    function: Callable[Concatenate[First, Parameters], tuple[Any, Auxiliary]],
    argnums: Literal[0] = ...,
    space: Space | TangentBundle | None = ...,
    *,
    has_aux: bool,
) -> Callable[Concatenate[First, Parameters], Any]: ...


@named
def grad(
    function: Callable[..., Any],
    argnums: Argnums = 0,
    space: Space | TangentBundle | None = None,
    has_aux: bool = False,
) -> Any:
    """The gradient of a real-valued function, as a function of the same arguments.

    The gradient at x is the vector with ⟨∇f(x), u⟩ = ∂f(x)[u] for all u (E.1.37); it depends on the
    inner product. It is computed by reverse mode; of one number through a loop, by forward mode,
    which keeps no tape.

    Args:
        function: plain NumPy code; its value a real scalar, or a pair `(value, auxiliary)` with
            `has_aux`.
        argnums: which positional argument, or arguments, to differentiate with respect to. Each may
            be a pytree; the function sees it whole, and None is in the gradient where a leaf
            carries no derivative (integers, truth values, text, objects).
        space: the inner-product space of the arguments; Euclidean if not given. With several
            argnums, a `Product` of a tuple. A `Metric` or a manifold gives it at the point.
        has_aux: whether the function returns an auxiliary output, which is passed on as it is:
            arrays, counts, text, objects, in containers or alone.

    Returns:
        A function that returns the gradient, in the structure, shapes and dtypes of the arguments;
        with `has_aux`, and the auxiliary output.

    Raises:
        NotDifferentiableError: integer arguments, or a value that is not a real scalar.
        MembershipError: an argument that is not in the space.
        ArgumentError: `argnums` names an argument that the call does not have.
        ArgumentTypeError: with `has_aux`, the function does not return a pair; or it is no
            function.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> ad.grad(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
        array([ 3., 12.])
    """
    check_callable(function, "grad")
    check_flag(has_aux, "has_aux")
    check_argnums(argnums)
    if space is not None:
        check_space(space, "space")
    way = way_of("grad", argnums, has_aux) if replays(space) else None

    def compute(function: Any, *args: Any, **kwargs: Any) -> Any:
        chosen = Chosen(argnums, args, kwargs)
        home = _home(chosen, space)
        captured = chosen.capture(function, has_aux=has_aux)
        _, cotangents, aux = _value_and_cotangents(
            function, chosen, captured, has_aux, False, "grad"
        )
        result = represent(home, chosen.unflatten(cotangents))
        return (result, aux) if has_aux else result

    origin, function = function, core(function)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        return replay(way, function, compute, args, kwargs, space)

    options = {"argnums": argnums, "space": space, "has_aux": has_aux}
    return derived(gradient, grad, origin, options)


@overload
def value_and_grad(  # type: ignore[overload-overlap]  # an argnums of 0 is the first argument's
    function: Callable[Concatenate[First, Parameters], Result],
    argnums: Literal[0] = ...,
    space: Space | TangentBundle | None = ...,
    has_aux: Literal[False] = ...,
) -> Callable[Concatenate[First, Parameters], tuple[Result, First]]: ...


@overload
def value_and_grad(
    function: Callable[Concatenate[First, Parameters], tuple[Result, Auxiliary]],
    argnums: Literal[0] = ...,
    space: Space | TangentBundle | None = ...,
    *,
    has_aux: Literal[True],
) -> Callable[Concatenate[First, Parameters], tuple[tuple[Result, Auxiliary], First]]: ...


@overload
def value_and_grad(
    function: Callable[Parameters, Any],
    argnums: Argnums,
    space: Space | TangentBundle | None = ...,
    has_aux: bool = ...,
) -> Callable[Parameters, Any]: ...


@overload
def value_and_grad(
    function: Callable[Concatenate[First, Parameters], tuple[Result, Auxiliary]],
    argnums: Literal[0] = ...,
    space: Space | TangentBundle | None = ...,
    *,
    has_aux: bool,
) -> Callable[Concatenate[First, Parameters], Any]: ...


@named
def value_and_grad(
    function: Callable[..., Any],
    argnums: Argnums = 0,
    space: Space | TangentBundle | None = None,
    has_aux: bool = False,
) -> Any:
    """The value and the gradient together, for the cost of the gradient alone.

    Args:
        function: plain NumPy code; its value a real scalar, or a pair `(value, auxiliary)` with
            `has_aux`.
        argnums: which positional argument, or arguments, to differentiate with respect to.
        space: the inner-product space of the arguments, as for `grad`; Euclidean if not given.
        has_aux: whether the function returns an auxiliary output, which is passed on as it is:
            arrays, counts, text, objects, in containers or alone.

    Returns:
        A function that returns `(value, gradient)`, or `((value, auxiliary), gradient)` with
        `has_aux`.

    Raises:
        NotDifferentiableError: integer arguments, or a value that is not a real scalar.
        MembershipError: an argument that is not in the space.
        ArgumentError: `argnums` names an argument that the call does not have.
        ArgumentTypeError: with `has_aux`, the function does not return a pair; or it is no
            function.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> value, gradient = ad.value_and_grad(lambda x: np.sum(x**2))(
        ...     np.array([1.0, 2.0])
        ... )
        >>> float(value), gradient
        (5.0, array([2., 4.]))
    """
    check_callable(function, "value_and_grad")
    check_flag(has_aux, "has_aux")
    check_argnums(argnums)
    if space is not None:
        check_space(space, "space")
    way = way_of("value_and_grad", argnums, has_aux) if replays(space) else None

    def compute(function: Any, *args: Any, **kwargs: Any) -> Any:
        chosen = Chosen(argnums, args, kwargs)
        home = _home(chosen, space)
        captured = chosen.capture(function, has_aux=has_aux)
        value, cotangents, aux = _value_and_cotangents(
            function, chosen, captured, has_aux, True, "value_and_grad"
        )
        result = represent(home, chosen.unflatten(cotangents))
        return ((value, aux) if has_aux else value, result)

    origin, function = function, core(function)

    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        return replay(way, function, compute, args, kwargs, space)

    options = {"argnums": argnums, "space": space, "has_aux": has_aux}
    return derived(value_and_gradient, value_and_grad, origin, options)


@named
def differential(
    function: Callable[..., Any], *primals: Any, space: Space | TangentBundle | None = None
) -> Covector:
    """The differential df(x): the covector u ↦ ∂f(x)[u] of a real function.

    It needs no inner product.

    Args:
        function: its value a real scalar.
        primals: the point; with several, the space is the product of a tuple.
        space: the space that the point is in; inferred if not given.

    Returns:
        A `Covector`; `covector(u)` is the derivative in the direction u.

    Raises:
        NotDifferentiableError: integers among the primals, or a value that is not a real scalar.
        MembershipError: the point is not in the space.
        ArgumentTypeError: what is given is no function, or what is given as a space is none.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> w = ad.differential(lambda x: x[0] * x[1], np.array([2.0, 3.0]))
        >>> float(w(np.array([1.0, 0.0])))
        3.0
    """
    check_callable(function, "differential")
    argnums: Argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    chosen = Chosen(argnums, primals, {})
    home = space_of(chosen.point, space, "primals")
    _, cotangents, _ = _value_and_cotangents(
        function, chosen, captured_at(function, chosen), False, False, "differential"
    )
    covector: Covector = home.covector(chosen.unflatten(cotangents))
    return covector
