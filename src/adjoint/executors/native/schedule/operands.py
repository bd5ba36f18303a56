"""Functions on whole arrays, of nodes that call them, and how their operands lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

from adjoint.executors.native.graph.indices import Access, Label, Term
from adjoint.executors.native.graph.nodes import ArrayNode, Graph, Kind
from adjoint.executors.native.graph.structure import stride_along
from adjoint.executors.native.machine.module import Module
from adjoint.executors.native.products import ArrayProduct, Emitted, emit_product
from adjoint.executors.native.rows import equations as rows
from adjoint.executors.native.rows import matrices
from adjoint.executors.native.rows.calls import emit_matrices
from adjoint.executors.native.rows.emission import EmittedRows, emit_rows
from adjoint.executors.native.rows.plan import LeastSquaresRoutine, MatrixRoutine, RowRoutine
from adjoint.executors.native.schedule.layout import RoutineCall
from adjoint.executors.native.schedule.order import LARGEST_CROSSED
from adjoint.executors.native.schedule.unrolling import LONGEST_SUMMED, LONGEST_UNROLLED
from adjoint.executors.native.systems import EmittedSystem, SquareSystem, emit_system
from adjoint.executors.native.systems.equations import system_of, used
from adjoint.primitives.structure.contraction import CONTRACT, split_spec
from adjoint.program import Equation, Variable

_Wanted = ArrayProduct | SquareSystem | RowRoutine | MatrixRoutine | LeastSquaresRoutine
PRODUCT_WORK: Final = 256  # multiplications from which a product is left to its own routine
LARGE_RESULT: Final = 1 << 15  # numbers that are not kept near while they are read again
LEAST_ROWS: Final = 64  # of it, with which the lanes of loops are full
LONGEST_ROW: Final = 128  # of a matrix whose products with vectors are left to a routine


def is_product(equation: Equation, given: Sequence[Access | None], whole: bool) -> bool:
    """Whether a contraction is left to the routines for products of matrices.

    Of few terms, those numbers of a large result are computed where loops read them.

    given: how those operands lie in memory that the program does not compute. whole: whether the
    result is wanted whole.
    """
    left, right, result = split_spec(equation.params["spec"])
    shapes = [atom.type for atom in equation.inputs]
    dtype = equation.outputs[0].type.dtype
    if any(type_.dtype != dtype for type_ in shapes) or dtype.kind != "f":
        return False
    lengths = dict(zip(left + right, shapes[0].shape + shapes[1].shape, strict=True))
    summed = prod(n for letter, n in lengths.items() if letter not in result)
    rows = prod(n for letter, n in lengths.items() if letter not in right)
    columns = prod(n for letter, n in lengths.items() if letter not in left)
    shape = equation.outputs[0].type.shape
    large = prod(shape) >= LARGE_RESULT and prod(shape[:-1]) >= LEAST_ROWS
    streamed = large and not whole
    if summed < 3 or (streamed and summed <= LONGEST_SUMMED):
        return False
    if min(rows, columns) < 2:
        return _is_thin(equation, given)
    return prod(lengths.values()) >= PRODUCT_WORK


def _is_thin(equation: Equation, given: Sequence[Access | None]) -> bool:
    """Whether a contraction is of a given matrix of many short rows with a vector.

    Such a matrix, as data are, is read once from memory, row by row, which loops cannot do that
    have the numbers of many rows in the lanes of their vectors, nor those that gather a row of sums
    in memory. Of rows of up to 16 numbers sums are written out, and as fast in a loop.
    """
    left, right, result = split_spec(equation.params["spec"])
    sides = zip((left, right), (right, left), equation.inputs, given, strict=True)
    for letters, others, atom, access in sides:
        if access is None or len(letters) != 2 or len(others) != 1 or len(access.terms) != 2:
            continue
        long, short = atom.type.shape
        letter = letters[1]
        if long < short:
            long, short, letter = short, long, letters[0]
        least = 3 if result == letter else LONGEST_UNROLLED + 1
        large = least <= short <= LONGEST_ROW and long * short >= LARGEST_CROSSED
        if large and _walks(access.terms[1], short):  # whose numbers are neighbours
            return True
    return False


def _walks(term: Term, extent: int) -> bool:
    """Whether an index is a label of this extent."""
    atoms = [atom for atom, factor in term.parts if factor == 1 and isinstance(atom, Label)]
    return len(term.parts) == 1 and any(label.find().extent == extent for label in atoms)


def emit_routines(
    module: Module, graph: Graph, threads: int
) -> tuple[dict[int, RoutineCall], dict[int, int]]:
    """The functions of all nodes that call one, and the scratch that they need.

    threads: how many may share a product.
    """
    calls: dict[int, RoutineCall] = {}
    scratch: dict[int, int] = {}
    known: dict[_Wanted, Emitted | EmittedSystem | EmittedRows] = {}
    for node in graph.nodes:
        if node.kind is not Kind.ROUTINE:
            continue
        assert node.equation is not None
        sides = [strides_of(graph, access) for access in node.accesses]
        wanted: _Wanted
        if node.equation.primitive is CONTRACT:
            wanted = product_of(graph, node, [strides for strides, _ in sides])
        else:
            wanted = _routine(graph, node, [strides for strides, _ in sides])
        if wanted not in known:
            known[wanted] = _emitted(module, wanted, threads)
        starts = tuple(start for _, start in sides)
        calls[node.number] = RoutineCall(
            known[wanted].name, starts, not isinstance(wanted, ArrayProduct)
        )
        scratch[node.number] = known[wanted].scratch_bytes
    return calls, scratch


def _emitted(
    module: Module, wanted: _Wanted, threads: int
) -> Emitted | EmittedSystem | EmittedRows:
    if isinstance(wanted, SquareSystem):
        return emit_system(module, wanted)
    if isinstance(wanted, RowRoutine):
        return emit_rows(module, wanted)
    if isinstance(wanted, MatrixRoutine | LeastSquaresRoutine):
        return emit_matrices(module, wanted)
    emitted = emit_product(module, wanted, threads=threads)
    assert emitted is not None
    return emitted


def _routine(
    graph: Graph, node: ArrayNode, strides: Sequence[dict[Label, int]]
) -> SquareSystem | RowRoutine | MatrixRoutine | LeastSquaresRoutine:
    """The routine of a node on matrices, or on rows."""
    assert node.equation is not None
    primitive = node.equation.primitive
    of_rows = primitive in rows.ALL or primitive in matrices.ALL
    read: Sequence[Any] = node.equation.inputs if of_rows else used(node.equation)
    steps = []
    for atom, by_label in zip(read, strides, strict=True):
        labels = [None if label is None else label.find() for label in graph.axes[atom]]
        steps.append(tuple(0 if x is None else by_label.get(x, 0) for x in labels))
    if primitive in matrices.ALL:
        return matrices.routine_of(node.equation, steps)
    if of_rows:
        return rows.routine_of(node.equation, steps[0])
    return system_of(node.equation, steps)


def product_of(graph: Graph, node: ArrayNode, strides: Sequence[dict[Label, int]]) -> ArrayProduct:
    """The product of a node. strides: of its operands, by label."""
    assert node.equation is not None
    shapes = [atom.type.shape for atom in node.equation.inputs]
    return ArrayProduct(
        node.output.type.dtype,
        node.equation.params["spec"],
        shapes[0],
        shapes[1],
        _filled(strides[0], node, 0),
        _filled(strides[1], node, 1),
        graph.strides(node.output),
    )


def _filled(strides: dict[Label, int], node: ArrayNode, side: int) -> tuple[int, ...]:
    """The stride of each axis of an operand: 0 where it is the same number again and again.

    For axes of length one it does not matter: it is 1.
    """
    assert node.equation is not None
    left, right, result = split_spec(node.equation.params["spec"])
    letters = (left, right)[side]
    labels = _letters(node, left, right, result)
    return tuple(strides.get(label, 0) if (label := labels[x]) else 1 for x in letters)


def _letters(node: ArrayNode, left: str, right: str, result: str) -> dict[str, Label | None]:
    assert node.equation is not None
    labels: dict[str, Label | None] = {
        letter: None if label is None else label.find()
        for letter, label in zip(result, node.labels, strict=True)
    }
    lengths: dict[str, int] = {}
    for letters, atom in zip((left, right), node.equation.inputs, strict=True):
        lengths.update(zip(letters, atom.type.shape, strict=True))
    waiting = iter(node.reduced)
    for letter in dict.fromkeys(left + right):
        if letter not in labels:
            labels[letter] = next(waiting).find() if lengths[letter] != 1 else None
    return labels


def strides_of(graph: Graph, access: Access) -> tuple[dict[Label, int], int]:
    """For each label, the distance in memory; and where the operand starts."""
    assert isinstance(access.source, Variable)
    steps = graph.strides(access.source)
    offset = sum(term.offset * step for term, step in zip(access.terms, steps, strict=True))
    strides: dict[Label, int] = {}
    for label in access.labels():
        stride = stride_along(access.terms, steps, label)
        assert stride is not None
        strides[label] = stride
    return strides, offset
