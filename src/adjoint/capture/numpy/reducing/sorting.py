"""NumPy's functions of sorted values: order statistics, and places among sorted values."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.errors import BoundsError
from adjoint.capture.numpy.indexing.indexing import permute_plain, reshape_plain
from adjoint.capture.numpy.making.values import (
    astype,
    sort,
    sorted_places,
    take_along_axis,
)
from adjoint.capture.numpy.reducing.binding import Reduction
from adjoint.capture.numpy.reducing.reduce import sum_
from adjoint.capture.numpy.shaping.shape import along, reshaped, spread
from adjoint.capture.numpy.table import (
    as_array,
    implements,
    normal_axes,
    normal_axis,
    perform,
    stored,
)
from adjoint.capture.recording.effects.value_errors import suppose
from adjoint.capture.recording.tracing.trace import current
from adjoint.capture.recording.tracing.traced import Traced, is_known, unwrap
from adjoint.primitives.structure.sorting import ARGPARTITION, SEARCHSORTED, WARN_WHERE_ZERO

# --- order ----------------------------------------------------------------------------------------


def _flat_for(a: Any, axis: Any) -> tuple[Any, int]:
    return along(as_array(a), axis)


@implements(np.argsort)
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, **others: Any) -> Any:
    """The places of the entries in sorted order."""
    a, axis = _flat_for(a, axis)
    return sorted_places(a, axis, kind=kind, order=order, **others)


@implements(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Any:
    """The order by several keys, of which the last counts most."""
    keys = [as_array(key) for key in keys]
    if not keys:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if not keys[0].ndim:
        return np.lexsort([np.zeros(()) for _ in keys])
    axis = normal_axis(axis, keys[0].ndim)
    order = sorted_places(keys[0], axis, kind="stable")
    for key in keys[1:]:
        later = sorted_places(take_along_axis(key, order, axis), axis, kind="stable")
        order = take_along_axis(order, later, axis)
    return order


def _partition_places(a: Any, kth: Any, axis: int) -> Any:
    given = kth if isinstance(kth, (list, tuple)) else np.asarray(unwrap(kth)).tolist()
    places = (given,) if isinstance(given, int) else tuple(int(place) for place in given)
    places = tuple(place + a.shape[axis] if place < 0 else place for place in places)
    for place in places:
        if a.size and not 0 <= place < a.shape[axis]:
            raise ValueError(f"kth(={place}) out of bounds ({a.shape[axis]})")
    if not a.size:
        return np.zeros(a.shape, np.intp)
    return perform(ARGPARTITION, a, axis=axis, kth=places)


@implements(np.argpartition)
def argpartition(
    a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None
) -> Any:
    """The places of the entries, of which those at kth are where sorting would put them."""
    a, axis = _flat_for(a, axis)
    return _partition_places(a, kth, axis)


@implements(np.partition)
def partition(
    a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None
) -> Any:
    """The entries, of which those at kth are where sorting would put them."""
    a, axis = _flat_for(a, axis)
    return take_along_axis(a, _partition_places(a, kth, axis), axis)


@implements(np.sort_complex)
def sort_complex(a: Any) -> Any:
    """The sorted values as complex numbers."""
    a = sort(a)
    if a.dtype.kind == "c":
        return a
    return astype(a, np.complex64 if a.dtype.char in "bhBH" else np.complex128)


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where values would have to be put to keep a sorted array sorted."""
    a, v = as_array(a), as_array(v)
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    if a.ndim != 1:
        raise ValueError("object too deep for desired array")
    if sorter is not None and np.shape(sorter) != a.shape:
        raise ValueError("sorter.size must equal a.size")
    return perform(SEARCHSORTED, a if sorter is None else a[sorter], v, side=side, lead=0)


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """The numbers of the bins in which values lie."""
    x, bins = as_array(x), as_array(bins)
    if x.dtype.kind == "c":
        raise TypeError("x may not be complex")
    if bins.ndim != 1:
        raise ValueError("object too deep for desired array")
    rising = searchsorted(bins, x, "left" if right else "right")
    falling = bins.shape[0] - searchsorted(bins[::-1], x, "left" if right else "right")
    if bins.shape[0] and not is_known(bins):
        suppose(np.all(bins[1:] >= bins[:-1]) | np.all(bins[1:] <= bins[:-1]))
        return np.where(bins[-1] >= bins[0], rising, falling)
    edges = unwrap(bins)
    if np.all(edges[1:] >= edges[:-1]):
        return rising
    if np.all(edges[1:] <= edges[:-1]):
        return falling
    raise ValueError("bins must be monotonically increasing or decreasing")


# --- quantiles ------------------------------------------------------------------------------------


def counted(count: Any, text: str, fatal: bool = False) -> Any:
    """Counts, with NumPy's warning, or its error, where one of them is zero."""
    trace = current()
    if trace is not None and trace.valued:
        trace.said.add(text)  # or need not be, as NumPy knows, which has run beside
    return perform(WARN_WHERE_ZERO, count, text=text, fatal=fatal)


