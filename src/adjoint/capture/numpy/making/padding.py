"""numpy.pad: borders in all of its modes, one axis after the other, as NumPy adds them."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.capture.numpy.making.grids import linspace
from adjoint.capture.numpy.making.values import astype, copy
from adjoint.capture.numpy.reducing.reduce import maximum_over, mean, minimum_over
from adjoint.capture.numpy.reducing.sorting import median
from adjoint.capture.numpy.shaping.shape import broadcast_to, concatenate, moveaxis, spread
from adjoint.capture.numpy.table import as_array, implements

_STATISTICS = {"maximum": maximum_over, "minimum": minimum_over, "mean": mean, "median": median}
_BY_PLACE = ("edge", "wrap", "reflect", "symmetric")
# The argument that each mode takes, and what it is unless given.
_OPTIONS: dict[str, dict[str, Any]] = {
    "constant": {"constant_values": 0},
    "linear_ramp": {"end_values": 0},
    "reflect": {"reflect_type": "even"},
    "symmetric": {"reflect_type": "even"},
    **{mode: {"stat_length": None} for mode in _STATISTICS},
}


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """An array with borders."""
    array = as_array(array)
    widths = _widths(pad_width, array.ndim)
    if callable(mode):
        return _by_function(array, widths, mode, kwargs)
    allowed = _OPTIONS.get(mode, {})
    if mode not in (*_OPTIONS, "edge", "wrap", "empty"):
        raise ValueError(f"mode {mode!r} is not supported")
    if set(kwargs) - set(allowed):
        raise ValueError(
            f"unsupported keyword arguments for mode {mode!r}: {sorted(set(kwargs) - set(allowed))}"
        )
    option = next(iter({**allowed, **kwargs}.values()), None)
    if not array.size and mode not in ("constant", "empty"):
        _check_axes_to_extend(array, widths, mode)
    dtype = array.dtype
    if mode in ("constant", "linear_ramp"):
        broadcast_to(as_array(option), (array.ndim, 2))  # NumPy's error, without borders too
    for axis, width in enumerate(widths):
        if not any(width):
            continue
        rows = moveaxis(array, axis, 0)
        array = moveaxis(_padded(rows, width, mode, option, axis, len(widths)), 0, axis)
    return astype(array, dtype)


def _by_function(array: Any, widths: Any, function: Any, options: dict[str, Any]) -> Any:
    """Rows that a function writes the borders of, one axis after the other."""
    for axis in range(array.ndim):
        rows = moveaxis(array, axis, 0)
        array = moveaxis(_padded(rows, widths[axis], "empty", None, axis, array.ndim), 0, axis)
    whole = copy(array)
    for axis, width in enumerate(widths):
        rows = moveaxis(whole, axis, -1)
        for place in np.ndindex(*rows.shape[:-1]):
            function(rows[(*place, ...)], width, axis, options)
    return whole


def _widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    if isinstance(pad_width, dict):
        pairs: list[Any] = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            pairs[axis] = (width, width) if np.ndim(width) == 0 else tuple(width)
        pad_width = pairs
    given = np.asarray(pad_width)
    if given.dtype.kind != "i":
        raise TypeError("`pad_width` must be of integral type.")
    widths = np.broadcast_to(given, (ndim, 2))
    if (given < 0).any():
        raise ValueError("index can't contain negative values")
    return [(int(before), int(after)) for before, after in widths]


def _check_axes_to_extend(array: Any, widths: Any, mode: str) -> None:
    for axis, width in enumerate(widths):
        if array.shape[axis] == 0 and any(width):
            raise ValueError(
                f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
            )


def _padded(rows: Any, width: tuple[int, int], mode: str, option: Any, axis: int, ndim: int) -> Any:
    """Rows with others before and after them."""
    before, after = width
    if mode in _BY_PLACE and not (option == "odd" and rows.shape[0] > 1):
        border: Any = (np.arange(rows.shape[0]), width, mode)
        return rows[np.pad(*border)] if any(width) else rows
    if mode in _BY_PLACE:
        return _reflected_oddly(rows, before, after, mode == "symmetric")
    if mode in ("constant", "empty"):
        pair = _pair(0 if mode == "empty" else option, axis, ndim)
        ends = [_filled(value, count, rows) for value, count in zip(pair, width, strict=True)]
    elif mode == "linear_ramp":
        first, last = _pair(option, axis, ndim)
        ends = [_ramp(first, rows[:1], before, rows), _ramp(last, rows[-1:], after, rows)[::-1]]
    else:
        ends = _statistics(rows, width, mode, option, axis, ndim)
    return concatenate([ends[0], rows, ends[1]])


def _pair(option: Any, axis: int, ndim: int) -> tuple[Any, Any]:
    """What an argument says of the two sides of an axis."""
    pairs = broadcast_to(as_array(option), (ndim, 2))
    return pairs[axis, 0], pairs[axis, 1]


def _filled(value: Any, count: int, rows: Any) -> Any:
    return spread(astype(as_array(value), rows.dtype), (count, *rows.shape[1:]))


def _ramp(end: Any, edge: Any, count: int, rows: Any) -> Any:
    return linspace(end, edge[0], count, endpoint=False, dtype=rows.dtype)


def _statistics(
    rows: Any, width: tuple[int, int], mode: str, option: Any, axis: int, ndim: int
) -> list[Any]:
    """Borders that repeat a statistic of the first entries, and of the last."""
    n = rows.shape[0]
    lengths = [n, n]
    if option is not None:
        lengths = [min(int(length), n) for length in _pair(np.asarray(option), axis, ndim)]
        if min(lengths) < 0:
            raise ValueError("index can't contain negative values")
    if 0 in lengths and mode in ("maximum", "minimum"):
        raise ValueError("stat_length of 0 yields no value for padding")
    paddings = []
    for part, count in ((rows[: lengths[0]], width[0]), (rows[n - lengths[1] :], width[1])):
        value = _STATISTICS[mode](part, 0, keepdims=True)
        value = np.rint(value) if rows.dtype.kind in "iu" else value
        paddings.append(spread(astype(value, rows.dtype), (count, *rows.shape[1:])))
    return paddings


def _reflected_oddly(rows: Any, before: int, after: int, include_edge: bool) -> Any:
    """Reflections through the ends, as often as it takes; NumPy's way through long borders."""
    period = rows.shape[0] if include_edge else rows.shape[0] - 1
    while before > 0 or after > 0:
        length = rows.shape[0] if include_edge else rows.shape[0] - 1
        length = length // period * period
        skip = 0 if include_edge else 1
        n, parts = rows.shape[0], [rows]
        if before > 0:
            count = min(length, before)
            parts.insert(0, 2 * rows[:1] - rows[skip : skip + count][::-1])
            before -= count
        if after > 0:
            count = min(length, after)
            mirrored = rows[n - skip - count : n - skip][::-1]
            # NumPy reflects on the right what the left has already extended.
            parts.append(2 * rows[-1:] - mirrored)
            after -= count
        rows = concatenate([astype(part, rows.dtype) for part in parts])
    return rows
