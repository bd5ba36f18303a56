"""Parts of a result that are written where they belong, and not copied there.

What is concatenated or stacked into an output may be an array of this program: computed by another
loop, it would lie in the workspace, and each of its numbers would be read and written once more.
Where such an array is one block of the output, that block is its memory. The join then copies it
to where it is, which LLVM finds to be nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from adjoint.executors.native.graph.indices import Access, Term, recombined, total
from adjoint.executors.native.graph.nodes import JOINS, ArrayNode, Graph
from adjoint.program import Variable


def blocks_of_outputs(graph: Graph) -> dict[Variable, tuple[Variable, int]]:
    """The arrays that are blocks of outputs: of which, and how many numbers behind its first."""
    blocks: dict[Variable, tuple[Variable, int]] = {}
    for output in graph.outputs:
        node = graph.producers.get(output)
        if node is not None and _joins(node):
            for variable, start in _blocks(graph, node):
                blocks.setdefault(variable, (output, start))
    return blocks


def _joins(node: ArrayNode) -> bool:
    return node.equation is not None and node.equation.primitive in JOINS


def _blocks(graph: Graph, node: ArrayNode) -> Iterator[tuple[Variable, int]]:
    """The operands of a join that are blocks of its result, and where they start in it.

    Of an array of which only a slice is joined, the rest would lie where others are written.
    """
    assert node.equation is not None
    result = node.output
    for access, operand in zip(node.accesses, node.equation.inputs, strict=True):
        source = access.source
        if (
            isinstance(source, Variable)
            and source.type.size == operand.type.size
            and source in graph.producers
            and source not in graph.orders
            and source.type.dtype == result.type.dtype
            and source.type.ndim
        ):
            apart = _distance(graph, node, access)
            if apart is not None and 0 <= apart <= result.type.size - source.type.size:
                yield source, apart


def _distance(graph: Graph, node: ArrayNode, access: Access) -> int | None:
    """How far behind a number of an operand its place in the result is, if always as far."""
    assert isinstance(access.source, Variable)
    own = recombined(total(zip(node.terms(), graph.strides(node.output), strict=True)))
    other = recombined(total(zip(access.terms, graph.strides(access.source), strict=True)))
    difference = total([(own, 1), (other, -1)])
    return difference.offset if difference == Term((), difference.offset) else None
