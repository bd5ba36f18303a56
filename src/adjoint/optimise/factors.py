"""Constant factors of derivatives, moved to where they cost least.

The derivative of x ** 2 is 2 * x * u, that of y - x is -u: each factor would be a pass over an
array. Here every derived value is kept as a number times another value; the numbers are multiplied
with each other, pass through all that is linear, and are written out where the array is small, or
not at all when a sum of terms has them in common. A value that goes into several products takes its
number along, so that not each of them is multiplied by it. A sum of products becomes one
contraction, and rows of a product of matrices that are only added up are added up before it.

Not exact: products are rounded in another order. It touches nothing that the user wrote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import chain
from math import isfinite
from typing import Any

import numpy as np

from adjoint.primitives.declaration import PRIMITIVES, Primitive
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.structure.contraction import CONTRACT, canonical, split_spec
from adjoint.primitives.structure.moving import BROADCAST, RESHAPE, SUM, TRANSPOSE
from adjoint.primitives.structure.slicing import SLICE
from adjoint.program import Atom, Builder, Equation, Literal, Program, Variable, operation

ADD, SUBTRACT = PRIMITIVES["add"], PRIMITIVES["subtract"]
NEGATIVE, MULTIPLY = PRIMITIVES["negative"], PRIMITIVES["multiply"]
_LINEAR = frozenset({SUM, TRANSPOSE, RESHAPE, BROADCAST, SLICE})
_PRODUCTS = frozenset({SCALE, MULTIPLY, CONTRACT})
_EXACT = 2**53  # up to which doubles hold every integer
_DEEPEST = 64  # values that a sum goes through, each a few calls of Python deep
_LETTERS = "abcdefghijklmnopqrstuvwxyz"

Number = int | float
Term = tuple[Number, Atom]  # a number times a value


def move_factors(program: Program) -> Program:
    """The program with the constant factors of its derived equations moved; itself for none."""
    if not any(equation.transformed for equation in program.equations):
        return program
    moved = _Mover(program).run()
    operations = zip(program.equations, moved.equations, strict=False)
    if len(moved) == len(program) and all(a.operation is b.operation for a, b in operations):
        return program  # no factor has moved
    return moved


class _Mover:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.builder = Builder()
        self.terms: dict[Variable, Term] = {}
        self.written: dict[Variable, Atom] = {}
        self.equation_of: dict[Variable, Equation] = {}
        read = chain(*(equation.inputs for equation in program.equations), program.outputs)
        self.uses = Counter(atom for atom in read if isinstance(atom, Variable))
        self.sums: dict[tuple[Atom, tuple[int, ...]], Atom] = {}  # of values over axes
        self.depth = 0  # of values that are being summed, each for the sum of the one before
        self.shared: set[Atom] = set()  # values of the new program that are read more than once
        self.products = Counter(
            atom
            for equation in program.equations
            if equation.transformed and equation.primitive in _PRODUCTS
            for atom in equation.inputs
            if isinstance(atom, Variable)
        )

    def run(self) -> Program:
        """Rebuild the program."""
        for variable in self.program.inputs:
            self.terms[variable] = (1, self.builder.input(variable.type))
        for equation in self.program.equations:
            self.builder.origin, self.builder.derived = equation.origin, equation.derived
            rule = _RULES.get(equation.primitive) if equation.transformed else None
            term = rule(self, equation) if rule is not None else None
            if term is None:
                operands = [self.write(atom) for atom in equation.inputs]
                results = self.emit(equation.operation, operands)
                for variable, result in zip(equation.outputs, results, strict=True):
                    self.remember(variable, (1, result))
            else:
                (variable,) = equation.outputs
                self.remember(variable, self.settled(term, self.products[variable]))
        self.builder.derived = True
        return self.builder.build([self.write(atom) for atom in self.program.outputs])

    def remember(self, variable: Variable, term: Term) -> None:
        """What a variable of the program is in the new one."""
        self.terms[variable] = term
        if self.uses[variable] > 1:
            self.shared.add(term[1])

    def derived(self, atom: Atom, *primitives: Primitive) -> Equation | None:
        """The derived equation that has this result, if it is of one of these primitives."""
        equation = self.equation_of.get(atom) if isinstance(atom, Variable) else None
        if equation is None or not equation.transformed or equation.primitive not in primitives:
            return None
        return equation

    def read_once(self, atom: Atom, *primitives: Primitive) -> Equation | None:
        """The same, where nothing else reads the result."""
        return None if atom in self.shared else self.derived(atom, *primitives)

    def term(self, atom: Atom) -> Term:
        """An operand as a number times a value."""
        return self.terms[atom] if isinstance(atom, Variable) else (1, atom)

    def emit(self, op: Any, operands: Any) -> tuple[Variable, ...]:
        """Append an equation."""
        results = self.builder.emit(op, operands)
        for result in results:
            self.equation_of[result] = self.builder.equations[-1]
        return results

    def one(self, primitive: Any, *operands: Atom, **params: Any) -> Atom:
        """Append an equation with one result."""
        return self.emit(operation(primitive, **params), operands)[0]

    def times(self, number: Number, value: Atom) -> Atom:
        """A term written out."""
        if number == 1:
            return value
        if number == -1:
            return self.one(NEGATIVE, value)
        return self.one(MULTIPLY, Literal(number), value)

    def added(self, terms: list[Term]) -> Atom:
        """The sum of terms in their order; their numbers are 1 or -1."""
        (number, total), *rest = terms
        total = self.times(number, total)
        for number, value in rest:
            total = self.one(ADD if number == 1 else SUBTRACT, total, value)
        return total

    def write(self, atom: Atom) -> Atom:
        """An operand written out, once."""
        if not isinstance(atom, Variable):
            return atom
        if atom not in self.written:
            marked = self.builder.derived
            self.builder.derived = True  # as what the number was taken out of, whoever asks for it
            self.written[atom] = self.times(*self.terms[atom])
            self.builder.derived = marked
        return self.written[atom]

    def settled(self, term: Term, products: int) -> Term:
        """Factors of single numbers are written out at once, and those of several products too."""
        number, value = term
        if number != 1 and (value.type.ndim == 0 or (number != -1 and products > 1)):
            return 1, self.times(number, value)
        return term


def _negative(mover: _Mover, equation: Equation) -> Term | None:
    number, value = mover.term(equation.inputs[0])
    return -number, value


def _product(mover: _Mover, equation: Equation) -> Term | None:
    """A number times a value, or two values: numbers come out, or go into the smaller one."""
    for factor, other in (equation.inputs, equation.inputs[::-1]):
        literal = _real_literal(factor)
        if literal is not None and other.type is equation.outputs[0].type:
            scale, value = mover.term(other)
            product = _multiplied(literal, scale)
            return (product, value) if product else None
    (n, x), (m, y) = map(mover.term, equation.inputs)
    number = _multiplied(n, m)
    if number is None:
        return None
    small, large = (x, y) if x.type.ndim == 0 else (y, x)
    # A product of Python scalars is not weak: it would widen what it meets.
    if number != 1 and not small.type.weak and small.type.ndim == 0 < large.type.ndim:
        if small is x:
            x = mover.times(number, x)
        else:
            y = mover.times(number, y)
        number = 1
    return number, mover.one(equation.primitive, x, y)


def _multiplied(n: Number, m: Number) -> Number | None:
    """The product of two factors; None where it would overflow."""
    product = n * m
    if abs(product) > _EXACT:
        product = float(product)
    return product if isfinite(product) else None


def _real_literal(atom: Atom) -> Number | None:
    value = atom.value if isinstance(atom, Literal) else None
    return value if isinstance(value, (int, float)) and type(value) in (int, float) else None


def _sum_of_two(mover: _Mover, equation: Equation) -> Term | None:
    """Terms with a common factor up to sign are added or subtracted without it."""
    (n, x), (m, y) = map(mover.term, equation.inputs)
    if equation.primitive is SUBTRACT:
        m = -m
    if abs(n) != abs(m) or any(isinstance(atom, Literal) for atom in (x, y)):
        return None
    if n == m:
        return n, mover.one(ADD, x, y)
    if n < 0:
        (n, x), (m, y) = (m, y), (n, x)
    return n, mover.one(SUBTRACT, x, y)


def _linear(mover: _Mover, equation: Equation) -> Term | None:
    """Structural operations and sums: the factor passes through."""
    number, value = mover.term(equation.inputs[0])
    if isinstance(value, Literal):
        return None
    if equation.primitive is SUM:
        if value.type.dtype == np.float16:  # ends at 65 504: what is added up in it is made small
            return None
        return number, _sum(mover, value, equation.params["axes"])
    return number, mover.emit(equation.operation, [value])[0]


def _sum(mover: _Mover, value: Atom, axes: tuple[int, ...]) -> Atom:
    """A sum over axes, found once: steps that read the one before twice would double the time."""
    known = mover.sums.get((value, axes))
    if known is not None:
        mover.shared.add(known)
        return known
    mover.depth += 1
    deep = mover.depth > _DEEPEST
    total = mover.one(SUM, value, axes=axes) if deep else _shorter_sum(mover, value, axes)
    mover.depth -= 1
    mover.sums[value, axes] = total
    return total


def _shorter_sum(mover: _Mover, value: Atom, axes: tuple[int, ...]) -> Atom:
    """A sum: single numbers leave it, sums of sums are one, products are contracted."""
    source = mover.derived(value, SCALE, MULTIPLY)
    if source is not None:
        for factor, other in (source.inputs, source.inputs[::-1]):
            single = factor.type.ndim == 0 and not factor.type.weak
            if single and other.type is value.type:
                return mover.one(SCALE, factor, _sum(mover, other, axes))
    if source is not None and source.primitive is SCALE:
        scaled = _with_factor_outside(mover, source, axes)
        if scaled is not None:
            return scaled
    source = mover.derived(value, SUM)
    if source is not None:
        (inner,), gone = source.inputs, source.params["axes"]
        left = [axis for axis in range(inner.type.ndim) if axis not in gone]
        return _sum(mover, inner, tuple(sorted((*gone, *(left[axis] for axis in axes)))))
    shorter = _as_contraction(mover, value, axes) or _with_factors_summed(mover, value, axes)
    return shorter or _with_products_apart(mover, value, axes) or mover.one(SUM, value, axes=axes)


def _with_factor_outside(mover: _Mover, source: Equation, axes: tuple[int, ...]) -> Atom | None:
    """The sum of a product one of whose factors does not vary along the axes."""
    rank = source.outputs[0].type.ndim
    for factor, other in (source.inputs, source.inputs[::-1]):
        if factor.type.weak or other.type.weak or not factor.type.ndim:
            continue
        lead, shape = rank - factor.type.ndim, factor.type.shape
        before = rank - other.type.ndim
        varies = any(axis >= lead and shape[axis - lead] != 1 for axis in axes)
        lengths = source.outputs[0].type.shape
        whole = all(
            axis >= before and other.type.shape[axis - before] == lengths[axis] for axis in axes
        )
        if varies or not whole or other.type.dtype != source.outputs[0].type.dtype:
            continue
        kept = tuple(n for axis, n in enumerate(shape) if axis + lead not in axes)
        if kept != shape:
            factor = mover.one(RESHAPE, factor, shape=kept)
        summed = _sum(mover, other, tuple(axis - before for axis in axes))
        return mover.one(SCALE, factor, summed)
    return None


def _as_contraction(mover: _Mover, value: Atom, axes: tuple[int, ...]) -> Atom | None:
    """The sum of all entries of a product of two arrays, without the array in between."""
    source = mover.derived(value, SCALE)
    if source is None:
        return None
    x, y = source.inputs
    whole = len(axes) == value.type.ndim > 0
    if not whole or x.type is not y.type or value.type.dtype.kind != "f":
        return None
    labels = _LETTERS[: value.type.ndim]
    return mover.one(CONTRACT, x, y, spec=f"{labels},{labels}->")


def _with_factors_summed(mover: _Mover, value: Atom, axes: tuple[int, ...]) -> Atom | None:
    """The sum of a product of matrices that nothing else reads: its factors are added up first.

    Of `sum(R @ A, 0) = sum(R, 0) @ A` one row goes into the product, and not each of them. None
    where a factor is narrower than the product, which sums in its own dtype.
    """
    product = mover.read_once(value, CONTRACT)
    if product is None or value.type.dtype.kind not in "fc" or not value.type.size:
        return None
    left, right, result = split_spec(product.params["spec"])
    gone = {result[axis] for axis in axes}
    factors, specs = [], []
    for atom, own, others in zip(product.inputs, (left, right), (right, left), strict=True):
        alone = tuple(axis for axis, label in enumerate(own) if label in gone - set(others))
        if alone and (atom.type.dtype != value.type.dtype or not isinstance(atom, Variable)):
            return None
        factors.append(_sum(mover, atom, alone) if alone else atom)
        specs.append("".join(label for axis, label in enumerate(own) if axis not in alone))
    kept = "".join(label for label in result if label not in gone)
    return mover.one(CONTRACT, *factors, spec=canonical(f"{','.join(specs)}->{kept}"))


def _with_products_apart(mover: _Mover, value: Atom, axes: tuple[int, ...]) -> Atom | None:
    """The sum of terms, products of matrices among them: each of those is summed by itself."""
    if mover.read_once(value, ADD, SUBTRACT) is None:
        return None
    products: list[Term] = []
    others: list[Term] = []
    waiting: list[Term] = [(1, value)]
    while waiting:
        number, atom = waiting.pop()
        terms = mover.read_once(atom, ADD, SUBTRACT)
        if terms is not None and all(term.type is value.type for term in terms.inputs):
            second = number if terms.primitive is ADD else -number
            waiting += [(second, terms.inputs[1]), (number, terms.inputs[0])]
        else:
            (products if mover.read_once(atom, CONTRACT) else others).append((number, atom))
    if not products:
        return None
    sums = [(number, _sum(mover, atom, axes)) for number, atom in products]
    if others:
        sums.insert(0, (1, _sum(mover, mover.added(others), axes)))
    return mover.added(sums)


def _contraction(mover: _Mover, equation: Equation) -> Term | None:
    (n, x), (m, y) = map(mover.term, equation.inputs)
    number = _multiplied(n, m)
    return None if number is None else (number, mover.emit(equation.operation, [x, y])[0])


_RULES: dict[Any, Callable[[_Mover, Equation], Term | None]] = {
    NEGATIVE: _negative,
    SCALE: _product,
    MULTIPLY: _product,
    ADD: _sum_of_two,
    SUBTRACT: _sum_of_two,
    CONTRACT: _contraction,
    **dict.fromkeys(_LINEAR, _linear),
}