class Sorted(NamedTuple):
    """Sorted rows (count, *kept), how many of a column count, and their order."""

    rows: Any
    count: Any
    kept: tuple[int, ...]
    order: Any


def _sorted(bound: Reduction, without_nan: bool) -> Sorted:
    rows, count = _columns(bound.operand, bound), bound.count()
    order = sorted_places(rows, 0)
    if without_nan and rows.dtype.kind in "fc":
        count = counted(sum_(~np.isnan(rows), 0), "All-NaN slice encountered")
    return Sorted(take_along_axis(rows, order, 0), count, bound.lengths, order)


def _columns(a: Any, bound: Reduction) -> Any:
    """What is reduced together as columns: (count, *lengths)."""
    rest = tuple(n for n in range(a.ndim) if n not in bound.axes)
    return reshape_plain(permute_plain(a, (*bound.axes, *rest)), (bound.count(), *bound.lengths))


def _entry(ordered: Sorted, place: Any, own: bool | None = None) -> Any:
    """The entries at places; own: whether each column has its own, (..., *kept)."""
    rows, last = ordered.rows, ordered.rows.shape[0] - 1
    place = astype(np.clip(as_array(place), 0, last), np.intp)
    if not (type(ordered.count) is not int if own is None else own):
        return rows[place]
    lead = place.shape[: place.ndim - len(ordered.kept)]
    places = reshaped(place, (prod(lead), *ordered.kept))
    return reshaped(take_along_axis(rows, places, 0), (*lead, *ordered.kept))


def _spoilt(ordered: Sorted, result: Any) -> Any:
    """NaN, which sorts last, where there is one; or where there is nothing else."""
    if ordered.rows.dtype.kind not in "fc":
        return result
    if type(ordered.count) is int:
        last = ordered.rows[-1]
        return np.where(np.isnan(last), last, result)
    return np.where(ordered.count == 0, result.dtype.type(np.nan), result)


def median_of(a: Any, axis: Any, out: Any, keepdims: Any, without_nan: bool) -> Any:
    """The middle of the sorted values, or the mean of the middle two."""
    a = as_array(a)
    if a.dtype.kind in "biu":
        a = astype(a, float)
    name = "numpy.nanmedian" if without_nan else "numpy.median"
    bound = Reduction(name, a, normal_axes(axis, a.ndim), out, keepdims)
    if not a.size:
        nothing = np.full(bound.lengths, np.nan, a.dtype)[()]
        return bound.stored(nothing)  # without the warning, which is NumPy's to give
    ordered = _sorted(bound, without_nan)
    low, high = _entry(ordered, (ordered.count - 1) // 2), _entry(ordered, ordered.count // 2)
    single = ordered.count % 2 == 1
    middle = low if single is True else (low + high) * 0.5
    if type(single) is not bool:
        middle = np.where(single, low, middle)
    return bound.stored(_spoilt(ordered, middle))


@implements(np.median)
def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False
) -> Any:
    """The middle of the sorted values, or the mean of the middle two; NaN if there is one."""
    return median_of(a, axis, out, keepdims, False)


# The place among n sorted values at which the fraction q lies (Hyndman and Fan, "Sample Quantiles
# in Statistical Packages", 1996), and the share of the value after it, given the place and its
# fractional part; None where the place is a whole number.
_Share = Callable[[Any, Any], Any] | None


def _fraction(place: Any, share: Any) -> Any:
    return share


def _virtual(alpha: float, beta: float) -> Callable[[Any, Any], Any]:
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _up_unless(place: Any, stay: Callable[[Any, Any], Any]) -> Any:
    below = np.floor(place)
    return np.where(stay(place - below, place), below, below + 1)


METHODS: dict[str, tuple[Callable[[Any, Any], Any], _Share]] = {
    "inverted_cdf": (lambda n, q: _up_unless(n * q - 1, lambda part, place: part == 0), None),
    "averaged_inverted_cdf": (
        lambda n, q: n * q - 1,
        lambda place, share: np.where(share == 0, 0.5, 1.0),
    ),
    "closest_observation": (
        lambda n, q: _up_unless(
            n * q - 1 - 0.5, lambda part, place: (part == 0) & (np.floor(place) % 2 == 1)
        ),
        None,
    ),
    "interpolated_inverted_cdf": (_virtual(0, 1), _fraction),
    "hazen": (_virtual(0.5, 0.5), _fraction),
    "weibull": (_virtual(0, 0), _fraction),
    "linear": (lambda n, q: (n - 1) * q, _fraction),
    "median_unbiased": (_virtual(1 / 3.0, 1 / 3.0), _fraction),
    "normal_unbiased": (_virtual(3 / 8.0, 3 / 8.0), _fraction),
    "lower": (lambda n, q: np.floor((n - 1) * q), None),
    "higher": (lambda n, q: np.ceil((n - 1) * q), None),
    "midpoint": (
        lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
        lambda place, share: np.where(place % 1 == 0, 0.0, 0.5),
    ),
    "nearest": (lambda n, q: np.rint((n - 1) * q), None),
}


