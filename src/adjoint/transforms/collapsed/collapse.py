"""Collapsed Taylor mode: a program that carries its value, many directions, and one sum over them.

The second derivative along each of R directions u_r takes two more arrays for every value: its
slope and its curvature along u_r. Where only the sum of the curvatures is wanted, which is a
Laplacian where the u_r are orthonormal, they can be added up at once, for y = p(x) has

    Dy[u_r] = Dp(x)[Dx[u_r]],
    L y = Dp(x)[L x] + sum_r D²p(x)[Dx[u_r], Dx[u_r]],        L = sum_r D²(.)[u_r, u_r],

so that R + 2 arrays are carried instead of 2 R + 1, and what is linear sees L x once. (The forward
Laplacian of Li et al., Nature Machine Intelligence 6, 2024; collapsed Taylor mode of Dangel et al.,
2025.) An L x that is given at the start, b, adds the first derivative along b.

D²p is the derivative of the primitive's own derivative rule, and so every primitive has one. What
is applied entry by entry multiplies its second partial derivatives with one sum of squares; a
product is summed over the directions within the contraction. Loops and branches carry all that
through their bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from adjoint.primitives.declaration import NO_DERIVATIVE
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.expression import Expression
from adjoint.primitives.identities import SAME_AS
from adjoint.primitives.structure.moving import broadcast_to
from adjoint.program import Atom, Builder, Equation, Locating, Program, Variable
from adjoint.transforms.collapsed.directions import Directions, DirectionSet
from adjoint.transforms.collapsed.moving_operation import MovingOperation
from adjoint.transforms.collapsed.rules import CollapsedRules
from adjoint.transforms.jvp import push_forward, tangent_type
from adjoint.transforms.recognition.norms import with_norms
from adjoint.transforms.recognition.recognised import recognised


class Moving(NamedTuple):
    """How a value moves: along each set of directions, and the sum of its second derivatives.

    sets: by the number of the set, in parts. curve: None where it is zero.
    """

    sets: dict[int, list[Directions]]
    curve: Expression | None = None

    @property
    def still(self) -> bool:
        """Whether it does not move at all."""
        return not self.sets and self.curve is None


STILL = Moving({})


def collapse(
    builder: Builder,
    program: Program,
    values: Sequence[Atom],
    moving: Sequence[Moving],
    sets: Sequence[DirectionSet],
    curved: bool = True,
) -> tuple[list[Atom], list[Moving]]:
    """Append a program and how it moves; returns its outputs, and how these move.

    values, moving: of its inputs. curved: whether second derivatives are wanted, or slopes alone.
    """
    program = with_norms(recognised(program, push_forward))
    return _CollapsedRun(builder, sets, curved).append(program, values, moving)


class _CollapsedRun:
    def __init__(self, builder: Builder, sets: Sequence[DirectionSet], curved: bool) -> None:
        self.builder = builder
        self.sets = sets
        self.rules = CollapsedRules(builder, curved)

    def append(
        self, program: Program, values: Sequence[Atom], moving: Sequence[Moving]
    ) -> tuple[list[Atom], list[Moving]]:
        builder = self.builder
        names: dict[Variable, Atom] = dict(zip(program.inputs, values, strict=True))
        states: dict[Variable, Moving] = dict(zip(program.inputs, moving, strict=True))
        for number, equation in enumerate(program.equations):
            builder.origin = number if equation.origin is None else equation.origin
            builder.derived = equation.derived
            operands = [names[x] if isinstance(x, Variable) else x for x in equation.inputs]
            state = [states[x] if isinstance(x, Variable) else STILL for x in equation.inputs]
            if equation.primitive.collapsed and not all(moving.still for moving in state):
                with Locating(builder):
                    results, moved = self.together(equation, operands, state)
                names.update(zip(equation.outputs, results, strict=True))
                states.update(zip(equation.outputs, moved, strict=True))
                continue
            if equation.primitive is SAME_AS:  # it has done its work once derivatives are taken
                results = operands[:1]
            else:
                results = builder.emit(equation.operation, operands)
            builder.derived = True
            with Locating(builder):
                moved = self.moved(equation, operands, results, state)
            names.update(zip(equation.outputs, results, strict=True))
            states.update(zip(equation.outputs, moved, strict=True))
        builder.derived, builder.origin = True, None
        return (
            [names[x] if isinstance(x, Variable) else x for x in program.outputs],
            [states[x] if isinstance(x, Variable) else STILL for x in program.outputs],
        )

    def together(
        self, equation: Equation, operands: Sequence[Atom], state: Sequence[Moving]
    ) -> tuple[Sequence[Atom], Sequence[Moving]]:
        """The results of an equation that holds programs, and how they move."""
        rule, sets = equation.primitive.collapsed, tuple(self.sets)
        results: tuple[Sequence[Atom], Sequence[Moving]] = rule(
            self.builder, operands, state, sets, self.rules.curved, **equation.params
        )
        return results

    # --- one operation ----------------------------------------------------------------------------

    def moved(
        self,
        equation: Equation,
        operands: Sequence[Atom],
        results: Sequence[Atom],
        state: Sequence[Moving],
    ) -> list[Moving]:
        """How the results of an equation move."""
        op = equation.operation
        if op.primitive.derivative is NO_DERIVATIVE or all(moving.still for moving in state):
            return [STILL] * len(results)
        if op.primitive is SAME_AS:
            return [self.cast(state[1], results[0])]
        operation = MovingOperation(self.rules, op, operands, results)
        curves = [moving.curve for moving in state]
        totals: list[Any] = [None] * len(results)
        if any(curve is not None for curve in curves):
            totals = operation.push(curves)
        sets: list[dict[int, list[Directions]]] = [{} for _ in results]
        for number in sorted({number for moving in state for number in moving.sets}):
            sign = self.sets[number].sign
            parts = [moving.sets.get(number, []) for moving in state]
            slopes, bent = operation.along(self.sets[number], parts)
            for place, (slope, curve) in enumerate(zip(slopes, bent, strict=True)):
                if slope:
                    sets[place][number] = slope
                if curve is not None:
                    curve = curve if sign > 0 else -curve
                    totals[place] = curve if totals[place] is None else totals[place] + curve
        return [
            Moving(own, None if total is None else self.like(total, result))
            for own, total, result in zip(sets, totals, results, strict=True)
        ]

    def cast(self, moving: Moving, result: Atom) -> Moving:
        """The same in the dtype of a result."""
        dtype = tangent_type(result.type).dtype
        sets = {
            number: [Directions(cast(part.rows, dtype), part.runs) for part in parts]
            for number, parts in moving.sets.items()
        }
        curve = moving.curve
        return Moving(sets, None if curve is None else cast(curve, dtype))

    def like(self, curve: Expression, result: Atom) -> Expression:
        """A second derivative in the type of the value."""
        type_ = tangent_type(result.type)
        return broadcast_to(cast(curve, type_.dtype), type_.shape)
