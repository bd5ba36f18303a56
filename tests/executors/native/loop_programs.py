"""Programs with loops and branches, built by hand, and random ones, each with arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type, type_of
from adjoint.loops.declared import CHECKPOINT, SCAN, SWITCH, WHILE
from adjoint.optimise import simplify
from adjoint.primitives import Primitive
from adjoint.primitives.expression import Expression, bind
from adjoint.program import Builder, Literal, Program, Variable, operation
from tests.executors.native.random_programs import random_program

INDEX = array_type((), np.dtype(np.int64))
NUMBER = array_type((), np.dtype(float))
Arguments = list[Any]


def array(*shape: int, dtype: Any = float) -> ArrayType:
    return array_type(shape, np.dtype(dtype))


def program(function: Callable[..., Any], *types: ArrayType) -> Program:
    """The program of a function of expressions."""
    builder = Builder()
    results = function(*(Expression(builder, builder.input(type_)) for type_ in types))
    results = results if isinstance(results, tuple) else (results,)
    atoms = [each.atom if isinstance(each, Expression) else Literal(each) for each in results]
    return simplify(builder.build(atoms))


def alone(primitive: Primitive, types: Sequence[ArrayType], **params: Any) -> Program:
    """A program of one equation."""
    builder = Builder()
    inputs = [builder.input(type_) for type_ in types]
    return builder.build(builder.emit(operation(primitive, **params), inputs))


def scan(
    body: Program,
    constants: int = 0,
    carried: int | None = None,
    length: int | None = None,
    reverse: bool = False,
) -> Program:
    count = len(body.inputs) - constants if carried is None else carried
    fixed, rows = body.input_types[: constants + count], body.input_types[constants + count :]
    whole = [array_type((length or 0, *row.shape), row.dtype) for row in rows]
    params = {"constants": constants, "carried": count, "length": length, "reverse": reverse}
    return alone(SCAN, [INDEX, *fixed, *whole], body=body, **params)


def repeat(test: Program, body: Program, constants: int = 0, length: int | None = None) -> Program:
    count = len(body.inputs) - constants
    params = {"constants": constants, "carried": count, "length": length}
    return alone(WHILE, body.input_types, test=test, body=body, **params)


def switch(*branches: Program) -> Program:
    return alone(SWITCH, [INDEX, *branches[0].input_types], branches=branches)


def checkpoint(body: Program) -> Program:
    return alone(CHECKPOINT, body.input_types, body=body, schedule=None)


def within(builder: Builder, inner: Program, *operands: Any) -> list[Expression]:
    """The results of a program on expressions and numbers."""
    atoms = [each.atom if isinstance(each, Expression) else Literal(each) for each in operands]
    return [Expression(builder, atom) for atom in builder.inline(inner, atoms)]


def numbers(seed: int, types: Sequence[ArrayType], first: int | None = None) -> Arguments:
    """Arguments; the first of them a count."""
    generator = np.random.default_rng(seed)
    found: Arguments = []
    for type_ in types:
        if type_.dtype.kind in "iu":
            value = generator.integers(0, 3, type_.shape)
        elif type_.dtype.kind == "b":
            value = generator.random(type_.shape) < 0.5
        else:
            value = generator.uniform(0.25, 1.0, type_.shape)
            if type_.dtype.kind == "c":
                value = value + 1j * generator.uniform(-1.0, 1.0, type_.shape)
        value = np.asarray(value).astype(type_.dtype)
        found.append(value if type_.ndim else value[()])
    if first is not None:
        found[0] = np.int64(first)
    return found


# --- every form -----------------------------------------------------------------------------------


def mixed_scan(length: int, reverse: bool, size: int) -> Program:
    """Numbers and arrays, constant, carried, scanned and stacked."""
    vector, number = array(size), NUMBER
    body = program(
        lambda a, b, x, s, k, row, z: (
            np.sin(a * x) + row * b,
            s * 0.5 + z,
            k + 1,
            x * row,
            s * 2.0 + k,
        ),
        *(vector, number, vector, number, INDEX, vector, number),
    )
    return scan(body, 2, 3, length, reverse)


def mixed_while(length: int | None, size: int) -> Program:
    vector = array(size)
    test = program(lambda a, x, k: k < 5, vector, vector, INDEX)
    rows = (lambda a, x, k: ()) if length is None else (lambda a, x, k: (x + a, k))
    body = program(lambda a, x, k: (np.sin(a * x), k + 1, *rows(a, x, k)), vector, vector, INDEX)
    params = {"constants": 1, "carried": 2, "length": length}
    return alone(WHILE, body.input_types, test=test, body=body, **params)


def mixed_switch(count: int, size: int) -> Program:
    vector = array(size)
    branches = (
        program(lambda x, y: (np.sin(x) * y, x, y), vector, NUMBER),
        program(lambda x, y: (x * x * x, np.exp(x) * y, y * 2.0), vector, NUMBER),
        program(lambda x, y: (x, x, y + 1.0), vector, NUMBER),
    )
    return switch(*branches[:count])


def alternating(size: int) -> Program:
    """Two arrays that change places, and one that stays."""
    vector = array(size)
    return scan(program(lambda x, y, z: (y, x * 1.5, z), vector, vector, vector))


def time_warping(rows: int, columns: int) -> Program:
    """Dynamic time warping: a loop in a loop, and one entry of a table written a round."""
    from adjoint.primitives.structure.gathering import GATHER, GATHER_SET

    table, one, other = array(rows + 1, columns + 1), array(rows), array(columns)

    def entry(a: Any, b: Any, i: Any, d: Any, j: Any) -> Any:
        apart = bind(GATHER, a, i - 1) - bind(GATHER, b, j - 1)
        above, left = bind(GATHER, d, i - 1, j), bind(GATHER, d, i, j - 1)
        least = np.minimum(np.minimum(above, left), bind(GATHER, d, i - 1, j - 1))
        return bind(GATHER_SET, d, apart * apart + least, i, j), j + 1

    inner = scan(program(entry, one, other, INDEX, table, INDEX), 3)

    def line(a: Any, b: Any, d: Any, i: Any) -> Any:
        found = within(a.builder, inner, np.int64(columns), a, b, i, d, np.int64(1))
        return found[0], i + 1

    return scan(program(line, one, other, table, INDEX), 2)


# --- random ones ----------------------------------------------------------------------------------


def random_loop(seed: int, exact: bool = True) -> tuple[Program, Arguments]:
    """A random program as the body of a loop, whose outputs are carried where the types agree."""
    generator = np.random.default_rng([seed, 7])
    inner, arguments = random_program(seed, exact)
    outputs = [a for a in inner.outputs if isinstance(a, Variable) and not a.type.weak]
    generator.shuffle(outputs)  # type: ignore[arg-type]
    strong = [v for v in inner.inputs if not v.type.weak]
    carried: list[tuple[Variable, Any]] = []
    for variable in strong:
        same = [atom for atom in outputs if atom.type == variable.type]
        if same and generator.random() < 0.7:
            outputs = [atom for atom in outputs if atom is not same[0]]
            carried.append((variable, same[0]))
        elif generator.random() < 0.2:
            carried.append((variable, variable))
    changing = [variable for variable, _ in carried]
    scanned = [v for v in strong if v not in changing and generator.random() < 0.4]
    fixed = [v for v in inner.inputs if v not in changing and v not in scanned]
    body = Program(
        [*fixed, *changing, *scanned], inner.equations, [*(a for _, a in carried), *outputs]
    )
    values = dict(zip(inner.inputs, arguments, strict=True))
    length = int(generator.integers(1, 4))
    rows = [np.stack([np.asarray(values[v])] * length) for v in scanned]
    made = Builder()
    count = made.input(INDEX)
    operands = [made.input(v.type) for v in (*fixed, *changing)]
    operands += [made.input(type_of(row)) for row in rows]
    params = {"constants": len(fixed), "carried": len(carried), "length": length}
    scanning = operation(SCAN, body=body, reverse=bool(seed % 2), **params)
    results = made.emit(scanning, [count, *operands])
    given = [np.int64(length), *(values[v] for v in (*fixed, *changing)), *rows]
    return made.build(results), given
