"""What programs are made of on the way to machine code: nodes, functions of indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import prod
from typing import Final, NamedTuple

from adjoint.executors.native.graph.indices import (
    Access,
    Label,
    Term,
    label_term,
    row_strides,
)
from adjoint.executors.native.graph.structure import whole
from adjoint.loops import CHECKPOINT, SCAN, SWITCH, WHILE
from adjoint.primitives.elementwise.comparison import ALL, ANY
from adjoint.primitives.elementwise.conversion import STOP_GRADIENT
from adjoint.primitives.structure.contraction import CONTRACT
from adjoint.primitives.structure.gathering import (
    GATHER,
    GATHER_ADD,
    GATHER_SET,
    IOTA,
    LAST_WRITE,
)
from adjoint.primitives.structure.moving import BROADCAST, FILL, RESHAPE, SUM, TRANSPOSE
from adjoint.primitives.structure.reductions import MAX, MIN
from adjoint.primitives.structure.slicing import CONCATENATE, INCREMENT, SLICE, STACK, UPDATE
from adjoint.program import Equation, Program, Variable


class Kind(Enum):
    """How a node is computed."""

    __hash__ = object.__hash__  # members are compared by identity; that of `Enum` is Python code

    POINTWISE = "pointwise"  # an elementwise function of its accesses
    GUARDED = "guarded"  # the last access whose guards hold, or the sum of all of those
    NUMBER = "number"  # the value of a term
    REDUCE = "reduce"  # combined over labels that the result does not have
    GATHER = "gather"  # read where other arrays say
    SCATTER = "scatter"  # written where other arrays say
    ROUTINE = "routine"  # a function on whole arrays in memory, as a product of matrices
    CONTROL = "control"  # programs within, run again and again or one of several


WHOLE: Final = frozenset({Kind.ROUTINE, Kind.CONTROL})  # these find whole arrays in memory


@dataclass
class ArrayNode:
    """One array, as a function of indices.

    labels: for each axis of the result, None where its length is 1. reduced: the labels that are
    combined away (or, for a scatter, that run over what is written). accesses: the operands, in
    the node's own labels. indices: for gathers and scatters, the accesses of the index arrays.
    bounds: the lengths of the axes that they index. others: what it computes beside `output`. The
    accesses of loops and branches say where each operand begins in memory, and those of routines
    have one stride for each axis. part: which of the results of its equation `output` is, where
    each is a node.
    """

    number: int
    kind: Kind
    equation: Equation | None
    output: Variable
    labels: tuple[Label | None, ...]
    accesses: tuple[Access, ...]
    reduced: tuple[Label, ...] = ()
    combine: str = ""
    indices: tuple[Access, ...] = ()
    bounds: tuple[int, ...] = ()
    target: tuple[Term, ...] = ()
    derived: bool = False
    others: tuple[Variable, ...] = ()
    part: int = 0

    @property
    def outputs(self) -> tuple[Variable, ...]:
        """All that it computes."""
        return (self.output, *self.others)

    @property
    def operation(self) -> str:
        """The name of what it computes."""
        return str(self.equation.primitive.name) if self.equation is not None else "copy"

    def walked(self) -> tuple[Label | None, ...]:
        """The labels of the axes that it walks along; None for those that a scatter indexes."""
        if self.kind is not Kind.SCATTER:
            return self.labels
        pairs = zip(self.labels, self.target, strict=True)
        return tuple(label if term == label_term(label) else None for label, term in pairs)

    def iteration(self) -> list[Label]:
        """All labels that it runs over, found and without repetition."""
        if not self.labels and not self.reduced:
            return []
        own = [label.find() for label in self.walked() if label is not None]
        return list(dict.fromkeys([*own, *(label.find() for label in self.reduced)]))

    def terms(self) -> tuple[Term, ...]:
        """Where the result stands."""
        return whole(self.labels)

    def reads(self) -> tuple[Access, ...]:
        """All accesses, those of index arrays too."""
        return (*self.accesses, *self.indices)


class LoopNest(NamedTuple):
    """The loops around a node, as is asked for each that may be the next.

    labels: those that it needs loops for. ordered: those whose loops nest in this order, since the
    value written last is what counts. summed: those over which it is a reduction. instances: how
    often it is written out.
    """

    labels: tuple[Label, ...]
    ordered: tuple[Label, ...]
    summed: frozenset[Label]
    instances: int

    def open_to(self, rest: Sequence[Label]) -> Sequence[Label]:
        """Those of the labels that wait for a loop whose loop can be the next."""
        if not self.ordered:
            return rest
        waiting = [label for label in self.ordered if label in rest]
        return [label for label in rest if label not in waiting[1:]]


def nest_of(node: ArrayNode) -> LoopNest:
    """The loops around a node."""
    labels, reduced = node.iteration(), tuple([label.find() for label in node.reduced])
    return LoopNest(
        labels=tuple([label for label in labels if not label.unrolled]),
        ordered=reduced if node.kind is Kind.SCATTER and node.combine == "last" else (),
        summed=frozenset(reduced),
        instances=prod([label.extent for label in labels if label.unrolled]),
    )


@dataclass
class Graph:
    """The nodes of a program in order, and what each variable is.

    axes: labels of every variable. producers: the node that computes a variable. outputs: for each
    output of the program, the node that writes it; None for constants. orders: the axes of arrays
    as they lie in memory, the outermost first, where that is not their own order.
    """

    program: Program
    nodes: list[ArrayNode] = field(default_factory=list)
    axes: dict[Variable, tuple[Label | None, ...]] = field(default_factory=dict)
    producers: dict[Variable, ArrayNode] = field(default_factory=dict)
    outputs: list[Variable] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    orders: dict[Variable, tuple[int, ...]] = field(default_factory=dict)

    def in_memory_order(self, variable: Variable) -> tuple[int, ...]:
        """The axes of an array as they lie in memory, the outermost first."""
        return self.orders.get(variable) or tuple(range(variable.type.ndim))

    def strides(self, variable: Variable, axes: Sequence[int] | None = None) -> tuple[int, ...]:
        """How far apart the numbers of an array are along each axis, in numbers.

        axes: those that its memory has; by default all.
        """
        shape = variable.type.shape
        order = self.in_memory_order(variable)
        if axes is not None:
            order = tuple(axis for axis in order if axis in axes)
        steps = row_strides(tuple(shape[axis] for axis in order))
        return tuple(step for _, step in sorted(zip(order, steps, strict=True)))


REDUCTIONS: Final = frozenset({SUM, MAX, MIN, ALL, ANY})
STRUCTURE: Final = frozenset({RESHAPE, TRANSPOSE, BROADCAST, SLICE, STOP_GRADIENT})
WRITES: Final = frozenset({UPDATE, INCREMENT})
SCATTERS: Final = frozenset({GATHER_SET, GATHER_ADD})
JOINS: Final = frozenset({CONCATENATE, STACK})
OTHERS: Final = JOINS | {FILL, IOTA, GATHER, CONTRACT, LAST_WRITE}
# Operands of a join. Each entry of the result is looked up among them, by machine code that grows
# with their number; NumPy copies more of them one after the other.
MOST_JOINED: Final = 128
CONTROL: Final = frozenset({SCAN, WHILE, SWITCH, CHECKPOINT})
