"""What rows are read from: arrays behind one another, or chunks that are made anew for each pass.

A source is read by a *reader*, one for each pass, from the first row to the last.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import accumulate, pairwise
from typing import Any, Final, Protocol

import numpy as np

from adjoint.base.errors import ArgumentError, ArgumentTypeError
from adjoint.capture.recording.tracing.constants import check_plain

_KEPT: Final = 1 << 29  # bytes of a file before a chunk that stay mapped: other threads compute
_CAN_ADVISE: Final = hasattr(mmap, "MADV_DONTNEED")
_Recipe = tuple[Callable[..., Any], tuple[Any, ...]]


class RowReader(Protocol):
    """What gives some rows after the other."""

    def read(self, start: int, stop: int) -> Any:
        """The rows from one number to before another."""


class RowSource(Protocol):
    """What rows come from.

    shape, dtype: of all of them. block: how many are stored together, or None. costs: whether
    reading takes time or memory of its own. travels: whether it can be pickled, so that another
    process reads for itself.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    block: int | None
    costs: bool
    travels: bool

    def reader(self) -> RowReader:
        """What reads them in one pass."""


class ArrayParts:
    """Arrays behind one another, or what is sliced and converted as arrays are.

    Where it is pickled, files are named, and opened on the other side.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], parts: Sequence[Any]) -> None:
        self.shape = shape
        self.dtype = dtype
        self.parts = parts
        self.block = _stored_together(parts[0])
        self.travels = all(_recipe(part) is not None for part in parts)
        self.costs = not all(isinstance(part, np.ndarray) for part in parts)
        self._starts = [0, *accumulate(int(part.shape[0]) for part in parts)]

    def __reduce__(self) -> tuple[Any, ...]:
        recipes = [_recipe(part) or (_same, (part,)) for part in self.parts]
        return _opened, (self.shape, self.dtype, recipes)

    def reader(self) -> RowReader:
        """Itself."""
        return self

    def slices(self, start: int, stop: int) -> list[Any]:
        """The slices of parts that hold these rows, not converted yet."""
        slices = []
        for part, (first, last) in zip(self.parts, pairwise(self._starts), strict=True):
            low, high = max(start, first), min(stop, last)
            if low < high:
                slices.append(part[low - first : high - first])
                if isinstance(part, np.memmap):
                    _advise(part, low - first, high - first)
        return slices

    def read(self, start: int, stop: int) -> Any:
        """The rows from one number to before another."""
        return joined(self.slices(start, stop), self.dtype)


def joined(arrays: Sequence[Any], dtype: np.dtype[Any]) -> Any:
    """Rows behind one another, as an array of this dtype.

    Raises:
        ArgumentError: it cannot hold them.
    """
    whole = [np.asarray(array) for array in arrays]
    for array in whole:
        # Digits may be lost, and neither signs, nor fractions, nor imaginary parts.
        inexact = array.dtype.kind in "fc"
        if not np.can_cast(array.dtype, dtype, "same_kind" if inexact else "safe"):
            raise ArgumentError(
                f"rows are of dtype {dtype}, as the first of them or the source says, and some "
                f"have come of dtype {array.dtype}. Convert them where they are made, by .astype."
            )
    whole = [array.astype(dtype, copy=False) for array in whole]
    return whole[0] if len(whole) == 1 else np.concatenate(whole)


def _stored_together(part: Any) -> int | None:
    """How many rows HDF5, Zarr or Dask read or make at once, whichever of them are wanted."""
    chunks = getattr(part, "chunks", None)
    if not isinstance(chunks, tuple) or not chunks:
        return None
    first = chunks[0]
    return int(max(first) if isinstance(first, tuple) else first)


def _advise(part: Any, start: int, stop: int) -> None:
    """Have the system read the next rows of a large file meanwhile, and let go of those long past.

    What is let go of can be read again: a file that is only read has it.
    """
    mapped = part._mmap
    if part.nbytes <= _KEPT or mapped is None or part.mode != "r" or not _CAN_ADVISE:
        return
    if not part.flags.c_contiguous:
        return
    begin = part.ctypes.data - np.frombuffer(mapped, np.uint8).ctypes.data
    low, high = begin + start * part.strides[0], begin + stop * part.strides[0]
    _on_pages(mapped, mmap.MADV_WILLNEED, high, 2 * high - low)
    _on_pages(mapped, mmap.MADV_DONTNEED, 2 * low - high - _KEPT, low - _KEPT)


def _on_pages(mapped: Any, advice: int, start: int, stop: int) -> None:
    """Advise of the pages of a mapped file from one byte to another."""
    page = mmap.PAGESIZE
    first = max(0, start) // page * page
    last = min(stop, len(mapped))
    if first < last:
        mapped.madvise(advice, first, last - first)


# --- on the way to other processes ----------------------------------------------------------------


def _opened(shape: tuple[int, ...], dtype: Any, recipes: Sequence[_Recipe]) -> ArrayParts:
    return ArrayParts(shape, dtype, [function(*args) for function, args in recipes])


def _recipe(part: Any) -> _Recipe | None:
    """What opens a part in another process; None where only its rows can be sent.

    The file must lie at the same place there.
    """
    package = type(part).__module__.partition(".")[0]
    if isinstance(part, np.memmap):
        return _memmap_recipe(part)
    if package == "h5py" and os.path.isfile(part.file.filename):
        return _open_hdf5, (os.path.abspath(part.file.filename), part.name)
    if package == "zarr" and "Memory" not in type(part.store).__name__:
        return _same, (part,)
    return None


def _memmap_recipe(part: Any) -> _Recipe | None:
    """Where the part lies in its file. What is written to a copy (mode c) is in no file."""
    mapped = part._mmap
    if mapped is None or part.filename is None or part.mode == "c" or not part.flags.c_contiguous:
        return None
    # A slice has the offset of what it was taken from. Files are mapped from the start of a page.
    page = part.offset - part.offset % mmap.ALLOCATIONGRANULARITY
    offset = page + part.ctypes.data - np.frombuffer(mapped, np.uint8).ctypes.data
    return _open_memmap, (str(part.filename), offset, part.dtype, part.shape)


def _open_memmap(path: str, offset: int, dtype: Any, shape: tuple[int, ...]) -> Any:
    return np.memmap(path, dtype, "r", offset, shape)


def _open_hdf5(path: str, name: str) -> Any:
    return import_module("h5py").File(path, "r")[name]


def _same(part: Any) -> Any:
    return part


# --- chunks that are made anew --------------------------------------------------------------------


class MadeChunks:
    """Chunks of rows that a function makes, or that something gives each time it is iterated over.

    make: gives an iterator over all chunks, from the first.
    """

    def __init__(
        self,
        make: Callable[[], Iterator[Any]],
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        block: int | None,
    ) -> None:
        self.make = make
        self.shape = shape
        self.dtype = dtype
        self.block = block
        self.costs = True
        self.travels = False

    def reader(self) -> RowReader:
        """What goes through the chunks once."""
        return _ChunkReader(self)


class _ChunkReader:
    """Goes through chunks once, and cuts them as they are wanted. Rows may be left out."""

    def __init__(self, source: MadeChunks) -> None:
        self._source = source
        self._begin()

    def _begin(self) -> None:
        self._chunks = self._source.make()
        self._next = 0  # the number of the first row that has not been read
        self._rest: list[Any] = []  # from that on, as far as it has been made

    def read(self, start: int, stop: int) -> Any:
        """The rows from one number to before another."""
        if start < self._next:
            self._begin()
        while self._next < start:
            self._take(min(start - self._next, self._source.block or 1))
        rows = joined(self._take(stop - start), self._source.dtype)
        if stop == self._source.shape[0] and (self._rest or any(map(len, self._chunks))):
            raise ArgumentError(
                f"there were to be {stop} rows, and the chunks have more. They must be the same in "
                "each pass."
            )
        return rows

    def _take(self, wanted: int) -> list[Any]:
        """So many more rows, in arrays behind one another."""
        ahead = sum(map(len, self._rest))
        while ahead < wanted:
            chunk = next(self._chunks, None)
            if chunk is None:
                raise ArgumentError(
                    f"there were to be {self._source.shape[0]} rows, and the chunks end after "
                    f"{self._next + ahead}. They must be the same in each pass."
                )
            self._rest.append(_checked_chunk(chunk, self._source))
            ahead += len(self._rest[-1])
        taken, self._rest = self._rest, []
        if ahead > wanted:
            cut = len(taken[-1]) - (ahead - wanted)
            taken[-1], self._rest = taken[-1][:cut], [taken[-1][cut:]]
        self._next += wanted
        return taken


def _checked_chunk(chunk: Any, source: MadeChunks) -> Any:
    check_plain(chunk)
    array = np.asarray(chunk)
    if array.ndim != len(source.shape) or array.shape[1:] != source.shape[1:]:
        raise ArgumentError(
            f"a chunk has the shape {array.shape}, where rows have the shape {source.shape[1:]}: "
            "each is an array of some rows."
        )
    return array


def made_chunks(source: Any, count: int | None) -> MadeChunks:
    """Chunks that a function makes, or of an iterable. They are counted in a pass of their own.

    count: of the rows, where somebody knows it.

    Raises:
        ArgumentTypeError: it is neither, or can be gone through only once.
    """
    make = _maker(source)
    chunks = make()
    first = next((np.asarray(chunk) for chunk in chunks if _length(chunk)), None)
    if first is None or not first.ndim:
        raise ArgumentError("there are no rows.")
    if count is None:
        count = len(first) + sum(map(_length, chunks))
    dtype = first.dtype.newbyteorder("=")
    return MadeChunks(make, (count, *first.shape[1:]), dtype, len(first))


def _length(chunk: Any) -> int:
    try:
        return len(chunk)
    except TypeError:
        raise ArgumentTypeError(
            f"rows were to come in chunks, each an array of some rows; what came is of type "
            f"{type(chunk).__name__}."
        ) from None


def _maker(source: Any) -> Callable[[], Iterator[Any]]:
    if isinstance(source, Iterable):
        if isinstance(source, Iterator):
            raise ArgumentTypeError(
                f"rows may be read in several passes, and {type(source).__name__} can be gone "
                "through only once: give the function that makes it, without calling it."
            )
        return lambda: iter(source)

    def make() -> Iterator[Any]:
        chunks = source()
        if not isinstance(chunks, Iterable):
            raise ArgumentTypeError(
                f"a function that makes rows must give an iterator over chunks, and gave "
                f"{type(chunks).__name__}."
            )
        return iter(chunks)

    return make
