"""Infinities of the data, which do not move: the masks of what they alone decide.

exp(-inf / t) is 0 for all t, and 1 / (inf + x) for all x. Where such an infinity stands, the masks
of `hardness.py` say so; what only depends on those, or is infinite by them, is constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Final

import numpy as np

from adjoint.primitives.elementwise.arithmetic import ADD, DIVIDE, INTEGER_POWER, MULTIPLY, SUBTRACT
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.elementwise.smooth import ROOT_OF_POWERS, ROOT_OF_SQUARES
from adjoint.primitives.expression import Expression
from adjoint.primitives.structure.moving import broadcast_to
from adjoint.program import Atom, Equation, Literal
from adjoint.transforms.hard_zeros.masks import (
    Mask,
    both,
    either,
    fill_with,
    infinite_entries,
    is_real,
)

_ELEMENTWISE: Final = frozenset({SCALE, INTEGER_POWER, ROOT_OF_SQUARES, ROOT_OF_POWERS})


def unmoved(
    work: Any, equation: Equation, operands: list[Atom], masks: list[Mask], result: Atom
) -> Mask:
    """Where infinities of the data make the result of an elementwise function a constant."""
    primitive, known = equation.primitive, [isinstance(mask, Expression) for mask in masks]
    elementwise = primitive.ufunc is not None or primitive in _ELEMENTWISE
    if not (work.still and elementwise and any(known) and is_real(result)):
        return None
    values = [work.express(x) for x in operands]
    value = work.express(result)
    # Of those alone, and of constants: 0 is left out, which may be that of a seed.
    given = [mask or isinstance(x, Literal) for mask, x in zip(known, operands, strict=True)]
    pairs = [
        (mask, x) for mask, x in zip(masks, values, strict=True) if isinstance(mask, Expression)
    ]
    alone = [both(mask, np.not_equal(x, 0)) for mask, x in pairs]
    constant: Mask = reduce(both, alone) if all(given) else None
    infinite: list[Mask] = [
        both(mask, infinite_entries(x)) if isinstance(mask, Expression) else None
        for mask, x in zip(masks, values, strict=True)
    ]
    if primitive in (ADD, SUBTRACT, MULTIPLY, SCALE):
        stays = both(either(*infinite), infinite_entries(value))
    elif primitive is DIVIDE:  # of infinity by 0 the sign is not known
        stays = both(
            infinite[0], np.logical_and(infinite_entries(value), np.not_equal(values[1], 0))
        )
        stays = either(stays, both(infinite[1], np.equal(value, 0)))
    else:
        stays = None
    constant = either(constant, stays)
    if constant is None:
        return None
    return broadcast_to(np.logical_and(constant, np.equal(value, value)), result.type.shape)


def unmoved_sum(
    work: Any, equation: Equation, operands: list[Atom], masks: list[Mask], result: Atom
) -> Mask:
    """Where infinities of the data make a sum infinite, one of products perhaps."""
    places = [n for n, mask in enumerate(masks) if isinstance(mask, Expression)]
    if not (work.still and places and is_real(result)):
        return None
    reached: Mask = None
    for place in places:
        shadows = [
            fill_with(work.builder, x.type.shape, x.type.dtype, 1).atom if x.type.inexact else x
            for x in operands
        ]
        x = operands[place]
        infinite = np.logical_and(masks[place], infinite_entries(work.express(x)))
        shadows[place] = cast(infinite, x.type.dtype).atom
        (shadow,) = work.builder.emit(equation.operation, shadows)
        reached = either(reached, np.not_equal(work.express(shadow), 0))
    return both(reached, infinite_entries(work.express(result)))


def known(
    work: Any, equation: Equation, operands: list[Atom], masks: list[Mask]
) -> tuple[Sequence[Atom], list[Mask]]:
    """At an infinity of the data a slope is what it is; at one that arithmetic made, not known."""
    results, (of_slope, mask) = work.plain(equation, operands), masks
    if not (work.still and isinstance(mask, Expression)):
        return results, [of_slope]
    meant = broadcast_to(
        both(mask, infinite_entries(work.express(operands[1]))), results[0].type.shape
    )
    slope = select(meant, work.express(operands[0]), work.express(results[0]))
    return [slope.atom], [of_slope]
