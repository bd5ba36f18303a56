"""One operation in collapsed Taylor mode: how its results move, from how its operands do."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters
from typing import Any

from adjoint.base.arrays import array_type
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.elementwise.declaring import scale, weigh
from adjoint.primitives.expression import Expression
from adjoint.primitives.hardness import hard
from adjoint.primitives.structure.contraction import CONTRACT, contract, split_spec
from adjoint.primitives.structure.moving import (
    SUM,
    broadcast_to,
    insert_axes,
    reshape,
    sum_axes,
)
from adjoint.program import Atom, Literal, Operation, Variable
from adjoint.transforms.collapsed.axes import kept_axes
from adjoint.transforms.collapsed.curved_rule import has_partials
from adjoint.transforms.collapsed.directions import (
    AxisRun,
    Directions,
    DirectionSet,
    count_axes,
    joined,
    merged,
    take_out,
    unit_matrix,
)
from adjoint.transforms.collapsed.rules import CollapsedRules
from adjoint.transforms.jvp import tangent_type
from adjoint.transforms.vmap import vmap

Parts = Sequence[Directions]  # how a value moves along a set of directions; none: not at all
# For each result, how it moves along a set of directions, and the sum of its curvatures.
Moved = tuple[list[list[Directions]], list[Any]]


class MovingOperation:
    """One operation, at its operands."""

    def __init__(
        self,
        rules: CollapsedRules,
        op: Operation,
        operands: Sequence[Atom],
        results: Sequence[Atom],
    ) -> None:
        self.rules = rules
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
        rule = self.rules.rule(self.op, self.operands, marks)
        moving = [tangent for tangent in tangents if tangent is not None]
        rest = iter(self.rules.inline(rule.first, self.point(*moving)))
        return [next(rest) if mark else None for mark in rule.slopes]

    def along(self, set_: DirectionSet, moving: Sequence[Parts]) -> Moved:
        """The slopes of the results along a set of directions, and the sums of the curvatures."""
        lengths = set_.lengths
        if self.op.primitive is CONTRACT:
            return self._contracted(lengths, moving)
        if self.op.primitive is SUM:
            axes = self.op.params["axes"]
            parts = [take_out(part, lengths, axes) for part in moving[0]]
            return [merged(parts, lengths)], [None]
        if self.by_entries:
            return self._entrywise(lengths, moving)
        marks = tuple(bool(parts) for parts in moving)
        if self.rules.rule(self.op, self.operands, marks).both is None:
            return self._linear(lengths, moving)
        whole = [joined(parts, lengths) if parts else None for parts in moving]
        return self._derived(lengths, whole)

    def _aligned(
        self, lengths: Sequence[int], moving: Sequence[Directions | None]
    ) -> tuple[list[Directions | None], tuple[AxisRun, ...]]:
        """The operands with those axes counted that are mixed; along which axes the others run."""
        shapes = [atom.type.shape for atom in self.operands]
        results = [result.type.shape for result in self.results]
        runs_of = [None if moved is None else moved.runs for moved in moving]
        places = range(len(lengths))
        runs = tuple(kept_axes(self.op, shapes, results, runs_of, place) for place in places)
        mixed = [place for place, run in enumerate(runs) if run is None]
        aligned = [None if moved is None else count_axes(moved, lengths, mixed) for moved in moving]
        return aligned, runs

    def _by_runs(
        self, lengths: Sequence[int], moving: Sequence[Parts]
    ) -> dict[tuple[AxisRun, ...], dict[int, Directions]]:
        """The parts of the operands, by along which axes of the result they run, and by operand."""
        alike: dict[tuple[AxisRun, ...], dict[int, Directions]] = {}
        for place, parts in enumerate(moving):
            for part in parts:
                alone = [part if n == place else None for n in range(len(moving))]
                aligned, runs = self._aligned(lengths, alone)
                own, moved = alike.setdefault(runs, {}), aligned[place]
                assert moved is not None
                own[place] = joined([own[place], moved], lengths) if place in own else moved
        return alike

    # --- any operation ----------------------------------------------------------------------------

    def _linear(self, lengths: Sequence[int], moving: Sequence[Parts]) -> Moved:
        """What has no second derivative in what moves: part by part."""
        parts: list[list[Directions]] = [[] for _ in self.results]
        for own in self._by_runs(lengths, moving).values():
            alone = [own.get(place) for place in range(len(moving))]
            for results, moved in zip(parts, self._derived(lengths, alone)[0], strict=True):
                results += moved
        return [merged(own, lengths) for own in parts], [None] * len(parts)

    def _derived(self, lengths: Sequence[int], moving: Sequence[Directions | None]) -> Moved:
        """By its rule, in all directions at once."""
        moving, runs = self._aligned(lengths, moving)
        marks = tuple(moved is not None for moved in moving)
        rule = self.rules.rule(self.op, self.operands, marks)
        rows = [moved.rows for moved in moving if moved is not None]
        program = rule.first if rule.both is None else rule.both
        batched = [False] * (len(program.inputs) - len(rows)) + [True] * len(rows)
        many = vmap(program, batched, rows[0].shape[0])
        pushed = self.rules.inline(many, self.point(*rows))
        count = sum(rule.slopes)
        slopes, curves = iter(pushed[:count]), iter(pushed[count:])
        parts = [
            [Directions(cast(next(slopes), type_.dtype), runs)] if mark else []
            for mark, type_ in zip(rule.slopes, self.types, strict=True)
        ]
        totals: list[Any] = []
        for mark in rule.curves:
            total: Any = sum_axes(next(curves), (0,)) if mark else None
            totals.append(total if total is None or rule.factor == 1 else total * rule.factor)
        return parts, totals

    # --- entry by entry ---------------------------------------------------------------------------

    def _entrywise(self, lengths: Sequence[int], moving: Sequence[Parts]) -> Moved:
        """With partial derivatives p_i, p_ij: sum_i p_i u_i, and sum_ij p_ij sum_r u_i u_j."""
        (type_,) = self.types
        marks = tuple(bool(parts) for parts in moving)
        places = [place for place, mark in enumerate(marks) if mark]
        rule = self.rules.partials(self.op, self.operands, marks)
        ones = [Literal(tangent_type(self.operands[place].type).dtype.type(1)) for place in places]
        point = [*self.point(), *ones]
        slopes = dict(zip(places, self.rules.inline(rule.first, point), strict=True))
        parts: list[Directions] = []
        aligned: dict[int, list[Directions]] = {place: [] for place in places}
        for runs, own in self._by_runs(lengths, moving).items():
            slope: Any = None
            for place, moved in own.items():
                # With all the axes of the result, since `runs` counts these.
                row = insert_axes(cast(moved.rows, type_.dtype), 1, 1 + type_.ndim)
                aligned[place].append(Directions(row, runs))
                wide = array_type((row.shape[0], *type_.shape), type_.dtype)
                term = weigh(slopes[place], row, wide)
                slope = term if slope is None else slope + term
            parts.append(Directions(slope, runs))
        curve: Any = None
        if self.rules.curved:
            seconds = self.rules.inline(rule.second, point)
            for (one, other), second in zip(rule.pairs, seconds, strict=True):
                squares = self._products(aligned[one], aligned[other], lengths)
                term = weigh(second, squares if one == other else squares * 2, type_)
                curve = term if curve is None else curve + term
        return [merged(parts, lengths)], [curve]

    def _products(self, left: Parts, right: Parts, lengths: Sequence[int]) -> Any:
        """sum_r u_r v_r, entry by entry."""
        total: Any = None
        for place, one in enumerate(left):
            for other in right[place:] if left is right else right:
                term: Any = self._product(one, other, lengths)
                if left is right and other is not one:
                    term = term * 2
                total = term if total is None else total + term
        return total

    def _product(self, left: Directions, right: Directions, lengths: Sequence[int]) -> Expression:
        """That of two parts. Where one runs along axis p and the other along q, i is where j is."""
        runs = [*zip(left.runs, right.runs, strict=True)]
        counted = [n for n, (p, q) in enumerate(runs) if p != q and None in (p, q)]
        left, right = count_axes(left, lengths, counted), count_axes(right, lengths, counted)
        apart = [(n, p, q) for n, (p, q) in enumerate(zip(left.runs, right.runs, strict=True))]
        apart = [(n, p, q) for n, p, q in apart if p != q]
        one, other = left.rows, right.rows
        (type_,) = self.types
        if one.shape != other.shape or apart:
            one, other = (broadcast_to(row, (row.shape[0], *type_.shape)) for row in (one, other))
        labels = ascii_letters[: one.ndim]
        product = contract(one, other, f"{labels},{labels}->{labels[1:]}")
        for place, p, q in apart:
            unit = unit_matrix(product.builder, lengths[place], type_.dtype)
            along = tuple(lengths[place] if n in (p, q) else 1 for n in range(type_.ndim))
            product = scale(hard(reshape(unit, along)), product)
        return product

    # --- products of matrices and tensors ---------------------------------------------------------

    def _contracted(self, lengths: Sequence[int], moving: Sequence[Parts]) -> Moved:
        """D(xy)[u] = uy + xv, and twice the sum of u_r v_r."""
        (type_,) = self.types
        spec = split_spec(self.op.params["spec"])
        terms = [
            self._one_factor(lengths, spec, place, part)
            for place, parts in enumerate(moving)
            for part in parts
        ]
        slopes = [Directions(cast(term.rows, type_.dtype), term.runs) for term in terms]
        curve: Any = None
        if self.rules.curved and all(moving):
            for one in moving[0]:
                for other in moving[1]:
                    term: Any = self._both_factors(lengths, spec, one, other)
                    curve = term if curve is None else curve + term
            curve = curve * 2
        return [merged(slopes, lengths)], [curve]

    def _one_factor(
        self, lengths: Sequence[int], spec: tuple[str, str, str], place: int, moved: Directions
    ) -> Directions:
        """The product as one factor moves; what it ran along and is summed over, is kept apart."""
        labels, result = spec[place], spec[2]
        along = [None if run is None else labels[run] for run in moved.runs]
        kept = "".join(label for label in along if label is not None and label not in result)
        other = Expression(self.rules.builder, self.operands[1 - place])
        lead = _new_label("".join(spec))
        product = contract(
            moved.rows, other, f"{lead}{labels},{spec[1 - place]}->{lead}{kept}{result}"
        )
        runs = tuple(None if label is None else (kept + result).index(label) for label in along)
        return take_out(Directions(product, runs), lengths, tuple(range(len(kept))))

    def _both_factors(
        self,
        lengths: Sequence[int],
        spec: tuple[str, str, str],
        left: Directions,
        right: Directions,
    ) -> Expression:
        """sum_r u_r v_r: axes of the set that run along one label of both need not be counted."""
        labels = [
            [None if run is None else text[run] for run in moved.runs]
            for text, moved in zip(spec, (left, right), strict=False)
        ]
        apart = [n for n, (a, b) in enumerate(zip(*labels, strict=True)) if a != b]
        one, other = count_axes(left, lengths, apart), count_axes(right, lengths, apart)
        lead = _new_label("".join(spec))
        return contract(one.rows, other.rows, f"{lead}{spec[0]},{lead}{spec[1]}->{spec[2]}")


def _new_label(labels: str) -> str:
    return next(letter for letter in ascii_letters if letter not in labels)
