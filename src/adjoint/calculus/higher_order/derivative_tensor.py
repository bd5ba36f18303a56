"""Derivatives of any order as tensors, from Taylor coefficients along a few directions.

All partial derivatives of order k of a function of n numbers follow from its coefficients of order
k along the C(n + k - 1, k) directions with coordinates 0, 1, 2, ... that sum to k: as many as there
are different ones (Griewank, Utke and Walther, Evaluating higher derivative tensors by forward
propagation of univariate Taylor series, Math. Comp. 69, 2000). The function is run once, over the
batch of all directions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations_with_replacement, product
from math import comb
from typing import Any, NamedTuple

import numpy as np

from adjoint.base import pytrees
from adjoint.base.errors import ArgumentError, ArgumentTypeError
from adjoint.base.signatures.calling import named
from adjoint.calculus.higher_order.taylor import check_order
from adjoint.calculus.inputs.arguments import Chosen, check_callable
from adjoint.calculus.inputs.leaves import matching_leaves
from adjoint.calculus.inputs.representation import space_of
from adjoint.calculus.jit.captures import captured_at
from adjoint.pipeline import prepare, run
from adjoint.program import Program
from adjoint.spaces import Euclidean, Space, infer
from adjoint.tensors import Tensor
from adjoint.transforms import taylor as taylor_program
from adjoint.transforms import vmap as vmap_program

Exponents = tuple[int, ...]


@named
def derivative_tensor(
    function: Callable[[Any], Any],
    x: Any,
    order: int,
    domain: Space | None = None,
    codomain: Space | None = None,
) -> Tensor:
    """The derivative of a given order at a point, as a tensor: order inputs, and those of f.

    `T(u_1, ..., u_k)` is the k-th derivative in these directions, and `T.components` holds the
    partial derivatives with respect to the coordinates of the domain: the index of the value first
    (none for a real number), then k indices of the domain, in which it is symmetric.

    Args:
        function: plain NumPy code of one argument.
        x: the point.
        order: k, at least 1.
        domain: the space of the point; Euclidean of its shape if not given. A complex space counts
            as a real one of twice the dimension.
        codomain: the space of the value; Euclidean of its shape if not given, and no index at all
            for a real number.

    Returns:
        A tensor of type (k, 0) for a real value, else (k, 1).

    Raises:
        ArgumentError: the order, or the dimension, is less than 1.
        ArgumentTypeError: the order is no integer, or a space is none.
        MembershipError: the point or the value is not in the space named.
        NotDifferentiableError: the point or the value holds integers or booleans.

    Example:
        >>> import adjoint as ad
        >>> import numpy as np
        >>> T = ad.derivative_tensor(lambda x: x[0] ** 2 * x[1], np.array([3.0, 5.0]), 3)
        >>> T.type, T.components.shape
        ((3, 0), (2, 2, 2))
        >>> float(T(np.array([1.0, 0.0]), np.array([1.0, 0.0]), np.array([0.0, 1.0])))
        2.0

    Source: Griewank, Utke and Walther, 2000.
    """
    check_callable(function, "derivative_tensor")
    check_order(order, "derivative_tensor", 1)
    for space, name in ((domain, "domain"), (codomain, "codomain")):
        if space is not None and not isinstance(space, Space):
            raise ArgumentTypeError(
                f"derivative_tensor takes a space as its {name}, got a {type(space).__name__}. "
                "Straight lines through the point must make sense in it: ad.spaces.Euclidean(...)."
            )
    chosen = Chosen(0, (x,), {})
    source = space_of(x, domain, "the point")
    if not source.dimension:
        raise ArgumentError(
            f"A derivative tensor was asked of a function on {source!r}, which has dimension 0. "
            "There are no directions to differentiate in."
        )
    plan = _plan(source.dimension, order)
    basis = [matching_leaves(x, vector, "a basis vector") for vector in source.basis()]
    treedef, value, coefficients = _along(function, chosen, basis, plan.directions, order)
    numbers = range(len(plan.directions))
    rows = [pytrees.unflatten(treedef, [leaf[n] for leaf in coefficients]) for n in numbers]
    if codomain is not None:
        outputs: tuple[Space, ...] = (space_of(value, codomain, "the function's value"),)
    else:
        target = infer(value)
        number = isinstance(target, Euclidean) and not target.shape and not target._complex
        outputs = () if number else (target,)
    along = np.stack([row if not outputs else outputs[0]._coordinates(row) for row in rows])
    weights = plan.weights.reshape(plan.weights.shape + (1,) * len(outputs))
    distinct = np.sum(weights.astype(along.dtype) * along[plan.sources], axis=1)
    whole = distinct[plan.places]
    return Tensor(np.moveaxis(whole, -1, 0) if outputs else whole, outputs, (source,) * order)


def _along(
    function: Any, chosen: Chosen, vectors: Sequence[Any], combinations: Any, order: int
) -> tuple[Any, Any, list[Any]]:
    """The coefficients of this order along combinations of vectors, (N, vectors).

    Returns the structure of the value, the value, and its coefficients with N in front of each.
    """
    captured = captured_at(function, chosen)
    count, size = len(chosen.leaves), len(combinations)

    def derive(program: Program, _: Any) -> tuple[Program, tuple[int, ...], Any]:
        inputs = len(program.inputs)
        marks = [(True,) if n < count else () for n in range(inputs)]
        whole = taylor_program(program, order, marks)
        width = sum(atom.type.inexact for atom in program.outputs)
        last = whole.outputs[len(whole.outputs) - width :]
        values = whole.outputs[: len(program.outputs)]
        kept = Program(whole.inputs, whole.equations, (*values, *last))
        batched = vmap_program(kept, [n >= inputs for n in range(inputs + count)], size)
        return batched, tuple(range(len(values), len(kept.outputs))), None

    kind = ("Taylor coefficients of a batch", count, order, size)
    compiled = prepare(kind, captured, derive, chosen.recapture, function)
    batch = [
        np.tensordot(combinations.astype(type_.dtype), np.stack(column), 1)
        for column, type_ in zip(zip(*vectors, strict=True), chosen.types, strict=True)
    ]
    results = run(compiled, [*chosen.leaves, *captured.constants, *batch])
    outputs = len(captured.outputs)
    value = pytrees.unflatten(captured.treedef, [leaf[0] for leaf in results[:outputs]])
    infer(value)  # integers have no coefficients, and are refused
    return captured.treedef, value, list(results[outputs:])


# --- from coefficients along directions to partial derivatives ------------------------------------


class _DirectionPlan(NamedTuple):
    """How the partial derivatives follow from the coefficients along N directions.

    directions: coordinates, (N, n). Partial derivative i is sum_w weights[i, w] c[sources[i, w]],
    where c holds the coefficients. places: which of them stands where in the tensor, (n, ..., n).
    """

    directions: Any
    sources: Any
    weights: Any
    places: Any


@lru_cache(maxsize=8)  # few: they grow as the tensors do
def _plan(dimension: int, order: int) -> _DirectionPlan:
    indices = list(combinations_with_replacement(range(dimension), order))
    numbers = {index: number for number, index in enumerate(indices)}
    directions = np.zeros((len(indices), dimension))
    rows = []
    for number, index in enumerate(indices):
        support = sorted(set(index))
        np.add.at(directions[number], list(index), 1)
        row = []
        for powers, weight in _weights(tuple(index.count(axis) for axis in support)):
            axes = [(axis,) * power for axis, power in zip(support, powers, strict=True)]
            row.append((numbers[tuple(chain(*axes))], float(weight)))
        rows.append(row)
    width = max(map(len, rows), default=0)
    sources = np.zeros((len(rows), width), np.intp)
    weights = np.zeros((len(rows), width))
    for number, row in enumerate(rows):
        sources[number, : len(row)] = [source for source, _ in row]
        weights[number, : len(row)] = [weight for _, weight in row]
    shape = (dimension,) * order
    ordered = np.sort(np.indices(shape).reshape(order, -1), axis=0).T
    places = np.array([numbers[tuple(index)] for index in ordered.tolist()], np.intp).reshape(shape)
    return _DirectionPlan(directions, sources, weights, places)


@lru_cache(maxsize=1024)
def _weights(wanted: Exponents) -> list[tuple[Exponents, Fraction]]:
    """The partial derivative of these orders from coefficients along the directions j, |j| = k.

    gamma(i, j) = sum_{0 < m <= i} (-1)^|i - m| binom(i, m) binom(k m / |m|, j) (|m| / k)^k, where k
    = |i| and the binomials of multi-indices are products.
    """
    order = sum(wanted)
    weights = []
    for direction in _exponents(len(wanted), order):
        weight = Fraction(0)
        for m in product(*(range(power + 1) for power in wanted)):
            size = sum(m)
            if not size:
                continue
            term = Fraction(size, order) ** order * (-1) ** (order - size)
            for power, part, step in zip(wanted, m, direction, strict=True):
                term *= comb(power, part) * _binomial(Fraction(order * part, size), step)
            weight += term
        if weight:
            weights.append((direction, weight))
    return weights


def _binomial(top: Fraction, bottom: int) -> Fraction:
    """top (top - 1) ... (top - bottom + 1) / bottom!"""
    value = Fraction(1)
    for step in range(bottom):
        value *= (top - step) / (step + 1)
    return value


def _exponents(places: int, total: int) -> Iterator[Exponents]:
    """All ways to write a total as a sum of this many whole numbers."""
    if places == 1:
        yield (total,)
        return
    for first in range(total, -1, -1):
        for rest in _exponents(places - 1, total - first):
            yield (first, *rest)
