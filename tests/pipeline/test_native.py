"""When programs become machine code, and what happens when that has no answer."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import NativeExecutorWarning
from adjoint.executors import NativeExecutor, Needs, compilation, tiered
from adjoint.executors.attempt import PATIENCE
from adjoint.executors.compilation import Compilation, runs_beside_others
from adjoint.executors.effort import FEWEST_RUNS, MOST_RUNS, runs_on_numpy
from tests.building import f8, program_of
from tests.executors.native.fake import FakeLowering, install

X = np.array([0.5, -1.0, 2.0])


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLowering]:
    """Machine code without LLVM, and a cache of programs of its own."""
    lowering = install(monkeypatch)
    monkeypatch.setattr(compilation, "_warned", set())
    ad.cache_clear()
    with ad.config(replay=False):
        yield lowering
    ad.cache_clear()


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> int:
    """A program is hot after 3 runs, and turns to machine code after 6, however long that takes."""
    monkeypatch.setattr(tiered, "runs_on_numpy", lambda program: 3)
    monkeypatch.setattr(tiered, "_LONGEST_WAIT", 60.0)
    return 6


def slope(x: Any) -> Any:
    return ad.grad(lambda x: np.sum(np.exp(np.sin(x)) * x))(x)


EXPECTED = np.exp(np.sin(X)) * (1 + np.cos(X) * X)


# --- when -----------------------------------------------------------------------------------------


def test_what_comes_by_often_is_compiled(fake: FakeLowering, soon: int) -> None:
    for number in range(9):
        np.testing.assert_allclose(slope(X), EXPECTED)
        assert fake.hits == max(0, number + 1 - soon)
    assert len(fake.made) == 1
    assert fake.made[0].needs.watched == (0,)


def test_it_can_be_asked_for_and_forbidden(fake: FakeLowering, soon: int) -> None:
    with ad.config(native=False):
        for _ in range(10):
            slope(X)
    assert fake.made == []
    with ad.config(native=True):
        slope(X)
    assert fake.hits == 1
    slope(X)  # there it is now
    assert fake.hits == 2
    with ad.config(native=False):
        slope(X)
    assert fake.hits == 2


def test_options_make_machine_code_of_their_own_and_no_program(fake: FakeLowering) -> None:
    for options in ({}, {"precise": True}, {"threads": 1}, {"threads": 2}, {"precise": True}):
        with ad.config(native=True, **options):
            np.testing.assert_allclose(slope(X), EXPECTED)
    found = [(made.needs.precise, made.needs.threads) for made in fake.made]
    assert found == [(False, None), (True, None), (False, 1), (False, 2)]
    assert ad.cache_info().misses == 1


def test_jit_compiles_at_once(fake: FakeLowering) -> None:
    jitted = ad.jit(slope)
    np.testing.assert_allclose(jitted(X), EXPECTED)
    assert fake.hits == 1
    with ad.config(native=False):
        np.testing.assert_allclose(ad.jit(lambda x: slope(2 * x))(X / 2), EXPECTED)
    assert fake.hits == 1


def test_the_count_depends_on_the_program_alone() -> None:
    small = program_of(np.sin, f8(3))
    large = program_of(lambda x: np.sin(x) * x, f8(10_000_000))
    assert runs_on_numpy(small) == runs_on_numpy(program_of(np.sin, f8(3))) == MOST_RUNS
    assert runs_on_numpy(large) == FEWEST_RUNS
    assert runs_on_numpy(program_of(lambda x: x, f8(3))) == MOST_RUNS


def test_maps_are_compiled_too(fake: FakeLowering, soon: int) -> None:
    _, linear = ad.linearize(lambda x: np.exp(np.sin(x)) * x, X)
    for _ in range(soon + 2):
        np.testing.assert_allclose(linear(X), EXPECTED * X)
        np.testing.assert_allclose(linear.H(X), EXPECTED * X)
    assert fake.hits == 4


def test_machine_code_goes_with_its_program(fake: FakeLowering) -> None:
    with ad.config(native=True):
        slope(X)
    held = weakref.ref(fake.made.pop())
    ad.cache_clear()
    gc.collect()
    assert held() is None


# --- misses ---------------------------------------------------------------------------------------


def test_warnings_are_those_of_numpy(fake: FakeLowering) -> None:
    with ad.config(native=True):
        function = ad.jit(lambda x: np.log(x) * 2)
        np.testing.assert_allclose(function(X + 2), 2 * np.log(X + 2))
        for _ in range(3):
            with pytest.warns(RuntimeWarning, match="divide by zero") as caught:
                function(np.zeros(3))
            assert len(caught) == 1


def test_strong_zeros_are_kept(fake: FakeLowering) -> None:
    gradient = ad.grad(lambda x: np.sum(np.where(x > 0, np.log(x), 0)))
    x = np.array([1.0, 0.0])
    with ad.config(native=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(gradient(x), [1, 0])
        with ad.config(strong_zeros=False):
            assert np.isnan(gradient(x)[1])
    assert fake.runs == 2
    assert fake.hits == 1  # without strong zeros, a NaN is a number like others


def test_strong_zeros_in_pieces(fake: FakeLowering) -> None:
    fake.cannot = frozenset({"log"})
    gradient = ad.grad(lambda x: np.sum(np.where(x > 0, np.log(np.exp(x) * x - x), 0)))
    x = np.array([1.0, 0.0])
    with ad.config(native=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert gradient(x)[1] == 0
    assert fake.runs > 0


def test_what_always_misses_is_left_to_numpy(fake: FakeLowering) -> None:
    fake.misses = True
    with ad.config(native=True):
        for _ in range(PATIENCE + 5):
            np.testing.assert_allclose(slope(X), EXPECTED)
    assert fake.runs == PATIENCE
    assert len(fake.made) == 1


def test_what_misses_now_and_then_stays(fake: FakeLowering) -> None:
    function: Callable[[Any], Any] = ad.jit(lambda x: np.log(x) * 2)
    with ad.config(native=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(5 * PATIENCE):
            function(X + 2)
            function(np.zeros(3))
            function(X + 2)
    assert fake.hits == 10 * PATIENCE
    assert len(fake.made) == 1


def test_arguments_of_another_layout_are_no_misses(fake: FakeLowering) -> None:
    with ad.config(native=True):
        for _ in range(2 * PATIENCE):
            np.testing.assert_allclose(slope(np.repeat(X, 2)[::2]), EXPECTED)
    assert fake.hits == 2 * PATIENCE


def test_users_functions_are_called_once(fake: FakeLowering) -> None:
    calls = []

    @ad.primitive
    def outside(x):
        calls.append(1)
        return x + 1

    def function(x):
        return np.log(outside(np.exp(x) * 0)) / np.sum(np.log(x - x))

    with ad.config(native=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls.clear()
        ad.jit(function)(X)
    assert len(calls) <= 2  # to find out the type of its result, and to run


# --- no machine code ------------------------------------------------------------------------------


def test_one_warning_and_then_numpy(fake: FakeLowering, soon: int) -> None:
    fake.fails = True
    for _ in range(soon):
        slope(X)
    with pytest.warns(NativeExecutorWarning, match="there is no LLVM here") as caught:
        np.testing.assert_allclose(slope(X), EXPECTED)
    assert len(caught) == 1
    slope(X)
    with ad.config(native=True):
        np.testing.assert_array_equal(ad.grad(lambda x: x @ x)(X), 2 * X)
    ad.jit(np.sin)(X)


def test_defects_are_a_warning_too_but_for_debug_mode(
    fake: FakeLowering, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(program: Any, options: Any) -> Any:
        raise KeyError("defect")

    monkeypatch.setattr(fake, "native", broken)
    with ad.config(native=True, debug=True), pytest.raises(KeyError, match="defect"):
        slope(X)
    with (
        ad.config(native=True, debug=False),
        pytest.warns(NativeExecutorWarning, match="defect"),
    ):
        np.testing.assert_allclose(slope(X), EXPECTED)


# --- threads --------------------------------------------------------------------------------------


class Slow:
    """Lets a fake lowering begin, and end when it is told to."""

    def __init__(self, fake: FakeLowering) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.threads: list[threading.Thread] = []
        plain = fake.native

        def slowly(program: Any, needs: Any) -> Any:
            self.threads.append(threading.current_thread())
            self.begun.set()
            assert self.go_on.wait(60)
            return plain(program, needs)

        fake.native = slowly  # type: ignore[method-assign]


def test_no_call_waits_for_long(
    fake: FakeLowering, soon: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiered, "_LONGEST_WAIT", 0.001)
    slow = Slow(fake)
    for _ in range(4 * 3 + 1):  # begun at the 4th, looked for at the 7th and the 13th
        np.testing.assert_allclose(slope(X), EXPECTED)
    assert slow.begun.wait(60)
    assert fake.made == []
    slow.go_on.set()
    slow.threads[0].join(60)
    for _ in range(11):  # it is there, but not looked for until the 25th
        np.testing.assert_allclose(slope(X), EXPECTED)
    assert fake.hits == 0
    np.testing.assert_allclose(slope(X), EXPECTED)
    assert (fake.hits, len(fake.made)) == (1, 1)


def test_a_jitted_call_waits_and_an_exception_of_the_users_reaches_them(
    fake: FakeLowering,
) -> None:
    slow, jitted = Slow(fake), ad.jit(slope)

    class Alarm(Exception):
        pass

    def alarm(number: int, frame: Any) -> None:
        raise Alarm

    before = signal.signal(signal.SIGALRM, alarm)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Alarm):
            jitted(X)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert slow.begun.is_set()
    slow.go_on.set()
    np.testing.assert_allclose(jitted(X), EXPECTED)
    assert (fake.hits, len(fake.made)) == (1, 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # threads and forks
def test_a_forked_child_compiles_for_itself(fake: FakeLowering) -> None:
    program = program_of(np.sin, f8(3))
    with compilation._one_at_a_time:  # so that it cannot begin
        lost = Compilation(NativeExecutor(), program, Needs())
        child = os.fork()
        if not child:
            anew = Compilation(NativeExecutor(), program, Needs())
            os._exit(0 if lost.is_lost and not anew.wait(0.01) and not anew.is_lost else 1)
        assert not lost.is_lost
    assert os.waitpid(child, 0)[1] == 0
    assert lost.wait(60)
    child = os.fork()
    if not child:
        anew = Compilation(NativeExecutor(), program, Needs())
        held = anew.wait(60) and anew.executable(debug=True) is not None
        os._exit(0 if held and not lost.is_lost else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_runs_what_was_being_compiled(fake: FakeLowering, soon: int) -> None:
    with compilation._one_at_a_time:
        for _ in range(soon - 1):  # it is hot after 3, and begun
            slope(X)
        child = os.fork()
    if not child:
        right = all(np.allclose(slope(X), EXPECTED) for _ in range(2 * soon))
        os._exit(0 if right and fake.hits else 1)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_allclose(slope(X), EXPECTED)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_that_a_daemon_has_forked_compiles(fake: FakeLowering) -> None:
    statuses = []

    def forks() -> None:
        child = os.fork()
        if not child:
            ad.jit(slope)(X)
            os._exit(0 if fake.hits else 1)
        statuses.append(os.waitpid(child, 0)[1])

    daemon = threading.Thread(target=forks, daemon=True)
    daemon.start()
    daemon.join(60)
    assert statuses == [0]


def test_where_no_thread_can_be_started_the_caller_compiles(
    fake: FakeLowering, soon: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    np.testing.assert_allclose(ad.jit(slope)(X), EXPECTED)
    assert fake.hits == 1
    for _ in range(soon + 1):
        np.testing.assert_allclose(ad.grad(lambda x: np.sum(np.cos(x)))(X), -np.sin(X))
    assert fake.hits == 2


def test_ctrl_c_reaches_a_caller_who_compiles(
    fake: FakeLowering, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    def interrupted(program: Any, needs: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", fail)
    jitted = ad.jit(slope)
    with monkeypatch.context() as patch:
        patch.setattr(fake, "native", interrupted)
        with pytest.raises(KeyboardInterrupt):
            jitted(X)
    np.testing.assert_allclose(jitted(X), EXPECTED)
    assert fake.hits == 1


def test_a_thread_that_compiles_is_no_other(fake: FakeLowering) -> None:
    beside = []

    class Asks:
        def compile(self, program: Any, needs: Any = None) -> Any:
            beside.append(runs_beside_others())
            return NativeExecutor().compile(program, needs)

    slow = Slow(fake)
    compiling = Compilation(Asks(), program_of(np.sin, f8(3)), Needs())
    assert slow.begun.wait(60)
    assert not runs_beside_others()
    other = threading.Thread(target=slow.go_on.wait)
    other.start()
    assert runs_beside_others()
    slow.go_on.set()
    other.join(60)
    assert compiling.wait(60)
    assert beside == [True]  # beside the one who has asked


def test_threads_that_outlive_the_main_one_compile() -> None:
    program = """
import threading, numpy as np, adjoint as ad
class Notes:
    def compile(self, program, needs=None):
        print("compiled")
def late():
    threading.main_thread().join()
    with ad.config(executor=Notes()):
        ad.jit(lambda x: np.sin(x))(1.0)
threading.Thread(target=late).start()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "compiled\n"


def test_many_threads(fake: FakeLowering, soon: int) -> None:
    start = threading.Barrier(6)
    jitted = ad.jit(slope)

    def work(seed: int) -> bool:
        start.wait()
        for number in range(20):
            x = X + seed + number
            expected = np.exp(np.sin(x)) * (1 + np.cos(x) * x)
            np.testing.assert_allclose(slope(x), expected, rtol=1e-10)
            np.testing.assert_allclose(jitted(x), expected, rtol=1e-10)
        return True

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(6)))
    assert len(fake.made) <= 2
