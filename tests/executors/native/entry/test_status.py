"""Around the kernel: its status, floating-point errors, NaN, signals."""

from __future__ import annotations

import ctypes
import math
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from adjoint.base.arrays import array_type
from adjoint.executors.native.entry import python_api, runtime
from adjoint.executors.native.entry.function import EntrySpec
from tests.executors.native.entry.kernels import (
    INT,
    STATUS,
    WAITING,
    binary,
    built,
    f8,
    identity,
    raising,
    same,
)

# --- status, floating-point errors, NaN ----------------------------------------------------------


def test_status() -> None:
    function = built(EntrySpec((INT,), (f8(3), f8())), STATUS)
    assert len(function(0)) == 2
    assert function(1) is None
    failing = built(EntrySpec((), (f8(3), f8())), raising(ValueError))
    with pytest.raises(ValueError):
        failing()


@pytest.fixture(params=["registers", "numpy"])
def status_source(request: pytest.FixtureRequest) -> Iterator[str]:
    """How the entry learns of floating-point errors: as on x86-64, and as elsewhere."""
    api = python_api.python_api()
    if request.param == "registers" and not api.reads_mxcsr:
        pytest.skip("another processor")
    runtime.runtime()
    runtime.install(replace(api, reads_mxcsr=request.param == "registers"))
    yield str(request.param)
    runtime.install(api)


@pytest.mark.parametrize("shape", [(), (3,), (37,)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.usefixtures("status_source")
def test_floating_point_errors_are_misses(dtype: str, shape: tuple[int, ...]) -> None:
    type_ = array_type(shape, dtype)
    spec = EntrySpec((type_, type_), (type_,), bare=True)
    divide = built(spec, binary("fdiv", type_))
    multiply = built(spec, binary("fmul", type_))

    def full(value: float) -> Any:
        return np.full(shape, value, dtype)[()]

    huge, tiny = full(np.finfo(dtype).max), full(np.finfo(dtype).smallest_normal)
    for _ in range(3):
        assert divide(full(1), full(0)) is None
        assert divide(full(0), full(0)) is None
        assert multiply(huge, huge) is None
        assert multiply(full(0), full(math.inf)) is None
        # What NumPy does not warn of: inexact results, underflow, NaN and infinity passed on.
        same(divide(full(1), full(3)), full(1) / full(3))
        same(multiply(tiny, tiny), full(0))
        same(multiply(full(math.nan), full(1)), full(math.nan))
        same(divide(full(math.inf), full(2)), full(math.inf))


@pytest.mark.usefixtures("status_source")
def test_errors_from_before_do_not_count() -> None:
    divide = built(EntrySpec((f8(3), f8(3)), (f8(3),), bare=True), binary("fdiv", f8(3)))
    with np.errstate(all="ignore"):
        for value in (0.0, 1.0, 1e308):
            np.full(3, value) / np.array([0.0, 0.0, 1e-200])
            same(divide(np.ones(3), np.ones(3)), np.ones(3))


@pytest.mark.usefixtures("status_source")
def test_rounding_mode_is_kept() -> None:
    library = ctypes.CDLL(None)
    mode = library.fegetround()
    type_ = f8()
    divide = built(EntrySpec((type_, type_), (type_,), bare=True), binary("fdiv", type_))
    one, three, zero = np.float64(1), np.float64(3), np.float64(0)
    try:
        for other, third in ((0x800, np.nextafter(1 / 3, 1)), (0x400, 1 / 3)):
            if library.fesetround(other) == 0:
                assert divide(one, three) == third
                assert divide(one, zero) is None
                assert library.fegetround() == other
    finally:
        library.fesetround(mode)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_watched_outputs(dtype: str) -> None:
    for size in (*range(12), 31, 32, 33, 63, 64, 65, 100):
        watching = identity(array_type((size,), dtype), watched=(0,), bare=True)
        data = np.ones(size, dtype)
        same(watching(data), data)
        for place in range(size):
            for bad in (math.nan, -math.nan, complex(0, math.nan), complex(math.nan, 1)):
                if isinstance(bad, float) or data.dtype.kind == "c":
                    data[place] = bad
                    assert watching(data) is None
            data[place] = math.inf
            assert watching(data) is not None


def test_only_watched_outputs_are_looked_at() -> None:
    types = (f8(3), f8(), array_type((2,), "i8"), f8(3))
    function = identity(*types, watched=(1, 2, 3), release=True)
    good, bad = np.ones(3), np.array([0.0, 0.0, math.nan])
    whole = np.full(2, -1)
    assert function(bad, np.float64(1), whole, good) is not None
    assert function(good, np.float64(1), whole, bad) is None
    assert function(good, np.float64(math.nan), whole, good) is None


# --- interrupts ----------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
@pytest.mark.parametrize("release", [False, True])
def test_a_signal_that_raises_ends_the_kernel(release: bool) -> None:
    waiting = built(EntrySpec((f8(1),), (f8(1),), release=release), WAITING)
    flag = np.zeros(1)
    before = sys.getrefcount(flag)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, stop)
    try:
        for _ in range(5):
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            with pytest.raises(KeyboardInterrupt):
                waiting(flag)
    finally:
        signal.signal(signal.SIGALRM, old)
    assert sys.getrefcount(flag) == before


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
@pytest.mark.parametrize("release", [False, True])
@pytest.mark.usefixtures("status_source")
def test_a_signal_that_returns_changes_nothing(release: bool) -> None:
    waiting = built(EntrySpec((f8(1),), (f8(1),), release=release), WAITING)
    # Before it waits, this one divides by its second input.
    first = WAITING.replace("%a = load", f"{DIVISION}\n  %a = load", 1)
    dividing = built(EntrySpec((f8(1), f8(1)), (f8(1),), release=release), first)
    flag = np.zeros(1)

    def go_on(*_: object) -> None:
        with np.errstate(all="ignore"):
            np.ones(3) / np.zeros(3)  # raises flags of its own, then clears them
            np.ones(3) / np.ones(3)
        flag[0] = 1

    old = signal.signal(signal.SIGALRM, go_on)
    try:
        for function, given, fine in (
            (waiting, (flag,), True),
            (dividing, (flag, np.ones(1)), True),
            (dividing, (flag, np.zeros(1)), False),
        ):
            flag[0] = 0
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            assert (function(*given) is not None) == fine
    finally:
        signal.signal(signal.SIGALRM, old)


DIVISION = """
  %b_at = getelementptr ptr, ptr %inputs, i64 1
  %b = load ptr, ptr %b_at
  %d = load double, ptr %b
  %q = fdiv double 1.0, %d
  %o = load ptr, ptr %outputs
  store volatile double %q, ptr %o"""
