"""Where rows come from: an array on disk, or in parts, of which some are read at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, ClassVar, Final

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.calling import named
from adjoint.base.errors import ArgumentError, ArgumentTypeError

_CHUNK_BYTES: Final = 1 << 24  # of rows that are read at a time, if nobody says how many


class Rows:
    """Rows that are read some at a time: what `rows` gives.

    Args:
        shape: the shape of all rows together.
        dtype: their dtype.
        parts: arrays, or what is sliced and converted as arrays are, with so many rows each.
        chunk: how many rows are read at a time.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> ad.rows(np.zeros((6, 2)), chunk=4)
        Rows(6x2 float64, 4 at a time)
    """

    # Whether there have ever been any: until then nobody looks for them among arguments.
    exist: ClassVar[bool] = False

    def __init__(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], parts: Sequence[Any], chunk: int
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.chunk = chunk
        self._parts = parts
        self._starts = [0, *accumulate(int(part.shape[0]) for part in parts)]
        Rows.exist = True

    def __repr__(self) -> str:
        return f"Rows({'x'.join(map(str, self.shape))} {self.dtype}, {self.chunk} at a time)"

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise ArgumentTypeError(
            "rows are read some at a time, and are no array: give them as an argument to what "
            "ad.grad, ad.value_and_grad, ad.jacobian, ad.hessian or ad.jit has made, and not to "
            "NumPy, nor from outside of the function."
        )

    @property
    def whole_type(self) -> ArrayType:
        """The type of all of them."""
        return array_type(self.shape, self.dtype)

    def read(self, start: int, stop: int) -> Any:
        """The rows from one number to before another.

        Args:
            start: the number of the first.
            stop: that after the last.

        Returns:
            An array of these rows.

        Raises:
            ArgumentError: the source gives rows of another shape.
        """
        arrays = []
        for part, (first, last) in zip(self._parts, pairwise(self._starts), strict=True):
            low, high = max(start, first), min(stop, last)
            if low < high:
                arrays.append(np.asarray(part[low - first : high - first], self.dtype))
        whole = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
        expected = (stop - start, *self.shape[1:])
        if whole.shape != expected:
            raise ArgumentError(
                f"rows {start} to {stop} were to have the shape {expected}, and have "
                f"{whole.shape}: the source has changed, or is not what its shape says."
            )
        return np.ascontiguousarray(whole)


@named
def rows(source: Any, chunk: int | None = None) -> Rows:
    """Rows of an array that memory need not hold, as an argument of a derivative.

    A function that `ad.grad`, `ad.value_and_grad`, `ad.jacobian`, `ad.hessian` or `ad.jit` has made
    reads them some at a time: each pass runs one compiled program on each chunk, and adds the
    results in an order that depends on nothing but the chunks. Its code is that of all rows: sums,
    means, maxima and log-sum-exps over rows, which may be nested (features that are standardised by
    their own mean, say, take a pass more).

    Args:
        source: a NumPy array or `np.memmap`; the name of a `.npy` file, which is not read whole; an
            array of HDF5, Zarr or Dask, or anything with `shape`, `dtype` and slices; or a list of
            such, with rows of one shape and dtype.
        chunk: how many rows are read at a time; None for about 16 MiB of them.

    Returns:
        An argument that stands for an array of all rows.

    Raises:
        ArgumentError: there are no rows, the parts do not fit, or `chunk` is less than 1.
        ArgumentTypeError: the source has no shape, dtype or slices.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> def loss(w, x, y):
        ...     return np.mean((x @ w - y) ** 2)
        >>> x, y = np.arange(12.0).reshape(6, 2), np.arange(6.0)
        >>> ad.grad(loss)(np.zeros(2), ad.rows(x, chunk=2), ad.rows(y, chunk=2))
        array([-36.66666667, -41.66666667])
        >>> ad.grad(loss)(np.zeros(2), x, y)
        array([-36.66666667, -41.66666667])
    """
    if chunk is not None and (isinstance(chunk, bool) or not isinstance(chunk, int)):
        raise ArgumentTypeError(f"chunk must be a number of rows, or None, got {chunk!r}.")
    if chunk is not None and chunk < 1:
        raise ArgumentError(f"chunk must be 1 or more, got {chunk!r}.")
    if isinstance(source, (str, os.PathLike)):
        source = np.load(source, mmap_mode="r")
    parts = list(source) if isinstance(source, (list, tuple)) else [source]
    for part in parts:
        if not all(hasattr(part, name) for name in ("shape", "dtype", "__getitem__")):
            raise ArgumentTypeError(
                "rows must be of an array, the name of a .npy file, or a list of arrays, got "
                f"{type(part).__name__}."
            )
    if not parts or not all(part.shape for part in parts):
        raise ArgumentError("rows must be of arrays with at least one axis.")
    dtype = np.dtype(parts[0].dtype)
    for number, part in enumerate(parts):
        if part.shape[1:] != parts[0].shape[1:] or np.dtype(part.dtype) != dtype:
            raise ArgumentError(
                f"part {number} has rows of shape {tuple(part.shape[1:])} and dtype {part.dtype}, "
                f"and the first of shape {tuple(parts[0].shape[1:])} and dtype {dtype}."
            )
    count = sum(int(part.shape[0]) for part in parts)
    if not count:
        raise ArgumentError("there are no rows.")
    shape = (count, *map(int, parts[0].shape[1:]))
    if chunk is None:
        bytes_of_row = max(1, dtype.itemsize * int(np.prod(shape[1:])))
        chunk = max(1, min(count, _CHUNK_BYTES // bytes_of_row))
    return Rows(shape, dtype, parts, chunk)


def chunks(count: int, chunk: int) -> Iterator[tuple[int, int]]:
    """Where chunks of so many rows begin and end; the last may have fewer."""
    for start in range(0, count, chunk):
        yield start, min(start + chunk, count)
