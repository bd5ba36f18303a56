"""Derivatives as linear maps (E.1.34): JVPs (E.1.60) and pullbacks (E.1.61)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, overload

from adjoint.base import pytrees
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    NotDifferentiableError,
)
from adjoint.base.signatures.calling import named
from adjoint.base.signatures.checked import check_flag
from adjoint.base.signatures.derived import Auxiliary, First, Result
from adjoint.calculus.first_order.linearisation import (
    Linearisation,
    RowsLinearisation,
    all_of,
    linearised,
    split_outputs,
    zero_of,
)
from adjoint.calculus.inputs.arguments import Chosen, check_callable
from adjoint.calculus.inputs.leaves import matching_leaves
from adjoint.calculus.inputs.representation import space_of
from adjoint.calculus.jacobians.sparsity.compressed import has_matrices
from adjoint.calculus.jacobians.sparsity.maps import has_entries
from adjoint.calculus.jit.replay import replay, way_of
from adjoint.capture import current, with_cells
from adjoint.executors.xla.placement import placed
from adjoint.maps import LinearMap
from adjoint.pipeline import prepare, run
from adjoint.program import Program
from adjoint.spaces import Space, TangentBundle, infer
from adjoint.transforms import jvp as jvp_program


@overload
def jvp(
    function: Callable[..., Result],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[False] = ...,
) -> tuple[Result, Result]: ...


@overload
def jvp(
    function: Callable[..., tuple[Result, Auxiliary]],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[True],
) -> tuple[Result, Result, Auxiliary]: ...


@overload
def jvp(
    function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool
) -> Any: ...


@named
def jvp(
    function: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
) -> Any:
    """The value and the derivative in a direction, (f(x), ∂f(x)[u]), by forward mode (E.1.60).

    Args:
        function: plain NumPy code, of any number of arguments.
        primals: the arguments, as a tuple or list.
        tangents: as many, each with the structure and shapes of its argument. None for an argument
            that does not move, which may then be of any type.
        has_aux: whether the function returns a pair `(value, auxiliary)`.

    Returns:
        `(value, tangent)`, or `(value, tangent, auxiliary)`.

    Raises:
        ArgumentError: there are not as many tangents as primals, or all of them are None.
        ShapeError, DTypeError: a tangent has another shape or kind of number than its argument.
        NotDifferentiableError: an argument that moves is, or holds, integers or booleans.
        ArgumentTypeError: primals or tangents are no tuple or list, or a tangent has another
            structure than its argument; or, with `has_aux`, the function does not return a pair.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> value, tangent = ad.jvp(
        ...     np.sin, (np.array([0.0, 1.0]),), (np.array([1.0, 0.0]),)
        ... )
        >>> tangent
        array([1., 0.])
    """
    check_callable(function, "jvp")
    check_flag(has_aux, "has_aux")
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise ArgumentTypeError(
            "jvp takes its primals and its tangents as tuples or lists: ad.jvp(f, (x,), (u,))."
        )
    if len(primals) != len(tangents):
        raise ArgumentError(f"jvp was given {len(primals)} primals and {len(tangents)} tangents.")
    moving = tuple(n for n, tangent in enumerate(tangents) if tangent is not None)
    if not moving:
        raise ArgumentError("jvp needs a tangent for at least one argument.")
    count = len(primals)

    def compute(function: Any, *both: Any) -> Any:
        return _pushed(function, both[:count], both[count:], moving, has_aux)

    inputs = (*moving, *(count + place for place in moving))
    way = way_of("jvp", inputs, has_aux)
    return replay(way, function, compute, (*primals, *tangents), {})


def _pushed(
    function: Any,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    moving: tuple[int, ...],
    has_aux: bool,
) -> Any:
    chosen = Chosen(moving, primals, {})
    directions = matching_leaves(chosen.point, tuple(tangents[n] for n in moving), "tangents")
    captured = chosen.capture(function, has_aux=has_aux)
    count = len(chosen.leaves)
    output_tree, output_count, aux_tree = split_outputs(captured, has_aux)

    def derive(program: Program, _: Any) -> tuple[Program, tuple[int, ...], Any]:
        whole = jvp_program(program, [n < count for n in range(len(program.inputs))])
        values = len(program.outputs)
        return whole, tuple(range(values, len(whole.outputs))), None

    compiled = prepare(("jvp", count), captured, derive, chosen.recapture, function)
    results = run(compiled, [*chosen.leaves, *captured.constants, *directions])
    values = with_cells(results[: len(captured.outputs)], captured.cells)
    moved = iter(results[len(captured.outputs) :])
    slopes = [
        next(moved) if type_.inexact else zero_of(type_, None) for type_ in captured.output_types
    ]
    value = pytrees.unflatten(output_tree, values[:output_count])
    tangent = pytrees.unflatten(output_tree, slopes[:output_count])
    if has_aux:
        return value, tangent, pytrees.unflatten(aux_tree, values[output_count:])
    return value, tangent


@overload
def vjp(
    function: Callable[..., Result], primal: First, /, *, has_aux: Literal[False] = ...
) -> tuple[Result, Callable[[Any], tuple[First]]]: ...


@overload
def vjp(
    function: Callable[..., Result], *primals: Any, has_aux: Literal[False] = ...
) -> tuple[Result, Callable[[Any], tuple[Any, ...]]]: ...


@overload
def vjp(
    function: Callable[..., tuple[Result, Auxiliary]], *primals: Any, has_aux: Literal[True]
) -> tuple[Result, Callable[[Any], tuple[Any, ...]], Auxiliary]: ...


@overload
def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool) -> Any: ...


@named
def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value, and the pullback of covectors by reverse mode (E.1.61).

    Components of covectors are given and returned as arrays; on Euclidean spaces they are those of
    the vectors that represent them. For adjoints under other inner products, see
    `derivative(...).H`.

    Args:
        function: plain NumPy code; its value an array or a pytree of arrays.
        primals: the arguments, each of them an array of floating-point numbers or a pytree of such.
        has_aux: whether the function returns a pair `(value, auxiliary)`, of which only the value
            is differentiated.

    Returns:
        `(value, pullback)`, and the auxiliary output with `has_aux`; `pullback(v)` is a tuple with
        one entry an argument.

    Raises:
        ArgumentError: there are no primals.
        NotDifferentiableError: an argument is, or holds, integers or booleans.
        ShapeError, DTypeError: `pullback` was given another shape or kind of number than that of
            the value.
        ArgumentTypeError: `pullback` was given another structure than that of the value; or, with
            `has_aux`, the function does not return a pair.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> value, pullback = ad.vjp(lambda x: x**2, np.array([1.0, 2.0]))
        >>> pullback(np.array([1.0, 1.0]))
        (array([2., 4.]),)
    """
    check_callable(function, "vjp")
    check_flag(has_aux, "has_aux")
    primals, placement = placed(primals, current() is not None)
    chosen = all_of(primals)
    state = linearised(function, chosen, has_aux, placement)

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        leaves = state.pull(state.cotangents(cotangent))
        result = chosen.unflatten(leaves)
        return (result,) if chosen.single else result

    return (state.value, pullback, state.aux) if has_aux else (state.value, pullback)


