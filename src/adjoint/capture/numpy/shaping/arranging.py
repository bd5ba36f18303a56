"""NumPy's functions that turn, repeat and pick out parts of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.numpy.indexing.indexing import permute_plain, reshape_plain
from adjoint.capture.numpy.shaping.shape import along, concatenate, diagonal, shape_of, spread
from adjoint.capture.numpy.table import (
    TAKES_ALIKE,
    as_array,
    implements,
    normal_axes,
    normal_axis,
    perform,
    stored,
    strong,
)
from adjoint.capture.recording.memory.views import (
    View,
    as_view,
    copy_of,
    depends_on_layout,
    read_only,
    root_of,
)
from adjoint.capture.recording.tracing.traced import Traced, from_array, is_known, unwrap, value_of
from adjoint.capture.recording.values.valued import refuse
from adjoint.primitives import PRIMITIVES
from adjoint.primitives.elementwise.selection import SELECT


@implements(np.flip)
def flip(m: Any, axis: Any = None) -> Any:
    """Reverse the order of elements in an array along the given axis."""
    m = as_array(m)
    axes = normal_axes(axis, m.ndim)
    if not m.ndim:
        return strong(m)
    return m[tuple(slice(None, None, -1) if n in axes else slice(None) for n in range(m.ndim))]


implements(np.flipud)(lambda m: flip(m, 0))
implements(np.fliplr)(lambda m: flip(m, 1))


@implements(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Roll array elements along a given axis."""
    a = as_array(a)
    if axis is None:
        return reshape_plain(roll(reshape_plain(a, (a.size,)), shift, 0), a.shape)
    pairs = zip(*np.broadcast_arrays(np.atleast_1d(shift), np.atleast_1d(axis)), strict=True)
    for amount, place in pairs:
        place = normal_axis(place.item(), a.ndim)
        cut = -int(amount) % a.shape[place] if a.shape[place] else 0
        lead = (slice(None),) * place
        a = concatenate([a[(*lead, slice(cut, None))], a[(*lead, slice(None, cut))]], place)
    return a


@implements(np.rot90)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """The array turned by quarters."""
    m = as_array(m)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    first, second = (normal_axis(axis, m.ndim) for axis in axes)
    if first == second:
        raise ValueError("Axes must be different.")
    order = list(range(m.ndim))
    order[first], order[second] = order[second], order[first]

    def flipped(a: Any, axis: int) -> Any:
        return a[(*(slice(None),) * axis, slice(None, None, -1))]

    turns = k % 4
    if turns == 0:
        return m[:]
    if turns == 2:
        return flipped(flipped(m, first), second)
    if turns == 1:
        return np.transpose(flipped(m, second), order)
    return flipped(np.transpose(m, order), second)


@implements(np.tile)
def tile(A: Any, reps: Any) -> Any:
    """Construct an array by repeating A the number of times given by reps."""
    A = as_array(A)
    reps = shape_of(reps)
    shape = (1,) * (len(reps) - A.ndim) + A.shape
    reps = (1,) * (len(shape) - len(reps)) + reps
    apart = tuple(n for pair in zip((1,) * len(shape), shape, strict=True) for n in pair)
    wide = tuple(n for pair in zip(reps, shape, strict=True) for n in pair)
    whole = tuple(r * n for r, n in zip(reps, shape, strict=True))
    result = reshape_plain(spread(reshape_plain(A, apart), wide), whole)
    return copy_of(result) if result is A else result


@implements(np.repeat)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """Repeat each element of an array after itself."""
    a, axis = along(as_array(a), axis)
    places = np.repeat(np.arange(a.shape[axis]), repeats)
    return a[(*(slice(None),) * axis, places)]


@implements(np.take)
def take(
    a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise"
) -> Any:
    """Take elements from an array along an axis."""
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    a, axis = along(as_array(a), axis)
    index: Any = int(indices) if type(indices) is float else as_array(indices)
    if getattr(index, "dtype", None) == np.bool_:  # numbers here, and no mask
        index = index.astype(np.intp)
    n = a.shape[axis]
    if mode != "raise":
        if not n and np.size(index):
            raise IndexError("cannot do a non-empty take from an empty axes.")
        if type(index) is not Traced:
            index = np.asarray(index, None if np.size(index) else int)
        index = index % max(n, 1) if mode == "wrap" else np.clip(index, 0, max(n - 1, 0))
    return stored("numpy.take", a[(*(slice(None),) * axis, index)], out, alike=TAKES_ALIKE)


# --- windows --------------------------------------------------------------------------------------


