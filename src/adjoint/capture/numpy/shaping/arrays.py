"""NumPy's functions that lay out, cut, choose and number entries, beyond those of plain shapes."""

from __future__ import annotations

import operator
import sys
from math import prod
from types import FrameType
from typing import Any

import numpy as np

from adjoint.base.errors import AliasingError, DroppedDerivativeError, UnsupportedFunctionError
from adjoint.capture.numpy.indexing.indexing import reshape_plain
from adjoint.capture.numpy.indexing.writing import cumprod
from adjoint.capture.numpy.making.values import asarray, astype
from adjoint.capture.numpy.reducing.calculus import trapezoid
from adjoint.capture.numpy.reducing.reduce import cumsum, diff
from adjoint.capture.numpy.shaping.arranging import diag
from adjoint.capture.numpy.shaping.shape import (
    concatenate,
    ravelled,
    reshaped,
    split,
    stack,
    vstack,
)
from adjoint.capture.numpy.table import (
    as_array,
    implements,
    normal_axes,
    normal_axis,
    promoting,
    stored,
)
from adjoint.capture.recording.effects.value_errors import suppose
from adjoint.capture.recording.memory.views import copy_of, maybe_alias, root_of
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.traced import Traced, is_known, unwrap

# --- layout ---------------------------------------------------------------------------------------


@implements(np.asfortranarray)
def asfortranarray(a: Any, dtype: Any = None, **_: Any) -> Any:
    """An array of at least one axis: how it lies in memory is the executor's business."""
    return np.atleast_1d(asarray(a, dtype))


@implements(np.asarray_chkfinite)
def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """The array, if all its entries are finite."""
    a = asarray(a, dtype)
    if a.dtype.kind in "fc" and not np.isfinite(np.asarray(concrete(a))).all():
        raise ValueError("array must not contain infs or NaNs")
    return a


@implements(np.require)
def require(a: Any, dtype: Any = None, requirements: Any = None, **_: Any) -> Any:
    """The array; a copy where it must own its memory."""
    a = asarray(a, dtype)
    wanted = {str(requirement).upper() for requirement in requirements or ()}
    if type(a) is not Traced or not wanted & {"O", "OWNDATA"}:
        return a
    if is_known(a):
        return a if unwrap(a).flags.owndata else copy_of(a)
    return maybe_alias(a, copy_of(a))


# Names that not all versions of NumPy have.
for _name, _ours in (("row_stack", vstack), ("trapz", trapezoid)):
    if hasattr(np, _name):
        implements(getattr(np, _name))(_ours)


