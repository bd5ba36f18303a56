"""Taylor mode: a program that carries truncated power series along.

The inputs are series x(t) = sum_k x_k t^k, and so are all values. The rule of a primitive y = p(x)
follows from its derivative rule D: as dy/dt = D(x, y)[dx/dt],

    k y_k = coefficient k - 1 of D(x(t), y(t))[dx/dt],   (dx/dt)_j = (j + 1) x_{j+1}.

The rule D is a short program of primitives itself, whose values are series too. Coefficient k - 1
of them needs x up to k and y up to k - 1, so all series can be computed one coefficient after
another, when they are asked for. The same operation on the same series is the same series: the
derivative of sin is cos, that of cos is -sin, and so both go up together, each computed once
(Griewank and Walther, Evaluating Derivatives, 2008, chapter 13). What is linear acts on each
coefficient, what is bilinear by the Cauchy product: the work for K coefficients is O(K^2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from adjoint.base.arrays import ArrayType
from adjoint.primitives.declaration import NO_DERIVATIVE, Each, FromDerivative, Whole
from adjoint.primitives.elementwise.arithmetic import DIVIDE, quotient_taylor
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.expression import Expression
from adjoint.primitives.linear_algebra.spectra.spectral import KNOWN
from adjoint.primitives.structure.moving import broadcast_to, zeros
from adjoint.program import Atom, Builder, Literal, Locating, Operation, Program, Variable
from adjoint.transforms.jvp import push_forward, seeded, tangent_type
from adjoint.transforms.recognition.norms import with_norms
from adjoint.transforms.recognition.recognised import recognised
from adjoint.transforms.taylor_mode.coefficients import (
    Antiderivative,
    Coefficients,
    narrow,
    present,
    total_of,
)
from adjoint.transforms.taylor_mode.derived_rule import DerivedRule, Marks, derived_rule
from adjoint.transforms.taylor_mode.series import Series, Source, TimeDerivative


def taylor(program: Program, order: int, given: Sequence[Marks]) -> Program:
    """(inputs, the given coefficients of each) -> (outputs, coefficients of the inexact outputs).

    order: that of the last coefficient wanted. given: for each input, which of its coefficients 1,
        2, ... are inputs; all others are zero. In the results all first coefficients follow the
        outputs, then all second ones, and so on.
    """
    builder = Builder()
    values = [builder.input(variable.type) for variable in program.inputs]
    types = [tangent_type(value.type) for value in values]
    known = [
        seeded(builder, [builder.input(type_) if mark else None for mark in marks])
        for type_, marks in zip(types, given, strict=True)
    ]
    outputs, series = expand(builder, program, values, known, order)
    coefficients = [
        row[k] or zeros(builder, tangent_type(atom.type)).atom
        for k in range(order)
        for atom, row in zip(program.outputs, series, strict=True)
        if atom.type.inexact
    ]
    return builder.build([*outputs, *coefficients])


def expand(
    builder: Builder,
    program: Program,
    values: Sequence[Atom],
    known: Sequence[Sequence[Atom | None]],
    order: int,
) -> tuple[list[Atom], list[list[Atom | None]]]:
    """Append a program and its coefficients; returns its outputs, and coefficients 1, ... of each.

    known: coefficients 1, 2, ... of the inputs; all others are zero. None stands for zero.
    """
    program = with_norms(recognised(program, push_forward) if order < KNOWN else program)
    work = _TaylorRun(builder, order)
    inputs = [
        Series(work, variable.type, [value, *([*row, *[None] * order][:order])])
        for variable, value, row in zip(program.inputs, values, known, strict=True)
    ]
    outputs, series = work.expand(program, values, inputs)
    return outputs, [[x.atom(k) for k in range(1, order + 1)] for x in series]


class _TaylorRun:
    """One run of the transform: the series there are, and the program that computes them."""

    def __init__(self, builder: Builder, order: int) -> None:
        self.builder = builder
        self.order = order
        self.nodes: dict[Any, _SeriesOperation] = {}
        self.rates: dict[Series, Series] = {}
        self.still: dict[Any, Series] = {}
        self.rules: dict[Any, DerivedRule] = {}

    def expand(
        self, program: Program, values: Sequence[Atom], inputs: Sequence[Series]
    ) -> tuple[list[Atom], list[Series]]:
        """Append a program and its coefficients; returns its outputs and their series."""
        builder = self.builder
        names: dict[Variable, Atom] = dict(zip(program.inputs, values, strict=True))
        series: dict[Variable, Series] = dict(zip(program.inputs, inputs, strict=True))
        for number, equation in enumerate(program.equations):
            builder.origin = number if equation.origin is None else equation.origin
            builder.derived = equation.derived
            operands = [names[x] if isinstance(x, Variable) else x for x in equation.inputs]
            moving = tuple(self.series(atom, series) for atom in equation.inputs)
            whole = isinstance(equation.primitive.taylor, Whole)
            if whole and not all(x.constant for x in moving):
                with Locating(builder):
                    result_series = self.together(equation.operation, moving)
                results = tuple(present(x.atom(0)) for x in result_series)
            else:
                results = builder.emit(equation.operation, operands)
                builder.derived = True
                with Locating(builder):
                    result_series = self.outer(equation.operation, moving, results)
            names.update(zip(equation.outputs, results, strict=True))
            series.update(zip(equation.outputs, result_series, strict=True))
        builder.derived = True
        builder.origin = None
        return (
            [names[x] if isinstance(x, Variable) else x for x in program.outputs],
            [self.series(atom, series) for atom in program.outputs],
        )

    def outer(
        self, op: Operation, operands: tuple[Series, ...], results: Sequence[Variable]
    ) -> Sequence[Series]:
        """The series of an equation of the program, whose values are there already."""
        if all(x.constant for x in operands):
            return [Series(self, result.type, [result]) for result in results]
        node = self.node(op, operands)
        for series, result in zip(node.results, results, strict=True):
            if not series.known:
                series.known.append(result)
        # All at once and in order, so that no chain of demands is as long as the program.
        node.extend(self.order)
        return node.results

    def together(self, op: Operation, operands: tuple[Series, ...]) -> Sequence[Series]:
        """The series of an equation of the program that computes values and coefficients."""
        node = self.node(op, operands)
        node.extend(self.order)
        return node.results

    def series(self, atom: Atom, names: Mapping[Any, Series]) -> Series:
        """The series of an atom."""
        return names[atom] if isinstance(atom, Variable) else self.constant(atom)

    def constant(self, atom: Atom) -> Series:
        """The series of an atom that stands still."""
        key = atom if isinstance(atom, Variable) else atom.key
        still = self.still.get(key)
        if still is None:
            still = self.still[key] = Series(self, atom.type, [atom])
        return still

    def run(self, program: Program, operands: Sequence[Any], k: int) -> Coefficients:
        """Coefficient k of a program's results on series, and on expressions that stand still."""
        names: dict[Any, Series] = {
            variable: operand if isinstance(operand, Series) else self.constant(operand.atom)
            for variable, operand in zip(program.inputs, operands, strict=True)
        }
        for equation in program.equations:
            moving = tuple(self.series(atom, names) for atom in equation.inputs)
            node = self.node(equation.operation, moving)
            node.extend(k)  # in order, so that a long program is no deep recursion
            names.update(zip(equation.outputs, node.results, strict=True))
        return [self.series(atom, names)[k] for atom in program.outputs]

    def node(self, op: Operation, operands: tuple[Series, ...]) -> _SeriesOperation:
        """An operation on series, which stands once however often it is asked for."""
        key = (op, operands)
        node = self.nodes.get(key)
        if node is None:
            node = self.nodes[key] = _SeriesOperation(self, op, operands)
        return node

    def rate(self, series: Series) -> Series:
        """The derivative of a series with respect to t."""
        rate = self.rates.get(series)
        if rate is None:
            rate = self.rates[series] = TimeDerivative(series).results[0]
        return rate

    def rule(self, op: Operation, operands: Sequence[Atom], marks: Marks) -> DerivedRule:
        """The derivative of an operation at operands like these, in those marked."""
        key = (op, *(x.type if isinstance(x, Variable) else x.key for x in operands), marks)
        rule = self.rules.get(key)
        if rule is None:
            rule = self.rules[key] = derived_rule(op, operands, marks, self.builder.origin)
        return rule

    def push(
        self, op: Operation, operands: Sequence[Atom], results: Sequence[Atom], moving: Coefficients
    ) -> Coefficients:
        """The derivative of an operation, in a direction."""
        marks = tuple(x is not None for x in moving)
        rule = self.rule(op, operands, marks)
        names: dict[Atom, Atom] = dict(zip(rule.operands, operands, strict=True))
        names.update(zip(rule.results, results, strict=True))
        for variable, tangent in zip(rule.tangents, moving, strict=True):
            if variable is not None and tangent is not None:
                names[variable] = tangent.atom
        for equation in rule.equations:
            atoms = [names.get(x, x) for x in equation.inputs]
            values = self.builder.emit(equation.operation, atoms)
            names.update(zip(equation.outputs, values, strict=True))
        return [
            None if slope is None else Expression(self.builder, names.get(slope, slope))
            for slope in rule.slopes
        ]


