"""What rows are read from: files, lists, other packages' arrays, chunks that are made anew."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import adjoint as ad
from adjoint.base.errors import ArgumentError, ArgumentTypeError, DTypeError
from adjoint.calculus.rows import sources
from tests.calculus.rows.functions import COUNT, RANDOM, W, X, Y, close, squares


def test_files_lists_and_whatever_is_sliced(tmp_path: Path) -> None:
    class Sliced:
        shape, dtype = Y.shape, Y.dtype

        def __getitem__(self, index: Any) -> Any:
            return Y[index].tolist()

    np.save(tmp_path / "x.npy", X)
    expected = ad.grad(squares)(W, X, Y)
    for x in (str(tmp_path / "x.npy"), tmp_path / "x.npy", [X[:10], X[10:11], X[11:]]):
        for y in (Sliced(), [Y[:999], Y[999:]]):
            given = ad.rows(x, chunk=64), ad.rows(y, chunk=50)
            close(ad.grad(squares)(W, *given), expected)
    assert repr(given[0]) == "Rows(1000x13 float64, 64 at a time)"
    assert len(given[0]) == COUNT


@pytest.mark.parametrize(
    ("source", "chunk", "error", "text"),
    [
        (3.0, None, ArgumentTypeError, "got float"),
        (X, 0, ArgumentError, "1 or more"),
        (X, "2", ArgumentTypeError, "number of rows"),
        (X[:0], None, ArgumentError, "no rows"),
        ([], None, ArgumentError, "at least one axis"),
        ([X, X[:, :2]], None, ArgumentError, "part 1 has rows of shape"),
        (np.array(1.0), None, ArgumentError, "at least one axis"),
        (np.array(["a"]), None, DTypeError, "must be of numbers"),
        (np.array([None, 1]), None, DTypeError, "must be of numbers"),
        (b"abc", None, ArgumentTypeError, "is of type int"),
        (sparse.csr_array(X), None, ArgumentTypeError, "got csr_array"),
    ],
)
def test_sources_that_are_none(source: Any, chunk: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        ad.rows(source, chunk)


def test_rows_of_different_numbers() -> None:
    with pytest.raises(ArgumentError, match="999 and 1000"):
        ad.grad(squares)(W, ad.rows(X), ad.rows(Y[:999]))


@pytest.mark.parametrize("count", [None, 4])
@pytest.mark.parametrize(
    ("first", "then"),
    [(int, float), (bool, float), (float, complex), (np.uint8, np.int8), (np.int32, np.int64)],
)
def test_chunks_of_a_dtype_that_the_first_cannot_hold(first: Any, then: Any, count: Any) -> None:
    def chunks() -> Any:
        yield np.array([1, 0], first)
        yield np.array([-1.5, 2.5]).astype(then)

    with pytest.raises(ArgumentError, match=f"some have come of dtype {np.dtype(then)}"):
        ad.jit(lambda x: x)(ad.rows(chunks, chunk=2, count=count))


@pytest.mark.parametrize(
    ("first", "then"), [(float, int), (float, np.float32), (np.float32, float), (complex, float)]
)
def test_chunks_of_a_dtype_that_the_first_can_hold(first: Any, then: Any) -> None:
    parts = [np.array([1, 0], first), np.array([-1.5, 2.5]).astype(then)]
    result = ad.jit(lambda x: x)(ad.rows(lambda: iter(parts), chunk=np.int64(2)))
    np.testing.assert_array_equal(result, np.concatenate(parts))
    assert result.dtype == first


def test_arrays_with_rules_of_their_own_are_refused() -> None:
    masked = np.ma.array(X, mask=X > 0)
    for source in (masked, [X, masked]):
        with pytest.raises(DTypeError, match="has rules of its own"):
            ad.rows(source)
    with pytest.raises(DTypeError, match="has rules of its own"):
        ad.jit(lambda x: x)(ad.rows(lambda: iter([masked]), count=len(X)))


def test_a_source_that_changes_its_shape() -> None:
    class Shrunk:
        shape, dtype = (COUNT, 13), X.dtype

        def __getitem__(self, index: Any) -> Any:
            return X[index][:, :5]

    with pytest.raises(ArgumentError, match="the source has changed"):
        ad.grad(squares)(W, ad.rows(Shrunk(), chunk=10), ad.rows(Y))


def test_many_rows_take_the_memory_of_a_few_chunks(tmp_path: Path) -> None:
    shape, chunk = (200_000, 16), 10_000  # 24 MiB, and 1.2
    stored = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=float, shape=shape)
    stored[:] = RANDOM.normal(size=16)
    stored.flush()

    def loss(w: Any, x: Any) -> Any:
        hidden = np.tanh(x * w)
        return np.mean(np.log(np.sum(np.exp(hidden), axis=1)) * hidden[:, 0])

    given = ad.rows(tmp_path / "x.npy", chunk=chunk)
    for _ in range(2):  # the second is compiled
        tracemalloc.start()
        found = ad.grad(loss)(np.ones(16), given)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert most < 3 * 8 * 16 * chunk
    close(found, ad.grad(loss)(np.ones(16), np.array(stored)))


# --- packages -------------------------------------------------------------------------------------


def test_datasets_of_hdf5(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="rows of HDF5 are not tested: h5py is not installed")
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file.create_dataset("x", data=X, chunks=(64, 13), compression="gzip")
        file["deep/y"] = Y.astype(">f4")
    with h5py.File(tmp_path / "data.h5") as file:
        x, y = ad.rows(file["x"]), ad.rows(file["deep/y"], chunk=50)
        assert x.chunk == COUNT
        assert y.dtype == np.float32
        assert y.dtype.isnative
        given = (ad.rows(file["x"], chunk=100), y)
        close(ad.grad(squares)(W, *given), ad.grad(squares)(W, X, Y.astype("f4")))
        reopened = pickle.loads(pickle.dumps(x.source))
        np.testing.assert_array_equal(reopened.read(3, 9), X[3:9])
    with pytest.raises((OSError, ValueError)):  # as HDF5 says it: the file is closed
        ad.grad(squares)(W, *given)


def test_chunks_are_whole_blocks_of_what_is_stored_together() -> None:
    class Stored:
        shape, dtype, chunks = (1 << 20, 2), np.dtype("f8"), (1000, 2)

        def __getitem__(self, index: Any) -> Any:
            raise AssertionError

    assert ad.rows(Stored()).chunk == 262_000  # about 4 MiB
    Stored.chunks = (1 << 19, 2)
    assert ad.rows(Stored()).chunk == 1 << 19
    Stored.chunks = ((600, 400), (2,))  # type: ignore[assignment]  # as Dask says it
    assert ad.rows(Stored()).chunk == 261_600


def test_arrays_of_zarr(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", reason="rows of Zarr are not tested: zarr is not installed")
    stored = zarr.open_array(
        str(tmp_path / "x.zarr"), mode="w", shape=X.shape, chunks=(64, 13), dtype="f8"
    )
    stored[:] = X
    x = ad.rows(stored, chunk=100)
    close(ad.grad(squares)(W, x, ad.rows(Y)), ad.grad(squares)(W, X, Y))
    reopened = pickle.loads(pickle.dumps(x.source))
    np.testing.assert_array_equal(reopened.read(3, 9), X[3:9])


def test_arrays_of_dask() -> None:
    array = pytest.importorskip(
        "dask.array", reason="rows of Dask are not tested: dask is not installed"
    )
    x, y = array.from_array(X, chunks=(100, 5)), array.from_array(Y, chunks=77) * 2
    assert ad.rows(x).chunk == 1000
    assert ad.rows(x, chunk=64).chunk == 64
    given = ad.rows(x, chunk=100), ad.rows(y)
    close(ad.grad(squares)(W, *given), ad.grad(squares)(W, X, Y * 2))
    with pytest.raises(ArgumentError, match="compute_chunk_sizes"):
        ad.rows(x[y > 0])


# --- chunks that are made anew --------------------------------------------------------------------


class Loader:
    """Gives chunks each time it is iterated over, as loaders of batches do."""

    def __init__(self, data: Any, size: int) -> None:
        self.data, self.size, self.passes = data, size, 0

    def __iter__(self) -> Iterator[Any]:
        self.passes += 1
        for start in range(0, len(self.data), self.size):
            yield self.data[start : start + self.size]


@pytest.mark.parametrize("size", [1, 37, 400, 1000])
def test_chunks_are_cut_as_they_are_wanted(size: int) -> None:
    x, y = Loader(X, size), Loader(Y, 64)
    given = ad.rows(x, chunk=150), ad.rows(lambda: iter(y), chunk=200)
    assert (len(given[0]), given[0].shape) == (COUNT, X.shape)
    close(ad.grad(squares)(W, *given), ad.grad(squares)(W, X, Y))
    assert x.passes == 2  # to count the rows, and for the gradient
    known = ad.rows(x, chunk=150, count=COUNT)
    close(ad.grad(squares)(W, known, given[1]), ad.grad(squares)(W, X, Y))


@pytest.mark.parametrize(
    ("count", "text"),
    [(COUNT + 1, "chunks end after 1000"), (COUNT - 1, "the chunks have more")],
)
def test_other_numbers_of_rows_than_were_said(count: int, text: str) -> None:
    x = ad.rows(Loader(X, 64), chunk=100, count=count)
    with pytest.raises(ArgumentError, match=text):
        ad.grad(lambda w, x: np.sum(x @ w))(W, x)


def test_iterators_are_used_up_by_one_pass() -> None:
    with pytest.raises(ArgumentTypeError, match="give the function that makes it"):
        ad.rows(iter([X]))
    with pytest.raises(ArgumentTypeError, match="must give an iterator"):
        ad.rows(lambda: 3)
    with pytest.raises(ArgumentError, match="no rows"):
        ad.rows(lambda: iter([]))
    with pytest.raises(ArgumentError, match="Leave it out"):
        ad.rows(X, count=3)
    mixed = ad.rows(lambda: iter([X[:10], X[:10, :3]]), count=20, chunk=10)
    with pytest.raises(ArgumentError, match=r"a chunk has the shape \(10, 3\)"):
        ad.grad(lambda w, x: np.sum(x @ w))(W, mixed)


# --- memory maps in other processes ---------------------------------------------------------------


def test_large_files_are_let_go_of_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "x.npy", X)
    expected = ad.grad(squares)(W, ad.rows(X, chunk=100), ad.rows(Y))
    for kept in (0, 5000, 50_000):
        monkeypatch.setattr(sources, "_KEPT", kept)
        part = np.load(tmp_path / "x.npy", mmap_mode="r")
        given = ad.rows([part[:333], part[333:]], chunk=100), ad.rows(Y)
        for _ in range(2):
            np.testing.assert_array_equal(ad.grad(squares)(W, *given), expected)


def test_parts_of_files_are_named_and_opened_again(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    whole = np.load(tmp_path / "x.npy", mmap_mode="r")
    for part, expected in ((whole, X), (whole[301:], X[301:]), (whole[10:900][5:], X[15:900])):
        source = ad.rows(part).source
        sent = pickle.dumps(source)
        assert source.travels
        assert len(sent) < 1000
        np.testing.assert_array_equal(pickle.loads(sent).read(2, 400), expected[2:400])
    changed = np.load(tmp_path / "x.npy", mmap_mode="c")
    for part in (changed, whole[:, :4], whole[::2], X):
        assert not ad.rows(part).source.travels
