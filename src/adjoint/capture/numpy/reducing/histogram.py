"""NumPy's histograms: counts are constants, sums of weights and edges from values differentiable.

An edge that comes from the smallest or largest value moves with it; a value at an edge that moves
is counted where NumPy counts it.
"""

from __future__ import annotations

import operator
from math import prod
from typing import Any

import numpy as np

from adjoint.base.errors import ValueNeededError
from adjoint.capture.numpy.making.grids import linspace
from adjoint.capture.numpy.making.values import astype
from adjoint.capture.numpy.reducing.reduce import diff, maximum_over, minimum_over, sum_
from adjoint.capture.numpy.reducing.sorting import searchsorted
from adjoint.capture.numpy.shaping.shape import ravelled, reshaped, stack
from adjoint.capture.numpy.table import as_array, implements, perform, promoting
from adjoint.capture.recording.effects.value_errors import suppose
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.traced import is_known, unwrap
from adjoint.primitives.structure.gathering import GATHER_ADD


def _holds(condition: Any, unknown: bool = False) -> bool:
    """Whether a condition of values holds; for many examples at once it is not known."""
    try:
        return bool(np.all(condition))
    except ValueNeededError:
        return unknown


def _outer_edges(a: Any, range: Any) -> tuple[Any, Any, Any]:
    """The outermost edges, and what dtype they ask for."""
    if range is not None:
        first, last = map(unwrap, range)
        if _holds(first > last):
            raise ValueError("max must be larger than min in range parameter.")
        if not _holds(np.isfinite(first) & np.isfinite(last), True):
            raise ValueError(f"supplied range of [{first}, {last}] is not finite")
    elif a.size == 0:
        first, last = np.asarray(0), np.asarray(1)
    else:
        first, last = minimum_over(a), maximum_over(a)
        suppose(np.isfinite(first) & np.isfinite(last))
    kind = np.result_type(promoting(first), promoting(last), a.dtype)
    same = first == last  # an empty range is widened
    if not is_known(same):
        first, last = np.where(same, first - 0.5, first), np.where(same, last + 0.5, last)
    elif unwrap(same):
        first, last = first - 0.5, last + 0.5
    return first, last, kind


def _rising(edges: Any) -> Any:
    edges = as_array(edges)
    if edges.ndim != 1:
        raise ValueError("`bins` must be 1d, when an array")
    if _holds(np.any(edges[:-1] > edges[1:])):
        raise ValueError("`bins` must increase monotonically, when an array")
    return edges


def _edges(a: Any, bins: Any, range: Any, weights: Any) -> Any:
    """The edges of the bins of one histogram."""
    if isinstance(bins, str):
        if weights is not None:
            raise TypeError(
                "Automated estimation of the number of bins is not supported for weighted data"
            )
        plain = None if range is None else tuple(concrete(end) for end in range)
        bins = len(np.histogram_bin_edges(np.asarray(concrete(a)), bins, plain)) - 1
    elif np.ndim(bins):
        return _rising(bins)
    try:
        count = operator.index(bins)
    except TypeError:
        raise TypeError("`bins` must be an integer, a string, or an array") from None
    if count < 1:
        raise ValueError("`bins` must be positive, when an integer")
    first, last, dtype = _outer_edges(a, range)
    dtype = np.result_type(dtype, float) if dtype.kind in "biu" else dtype
    return _spaced(first, last, count, dtype)


def _spaced(first: Any, last: Any, count: int, dtype: Any) -> Any:
    if is_known(first) and is_known(last):
        return np.linspace(unwrap(first), unwrap(last), count + 1, dtype=dtype)
    return linspace(first, last, count + 1, dtype=dtype)


def _bins_of(values: Any, edges: Any) -> Any:
    """The bin of each value, from 0; -1 and the number of bins are outside."""
    place = searchsorted(edges, values, "right")
    return place - astype(as_array(values == edges[-1]), np.intp) - 1


def _summed(places: Any, weights: Any, length: int, dtype: Any) -> Any:
    values = np.ones(places.shape, dtype) if weights is None else weights
    return perform(GATHER_ADD, np.zeros(length, dtype), values, places)


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges that a histogram has."""
    return _edges(ravelled(as_array(a)), bins, range, weights)


@implements(np.histogram)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """How many values, or how much weight, lies in each bin; and the edges."""
    a = as_array(a)
    if weights is not None:
        weights = as_array(weights)
        if weights.shape != a.shape:
            raise ValueError("weights should have the same shape as a.")
        weights = ravelled(weights)
    a = ravelled(a)
    edges = _edges(a, bins, range, weights)
    count = edges.shape[0] - 1
    places = _bins_of(a, edges)
    places = np.where((places < 0) | (places > count), count, places)  # outside: one bin more
    dtype = np.dtype(np.intp) if weights is None else weights.dtype
    total = _summed(places, weights, count + 1, dtype)[:count]
    if density:
        return total / astype(diff(edges), float) / sum_(total), edges
    return total, edges


@implements(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """How many points, or how much weight, lies in each box; and the edges of each axis."""
    if isinstance(sample, (list, tuple)):
        columns = [as_array(column) for column in sample]
        columns = [reshaped(column, (column.size,)) for column in columns]
    else:
        sample = as_array(sample)
        sample = sample if sample.ndim == 2 else np.atleast_2d(sample).T
        columns = [sample[:, place] for place in np.arange(sample.shape[1])]
    depth = len(columns)
    chosen = list(bins) if isinstance(bins, (list, tuple)) or np.ndim(bins) else [bins] * depth
    if len(chosen) != depth:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    spans = [None] * depth if range is None else list(range)
    if len(spans) != depth:
        raise ValueError("range argument must have one entry per dimension")
    edges = [_axis_edges(*arguments) for arguments in zip(columns, chosen, spans, strict=True)]
    lengths = [edge.shape[0] + 1 for edge in edges]  # with one bin outside at each end
    flat: Any = 0
    for column, edge, length in zip(columns, edges, lengths, strict=True):
        flat = flat * length + _bins_of(column, edge) + 1
    if weights is not None:
        weights = astype(as_array(weights), float)
    total = reshaped(_summed(flat, weights, prod(lengths), float), lengths)
    total = total[(slice(1, -1),) * depth]
    if density:
        whole = sum_(total)
        for axis, edge in enumerate(edges):
            width = diff(edge)
            total = total / reshaped(width, (-1, *(1,) * (depth - axis - 1)))
        total = total / whole
    return total, edges


def _axis_edges(column: Any, bins: Any, span: Any) -> Any:
    if np.ndim(bins):
        return _rising(bins)
    count = operator.index(bins)
    if count < 1:
        raise ValueError("`bins` must be positive, when an integer")
    first, last, _ = _outer_edges(column, span)
    return _spaced(first, last, count, None)


@implements(np.histogram2d)
def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: Any = None,
) -> Any:
    """How many points, or how much weight, lies in each rectangle; and the edges."""
    x, y = as_array(x), as_array(y)
    if x.shape[0] != y.shape[0]:
        raise ValueError("x and y must have the same length.")
    if (isinstance(bins, (list, tuple)) or np.ndim(bins)) and len(bins) not in (1, 2):
        bins = [bins, bins]
    if not isinstance(bins, (list, tuple)) and np.ndim(bins):
        bins = [bins[place] for place in np.arange(len(bins))]
    sample = stack([x, y], 1)
    total, edges = histogramdd(sample, bins, range, density, weights)
    return total, edges[0], edges[1]
