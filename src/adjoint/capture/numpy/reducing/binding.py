"""What a reduction is asked for besides its operand, bound once for all of them."""

from __future__ import annotations

import math
from operator import index
from typing import Any

import numpy as np

from adjoint.base.errors import DTypeError, ShapeError
from adjoint.capture.numpy.indexing.indexing import reshape_plain
from adjoint.capture.numpy.table import as_array, normal_axes, perform, stored
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.primitives.elementwise.selection import SELECT
from adjoint.primitives.structure.moving import SUM


class Reduction:
    """The arguments of a reduction: `axis`, `keepdims`, `where`, `initial`, `out`.

    name: NumPy's, for errors. operand: the array. axes: those that go. mask: which entries count,
    booleans that broadcast to the operand; None for all. lengths: of the axes that stay.
    """

    __slots__ = ("axes", "initial", "keeps", "lengths", "mask", "name", "operand", "out")

    def __init__(
        self,
        name: str,
        operand: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        where: Any = None,
        initial: Any = np._NoValue,
    ) -> None:
        self.name = name
        self.operand = operand
        self.axes = _axes(axis, operand.ndim)
        self.lengths = tuple(m for n, m in enumerate(operand.shape) if n not in self.axes)
        self.keeps = keepdims is not np._NoValue and bool(keepdims)
        self.mask = checked_mask(operand, where)
        self.initial = initial
        self.out = out

    @property
    def is_empty(self) -> bool:
        """Whether results are of no entries."""
        return any(self.operand.shape[n] == 0 for n in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the result."""
        if not self.keeps:
            return self.lengths
        return tuple(1 if n in self.axes else m for n, m in enumerate(self.operand.shape))

    def filled(self, neutral: Any) -> Any:
        """The operand, in which entries that do not count are neutral."""
        if self.mask is None:
            return self.operand
        return perform(SELECT, self.mask, self.operand, neutral)

    def over_axes(self, primitive: Any, a: Any) -> Any:
        """A primitive over the axes; a copy where there are none."""
        return perform(primitive, a, axes=self.axes) if self.axes else as_array(a).astype(a.dtype)

    def count(self) -> Any:
        """How many entries a result is of: a number, or an array of the result's shape."""
        if self.mask is None:
            return math.prod(self.operand.shape[n] for n in self.axes)
        wide = np.broadcast_to(self.mask, self.operand.shape)
        return self.kept(self.over_axes(SUM, wide.astype(np.intp)))

    def first(self) -> Any:
        """`initial` as a number of the operand's dtype; None where it is not given."""
        if not is_given(self.initial):
            return None
        if np.ndim(self.initial):
            raise ShapeError("initial: a number is wanted, and no array of several.")
        initial, dtype = as_array(self.initial), self.operand.dtype
        if initial.dtype.kind == "c" and dtype.kind != "c":
            raise DTypeError(f"initial: a complex number cannot be put into a result of {dtype}.")
        return initial.astype(dtype)[()]

    def started(self, pairwise: Any, result: Any) -> Any:
        """A result with `initial`; None asks for none, so that there must be an entry."""
        first = self.first()
        if first is not None:
            return pairwise(result, first)
        if self.initial is None:
            self.check_entries(pairwise.__name__)
        return result

    def check_entries(self, name: str) -> None:
        """ValueError where a result may be of no entry, and nothing can stand for it."""
        if self.mask is not None:
            raise ValueError(
                f"reduction operation '{name}' does not have an identity, so to use a where mask "
                "one has to specify 'initial'"
            )
        if self.is_empty:
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity")

    def kept(self, result: Any) -> Any:
        """A result, with the axes that it lost as axes of length one where that is asked for."""
        return reshape_plain(result, self.shape) if self.keeps else result

    def stored(self, result: Any, alike: bool = False) -> Any:
        """A result as it is returned: with its axes, and in `out`."""
        return stored(self.name, self.kept(result), self.out, alike=alike)


def is_given(value: Any) -> bool:
    """Whether an argument was given, and not left at what NumPy has in its place."""
    return value is not None and value is not np._NoValue


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes of a reduction as ufuncs take them: no lists, and 0 or -1 of a scalar too."""
    if isinstance(axis, list):
        raise TypeError("'list' object cannot be interpreted as an integer")
    if not ndim and axis is not None and not isinstance(axis, tuple) and index(axis) in (0, -1):
        return ()
    return normal_axes(axis, ndim)


def checked_mask(a: Any, where: Any) -> Any:
    """`where` of a reduction: booleans that broadcast to the operand's shape; None for all."""
    if not is_given(where) or where is True:
        return None
    where = as_array(where)
    if where.dtype.kind != "b":
        raise DTypeError(
            f"Cannot cast array data from {where.dtype!r} to dtype('bool') according to the rule "
            "'safe'"
        )
    if np.broadcast_shapes(where.shape, a.shape) != a.shape:
        raise ShapeError(
            f"where: non-broadcastable operand with shape {a.shape} doesn't match the broadcast "
            f"shape {np.broadcast_shapes(where.shape, a.shape)}"
        )
    return where


def computed_in(a: Any, ufunc: Any, dtype: Any, out: Any) -> Any:
    """An operand in the dtype of its reduction: the one given, one that suits `out`, or a wide one.

    Small integers and booleans are summed and multiplied in wider ones, as NumPy does.
    """
    if dtype is None and type(out) is Traced:
        dtype = suited(ufunc, a, out)
    elif dtype is None and a.dtype.kind in "biu":
        dtype = ufunc.reduce(np.zeros(1, a.dtype)).dtype
    return a if dtype is None or np.dtype(dtype) == a.dtype else a.astype(dtype)


def suited(ufunc: Any, a: Any, out: Any) -> Any:
    """The dtype in which NumPy reduces an operand into an output."""
    loop = ufunc.resolve_dtypes((out.dtype, a.dtype, None), casting="unsafe", reduction=True)
    return loop[1]
