"""Rows that are read some at a time, as arguments."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import Any, ClassVar, Final

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.dlpack import from_dlpack, is_in_memory, speaks_dlpack
from adjoint.base.errors import ArgumentError, ArgumentTypeError, DTypeError
from adjoint.base.signatures.calling import named
from adjoint.calculus.rows.sources import ArrayParts, RowSource, made_chunks
from adjoint.capture import AwaitedArray
from adjoint.capture.recording.tracing.constants import check_plain

_NUMBERS: Final = "biufc"  # the kinds of their dtypes
_CHUNK_BYTES: Final = 1 << 22  # of rows that are read at a time, if nobody says how many


class RowsMetError(ArgumentTypeError):
    """Rows came up where an array is wanted, and no argument stood for them.

    rows: which. others: those, by their identity, that had come up before and were stood for.
    """

    def __init__(self, rows: Rows, others: frozenset[int]) -> None:
        super().__init__(
            "rows are read some at a time, and are no array: compute with them in a function that "
            "ad.jit, ad.grad, ad.value_and_grad, ad.jacobian, ad.hessian, ad.hvp, ad.jvp, ad.vjp, "
            "ad.linearize or ad.derivative is given."
        )
        self.rows, self.others = rows, others


class Standing:
    """What stands for rows in the function that is being captured, by their identity."""

    def __init__(self, arrays: Mapping[int, Any]) -> None:
        self._arrays = arrays
        self._asked: set[int] = set()

    def array(self, rows: Rows) -> Any:
        """The array that stands for these rows.

        Raises:
            RowsMetError: there is none.
        """
        array = self._arrays.get(id(rows))
        if array is None:
            raise RowsMetError(rows, frozenset(self._asked))
        self._asked.add(id(rows))
        return array


STANDING: ContextVar[Standing] = ContextVar("adjoint_rows")


class Rows(AwaitedArray):
    """Rows that are read some at a time: what `rows` gives.

    In a function that is captured, they are an array of all of them.

    Args:
        source: what they come from.
        chunk: how many are read at a time.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> ad.rows(np.zeros((6, 2)), chunk=4)
        Rows(6x2 float64, 4 at a time)
    """

    # Whether there have ever been any: until then nobody looks for them among arguments.
    exist: ClassVar[bool] = False

    def __init__(self, source: RowSource, chunk: int) -> None:
        self.source = source
        self.shape = source.shape
        self.dtype = source.dtype
        self.chunk = chunk
        Rows.exist = True

    def __repr__(self) -> str:
        return f"Rows({'x'.join(map(str, self.shape))} {self.dtype}, {self.chunk} at a time)"

    def __len__(self) -> int:
        return self.shape[0]

    def traced(self) -> Any:
        """What stands for all of them, where a function is captured."""
        standing = STANDING.get(None)
        return (Standing({}) if standing is None else standing).array(self)

    @property
    def whole_type(self) -> ArrayType:
        """The type of all of them."""
        return array_type(self.shape, self.dtype)


@named
def rows(source: Any, chunk: int | None = None, count: int | None = None) -> Rows:
    """Rows of an array that memory need not hold, as an argument of a derivative.

    A function that `ad.grad`, `ad.value_and_grad`, `ad.jacobian`, `ad.hessian` or `ad.jit` has made
    reads them some at a time: each pass runs one compiled program on each chunk, and adds the
    results in an order that depends on nothing but the chunks. Its code is that of all rows: sums,
    means, maxima and log-sum-exps over rows, which may be nested (features that are standardised by
    their own mean, say, take a pass more). The chunks of a pass run on all cores of this machine,
    or where `ad.config(engine=...)` says.

    Args:
        source: a NumPy array or `np.memmap`; the name of a `.npy` file, which is not read whole; an
            array of HDF5, Zarr or Dask, or anything with `shape`, `dtype` and slices; a list of
            such, with rows of one shape and dtype; a function that gives an iterator over chunks,
            or what can be iterated over in each pass anew.
        chunk: how many rows are read at a time; None for about 4 MiB of them, and no fewer than are
            stored together.
        count: how many rows there are, where chunks are iterated over; None to count them in a pass
            of its own.

    Returns:
        An argument that stands for an array of all rows.

    Raises:
        ArgumentError: there are no rows, the parts do not fit, or a number is less than 1.
        ArgumentTypeError: the source is none of these, or an iterator that is used up by one pass.
        DTypeError: its rows are of text or objects, or of arrays with rules of their own, as masked
            ones.

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
    _check_number("chunk", chunk)
    _check_number("count", count)
    if isinstance(source, (str, os.PathLike)):
        source = np.load(source, mmap_mode="r")
    if _is_array(source) or speaks_dlpack(source) or isinstance(source, (list, tuple)):
        if count is not None:
            raise ArgumentError("count is for chunks that are iterated over. Leave it out.")
        origin: RowSource = _parts(list(source) if isinstance(source, (list, tuple)) else [source])
    elif callable(source) or isinstance(source, Iterable):
        origin = made_chunks(source, count)
    else:
        raise ArgumentTypeError(_no_source(source))
    if origin.dtype.kind not in _NUMBERS:
        raise DTypeError(
            f"rows must be of numbers, and these are of dtype {origin.dtype}. Convert them, by "
            ".astype(float), say."
        )
    return Rows(origin, _default_chunk(origin) if chunk is None else int(chunk))


