"""The callable: how long its code lives, bound inputs, threads."""

from __future__ import annotations

import gc
import inspect
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from adjoint.base.errors import ArgumentTypeError
from adjoint.executors.native.entry.callable import bind, make_callable
from adjoint.executors.native.entry.function import EntrySpec
from tests.executors.native.entry.kernels import (
    FLOAT,
    MEMCPY,
    WAITING,
    binary,
    built,
    code,
    copies,
    f8,
    identity,
)


def test_a_builtin_function() -> None:
    function = make_callable(code(EntrySpec((f8(2),), (f8(2),)), copies(f8(2)), MEMCPY), "squares")
    assert function.__name__ == "squares"
    assert function.__module__ == "adjoint.executors.native"
    assert inspect.isbuiltin(function)
    assert str(inspect.signature(function)) == "(*arguments)"
    assert (function.__doc__ or "").startswith("Machine code made by adjoint.")
    assert "squares" in repr(function)


# --- lifetime ------------------------------------------------------------------------------------


def test_the_callable_alone_keeps_the_code() -> None:
    made = code(EntrySpec((f8(2),), (f8(2),), bare=True), copies(f8(2)), MEMCPY)
    function = make_callable(made, "kernel")
    alive = weakref.ref(made)
    del made
    gc.collect()
    assert alive() is not None
    # Memory that has been freed would be likely to be used again by now.
    others = [identity(f8(3)) for _ in range(20)]
    assert function(np.ones(2)).tolist() == [1, 1]
    assert (function.__name__, len(others)) == ("kernel", 20)
    del function
    assert alive() is None


def test_code_goes_with_the_last_callable() -> None:
    made = code(EntrySpec((f8(2), f8(2)), (f8(2),), bare=True), binary("fadd", f8(2)))
    alive = weakref.ref(made)
    first = make_callable(made, "kernel")
    del made
    second = bind(first, [np.ones(2)])
    third = bind(second, [np.ones(2)])
    del first, second
    assert third().tolist() == [2, 2]
    assert alive() is not None
    del third
    assert alive() is None


def test_a_callable_in_a_cycle_is_collected() -> None:
    made = code(EntrySpec((f8(2), f8(2)), (f8(2),)), binary("fadd", f8(2)))
    alive = weakref.ref(made)
    holder: list[Any] = []
    holder.append(bind(make_callable(made, "kernel"), [holder]))
    del made
    assert holder[0](np.ones(2)) is None
    del holder
    gc.collect()
    assert alive() is None


def test_a_callable_in_a_cycle_can_be_called_to_the_last() -> None:
    said: list[Any] = []

    class Holder:
        def __del__(self) -> None:
            said.append(self.function(np.ones(2)))

    def abandoned() -> weakref.ref[Any]:
        made = code(EntrySpec((f8(2), f8(2)), (f8(2),), bare=True), binary("fadd", f8(2)))
        holder: Any = Holder()
        holder.ring, holder.made = holder, made
        holder.function = bind(make_callable(made, "kernel"), [np.ones(2)])
        return weakref.ref(made)

    for _ in range(20):
        alive = abandoned()
        gc.collect()
        assert alive() is None
    assert [each.tolist() for each in said] == [[2, 2]] * 20


def test_the_collector_does_not_look_at_what_keeps_the_code() -> None:
    made = code(EntrySpec((f8(2),), (f8(2),)), copies(f8(2)), MEMCPY)
    function: Any = make_callable(made, "kernel")
    assert not gc.is_tracked(function.__self__[-1])
    assert gc.get_referents(function.__self__[-1]) == []


def test_many_callables_leave_nothing() -> None:
    made = code(EntrySpec((f8(2),), (f8(2),)), copies(f8(2)), MEMCPY)
    constant = np.ones(2)
    before = sys.getrefcount(made), sys.getrefcount(constant)
    for _ in range(1000):
        bind(make_callable(made, "kernel"), [constant])()
    assert (sys.getrefcount(made), sys.getrefcount(constant)) == before


# --- bound inputs --------------------------------------------------------------------------------


