"""The graphs of bodies, in which a write into a part of an array is a write, and no new array.

`x[:, i] = v` and `x[i, 1:-1] = v` are captured as writes into a view (the transpose, the slice) of
x that then goes back into x. Where x may be written over, both are one write into x itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Final

from adjoint.executors.native.graph.building import GraphBuilder, IsProduct, dynamic_terms
from adjoint.executors.native.graph.indices import Access, Label, Term
from adjoint.executors.native.graph.nodes import SCATTERS, WRITES, Graph, Kind
from adjoint.executors.native.graph.structure import Movement, Terms, sliced, whole
from adjoint.primitives.elementwise.conversion import CAST, STOP_GRADIENT
from adjoint.primitives.structure.gathering import GATHER_ADD
from adjoint.primitives.structure.moving import TRANSPOSE
from adjoint.primitives.structure.slicing import INCREMENT, SLICE, UPDATE, indexed_shape
from adjoint.program import Atom, Equation, Literal, Program, Variable

SMALLEST: Final = 64  # numbers of an array that it is worth while not to copy
WRITERS: Final = WRITES | SCATTERS
VIEWS: Final = frozenset({TRANSPOSE, SLICE, STOP_GRADIENT, CAST})


class BodyGraphBuilder(GraphBuilder):
    """Builds the graph of a body. over: see `GraphBuilder`."""

    def __init__(self, program: Program, is_product: IsProduct, over: Mapping[int, int]) -> None:
        super().__init__(program, is_product, over)
        self._producers = {v: equation for equation in program.equations for v in equation.outputs}
        self._order: dict[Equation | None, int] = {e: n for n, e in enumerate(program.equations)}
        self._users: dict[Atom, list[Equation | None]] = {}
        for equation in program.equations:
            for atom in equation.inputs:
                self._users.setdefault(atom, []).append(equation)
        for atom in program.outputs:
            self._users.setdefault(atom, []).append(None)
        self._owned = {program.inputs[place] for place in over.values()}
        self._written: dict[Variable, Variable] = {}  # by what it became
        self._parts_of: dict[Atom, bool] = {}  # views of what was written; whether of a part alone
        self._waiting: dict[Atom, Equation] = {}  # scatters into zeros that are added to others
        self._cleared: dict[Atom, Atom] = {}  # what has zeros in a part, and what it was before

    def _may_write(self, variable: Variable) -> bool:
        """Whether a body may write over an array, as far as can be told yet."""
        while variable in self._written:
            variable = self._written[variable]
        node = self.graph.producers.get(variable)
        if node is not None and node.kind is Kind.SCATTER:
            source = node.accesses[0].source
            return isinstance(source, Variable) and self._may_write(source)
        return variable in self._owned or (node is not None and node.kind is Kind.CONTROL)

    # --- parts that are read when the whole has been written over ---------------------------------

    def structure(self, equation: Equation) -> None:
        """A view; a small part that is read after the whole has been written over is a copy."""
        if equation.primitive is not SLICE or not self._outlives(equation):
            return super().structure(equation)
        (output,), (atom,) = equation.outputs, equation.inputs
        movement = sliced(atom.type.shape, equation.params["index"])
        labels = self.same_axes(output, atom, movement.carried)
        self.add(Kind.GUARDED, None, output, (self.access(atom, movement.back(whole(labels))),))
        return None

    def _outlives(self, equation: Equation) -> bool:
        (output,), (atom,) = equation.outputs, equation.inputs
        base, _ = self._base(atom)
        if base is None or 4 * output.type.size > base.type.size or not self._may_write(base):
            return False
        writers = [
            self._order[self._users[user.outputs[0]][0] if self._is_filled_later(user) else user]
            for user in self._users[atom]
            if user is not None and user.primitive in WRITERS and user.inputs[0] is atom
        ]
        users = self._users.get(output, [])
        last = max((self._order.get(user, len(self._order)) for user in users), default=0)
        return bool(writers) and last > min(writers)

    # --- writes at computed indices into views ----------------------------------------------------

    def scatter(self, equation: Equation) -> None:
        """What is written where other arrays say; into a view, where what it views is written."""
        array, (output,) = equation.inputs[0], equation.outputs
        if self._only_added(equation):
            self._waiting[output] = equation
            self.same_axes(output, array, range(array.type.ndim))
            return None
        base, part = self._base(array)
        if base is None or base is array or not self._may_write(base):
            return super().scatter(equation)
        if part and not self._goes_back(output, base):
            return super().scatter(equation)
        new = self._scattered(equation, base, lambda terms: self.access(array, terms).terms)
        return self._becomes(output, array, new, part)

    def _scattered(
        self, equation: Equation, base: Variable, place: Callable[[Terms], Terms]
    ) -> Variable:
        """A scatter into a view of an array. place: where terms of the view are in the array."""
        array, given, *indices = equation.inputs
        tail = self._part_labels(array.type.shape[len(indices) :], given)
        lanes, reads = self.running(Variable(array.type), indices)
        terms = (*dynamic_terms(len(indices)), *whole(tail))
        value = self.aligned(given, (*whole(lanes), *whole(tail)))
        combine = "sum" if equation.primitive is GATHER_ADD else "last"
        bounds = array.type.shape[: len(indices)]
        labels = [*lanes, *tail]
        return self._into(
            equation, base, value, place(terms), labels, combine, indices=reads, bounds=bounds
        )

    def _only_added(self, equation: Equation) -> bool:
        """Whether a scatter into zeros is for nothing but to be added to parts of others."""
        (output,), zeros = equation.outputs, equation.inputs[0]
        if equation.primitive is not GATHER_ADD or zeros not in self.graph.axes:
            return False
        source = self.access(zeros, whole(self.graph.axes[zeros])).source
        return _is_zero(source) and all(
            user is not None
            and user.primitive is INCREMENT
            and user.inputs[1] is output
            and indexed_shape(user.params["index"]) == output.type.shape
            for user in self._users.get(output, ())
        )

    def _base(self, atom: Atom) -> tuple[Variable | None, bool]:
        """What an array is a view of, by transposes and slices; whether of a part alone."""
        part = False
        while atom in self.moves:
            maker = self._producers.get(atom)
            primitive = None if maker is None else maker.primitive
            if atom not in self._parts_of and primitive not in VIEWS:
                return None, False
            part = part or self._parts_of.get(atom, primitive is SLICE)
            atom = self.moves[atom][0]
        return (atom if isinstance(atom, Variable) else None), part

    def _becomes(self, output: Variable, atom: Atom, new: Variable, part: bool) -> None:
        """A result is the same view of what was written as an atom is of what it was before."""
        self.same_axes(output, atom, range(atom.type.ndim))
        self.moves[output] = new, Movement(lambda terms: self.access(atom, terms).terms, ())
        self._parts_of[output] = part
        if self.itself(output) is new:
            self.parts[output] = new, 0

    def _goes_back(self, variable: Variable, base: Variable) -> bool:
        """Whether a part is used for nothing but to be written back into the whole."""
        while True:
            users = self._users.get(variable, [])
            user = users[0] if len(users) == 1 else None
            if user is None:
                return False
            if user.primitive in WRITES and user.inputs[1] is variable:
                target = user.inputs[0]
                if user.primitive is INCREMENT:
                    target = self._cleared.get(target, variable)
                return target in self.graph.axes and self._base(target) == (base, False)
            if user.primitive is not TRANSPOSE:
                return False
            (variable,) = user.outputs

    def _part_labels(self, shape: Sequence[int], value: Atom) -> list[Label | None]:
        """Labels that run over what is written, joined with those of the value."""
        owner = Variable(value.type)
        labels: list[Label | None] = []
        for back, length in zip(range(len(shape), 0, -1), shape, strict=True):
            label = self.label(length) if length != 1 else None
            if label is not None:
                label.members.add(owner)
            if label is not None and back <= value.type.ndim and value.type.shape[-back] == length:
                known = self.known(value, value.type.ndim - back)
                if known is not None:
                    known.join(label)
            labels.append(label)
        return labels

    def _into(
        self,
        equation: Equation,
        base: Variable,
        value: Access,
        target: Sequence[Term],
        labels: Sequence[Label | None],
        combine: str,
        indices: tuple[Access, ...] = (),
        bounds: tuple[int, ...] = (),
    ) -> Variable:
        """The array, of which a part is written over."""
        new = Variable(base.type)
        own = self.same_axes(new, base, range(base.type.ndim))
        self._written[new] = base
        self.add(
            Kind.SCATTER,
            equation,
            new,
            (self.access(base, whole(own)), value),
            indices=indices,
            bounds=bounds,
            reduced=tuple(label for label in labels if label is not None),
            combine=combine,
            target=tuple(target),
        )
        return new

    # --- writes into parts that are known ---------------------------------------------------------

    def write(self, equation: Equation) -> None:
        """A write into a part: what went into a view of the whole is there, a small one is made."""
        (output,), (atom, value) = equation.outputs, equation.inputs
        index = equation.params["index"]
        if self._is_filled_later(equation):
            self._cleared[output] = atom
            self.same_axes(output, atom, range(atom.type.ndim))
            return None
        if isinstance(atom, Variable) and atom in self._cleared:
            clearing = self._producers[atom]  # zeros, to which something is added, are that
            atom = self._cleared[atom]
            equation = Equation(clearing.operation, (atom, value), (output,))
        base, partial = self._base(atom)
        shape = indexed_shape(index)
        writable = base is not None and not partial and self._may_write(base)
        adds = equation.primitive is INCREMENT
        if value in self._waiting and not (adds and writable):
            super().scatter(self._waiting.pop(value))
        if base is None or partial or not prod(shape):
            return super().write(equation)

        def place(terms: Terms) -> Terms:
            return self.access(atom, sliced(atom.type.shape, index).back(terms)).terms

        if value in self._waiting:
            new = self._scattered(self._waiting[value], base, place)
            return self._becomes(output, atom, new, False)
        labels = self._part_labels(shape, value)
        target = place(whole(labels))
        part = self.aligned(value, whole(labels))
        source = part.source if isinstance(part.source, Variable) else base
        back = self._written.get(source) is base
        if back and part.terms == target and value.type.shape == shape and not adds:
            return self._becomes(output, atom, source, False)
        if not writable or base.type.size < max(SMALLEST, 4 * prod(shape)):
            return super().write(equation)
        combine = "sum" if adds else "last"
        new = self._into(equation, base, part, target, labels, combine)
        return self._becomes(output, atom, new, False)

    def _is_filled_later(self, equation: Equation) -> bool:
        """Whether a part of a derivative is set to zero so that something is added there."""
        users = self._users.get(equation.outputs[0], [])
        user = users[0] if len(users) == 1 else None
        return (
            user is not None
            and equation.primitive is UPDATE
            and user.primitive is INCREMENT
            and equation.transformed
            and user.inputs[0] is equation.outputs[0]
            and user.params == equation.params
            and _is_zero(equation.inputs[1])
        )


def _is_zero(atom: Atom) -> bool:
    return isinstance(atom, Literal) and not atom.value


def build_graph(
    program: Program,
    is_product: IsProduct,
    over: Mapping[int, int] | None = None,
) -> Graph:
    """The graph of a program; of a body, where `over` says what it may write over."""
    if over is None:
        return GraphBuilder(program, is_product, {}).build()
    return BodyGraphBuilder(program, is_product, over).build()
