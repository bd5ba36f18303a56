"""Torch's operators that move, join, choose and write entries, as NumPy would have it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.torch_operators.counterpart import Counterpart


def _sizes(given):
    """Sizes, which torch takes one by one or as one argument."""
    return (
        tuple(given[0]) if len(given) == 1 and isinstance(given[0], list | tuple) else tuple(given)
    )


def _of_several(function):
    return lambda *arrays: function(*_sizes(arrays))


def _at(x, dim, index):
    """The place of `index` along an axis."""
    return (slice(None),) * (dim % max(np.ndim(x), 1)) + (index,)


def _written(x, place, values, add=False):
    y = x.copy()
    if add:
        np.add.at(y, place, values)
    else:
        y[place] = values
    return y


def _expand(x, *shape):
    shape = _sizes(shape)
    lead = len(shape) - np.ndim(x)
    full = [np.shape(x)[i - lead] if size == -1 else size for i, size in enumerate(shape)]
    return np.broadcast_to(x, tuple(full))


def _sum_to_size(x, *shape):
    shape = _sizes(shape)
    lead = np.ndim(x) - len(shape)
    axes = [lead + i for i, size in enumerate(shape) if size == 1 and np.shape(x)[lead + i] != 1]
    return np.sum(x, axis=(*range(lead), *axes), keepdims=True).reshape(shape)


def _block_diagonal(*blocks):
    blocks = [np.atleast_2d(block) for block in blocks]
    out = np.zeros(
        (sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)), blocks[0].dtype
    )
    row = column = 0
    for block in blocks:
        out[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    return out


def _cartesian(*arrays):
    if len(arrays) == 1:
        return arrays[0]
    return np.stack([np.ravel(each) for each in np.meshgrid(*arrays, indexing="ij")], axis=-1)


def _combinations(x, r=2, with_replacement=False):
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = np.array(list(choose(range(len(x)), r)), dtype=int).reshape(-1, r)
    return x[rows]


def _chunk(x, chunks, dim=0):
    length = -(-np.shape(x)[dim] // chunks)
    return _split(x, length, dim)


def _split(x, size, dim=0):
    if isinstance(size, int):
        cuts = list(range(size, np.shape(x)[dim], size))
    else:
        cuts = list(np.cumsum(size[:-1]))
    return np.split(x, cuts, axis=dim)


def _split_at(function):
    return lambda x, where: function(x, where if isinstance(where, int) else list(where))


def _pad(x, pad, mode="constant", value=None):
    pairs = (
        list(itertools.batched(pad, 2))
        if hasattr(itertools, "batched")
        else list(zip(pad[::2], pad[1::2], strict=True))
    )
    widths = [(0, 0)] * (np.ndim(x) - len(pairs)) + pairs[::-1]
    cut = tuple(
        slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(widths, np.shape(x), strict=True)
    )
    grown = [(max(a, 0), max(b, 0)) for a, b in widths]
    name = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}[
        mode
    ]
    if mode == "constant":
        return np.pad(x[cut], grown, constant_values=0 if value is None else value)
    if mode == "replicate":
        return np.pad(x, grown, mode="edge")[
            tuple(
                slice(max(-a, 0), n + max(a, 0) + max(b, 0) - max(-b, 0))
                for (a, b), n in zip(widths, np.shape(x), strict=True)
            )
        ]
    return np.pad(x[cut], grown, mode=name)


def _diagonal_embedded(x, offset=0, dim1=-2, dim2=-1):
    size = np.shape(x)[-1] + abs(offset)
    out = np.zeros((*np.shape(x)[:-1], size, size), x.dtype)
    rows = np.arange(np.shape(x)[-1])
    out[..., rows + max(-offset, 0), rows + max(offset, 0)] = x
    return np.moveaxis(out, (-2, -1), (dim1, dim2))


def _diagonal_scattered(x, source, offset=0, dim1=0, dim2=1):
    y = np.moveaxis(x, (dim1, dim2), (-2, -1)).copy()
    rows = np.arange(np.shape(source)[-1])
    y[..., rows + max(-offset, 0), rows + max(offset, 0)] = source
    return np.moveaxis(y, (-2, -1), (dim1, dim2))


def _flatten(x, start_dim=0, end_dim=-1):
    shape = np.shape(x)
    if not shape:
        return np.reshape(x, (1,))
    start, end = start_dim % len(shape), end_dim % len(shape)
    return np.reshape(x, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


def _unflatten(x, dim, sizes):
    dim, shape = dim % np.ndim(x), np.shape(x)
    return np.reshape(x, (*shape[:dim], *sizes, *shape[dim + 1 :]))


def _places(index, dim):
    """The places that `index` names along an axis, as torch's gather and scatter mean them."""
    index = np.atleast_1d(index)
    grid = list(np.indices(np.shape(index)))
    grid[dim] = index
    return tuple(grid)


