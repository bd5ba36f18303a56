"""Compiling beside the caller: threads, forks, signals, and the end of the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.executors import NativeExecutor, Needs, compilation, tiered
from adjoint.executors.compilation import Compilation, runs_beside_others
from tests.building import f8, program_of
from tests.executors.native.fake import FakeLowering
from tests.pipeline.test_native import EXPECTED, X, slope


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
    monkeypatch.setattr(tiered, "_expected_seconds", lambda program, hard: 0.0)
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
    assert len(fake.made) == 1
    assert fake.hits


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
def test_a_fork_waits_for_what_is_being_compiled() -> None:
    program = """
import os, threading, time, numpy as np, adjoint as ad
begun = threading.Event()
class Slow:
    def compile(self, program, needs=None):
        begun.set()
        time.sleep(0.2)
        return ad.executors.NumpyExecutor().compile(program)
def work():
    with ad.config(executor=Slow()):
        ad.jit(lambda x: np.sin(x))(1.0)
thread = threading.Thread(target=work)
thread.start()
begun.wait()
child = os.fork()
if not child:
    os._exit(round(abs(ad.jit(ad.grad(lambda x: np.sin(x)))(0.0) - 1)))
print(os.waitpid(child, 0)[1])
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "0\n"


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
    assert len(fake.made) == 1
    assert fake.hits


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


@pytest.mark.skipif(find_spec("llvmlite") is None, reason="there is no LLVM here")
def test_a_script_gives_the_same_bits_with_code_on_disk_and_without(tmp_path: Path) -> None:
    program = """
import hashlib, sys, numpy as np, adjoint as ad
def loss(x):
    total = 0.0
    for k in range(4):
        total += np.sum(np.sin(x * (1 + k / 10)) ** (k % 3 + 1) * np.tanh(x + k)) / np.sum(x)
    return total
x, total, steps = np.linspace(0.1, 2, 20_000), hashlib.sha256(), []
for _ in range(400):
    total.update(ad.grad(loss)(x).tobytes())
    steps.append(ad.cache_info()[4:] != (0, 0))
print(total.hexdigest(), steps[-1])
"""
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "ADJOINT_CACHE": folder},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for folder in ("off", str(tmp_path / "kept"), str(tmp_path / "kept"))
    }
    assert len(printed) == 1
    assert printed.pop().endswith("True\n")
