"""Labels for the axes of variables, and accesses to what has memory of its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from adjoint.executors.native.graph.indices import ZERO, Access, IndexGuard, Label, Term
from adjoint.executors.native.graph.nodes import (
    CONTROL,
    JOINS,
    SCATTERS,
    STRUCTURE,
    WRITES,
    ArrayNode,
    Graph,
    Kind,
)
from adjoint.executors.native.graph.structure import Movement, whole
from adjoint.executors.native.rows import equations as rows
from adjoint.executors.native.rows import matrices
from adjoint.executors.native.systems import equations as systems
from adjoint.primitives.structure.contraction import CONTRACT
from adjoint.primitives.structure.gathering import GATHER, LAST_WRITE
from adjoint.program import Atom, Equation, Program, Variable

# What reads whole arrays, and not one number of each at a time.
_OF_ARRAYS: Final = (
    *({CONTRACT, GATHER, LAST_WRITE} | CONTROL | JOINS | SCATTERS | WRITES),
    *(*systems.ALL, *systems.CHOLESKY_SLOPES, *rows.ALL, *matrices.ALL),
)


class AccessBuilder:
    """What all that builds nodes of a program is made of.

    moves: what is another atom, seen otherwise. parts: what is a block of another atom's memory,
    and where it begins there.
    """

    def __init__(self, program: Program) -> None:
        self.graph = Graph(program)
        self.moves: dict[Variable, tuple[Atom, Movement]] = {}
        self.parts: dict[Variable, tuple[Atom, int]] = {}

    @cached_property
    def wanted_whole(self) -> set[Any]:
        """What is returned, or read by anything but elementwise functions and reductions."""
        wanted: set[Any] = set(self.graph.program.outputs)
        for equation in reversed(self.graph.program.equations):
            primitive = equation.primitive
            moved = primitive in STRUCTURE and not wanted.isdisjoint(equation.outputs)
            if moved or primitive in _OF_ARRAYS:
                wanted.update(equation.inputs)
        return wanted

    # --- labels -----------------------------------------------------------------------------------

    def label(self, extent: int) -> Label:
        """A new label."""
        label = Label(extent, len(self.graph.labels))
        self.graph.labels.append(label)
        return label

    def new_axes(
        self, variable: Variable, wanted: Sequence[Label | None]
    ) -> tuple[Label | None, ...]:
        """Give a variable its labels: joined with those wanted, where that is possible."""
        labels: list[Label | None] = []
        for length, label in zip(variable.type.shape, wanted, strict=True):
            if length == 1:
                labels.append(None)
                continue
            own = self.label(length)
            own.members.add(variable)
            if label is not None:
                label.join(own)
            labels.append(own)
        self.graph.axes[variable] = tuple(labels)
        return tuple(labels)

    def known(self, atom: Atom, axis: int) -> Label | None:
        """The label of an axis, if it has one."""
        return self.graph.axes[atom][axis] if isinstance(atom, Variable) else None

    def same_axes(
        self, variable: Variable, atom: Atom, carried: Sequence[int | None]
    ) -> tuple[Label | None, ...]:
        """Give a variable the labels of an atom's axes, where it carries them."""
        return self.new_axes(
            variable, [None if axis is None else self.known(atom, axis) for axis in carried]
        )

    # --- accesses ---------------------------------------------------------------------------------

    def access(
        self, atom: Atom, terms: Sequence[Term], guards: tuple[IndexGuard, ...] = ()
    ) -> Access:
        """Read an atom at terms, through all structure to what has memory of its own."""
        terms = tuple(terms)
        while isinstance(atom, Variable) and atom in self.moves:
            source, movement = self.moves[atom]
            terms, atom = movement.back(terms), source
        return Access(atom, terms, guards)

    def aligned(self, atom: Atom, terms: Sequence[Term]) -> Access:
        """Read an operand that is broadcast against the result."""
        shape = atom.type.shape
        lead = len(terms) - len(shape)
        return self.access(
            atom, [ZERO if n == 1 else terms[lead + axis] for axis, n in enumerate(shape)]
        )

    def add(
        self,
        kind: Kind,
        equation: Equation | None,
        output: Variable,
        accesses: tuple[Access, ...],
        **more: Any,
    ) -> ArrayNode:
        """Add a node."""
        derived = equation is not None and equation.transformed
        node = ArrayNode(
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
        self.graph.producers.update(dict.fromkeys(node.outputs, node))
        return node

    def in_same_order(self, atom: Atom) -> Variable | None:
        """The variable in whose memory the numbers of an atom, and no others, are row by row."""
        own = self.itself(atom)
        if own is not None or not isinstance(atom, Variable) or not atom.type.ndim:
            return own
        source, _ = self.parts.get(atom, (atom, 0))
        if not source.type.ndim or source.type.size != atom.type.size:
            return None
        return self.itself(source)

    def itself(self, atom: Atom) -> Variable | None:
        """The variable with memory or registers of its own that an atom is, index by index."""
        if not isinstance(atom, Variable):
            return None
        terms = whole(self.graph.axes[atom])
        access = self.access(atom, terms)
        source = access.source
        if not isinstance(source, Variable) or source.type.shape != atom.type.shape:
            return None
        return source if access.terms == terms else None