def _gather(x, dim, index, sparse_grad=False):
    if not np.ndim(x):
        return np.broadcast_to(x, np.shape(index)) if np.ndim(index) else x
    return np.reshape(x[_places(index, dim)], np.shape(index))


def _scattered(x, dim, index, source=None, reduce=None, value=None):
    source = value if source is None else source
    if not np.ndim(x) and reduce is None:
        place, source = (), np.reshape(source, ())
    elif not np.ndim(x):
        return x + np.sum(source) if reduce == "add" else x * np.prod(source)
    else:
        index = np.atleast_1d(index)
        place = _places(index, dim)
        if np.ndim(source):
            source = source[tuple(map(slice, np.shape(index)))]
    y = x.copy()
    if reduce == "add":
        np.add.at(y, place, source)
    elif reduce == "multiply":
        np.multiply.at(y, place, source)
    else:
        y[place] = source
    return y


def _scattered_added(x, dim, index, source):
    return _scattered(x, dim, index, source, "add")


def _index_added(x, dim, index, source, *, alpha=1):
    if not np.ndim(x):
        return x + alpha * np.sum(source)
    return _written(x, _at(x, dim, np.atleast_1d(index)), alpha * source, add=True)


def _index_copied(x, dim, index, source):
    if not np.ndim(x):
        return np.reshape(source, ()) + 0 * x
    return _written(x, _at(x, dim, index), source)


def _index_filled(x, dim, index, value):
    return np.full_like(x, value) if not np.ndim(x) else _written(x, _at(x, dim, index), value)


def _index_put(x, indices, values, accumulate=False):
    return _written(x, tuple(indices), values, accumulate)


def _index_selected(x, dim, index):
    return x if not np.ndim(x) else np.take(x, np.atleast_1d(index), axis=dim)


def _masked_filled(x, mask, value):
    return np.where(mask, value, x)


def _masked_scattered(x, mask, source):
    shape = np.broadcast_shapes(np.shape(x), np.shape(mask))
    y, mask = np.broadcast_to(x, shape).copy(), np.broadcast_to(mask, shape)
    y[mask] = np.ravel(source)[: np.count_nonzero(mask)]
    return y


def _masked_selected(x, mask):
    x, mask = np.broadcast_arrays(x, mask)
    return x[mask]


def _narrow(x, dim, start, length):
    return x[
        _at(
            x,
            dim,
            slice(int(start), int(start) + length)
            if start >= 0
            else slice(int(start), int(start) + length or None),
        )
    ]


def _put(x, index, source, accumulate=False):
    y = np.ravel(x).copy()
    if accumulate:
        np.add.at(y, np.ravel(index), np.ravel(source))
    else:
        y[np.ravel(index)] = np.ravel(source)
    return np.reshape(y, np.shape(x))


def _repeat(x, *counts):
    return np.tile(x, _sizes(counts))


def _repeated(x, repeats, dim=None, output_size=None):
    return np.repeat(x, repeats, axis=dim)


def _rolled(x, shifts, dims=None):
    return np.roll(x, shifts, dims if dims != () else None)


def _selected_written(x, source, dim, index):
    return _written(x, _at(x, dim, index), source)


def _sliced(x, dim=0, start=None, end=None, step=1):
    return x[_at(x, dim, slice(start, end, step))]


def _slice_written(x, source, dim=0, start=None, end=None, step=1):
    return _written(x, _at(x, dim, slice(start, end, step)), source)


def _sorted(x, dim=-1, descending=False, stable=False):
    if np.ndim(x) == 0:
        return x * 1
    found = np.sort(x, axis=dim)
    return np.flip(found, axis=dim) if descending else found


def _top(x, k, dim=-1, largest=True, sorted=True):
    if np.ndim(x) == 0:
        return x * 1
    order = np.argsort(-x if largest else x, axis=dim)
    return np.take_along_axis(x, np.take(order, range(k), axis=dim), axis=dim)


