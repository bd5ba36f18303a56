"""From a program to nodes: what is computed at each index, from which indices of what.

Structural equations disappear: they become part of the accesses of the equations that read them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import prod
from typing import Any, Final

from adjoint.executors.native.indices import (
    ZERO,
    Access,
    Dynamic,
    Guard,
    Label,
    Term,
    label_term,
    substitute,
)
from adjoint.executors.native.structure import (
    Movement,
    broadcast,
    needed,
    reshaped,
    sliced,
    transposed,
    whole,
    written,
)
from adjoint.primitives.contraction import split_spec
from adjoint.primitives.slicing import indexed_shape
from adjoint.program import Atom, Equation, Literal, Program, Variable


class Kind(Enum):
    """How a node is computed."""

    POINTWISE = "pointwise"  # an elementwise function of its accesses
    GUARDED = "guarded"  # the last access whose guards hold, or the sum of all of those
    NUMBER = "number"  # the value of a term
    REDUCE = "reduce"  # combined over labels that the result does not have
    GATHER = "gather"  # read where other arrays say
    SCATTER = "scatter"  # written where other arrays say
    PRODUCT = "product"  # a product of matrices in memory


@dataclass
class Node:
    """One array, as a function of indices.

    labels: for each axis of the result, None where its length is 1. reduced: the labels that are
    combined away (or, for a scatter, that run over what is written). accesses: the operands, in
    the node's own labels. indices: for gathers and scatters, the accesses of the index arrays.
    bounds: the lengths of the axes that they index.
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

    @property
    def operation(self) -> str:
        """The name of what it computes."""
        return str(self.equation.primitive.name) if self.equation is not None else "copy"

    def iteration(self) -> list[Label]:
        """All labels that it runs over, found and without repetition."""
        # A scatter runs over what is written, not over the axes that it indexes.
        labels = self.labels[len(self.bounds) :] if self.kind is Kind.SCATTER else self.labels
        own = [label.find() for label in labels if label is not None]
        return list(dict.fromkeys([*own, *(label.find() for label in self.reduced)]))

    def terms(self) -> tuple[Term, ...]:
        """Where the result stands."""
        return whole(self.labels)

    def reads(self) -> tuple[Access, ...]:
        """All accesses, those of index arrays too."""
        return (*self.accesses, *self.indices)


@dataclass
class Graph:
    """The nodes of a program in order, and what each variable is.

    axes: labels of every variable. producers: the node that computes a variable. outputs: for each
    output of the program, the node that writes it; None for constants.
    """

    program: Program
    nodes: list[Node] = field(default_factory=list)
    axes: dict[Variable, tuple[Label | None, ...]] = field(default_factory=dict)
    producers: dict[Variable, Node] = field(default_factory=dict)
    outputs: list[Variable] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)


REDUCTIONS: Final = frozenset({"sum", "max", "min", "all", "any"})
STRUCTURE: Final = frozenset({"reshape", "transpose", "broadcast", "slice", "stop_gradient"})
WRITES: Final = frozenset({"update", "increment"})
SCATTERS: Final = frozenset({"gather_set", "gather_add"})
OTHERS: Final = frozenset({"fill", "iota", "concatenate", "gather", "contract"})