@named
def derivative(
    function: Callable[..., Any],
    *primals: Any,
    domain: Space | TangentBundle | None = None,
    codomain: Space | TangentBundle | None = None,
) -> LinearMap:
    """The derivative at a point: the linear map ∂f(x) from the domain to the codomain (E.1.34).

    `D(u)` is the JVP, `D.T` the pullback of covectors, `D.H` the adjoint under the inner products
    of the two spaces, `D.matrix()` the Jacobian in their bases. Applying any of them runs none of
    the function again.

    Args:
        function: plain NumPy code.
        primals: the point. With several, the domain is the product of a tuple, and `D((u, v))`
            takes a tuple.
        domain: the space of the point; Euclidean of its shape if not given. Of a `Metric` or a
            manifold, the space of the tangents at the point.
        codomain: the space of the value, likewise.

    Returns:
        A `LinearMap` from the domain to the codomain.

    Raises:
        MembershipError: the point or the value is not in the space named.
        ArgumentError: there are no primals.
        NotDifferentiableError: the point or the value holds integers or booleans.
        ArgumentTypeError: what is given is no function, or what is given as a space is none.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> D = ad.derivative(lambda X: X @ X, np.array([[1.0, 2.0], [3.0, 4.0]]))
        >>> D(np.eye(2))  # UX + XU
        array([[2., 4.],
               [6., 8.]])
    """
    check_callable(function, "derivative")
    primals, placement = placed(primals, current() is not None)
    chosen = all_of(primals)
    source = space_of(chosen.point, domain, "primals")
    state = linearised(function, chosen, placement=placement)
    return _as_map(state, source, codomain, getattr(function, "__name__", "f"))