def _check_number(name: str, number: int | None) -> None:
    whole = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
    if number is not None and not whole:
        raise ArgumentTypeError(f"{name} must be a number of rows, or None, got {number!r}.")
    if number is not None and number < 1:
        raise ArgumentError(f"{name} must be 1 or more, got {number!r}.")


def _is_array(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("shape", "dtype", "__getitem__"))


def _no_source(value: Any) -> str:
    return (
        "rows must be of an array, the name of a .npy file, a list of arrays, or chunks that are "
        f"iterated over, got {type(value).__name__}."
    )


def _shared(value: Any) -> Any:
    """NumPy's array of the same memory, of an array that speaks DLPack, as a tensor of PyTorch."""
    if isinstance(value, np.ndarray) or not (speaks_dlpack(value) and is_in_memory(value)):
        return value
    return from_dlpack(value)


def _parts(parts: list[Any]) -> ArrayParts:
    parts = list(map(_shared, parts))
    for part in parts:
        if not _is_array(part) or type(part).__module__.startswith("scipy.sparse"):
            raise ArgumentTypeError(_no_source(part))
        check_plain(part)
    if not parts or not all(part.shape for part in parts):
        raise ArgumentError("rows must be of arrays with at least one axis.")
    dtype = np.dtype(parts[0].dtype)
    for number, part in enumerate(parts):
        if part.shape[1:] != parts[0].shape[1:] or np.dtype(part.dtype) != dtype:
            raise ArgumentError(
                f"part {number} has rows of shape {tuple(part.shape[1:])} and dtype {part.dtype}, "
                f"and the first of shape {tuple(parts[0].shape[1:])} and dtype {dtype}."
            )
    if any(part.shape[0] != part.shape[0] for part in parts):  # NaN
        raise ArgumentError(
            "rows must be of an array whose number of rows is known. Of a Dask array, call "
            "compute_chunk_sizes() first."
        )
    count = sum(int(part.shape[0]) for part in parts)
    if not count:
        raise ArgumentError("there are no rows.")
    return ArrayParts((count, *map(int, parts[0].shape[1:])), dtype.newbyteorder("="), parts)


def _default_chunk(source: RowSource) -> int:
    """About as many rows as the cache holds, and whole blocks of what is stored together."""
    bytes_of_row = max(1, source.dtype.itemsize * int(np.prod(source.shape[1:])))
    chunk = max(1, _CHUNK_BYTES // bytes_of_row)
    if source.block:
        chunk = max(1, chunk // source.block) * source.block
    return min(source.shape[0], chunk)
