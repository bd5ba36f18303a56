"""The pool: every part once, whoever computes it; callers side by side, forks, the environment."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adjoint.executors.native.machine import pool
from adjoint.executors.native.machine.effort import Effort
from adjoint.executors.native.machine.llvm import Code, machine
from adjoint.executors.native.machine.module import Module
from adjoint.executors.native.machine.symbols import address_of

pytestmark = pytest.mark.skipif(not pool.has_pool(), reason="this system has no pool")

WORKERS = 1024  # where the counts of the workers begin, after those of the parts
# A part takes some time, counts itself, and says who has computed it; `nested` runs the same within
# a part; `divide` divides 1 by what is in the context, where the number of the part says so.
TEXT = """
declare void @pool.run(ptr, ptr, i64, i64)
declare double @llvm.experimental.constrained.fdiv.f64(double, double, metadata, metadata)

define void @part(ptr %context, i64 %number, i64 %worker) {
entry:
  br label %wait
wait:
  %i = phi i64 [ 0, %entry ], [ %next, %wait ]
  %own = getelementptr i64, ptr %context, i64 %number
  %count = load volatile i64, ptr %own
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 5000
  br i1 %more, label %wait, label %done
done:
  %before = atomicrmw add ptr %own, i64 1 seq_cst
  %place = add i64 %worker, 1024
  %who = getelementptr i64, ptr %context, i64 %place
  %parts = atomicrmw add ptr %who, i64 1 seq_cst
  ret void
}

define void @nested(ptr %context, i64 %number, i64 %worker) {
  call void @pool.run(ptr @part, ptr %context, i64 5, i64 2)
  ret void
}

