"""Programs of Jacobians: the partial products of a plan, computed one after another.

A partial product is held as its columns (for each number at its first cut, the values at its last
one) or as its rows. Columns go through a segment as a batch of tangents, rows go back as a batch of
cotangents; two partial products meet in one matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adjoint.calculus.jacobians.basis import from_coordinates, joined, rows_of, standard_basis
from adjoint.calculus.jacobians.planning.chain import Order, ProductStep
from adjoint.calculus.jacobians.planning.cuts import CutProgram, CutSegment
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.expression import Expression
from adjoint.primitives.hardness import hard
from adjoint.primitives.structure.contraction import contract
from adjoint.primitives.structure.moving import permute, reshape
from adjoint.program import Atom, Builder, Program, Variable
from adjoint.transforms import vmap


@dataclass(frozen=True)
class Accumulated:
    """A partial product: columns, each the values at its last cut; or rows, those at its first.

    leaves: an array for each of these values, with all the columns or rows along axis 0.
    """

    by_columns: bool
    leaves: list[Expression]


class JacobianBuilder:
    """Appends the Jacobian of a linear program to a builder.

    residuals: what the program's first inputs are called in the builder.
    """

    def __init__(self, builder: Builder, cut: CutProgram, residuals: dict[Variable, Atom]) -> None:
        self.builder = builder
        self.cut = cut
        self.names = residuals
        builder.copy_equations(cut.crossings.fixed, self.names)

    def accumulate(self, order: Order) -> Accumulated:
        """Compute a partial product."""
        if order.step is ProductStep.GIVEN:
            return self._given(order.start)
        if order.step is ProductStep.PRODUCT:
            first, second = order.parts
            return self._multiplied(order, self.accumulate(first), self.accumulate(second))
        if order.step is ProductStep.PUSH:
            (part,) = order.parts
            return self._pushed(part)
        (part,) = order.parts
        return self._pulled(part)

    def _given(self, number: int) -> Accumulated:
        given = self.cut.segments[number].given
        assert given is not None
        variable, axes = given
        (before,), (after,) = self.cut.types(number), self.cut.types(number + 1)
        array = permute(Expression(self.builder, self.names[variable]), axes)
        array = cast(array, after.dtype)
        return Accumulated(True, [reshape(array, (before.size, *after.shape))])

    def _pushed(self, part: Order) -> Accumulated:
        if part.step is ProductStep.IDENTITY:
            columns = self._basis(part.start)
        else:
            columns = self.columns(part, self.accumulate(part))
        return Accumulated(True, self.push(self.cut.segments[part.stop], columns))

    def _pulled(self, part: Order) -> Accumulated:
        if part.step is ProductStep.IDENTITY:
            rows = self._basis(part.stop)
        else:
            rows = self.rows(part, self.accumulate(part))
        return Accumulated(False, self.pull(self.cut.segments[part.start - 1], rows))

    def _basis(self, number: int) -> list[Expression]:
        """Unit vectors at a cut, whose zeros are hard."""
        self.builder.derived = True
        return [hard(unit) for unit in standard_basis(self.builder, self.cut.types(number))]

    def push(self, segment: CutSegment, columns: list[Expression]) -> list[Expression]:
        """Columns through a segment."""
        return self._batch(segment.program, segment, columns)

    def pull(self, segment: CutSegment, rows: list[Expression]) -> list[Expression]:
        """Rows back through a segment."""
        return self._batch(segment.transposed, segment, rows)

    def _batch(
        self, program: Program, segment: CutSegment, lines: list[Expression]
    ) -> list[Expression]:
        known = len(segment.known)
        marks = [number >= known for number in range(len(program.inputs))]
        moving = [
            cast(line, variable.type.dtype).atom
            for line, variable in zip(lines, program.inputs[known:], strict=True)
        ]
        many = vmap(program, marks, lines[0].shape[0])
        arguments = [*(self.names[variable] for variable in segment.known), *moving]
        return [Expression(self.builder, atom) for atom in self.builder.inline(many, arguments)]

    def _multiplied(self, order: Order, first: Accumulated, second: Accumulated) -> Accumulated:
        self.builder.derived = True
        left = "ca" if second.by_columns else "ac"
        right = "bc" if first.by_columns else "cb"
        rows = contract(joined(second.leaves, 1), joined(first.leaves, 1), f"{left},{right}->ab")
        return Accumulated(False, from_coordinates(rows, self.cut.types(order.start)))

    def columns(self, order: Order, accumulated: Accumulated) -> list[Expression]:
        """A partial product by columns."""
        if accumulated.by_columns:
            return accumulated.leaves
        turned = permute(joined(accumulated.leaves, 1), (1, 0))
        return from_coordinates(turned, self.cut.types(order.stop))

    def rows(self, order: Order, accumulated: Accumulated) -> list[Expression]:
        """A partial product by rows."""
        if not accumulated.by_columns:
            return accumulated.leaves
        turned = permute(joined(accumulated.leaves, 1), (1, 0))
        return from_coordinates(turned, self.cut.types(order.start))

    # --- blocks ----------------------------------------------------------------------------------

    def blocks(
        self, accumulated: Accumulated, outputs: Sequence[Atom | None]
    ) -> list[list[Atom | None]]:
        """For each output, its derivative with respect to each input; None for zeros.

        In the dtype of the output, whatever the order.
        """
        places = {variable: n for n, variable in enumerate(self.cut.crossings.results)}
        blocks: list[list[Atom | None]] = []
        for output in outputs:
            number = None if not isinstance(output, Variable) else places.get(output)
            if number is None:
                blocks.append([None for _ in self.cut.crossings.tangents])
            else:
                blocks.append(self._output_blocks(accumulated, number))
        return blocks

    def _output_blocks(self, accumulated: Accumulated, number: int) -> list[Atom | None]:
        results = self.cut.crossings.results
        of = results[number].type
        start = 0 if accumulated.by_columns else sum(x.type.size for x in results[:number])
        row: list[Atom | None] = []
        for place, tangent in enumerate(self.cut.crossings.tangents):
            to = tangent.type
            if accumulated.by_columns:
                part = rows_of(accumulated.leaves[number], start, to.size)
                start += to.size
                part = permute(part, (*range(1, part.ndim), 0))
            else:
                part = rows_of(accumulated.leaves[place], start, of.size)
            row.append(reshape(cast(part, of.dtype), (*of.shape, *to.shape)).atom)
        return row