def _squeezed(x, dim=None):
    if dim is None or not np.ndim(x):
        return np.squeeze(x)
    axes = [axis for axis in np.atleast_1d(np.asarray(dim, int)) if np.shape(x)[axis] == 1]
    return np.squeeze(x, axis=tuple(axes))


def _taken(x, index):
    return np.take(x, index)


def _taken_along(x, index, dim=None):
    return np.take_along_axis(x, index, dim) if dim is not None else np.ravel(x)[np.ravel(index)]


def _swapped(x, dim0, dim1):
    return x if np.ndim(x) == 0 else np.swapaxes(x, dim0, dim1)


def _unbound(x, dim=0):
    return tuple(np.moveaxis(x, dim, 0))


def _unfolded(x, dimension, size, step):
    if np.ndim(x) == 0:
        return np.reshape(x, (1,))[:size]
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axis=dimension)
    return windows[_at(x, dimension, slice(None, None, step))]


def _viewed_as_complex(x):
    return x[..., 0] + 1j * x[..., 1]


def _unshuffled(x, downscale_factor):
    factor = downscale_factor
    *lead, channels, height, width = np.shape(x)
    y = np.reshape(x, (*lead, channels, height // factor, factor, width // factor, factor))
    n = len(lead)
    y = np.transpose(y, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return np.reshape(y, (*lead, channels * factor**2, height // factor, width // factor))


def _shuffled(x, upscale_factor):
    factor = upscale_factor
    *lead, channels, height, width = np.shape(x)
    kept = channels // factor**2
    y = np.reshape(x, (*lead, kept, factor, factor, height, width))
    n = len(lead)
    y = np.transpose(y, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return np.reshape(y, (*lead, kept, height * factor, width * factor))


def _channels_shuffled(x, groups):
    batch, channels, *rest = np.shape(x)
    y = np.reshape(x, (batch, groups, channels // groups, *rest))
    return np.reshape(np.swapaxes(y, 1, 2), np.shape(x))


def _transposed_2d(x):
    return np.transpose(x)


def _strided(x, size, stride, storage_offset=0):
    places = storage_offset + sum(
        (
            np.arange(n).reshape(-1, *[1] * (len(size) - 1 - i)) * s
            for i, (n, s) in enumerate(zip(size, stride, strict=True))
        ),
        np.zeros((1,) * len(size), int),
    )
    return np.ravel(x)[places.reshape(size)]


def _tiled(x, *counts):
    return np.tile(x, _sizes(counts))


def _tensor_split(x, where, dim=0):
    return np.array_split(x, where if np.ndim(where) == 0 else list(where), axis=dim)


STRUCTURE: dict[str, Callable[..., Any] | Counterpart] = {
    "H": lambda x: np.conj(x).T,
    "T": lambda x: x.T,
    "mH": lambda x: np.conj(np.swapaxes(x, -1, -2)) if np.ndim(x) else np.conj(x),
    "mT": lambda x: np.swapaxes(x, -1, -2),
    "__getitem__": lambda x, *index: x[
        _sizes(index) if isinstance(index[0], tuple) else index if len(index) > 1 else index[0]
    ],
    "as_strided": _strided,
    "as_strided_copy": _strided,
    "atleast_1d": _of_several(np.atleast_1d),
    "atleast_2d": _of_several(np.atleast_2d),
    "atleast_3d": _of_several(np.atleast_3d),
    "block_diag": _block_diagonal,
    "broadcast_tensors": np.broadcast_arrays,
    "broadcast_to": np.broadcast_to,
    "cartesian_prod": _cartesian,
    "cat": lambda arrays, dim=0: np.concatenate(
        [a for a in arrays if np.shape(a) != (0,)] or arrays, axis=dim
    ),
    "chunk": _chunk,
    "clone": lambda x, **layout: np.copy(x),
    "column_stack": np.column_stack,
    "combinations": _combinations,
    "constant_pad_nd": lambda x, pad, value=0: _pad(x, pad, "constant", value),
    "contiguous": lambda x: np.asarray(x, order="C"),
    "diag": np.diag,
    "diag_embed": _diagonal_embedded,
    "diagflat": lambda x, offset=0: np.diagflat(x, offset),
    "diagonal": lambda x, offset=0, dim1=0, dim2=1: np.diagonal(x, offset, dim1, dim2),
    "diagonal_copy": lambda x, offset=0, dim1=0, dim2=1: np.diagonal(x, offset, dim1, dim2).copy(),
    "diagonal_scatter": _diagonal_scattered,
    "double": lambda x, **layout: x.astype(np.float64),
    "dsplit": _split_at(np.dsplit),
    "dstack": np.dstack,
    "expand": _expand,
    "expand_as": lambda x, other: np.broadcast_to(x, np.shape(other)),
    "expand_copy": _expand,
    "fill": lambda x, value: np.full_like(x, value),
    "flatten": _flatten,
    "flip": lambda x, dims: np.flip(x, dims),
    "fliplr": np.fliplr,
    "flipud": np.flipud,
    "gather": _gather,
    "hsplit": _split_at(np.hsplit),
    "hstack": np.hstack,
    "index_add": _index_added,
    "index_copy": _index_copied,
    "index_fill": _index_filled,
    "index_put": _index_put,
    "index_select": _index_selected,
    "linalg.diagonal": lambda x, *, offset=0, dim1=-2, dim2=-1: np.diagonal(x, offset, dim1, dim2),
    "masked_fill": _masked_filled,
    "masked_scatter": _masked_scattered,
    "masked_select": _masked_selected,
    "meshgrid|list_of_tensors": lambda arrays, indexing="ij": np.meshgrid(
        *arrays, indexing=indexing
    ),
    "meshgrid|variadic_tensors": lambda *arrays, indexing="ij": np.meshgrid(
        *arrays, indexing=indexing
    ),
    "movedim": np.moveaxis,
    "msort": lambda x: np.sort(x, axis=0) if np.ndim(x) else x * 1,
    "narrow": _narrow,
    "narrow_copy": _narrow,
    "nn.functional.channel_shuffle": _channels_shuffled,
    "nn.functional.pad|circular": _pad,
    "nn.functional.pad|constant": _pad,
    "nn.functional.pad|reflect": _pad,
    "nn.functional.pad|replicate": _pad,
    "nn.functional.pad|replicate_negative": _pad,
    "nn.functional.pixel_shuffle": _shuffled,
    "nn.functional.pixel_unshuffle": _unshuffled,
    "permute": lambda x, *dims: np.transpose(x, _sizes(dims)),
    "permute_copy": lambda x, *dims: np.transpose(x, _sizes(dims)),
    "put": _put,
    "ravel": np.ravel,
    "repeat": _repeat,
    "repeat_interleave": _repeated,
    "reshape": lambda x, *shape: np.reshape(x, _sizes(shape)),
    "reshape_as": lambda x, other: np.reshape(x, np.shape(other)),
    "resolve_conj": lambda x: x * 1,
    "resolve_neg": lambda x: x * 1,
    "roll": _rolled,
    "rot90": lambda x, k=1, dims=(0, 1): np.rot90(x, k, dims),
    "scatter": _scattered,
    "scatter_add": _scattered_added,
    "select": lambda x, dim, index: x[_at(x, dim, index)],
    "select_scatter": _selected_written,
    "slice": _sliced,
    "slice_scatter": _slice_written,
    "sort": _sorted,
    "split": _split,
    "split_with_sizes": _split,
    "split_with_sizes_copy": _split,
    "split|list_args": _split,
    "squeeze": _squeezed,
    "squeeze_copy": _squeezed,
    "squeeze|multiple": _squeezed,
    "stack": lambda arrays, dim=0: np.stack(arrays, axis=dim),
    "sum_to_size": _sum_to_size,
    "t": _transposed_2d,
    "t_copy": _transposed_2d,
    "take": _taken,
    "take_along_dim": _taken_along,
    "tensor_split": _tensor_split,
    "tile": _tiled,
    "topk": _top,
    "transpose": _swapped,
    "transpose_copy": _swapped,
    "tril": np.tril,
    "triu": np.triu,
    "unbind": _unbound,
    "unbind_copy": _unbound,
    "unflatten": _unflatten,
    "unfold": _unfolded,
    "unfold_copy": _unfolded,
    "unsafe_chunk": _chunk,
    "unsafe_split": _split,
    "unsqueeze": lambda x, dim: np.expand_dims(x, dim),
    "unsqueeze_copy": lambda x, dim: np.expand_dims(x, dim),
    "view": lambda x, *shape: np.reshape(x, _sizes(shape)),
    "view_as": lambda x, other: np.reshape(x, np.shape(other)),
    "view_as_complex": _viewed_as_complex,
    "view_copy": lambda x, *shape: np.reshape(x, _sizes(shape)),
    "vsplit": _split_at(np.vsplit),
    "vstack": np.vstack,
    "zero_": np.zeros_like,
}