def quantiles_of(
    name: str,
    a: Any,
    q: Any,
    axis: Any,
    out: Any,
    method: str,
    keepdims: Any,
    weights: Any,
    top: int = 1,
) -> Any:
    """Quantiles, percentiles (top 100), and those without NaN (by the name)."""
    a, weak = as_array(a), isinstance(q, (int, float))
    if a.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    if method not in METHODS:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {list(METHODS)}")
    if weights is not None and method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
    q = _fractions(q, a, top, weak)
    bound = Reduction(f"numpy.{name}", a, normal_axes(axis, a.ndim), out, keepdims)
    if not a.size:
        if prod(bound.lengths):
            raise BoundsError(f"numpy.{name} of no values is not defined.")
        ask: Any = np.quantile
        some = ask(np.zeros(1, a.dtype), np.zeros(q.shape, q.dtype), method=method)
        return stored(bound.name, np.zeros((*q.shape, *bound.shape), some.dtype), out)
    ordered = _sorted(bound, name.startswith("nan"))
    if weights is None:
        result = _interpolated(ordered, q, method, weak or (type(q) is Traced and q.type.weak))
    else:
        result = _weighted(bound, ordered, q, axis, weights)
    result = _spoilt(ordered, result)
    if not is_known(q):  # where NumPy would refuse q
        inside = _beside((q >= 0) & (q <= 1), ordered)
        result = np.where(inside, result, result.dtype.type(np.nan))
    return stored(bound.name, reshaped(result, (*q.shape, *bound.shape)), out)


def _fractions(q: Any, a: Any, top: int, weak: bool) -> Any:
    if not is_known(q):
        q = q if top == 1 else q / top
        suppose((q >= 0) & (q <= 1))
        return q
    q = np.asarray(unwrap(q), a.dtype if weak and a.dtype.kind == "f" else None)
    q = q if top == 1 else np.asarray(q / (a.dtype.type(top) if a.dtype.kind == "f" else top))
    if not np.all((q >= 0) & (q <= 1)):
        what = "Quantiles must be in the range [0, 1]"
        raise ValueError(what if top == 1 else "Percentiles must be in the range [0, 100]")
    return q


def _beside(q: Any, ordered: Sorted) -> Any:
    """What belongs to each quantile, with axes for the columns."""
    return reshaped(q, (*q.shape, *(1,) * len(ordered.kept)))


def _interpolated(ordered: Sorted, q: Any, method: str, weak: bool) -> Any:
    where, share = METHODS[method]
    count = ordered.count
    if type(count) is not int:
        q, count = _beside(q, ordered), astype(count, q.dtype)
    place = where(count, q)
    if method == "linear" and place.dtype.kind in "iu":
        return _entry(ordered, place)
    if type(count) is not int:
        place = spread(place, np.broadcast_shapes(place.shape, ordered.kept))
    if share is None:
        return _entry(ordered, place)
    below = np.floor(place)
    part = astype(as_array(share(place, place - below)), place.dtype)
    low = _entry(ordered, np.minimum(below, count - 1))
    high = _entry(ordered, np.minimum(np.where(place < 0, 0, below + 1), count - 1))
    if type(count) is int:
        part = _beside(part, ordered)
    if weak:
        dtype = ordered.rows.dtype
        part = astype(as_array(part), dtype if dtype.kind == "f" else float)
    width = high - low
    return np.where(part >= 0.5, high - width * (1 - part), low + width * part)


def _weighted(bound: Reduction, ordered: Sorted, q: Any, axis: Any, weights: Any) -> Any:
    a, axes, w = bound.operand, bound.axes, as_array(weights)
    if w.shape != a.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        if w.shape != tuple(a.shape[n] for n in axes):
            raise ValueError(
                "Shape of weights must be consistent with shape of a along specified axis."
            )
        w = reshape_plain(w, tuple(n if m in axes else 1 for m, n in enumerate(a.shape)))
        w = spread(w, a.shape)
    if is_known(w) and np.any(unwrap(w) < 0):
        raise ValueError("Weights must be non-negative.")
    columns = astype(take_along_axis(_columns(w, bound), ordered.order, 0), float)
    if type(ordered.count) is not int:
        columns = np.where(np.isnan(ordered.rows), 0.0, columns)
    share = np.cumsum(columns, 0)
    share = share / share[-1]
    share = np.where(share == 0, -1.0, astype(share, q.dtype))  # weights that are 0 take no part
    wanted = reshaped(q, (*q.shape, *(1,) * (1 + len(ordered.kept))))
    place = np.minimum(sum_(share < wanted, q.ndim), ordered.rows.shape[0] - 1)
    return _entry(ordered, place, own=True)


@implements(np.quantile)
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    """Values below which given fractions lie."""
    return quantiles_of("quantile", a, q, axis, out, method, keepdims, weights)


@implements(np.percentile)
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    """Values below which given percentages lie."""
    return quantiles_of("percentile", a, q, axis, out, method, keepdims, weights, top=100)