def _as_map(
    state: Linearisation | RowsLinearisation,
    domain: Space,
    codomain: Space | TangentBundle | None,
    name: str,
) -> LinearMap:
    if codomain is None:
        _check_inexact(state)
        target = infer(state.value)
    else:
        target = space_of(state.value, codomain, "the function's value")

    derivative = LinearMap(domain, target, state.apply, state.transpose, name=f"∂{name}")
    by_entries = has_entries(domain) and has_entries(target)
    by_entries = by_entries and not has_matrices(state.output_tree)
    if isinstance(state, Linearisation) and not state.is_placed and by_entries:
        derivative._find_sparse = partial(state.sparse_matrix, (domain, target))
    return derivative


def _check_inexact(state: Linearisation | RowsLinearisation) -> None:
    for type_ in state.output_types[: state.output_count]:
        if not type_.inexact:
            raise NotDifferentiableError(
                f"A derivative was asked of a function whose value is {type_}; integers and "
                "booleans carry no derivative."
            )


@overload
def linearize(
    function: Callable[..., Result], *primals: Any, has_aux: Literal[False] = ...
) -> tuple[Result, LinearMap]: ...


@overload
def linearize(
    function: Callable[..., tuple[Result, Auxiliary]], *primals: Any, has_aux: Literal[True]
) -> tuple[Result, LinearMap, Auxiliary]: ...


@overload
def linearize(function: Callable[..., Any], *primals: Any, has_aux: bool) -> Any: ...


@named
def linearize(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value, and the derivative as a map that costs no more than itself when applied again.

    Args:
        function: plain NumPy code, run once.
        primals: the point; the domain is the Euclidean space of its shape, and with several the
            product of a tuple.
        has_aux: whether the function returns a pair `(value, auxiliary)`, of which only the value
            is differentiated.

    Returns:
        `(f(x), ∂f(x))`, and the auxiliary output with `has_aux`. With several arguments the map
        takes a tuple of tangents.

    Raises:
        ArgumentError: there are no primals.
        NotDifferentiableError: the point or the value holds integers or booleans.
        ArgumentTypeError: with `has_aux`, the function does not return a pair.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> value, D = ad.linearize(np.exp, np.array([0.0, 1.0]))
        >>> D(np.array([2.0, 0.0]))
        array([2., 0.])
    """
    check_callable(function, "linearize")
    check_flag(has_aux, "has_aux")
    primals, placement = placed(primals, current() is not None)
    chosen = all_of(primals)
    state = linearised(function, chosen, has_aux, placement)
    source = space_of(chosen.point, None, "primals")
    D = _as_map(state, source, None, getattr(function, "__name__", "f"))
    return (state.value, D, state.aux) if has_aux else (state.value, D)
