"""Loops in Taylor mode: one loop that carries the coefficients of all that it carries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from adjoint.loops.bodies import expand_body
from adjoint.loops.rules import InputLayout
from adjoint.primitives.declaration import PRIMITIVES
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.structure.moving import zeros
from adjoint.program import Builder, Program, Variable
from adjoint.transforms.pieces import Marks, chosen, flat, parts

Coefficients = list[Any]


class _Expanded(NamedTuple):
    """A loop's body on series; which coefficients the carried values and the rows have."""

    body: Program
    layout: InputLayout
    carried: list[Marks]
    rows: list[Marks]


def coefficients(series: Any, order: int) -> list[Any]:
    """Coefficients 1, ..., order of a series; None where one is structurally zero."""
    return [series[k] for k in range(1, order + 1)]


def there(terms: Sequence[Any]) -> Marks:
    """Which coefficients are not structurally zero."""
    return tuple(term is not None for term in terms)


def collected(results: Sequence[Any], marks: Sequence[Marks]) -> list[Coefficients]:
    """(values, coefficients value by value) -> for each value all of its coefficients."""
    rest = iter(results[len(marks) :])
    return [
        [value, *(next(rest) if mark else None for mark in row)]
        for value, row in zip(results, marks, strict=False)
    ]


def _expand(body: Program, layout: InputLayout, order: int, given: Sequence[Marks]) -> _Expanded:
    fixed, carried, scanned = parts(given, *layout)
    still = [(False,) * order] * (len(body.outputs) - layout.carried)
    while True:
        program, marks = expand_body(
            body, order, tuple(flat(fixed, carried, scanned)), tuple(carried + still)
        )
        grown, rows = parts(marks, layout.carried)
        if grown == carried:
            break
        carried = grown
    sizes = [sum(map(sum, group)) for group in (fixed, carried)]
    c, x, s, rest = parts(program.inputs, *layout, len(scanned))
    dc, dx, ds = parts(rest, *sizes)
    y, r, rest = parts(program.outputs, layout.carried, len(rows))
    dy, dr = parts(rest, sizes[1])
    expanded = Program(flat(c, dc, x, dx, s, ds), program.equations, flat(y, dy, r, dr))
    return _Expanded(expanded, InputLayout(len(c) + len(dc), len(x) + len(dx)), carried, rows)


def _series_operands(
    operands: Sequence[Any], layout: InputLayout, order: int, expanded: _Expanded, builder: Builder
) -> list[Expression]:
    """The operands of the loop that carries coefficients."""
    c, x, s = parts(operands, *layout)
    begun = [
        zeros(builder, series.type) if series[k] is None else series[k]
        for series, marks in zip(x, expanded.carried, strict=True)
        for k in range(1, order + 1)
        if marks[k - 1]
    ]

    def all_of(items: Sequence[Any]) -> list[Any]:
        return [
            term for series in items for term in coefficients(series, order) if term is not None
        ]

    values = [[series[0] for series in group] for group in (c, x, s)]
    return flat(values[0], all_of(c), values[1], begun, values[2], all_of(s))


def _loop_results(results: Sequence[Any], expanded: _Expanded) -> list[Coefficients]:
    count = expanded.layout.carried
    return [
        *collected(results[:count], expanded.carried),
        *collected(results[count:], expanded.rows),
    ]


def scan_taylor(
    operands: Any, order: int, body: Program, constants: int, carried: int, **params: Any
) -> list[Coefficients]:
    """A scan of series."""
    layout = InputLayout(constants, carried)
    given = [there(coefficients(series, order)) for series in operands[1:]]
    expanded = _expand(body, layout, order, given)
    count = operands[0][0]
    moving = _series_operands(operands[1:], layout, order, expanded, count.builder)
    results = bind(
        PRIMITIVES["scan"],
        count,
        *moving,
        body=expanded.body,
        constants=expanded.layout.constants,
        carried=expanded.layout.carried,
        **params,
    )
    return _loop_results(results, expanded)


def while_taylor(
    operands: Any,
    order: int,
    test: Program,
    body: Program,
    constants: int,
    carried: int,
    length: int | None,
) -> list[Coefficients]:
    """A loop of series, whose test looks at the values."""
    layout = InputLayout(constants, carried)
    given = [there(coefficients(series, order)) for series in operands]
    expanded = _expand(body, layout, order, given)
    builder = operands[0][0].builder
    moving = _series_operands(operands, layout, order, expanded, builder)
    c, x = parts(test.inputs, constants)
    dc, _, dx, _ = parts(
        [Variable(type_) for type_ in expanded.body.input_types[constants:]],
        expanded.layout.constants - constants,
        carried,
        expanded.layout.carried - carried,
    )
    results = bind(
        PRIMITIVES["while"],
        *moving,
        test=Program(flat(c, dc, x, dx), test.equations, test.outputs),
        body=expanded.body,
        constants=expanded.layout.constants,
        carried=expanded.layout.carried,
        length=length,
    )
    return [[results[0], *[None] * order], *_loop_results(results[1:], expanded)]


def moving_operands(operands: Sequence[Any], order: int) -> list[Any]:
    """The values of series, then the coefficients that are there."""
    rows = [coefficients(series, order) for series in operands]
    terms = [term for row in rows for term in chosen(row, there(row))]
    return [*(series[0] for series in operands), *terms]