@implements(np.dsplit)
def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Parts along the third axis."""
    if np.ndim(ary) < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Any:
    """A matrix with the flattened entries on a diagonal."""
    return diag(ravelled(as_array(v)), k)


@implements(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    """The entries over and over again, as many as the new shape takes."""
    a = ravelled(as_array(a))
    shape = (new_shape,) if isinstance(new_shape, (int, np.integer)) else tuple(new_shape)
    if any(length < 0 for length in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    size = prod(shape)
    if not a.size or not size:
        return np.zeros(shape, a.dtype)
    return reshaped(concatenate([a] * -(-size // a.size))[:size], shape)


@implements(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """The array without zeros at its ends; values decide where those are."""
    a = as_array(filt)
    trim = trim.lower()
    if trim not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    axes = normal_axes(axis, a.ndim)
    places = np.argwhere(np.asarray(concrete(a)))
    _check_polynomial(a, places)
    cuts = []
    for n in range(a.ndim):
        column = places[:, n]
        first, last = (int(column.min()), int(column.max()) + 1) if len(column) else (0, 0)
        start = first if "f" in trim or not len(column) else None
        stop = last if "b" in trim or not len(column) else None
        cuts.append(slice(start, stop) if n in axes else slice(None))
    return a[tuple(cuts)]


def _check_polynomial(a: Any, places: Any) -> None:
    """Refuse to make a polynomial without the derivatives of leading zeros.

    A user who asks for `trim_zeros` chooses entries by their values. np.poly1d trims unasked, and a
    coefficient that is zero now has a derivative all the same: x^n.
    """
    kept = len(places) and not places[0, 0]
    if type(a) is not Traced or is_known(a) or a.ndim != 1 or kept:
        return
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code is np.poly1d.__init__.__code__:
            raise DroppedDerivativeError(
                "numpy.poly1d drops leading coefficients that are zero, and the derivatives with "
                f"respect to them; it was given a {a!r} with such a one. Evaluate the polynomial "
                "with np.polyval(p, x), or use numpy.polynomial.Polynomial, which keep them."
            )
        frame = frame.f_back


@implements(np.real_if_close)
def real_if_close(a: Any, tol: Any = 100) -> Any:
    """The real part, where all imaginary parts are as good as zero."""
    a = as_array(a)
    if a.dtype.kind != "c":
        return a
    tol = np.finfo(a.dtype).eps * tol if tol > 1 else tol
    return a.real if np.all(np.abs(np.asarray(concrete(a)).imag) < tol) else a


# --- running sums and angles ----------------------------------------------------------------------


def _running(accumulate: Any, first: int, name: str) -> Any:
    def function(
        x: Any,
        /,
        *,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        include_initial: bool = False,
    ) -> Any:
        x = np.atleast_1d(as_array(x))
        if axis is None and x.ndim > 1:
            raise ValueError(
                "For arrays which have more than one dimension ``axis`` argument is required."
            )
        axis = normal_axis(axis or 0, x.ndim)
        result = accumulate(x, axis, dtype)
        if include_initial:
            shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
            result = concatenate([np.full(shape, first, result.dtype), result], axis)
        return stored(f"numpy.{name}", result, out)

    return function


implements(np.cumulative_sum)(_running(cumsum, 0, "cumulative_sum"))
implements(np.cumulative_prod)(_running(cumprod, 1, "cumulative_prod"))


@implements(np.unwrap)
def unwrap_angles(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    """Angles without jumps of whole periods, whose number is piecewise constant."""
    p = as_array(p)
    axis = normal_axis(axis, p.ndim)
    step = diff(p, axis=axis)
    discont = period / 2 if discont is None else discont
    dtype = np.result_type(step.dtype, promoting(period))
    half, ambiguous = (period // 2, period % 2 == 0) if dtype.kind in "iu" else (period / 2, True)
    inside = (step + half) % period - half
    if ambiguous:
        inside = np.where((inside == -half) & (step > 0), half, inside)
    correction = np.where(np.abs(step) < discont, 0, inside - step)
    lead = (slice(None),) * axis
    later = p[(*lead, slice(1, None))] + cumsum(correction, axis)
    first = p[(*lead, slice(None, 1))]
    return concatenate([astype(first, dtype), astype(later, dtype)], axis)


# --- choosing and numbering -----------------------------------------------------------------------


@implements(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """For each entry, the choice whose number is given."""
    a = as_array(a)
    if a.dtype.kind not in "biu":
        raise TypeError("Cannot cast array data to an integer type according to the rule 'safe'")
    rows = [as_array(choice) for choice in choices]
    shape = np.broadcast_shapes(a.shape, *(row.shape for row in rows))
    dtype = np.result_type(*map(promoting, choices))
    table = stack([astype(np.broadcast_to(row, shape), dtype) for row in rows])
    count = len(rows)
    places = astype(np.broadcast_to(a, shape), np.intp)
    if mode == "wrap":
        places = places % count
    elif mode == "clip":
        places = np.clip(places, 0, count - 1)
    elif is_known(places) and not np.all((unwrap(places) >= 0) & (unwrap(places) < count)):
        raise ValueError("invalid entry in choice array")
    else:
        places = np.where(places < 0, count, places)  # an error when it runs
    grid = np.indices(shape, sparse=True)
    return stored("numpy.choose", table[(places, *grid)], out)


@implements(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    """Write values, one after the other and over and over again, where a mask holds."""
    if type(arr) is not Traced:
        raise UnsupportedFunctionError(
            "numpy.place would write traced values into an array that was made outside of the "
            "function. Make it inside, or copy it first: np.array(a)."
        )
    if type(vals) is Traced and root_of(vals) is root_of(arr):
        raise AliasingError(
            "numpy.place reads values from the array that it writes into, some of them after they "
            "were written. Copy them first: np.place(a, mask, values.copy())."
        )
    mask, values = as_array(mask) != 0, ravelled(as_array(vals))
    if mask.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    if not values.size:
        if np.any(np.asarray(concrete(mask))):
            raise ValueError("Cannot insert from an empty array!")
        return
    number = cumsum(ravelled(mask)) - 1  # of each entry, among those that are written
    chosen = reshaped(values[number % values.size], arr.shape)
    arr[...] = np.where(reshaped(mask, arr.shape), chosen, arr)


@implements(np.ix_)
def ix_(*args: Any) -> Any:
    """Index arrays, each along an axis of its own."""
    grids = []
    for n, axis in enumerate(map(as_array, args)):
        if axis.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if axis.dtype.kind == "b":
            (axis,) = np.nonzero(np.asarray(concrete(axis)))
        axis = astype(axis, np.intp) if not axis.size else axis
        grids.append(reshape_plain(axis, (1,) * n + (axis.size,) + (1,) * (len(args) - n - 1)))
    return tuple(grids)


@implements(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """The places in an array of the entries numbered one after the other."""
    indices = as_array(indices)
    if indices.dtype.kind not in "biu":
        raise TypeError("only int indices permitted")
    lengths = tuple(map(operator.index, shape if np.iterable(shape) else (shape,)))
    places, rest = [], astype(indices, np.intp)
    for length in reversed(lengths) if order == "C" else lengths:
        places.append(rest % length)
        rest = rest // length
    if is_known(rest) and np.any(unwrap(rest) != 0):
        raise ValueError(f"index is out of bounds for array with size {prod(lengths)}")
    suppose(rest == 0)
    outermost = places.pop()
    # What lies beyond the array stays beyond its outermost axis, where indexing finds it.
    places.append(outermost + rest * (lengths[0] if order == "C" else lengths[-1]))
    return tuple(reversed(places)) if order == "C" else tuple(places)


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    """The numbers of entries, one after the other, from their places in an array."""
    if mode != "raise" or all(is_known(row) for row in multi_index):
        plain = tuple(np.asarray(concrete(row)) for row in multi_index)
        number: Any = np.ravel_multi_index
        return number(plain, dims, mode, order)
    lengths = tuple(map(operator.index, dims if np.iterable(dims) else (dims,)))
    pairs = list(zip(map(as_array, multi_index), lengths, strict=True))
    flat: Any = 0
    wrong: Any = False
    for row, length in pairs if order == "C" else reversed(pairs):
        flat = flat * length + row
        wrong = wrong | (row < 0) | (row >= length)
    suppose(~as_array(wrong))
    return np.where(wrong, prod(lengths), flat)  # no entry has that number