def test_bound_inputs_are_the_last() -> None:
    subtract = built(EntrySpec((f8(2), f8(2)), (f8(2),), bare=True), binary("fsub", f8(2)))
    one, ten = np.full(2, 1.0), np.full(2, 10.0)
    less_one = bind(subtract, [one])
    assert less_one(ten).tolist() == [9, 9]
    assert bind(less_one, [ten])().tolist() == [9, 9]
    assert bind(subtract, [ten, one])().tolist() == [9, 9]
    assert subtract(ten, one).tolist() == [9, 9]
    assert less_one(ten, one) is None
    assert less_one() is None
    assert bind(subtract, [ten, ten, one])() is None
    assert bind(subtract, [ten, ten, one])(ten) is None
    one[:] = 2  # an array is bound, not a copy
    assert less_one(ten).tolist() == [8, 8]


def test_constants_from_the_start() -> None:
    made = code(EntrySpec((f8(2), FLOAT), (f8(2), f8())), copies(f8(2), FLOAT), MEMCPY)
    array, number = make_callable(made, "kernel", (2.5,))(np.ones(2))
    assert (array.tolist(), number) == ([1, 1], 2.5)


def test_workspace_and_lent_outputs_come_after_the_inputs_given() -> None:
    spec = EntrySpec((f8(2), f8(2)), (f8(2),), 128, True, (0,), bare=True)
    add = built(spec, binary("fadd", f8(2)))
    memory, out = np.zeros(128 + 63, np.uint8), np.zeros(2)
    for function in (add, bind(add, [np.ones(2)]), bind(add, [np.ones(2)] * 2)):
        leading = [np.ones(2)] * (3 - len(function.__self__))
        assert function(*leading, memory, out) is out
        assert out.tolist() == [2, 2]
        assert function(*leading, out) is None
        assert function(memory, out, np.ones(2), np.ones(2), np.ones(2)) is None


def test_a_bound_array_that_was_changed_is_a_miss() -> None:
    constant = np.ones(2)
    function = bind(identity(f8(2), f8(2)), [constant])
    assert function(np.ones(2)) is not None
    constant.resize(1 << 20, refcheck=False)
    assert function(np.ones(2)) is None
    constant.resize(2, refcheck=False)
    assert function(np.ones(2)) is not None
    constant.resize(0, refcheck=False)
    assert function(np.ones(2)) is None


def test_a_bound_input_that_does_not_fit_is_a_miss() -> None:
    for wrong in (None, np.ones(3), np.ones(2, "f4"), np.ones(4)[::2], 1.0):
        assert bind(identity(f8(2), f8(2)), [wrong])(np.ones(2)) is None


@pytest.mark.parametrize("other", [len, [].append, lambda: None, None, "".join])
def test_only_callables_of_this_kind_can_be_bound(other: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="make_callable"):
        bind(other, [1.0])


# --- threads -------------------------------------------------------------------------------------


def test_other_threads_run_meanwhile() -> None:
    waiting = built(EntrySpec((f8(1),), (f8(1),), release=True), WAITING)
    flag = np.zeros(1)
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(waiting(flag))) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    assert results == []
    flag[0] = 1  # which this thread could not do if the interpreter were held
    for thread in threads:
        thread.join(10)
    assert len(results) == 4
    assert None not in results


@pytest.mark.parametrize("release", [False, True])
def test_concurrent_calls(release: bool) -> None:
    size = 1000
    spec = EntrySpec((f8(size), f8(size)), (f8(size),), 512, release=release, bare=True)
    add = built(spec, binary("fadd", f8(size)))
    constant = np.arange(float(size))
    wrong: list[Any] = []

    def work(number: int) -> None:
        bound = bind(add, [np.full(size, float(number))])
        for _ in range(3000):
            if not (bound(constant) == constant + number).all():
                wrong.append(number)
            if number % 2 and add(constant, None) is not None:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


EXIT = """
import threading, time
import numpy as np
from adjoint.executors.native.entry.function import EntrySpec
from tests.executors.native.entry.kernels import WAITING, built, f8
waiting = built(EntrySpec((f8(1),), (f8(1),), release=True), WAITING)
threading.Thread(target=waiting, args=(np.zeros(1),), daemon=True).start()
time.sleep(0.1)
print("end")
"""


def test_python_ends_while_a_kernel_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EXIT],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
