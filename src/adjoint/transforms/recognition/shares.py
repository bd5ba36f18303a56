"""Quotients by sums with an exponential, whose slopes are 0 * inf where the exponential overflows.

1 / (b + exp(x)) is 0 where exp(x) overflows, and so is its slope. Step by step that is the quotient
i / (b + exp(x)) times exp(x). Written as i times exp(x) / (b + exp(x)), which is a share between 0
and 1, it is right there as well. A program is written so where a NaN has turned up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.primitives.elementwise.accuracy.slopes import OFFSET_SHARE
from adjoint.primitives.elementwise.arithmetic import (
    ADD,
    DIVIDE,
    INTEGER_POWER,
    MULTIPLY,
    NEGATIVE,
    SUBTRACT,
    integer_power,
)
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.structure.contraction import CONTRACT, split_spec
from adjoint.primitives.structure.moving import sum_axes
from adjoint.program import Atom, Builder, Equation, Literal, Program, Variable
from adjoint.program.builder import lookup

_PRODUCTS = frozenset({SCALE, MULTIPLY, NEGATIVE})
_SUMS = frozenset({ADD, SUBTRACT})
_NARROWEST = 4  # bytes of the numbers that shares are computed for
_DEEPEST = 200  # products and sums inside of each other; longer chains are left as they are
_NONE: frozenset[Atom] = frozenset()


def with_shares(program: Program) -> Program:
    """The program with an exponential times a quotient by a sum with it as what it amounts to."""
    if not any(_is_exponential(equation) for equation in program.equations):
        return program
    return _ShareRewriting(program).program


def _is_exponential(equation: Equation) -> bool:
    type_ = equation.outputs[0].type
    real = type_.dtype.kind == "f" and type_.dtype.itemsize >= _NARROWEST
    return equation.primitive.ufunc is np.exp and real


def _summed(equation: Equation) -> tuple[int, ...] | None:
    """The axes over which a contraction sums products of entries at the same places; else None."""
    if equation.primitive is not CONTRACT or not equation.transformed:
        return None
    left, right, out = split_spec(equation.params["spec"])
    left_type, right_type = (x.type for x in equation.inputs)
    if left != right or left_type != right_type or len(set(left)) < len(left):
        return None
    in_order = "".join(label for label in left if label in out) == out
    return tuple(n for n, label in enumerate(left) if label not in out) if in_order else None


class _ShareRewriting:
    """A program being written anew, with the equation that made each value so far."""

    def __init__(self, program: Program) -> None:
        self.builder = Builder()
        self.makers: dict[Atom, Equation] = {}
        # For each value: the exponentials that are factors of it, and those of the sums that divide
        # it. A value used twice is looked at once, however often its users are.
        self.factors: dict[Atom, frozenset[Atom]] = {}
        self.divisors: dict[Atom, frozenset[Atom]] = {}
        self.depths: dict[Atom, int] = {}  # of the products and sums that these two were read from
        self.exponentials: list[Atom] = []
        self.quotients: dict[tuple[Atom, Atom], tuple[Expression, Any] | None] = {}
        inputs = [self.builder.input(variable.type) for variable in program.inputs]
        names: dict[Variable, Atom] = dict(zip(program.inputs, inputs, strict=True))
        for equation in program.equations:
            self.builder.origin, self.builder.derived = equation.origin, equation.derived
            operands = [lookup(names, atom) for atom in equation.inputs]
            results = self._results(equation, operands)
            names.update(zip(equation.outputs, results, strict=True))
        self.program = self.builder.build([lookup(names, atom) for atom in program.outputs])

    def _results(self, equation: Equation, operands: list[Atom]) -> list[Atom]:
        axes = _summed(equation)
        if equation.primitive is SCALE or axes is not None:
            type_ = (equation.inputs if axes is not None else equation.outputs)[0].type
            for one, other in (operands, operands[::-1]):
                product = self._product(one, other)
                if product is not None and product.type == type_:
                    whole = Expression(self.builder, product)
                    return [product if axes is None else sum_axes(whole, axes).atom]
        return list(self._noted(self.builder.emit(equation.operation, operands)))

    def _noted(self, results: tuple[Variable, ...]) -> tuple[Variable, ...]:
        equation = self.builder.equations[-1]
        self.makers.update(dict.fromkeys(results, equation))
        depth = 1 + max((self.depths.get(atom, 0) for atom in equation.inputs), default=0)
        if len(results) != 1 or depth > _DEEPEST:
            return results
        (result,) = results
        factors, divisors = self._parts(equation, result)
        if factors or divisors:
            self.factors[result], self.divisors[result] = factors, divisors
            self.depths[result] = depth
        return results

    def _parts(
        self, equation: Equation, result: Variable
    ) -> tuple[frozenset[Atom], frozenset[Atom]]:
        """The exponentials among an equation's factors, and those in the sums that divide it."""
        primitive, inputs = equation.primitive, equation.inputs
        if _is_exponential(equation):
            self.exponentials.append(result)
            return frozenset({result}), _NONE
        divisors = [self.divisors.get(atom, _NONE) for atom in inputs]
        if primitive in _PRODUCTS:
            factors = [self.factors.get(atom, _NONE) for atom in inputs]
            return _NONE.union(*factors), _NONE.union(*divisors)
        if primitive in _SUMS:
            return _NONE, divisors[0] & divisors[1]
        if primitive is DIVIDE:
            return _NONE, divisors[0] | self._exponentials_of_sum(inputs[1])
        if primitive is INTEGER_POWER and equation.params["exponent"] < -1:
            return _NONE, self._exponentials_of_sum(inputs[0])
        return _NONE, _NONE

    def _exponentials_of_sum(self, divisor: Atom) -> frozenset[Atom]:
        """The exponentials that a divisor is, or is a sum with."""
        maker = self.makers.get(divisor)
        terms = [divisor, *(maker.inputs if maker and maker.primitive in _SUMS else ())]
        return frozenset(
            term for term in terms if term in self.makers and _is_exponential(self.makers[term])
        )

    def _product(self, one: Atom, other: Atom) -> Atom | None:
        """A product of exp(x) and a quotient by b + exp(x), each among factors; None if not."""
        shared = self.factors.get(one, _NONE) & self.divisors.get(other, _NONE)
        for power in [power for power in self.exponentials if power in shared] if shared else ():
            quotient = self._without_quotient(other, power)
            if quotient is None:
                continue
            product, offset = quotient
            if offset is not None:
                x = Expression(self.builder, self.makers[power].inputs[0])
                product = self._known(OFFSET_SHARE(offset, x) * product)
            rest = self._without(one, power)
            return (product if rest is None else self._known(rest * product)).atom
        return None

    def _without(self, atom: Atom, power: Atom) -> Expression | None:
        """A product without one of its factors; None where nothing is left."""
        if atom is power:
            return None
        maker = self.makers[atom]
        operands = [Expression(self.builder, factor) for factor in maker.inputs]
        if len(operands) == 1:
            rest = self._without(maker.inputs[0], power)
            if rest is None:
                return Expression(self.builder, Literal(-1.0))
            return self._known(bind(maker.primitive, rest))
        place = 0 if power in self.factors.get(maker.inputs[0], _NONE) else 1
        rest = self._without(maker.inputs[place], power)
        if rest is None:
            return operands[1 - place]
        operands[place] = rest
        return self._known(self._again(maker, operands))

    def _known(self, result: Expression) -> Expression:
        if isinstance(result.atom, Variable):
            self._noted((result.atom,))
        return result

    def _without_quotient(self, atom: Atom, power: Atom) -> tuple[Expression, Any] | None:
        """A product without one division by b + `power`, and b; None for b where there is none."""
        if power not in self.divisors.get(atom, _NONE):
            return None
        key = (atom, power)
        if key not in self.quotients:
            self.quotients[key] = self._quotient(self.makers[atom], power)
        return self.quotients[key]

    def _quotient(self, maker: Equation, power: Atom) -> tuple[Expression, Any] | None:
        """The same of the equation that made it."""
        primitive, inputs = maker.primitive, maker.inputs
        if primitive is DIVIDE:
            offset = self._offset(inputs[1], power)
            if offset is not _OTHER:  # a number of Python's would be widened
                top = Expression(self.builder, inputs[0])
                return cast(top, maker.outputs[0].type.dtype), offset
        elif primitive is INTEGER_POWER:
            offset = self._offset(inputs[0], power)
            if offset is _OTHER:
                return None
            base = Expression(self.builder, inputs[0])
            return self._known(integer_power(base, maker.params["exponent"] + 1)), offset
        return self._without_quotients(maker, power)

    def _without_quotients(self, maker: Equation, power: Atom) -> tuple[Expression, Any] | None:
        """The same of an equation: in one factor of a product, or in both terms of a sum."""
        inputs = maker.inputs
        operands = [Expression(self.builder, operand) for operand in inputs]
        if maker.primitive in _SUMS:
            terms = [self._without_quotient(term, power) for term in inputs]
            if terms[0] is None or terms[1] is None or not _same(terms[0][1], terms[1][1]):
                return None
            return self._known(bind(maker.primitive, terms[0][0], terms[1][0])), terms[0][1]
        for place in range(1 if maker.primitive is DIVIDE else len(inputs)):
            quotient = self._without_quotient(inputs[place], power)
            if quotient is not None:
                operands[place] = quotient[0]
                return self._known(self._again(maker, operands)), quotient[1]
        return None

    def _again(self, maker: Equation, operands: list[Expression]) -> Expression:
        """An equation of other operands, integers among them perhaps."""
        if maker.primitive is SCALE:
            return operands[0] * operands[1]  # type: ignore[no-any-return]
        return bind(maker.primitive, *operands)  # type: ignore[no-any-return]

    def _offset(self, divisor: Atom, power: Atom) -> Any:
        """b where a divisor is b + `power`, None where it is that alone; else `_OTHER`."""
        if divisor is power:
            return None
        maker = self.makers.get(divisor)
        if maker is None or maker.primitive not in (ADD, SUBTRACT):
            return _OTHER
        one, two = maker.inputs
        if one is power and two.type.dtype.kind in "fib":
            offset = Expression(self.builder, two)
            return offset if maker.primitive is ADD else -cast(offset, power.type.dtype)
        if two is power and maker.primitive is ADD and one.type.dtype.kind in "fib":
            return Expression(self.builder, one)
        return _OTHER


_OTHER = object()


def _same(one: Any, other: Any) -> bool:
    """Whether two offsets are one and the same."""
    return one is other or (one is not None and other is not None and one.atom == other.atom)
