"""Where chunks are computed: on threads, with the same bits on any number of them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentTypeError
from adjoint.calculus.rows import progress
from adjoint.calculus.rows.tree import first_half, in_tree
from tests.calculus.rows.functions import FUNCTIONS, W, X, Y, close, log_sum_exp, same_bits, squares


def all_functions(chunk: int) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    for function, weights, data, _ in FUNCTIONS:
        yield ad.value_and_grad(function), (weights, *[ad.rows(x, chunk=chunk) for x in data])
    yield ad.jit(lambda w, x: np.tanh(x @ w)), (W, ad.rows(X, chunk=chunk))


# --- the order ------------------------------------------------------------------------------------


def test_results_are_combined_in_one_tree() -> None:
    def total(values: list[Any]) -> Any:
        middle = first_half(len(values)) if len(values) > 1 else 0
        return total(values[:middle]) + total(values[middle:]) if middle else values[0]

    for count in range(1, 70):
        values = [np.array(0.1 * 3**n) for n in range(count)]
        assert in_tree(("add",), [(v,) for v in values]) == (total(values),)
        blocks = [in_tree(("add",), [(v,) for v in values[n : n + 8]]) for n in range(0, count, 8)]
        assert in_tree(("add",), blocks) == (total(values),)


# --- threads --------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", [37, 250, 1000])
def test_any_number_of_threads_gives_the_same_bits(chunk: int) -> None:
    for function, given in all_functions(chunk):
        with ad.config(threads=1):
            expected = function(*given)
        for threads in (2, 5):
            with ad.config(threads=threads):
                same_bits(function(*given), expected)
        same_bits(function(*given), expected)


def test_one_chunk_is_read_ahead() -> None:
    class Slow:
        shape, dtype = X.shape, X.dtype

        def __getitem__(self, index: Any) -> Any:
            assert threading.current_thread() is threading.main_thread()
            return X[index]

    with ad.config(threads=1):
        close(ad.grad(squares)(W, ad.rows(Slow(), chunk=64), ad.rows(Y)), ad.grad(squares)(W, X, Y))


def test_an_error_in_the_middle_is_the_readers_own() -> None:
    class Broken:
        shape, dtype = X.shape, X.dtype

        def __getitem__(self, index: slice) -> Any:
            if index.start > 500:
                raise OSError("the disk is gone")
            return X[index]

    for threads in (1, 3):
        before = threading.active_count()
        with ad.config(threads=threads), pytest.raises(OSError, match="the disk is gone"):
            ad.grad(squares)(W, ad.rows(Broken(), chunk=64), ad.rows(Y))
        assert threading.active_count() == before


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_in_the_middle_leaves_everything_right() -> None:
    def interrupt(done: int, total: int) -> None:
        if done == 9:
            signal.raise_signal(signal.SIGINT)

    given = ad.rows(X, chunk=64), ad.rows(Y, chunk=64)
    expected = ad.grad(log_sum_exp)(W, *given)
    ad.cache_clear()
    before = threading.active_count()
    for threads in (1, 3):
        with (
            ad.config(threads=threads, progress=interrupt),
            pytest.raises(KeyboardInterrupt),
        ):
            ad.grad(log_sum_exp)(W, *given)
        assert threading.active_count() == before
        same_bits(ad.grad(log_sum_exp)(W, *given), expected)


def test_rows_that_are_given_twice_are_read_once() -> None:
    reads = []

    class Counted:
        shape, dtype = Y.shape, Y.dtype

        def __getitem__(self, index: Any) -> Any:
            reads.append(index)
            return Y[index]

    y = ad.rows(Counted(), chunk=100)
    product = ad.jit(lambda x, y: np.sum(x * y))
    close(product(y, y), Y @ Y)
    assert len(reads) == 10


@pytest.mark.parametrize("engine", [3, object(), threading.Thread])
def test_what_is_no_engine(engine: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="engine must be None"), ad.config(engine=engine):
        pass


# --- progress -------------------------------------------------------------------------------------


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    with ad.config(progress=lambda done, total: told.append((done, total))):
        ad.grad(log_sum_exp)(W, ad.rows(X, chunk=100), ad.rows(Y))
    assert told == [(n + 1, 30) for n in range(30)]  # three passes
    with pytest.raises(ArgumentTypeError, match="progress must be"), ad.config(progress="bar"):  # type: ignore[arg-type]
        pass


@pytest.mark.parametrize(("wanted", "terminal"), [(True, False), (None, True), (None, False)])
def test_a_bar_on_stderr(
    wanted: Any, terminal: bool, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rich", reason="bars are not tested: rich is not installed")
    monkeypatch.setenv("FORCE_COLOR", "1")  # by which rich knows a terminal
    monkeypatch.setattr(progress, "_is_terminal", lambda: terminal)
    given = ad.rows(X, chunk=10), ad.rows(Y)
    for patience in (0.0, 1e9):
        monkeypatch.setattr(progress, "_LONG", patience)
        with ad.config(progress=wanted):
            ad.grad(squares)(W, *given)
        shows = bool(wanted) or (terminal and not patience)
        out, err = capsys.readouterr()
        assert not out
        assert ("chunks of rows" in err) == shows
        with ad.config(progress=False):
            ad.grad(squares)(W, *given)
        assert capsys.readouterr() == ("", "")
