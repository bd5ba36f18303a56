"""Equations that NumPy has whole algorithms for, made of others that machine code knows.

Running sums are loops in NumPy's order of addition; the first place of an extremum is the least of
the places where it is attained; a search among sorted numbers is a bisection; filters, and what
derivatives of spectra are made of, stand in files of their own. What cannot be right
here (a count of zero, of which NumPy warns) becomes an index out of bounds, so that NumPy runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.executors.native.preparation import (
    exponentials,
    matrix_functions,
    spectra,
    splines,
)
from adjoint.executors.native.preparation.filters import correlated, filtered
from adjoint.executors.native.preparation.running_products import (
    RunningProduct,
    running_products,
)
from adjoint.loops import SCAN
from adjoint.optimise.bodies import in_bodies
from adjoint.optimise.simplify import eliminate_dead_code
from adjoint.primitives.declaration import Primitive
from adjoint.primitives.elementwise.comparison import ARGMAX, ARGMIN
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.linear_algebra.matrix_functions import MATRIX_FUNCTION
from adjoint.primitives.linear_algebra.orthogonal import DIVIDE
from adjoint.primitives.structure.correlation import CORRELATION, SPLINE_FILTER
from adjoint.primitives.structure.gathering import GATHER, IOTA
from adjoint.primitives.structure.moving import (
    FILL,
    broadcast_to,
    expand_reduced,
    insert_axes,
    reshape,
)
from adjoint.primitives.structure.recurrences import RECURRENCE
from adjoint.primitives.structure.reductions import CUMULATIVE_SUM, MAX, MIN
from adjoint.primitives.structure.slicing import concatenate, take
from adjoint.primitives.structure.sorting import SEARCHSORTED, WARN_WHERE_ZERO
from adjoint.program import Atom, Builder, Equation, Program, Variable

# Those that hold a solution of a linear system, to rounding.
SOLVING: Final = frozenset({DIVIDE, MATRIX_FUNCTION})

_WRITTEN_OUT: Final = 8  # terms of running sums that are written one by one
_FEW: Final = 1 << 15  # numbers among which NumPy's search for the greatest is no faster


def has_algorithm(equation: Equation) -> bool:
    """Whether an equation is made of others here."""
    types = [atom.type for atom in equation.inputs]
    if equation.primitive not in _ALGORITHMS or any(type_.weak for type_ in types):
        return False
    if equation.primitive in (ARGMAX, ARGMIN) and _is_long_row(types[0], equation.params["axes"]):
        return False
    if equation.primitive in (CORRELATION, RECURRENCE):
        return equation.outputs[0].type.inexact
    if equation.primitive is SPLINE_FILTER:
        return splines.has_formula(equation)
    if equation.primitive is MATRIX_FUNCTION:
        return exponentials.has_formula(equation)
    if equation.primitive in matrix_functions.FORMULAS:
        return matrix_functions.has_formula(equation)
    complex_too = equation.primitive is CUMULATIVE_SUM or equation.primitive in spectra.FORMULAS
    allowed = "biufc" if complex_too else "biuf"
    return all(type_.dtype.kind in allowed for type_ in types)


def _is_long_row(type_: ArrayType, axes: tuple[int, ...]) -> bool:
    """Whether NumPy, which looks once at numbers that lie side by side, is faster than two looks.

    Of a million it takes 0.14 ms, and machine code 0.5; along other axes 1.05 and 0.7.
    """
    return axes[0] == type_.ndim - 1 and type_.size > _FEW


def with_algorithms(program: Program) -> Program:
    """The program with such equations replaced, in the bodies of loops too."""
    products = running_products(program)
    if products or any(equation.primitive in _ALGORITHMS for equation in program.equations):
        program = eliminate_dead_code(_replaced(program, products))
    return in_bodies(with_algorithms)(program)


def _replaced(program: Program, products: Mapping[Variable, RunningProduct]) -> Program:
    builder, names = Builder(), dict[Variable, Atom]()
    for equation in program.equations:
        inputs = [_known(names, atom) for atom in equation.inputs]
        write = _ALGORITHMS.get(equation.primitive)
        product = products.get(equation.outputs[0]) if equation.outputs else None
        if product is not None:
            terms = Expression(builder, _known(names, product.terms))
            builder.origin, builder.derived = equation.origin, equation.derived
            running = _running(np.multiply, terms, product.axis, reverse=False)
            names[equation.outputs[0]] = running.atom
            continue
        if write is None:
            builder.equations.append(
                Equation(
                    equation.operation,
                    inputs,
                    equation.outputs,
                    equation.origin,
                    derived=equation.derived,
                )
            )
            continue
        builder.origin, builder.derived = equation.origin, equation.derived
        operands = [Expression(builder, atom) for atom in inputs]
        names[equation.outputs[0]] = write(*operands, **equation.params).atom
    outputs = [_known(names, atom) for atom in program.outputs]
    return Program(program.inputs, builder.equations, outputs)


def _known(names: dict[Variable, Atom], atom: Atom) -> Atom:
    return names.get(atom, atom) if isinstance(atom, Variable) else atom


# --- running sums ---------------------------------------------------------------------------------


def _running_sums(x: Expression, axis: int, reverse: bool) -> Any:
    return _running(np.add, x, axis, reverse)


def _running(combine: Any, x: Expression, axis: int, reverse: bool) -> Any:
    """What combines the entries up to each along an axis, in their order."""
    shape, count = x.shape, x.shape[axis]
    if count <= _WRITTEN_OUT:
        return _written_out(combine, x, axis, reverse)
    before, after = prod(shape[:axis]), shape[axis + 1 :]
    rows = (prod(after),) if prod(after) > 1 else ()
    if before == 1:
        return reshape(_along_rows(combine, reshape(x, (count, *rows)), reverse), shape)
    builder = Builder()
    block = Expression(builder, builder.input(array_type((count, *rows), x.dtype)))
    body = builder.build([_along_rows(combine, block, reverse).atom])
    blocks = reshape(x, (before, count, *rows))
    return reshape(_scanned(blocks, body, [], reverse=False), shape)


def _written_out(combine: Any, x: Expression, axis: int, reverse: bool) -> Any:
    count, whole = x.shape[axis], [(0, size, 1) for size in x.shape]
    ways = [(*whole[:axis], (k, k + 1, 1), *whole[axis + 1 :]) for k in range(count)]
    parts = [take(x, way) for way in ways]
    sums = [parts[-1 if reverse else 0]]
    for part in parts[-2::-1] if reverse else parts[1:]:
        sums.append(combine(sums[-1], part))
    return concatenate(sums[::-1] if reverse else sums, axis) if count > 1 else x


def _along_rows(combine: Any, x: Expression, reverse: bool) -> Any:
    """The same along the first axis."""
    builder, row = Builder(), array_type(x.shape[1:], x.dtype)
    total, term = (Expression(builder, builder.input(row)) for _ in range(2))
    result = combine(total, term).atom
    start = _filled(x, row.shape, x.dtype, _neutral(combine, x.dtype))
    return _scanned(x, builder.build([result, result]), [start], reverse=reverse)


def _scanned(x: Expression, body: Program, start: list[Any], reverse: bool) -> Any:
    """The rows that a body makes of those of an array, with what is carried."""
    length = x.shape[0]
    params = {"constants": 0, "carried": len(start), "length": length, "reverse": reverse}
    results = bind(SCAN, np.int64(length), *start, x, builder=x.builder, body=body, **params)
    return results[-1]


def _neutral(combine: Any, dtype: np.dtype[Any]) -> Any:
    """What changes no term, not even a zero, with which it is combined."""
    if combine is np.multiply:
        return 1
    if dtype.kind == "c":
        return complex(-0.0, -0.0)
    return -0.0 if dtype.kind == "f" else 0


def _filled(like: Expression, shape: tuple[int, ...], dtype: np.dtype[Any], value: Any) -> Any:
    number = bind(FILL, builder=like.builder, shape=shape, dtype=dtype, value=value)
    return number


# --- places ---------------------------------------------------------------------------------------


def _first_place(extremum: Primitive) -> Callable[..., Any]:
    """Where it is attained first; NaN, if there is any, is the extremum of NumPy's."""

    def place(x: Any, axes: tuple[int, ...]) -> Any:
        (axis,) = axes
        if x.dtype.kind == "b":
            x = cast(x, np.dtype(np.int8))
        best: Any = expand_reduced(bind(extremum, x, axes=axes), axes, x.shape)
        attained: Any = np.equal(x, best)
        if x.dtype.kind == "f":
            attained = np.logical_or(attained, np.isnan(x))
        numbers = _numbers_along(x, axis)
        beyond = _filled(x, x.shape, np.dtype(np.intp), x.shape[axis])
        return bind(MIN, select(attained, numbers, beyond), axes=axes)

    return place


