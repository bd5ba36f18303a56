"""Integrals over an interval of what a program computes: what stands for a quadrature rule.

How they are summed is known on a higher floor. As in `solving.py`, a program holds a description
that is compared by structure.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from adjoint.base.arrays import ArrayType, array_type
from adjoint.primitives.calls.custom import Marks, append
from adjoint.primitives.declaration import EmptySlot, Joint, Primitive
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.elementwise.declaring import weigh
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.structure.moving import with_batch, zeros
from adjoint.program import Program


@dataclass(frozen=True)
class Integral:
    """The integrals of what a program (t, *operands) -> values computes, over t in [a, b].

    key: the structure. program: the integrand. linear: in how many last operands it is linear.
    evaluate: arrays of a, b and all operands -> the integrals. derive: the derivative in the
    operands marked, as an integrand (t, *operands, *tangents), with the marks of values that vary.
    transpose: that of an integrand linear in its last operands, (t, *operands before those,
    *cotangents) -> their cotangents. batch: the integrand over a batch, from which operands (a and
    b first) are batched.
    """

    key: Hashable
    program: Program = field(compare=False)
    linear: int = field(compare=False)
    evaluate: Callable[..., tuple[Any, ...]] = field(compare=False)
    derive: Callable[[Marks], tuple[Integral, Marks]] = field(compare=False)
    transpose: Callable[[], Integral] = field(compare=False)
    batch: Callable[[Marks, int], Integral] = field(compare=False)

    @property
    def types(self) -> tuple[ArrayType, ...]:
        """The types of the integrals."""
        return tuple(array_type(type_.shape, type_.dtype) for type_ in self.program.output_types)

    def __str__(self) -> str:
        return f"{len(self.program.equations)} equations"


def _derivative(tangents: Any, operands: Any, results: Any, integral: Integral) -> Any:
    """By Leibniz's rule: the ends weigh the integrand there, and the rest stays an integral."""
    totals: list[Any] = [None] * len(results)

    def add(number: int, term: Any) -> None:
        totals[number] = term if totals[number] is None else totals[number] + term

    for place, sign in ((0, -1.0), (1, 1.0)):
        if tangents[place] is not None:
            end = cast(operands[place], integral.program.input_types[0].dtype)
            values = _appended(integral.program, [end, *operands[2:]])
            for number, value in enumerate(values):
                add(number, weigh(sign * value, tangents[place], results[number].type))
    moving = [tangent for tangent in tangents[2:] if tangent is not None]
    if moving:
        slope, varying = integral.derive(tuple(tangent is not None for tangent in tangents[2:]))
        terms = iter(bind(INTEGRAL, *operands, *moving, integral=slope))
        for number, varies in enumerate(varying):
            if varies:
                add(number, next(terms))
    return tuple(totals)


def _appended(program: Program, operands: list[Any]) -> list[Expression]:
    builder = operands[0].builder
    atoms = append(builder, program, [operand.atom for operand in operands])
    return [Expression(builder, atom) for atom in atoms]


def _transpose(cotangents: Any, operands: Any, integral: Integral) -> Any:
    count = len(operands) - integral.linear
    builder = next(cotangent.builder for cotangent in cotangents if cotangent is not None)
    whole = [
        cotangent if cotangent is not None else zeros(builder, type_)
        for cotangent, type_ in zip(cotangents, integral.types, strict=True)
    ]
    pulled = bind(INTEGRAL, *operands[:count], *whole, integral=integral.transpose())
    return (*(None for _ in range(count)), *pulled)


def _batch(operands: Any, batched: Marks, size: int, integral: Integral) -> Any:
    if batched[0] or batched[1]:  # both ends, or none
        ends = zip(operands[:2], batched[:2], strict=True)
        operands = [*(with_batch(x, mark, size) for x, mark in ends), *operands[2:]]
        batched = (True, True, *batched[2:])
    return bind(INTEGRAL, *operands, integral=integral.batch(tuple(batched), size))


INTEGRAL = Primitive(
    "integral",
    infer=lambda *types, integral: integral.types,
    evaluate=lambda *arrays, integral: integral.evaluate(*arrays),
    linear=Joint(),  # in its last operands; the transpose hands on to those alone
    derivative=_derivative,
    transpose=_transpose,
    batch=_batch,
    samples=EmptySlot("its descriptions are made on a higher floor, and tried by tests/scipy"),
    multiple=True,
    opaque=True,
)
