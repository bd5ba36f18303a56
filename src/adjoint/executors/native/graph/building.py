"""From a program to nodes: what is computed at each index, from which indices of what.

Structural equations disappear: they become part of the accesses of the equations that read them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from adjoint.executors.native.graph.accesses import AccessBuilder
from adjoint.executors.native.graph.indices import (
    ZERO,
    Access,
    Dynamic,
    IndexGuard,
    Label,
    Term,
    substitute,
)
from adjoint.executors.native.graph.masks import reads_rarely
from adjoint.executors.native.graph.nodes import (
    CONTROL,
    JOINS,
    REDUCTIONS,
    SCATTERS,
    STRUCTURE,
    WRITES,
    ArrayNode,
    Graph,
    Kind,
)
from adjoint.executors.native.graph.structure import (
    Movement,
    block_start,
    changes_nothing,
    movement,
    needed,
    whole,
    written,
)
from adjoint.executors.native.preparation.expansions import cholesky_slope, last_write
from adjoint.executors.native.rows import equations as rows
from adjoint.executors.native.rows import matrices
from adjoint.executors.native.systems import equations as systems
from adjoint.primitives.structure.contraction import CONTRACT, split_spec
from adjoint.primitives.structure.gathering import GATHER, GATHER_ADD, IOTA, LAST_WRITE
from adjoint.primitives.structure.moving import FILL
from adjoint.primitives.structure.slicing import INCREMENT, STACK, indexed_shape
from adjoint.program import Atom, Equation, Literal, Program, Variable

# Whether a contraction is a product, from how its operands lie in memory, where that is known,
# and whether the result is wanted whole.
IsProduct = Callable[[Equation, Sequence[Access | None], bool], bool]


class GraphBuilder(AccessBuilder):
    """Builds the graph of a program.

    is_product: whether a contraction is left to the routines for products of matrices, told how its
    operands lie that the program is given. over: which outputs may be written over which inputs.
    """

    def __init__(self, program: Program, is_product: IsProduct, over: Mapping[int, int]) -> None:
        super().__init__(program)
        self.over = over
        self.is_product = is_product

    def build(self) -> Graph:
        """The whole graph."""
        for variable in self.graph.program.inputs:
            self.new_axes(variable, [None] * variable.type.ndim)
        for equation in self.graph.program.equations:
            self.equation(equation)
        taken: set[Variable] = set()
        for number, atom in enumerate(self.graph.program.outputs):
            if atom.type.ndim and number in self.over:
                given = self.graph.program.inputs[self.over[number]]
                if self.itself(atom) is given and atom.type == given.type:
                    self.graph.outputs.append(given)
                    continue
            self._output(atom, taken)
        for node in self.graph.nodes:  # labels may have been joined since they were written down
            if any([access.terms or access.guards for access in node.accesses]):
                node.accesses = tuple([access.renamed() for access in node.accesses])
            node.indices = tuple([access.renamed() for access in node.indices])
            node.target = tuple([substitute(term, {}) for term in node.target])
        return self.graph

    def _output(self, atom: Atom, taken: set[Variable]) -> None:
        """Outputs that are no node's own array, or repeat one, are copies."""
        own = self.in_same_order(atom)
        if own is not None and own in self.graph.producers and own not in taken:
            taken.add(own)
            self.graph.outputs.append(own)
            return
        copy = Variable(atom.type)
        labels = self.same_axes(copy, atom, range(atom.type.ndim))
        access = self.access(atom, whole(labels))
        self.add(Kind.GUARDED, None, copy, (access,))
        taken.add(copy)
        self.graph.outputs.append(copy)

    # --- equations --------------------------------------------------------------------------------

    def equation(self, equation: Equation) -> None:
        """Add what becomes of an equation."""
        primitive = equation.primitive
        if primitive in STRUCTURE or changes_nothing(equation):
            self.structure(equation)
        elif primitive in REDUCTIONS:
            self._reduction(equation)
        elif primitive is CONTRACT:
            self._contraction(equation)
        elif primitive in WRITES:
            self.write(equation)
        elif primitive in JOINS:
            self._join(equation)
        elif primitive is GATHER:
            self._gather(equation)
        elif primitive in SCATTERS:
            self.scatter(equation)
        elif primitive in CONTROL:
            self._control(equation)
        elif primitive in systems.ALL:
            self._system(equation)
        elif primitive in rows.ALL:
            self._rows(equation)
        elif primitive in matrices.ALL:
            self._matrices(equation)
        elif primitive in systems.CHOLESKY_SLOPES:
            self._several(cholesky_slope(equation))
        elif primitive is LAST_WRITE:
            self._last_write(equation)
        elif primitive is FILL:
            (output,) = equation.outputs
            self.new_axes(output, [None] * output.type.ndim)
            dtype = equation.params["dtype"]
            number = Literal(dtype.type(equation.params["value"]))
            self.moves[output] = (number, Movement(lambda terms: (), (None,) * output.type.ndim))
        elif primitive is IOTA:
            (output,) = equation.outputs
            labels = self.new_axes(output, [None])
            self.add(Kind.NUMBER, equation, output, (), target=whole(labels))
        else:
            for place, output in enumerate(equation.outputs):
                if not place or output in self._used:
                    self._elementwise(equation, output, place)

    @cached_property
    def _used(self) -> frozenset[Atom]:
        """What is read by an equation, or returned."""
        program = self.graph.program
        read = [atom for equation in program.equations for atom in equation.inputs]
        return frozenset(atom for atom in (*read, *program.outputs) if isinstance(atom, Variable))

    def _several(self, equations: Sequence[Equation]) -> None:
        for equation in equations:
            self.equation(equation)

    def structure(self, equation: Equation) -> None:
        """A result that is an operand, seen otherwise."""
        (output,) = equation.outputs
        (atom,) = equation.inputs
        moved = movement(equation)
        self.same_axes(output, atom, moved.carried)
        self.moves[output] = (atom, moved)
        start = block_start(equation)
        if start is not None:
            source, before = self.parts.get(atom, (atom, 0))  # type: ignore[arg-type]
            self.parts[output] = source, before + start

    def _elementwise(self, equation: Equation, output: Variable, part: int) -> None:
        shape = output.type.shape
        if not shape:  # many programs are nothing else
            self.graph.axes[output] = ()
            accesses = tuple([self.access(atom, ()) for atom in equation.inputs])
            self.add(Kind.POINTWISE, equation, output, accesses, part=part)
            return
        wanted: list[Label | None] = [None] * len(shape)
        for atom in equation.inputs:
            lead = len(shape) - atom.type.ndim
            for axis in range(atom.type.ndim):
                if atom.type.shape[axis] != 1 and wanted[lead + axis] is None:
                    wanted[lead + axis] = self.known(atom, axis)
        labels = self.new_axes(output, wanted)
        for atom in equation.inputs:
            lead = len(shape) - atom.type.ndim
            for axis in range(atom.type.ndim):
                one, other = self.known(atom, axis), labels[lead + axis]
                if one is not None and other is not None:
                    one.join(other)
        terms = whole(labels)
        accesses = tuple(self.aligned(atom, terms) for atom in equation.inputs)
        self.add(Kind.POINTWISE, equation, output, accesses, part=part)

    def _reduction(self, equation: Equation) -> None:
        (output,), (atom,) = equation.outputs, equation.inputs
        axes = equation.params["axes"]
        kept = [axis for axis in range(atom.type.ndim) if axis not in axes]
        own = self.same_axes(output, atom, kept)
        every: list[Label | None] = [None] * atom.type.ndim
        for axis, label in zip(kept, own, strict=True):
            every[axis] = label
        reduced = self.reduced(output, [(axis, atom.type.shape[axis]) for axis in axes], atom)
        for axis, label in reduced.items():
            every[axis] = label
        access = self.access(atom, whole(every))
        labels = tuple(label for label in reduced.values() if label is not None)
        name = equation.primitive.name
        self.add(Kind.REDUCE, equation, output, (access,), reduced=labels, combine=name)

    def reduced(
        self, owner: Variable, axes: Sequence[tuple[Any, int]], atom: Atom
    ) -> dict[Any, Label | None]:
        """Labels for axes that are reduced, joined with those of the operand where possible."""
        labels: dict[Any, Label | None] = {}
        for axis, length in axes:
            if length == 1:
                labels[axis] = None
                continue
            label = self.label(length)
            label.members.add(owner)
            known = self.known(atom, axis)
            if known is not None:
                known.join(label)
            labels[axis] = label
        return labels

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
                    known[letter] = self.known(atom, axis)
        labels = dict(zip(result, self.new_axes(output, [known[x] for x in result]), strict=True))
        reduced = []
        for letter in dict.fromkeys(left + right):
            if letter not in labels:
                label = self.label(lengths[letter]) if lengths[letter] != 1 else None
                labels[letter] = label
                if label is not None:
                    label.members.add(output)
                    reduced.append(label)
        for letters, atom in sides:
            for axis, letter in enumerate(letters):
                one, other = self.known(atom, axis), labels[letter]
                if one is not None and other is not None:
                    one.join(other)
        reads = [(atom, whole([labels[letter] for letter in letters])) for letters, atom in sides]
        accesses = tuple(self.access(atom, terms) for atom, terms in reads)
        rarely = reads_rarely(self.graph, accesses, [labels[letter] for letter in result])
        given = [self._given(access) for access in accesses]
        if not rarely and self.is_product(equation, given, output in self.wanted_whole):
            accesses = tuple(self._in_memory(atom, terms) for atom, terms in reads)
            self.add(Kind.ROUTINE, equation, output, accesses, reduced=tuple(reduced))
        elif reduced:
            more = {"reduced": tuple(reduced), "combine": "sum"}
            self.add(Kind.REDUCE, equation, output, accesses, **more)
        else:
            self.add(Kind.POINTWISE, equation, output, accesses)

    def _given(self, access: Access) -> Access | None:
        """An access, if it is to an input of the program."""
        computed = isinstance(access.source, Literal) or access.source in self.graph.producers
        return None if computed else access

    def _in_memory(self, atom: Atom, terms: Sequence[Term]) -> Access:
        """An access with one stride for each label: to a copy, where the array has none."""
        access = self.access(atom, terms)
        if all(isinstance(a, Label) for term in access.terms for a in term.atoms()) and isinstance(
            access.source, Variable
        ):
            return access
        copy = Variable(atom.type)
        labels = self.same_axes(copy, atom, range(atom.type.ndim))
        self.add(Kind.GUARDED, None, copy, (self.access(atom, whole(labels)),))
        return Access(copy, tuple(terms))

    def _system(self, equation: Equation) -> None:
        """A routine on square matrices, whose operands have the dtype in which it computes."""
        *casts, equation = systems.converted(equation)
        for cast in casts:
            self._elementwise(cast, cast.outputs[0], 0)
        axes = self.graph.axes
        accesses = tuple(self._in_memory(a, whole(axes[a])) for a in systems.used(equation))
        for variable in equation.outputs:
            self.new_axes(variable, [None] * variable.type.ndim)
        first, *others = equation.outputs
        self.add(Kind.ROUTINE, equation, first, accesses, others=tuple(others))

    def _rows(self, equation: Equation) -> None:
        """A function along one axis, between casts to the dtypes that it knows."""
        for part in rows.converted(equation):
            atom: Any = part.inputs[0]
            (output,) = part.outputs
            if part.primitive is not equation.primitive:
                self._elementwise(part, output, 0)
                continue
            access = self._in_memory(atom, whole(self.graph.axes[atom]))
            self.new_axes(output, [None] * output.type.ndim)
            self.add(Kind.ROUTINE, part, output, (access,))

    def _matrices(self, equation: Equation) -> None:
        """Eigenvalues or singular values, between casts to double precision."""
        for part in matrices.converted(equation):
            if part.primitive is not equation.primitive:
                self._elementwise(part, part.outputs[0], 0)
                continue
            read: Any = part.inputs
            accesses = tuple(self._in_memory(a, whole(self.graph.axes[a])) for a in read)
            for variable in part.outputs:
                self.new_axes(variable, [None] * variable.type.ndim)
            first, *others = part.outputs
            self.add(Kind.ROUTINE, part, first, accesses, others=tuple(others))

    def write(self, equation: Equation) -> None:
        """A write into a part that is known beforehand."""
        (output,), (atom, value) = equation.outputs, equation.inputs
        index = equation.params["index"]
        labels = self.same_axes(output, atom, range(atom.type.ndim))
        inner, guards = written(index, whole(labels))
        wide = [axis for axis, entry in enumerate(index) if not isinstance(entry, int)]
        lead = len(wide) - value.type.ndim
        for place, axis in enumerate(wide):  # parts that reach over a whole axis share its label
            if place >= lead and index[axis] == (0, atom.type.shape[axis], 1):
                one, other = self.known(value, place - lead), labels[axis]
                if one is not None and other is not None:
                    one.join(other)
        old = self.access(atom, whole(labels))
        if not prod(indexed_shape(index)):  # nothing is written
            self.add(Kind.GUARDED, equation, output, (old,), combine="last")
            return
        part = self.aligned(value, inner)
        new = Access(part.source, part.terms, needed(guards))
        combine = "sum" if equation.primitive is INCREMENT else "last"
        self.add(Kind.GUARDED, equation, output, (old, new), combine=combine)

    def _join(self, equation: Equation) -> None:
        """Arrays joined along an axis, or stacked along one of their own."""
        (output,) = equation.outputs
        axis, stacks = equation.params["axis"], equation.primitive is STACK
        carried = [
            None if result_axis == axis else result_axis - (stacks and result_axis > axis)
            for result_axis in range(output.type.ndim)
        ]
        labels = self.same_axes(output, equation.inputs[0], carried)
        terms = whole(labels)
        start, accesses = 0, []
        for atom in equation.inputs:
            length = 1 if stacks else atom.type.shape[axis]
            for result_axis, place in enumerate(carried):
                one = None if place is None else self.known(atom, place)
                other = labels[result_axis]
                if one is not None and other is not None:
                    one.join(other)
            inside = ZERO if length == 1 else terms[axis].scaled(1, -start)
            guard = IndexGuard(terms[axis], start, start + length)
            middle = () if stacks else (inside,)
            moved = self.access(atom, (*terms[:axis], *middle, *terms[axis + 1 :]))
            accesses.append(Access(moved.source, moved.terms, needed((guard,))))
            start += length
        self.add(Kind.GUARDED, equation, output, tuple(accesses), combine="last")

    def _gather(self, equation: Equation) -> None:
        """The leading axes of an array are indexed by other arrays."""
        (output,) = equation.outputs
        array, *indices = equation.inputs
        count, rank = len(indices), indices[0].type.ndim
        wanted = [self.known(indices[0], axis) for axis in range(rank)]
        wanted += [self.known(array, axis) for axis in range(count, array.type.ndim)]
        labels = self.new_axes(output, wanted)
        reads: list[Access] = []
        bounds: list[int] = []
        terms: list[Term] = []
        for index, length in zip(indices, array.type.shape[:count], strict=True):
            read = self.access(index, whole(labels[:rank]))
            term = self._counted(read)
            if term is None or not _within(term, length):
                term = dynamic_terms(len(reads) + 1)[-1]
                reads.append(read)
                bounds.append(length)
            terms.append(term)
        source = self.access(array, (*terms, *whole(labels[rank:])))
        if not reads:
            self.add(Kind.GUARDED, equation, output, (source,), combine="last")
            return
        more = {"indices": tuple(reads), "bounds": tuple(bounds)}
        self.add(Kind.GATHER, equation, output, (source,), **more)

    def _counted(self, access: Access) -> Term | None:
        """What is read, where that is known to be a term of the labels, as numbers in order are."""
        node = self.graph.producers.get(access.source)  # type: ignore[arg-type]
        if node is None or node.kind is not Kind.NUMBER:
            return None
        axes = zip(node.labels, access.terms, strict=True)
        values = {label.find(): term for label, term in axes if label is not None}
        return substitute(node.target[0], values)

    def scatter(self, equation: Equation) -> None:
        """What is written where other arrays say."""
        (output,) = equation.outputs
        array, given, *indices = equation.inputs
        labels = self.same_axes(output, array, range(array.type.ndim))
        lanes, reads = self.running(output, indices)
        tail = whole(labels[len(indices) :])
        value = self.aligned(given, (*whole(lanes), *tail))
        self.add(
            Kind.SCATTER,
            equation,
            output,
            (self.access(array, whole(labels)), value),
            indices=reads,
            bounds=array.type.shape[: len(indices)],
            reduced=tuple(label for label in lanes if label is not None),
            combine="sum" if equation.primitive is GATHER_ADD else "last",
            target=(*dynamic_terms(len(indices)), *tail),
        )

    def running(
        self, owner: Variable, indices: Sequence[Atom]
    ) -> tuple[list[Label | None], tuple[Access, ...]]:
        """The labels that run over index arrays, and how these are read."""
        shape = indices[0].type.shape
        lanes = list(self.reduced(owner, list(enumerate(shape)), indices[0]).values())
        return lanes, tuple(self.access(index, whole(lanes)) for index in indices)

    def _last_write(self, equation: Equation) -> None:
        """Where indices differ all writes are the last, and there is nothing to be found out."""
        (output,) = equation.outputs
        if output.type.size > 1 and not any(map(self._counts, equation.inputs)):
            return self._several(last_write(equation))
        self.new_axes(output, [None] * output.type.ndim)
        self.moves[output] = Literal(np.True_), Movement(lambda terms: (), ())

    def _counts(self, atom: Atom) -> bool:
        """Whether an array has the numbers from 0 on, one after the other."""
        if not isinstance(atom, Variable) or atom.type.ndim != 1:
            return False
        terms = whole(self.graph.axes[atom])
        access = self.access(atom, terms)
        node = self.graph.producers.get(access.source)  # type: ignore[arg-type]
        return node is not None and node.kind is Kind.NUMBER and access.terms == terms

    # --- loops and branches -----------------------------------------------------------------------

    def _control(self, equation: Equation) -> None:
        if not equation.outputs:
            return
        accesses = tuple(map(self._in_one_piece, equation.inputs))
        for variable in equation.outputs:
            self.new_axes(variable, [None] * variable.type.ndim)
        first, *others = equation.outputs
        number, derived = len(self.graph.nodes), equation.transformed
        node = ArrayNode(number, Kind.CONTROL, equation, first, (), accesses, derived=derived)
        node.others = tuple(others)
        self.graph.nodes.append(node)
        self.graph.producers.update(dict.fromkeys(equation.outputs, node))

    def _in_one_piece(self, atom: Atom) -> Access:
        """Where an operand begins in memory, as a block of it; in a copy, where it is none."""
        if not atom.type.ndim:
            return self.access(atom, ())
        assert isinstance(atom, Variable)
        source, start = self.parts.get(atom, (atom, 0))
        if isinstance(source, Variable) and source.type.ndim and source not in self.moves:
            shape = source.type.shape
            return Access(source, tuple(Term((), int(n)) for n in np.unravel_index(start, shape)))
        copy = Variable(atom.type)
        labels = self.same_axes(copy, atom, range(atom.type.ndim))
        self.add(Kind.GUARDED, None, copy, (self.access(atom, whole(labels)),))
        return Access(copy, (ZERO,) * atom.type.ndim)


def _within(term: Term, length: int) -> bool:
    """Whether a term is always one of so many indices."""
    if any(isinstance(atom, Dynamic) for atom in term.atoms()):
        return False
    low, high = term.bounds({})
    return low >= 0 and high < length


def dynamic_terms(count: int) -> tuple[Term, ...]:
    """The values of so many index arrays."""
    return tuple(Term(((Dynamic(place), 1),)) for place in range(count))
