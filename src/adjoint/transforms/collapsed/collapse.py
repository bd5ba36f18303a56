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
product is summed over the directions within the contraction. Loops and branches carry series along
each direction, and are added up behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from adjoint.base.arrays import array_type
from adjoint.primitives.declaration import NO_DERIVATIVE
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.elementwise.declaring import weigh
from adjoint.primitives.expression import Expression
from adjoint.primitives.identities import SAME_AS
from adjoint.primitives.structure.contraction import CONTRACT, contract, split_spec
from adjoint.primitives.structure.moving import (
    SUM,
    broadcast_to,
    insert_axes,
    sum_axes,
)
from adjoint.program import Atom, Builder, Equation, Literal, Operation, Program, Variable, locating
from adjoint.transforms.collapsed.axes import kept_axes
from adjoint.transforms.collapsed.curved_rule import (
    CurvedRule,
    Partials,
    curved_rule,
    has_partials,
    partials,
)
from adjoint.transforms.collapsed.directions import (
    Directions,
    DirectionSet,
    added,
    count_axes,
    take_out,
)
from adjoint.transforms.jvp import push_forward, tangent_type
from adjoint.transforms.norms import with_norms
from adjoint.transforms.recognised import recognised
from adjoint.transforms.vmap import vmap


class Moving(NamedTuple):
    """How a value moves: along each set of directions, and the sum of its second derivatives.

    sets: by the number of the set. curve: None where it is zero.
    """

    sets: dict[int, Directions]
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
        self.curved = curved
        self.rules: dict[Any, CurvedRule] = {}
        self.partials: dict[Any, Partials] = {}

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
            if equation.primitive is SAME_AS:  # it has done its work once derivatives are taken
                results: Sequence[Atom] = operands[:1]
            else:
                results = builder.emit(equation.operation, operands)
            builder.derived = True
            state = [states[x] if isinstance(x, Variable) else STILL for x in equation.inputs]
            with locating(builder):
                moved = self.moved(equation, operands, results, state)
            names.update(zip(equation.outputs, results, strict=True))
            states.update(zip(equation.outputs, moved, strict=True))
        builder.derived, builder.origin = True, None
        return (
            [names[x] if isinstance(x, Variable) else x for x in program.outputs],
            [states[x] if isinstance(x, Variable) else STILL for x in program.outputs],
        )

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
        moving_operation = _MovingOperation(self, op, operands, results)
        curves = [moving.curve for moving in state]
        totals: list[Any] = [None] * len(results)
        if any(curve is not None for curve in curves):
            totals = moving_operation.push(curves)
        sets: list[dict[int, Directions]] = [{} for _ in results]
        for number in sorted({number for moving in state for number in moving.sets}):
            set_ = self.sets[number]
            slopes, bent = moving_operation.along(
                set_, [moving.sets.get(number) for moving in state]
            )
            for place, (slope, curve) in enumerate(zip(slopes, bent, strict=True)):
                if slope is not None:
                    sets[place][number] = slope
                if curve is not None:
                    totals[place] = _total(totals[place], curve if set_.sign > 0 else -curve)
        return [
            Moving(own, None if total is None else self.like(total, result))
            for own, total, result in zip(sets, totals, results, strict=True)
        ]

    def cast(self, moving: Moving, result: Atom) -> Moving:
        """The same in the dtype of a result."""
        dtype = tangent_type(result.type).dtype
        sets = {n: Directions(cast(d.rows, dtype), d.runs) for n, d in moving.sets.items()}
        curve = moving.curve
        return Moving(sets, None if curve is None else cast(curve, dtype))

    def like(self, curve: Expression, result: Atom) -> Expression:
        """A second derivative in the type of the value."""
        type_ = tangent_type(result.type)
        return broadcast_to(cast(curve, type_.dtype), type_.shape)

    def rule(self, op: Operation, operands: Sequence[Atom], marks: tuple[bool, ...]) -> CurvedRule:
        """The derivatives of an operation at operands like these, in those that are marked."""
        key = (op, *_types(operands), marks)
        if key not in self.rules:
            self.rules[key] = curved_rule(op, operands, marks, self.builder.origin, self.curved)
        return self.rules[key]

    def partials_of(
        self, op: Operation, operands: Sequence[Atom], marks: tuple[bool, ...]
    ) -> Partials:
        """The partial derivatives of an operation at operands like these."""
        key = (op, *_types(operands), marks)
        if key not in self.partials:
            self.partials[key] = partials(op, operands, marks)
        return self.partials[key]

    def inline(self, program: Program, arguments: Sequence[Atom]) -> list[Expression]:
        """Append what a transform wrote."""
        origin = self.builder.origin
        results = self.builder.inline(program, arguments)
        self.builder.derived, self.builder.origin = True, origin
        return [Expression(self.builder, atom) for atom in results]


