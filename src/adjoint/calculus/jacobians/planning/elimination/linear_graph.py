"""The graph of a linear program: its numbers are the vertices, and what it multiplies by the edges.

What only moves numbers around adds nothing to the graph: its entries are those that went in. So the
graph of plain NumPy code with `x[0]`, `x[1]` and a stack at the end is that of the numbers between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, Final

import numpy as np

from adjoint.calculus.jacobians.planning.elimination.factors import LANES, EdgeFactor, KnownNumber
from adjoint.calculus.jacobians.planning.elimination.graph import EliminationGraph, without_idle
from adjoint.calculus.jacobians.planning.elimination.lanes import (
    NOTHING,
    Entries,
    NotSeparable,
    aligned,
    moved,
)
from adjoint.primitives.elementwise.arithmetic import ADD, MULTIPLY, NEGATIVE, SUBTRACT
from adjoint.primitives.elementwise.conversion import CAST
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.elementwise.selection import SELECT
from adjoint.primitives.structure.contraction import CONTRACT, split_spec
from adjoint.primitives.structure.moving import BROADCAST, RESHAPE, SUM, TRANSPOSE
from adjoint.primitives.structure.slicing import CONCATENATE, INCREMENT, SLICE, STACK, UPDATE
from adjoint.program import Atom, Equation, Variable

MOST_EDGES: Final = 6000
_MOVES: Final = frozenset({RESHAPE, TRANSPOSE, SLICE, CONCATENATE, STACK, UPDATE})
Term = tuple[int, EdgeFactor]


class LinearGraph:
    """The graph of linear equations.

    lanes: how many lanes a vertex has, 1 if it is one number. last: whether they lie along the last
    axis of the inputs that have them, or along the first. factors: what each edge multiplies by.
    inputs, outputs: the entries of the tangents and of the results, all vertices of their own.
    """

    def __init__(
        self,
        tangents: Sequence[Variable],
        moving: Sequence[Equation],
        results: Sequence[Variable],
        lanes: int,
        last: bool,
    ) -> None:
        self.lanes = lanes
        self.factors: dict[tuple[int, int], EdgeFactor] = {}
        self.variables = (*tangents, *(x for equation in moving for x in equation.outputs))
        self._last = last
        self._size = 0
        self._entries: dict[Atom, Entries] = {}
        self.inputs = [self._input(tangent) for tangent in tangents]
        self._first = self._size  # of what is computed
        for equation in moving:
            self._entries[equation.outputs[0]] = self._computed(equation)
        self.outputs = self._sinks(results)

    @cached_property
    def graph(self) -> EliminationGraph:
        """Its structure."""
        edges = {edge: factor.is_unit for edge, factor in self.factors.items()}
        outputs = (int(v) for x in self.outputs for v in x.vertices.flat if v != NOTHING)
        kept = frozenset((*range(self._first), *outputs))
        return without_idle(EliminationGraph(self._size, edges, kept), range(self._first))

    # --- vertices --------------------------------------------------------------------------------

    def _vertex(self, terms: Sequence[Term]) -> int:
        """A number that is the sum of these terms: a new vertex, unless it is another one as such.

        Raises:
            NotSeparable: the graph has become too large.
        """
        if not terms:
            return NOTHING
        if terms == [(terms[0][0], EdgeFactor())]:
            return int(terms[0][0])
        sources: dict[int, EdgeFactor] = {}
        for source, factor in terms:
            sources[self._relay(source) if source in sources else source] = factor
        vertex = self._new()
        self.factors.update(((source, vertex), factor) for source, factor in sources.items())
        if len(self.factors) > MOST_EDGES:
            raise NotSeparable
        return vertex

    def _relay(self, source: int) -> int:
        """A copy of a vertex, for a second edge between the same two."""
        vertex = self._new()
        self.factors[source, vertex] = EdgeFactor()
        return vertex

    def _new(self) -> int:
        self._size += 1
        return self._size - 1

    def _input(self, tangent: Variable) -> Entries:
        shape = tangent.type.shape
        axis = len(shape) - 1 if self._last else 0
        laned = self.lanes > 1 and bool(shape) and shape[axis] == self.lanes
        kept = tuple(length for place, length in enumerate(shape) if not laned or place != axis)
        vertices = np.arange(self._size, self._size + int(np.prod(kept))).reshape(kept)
        self._size += vertices.size
        self._entries[tangent] = Entries(vertices, axis if laned else None)
        return self._entries[tangent]

    def _sinks(self, results: Sequence[Variable]) -> list[Entries]:
        """The entries of the results, as vertices that nothing else uses, each of one result."""
        used = {source for source, _ in self.factors} | set(range(self._first)) | {NOTHING}
        # One that is several entries of results is none of them, since it would be kept.
        shown = Counter(int(v) for result in results for v in self._entries[result].vertices.flat)
        used.update(vertex for vertex, count in shown.items() if count > 1)
        sinks = []
        for result in results:
            entries = self._entries[result]
            vertices = np.array(entries.vertices)
            for place, vertex in np.ndenumerate(vertices):
                if vertex in used and vertex != NOTHING:
                    vertices[place] = self._relay(int(vertex))
            sinks.append(Entries(vertices, entries.lanes))
        return sinks

    # --- equations -------------------------------------------------------------------------------

    def _computed(self, equation: Equation) -> Entries:
        """The entries of the result of an equation; NotSeparable where there is no rule."""
        primitive = equation.primitive
        if equation.outputs[0].type.dtype.kind != "f":
            raise NotSeparable
        if primitive in _MOVES:
            return self._moved(primitive.evaluate, equation)
        rule = _RULES.get(primitive)
        if rule is None:
            raise NotSeparable
        return rule(self, equation)

    def _of(self, atom: Atom) -> Entries:
        """The entries of a term; one that does not vary is zero, or the program were not linear."""
        entries = self._entries.get(atom)
        return Entries(np.full(atom.type.shape, NOTHING), None) if entries is None else entries

    def _moved(self, move: Callable[..., Any], equation: Equation) -> Entries:
        operands = [self._of(atom) for atom in equation.inputs]
        return moved(partial(move, **equation.params), operands, self.lanes)

    def _elementwise(
        self, equation: Equation, terms: Sequence[tuple[Atom, Callable[..., EdgeFactor]]]
    ) -> Entries:
        """The entries of a sum of terms: operands, each with the factor at an index."""
        shape = equation.outputs[0].type.shape
        operands = [self._of(atom) for atom, _ in terms]
        lanes = self._result_lanes(operands, len(shape), shape)
        kept = tuple(length for place, length in enumerate(shape) if place != lanes)
        arrays = [np.broadcast_to(aligned(x, len(shape), lanes), kept) for x in operands]
        vertices = np.empty(kept, np.int64)
        for place in np.ndindex(kept):
            index = place if lanes is None else (*place[:lanes], LANES, *place[lanes:])
            vertices[place] = self._vertex(
                [
                    (int(array[place]), factor(index))
                    for array, (_, factor) in zip(arrays, terms, strict=True)
                    if array[place] != NOTHING
                ]
            )
        return Entries(vertices, lanes)

    def _result_lanes(
        self, operands: Sequence[Entries], ndim: int, shape: tuple[int, ...]
    ) -> int | None:
        for operand in operands:
            if operand.lanes is not None:
                return operand.lanes + ndim - operand.vertices.ndim - 1
        axis = ndim - 1 if self._last else 0
        if self.lanes == 1 or not ndim or shape[axis] != self.lanes:
            return None
        # What was the same at all points is now repeated along the axis of the lanes, or is not.
        for operand in operands:
            place = axis - ndim + operand.vertices.ndim
            if place >= 0 and operand.vertices.shape[place] != 1:
                return None
        return axis

    def _scaled(self, equation: Equation) -> Entries:
        known_factor, tangent = equation.inputs
        if tangent not in self._entries:
            known_factor, tangent = tangent, known_factor
        if known_factor in self._entries:
            raise NotSeparable
        known = _aligned_index(known_factor, equation)
        return self._elementwise(equation, [(tangent, lambda index: EdgeFactor(1, known(index)))])

    def _signed(self, signs: Sequence[int], equation: Equation) -> Entries:
        pairs = zip(equation.inputs, signs, strict=True)
        return self._elementwise(
            equation, [(atom, lambda _, s=sign: EdgeFactor(s)) for atom, sign in pairs]
        )

    def _selected(self, equation: Equation) -> Entries:
        mask, *values = equation.inputs
        chosen = [_aligned_index(mask, equation, inverted) for inverted in (False, True)]
        return self._elementwise(
            equation,
            [
                (atom, lambda index, known=known: EdgeFactor(1, None, known(index)))
                for atom, known in zip(values, chosen, strict=True)
            ],
        )

    def _incremented(self, equation: Equation) -> Entries:
        whole, part = map(self._of, equation.inputs)
        index = equation.params["index"]
        old = moved(partial(SLICE.evaluate, index=index), [whole], self.lanes)
        shape = old.spread(self.lanes).shape
        lanes = self._result_lanes((old, part), len(shape), shape)
        arrays = np.broadcast_arrays(*(aligned(x, len(shape), lanes) for x in (old, part)))
        sums = np.empty(arrays[0].shape, np.int64)
        for place in np.ndindex(sums.shape):
            sources = [int(array[place]) for array in arrays if array[place] != NOTHING]
            sums[place] = self._vertex([(source, EdgeFactor()) for source in sources])
        new = Entries(sums, lanes)
        return moved(partial(UPDATE.evaluate, index=index), [whole, new], self.lanes)

    def _summed(self, equation: Equation) -> Entries:
        (x,), axes = map(self._of, equation.inputs), equation.params["axes"]
        if x.lanes in axes:
            raise NotSeparable
        passed = 0 if x.lanes is None else sum(axis < x.lanes for axis in axes)
        lanes = None if x.lanes is None else x.lanes - passed
        inner = [axis - (x.lanes is not None and axis > x.lanes) for axis in axes]
        rest = [axis for axis in range(x.vertices.ndim) if axis not in inner]
        groups = np.transpose(x.vertices, (*rest, *inner))
        shape = groups.shape[: len(rest)]
        vertices = np.empty(shape, np.int64)
        for place in np.ndindex(shape):
            sources = [int(v) for v in groups[place].flat if v != NOTHING]
            vertices[place] = self._vertex([(source, EdgeFactor()) for source in sources])
        return Entries(vertices, lanes)

    def _contracted(self, equation: Equation) -> Entries:
        left, right, result = split_spec(equation.params["spec"])
        pairs = [(equation.inputs[0], left), (equation.inputs[1], right)]
        if pairs[1][0] in self._entries:
            pairs.reverse()
        (moving, moving_labels), (fixed, fixed_labels) = pairs
        if fixed in self._entries:
            raise NotSeparable
        x = self._of(moving)
        lane = None if x.lanes is None else moving_labels[x.lanes]
        if lane is not None and lane not in result:
            raise NotSeparable
        lengths = dict(zip(moving_labels, moving.type.shape, strict=True))
        lengths |= dict(zip(fixed_labels, fixed.type.shape, strict=True))
        outer = [label for label in result if label != lane]
        inner = [label for label in moving_labels if label not in result]
        own = [label for label in moving_labels if label != lane]
        vertices = np.empty([lengths[label] for label in outer], np.int64)
        for place in np.ndindex(vertices.shape):
            at: dict[str, int | None] = dict(zip(outer, place, strict=True))
            terms = []
            for inside in np.ndindex(*(lengths[label] for label in inner)):
                at.update(zip(inner, inside, strict=True))
                source = int(x.vertices[tuple(at[label] for label in own)])
                index = tuple(at.get(label, LANES) for label in fixed_labels)
                if source != NOTHING:
                    terms.append((source, EdgeFactor(1, KnownNumber(fixed, index))))
            vertices[place] = self._vertex(terms)
        return Entries(vertices, None if lane is None else result.index(lane))

    def _repeated(self, equation: Equation) -> Entries:
        return self._elementwise(equation, [(equation.inputs[0], lambda _: EdgeFactor())])


def _aligned_index(
    known: Atom, equation: Equation, inverted: bool = False
) -> Callable[[tuple[int | None, ...]], KnownNumber]:
    """From an index of the result to what a known operand of an elementwise function is there."""
    shape = known.type.shape
    lead = equation.outputs[0].type.ndim - len(shape)

    def at(index: tuple[int | None, ...]) -> KnownNumber:
        own = zip(index[lead:], shape, strict=True)
        return KnownNumber(known, tuple(0 if n == 1 else i for i, n in own), inverted)

    return at


_RULES: Final[dict[Any, Callable[[LinearGraph, Equation], Entries]]] = {
    ADD: lambda graph, equation: graph._signed((1, 1), equation),
    BROADCAST: LinearGraph._repeated,
    CAST: LinearGraph._repeated,
    CONTRACT: LinearGraph._contracted,
    INCREMENT: LinearGraph._incremented,
    MULTIPLY: LinearGraph._scaled,
    NEGATIVE: lambda graph, equation: graph._signed((-1,), equation),
    SCALE: LinearGraph._scaled,
    SELECT: LinearGraph._selected,
    SUBTRACT: lambda graph, equation: graph._signed((1, -1), equation),
    SUM: LinearGraph._summed,
}