class GraphBuilder:
    """Builds the graph of a program.

    is_product: whether a contraction is left to the routines for products of matrices.
    """

    def __init__(self, program: Program, is_product: Callable[[Equation], bool]) -> None:
        self.graph = Graph(program)
        self.is_product = is_product
        self._moves: dict[Variable, tuple[Atom, Movement]] = {}
        self._copies: dict[Variable, Variable] = {}

    def build(self) -> Graph:
        """The whole graph."""
        for variable in self.graph.program.inputs:
            self._axes(variable, [None] * variable.type.ndim)
        for equation in self.graph.program.equations:
            self._equation(equation)
        taken: set[Variable] = set()
        for atom in self.graph.program.outputs:
            self._output(atom, taken)
        for node in self.graph.nodes:  # labels may have been joined since they were written down
            node.accesses = tuple(access.renamed() for access in node.accesses)
            node.indices = tuple(access.renamed() for access in node.indices)
            node.target = tuple(substitute(term, {}) for term in node.target)
        return self.graph

    def _output(self, atom: Atom, taken: set[Variable]) -> None:
        """Outputs that are no node's own array, or repeat one, are copies."""
        if isinstance(atom, Variable) and atom in self.graph.producers and atom not in taken:
            taken.add(atom)
            self.graph.outputs.append(atom)
            return
        copy = Variable(atom.type)
        labels = self._same_axes(copy, atom, range(atom.type.ndim))
        access = self._access(atom, whole(labels))
        self._add(Kind.GUARDED, None, copy, (access,))
        taken.add(copy)
        self.graph.outputs.append(copy)

    # --- labels -----------------------------------------------------------------------------------

    def _label(self, extent: int) -> Label:
        label = Label(extent, len(self.graph.labels))
        self.graph.labels.append(label)
        return label

    def _axes(self, variable: Variable, wanted: Sequence[Label | None]) -> tuple[Label | None, ...]:
        """Give a variable its labels: joined with those wanted, where that is possible."""
        labels: list[Label | None] = []
        for length, label in zip(variable.type.shape, wanted, strict=True):
            if length == 1:
                labels.append(None)
                continue
            own = self._label(length)
            own.members.add(variable)
            if label is not None:
                label.join(own)
            labels.append(own)
        self.graph.axes[variable] = tuple(labels)
        return tuple(labels)

    def _known(self, atom: Atom, axis: int) -> Label | None:
        return self.graph.axes[atom][axis] if isinstance(atom, Variable) else None

    def _same_axes(
        self, variable: Variable, atom: Atom, carried: Sequence[int | None]
    ) -> tuple[Label | None, ...]:
        return self._axes(
            variable, [None if axis is None else self._known(atom, axis) for axis in carried]
        )

    # --- accesses ---------------------------------------------------------------------------------

    def _access(self, atom: Atom, terms: Sequence[Term], guards: tuple[Guard, ...] = ()) -> Access:
        """Read an atom at terms, through all structure to what has memory of its own."""
        terms = tuple(terms)
        while isinstance(atom, Variable) and atom in self._moves:
            source, movement = self._moves[atom]
            terms, atom = movement.back(terms), source
        return Access(atom, terms, guards)

    def _aligned(self, atom: Atom, terms: Sequence[Term]) -> Access:
        """Read an operand that is broadcast against the result."""
        shape = atom.type.shape
        lead = len(terms) - len(shape)
        return self._access(
            atom, [ZERO if n == 1 else terms[lead + axis] for axis, n in enumerate(shape)]
        )

    def _add(
        self,
        kind: Kind,
        equation: Equation | None,
        output: Variable,
        accesses: tuple[Access, ...],
        **more: Any,
    ) -> Node:
        derived = equation is not None and equation.derived
        node = Node(
            len(self.graph.nodes),
            kind,
            equation,
            output,
            self.graph.axes[output],
            accesses,
            derived=derived,
            **more,
        )
        self.graph.nodes.append(node)
        self.graph.producers[output] = node
        return node

    # --- equations --------------------------------------------------------------------------------

    def _equation(self, equation: Equation) -> None:
        name = equation.primitive.name
        if name in STRUCTURE:
            self._structure(equation)
        elif name in REDUCTIONS:
            self._reduction(equation)
        elif name == "contract":
            self._contraction(equation)
        elif name in WRITES:
            self._write(equation)
        elif name == "concatenate":
            self._concatenation(equation)
        elif name in ("gather", *SCATTERS):
            self._dynamic(equation)
        elif name == "fill":
            (output,) = equation.outputs
            self._axes(output, [None] * output.type.ndim)
            dtype = equation.params["dtype"]
            number = Literal(dtype.type(equation.params["value"]))
            self._moves[output] = (number, Movement(lambda terms: (), (None,) * output.type.ndim))
        elif name == "iota":
            (output,) = equation.outputs
            labels = self._axes(output, [None])
            self._add(Kind.NUMBER, equation, output, (), target=whole(labels))
        else:
            self._elementwise(equation)

    def _structure(self, equation: Equation) -> None:
        (output,) = equation.outputs
        (atom,) = equation.inputs
        name, shape = equation.primitive.name, atom.type.shape
        if name == "transpose":
            movement = transposed(equation.params["axes"])
        elif name == "broadcast":
            movement = broadcast(shape, equation.params["shape"])
        elif name == "slice":
            movement = sliced(shape, equation.params["index"])
        elif name == "reshape":
            movement = reshaped(shape, equation.params["shape"])
        else:
            movement = Movement(lambda terms: terms, tuple(range(len(shape))))
        self._same_axes(output, atom, movement.carried)
        self._moves[output] = (atom, movement)

    def _elementwise(self, equation: Equation) -> None:
        (output,) = equation.outputs
        shape = output.type.shape
        wanted: list[Label | None] = [None] * len(shape)
        for atom in equation.inputs:
            lead = len(shape) - atom.type.ndim
            for axis in range(atom.type.ndim):
                if atom.type.shape[axis] != 1 and wanted[lead + axis] is None:
                    wanted[lead + axis] = self._known(atom, axis)
        labels = self._axes(output, wanted)
        for atom in equation.inputs:
            lead = len(shape) - atom.type.ndim
            for axis in range(atom.type.ndim):
                one, other = self._known(atom, axis), labels[lead + axis]
                if one is not None and other is not None:
                    one.join(other)
        terms = whole(labels)
        accesses = tuple(self._aligned(atom, terms) for atom in equation.inputs)
        self._add(Kind.POINTWISE, equation, output, accesses)

    def _reduction(self, equation: Equation) -> None:
        (output,), (atom,) = equation.outputs, equation.inputs
        axes = equation.params["axes"]
        kept = [axis for axis in range(atom.type.ndim) if axis not in axes]
        own = self._same_axes(output, atom, kept)
        every: list[Label | None] = [None] * atom.type.ndim
        for axis, label in zip(kept, own, strict=True):
            every[axis] = label
        reduced = self._reduced(output, [(axis, atom.type.shape[axis]) for axis in axes], atom)
        for axis, label in reduced.items():
            every[axis] = label
        access = self._access(atom, whole(every))
        labels = tuple(label for label in reduced.values() if label is not None)
        name = equation.primitive.name
        self._add(Kind.REDUCE, equation, output, (access,), reduced=labels, combine=name)

    def _reduced(
        self, owner: Variable, axes: Sequence[tuple[Any, int]], atom: Atom
    ) -> dict[Any, Label | None]:
        """Labels for axes that are reduced, joined with those of the operand where possible."""
        found: dict[Any, Label | None] = {}
        for axis, length in axes:
            if length == 1:
                found[axis] = None
                continue
            label = self._label(length)
            label.members.add(owner)
            known = self._known(atom, axis)
            if known is not None:
                known.join(label)
            found[axis] = label
        return found

    def _contraction(self, equation: Equation) -> None:
        (output,) = equation.outputs
        left, right, result = split_spec(equation.params["spec"])
        sides = list(zip((left, right), equation.inputs, strict=True))
        known: dict[str, Label | None] = {}
        lengths: dict[str, int] = {}
        for letters, atom in sides:
            for axis, letter in enumerate(letters):
                lengths[letter] = atom.type.shape[axis]
                if known.get(letter) is None:
                    known[letter] = self._known(atom, axis)
        labels = dict(zip(result, self._axes(output, [known[x] for x in result]), strict=True))
        reduced = []
        for letter in dict.fromkeys(left + right):
            if letter not in labels:
                label = self._label(lengths[letter]) if lengths[letter] != 1 else None
                labels[letter] = label
                if label is not None:
                    label.members.add(output)
                    reduced.append(label)
        for letters, atom in sides:
            for axis, letter in enumerate(letters):
                one, other = self._known(atom, axis), labels[letter]
                if one is not None and other is not None:
                    one.join(other)
        reading = self._in_memory if self.is_product(equation) else self._access
        accesses = tuple(
            reading(atom, whole([labels[letter] for letter in letters])) for letters, atom in sides
        )
        if self.is_product(equation):
            self._add(Kind.PRODUCT, equation, output, accesses, reduced=tuple(reduced))
        elif reduced:
            more = {"reduced": tuple(reduced), "combine": "sum"}
            self._add(Kind.REDUCE, equation, output, accesses, **more)
        else:
            self._add(Kind.POINTWISE, equation, output, accesses)

    def _in_memory(self, atom: Atom, terms: Sequence[Term]) -> Access:
        """An access with one stride for each label: to a copy, where the array has none."""
        access = self._access(atom, terms)
        if all(isinstance(a, Label) for term in access.terms for a in term.atoms()) and isinstance(
            access.source, Variable
        ):
            return access
        copy = Variable(atom.type)
        labels = self._same_axes(copy, atom, range(atom.type.ndim))
        self._add(Kind.GUARDED, None, copy, (self._access(atom, whole(labels)),))
        return Access(copy, tuple(terms))

    def _write(self, equation: Equation) -> None:
        (output,), (atom, value) = equation.outputs, equation.inputs
        index = equation.params["index"]
        labels = self._same_axes(output, atom, range(atom.type.ndim))
        inner, guards = written(index, whole(labels))
        wide = [axis for axis, entry in enumerate(index) if not isinstance(entry, int)]
        lead = len(wide) - value.type.ndim
        for place, axis in enumerate(wide):  # parts that reach over a whole axis share its label
            if place >= lead and index[axis] == (0, atom.type.shape[axis], 1):
                one, other = self._known(value, place - lead), labels[axis]
                if one is not None and other is not None:
                    one.join(other)
        old = self._access(atom, whole(labels))
        if not prod(indexed_shape(index)):  # nothing is written
            self._add(Kind.GUARDED, equation, output, (old,), combine="last")
            return
        part = self._aligned(value, inner)
        new = Access(part.source, part.terms, needed(guards))
        combine = "sum" if equation.primitive.name == "increment" else "last"
        self._add(Kind.GUARDED, equation, output, (old, new), combine=combine)

    def _concatenation(self, equation: Equation) -> None:
        (output,) = equation.outputs
        axis, start, accesses = equation.params["axis"], 0, []
        first = equation.inputs[0]
        carried = [None if each == axis else each for each in range(output.type.ndim)]
        labels = self._same_axes(output, first, carried)
        terms = whole(labels)
        for atom in equation.inputs:
            length = atom.type.shape[axis]
            for each in range(output.type.ndim):
                one, other = self._known(atom, each), labels[each]
                if each != axis and one is not None and other is not None:
                    one.join(other)
            inside = ZERO if length == 1 else terms[axis].scaled(1, -start)
            guard = Guard(terms[axis], start, start + length)
            moved = self._access(atom, (*terms[:axis], inside, *terms[axis + 1 :]))
            accesses.append(Access(moved.source, moved.terms, needed((guard,))))
            start += length
        self._add(Kind.GUARDED, equation, output, tuple(accesses), combine="last")

    def _dynamic(self, equation: Equation) -> None:
        """Gathers and scatters: the leading axes of an array are indexed by other arrays."""
        (output,) = equation.outputs
        scatter = equation.primitive.name in SCATTERS
        array, *rest = equation.inputs
        indices = rest[1:] if scatter else rest
        count, rank = len(indices), indices[0].type.ndim
        tail = array.type.shape[count:]
        dynamic = [Term(((Dynamic(place), 1),)) for place in range(count)]
        bounds = array.type.shape[:count]
        wanted = [self._known(indices[0], axis) for axis in range(rank)]
        if not scatter:
            tail_labels = [self._known(array, count + axis) for axis in range(len(tail))]
            labels = self._axes(output, [*wanted, *tail_labels])
            reads = tuple(self._access(each, whole(labels[:rank])) for each in indices)
            source = self._access(array, (*dynamic, *whole(labels[rank:])))
            more: dict[str, Any] = {"indices": reads, "bounds": bounds}
            self._add(Kind.GATHER, equation, output, (source,), **more)
            return
        labels = self._same_axes(output, array, range(array.type.ndim))
        shape = indices[0].type.shape
        running = self._reduced(output, [(axis, shape[axis]) for axis in range(rank)], indices[0])
        lanes = list(running.values())
        reads = tuple(self._access(each, whole(lanes)) for each in indices)
        value = self._aligned(rest[0], (*whole(lanes), *whole(labels[count:])))
        old = self._access(array, whole(labels))
        more = {
            "indices": reads,
            "bounds": bounds,
            "reduced": tuple(label for label in lanes if label is not None),
            "combine": "sum" if equation.primitive.name == "gather_add" else "last",
            "target": (*dynamic, *whole(labels[count:])),
        }
        self._add(Kind.SCATTER, equation, output, (old, value), **more)


def build_graph(program: Program, is_product: Callable[[Equation], bool]) -> Graph:
    """The graph of a program."""
    return GraphBuilder(program, is_product).build()


__all__ = ["Graph", "Kind", "Node", "build_graph", "label_term"]
