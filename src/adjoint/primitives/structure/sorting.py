"""Order and place among sorted values: integers, which carry no derivative and come in batches.

What is sorted is gathered by these (`gathering.py`), and so keeps its derivative.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import ShapeError
from adjoint.primitives.declaration import NO_DERIVATIVE, Primitive
from adjoint.primitives.expression import bind
from adjoint.primitives.samples import Fixed, draw, sample
from adjoint.primitives.structure.moving import with_batch

_INTP = np.dtype(np.intp)


def _order(name: str, function: Any, **params: Any) -> Primitive:
    """A primitive that puts the entries along an axis in order: the places of the entries."""

    def batch(operands: Any, batched: Any, size: int, axis: int, **rest: Any) -> Any:
        return bind(primitive, operands[0], axis=axis + 1, **rest)

    primitive = Primitive(
        name,
        infer=lambda x, axis, **rest: array_type(x.shape, _INTP),
        evaluate=function,
        linear=None,
        derivative=NO_DERIVATIVE,
        transpose=NO_DERIVATIVE,
        batch=batch,
        samples=(sample(draw(2, 4), axis=1, **params), sample(draw(4), axis=0, **params)),
    )
    return primitive


ARGSORT = _order("argsort", lambda x, axis, given: np.argsort(x, axis, **dict(given)), given=())
ARGPARTITION = _order(
    "argpartition", lambda x, axis, kth: np.argpartition(x, kth, axis), kth=(1, 2)
)


def _searched_type(a: ArrayType, v: ArrayType, side: str, lead: int) -> ArrayType:
    if a.ndim != lead + 1 or a.shape[:lead] != v.shape[:lead]:
        raise ShapeError(f"searchsorted: arrays {a} and {v} do not share {lead} leading axes.")
    return array_type(v.shape, _INTP)


def _searched(a: Any, v: Any, side: str, lead: int) -> Any:
    search: Any = np.searchsorted
    if not lead:
        return np.asarray(search(a, v, side))
    positions = np.empty(np.shape(v), np.intp)
    for place in np.ndindex(*np.shape(a)[:lead]):
        positions[place] = search(a[place], v[place], side)
    return positions


def _searched_batch(operands: Any, batched: Any, size: int, side: str, lead: int) -> Any:
    a, v = operands
    if batched == (False, True) and not lead:
        return bind(SEARCHSORTED, a, v, side=side, lead=0)
    a, v = (with_batch(x, mark, size) for x, mark in zip(operands, batched, strict=True))
    return bind(SEARCHSORTED, a, v, side=side, lead=lead + 1)


SEARCHSORTED: Primitive = Primitive(
    "searchsorted",  # a has `lead` axes in common with v before its sorted one
    infer=_searched_type,
    evaluate=_searched,
    linear=None,
    derivative=NO_DERIVATIVE,
    transpose=NO_DERIVATIVE,
    batch=_searched_batch,
    samples=(
        sample(Fixed([-1.0, 0.0, 0.5]), draw(2, 3), side="left", lead=0),
        sample(Fixed([[-1.0, 0.5], [0.0, 1.0]]), draw(2, 3), side="right", lead=1),
    ),
)


def _warn_where_zero(count: Any, text: str, fatal: bool) -> Any:
    if not np.all(count):
        if fatal:
            raise ValueError(text)
        # Quiet where floating-point errors are: in derivatives, and while capture looks; and where
        # what hears of them says that it knows.
        known = getattr(np.geterrcall(), "known", ())
        if np.geterr()["invalid"] != "ignore" and text not in known:
            warnings.warn(text, RuntimeWarning, stacklevel=2)
    return np.array(count)


WARN_WHERE_ZERO: Primitive = Primitive(
    "warn_where_zero",  # counts of entries as they are, and NumPy's warning where one is zero
    infer=lambda count, text, fatal: count,
    evaluate=_warn_where_zero,
    linear=None,
    derivative=NO_DERIVATIVE,
    transpose=NO_DERIVATIVE,
    batch=lambda operands, batched, size, text, fatal: bind(
        WARN_WHERE_ZERO, operands[0], text=text, fatal=fatal
    ),
    samples=(sample(Fixed([2, 1, 3]), text="Mean of empty slice", fatal=False),),
)
