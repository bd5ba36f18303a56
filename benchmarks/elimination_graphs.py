"""Graphs of programs as they are published: a vertex for each operation on numbers as written.

The published counts take a multiplication for each pair of edges through a vertex, whatever they
multiply by, and none for what moves numbers around. No common subexpression is shared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.calculus.inputs.arguments import Chosen
from adjoint.calculus.jacobians.planning.elimination import (
    EliminationGraph,
    LinearGraph,
    OperationCount,
)
from adjoint.calculus.jacobians.planning.elimination.graph import without_idle
from adjoint.calculus.jacobians.planning.elimination.lanes import NOTHING
from adjoint.calculus.jacobians.planning.jacobians import Differentiated
from adjoint.calculus.jit.captures import captured_at
from adjoint.program import Equation, Program, Variable
from adjoint.transforms import linearize
from adjoint.transforms.staging import split_equations

MOVES = {"slice", "reshape", "stack", "concatenate", "transpose", "cast", "broadcast", "update"}


def published_graph(function: Any, arguments: tuple[Any, ...]) -> EliminationGraph:
    """The graph of a function at its arguments, all of which vary."""
    chosen = Chosen(tuple(range(len(arguments))), arguments, {})
    captured = captured_at(function, chosen)
    program = captured.program()
    growing = _Growing()
    for variable in program.inputs[: len(chosen.leaves)]:
        growing.entries[variable] = growing.new(variable.type.shape)
    inputs = growing.size
    for equation in program.equations:
        growing.append(equation)
    outputs = growing.sinks(program.outputs[: len(captured.outputs)], inputs)
    kept = frozenset((*range(inputs), *outputs))
    graph = EliminationGraph(growing.size, dict.fromkeys(growing.edges, False), kept)
    return without_idle(graph, range(inputs))


def executed_count(function: Any, arguments: tuple[Any, ...]) -> OperationCount:
    """What the elimination that `ad.jacobian` runs takes."""
    chosen = Chosen(tuple(range(len(arguments))), arguments, {})
    captured = captured_at(function, chosen)
    differentiated = Differentiated(captured.program(), len(chosen.leaves), len(captured.outputs))
    assert differentiated.eliminated is not None
    return differentiated.eliminated.count


class _Growing:
    def __init__(self) -> None:
        self.size = 0
        self.edges: set[tuple[int, int]] = set()
        self.entries: dict[Any, Any] = {}

    def new(self, shape: tuple[int, ...]) -> Any:
        count = int(np.prod(shape))
        self.size += count
        return np.arange(self.size - count, self.size).reshape(shape)

    def append(self, equation: Equation) -> None:
        """The vertices of the results of an equation, and the edges to them."""
        operands = list(dict.fromkeys(x for x in equation.inputs if isinstance(x, Variable)))
        active = [x in self.entries for x in operands]
        if not any(active) or equation.outputs[0].type.dtype.kind != "f":
            return
        split = linearize(Program(operands, [equation], equation.outputs), active, given=False)
        if not any(split.varying):
            return
        tangents = split.linear.inputs[split.residuals :]
        moving = split_equations(split.linear.equations, tangents)[1]
        results = [x for x in split.linear.outputs if isinstance(x, Variable)]
        local = LinearGraph(tangents, moving, results, 1, True)
        sources = np.concatenate([self.entries[x].ravel() for x in operands if x in self.entries])
        reached = _reached(local, sources.size)
        moves = equation.primitive.name in MOVES
        for variable, entries in zip(equation.outputs, local.outputs, strict=True):
            if moves:  # each entry is one of those that came in, or a constant
                self.entries[variable] = np.array(
                    [
                        NOTHING if v == NOTHING else sources[next(iter(reached[int(v)]))]
                        for v in entries.vertices.flat
                    ]
                ).reshape(entries.vertices.shape)
                continue
            vertices = self.new(entries.vertices.shape)
            self.entries[variable] = vertices
            for own, vertex in zip(vertices.flat, entries.vertices.flat, strict=True):
                if vertex != NOTHING:
                    before = (int(sources[u]) for u in reached[int(vertex)])
                    self.edges.update((u, int(own)) for u in before if u != NOTHING)

    def sinks(self, outputs: Any, inputs: int) -> list[int]:
        """Vertices of the outputs; what is used elsewhere too is handed on to one of its own."""
        sinks: list[int] = []
        used = {u for u, _ in self.edges} | set(range(inputs))
        for output in outputs:
            for vertex in self.entries[output].flat if output in self.entries else ():
                if vertex == NOTHING:
                    continue
                if int(vertex) in used:
                    self.edges.add((int(vertex), self.size))
                    vertex, self.size = self.size, self.size + 1
                used.add(int(vertex))
                sinks.append(int(vertex))
        return sinks


def _reached(local: LinearGraph, inputs: int) -> dict[int, set[int]]:
    """For each vertex, from which inputs there is a way to it."""
    reached = {vertex: {vertex} for vertex in range(inputs)}
    for source, target in sorted(local.graph.edges, key=lambda edge: edge[1]):
        reached.setdefault(target, set()).update(reached[source])
    return reached
