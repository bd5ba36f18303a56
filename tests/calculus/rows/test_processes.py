"""Chunks on processes that communicate as those of MPI do, and on these themselves."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentError, RowsError
from tests.calculus.rows.functions import W, X, Y, log_sum_exp, same_bits, squares
from tests.calculus.rows.test_engines import all_functions

ROOT = Path(__file__).parents[3]


class Post:
    """What processes share, here threads: messages, and a table at which all meet."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.messages = {(a, b): SimpleQueue[Any]() for a in range(size) for b in range(size)}
        self.table: list[Any] = [None] * size
        self.meeting = threading.Barrier(size, timeout=60)


class Communicator:
    """A communicator as those of mpi4py, which have no hash."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Communicator) and other.rank == self.rank

    def __init__(self, post: Post, rank: int) -> None:
        self.post, self.rank = post, rank

    def Get_rank(self) -> int:
        return self.rank

    def Get_size(self) -> int:
        return self.post.size

    def send(self, value: Any, dest: int) -> None:
        self.post.messages[self.rank, dest].put(value)

    def recv(self, source: int) -> Any:
        return self.post.messages[source, self.rank].get(timeout=60)

    def allgather(self, value: Any) -> list[Any]:
        self.post.table[self.rank] = value
        self.post.meeting.wait()
        values = list(self.post.table)
        self.post.meeting.wait()
        return values

    def bcast(self, value: Any, root: int) -> Any:
        return self.allgather(value)[root]


def together(size: int, act: Callable[[int], Any]) -> list[Any]:
    """What so many processes do, each with a communicator as its engine."""
    post, results = Post(size), [None] * size

    def process(rank: int) -> None:
        with ad.config(engine=Communicator(post, rank), debug=True):
            try:
                results[rank] = act(rank)
            except BaseException as error:
                results[rank] = error  # type: ignore[call-overload]

    threads = [threading.Thread(target=process, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_processes_of_a_communicator_give_the_same_bits(size: int) -> None:
    for function, given in all_functions(150):
        expected = function(*given)
        for results in together(
            size, partial(lambda call, rank: call(), partial(function, *given))
        ):
            same_bits(results, expected)


def test_settings_with_an_engine_have_a_hash() -> None:
    one, other = Communicator(Post(1), 0), Communicator(Post(1), 0)
    assert one == other
    with ad.config(engine=one) as first, ad.config(threads=3) as second:
        assert len({first, second}) == 2
    with ad.config(engine=other) as third:
        assert third != first


def test_a_process_that_fails_ends_all() -> None:
    def act(rank: int) -> Any:
        x = X if rank < 2 else X[:, :12]
        source = type("Source", (), {"shape": X.shape, "dtype": X.dtype})()
        type(source).__getitem__ = lambda self, index: x[index]
        return ad.grad(squares)(W, ad.rows(source, chunk=100), ad.rows(Y, chunk=100))

    *others, failed = together(3, act)
    assert isinstance(failed, ArgumentError)
    for error in others:
        assert isinstance(error, RowsError)
        assert "process 2 of the communicator has failed: ArgumentError" in str(error)


@pytest.mark.parametrize("what", ["point", "function", "rows"])
def test_processes_that_compute_different_things_end_with_an_error(what: str) -> None:
    """As after an error that one of them has caught in the call before: it is a call ahead."""

    def act(rank: int) -> Any:
        other = rank == 1
        w = W * (1.5 if other and what == "point" else 1.0 + 1e-12 * rank)
        function = log_sum_exp if other and what == "function" else squares
        rows = slice(0, 300 if other and what == "rows" else None)
        return ad.grad(function)(w, ad.rows(X[rows], chunk=100), ad.rows(Y[rows], chunk=100))

    for error in together(3, act):
        assert isinstance(error, RowsError)
        assert "something else than process 0" in str(error)


def test_another_rounding_in_another_process_is_no_difference() -> None:
    def act(rank: int) -> Any:
        w = W * (1.0 + 1e-12 * rank)
        return ad.grad(squares)(w, ad.rows(X, chunk=100), ad.rows(Y, chunk=100))

    expected = ad.grad(squares)(W, X, Y)
    for result in together(3, act):
        np.testing.assert_allclose(result, expected, rtol=1e-9)


def test_processes_make_tapes_longer_together() -> None:
    """One of them has no chunks, and so no tape that is too short."""

    def slow(w: Any, x: Any) -> Any:
        def step(carry: Any) -> Any:
            return carry[0] * 0.99, np.tanh(carry[1] + x @ w * carry[0])

        return np.sum(ad.while_loop(lambda carry: carry[0] > 0.05, step, (1.0, x[:, 0]))[1])

    expected = ad.grad(slow)(W, ad.rows(X, chunk=400))
    ad.cache_clear()
    for results in together(4, lambda rank: ad.grad(slow)(W, ad.rows(X, chunk=400))):
        same_bits(results, expected)
    sent = pickle.loads(pickle.dumps(ad.errors.TapeOverflowError(131, "advice")))
    assert (sent.length, str(sent).count("advice")) == (131, 1)


def test_infinite_arguments_are_compared_without_a_warning() -> None:
    """NumPy warns of sums of infinities of both signs: the user has not asked for these."""

    def bounded(w: Any, lower: Any, x: Any) -> Any:
        return np.sum(np.maximum(x @ w, lower) ** 2)

    for bound in (-np.inf, np.array([-np.inf]), np.array([[-np.inf], [np.inf]])[:1]):
        expected = ad.grad(bounded)(W, bound, ad.rows(X, chunk=100))
        for results in together(
            2, lambda rank, at=bound: ad.grad(bounded)(W, at, ad.rows(X, chunk=100))
        ):
            same_bits(results, expected)


def test_a_process_that_is_interrupted_ends_all() -> None:
    def act(rank: int) -> Any:
        def interrupt(done: int, total: int) -> None:
            if rank == 1:
                raise KeyboardInterrupt

        with ad.config(progress=interrupt):
            return ad.grad(log_sum_exp)(W, ad.rows(X, chunk=100), ad.rows(Y, chunk=100))

    one, interrupted, other = together(3, act)
    assert isinstance(interrupted, KeyboardInterrupt)
    for error in (one, other):
        assert isinstance(error, RowsError)
        assert "process 1 of the communicator has failed: KeyboardInterrupt" in str(error)


MOMENTS = ["capture", "between passes", "after the last pass"]


@pytest.mark.parametrize("error", [OSError("no licence"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_process_that_fails_outside_passes_ends_all(moment: str, error: BaseException) -> None:
    """And all go on together with the next call."""

    def act(rank: int) -> Any:
        def fail(at: str, value: Any) -> Any:
            if rank == 1 and moment == at:
                raise error
            return value

        @ad.primitive(result=lambda x: x)
        def between(x: Any) -> Any:
            return fail("between passes", x)

        @ad.primitive(result=lambda x: x)
        def after(x: Any) -> Any:
            return fail("after the last pass", x)

        def deviation(w: Any, x: Any) -> Any:
            fail("capture", None)
            centred = x - between(np.mean(x, axis=0))
            return after(np.sum((centred @ w) ** 2))

        given = ad.rows(X, chunk=100)
        try:
            result = ad.jit(deviation)(W, given)
        except BaseException as failure:
            result = failure
        return result, ad.grad(squares)(W, given, ad.rows(Y, chunk=100))

    (one, first), (failed, second), (other, third) = together(3, act)
    assert failed is error
    for told in (one, other):
        assert isinstance(told, RowsError)
        assert f"process 1 of the communicator has failed: {type(error).__name__}" in str(told)
    same_bits(second, first)
    same_bits(third, first)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("moment", ["allgather", "bcast"])
def test_an_interrupt_while_processes_exchange_results(moment: str) -> None:
    """It waits until the exchange is over, and is then agreed upon."""
    post, errors = Post(2), []

    class Interrupted(Communicator):
        def allgather(self, value: Any) -> list[Any]:
            if moment == "allgather":
                signal.raise_signal(signal.SIGINT)
            return super().allgather(value)

        def bcast(self, value: Any, root: int) -> Any:
            if moment == "bcast":
                signal.raise_signal(signal.SIGINT)
            return Communicator.allgather(self, value)[root]

    def other() -> None:
        with ad.config(engine=Communicator(post, 1)), pytest.raises(RowsError) as failed:
            ad.grad(squares)(W, *given)
        errors.append(failed.value)

    given = ad.rows(X, chunk=64), ad.rows(Y, chunk=64)
    thread = threading.Thread(target=other)
    thread.start()
    with ad.config(engine=Interrupted(post, 0)), pytest.raises(KeyboardInterrupt):
        ad.grad(squares)(W, *given)
    thread.join(60)
    assert "process 0 of the communicator has failed: KeyboardInterrupt" in str(errors[0])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


MPI_SCRIPT = """
import numpy as np
from mpi4py import MPI
import adjoint as ad
from tests.calculus.rows.functions import same_bits
from tests.calculus.rows.test_engines import all_functions
for function, given in all_functions(60):
    expected = function(*given)
    with ad.config(engine=MPI.COMM_WORLD):
        same_bits(function(*given), expected)