def _windows(a: Any, sizes: Any, axes: Any) -> Any:
    """The windows of an array, gathered along one axis after the other; their axes come last."""
    for size, axis in zip(sizes, axes, strict=True):
        places = np.arange(a.shape[axis] - size + 1)[:, None] + np.arange(size)
        a = a[(*(slice(None),) * axis, places)]
        a = permute_plain(a, (*(n for n in range(a.ndim) if n != axis + 1), axis + 1))
    return a


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """The windows that slide over an array: a view that nobody writes into."""
    x = as_array(x)
    sizes = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    axes = range(x.ndim) if axis is None else axis if np.iterable(axis) else (axis,)
    axes = tuple(normal_axis(number, x.ndim) for number in axes)

    def values(base: Any) -> Any:
        return np.lib.stride_tricks.sliding_window_view(base, sizes, axes)

    if type(x) is not Traced:
        return values(x)

    def forward(base: Any) -> Any:
        return from_array(values(unwrap(base))) if is_known(base) else _windows(base, sizes, axes)

    return as_view(x, forward(x), View(forward, _shared if writeable else read_only, values))


def _shared(*_: Any) -> Any:
    raise UnsupportedFunctionError(
        "Writing into what sliding_window_view(writeable=True) gives is not supported on traced "
        "arrays: an entry lies in several windows. Write into the array itself."
    )


@implements(np.lib.stride_tricks.as_strided)
def as_strided(
    x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True
) -> Any:
    """Another way of going through an array's memory, as a view that nobody writes into."""
    root = root_of(x)
    array, memory = value_of(x), value_of(root)
    if array is None or memory is None:
        raise UnsupportedFunctionError(
            "as_strided goes through the memory of an array, and here an array stands for many "
            "(inside vmap, or in the body of a loop); write numpy.lib.stride_tricks."
            "sliding_window_view(x, shape), or index it."
        )
    depends_on_layout(x)
    shape = array.shape if shape is None else tuple(shape)
    strides = array.strides if strides is None else tuple(strides)
    places = _places_in(memory, array, shape, strides)

    def taken(base: Any) -> Any:
        return base.reshape(-1)[places]

    def forward(base: Any) -> Any:
        return from_array(taken(unwrap(base))) if is_known(base) else taken(base)

    return as_view(root, forward(root), View(forward, _not_written, taken))


def _places_in(memory: Any, array: Any, shape: Any, strides: Any) -> Any:
    """Which entries of `memory`, counted in C order, lie where strides go from an array's first.

    NumPy is asked: its strides go through numbers that lie as the entries do.
    """
    first, last = np.lib.array_utils.byte_bounds(memory)
    size, number = memory.itemsize, np.dtype(np.intp).itemsize
    numbers = np.full((last - first) // size, -1, np.intp)

    def through(start: Any, shape: Any, strides: Any) -> Any:
        offset = (start.__array_interface__["data"][0] - first) // size * number
        steps = [step // size * number for step in strides]
        return np.ndarray(shape, np.intp, numbers, offset, steps)  # within its memory, or an error

    through(memory, memory.shape, memory.strides).flat = np.arange(memory.size)
    try:
        places = through(array, shape, strides).copy()
    except ValueError:
        places = None
    if places is None or (places < 0).any() or any(step % size for step in strides):
        raise UnsupportedFunctionError(
            "as_strided would read what is no entry of the traced array: its steps go beyond the "
            "memory of the array, or start within an entry."
        )
    return places


def _not_written(base: Any, value: Any) -> Any:
    error = UnsupportedFunctionError(
        "An array that as_strided made of a traced one cannot be written into, since an entry may "
        "lie in it several times. Write into the array itself."
    )
    refuse(error)
    raise error


@implements(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    """Extract a diagonal or construct a diagonal array."""
    v = as_array(v)
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    if k == 0 and not is_known(v):
        return perform(PRIMITIVES["diagonal_matrix"], v)
    n = v.shape[0] + abs(k)
    places = np.arange(v.shape[0])
    square = from_array(np.zeros((n, n), v.dtype))
    square[places - min(k, 0), places + max(k, 0)] = v
    return square


def _masked(m: Any, kept: Any, k: int) -> Any:
    m = as_array(m)
    return perform(SELECT, kept(np.ones(m.shape[-2:], bool), k), m, m.dtype.type(0))


@implements(np.triu)
def triu(m: Any, k: int = 0) -> Any:
    """Upper triangle of an array."""
    return _masked(m, np.triu, k)


@implements(np.tril)
def tril(m: Any, k: int = 0) -> Any:
    """Lower triangle of an array."""
    return _masked(m, np.tril, k)