class _SeriesOperation(Source):
    """An operation on series; its results are series."""

    __slots__ = ("coefficients", "marks", "needs", "op", "operands", "work")

    def __init__(self, work: _TaylorRun, op: Operation, operands: tuple[Series, ...]) -> None:
        self.work = work
        self.op = op
        self.operands = operands
        self.marks = tuple(not x.constant for x in operands)
        types = op.infer(tuple(x.type for x in operands))
        self.results = tuple(
            Series(work, type_, [], self, place) for place, type_ in enumerate(types)
        )
        self.constant = self._constant()
        self.needs: Iterable[Series] = operands
        self.coefficients: Any = self._choose()

    def _constant(self) -> Marks:
        primitive, marks = self.op.primitive, self.marks
        still = NO_DERIVATIVE in (primitive.derivative, primitive.taylor)
        if still or not any(marks):
            return (True,) * len(self.results)
        if self._has_rule() or self._factors() is not None:
            slopes: Sequence[Any] = self.results
        else:
            slopes = self._rule().slopes
        return tuple(
            slope is None or not result.type.inexact
            for slope, result in zip(slopes, self.results, strict=True)
        )

    def _choose(self) -> Any:
        if all(self.constant):
            return self._none
        if self._has_rule():
            return self._by_rule
        if self._factors() is not None:
            quotient = self._quotient()
            if quotient is not None:
                self.needs = quotient
                return self._by_quotient
            return self._by_cauchy
        return self._first_by_derivative

    def extend(self, k: int) -> None:
        have = len(self.results[0].known)
        if have <= k and isinstance(self.op.primitive.taylor, Whole):
            self._all_at_once(k)
            return
        if have == 0:
            atoms = [present(x.atom(0)) for x in self.operands]
            results = self.work.builder.emit(self.op, atoms)
            for series, result in zip(self.results, results, strict=True):
                series.known.append(result)
            have = 1
        for j in range(have, k + 1):
            coefficients = self.coefficients(j)
            for series, coefficient in zip(self.results, coefficients, strict=True):
                series.known.append(self._as_tangent(coefficient, series.type))

    def _all_at_once(self, k: int) -> None:
        rows = self.op.primitive.rule("taylor")(self.operands, k, **self.op.params)
        for series, row in zip(self.results, rows, strict=True):
            atoms = [row[0].atom, *(self._as_tangent(x, series.type) for x in row[1:])]
            series.known += atoms[len(series.known) :]

    def _as_tangent(self, coefficient: Expression | None, type: ArrayType) -> Atom | None:
        if coefficient is None or not type.inexact:
            return None
        return broadcast_to(cast(coefficient, type.dtype), type.shape).atom

    def _none(self, k: int) -> Coefficients:
        return [None] * len(self.results)

    # --- a rule of its own ------------------------------------------------------------------------

    def _has_rule(self) -> bool:
        return not isinstance(self.op.primitive.taylor, FromDerivative)

    def _by_rule(self, k: int) -> Coefficients:
        rule = self.op.primitive.rule("taylor")
        coefficients: Coefficients = rule(self.operands, self.results, k, **self.op.params)
        return coefficients

    # --- bilinear ---------------------------------------------------------------------------------

    def _factors(self) -> tuple[int, int] | None:
        """The places of two factors that move in a product."""
        linear, marks = self.op.primitive.linear, self.marks
        if not isinstance(linear, Each) or sum(marks) != 2:
            return None
        places = tuple(place for place, mark in enumerate(marks) if mark)
        if linear.places is not None and not linear.places.issuperset(places):
            return None
        return places[0], places[1]

    def _by_cauchy(self, k: int) -> Coefficients:
        """sum_j p(x_j, y_{k-j}): of a product, the derivative in one factor is the product."""
        left, right = present(self._factors())
        x, y = self.operands[left], self.operands[right]
        values = [present(operand.atom(0)) for operand in self.operands]
        results = [present(result.atom(0)) for result in self.results]
        total: list[Expression | None] = [None] * len(results)
        for j in range(k + 1):
            one, other = x[j], y[k - j]
            if one is None or other is None:
                continue
            if j < k:
                held, factor, moved, tangent = left, one, right, other
            else:
                held, factor, moved, tangent = right, other, left, one
            if self.operands[held].type.weak:  # its coefficients are not, and would widen it
                factor = cast(factor, narrow(factor.dtype, self.results[0].type.dtype))
            atoms = list(values)
            atoms[held] = factor.atom
            moving = [tangent if place == moved else None for place in range(len(atoms))]
            terms = self.work.push(self.op, atoms, results, moving)
            total = [total_of(a, b) for a, b in zip(total, terms, strict=True)]
        return total

    # --- a quotient times a tangent ---------------------------------------------------------------

    def _quotient(self) -> tuple[Series, Series] | None:
        """(n u, d) where this is (n / d) u: one recurrence, not one for n / d and a product."""
        if self.op.primitive is not SCALE:
            return None
        factor, tangent = self.operands
        division = factor.node
        if not isinstance(division, _SeriesOperation) or division.op.primitive is not DIVIDE:
            return None
        over, under = division.operands
        if under.constant or not (over.type.inexact or over.type.weak):
            return None
        number = over.example
        if isinstance(number, Literal) and number.value == 1:
            return tangent, under
        return self.work.node(self.op, (over, tangent)).results[0], under

    def _by_quotient(self, k: int) -> Coefficients:
        over, under = self.needs
        return (quotient_taylor(over, under, self.results[0], k),)

    # --- by the derivative ------------------------------------------------------------------------

    def _rule(self) -> DerivedRule:
        return self.work.rule(self.op, [x.example for x in self.operands], self.marks)

    def _first_by_derivative(self, k: int) -> Coefficients:
        """Find out which of the two it is, when a coefficient is first asked for.

        Not before, for each function in the rule may ask for another one.
        """
        rule, work = self._rule(), self.work
        names: dict[Atom, Series] = dict(zip(rule.operands, self.operands, strict=True))
        names.update(zip(rule.results, self.results, strict=True))
        for variable, operand in zip(rule.tangents, self.operands, strict=True):
            if variable is not None:
                names[variable] = work.rate(operand)
        nodes, straight = [], True
        for equation in rule.equations:
            operands = tuple(work.series(atom, names) for atom in equation.inputs)
            node = work.node(equation.operation, operands)
            names.update(zip(equation.outputs, node.results, strict=True))
            nodes.append(node)
            if not rule.moved.isdisjoint(equation.outputs):
                straight &= all(
                    series.constant or atom in rule.moved
                    for atom, series in zip(equation.inputs, operands, strict=True)
                )
        if straight:
            self.coefficients = self._by_tangents
        else:
            slopes = [None if x is None else work.series(x, names) for x in rule.slopes]
            self.coefficients = Antiderivative(slopes, nodes)
        coefficients: Coefficients = self.coefficients(k)
        return coefficients

    def _by_tangents(self, k: int) -> Coefficients:
        """The derivative does not vary: it acts on each coefficient, as what is linear does."""
        moving = [x[k] for x in self.operands]
        if all(x is None for x in moving):
            return self._none(k)
        values = [present(operand.atom(0)) for operand in self.operands]
        results = [present(result.atom(0)) for result in self.results]
        return self.work.push(self.op, values, results, moving)