print("equal", flush=True)
"""


MPI_INTERRUPTED = """
import os, signal
import numpy as np
from mpi4py import MPI
import adjoint as ad
from tests.calculus.rows.functions import W, X, Y, squares

signal.signal(signal.SIGINT, signal.default_int_handler)
rank = MPI.COMM_WORLD.Get_rank()

def interrupt(done, total):
    if rank == 1:
        os.kill(os.getpid(), signal.SIGINT)

try:
    with ad.config(engine=MPI.COMM_WORLD, progress=interrupt):
        ad.grad(squares)(W, ad.rows(X, chunk=60), ad.rows(Y, chunk=60))
except KeyboardInterrupt:
    assert rank == 1
    print("equal", flush=True)
except ad.errors.RowsError as error:
    assert rank == 0 and "process 1 of the communicator has failed" in str(error)
    print("equal", flush=True)
with ad.config(engine=MPI.COMM_WORLD):  # all can go on
    ad.grad(squares)(W, ad.rows(X, chunk=60), ad.rows(Y, chunk=60))
"""


MPI_FAILED = """
import os, signal
import numpy as np
from mpi4py import MPI
import adjoint as ad
from tests.calculus.rows.functions import W, X, Y, squares

signal.signal(signal.SIGINT, signal.default_int_handler)
rank = MPI.COMM_WORLD.Get_rank()

