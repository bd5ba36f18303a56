"""Hessians of real functions: times a vector (E.1.79), and as arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from adjoint.base import pytrees
from adjoint.base.errors import ArgumentTypeError, NotDifferentiableError
from adjoint.base.signatures.calling import named
from adjoint.base.signatures.checked import check_flag
from adjoint.base.signatures.derived import First, Parameters, core, derived
from adjoint.calculus.first_order.linearisation import split_outputs
from adjoint.calculus.inputs.arguments import (
    Argnums,
    Chosen,
    check_argnums,
    check_callable,
    refuse_gradient,
)
from adjoint.calculus.inputs.leaves import matching_leaves
from adjoint.calculus.inputs.representation import represent
from adjoint.calculus.jacobians.basis import rows_of
from adjoint.calculus.jacobians.planning import Mode
from adjoint.calculus.jacobians.sparsity import rows_of_blocks, settled, sparse_results
from adjoint.calculus.jit.replay import replay, replays, way_of
from adjoint.calculus.second_order.composition import (
    Composition,
    CompositionName,
    Twice,
    along_basis,
    as_composition,
    check_sparse_composition,
    with_unit_weight,
)
from adjoint.capture import Captured
from adjoint.capture.recording.tracing.trace import current
from adjoint.pipeline import prepare, run
from adjoint.primitives.expression import Expression
from adjoint.primitives.structure.moving import reshape
from adjoint.program import Builder, Program
from adjoint.spaces import Space


def check_flat(space: Any, argument: str) -> None:
    """ArgumentTypeError unless it is a space with one inner product, or None."""
    if space is not None and not isinstance(space, Space):
        raise ArgumentTypeError(
            f"A space with one inner product was expected for {argument}, got a "
            f"{type(space).__name__}. A second derivative under an inner product that depends on "
            "the point needs a connection."
        )


def check_scalar(captured: Captured, has_aux: bool, name: str) -> Any:
    """The value must be a real number; returns the structure of the auxiliary outputs."""
    treedef, count, aux_tree = split_outputs(captured, has_aux)
    if treedef is not None or count != 1:
        raise NotDifferentiableError(
            f"{name} was asked of a function that returns {pytrees.structure_text(treedef)}, not a "
            "real scalar. Use ad.second_derivative for other functions."
        )
    type_ = captured.output_types[0]
    if type_.ndim or type_.dtype.kind != "f":
        refuse_gradient(type_, name)
    return aux_tree


@named
def hvp(
    function: Callable[..., Any],
    primal: First,
    direction: Any,
    space: Space | None = None,
    composition: Composition | CompositionName = Composition.AUTO,
) -> First:
    """The Hessian-vector product ∇²f(x)[u], the derivative of the gradient (E.1.79).

    Args:
        function: its value a real scalar.
        primal: the point, an array or a pytree.
        direction: a tangent of the same structure and shapes.
        space: the inner-product space in which the gradient is taken; Euclidean if not given.
        composition: which mode is applied to which, as a member of `Composition` or by its value
            ("forward-on-reverse", ...); the result is the same.

    Returns:
        A vector, in the structure of the point.

    Raises:
        NotDifferentiableError: integer arguments, or a value that is not a real scalar.
        ArgumentTypeError: the first argument is no function, or the direction has another
            structure.
        ShapeError, DTypeError: the direction has another shape or kind of number than the point.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> ad.hvp(lambda x: np.sum(x**3), np.array([1.0, 2.0]), np.array([1.0, 1.0]))
        array([ 6., 12.])
    """
    check_callable(function, "hvp")
    composition = as_composition(composition)
    check_flat(space, "space")
    way = way_of("hvp", (0, 1), composition) if replays(space) else None

    def compute(function: Any, primal: Any, direction: Any) -> Any:
        return _product(function, primal, direction, space, composition)

    product: First = replay(way, function, compute, (primal, direction), {}, space)
    return product


def _product(
    function: Any, primal: Any, direction: Any, space: Space | None, composition: Composition
) -> Any:
    chosen = Chosen(0, (primal,), {})
    moving = matching_leaves(chosen.point, direction, "direction")
    if space is not None:
        space.check(primal, "the argument")  # first, since the function may fail at what is not
    captured = chosen.capture(function)
    check_scalar(captured, False, "hvp")
    compiled = prepare(
        ("hvp", len(moving), composition), captured, _derive_product, chosen.recapture, function
    )
    product = chosen.unflatten(run(compiled, [*chosen.leaves, *captured.constants, *moving]))
    return represent(space, product)


def _derive_product(program: Program, kind: Any) -> tuple[Program, tuple[int, ...], Any]:
    _, count, composition = kind
    whole = with_unit_weight(Twice(program, count, [True]).pull(composition))
    return whole, tuple(range(len(whole.outputs))), None


@named
def hessian(
    function: Callable[Parameters, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    composition: Composition | CompositionName = Composition.AUTO,
    sparse: bool = False,
) -> Callable[Parameters, Any]:
    """The Hessian of a real function, as arrays of shape `x.shape + x.shape`.

    All its columns are computed in one vectorised run.

    Args:
        function: its value a real scalar (or a pair with `has_aux`).
        argnums: with respect to which arguments; with several, a tuple of tuples.
        has_aux: whether the function returns a pair `(value, auxiliary)`.
        composition: which mode is applied to which, as a member of `Composition` or by its value
            ("forward-on-reverse", ...); the result is the same.
        sparse: whether to find out which entries may be other than zero, and to compute these
            alone, many by one product (by forward on reverse mode); see `ad.sparsity`.

    Returns:
        A function that returns the Hessian, or trees of them for pytrees; with `has_aux`, a pair of
        it and the auxiliary output. With `sparse`, each is a `scipy.sparse.csr_array` of shape
        `(x.size, x.size)`.

    Raises:
        NotDifferentiableError: arguments that are not real and floating-point, or a value that is
            not a real scalar.
        ArgumentError: with `sparse`, `composition` is neither "auto" nor "forward-on-reverse".
        ArgumentTypeError: `composition` is none of them; or, with `has_aux`, the function does not
            return a pair.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> ad.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
        array([[4., 2.],
               [2., 0.]])
    """
    check_callable(function, "hessian")
    check_flag(has_aux, "has_aux")
    check_flag(sparse, "sparse")
    check_argnums(argnums)
    composition = as_composition(composition)
    if sparse:
        check_sparse_composition(composition)
    way = way_of("hessian", argnums, has_aux, composition, sparse)

    def compute(outermost: bool, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        chosen = Chosen(argnums, args, kwargs)
        for number, type_ in enumerate(chosen.types):
            if type_.dtype.kind != "f":
                raise NotDifferentiableError(
                    f"A Hessian was asked with respect to {chosen.path(number)}, which is {type_}; "
                    "it is defined here for real floating-point arrays. For complex ones use "
                    "ad.second_derivative(...).array(), over the reals."
                )
        captured = chosen.capture(function, has_aux=has_aux)
        aux_tree = check_scalar(captured, has_aux, "hessian")
        count, aux = len(chosen.leaves), len(captured.outputs) - 1
        if sparse:
            first = gradient_program
            rest, flat = sparse_results(chosen, captured, 1, Mode.AUTO, first, function, outermost)
            lines = [chosen.unflatten(line) for line in rows_of_blocks(flat, count)]
            result = chosen.unflatten(lines)
            return (result, pytrees.unflatten(aux_tree, rest)) if has_aux else result
        compiled = prepare(
            ("hessian", count, aux, composition),
            captured,
            _derive_hessian,
            chosen.recapture,
            function,
        )
        results = run(compiled, [*chosen.leaves, *captured.constants])
        rows = [results[aux + n * count : aux + (n + 1) * count] for n in range(count)]
        result = chosen.unflatten([chosen.unflatten(row) for row in rows])
        return (result, pytrees.unflatten(aux_tree, results[:aux])) if has_aux else result

    origin, function = function, core(function)

    def hessian_of(*args: Any, **kwargs: Any) -> Any:
        computed = partial(compute, current() is None)
        result = replay(way, function, computed, args, kwargs)
        return settled(result) if sparse else result

    options = {
        **{"argnums": argnums, "has_aux": has_aux},
        **{"composition": composition, "sparse": sparse},
    }
    return derived(hessian_of, hessian, origin, options)


def gradient_program(program: Program, count: int) -> Program:
    """(arguments, constants) -> the gradient of the first output."""
    marks = [number == 0 for number in range(len(program.outputs))]
    return with_unit_weight(Twice(program, count, marks).gradient())


def _derive_hessian(program: Program, kind: Any) -> tuple[Program, tuple[int, ...], Any]:
    """(arguments, constants) -> (auxiliary outputs, blocks of the Hessian in order)."""
    _, count, aux, composition = kind
    twice = Twice(program, count, [number == 0 for number in range(1 + aux)])
    types = twice.argument_types
    product = with_unit_weight(twice.pull(composition))
    rows = along_basis(product, types)
    builder = Builder()
    inputs = [builder.input(variable.type) for variable in program.inputs]
    outputs = builder.inline(program, inputs)[1:]
    blocks = _blocks(builder, builder.inline(rows, inputs), types)
    whole = builder.build([*outputs, *blocks])
    return whole, tuple(range(aux, len(whole.outputs))), None


def _blocks(builder: Builder, columns: Sequence[Any], types: Sequence[Any]) -> list[Any]:
    """For each argument, its rows of the Hessian with respect to each argument.

    Row i is H e_i, which is column i too.
    """
    blocks, start = [], 0
    for of in types:
        for column, with_respect_to in zip(columns, types, strict=True):
            part = rows_of(Expression(builder, column), start, of.size)
            blocks.append(reshape(part, (*of.shape, *with_respect_to.shape)).atom)
        start += of.size
    return blocks