def _numbers_along(x: Any, axis: int) -> Any:
    numbers = bind(IOTA, builder=x.builder, length=x.shape[axis])
    return broadcast_to(insert_axes(numbers, 1, x.ndim - axis), x.shape)


def _bisected(a: Any, v: Any, side: str, lead: int) -> Any:
    """Where each number belongs among sorted ones, after which NaN has its place."""
    dtype = np.promote_types(a.dtype, v.dtype)
    a, v = (x if x.dtype == dtype else cast(x, dtype) for x in (a, v))
    count, whole = a.shape[-1], np.dtype(np.intp)
    fixed = [_numbers_along(v, axis) for axis in range(lead)]
    low, high = (_filled(v, v.shape, whole, number) for number in (0, count))
    for _ in range(count.bit_length()):
        middle = np.right_shift(low + high, 1)
        one = bind(GATHER, a, *fixed, np.minimum(middle, count - 1))
        later = _sorts_before(one, v) if side == "left" else np.logical_not(_sorts_before(v, one))
        there = np.less(low, high)
        low, high = (
            select(np.logical_and(there, later), middle + 1, low),
            select(np.logical_and(there, np.logical_not(later)), middle, high),
        )
    return low


def _sorts_before(x: Any, y: Any) -> Any:
    if x.dtype.kind != "f":
        return np.less(x, y)
    last = np.logical_and(np.isnan(y), np.logical_not(np.isnan(x)))
    return np.logical_or(np.less(x, y), last)


def _none_is_zero(count: Any, text: str, fatal: bool) -> Any:
    """The counts; a place out of bounds, and so NumPy with its warning, where one is zero."""
    size = prod(count.shape)
    flat: Any = reshape(count, (size,))
    places = bind(IOTA, builder=count.builder, length=size)
    beyond = _filled(count, (size,), np.dtype(np.intp), size)
    checked = bind(GATHER, flat, select(np.equal(flat, 0), beyond, places))
    return reshape(checked, count.shape)


_ALGORITHMS: Final[dict[Primitive, Callable[..., Any]]] = {
    CUMULATIVE_SUM: _running_sums,
    ARGMAX: _first_place(MAX),
    ARGMIN: _first_place(MIN),
    SEARCHSORTED: _bisected,
    WARN_WHERE_ZERO: _none_is_zero,
    CORRELATION: correlated,
    RECURRENCE: filtered,
    SPLINE_FILTER: splines.coefficients,
    MATRIX_FUNCTION: exponentials.exponential,
    **spectra.FORMULAS,
    **matrix_functions.FORMULAS,
}
