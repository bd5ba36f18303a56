"""Which numbers each entry of a linear equation's result depends on, from what its operands do.

Derivatives are linear programs, so few kinds of equations occur: movement, which is asked of the
primitive itself by running it on the numbers of entries; sums; products with what is known; and
what is dense along some axes. What is not known here is taken as dense: each entry of a result may
depend on all that the operands do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from adjoint.calculus.jacobians.sparsity.index_sets import (
    Sets,
    joined,
    led,
    numbered,
    one_hot,
    only,
    placed,
    reduced,
    spread,
    taken,
    through,
    union,
)
from adjoint.primitives.elementwise.conversion import (
    CAST,
    IMAG,
    PYTHON_NUMBER,
    REAL,
    STOP_GRADIENT,
)
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.hardness import HARD, TAME
from adjoint.primitives.structure.contraction import split_spec
from adjoint.primitives.structure.slicing import numpy_index
from adjoint.program import Atom, Equation


class NotToBeAskedError(Exception):
    """A value that does not follow from what may be asked."""


class Context(Protocol):
    """What a rule may ask.

    width: how many numbers the arguments have. local: whether values at the point count.
    """

    width: int
    local: bool

    def value(self, atom: Atom) -> Any:
        """The value of an operand that is no tangent.

        Raises:
            NotToBeAskedError: it depends on the arguments.
        """

    def assume_dense(self, equation: Equation) -> None:
        """Note that an equation is taken as dense."""


Rule = Callable[[Context, Equation, list[Sets]], list[Sets]]

_ONE_BY_ONE: Final = frozenset(
    primitive.name for primitive in (SCALE, CAST, REAL, IMAG, PYTHON_NUMBER, HARD, TAME)
)
_MOVING: Final = frozenset(
    {"slice", "reshape", "transpose", "broadcast", "diagonal_part", "concatenate", "stack"}
)


def rule_of(equation: Equation) -> Rule:
    """The rule of a primitive."""
    primitive = equation.primitive
    rule = RULES.get(primitive.name)
    if rule is not None:
        return rule
    is_ufunc = primitive.ufunc is not None and not primitive.multiple
    return _one_by_one if is_ufunc else dense


def _one_by_one(context: Context, equation: Equation, operands: list[Sets]) -> list[Sets]:
    """Each entry follows from the same entries of the operands."""
    shape = equation.outputs[0].type.shape
    pairs = zip(equation.inputs, operands, strict=True)
    return [union([spread(sets, atom.type.shape, shape) for atom, sets in pairs])]


def _product(context: Context, equation: Equation, operands: list[Sets]) -> list[Sets]:
    """A product with what is known; near a point, its zeros are zeros of the derivative."""
    (sets,) = _one_by_one(context, equation, operands)
    if context.local and sets is not None:
        (place,) = [number for number, operand in enumerate(operands) if operand is None]
        factor = _value(context, equation.inputs[place])
        if factor is not None:
            sets = only(sets, np.broadcast_to(factor != 0, equation.outputs[0].type.shape))
    return [sets]


def _value(context: Context, atom: Atom) -> Any:
    """A value, or None where it is unknown."""
    try:
        return np.asarray(context.value(atom))
    except NotToBeAskedError:
        return None


def _select(context: Context, equation: Equation, operands: list[Sets]) -> list[Sets]:
    shape = equation.outputs[0].type.shape
    choice = _value(context, equation.inputs[0])
    pairs = zip(equation.inputs[1:], operands[1:], strict=True)
    chosen, other = (spread(sets, atom.type.shape, shape) for atom, sets in pairs)
    if choice is not None:
        choice = np.broadcast_to(choice, shape)
        chosen, other = only(chosen, choice), only(other, ~choice)
    return [union([chosen, other])]


def _moved(context: Context, equation: Equation, operands: list[Sets]) -> list[Sets]:
    """Entries in other places: the primitive says which, applied to their numbers."""
    numbers, parts, first = [], [], 0
    for atom, sets in zip(equation.inputs, operands, strict=True):
        numbers.append(numbered(atom.type.shape) + first)
        parts.append((sets, atom.type.size))
        first += atom.type.size
    places = equation.primitive.evaluate(*numbers, **equation.params)
    return [taken(joined(parts, context.width), places)]


def _nothing(context: Context, equation: Equation, operands: list[Sets]) -> list[Sets]:
    return [None] * len(equation.outputs)


def _sum(context: Context, equation: Equation, operands: list[Sets]) -> list[Sets]:
    return [_along(operands[0], equation.inputs[0].type.shape, equation.params["axes"], False)]


def _along(sets: Sets, shape: Sequence[int], axes: Sequence[int], keep: bool) -> Sets:
    """The unions along axes; where these are kept, for each place along them."""
    if sets is None:
        return None
    axes = tuple(axis % len(shape) for axis in axes)
    rest = tuple(1 if axis in axes else length for axis, length in enumerate(shape))
    groups = np.broadcast_to(numbered(rest), shape)
    merged = reduced(sets, groups, int(np.prod(rest)))
    return taken(merged, groups) if keep else merged


def _contract(context: Context, equation: Equation, operands: list[Sets]) -> list[Sets]:
    """Sums of products: what is summed over joins the sets of the operand that varies."""
    left, right, result = split_spec(equation.params["spec"])
    shape = equation.outputs[0].type.shape
    parts = []
    for labels, atom, sets in zip((left, right), equation.inputs, operands, strict=True):
        if sets is None:
            continue
        summed = [axis for axis, label in enumerate(labels) if label not in result]
        merged = _along(sets, atom.type.shape, summed, False) if summed else sets
        kept = [label for label in labels if label in result]
        before = tuple(shape[result.index(label)] for label in kept)
        order = sorted(range(len(kept)), key=lambda place: result.index(kept[place]))
        numbers = numbered(before).transpose(order)
        ones = tuple(n if label in kept else 1 for label, n in zip(result, shape, strict=True))
        parts.append(taken(merged, np.broadcast_to(numbers.reshape(ones), shape)))
    return [union(parts)]


def _written(context: Context, equation: Equation, operands: list[Sets], index: Any) -> list[Sets]:
    """Entries of an array replaced by others; of several at one place, NumPy keeps the last."""
    (x, value), (array, given) = operands[:2], equation.inputs[:2]
    size = array.type.size
    numbers = numbered(array.type.shape)
    numbers[index] = numbered(given.type.shape) + size
    whole = joined([(x, size), (value, given.type.size)], context.width)
    return [taken(whole, numbers)]


def _added(context: Context, equation: Equation, operands: list[Sets], index: Any) -> list[Sets]:
    """Entries added to those of an array."""
    (x, value), (array, given) = operands[:2], equation.inputs[:2]
    places = numbered(array.type.shape)[index]
    return [
        union([x, placed(spread(value, given.type.shape, places.shape), places, array.type.size)])
    ]


def _update(context: Context, equation: Equation, operands: list[Sets]) -> list[Sets]:
    return _written(context, equation, operands, numpy_index(equation.params["index"]))


def _increment(context: Context, equation: Equation, operands: list[Sets]) -> list[Sets]:
    return _added(context, equation, operands, numpy_index(equation.params["index"]))


def _indices(context: Context, equation: Equation, first: int) -> Any:
    """The index arrays, which are operands; None where they depend on the arguments."""
    values = [_value(context, atom) for atom in equation.inputs[first:]]
    return None if any(value is None for value in values) else tuple(values)


def _gather(context: Context, equation: Equation, operands: list[Sets]) -> list[Sets]:
    index = _indices(context, equation, 1)
    shape = equation.inputs[0].type.shape
    if index is not None:
        return [taken(operands[0], numbered(shape)[index])]
    context.assume_dense(equation)
    axes = range(len(equation.inputs) - 1)
    merged = _along(operands[0], shape, axes, False)
    after = equation.outputs[0].type.shape
    rest = shape[len(axes) :]
    return [taken(merged, np.broadcast_to(numbered(rest), after))]


def _gather_write(context: Context, equation: Equation, operands: list[Sets]) -> list[Sets]:
    index = _indices(context, equation, 2)
    if index is None:
        return dense(context, equation, operands)
    write = _written if equation.primitive.name == "gather_set" else _added
    return write(context, equation, operands, index)


def _axis_wise(context: Context, equation: Equation, operands: list[Sets]) -> list[Sets]:
    """Dense along one axis."""
    shape = equation.inputs[0].type.shape
    after = equation.outputs[0].type.shape
    axis = equation.params["axis"] % len(shape)
    merged = _along(operands[0], shape, [axis], False)
    rest = (*shape[:axis], 1, *shape[axis + 1 :])
    return [taken(merged, np.broadcast_to(numbered(rest), after))]


def _cumulative(context: Context, equation: Equation, operands: list[Sets]) -> list[Sets]:
    """Each entry follows from those before it along the axis."""
    shape, axis = equation.inputs[0].type.shape, equation.params["axis"]
    numbers = np.moveaxis(numbered(shape), axis, -1)
    length = numbers.shape[-1]
    after, before = np.tril_indices(length)
    if equation.params["reverse"]:
        after, before = before, after
    return [through(operands[0], numbers[..., after], numbers[..., before], numbers.size)]


def _recurrence(context: Context, equation: Equation, operands: list[Sets]) -> list[Sets]:
    """Each entry follows from those before it along the last axis."""
    if operands[1] is None:
        return dense(context, equation, operands)
    numbers = numbered(equation.outputs[0].type.shape)
    after, before = np.tril_indices(numbers.shape[-1])
    return [through(operands[1], numbers[..., after], numbers[..., before], numbers.size)]


def _correlation(context: Context, equation: Equation, operands: list[Sets]) -> list[Sets]:
    """Each entry follows from those under the window at its place, and from the whole window."""
    (x, w), shape = equation.inputs, equation.outputs[0].type.shape
    windows = sliding_window_view(numbered(x.type.shape), w.type.shape)
    after = numbered(shape).reshape(shape + (1,) * len(shape))
    weights = np.broadcast_to(numbered(w.type.shape), windows.shape)
    places = np.broadcast_to(after, windows.shape)
    size = equation.outputs[0].type.size
    parts = zip(operands, (windows, weights), strict=True)
    return [union([through(sets, places, before, size) for sets, before in parts])]


def _by_columns(context: Context, equation: Equation, operands: list[Sets]) -> list[Sets]:
    """Solving with what is known: each column of the solution follows from that column."""
    place = next(number for number, sets in enumerate(operands) if sets is not None)
    before, after = equation.inputs[place].type.shape, equation.outputs[0].type.shape
    known = all(sets is None for number, sets in enumerate(operands) if number != place)
    if not known or len(before) < 2 or before[:-2] != after[:-2] or before[-1] != after[-1]:
        return dense(context, equation, operands)
    merged = _along(operands[place], before, [len(before) - 2], False)
    rest = (*before[:-2], 1, before[-1])
    sets = taken(merged, np.broadcast_to(numbered(rest), after))
    return [sets, *[None] * (len(equation.outputs) - 1)]


def _diagonal_matrix(context: Context, equation: Equation, operands: list[Sets]) -> list[Sets]:
    numbers = numbered(equation.outputs[0].type.shape)
    places = np.diagonal(numbers, axis1=-2, axis2=-1)
    return [placed(operands[0], places, numbers.size)]


def _sparse_product(context: Context, equation: Equation, operands: list[Sets]) -> list[Sets]:
    """Of a sparse matrix and a dense one: each entry of the matrix brings a row of the other."""
    entries, rows, columns, x = equation.inputs
    across, down = _value(context, columns), _value(context, rows)
    if across is None or down is None:
        return dense(context, equation, operands)
    height, width = equation.outputs[0].type.shape
    places = numbered((height, width))[down]
    parts = []
    if operands[3] is not None:
        sources = numbered(x.type.shape)[across]
        if context.local and (factor := _value(context, entries)) is not None:
            places, sources = places[factor != 0], sources[factor != 0]
        parts.append(through(operands[3], places, sources, height * width))
    if operands[0] is not None:
        each_entry = np.broadcast_to(numbered(entries.type.shape)[:, None], places.shape)
        parts.append(through(operands[0], places, each_entry, height * width))
    return [union(parts)]


def _sparse_entries(context: Context, equation: Equation, operands: list[Sets]) -> list[Sets]:
    """Entries of a product of sparse matrices: of row r and column c, from those they share."""
    values = [_value(context, equation.inputs[place]) for place in (1, 2, 4, 5, 6, 7)]
    if any(value is None for value in values):
        return dense(context, equation, operands)
    a_rows, a_columns, b_rows, b_columns, rows, columns = values
    _, inner, _ = equation.params["sizes"]
    parts = []
    for sets, own, across, others, met, here, there in (
        (operands[0], a_rows, a_columns, b_rows, b_columns, rows, columns),
        (operands[3], b_columns, b_rows, a_columns, a_rows, columns, rows),
    ):
        if sets is not None:
            size = 1 + int(max(own.max(initial=0), here.max(initial=0)))
            line = one_hot(here, size) @ one_hot(own, size).T
            length = 1 + int(max(met.max(initial=0), there.max(initial=0)))
            beyond = one_hot(there, length) @ one_hot(met, length).T @ one_hot(others, inner)
            parts.append(led(sets, line.multiply(beyond @ one_hot(across, inner).T)))
    return [union(parts)]


def dense(context: Context, equation: Equation, operands: list[Sets]) -> list[Sets]:
    """All entries of the results may depend on all that the operands do."""
    whole = union(
        [
            None if sets is None else reduced(sets, np.zeros(sets.shape[0], int), 1)
            for sets in operands
        ]
    )
    context.assume_dense(equation)
    return [
        taken(whole, np.zeros(output.type.size, int)) if output.type.inexact else None
        for output in equation.outputs
    ]


RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(_ONE_BY_ONE, _one_by_one),
    **dict.fromkeys(("integer_power", "power_log", "same_as", "exponent"), _one_by_one),
    **dict.fromkeys(("scale", "multiply"), _product),
    **dict.fromkeys(_MOVING, _moved),
    **dict.fromkeys(("fft", "spline_filter"), _axis_wise),
    **dict.fromkeys(("rfft", "irfft"), _axis_wise),
    **dict.fromkeys(("contract", "strong_contract"), _contract),
    **dict.fromkeys(("gather_set", "gather_add"), _gather_write),
    **dict.fromkeys(
        ("solve", "solve_factored", "solve_triangular", "sparse_solve", "lstsq"), _by_columns
    ),
    STOP_GRADIENT.name: _nothing,
    "fill": _nothing,
    "select": _select,
    "sum": _sum,
    "update": _update,
    "increment": _increment,
    "gather": _gather,
    "cumulative_sum": _cumulative,
    "recurrence": _recurrence,
    "correlation": _correlation,
    "diagonal_matrix": _diagonal_matrix,
    "sparse_product": _sparse_product,
    "sparse_entries": _sparse_entries,
}