def failing(w, x, y, interrupted):
    if rank == 1 and interrupted:
        os.kill(os.getpid(), signal.SIGINT)
    if rank == 1:
        raise OSError("no licence")
    return squares(w, x, y)

with ad.config(engine=MPI.COMM_WORLD):
    for interrupted, name in ((False, "OSError"), (True, "KeyboardInterrupt")):
        given = ad.rows(X, chunk=60), ad.rows(Y, chunk=60), interrupted
        try:
            ad.grad(failing)(W, *given)
        except ad.errors.RowsError as error:
            assert rank == 0 and "process 1 of the communicator has failed: " + name in str(error)
        except (KeyboardInterrupt, OSError) as error:
            assert rank == 1 and type(error).__name__ == name
        else:
            raise AssertionError
        ad.grad(squares)(W, *given[:2])  # all can go on
print("equal", flush=True)
"""


@pytest.mark.parametrize("script", [MPI_SCRIPT, MPI_INTERRUPTED, MPI_FAILED])
def test_mpi_itself(script: str) -> None:
    pytest.importorskip("mpi4py", reason="MPI is not tested: mpi4py is not installed")
    beside = Path(sys.executable).with_name("mpiexec")
    launcher = str(beside) if beside.exists() else shutil.which("mpiexec")
    if launcher is None:
        pytest.skip("MPI is not tested: there is no mpiexec")
    command = [launcher, "-n", "2", sys.executable, "-c", script]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"src{os.pathsep}."},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("equal") == 2
