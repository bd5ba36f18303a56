"""Dense Jacobians with few entries other than zero: by the few products of sparse ones.

Whether that is tried is told from the linear program alone, which may hold only what moves numbers,
scales them, and adds few of them. For that the pattern asks no values, is quickly found, and leaves
out only what hard zeros make zero anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import array_type
from adjoint.base.settings import settings
from adjoint.calculus.inputs.arguments import Chosen
from adjoint.calculus.jacobians.planning.jacobians import Differentiated
from adjoint.calculus.jacobians.planning.mode import Mode
from adjoint.calculus.jacobians.sparsity.compressed import Compression, compressed_program
from adjoint.calculus.jacobians.sparsity.derivatives import SparseDerivative, input_of
from adjoint.calculus.jacobians.sparsity.index_sets import index_dtype
from adjoint.capture import Captured
from adjoint.pipeline import prepare, run
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.structure.gathering import GATHER_SET
from adjoint.primitives.structure.moving import reshape, zeros
from adjoint.program import Atom, Builder, Equation, Literal, Program

_LEAST: Final = 64  # arguments, and results: below, one product for each is as fast
_LONGEST: Final = 1000  # equations of a function that is linearised to look
_MOST: Final = 64  # numbers that one of the results is made of, by the estimate
_SAVED: Final = 4  # times fewer products, for which it is done

_MOVING: Final = frozenset({"reshape", "slice", "transpose", "cast", "broadcast"})
_BESIDE: Final = frozenset({"concatenate", "stack"})
_TOGETHER: Final = frozenset({"scale", "add", "subtract", "negative", "select"})
_WIDE: Final = frozenset({"contract", "gather", "scan", "while", "switch", "cumsum", "sort"})


def dense_results(chosen: Chosen, captured: Captured, kept: int, function: Any) -> list[Any] | None:
    """The auxiliary outputs and the blocks of a Jacobian; None where this is not the way to it.

    kept: how many outputs are differentiated.
    """
    compression = few_products(chosen, captured, kept, function)
    if compression is None:
        return None
    counts, entries = compression.counts, tuple(compression.entries)
    kind = ("dense entries", len(chosen.leaves), kept, counts, entries)
    compiled = prepare(kind, captured, _derive_dense, chosen.recapture, function)
    places = _places(compression)
    return list(run(compiled, [*chosen.leaves, *captured.constants, *compression.arrays, *places]))


def few_products(
    chosen: Chosen, captured: Captured, kept: int, function: Any
) -> Compression | None:
    """The products by which a dense Jacobian is computed; None where this is not the way to it.

    kept: how many outputs are differentiated.
    """
    outputs = captured.output_types[:kept]
    least = min(sum(to.size for to in chosen.types), sum(of.size for of in outputs))
    if least < _LEAST or not settings().strong_zeros:
        return None
    if len({type_.dtype for type_ in (*chosen.types, *outputs)}) > 1:
        return None  # cotangents of narrow arguments are narrow, and tangents of wide ones are not
    kind: Any = ("narrow derivative", len(chosen.leaves), kept)
    derivative = prepare(kind, captured, _derive_if_narrow, chosen.recapture, function).facts
    if derivative is None:
        return None
    compression: Compression = derivative.compression(partial(input_of, chosen, captured))
    return compression if sum(compression.counts) * _SAVED <= least else None


def _places(compression: Compression) -> list[Any]:
    """For each block with entries, where they are in the dense one."""
    places = []
    for layout in compression.layouts:
        if layout.count:
            height, width = layout.pattern.shape
            rows = np.repeat(np.arange(height) * width, np.diff(layout.pattern.indptr))
            places.append((rows + layout.pattern.indices).astype(index_dtype(height * width)))
    return places


def _derive_if_narrow(program: Program, kind: Any) -> tuple[Program, tuple[int, ...], Any]:
    _, count, kept = kind
    derivative = None
    if len(program.equations) <= _LONGEST and not _is_plainly_wide(program, count):
        differentiated = Differentiated(program, count, kept)
        simple = (Mode.FORWARD, Mode.REVERSE)
        narrow = not differentiated.is_empty and is_narrow(differentiated)
        if narrow and differentiated.choose(Mode.AUTO) in simple:  # else fewer operations are known
            derivative = SparseDerivative(differentiated, count, Mode.AUTO, False)
    return Program(program.inputs, [], []), (), derivative


def _derive_dense(program: Program, kind: Any) -> tuple[Program, tuple[int, ...], Any]:
    _, count, kept, counts, entries = kind
    differentiated = Differentiated(program, count, kept)
    sparse = compressed_program(program, differentiated, kept, counts, entries, False)
    builder = Builder()
    inputs = [builder.input(variable.type) for variable in sparse.inputs]
    values = builder.inline(sparse, inputs)
    aux = len(values) - len(entries)
    types = ((of, to.type) for of in program.outputs[:kept] for to in program.inputs[:count])
    blocks: list[Atom] = []
    builder.derived = True
    for (of, to), block, taken in zip(types, values[aux:], entries, strict=True):
        shape = (*of.type.shape, *to.shape)
        whole = zeros(builder, array_type((prod(shape),), of.type.dtype))
        if taken.size:
            type_ = array_type((taken.size,), index_dtype(prod(shape)))
            places = Expression(builder, builder.input(type_))
            whole = bind(GATHER_SET, whole, Expression(builder, block), places)
        blocks.append(reshape(whole, shape).atom)
    return builder.build([*values[:aux], *blocks]), tuple(range(aux, len(values))), None


def _is_plainly_wide(program: Program, count: int) -> bool:
    """Whether there is no need to linearise a program of so many arguments to see it."""
    active: set[Atom] = set(program.inputs[:count])
    for equation in program.equations:
        if not active.isdisjoint(x for x in equation.inputs if not isinstance(x, Literal)):
            if equation.primitive.name in _WIDE:
                return True
            active.update(x for x in equation.outputs if x.type.inexact)
    return False


def is_narrow(differentiated: Differentiated) -> bool:
    """Whether each result is made of few numbers, by an estimate that takes all as different."""
    crossings = differentiated.crossings
    numbers: dict[Atom, int] = {tangent: 1 for tangent in crossings.tangents}
    for equation in crossings.moving:
        count = _numbers(equation, lambda atom: numbers.get(atom, 0))
        if not count or count > _MOST:
            return False
        numbers[equation.outputs[0]] = count
    return True


def _numbers(equation: Equation, of: Callable[[Atom], int]) -> int:
    """How many numbers of the arguments an entry of the result is made of; 0 if that is unknown."""
    name = equation.primitive.name
    counts = [0 if isinstance(atom, Literal) else of(atom) for atom in equation.inputs]
    if name in _MOVING or name in _BESIDE:
        return max(counts)
    if name in _TOGETHER:
        return sum(counts)
    if name == "sum":
        (operand,) = equation.inputs
        return counts[0] * (operand.type.size // max(equation.outputs[0].type.size, 1))
    return 0