class _MovingOperation:
    """One operation, at its operands."""

    def __init__(
        self, run: _CollapsedRun, op: Operation, operands: Sequence[Atom], results: Sequence[Atom]
    ) -> None:
        self.run = run
        self.op = op
        self.operands = operands
        self.results = results
        self.types = [tangent_type(result.type) for result in results]
        self.by_entries = has_partials(op, operands, results[0].type) if results else False

    def point(self, *moving: Expression) -> list[Atom]:
        """What derived programs take: operands, results, and tangents."""
        known = [atom for atom in self.operands if isinstance(atom, Variable)]
        return [*known, *self.results, *(tangent.atom for tangent in moving)]

    def push(self, tangents: Sequence[Expression | None]) -> list[Expression | None]:
        """The derivative along one direction."""
        marks = tuple(tangent is not None for tangent in tangents)
        rule = self.run.rule(self.op, self.operands, marks)
        moving = [tangent for tangent in tangents if tangent is not None]
        rest = iter(self.run.inline(rule.first, self.point(*moving)))
        return [next(rest) if mark else None for mark in rule.slopes]

    def along(
        self, set_: DirectionSet, moving: Sequence[Directions | None]
    ) -> tuple[Sequence[Directions | None], Sequence[Expression | None]]:
        """The slopes of the results along a set of directions, and the sums of the curvatures."""
        op = self.op
        if op.primitive is CONTRACT:
            return self._contracted(set_, moving)
        if op.primitive is SUM and moving[0] is not None:
            axes = op.params["axes"]
            released = [n for n, run in enumerate(moving[0].runs) if run in axes]
            return [take_out(moving[0], set_.lengths, released, axes)], [None]
        aligned, runs = self._aligned(set_, moving)
        if self.by_entries:
            return self._entrywise(set_, aligned, runs)
        return self._derived(aligned, runs)

    def _aligned(
        self, set_: DirectionSet, moving: Sequence[Directions | None]
    ) -> tuple[list[Directions | None], tuple[int | None, ...]]:
        """The operands with those axes counted that are mixed; along which axes the others run."""
        shapes = [atom.type.shape for atom in self.operands]
        results = [result.type.shape for result in self.results]
        runs_of = [None if moved is None else moved.runs for moved in moving]
        runs = tuple(
            kept_axes(self.op, shapes, results, runs_of, place)
            for place in range(len(set_.lengths))
        )
        mixed = [place for place, run in enumerate(runs) if run is None]
        aligned = [
            None if moved is None else count_axes(moved, set_.lengths, mixed) for moved in moving
        ]
        return aligned, runs

    # --- any operation ----------------------------------------------------------------------------

    def _derived(
        self, moving: Sequence[Directions | None], runs: tuple[int | None, ...]
    ) -> tuple[list[Directions | None], list[Expression | None]]:
        marks = tuple(moved is not None for moved in moving)
        rule = self.run.rule(self.op, self.operands, marks)
        rows = [moved.rows for moved in moving if moved is not None]
        program = rule.first if rule.both is None else rule.both
        batched = [False] * (len(program.inputs) - len(rows)) + [True] * len(rows)
        many = vmap(program, batched, rows[0].shape[0])
        pushed = self.run.inline(many, self.point(*rows))
        count = sum(rule.slopes)
        slopes, curves = iter(pushed[:count]), iter(pushed[count:])
        moved_results = [
            Directions(cast(next(slopes), type_.dtype), runs) if mark else None
            for mark, type_ in zip(rule.slopes, self.types, strict=True)
        ]
        totals: list[Expression | None] = []
        for mark in rule.curves:
            total: Any = sum_axes(next(curves), (0,)) if mark else None
            totals.append(total if total is None or rule.factor == 1 else total * rule.factor)
        return moved_results, totals

    # --- entry by entry ---------------------------------------------------------------------------

    def _entrywise(
        self, set_: DirectionSet, moving: Sequence[Directions | None], runs: tuple[int | None, ...]
    ) -> tuple[list[Directions | None], list[Expression | None]]:
        """With partial derivatives p_i, p_ij: sum_i p_i u_i, and sum_ij p_ij sum_r u_i u_j."""
        (type_,) = self.types
        marks = tuple(moved is not None for moved in moving)
        rule = self.run.partials_of(self.op, self.operands, marks)
        rows = {
            place: cast(moved.rows, type_.dtype)
            for place, moved in enumerate(moving)
            if moved is not None
        }
        ones = [Literal(tangent_type(self.operands[place].type).dtype.type(1)) for place in rows]
        point = [*self.point(), *ones]
        slope: Any = None
        for partial, row in zip(self.run.inline(rule.first, point), rows.values(), strict=True):
            wide = array_type((row.shape[0], *type_.shape), type_.dtype)
            term = weigh(partial, insert_axes(row, 1, 1 + type_.ndim), wide)
            slope = _total(slope, term)
        curve: Any = None
        if self.run.curved:
            seconds = self.run.inline(rule.second, point)
            for (one, other), second in zip(rule.pairs, seconds, strict=True):
                squares: Any = self._summed_product(rows[one], rows[other])
                if one != other:
                    squares = squares * 2
                curve = _total(curve, weigh(second, squares, type_))
        return [Directions(slope, runs)], [curve]

    def _summed_product(self, left: Expression, right: Expression) -> Expression:
        """sum_r u_r v_r, entry by entry."""
        if left.shape != right.shape:
            (type_,) = self.types
            left, right = (
                broadcast_to(insert_axes(row, 1, 1 + type_.ndim), (row.shape[0], *type_.shape))
                for row in (left, right)
            )
        labels = "abcdefghijklmnopqrstuvwxyz"[: left.ndim]
        return contract(left, right, f"{labels},{labels}->{labels[1:]}")

    # --- products of matrices and tensors ---------------------------------------------------------

    def _contracted(
        self, set_: DirectionSet, moving: Sequence[Directions | None]
    ) -> tuple[list[Directions | None], list[Expression | None]]:
        """D(xy)[u] = uy + xv, and twice the sum of u_r v_r."""
        spec = split_spec(self.op.params["spec"])
        terms = [
            self._one_factor(set_, spec, place, moved)
            for place, moved in enumerate(moving)
            if moved is not None
        ]
        slope = terms[0] if len(terms) == 1 else added(terms[0], terms[1], set_.lengths)
        curve: Any = None
        if self.run.curved and len(terms) == 2:
            curve = self._both_factors(set_, spec, moving)
        (type_,) = self.types
        rows = cast(slope.rows, type_.dtype)
        return [Directions(rows, slope.runs)], [curve]

    def _one_factor(
        self, set_: DirectionSet, spec: tuple[str, str, str], place: int, moved: Directions
    ) -> Directions:
        """The product as one factor moves; what it ran along and is summed over, is kept apart."""
        labels, result = spec[place], spec[2]
        released = [
            n for n, run in enumerate(moved.runs) if run is not None and labels[run] not in result
        ]
        kept = "".join(labels[run] for n in released if (run := moved.runs[n]) is not None)
        other = Expression(self.run.builder, self.operands[1 - place])
        lead = _new_label("".join(spec))
        product = contract(
            moved.rows, other, f"{lead}{labels},{spec[1 - place]}->{lead}{kept}{result}"
        )
        runs = tuple(
            len(kept) + result.index(labels[run])
            if run is not None and n not in released
            else (None if run is None else kept.index(labels[run]))
            for n, run in enumerate(moved.runs)
        )
        apart = Directions(product, runs)
        return take_out(apart, set_.lengths, released, tuple(range(len(kept)))) if kept else apart

    def _both_factors(
        self,
        set_: DirectionSet,
        spec: tuple[str, str, str],
        moving: Sequence[Directions | None],
    ) -> Expression:
        """2 sum_r u_r v_r: axes of the set that run along one label of both need not be counted."""
        factors = [moved for moved in moving if moved is not None]
        labels = [
            [None if run is None else text[run] for run in moved.runs]
            for text, moved in zip(spec, factors, strict=False)
        ]
        apart = [n for n, (a, b) in enumerate(zip(*labels, strict=True)) if a != b]
        left, right = (count_axes(moved, set_.lengths, apart) for moved in factors)
        lead = _new_label("".join(spec))
        product: Any = contract(
            left.rows, right.rows, f"{lead}{spec[0]},{lead}{spec[1]}->{spec[2]}"
        )
        return product * 2  # type: ignore[no-any-return]


def _new_label(labels: str) -> str:
    return next(letter for letter in "abcdefghijklmnopqrstuvwxyz" if letter not in labels)


def _types(operands: Sequence[Atom]) -> list[Any]:
    return [x.key if isinstance(x, Literal) else x.type for x in operands]


def _total(x: Any, y: Any) -> Any:
    return y if x is None else x + y