define void @divide(ptr %context, i64 %number, i64 %worker) {
  call void @part(ptr %context, i64 %number, i64 %worker)
  %at = getelementptr i8, ptr %context, i64 16000
  %divisors = getelementptr double, ptr %at, i64 %number
  %divisor = load volatile double, ptr %divisors
  %result = call double @llvm.experimental.constrained.fdiv.f64(double 1.0, double %divisor,
    metadata !"round.dynamic", metadata !"fpexcept.strict")
  store volatile double %result, ptr %divisors
  ret void
}
"""
_RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class Running:
    """The functions above, and the pool."""

    def __init__(self) -> None:
        pool.emit_pool(Module())
        self.code: Code = machine().compile(TEXT, verify=True)
        self.run = _RUN(address_of("pool.run") or 0)

    def __call__(self, name: str, parts: int, threads: int, memory: Any = None) -> Any:
        memory = np.zeros(4096, np.int64) if memory is None else memory
        self.run(self.code.address(name), memory.ctypes.data, parts, threads)
        return memory


@pytest.fixture(scope="module")
def running() -> Running:
    return Running()


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("parts", [1, 2, 7, 500])
def test_every_part_is_computed_once(running: Running, parts: int, threads: int) -> None:
    for _ in range(20):
        memory = running("part", parts, threads)
        assert (memory[:parts] == 1).all()
        assert not memory[parts:WORKERS].any()
        assert memory[WORKERS:].sum() == parts
        assert not memory[WORKERS + threads :].any()


def test_other_threads_help(running: Running) -> None:
    helped = 0
    for _ in range(2000):
        helped += int(running("part", 64, 2)[WORKERS + 1])
        if helped:
            return
    raise AssertionError("the caller has computed everything")


def side_by_side(count: int, work: Callable[[], None]) -> None:
    errors: list[BaseException] = []

    def target() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=target) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors
    assert not any(thread.is_alive() for thread in threads)


def test_callers_side_by_side(running: Running) -> None:
    def work() -> None:
        for _ in range(200):
            memory = running("part", 16, 3)
            assert (memory[:16] == 1).all()

    side_by_side(4, work)


def test_work_within_a_part_is_done_there(running: Running) -> None:
    memory = running("nested", 6, 2)
    assert (memory[:5] == 6).all()
    assert memory[WORKERS] == 30


@pytest.mark.parametrize("place", [0, 3, 15])
def test_errors_of_any_part_are_raised_in_the_caller(running: Running, place: int) -> None:
    c = ctypes.CDLL(None)
    clear, test = c.feclearexcept, c.fetestexcept
    memory = np.zeros(4096, np.int64)
    divisors = memory[2000:2016].view(float)
    for _ in range(20):
        memory[:] = 0
        divisors[:] = 1.0
        clear(0x1F)
        running("divide", 16, 3, memory)
        assert not test(0x0D)
        memory[:] = 0
        divisors[:] = 1.0
        divisors[place] = 0.0
        clear(0x1F)
        running("divide", 16, 3, memory)
        assert test(0x0D)
        assert divisors[place] == np.inf
    clear(0x1F)


@pytest.mark.skipif(not machine().is_x86, reason="the numbers of the modes are those of x86")
def test_parts_are_rounded_as_the_caller_rounds(running: Running) -> None:
    fesetround = ctypes.CDLL(None).fesetround
    memory = np.zeros(4096, np.int64)
    quotients = memory[2000:2064].view(float)
    expected = {0x000: 1 / 3, 0x400: 1 / 3, 0x800: np.nextafter(1 / 3, 1)}
    running("part", 64, 2)  # starts the threads as everybody rounds
    for _ in range(20):
        for mode, third in expected.items():
            memory[:] = 0
            quotients[:] = 3.0
            fesetround(mode)
            running("divide", 64, 2, memory)
            fesetround(0)
            assert set(quotients.tolist()) == {float(third)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_child_has_a_pool_of_its_own(running: Running) -> None:
    for _ in range(5):
        running("part", 64, 3)
        child = os.fork()
        if not child:
            signal.alarm(30)
            fine = all((running("part", 64, 3)[:64] == 1).all() for _ in range(50))
            os._exit(0 if fine else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert (running("part", 64, 3)[:64] == 1).all()


def test_a_child_takes_no_number_of_another_process_for_its_own() -> None:
    text = pool.pool_text().replace("@pool.owner = internal global", "@pool.owner = global")
    code = machine().compile(text, Effort.QUICK)
    owner = ctypes.c_int64.from_address(code.address("pool.owner"))
    owner.value = 2 * os.getpid() + 1  # as a grandparent left it that had the same number
    ctypes.PYFUNCTYPE(None)(code.address("pool.disown"))()
    assert owner.value == 0


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are not listed")
def test_no_worker_is_there_at_a_fork(running: Running) -> None:
    counts: list[int] = []
    before = len(os.listdir("/proc/self/task"))
    os.register_at_fork(after_in_parent=lambda: counts.append(len(os.listdir("/proc/self/task"))))
    running("part", 64, 4)
    known = len(os.listdir("/proc/self/task"))
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    assert known >= before
    assert counts[0] <= known - 3
    assert (running("part", 64, 4)[:64] == 1).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_while_another_thread_computes(running: Running) -> None:
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            running("part", 64, 3)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if not child:
                signal.alarm(30)
                fine = all((running("part", 64, 3)[:64] == 1).all() for _ in range(20))
                os._exit(0 if fine else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        thread.join()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are not listed")
def test_workers_take_no_signals(running: Running) -> None:
    known = {str(thread.native_id) for thread in threading.enumerate()}
    running("part", 64, 2)
    blocked = []
    for task in set(os.listdir("/proc/self/task")) - known:
        try:
            status = Path(f"/proc/self/task/{task}/status").read_text()
        except FileNotFoundError:  # of a thread that compiled, and has ended since
            continue
        mask = next(line for line in status.splitlines() if line.startswith("SigBlk"))
        blocked.append(bool(int(mask.split()[1], 16) >> (signal.SIGINT - 1) & 1))
    assert any(blocked)


@pytest.mark.parametrize(
    ("triple", "waits"),
    [("aarch64-unknown-linux-gnu", "yield"), ("x86_64-unknown-linux-gnu", "pause")],
)
def test_there_is_code_for_both_processors(
    triple: str, waits: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    llvm = pytest.importorskip("llvmlite.binding")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    monkeypatch.setattr(machine(), "is_x86", triple.startswith("x86"))
    target = llvm.Target.from_triple(triple).create_target_machine(opt=2, reloc="pic")
    module = llvm.parse_assembly(f'target triple = "{triple}"\n{pool.pool_text()}')
    module.verify()
    assert waits in target.emit_assembly(module)


SCRIPT = """
import threading
import numpy as np
import adjoint as ad

def work():
    with ad.config(native=True, threads=3):
        f = ad.jit(lambda x: np.sum(np.exp(x) * np.sin(x)))
        x = np.linspace(0.0, 1.0, 300_000)
        while True:
            f(x)
            ready.set()

ready = threading.Event()
threading.Thread(target=work, daemon=True).start()
assert ready.wait(60)
"""


def test_a_process_ends_while_threads_compute() -> None:
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
