"""Traces of second and first derivatives by random vectors, for dimensions too high for all."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple
from typing import Literal as TextLiteral

import numpy as np

from adjoint.base import pytrees
from adjoint.base.errors import ArgumentError, ArgumentTypeError, ShapeError
from adjoint.base.signatures.calling import named
from adjoint.base.signatures.checked import check_whole, generator_of
from adjoint.base.signatures.choices import member
from adjoint.base.signatures.derived import core, derived
from adjoint.calculus.higher_order.operators.divergence import check_field
from adjoint.calculus.higher_order.operators.laplacian import (
    check_inexact,
    one_later,
    real_arguments,
)
from adjoint.calculus.inputs.arguments import Argnums, Chosen, check_argnums, check_callable
from adjoint.calculus.jit.replay import replay, way_of
from adjoint.calculus.second_order.products import check_flat
from adjoint.capture import current, traced_type
from adjoint.pipeline import prepare, run
from adjoint.primitives.expression import Expression
from adjoint.primitives.structure.contraction import contract
from adjoint.program import Builder, Program
from adjoint.spaces import Space, infer
from adjoint.spaces.inner_products.orthonormal import OrthonormalCoordinates
from adjoint.transforms import jvp, taylor, vmap

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class ProbeKind(Enum):
    """How random vectors z with E[z zᵀ] = 1 are drawn.

    RADEMACHER: entries 1 or -1. Of all with independent entries these have the least variance; what
        is diagonal they get exactly.
    GAUSSIAN: standard normal entries.
    ORTHOGONAL: orthogonal to one another, of length √d, in blocks of up to d. Never worse than
        vectors of that length that are independent, and exact with d of them.

    Example:
        >>> import adjoint as ad
        >>> ad.ProbeKind("gaussian")
        <ProbeKind.GAUSSIAN: 'gaussian'>
    """

    RADEMACHER = "rademacher"
    GAUSSIAN = "gaussian"
    ORTHOGONAL = "orthogonal"


ProbeKindName = TextLiteral["rademacher", "gaussian", "orthogonal"]


class Estimate(NamedTuple):
    """A mean over random vectors, and how far it may be off.

    Args:
        value: the mean.
        error: its standard error; NaN for a single vector.

    Example:
        >>> import adjoint as ad
        >>> ad.Estimate(2.0, 0.1).error
        0.1
    """

    value: Any
    error: Any


@named
def probes(
    x: Any,
    count: int,
    seed: Any,
    kind: ProbeKind | ProbeKindName = ProbeKind.RADEMACHER,
    space: Space | None = None,
) -> Any:
    """Random vectors v with E[v vᵀ] = G⁻¹, along which second derivatives average to a Laplacian.

    Args:
        x: an array or a pytree of real arrays: a point, for its structure and shapes.
        count: how many vectors.
        seed: what `np.random.default_rng` takes; a generator moves on.
        kind: a member of `ProbeKind`, or its value.
        space: whose Gram matrix G is; Euclidean if not given.

    Returns:
        Arrays like those of x, with one axis more in front, of length `count`.

    Raises:
        ArgumentError: the count is not positive; or it is called within a function that is being
            differentiated or compiled, where the numbers drawn would be drawn once for all.
        ArgumentTypeError: the count is no integer, or kind, seed or space is none.
        MembershipError: x is not in the space.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> ad.probes(np.zeros(3), 2, np.random.default_rng(0)).shape
        (2, 3)
    """
    kind = member(ProbeKind, kind, "kind")
    check_whole(count, "count")
    check_flat(space, "space")
    if count < 1:
        raise ArgumentError(f"probes takes a count of at least 1, got {count}.")
    if current() is not None:
        raise ArgumentError(
            "probes was called within a function that is being differentiated, vectorised or "
            "compiled, where its numbers would be drawn once for all. Draw them before, and pass "
            "them on as an argument."
        )
    home = infer(x) if space is None else space
    home.check(x, "x")
    if home._complex:
        raise ArgumentTypeError("probes takes a point of real arrays, got complex ones.")
    drawn = _drawn(generator_of(seed), kind, count, home.dimension)
    frame = OrthonormalCoordinates(home)
    vectors = [pytrees.leaves(frame.element(row)) for row in drawn]
    leaves, treedef = pytrees.flatten(x)
    stacks = [
        np.stack([np.asarray(vector[n], traced_type(leaf).dtype) for vector in vectors])
        for n, leaf in enumerate(leaves)
    ]
    return pytrees.unflatten(treedef, stacks)


def _drawn(generator: np.random.Generator, kind: ProbeKind, count: int, size: int) -> Any:
    """Vectors with E[z zᵀ] = 1, as rows."""
    if kind is ProbeKind.RADEMACHER:
        return 2.0 * generator.integers(0, 2, (count, size)) - 1
    if kind is ProbeKind.GAUSSIAN:
        return generator.standard_normal((count, size))
    blocks = []
    for start in range(0, count, max(size, 1)):
        rows = min(size, count - start)
        q, r = np.linalg.qr(generator.standard_normal((size, rows)))
        # With these signs, Q is uniform among all matrices with orthonormal columns.
        blocks.append((q * np.where(np.diagonal(r) < 0, -1.0, 1.0)).T * np.sqrt(size))
    return np.concatenate(blocks) if size else np.zeros((count, 0))


@named
def estimate_laplacian(
    function: Callable[..., Any], probes: Any, argnums: Argnums = 0
) -> Callable[..., Estimate]:
    """An unbiased estimate of the Laplacian, from second derivatives along random vectors.

    The mean of ∂²f(x)[v, v] over the vectors v. All are carried through f in one run of Taylor
    mode, at about two evaluations for each.

    Args:
        function: plain NumPy code, as of `laplacian`.
        probes: the vectors, as `ad.probes` draws them, or any others: arrays like the argument's
            with one axis more in front. They are arguments like any other: what is compiled does
            not depend on their values.
        argnums: which positional argument, or arguments: the probes are a tuple then.

    Returns:
        A function that returns an `Estimate`: the mean, and its standard error, as of independent
        vectors; of orthogonal ones the error is smaller.

    Raises:
        NotDifferentiableError: an argument is not real and floating-point, or the value holds
            integers or booleans.
        ShapeError, ArgumentTypeError: the probes do not fit the argument; or it is no function.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> x = np.arange(1000.0)
        >>> v = ad.probes(x, 4, np.random.default_rng(0))
        >>> estimate = ad.estimate_laplacian(lambda x: np.sum(x**2), v)(x)
        >>> float(estimate.value), float(estimate.error)  # what is diagonal is exact
        (2000.0, 0.0)
    """
    check_callable(function, "estimate_laplacian")
    check_argnums(argnums)
    way = way_of("estimate_laplacian", one_later(argnums))

    def compute(function: Any, vectors: Any, *args: Any, **kwargs: Any) -> Any:
        chosen = real_arguments(argnums, args, kwargs, "estimate_laplacian")
        rows, count = _rows(chosen, vectors)
        captured = chosen.capture(function)
        check_inexact(captured, "estimate_laplacian")
        kind = ("estimate_laplacian", len(rows), count)
        compiled = prepare(kind, captured, _curvatures, chosen.recapture, function)
        results = run(compiled, [*chosen.leaves, *captured.constants, *rows])
        pairs, tree = [_estimated(samples) for samples in results], captured.treedef
        means, errors = [mean for mean, _ in pairs], [error for _, error in pairs]
        return Estimate(pytrees.unflatten(tree, means), pytrees.unflatten(tree, errors))

    origin, function = function, core(function)

    def estimate_of(*args: Any, **kwargs: Any) -> Any:
        return replay(way, function, compute, (probes, *args), kwargs)

    options = {"probes": probes, "argnums": argnums}
    return derived(estimate_of, estimate_laplacian, origin, options)


@named
def estimate_divergence(
    field: Callable[..., Any], probes: Any, argnums: Argnums = 0
) -> Callable[..., Estimate]:
    """An unbiased estimate of the divergence of a vector field: Hutchinson's, of the trace of ∂F.

    The mean of v·∂F(x)[v] over random vectors with E[v vᵀ] = 1, which `ad.probes` draws when no
    space is given.

    Args:
        field: plain NumPy code, whose value has the structure and the shapes of the argument.
        probes: the vectors: arrays like the argument's with one axis more in front.
        argnums: which positional argument, or arguments: the probes are a tuple then.

    Returns:
        A function that returns an `Estimate`: the mean, and its standard error, as of independent
        vectors; of orthogonal ones the error is smaller.

    Raises:
        NotDifferentiableError: an argument or the value is not real and floating-point.
        ShapeError, ArgumentTypeError: probes or value do not fit the argument; or it is no
            function.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> x = np.arange(1000.0)
        >>> v = ad.probes(x, 4, np.random.default_rng(0))
        >>> float(ad.estimate_divergence(lambda x: 3 * x, v)(x).value)
        3000.0
    """
    check_callable(field, "estimate_divergence")
    check_argnums(argnums)
    way = way_of("estimate_divergence", one_later(argnums))

    def compute(function: Any, vectors: Any, *args: Any, **kwargs: Any) -> Any:
        chosen = real_arguments(argnums, args, kwargs, "estimate_divergence")
        rows, count = _rows(chosen, vectors)
        captured = chosen.capture(function)
        check_field(chosen, captured, "estimate_divergence")
        kind = ("estimate_divergence", len(rows), count)
        compiled = prepare(kind, captured, _stretches, chosen.recapture, function)
        (results,) = run(compiled, [*chosen.leaves, *captured.constants, *rows])
        return Estimate(*_estimated(results))

    origin, function = field, core(field)

    def estimate_of(*args: Any, **kwargs: Any) -> Any:
        return replay(way, function, compute, (probes, *args), kwargs)

    options = {"probes": probes, "argnums": argnums}
    return derived(estimate_of, estimate_divergence, origin, options)


def _rows(chosen: Chosen, vectors: Any) -> tuple[list[Any], int]:
    """The random vectors of each argument, and how many there are."""
    leaves, treedef = pytrees.flatten(vectors)
    expected = pytrees.flatten(chosen.point)[1]
    if not pytrees.alike(treedef, expected):
        raise ArgumentTypeError(
            f"probes has the structure {pytrees.structure_text(treedef)}; expected "
            f"{pytrees.structure_text(expected)}, as in the arguments."
        )
    rows, counts = [], set()
    for number, (leaf, type_) in enumerate(zip(leaves, chosen.types, strict=True)):
        given = traced_type(leaf)
        if given.shape[1:] != type_.shape or not given.ndim or given.dtype.kind != "f":
            raise ShapeError(
                f"probes for {chosen.path(number)} is {given}; expected floating-point numbers of "
                f"shape (count, {', '.join(map(str, type_.shape))})."
            )
        counts.add(given.shape[0])
        rows.append(leaf if given.dtype == type_.dtype else leaf.astype(type_.dtype))
    if len(counts) != 1 or 0 in counts:
        raise ShapeError(
            f"probes has {sorted(counts)} vectors for its arguments; expected one number."
        )
    return rows, counts.pop()


def _estimated(samples: Any) -> tuple[Any, Any]:
    """The mean along the first axis, and its standard error."""
    count = samples.shape[0]
    mean = np.mean(samples, axis=0)
    if count == 1:
        return mean, np.abs(mean) * np.nan
    spread = np.abs(samples - mean)
    return mean, np.sqrt(np.sum(spread * spread, axis=0) / ((count - 1) * count))


def _curvatures(program: Program, kind: Any) -> tuple[Program, tuple[int, ...], None]:
    """(arguments, constants, vectors) -> ∂²f(x)[v, v] for each vector."""
    _, leaves, count = kind
    marks = [(True, False) if n < leaves else () for n in range(len(program.inputs))]
    series = taylor(program, 2, marks)
    outputs = len(program.outputs)
    batched = [number >= len(program.inputs) for number in range(len(series.inputs))]
    bent = Program(series.inputs, series.equations, series.outputs[2 * outputs :])
    many = vmap(bent, batched, count)
    builder = Builder()
    inputs = [builder.input(variable.type) for variable in many.inputs]
    halves = builder.inline(many, inputs)
    builder.derived = True
    twice: Any = [2 * Expression(builder, atom) for atom in halves]
    return builder.build([x.atom for x in twice]), tuple(range(outputs)), None


def _stretches(program: Program, kind: Any) -> tuple[Program, tuple[int, ...], None]:
    """(arguments, constants, vectors) -> v·∂F(x)[v] for each vector."""
    _, leaves, count = kind
    pushed = jvp(program, [number < leaves for number in range(len(program.inputs))])
    slopes = Program(pushed.inputs, pushed.equations, pushed.outputs[len(program.outputs) :])
    batched = [number >= len(program.inputs) for number in range(len(pushed.inputs))]
    many = vmap(slopes, batched, count)
    builder = Builder()
    inputs = [builder.input(variable.type) for variable in many.inputs]
    moved = builder.inline(many, inputs)
    builder.derived = True
    total: Any = None
    for vector, slope in zip(inputs[len(program.inputs) :], moved, strict=True):
        labels = _LETTERS[: vector.type.ndim]
        one, other = Expression(builder, vector), Expression(builder, slope)
        product: Any = contract(one, other, f"{labels},{labels}->a")
        total = product if total is None else total + product
    return builder.build([total.atom]), (0,), None
