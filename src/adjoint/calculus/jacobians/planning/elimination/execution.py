"""Programs of Jacobians by elimination: every product of two edges is one equation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.calculus.jacobians.planning.elimination.factors import Coefficient, EdgeFactor
from adjoint.calculus.jacobians.planning.elimination.lanes import NOTHING, Entries
from adjoint.calculus.jacobians.planning.elimination.linear_graph import LinearGraph
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.structure.gathering import IOTA
from adjoint.primitives.structure.moving import FILL, broadcast_to, permute, reshape
from adjoint.primitives.structure.slicing import stack
from adjoint.program import Atom, Builder, Variable


class EliminationBuilder:
    """Appends the Jacobian of a linear graph to a builder.

    names: what the variables that it knows are called in the builder.
    """

    def __init__(self, builder: Builder, linear: LinearGraph, names: dict[Variable, Atom]) -> None:
        self.builder = builder
        self.linear = linear
        self.names = names
        builder.derived = True
        self.dtype = np.result_type(*(variable.type.dtype for variable in linear.variables))
        edges = linear.graph.edges
        self._into: dict[int, dict[int, Coefficient]] = {}
        self._out: dict[int, set[int]] = {}
        for (source, target), factor in linear.factors.items():
            if (source, target) in edges:
                self._into.setdefault(target, {})[source] = self._coefficient(factor)
                self._out.setdefault(source, set()).add(target)

    def _coefficient(self, factor: EdgeFactor) -> Coefficient:
        value, mask = (
            None if known is None else known.read(self.builder, self.names, dtype)
            for known, dtype in ((factor.value, self.dtype), (factor.mask, None))
        )
        return Coefficient(factor.sign, self.dtype, value, mask)

    def eliminate(self, order: Sequence[int]) -> None:
        """Eliminate vertices, one after another."""
        for vertex in order:
            into, out = self._into.pop(vertex), self._out.pop(vertex)
            for target in sorted(out):
                row = self._into[target]
                slope = row.pop(vertex)
                for source, coefficient in into.items():
                    product = slope * coefficient
                    row[source] = row[source] + product if source in row else product
            for source in into:
                self._out[source].discard(vertex)
                self._out[source] |= out

    # --- blocks ----------------------------------------------------------------------------------

    def block(self, of: ArrayType, result: Entries, argument: Entries) -> Atom | None:
        """The derivative of a result with respect to an argument; None if it is zero."""
        pairs = [(int(w), int(u)) for w in result.vertices.flat for u in argument.vertices.flat]
        rows = [self._into.get(w, {}).get(u) if w != NOTHING else None for w, u in pairs]
        if not any(coefficient is not None for coefficient in rows):
            return None
        lanes = () if result.lanes is None else (self.linear.lanes,)
        numbers = [self._number(x, of, lanes) for x in rows]
        shape = (*result.vertices.shape, *argument.vertices.shape)
        flat = stack(numbers, 0) if len(numbers) > 1 else numbers[0]
        block = reshape(flat, (*shape, *lanes))
        if result.lanes is None:
            return block.atom
        if argument.lanes is not None:
            block = self._diagonal(block)
        return self._placed(block, result, argument).atom

    def _number(
        self, coefficient: Coefficient | None, of: ArrayType, lanes: tuple[int, ...]
    ) -> Expression:
        value = 0.0 if coefficient is None else coefficient.read()
        if isinstance(value, Expression):
            return broadcast_to(cast(value, of.dtype), lanes)
        filled: Expression = bind(
            FILL, builder=self.builder, shape=lanes, dtype=of.dtype, value=value
        )
        return filled

    def _diagonal(self, block: Expression) -> Expression:
        """What is along the last axis put onto the diagonal of the last two."""
        count = self.linear.lanes
        places: Any = bind(IOTA, builder=self.builder, length=count)
        rows: Any = reshape(places, (count, 1))
        diagonal: Any = np.equal(rows, places)
        column = reshape(block, (*block.shape, 1))
        return select(diagonal, column, 0.0)

    def _placed(self, block: Expression, result: Entries, argument: Entries) -> Expression:
        """The axes of the lanes, which come last, put where they are in the result and argument."""
        before, after = result.vertices.ndim, argument.vertices.ndim
        axes = list(range(before + after))
        lane = before + after
        assert result.lanes is not None
        first, second = axes[:before], axes[before:]
        first.insert(result.lanes, lane)
        if argument.lanes is not None:
            second.insert(argument.lanes, lane + 1)
        return permute(block, (*first, *second))
