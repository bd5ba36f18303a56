"""Machine code for processors with less: SSE2 alone and nothing of the C library, and AVX2."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import adjoint as ad
from adjoint.executors.native.machine import llvm as machine_module
from adjoint.executors.native.machine.llvm import Machine, machine
from adjoint.optimise import simplify
from adjoint.transforms import jvp, vmap
from tests.executors.native.comparing import compare, compiled, is_lowerable
from tests.executors.native.random_programs import random_program
from tests.executors.native.test_numerics import program
from tests.executors.native.test_realistic import HESSIANS, Case, both_ways

pytestmark = pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64"), reason="code for x86-64"
)
MACHINES: dict[str, Callable[[], Machine]] = {
    "sse2": lambda: Machine("x86-64", "", None),
    "avx2": lambda: Machine("x86-64", "+avx,+avx2,+fma"),
}


@pytest.fixture(params=MACHINES)
def lesser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """Code is made for a machine that this one includes."""
    host = machine()
    if request.param == "avx2" and host.vector_bytes < 32:
        pytest.skip("this processor has no AVX2")
    made = MACHINES[request.param]()
    monkeypatch.setattr(machine_module, "_host_machine", lambda: made)
    ad.cache_clear()
    yield made
    ad.cache_clear()


def test_it_is_that_machine(lesser: Machine) -> None:
    assert machine() is lesser
    assert lesser.vector_bytes == (32 if lesser.has("avx2") else 16)


def test_whole_numbers_to_the_bit(lesser: Machine) -> None:
    done = 0
    for seed in range(1000, 1012):
        run, arguments = random_program(seed, True)
        if is_lowerable(run):
            done += 1
            compare(run, arguments, True)
    assert done >= 5


def test_reals_and_derivatives_to_rounding(lesser: Machine) -> None:
    done = 0
    for seed in range(1000, 1008):
        run, arguments = random_program(seed, False, True)
        marks = tuple(t.inexact and not t.weak for t in run.input_types)
        if not any(marks):
            continue
        derived = simplify(jvp(run, marks))
        more = [x.astype(t.dtype) for x, t in ones(derived.input_types[len(arguments) :])]
        if is_lowerable(derived):
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                try:
                    compare(derived, [*arguments, *more], False)
                    done += 1
                except FloatingPointError:
                    continue
    assert done >= 3


def ones(types: Any) -> Iterator[tuple[Any, Any]]:
    for type_ in types:
        value = np.ones(type_.shape)
        yield (value if type_.ndim else value[()]), type_


def test_batches(lesser: Machine) -> None:
    done = 0
    for seed in range(1000, 1006):
        run, arguments = random_program(seed, True)
        marks = [not t.weak for t in run.input_types]
        batched = simplify(vmap(run, marks, 9)) if any(marks) else run
        if not is_lowerable(batched):
            continue
        many = [np.stack([x] * 9) if mark else x for x, mark in zip(arguments, marks, strict=True)]
        compare(batched, many, True)
        done += 1
    assert done >= 3


FUNCTIONS = ("exp", "log", "sin", "cos", "tanh", "arctan", "expm1", "log1p", "cbrt", "sinh")


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_functions_are_accurate_and_see_special_numbers(lesser: Machine, dtype: str) -> None:
    x = np.concatenate([np.linspace(0.1, 3, 90), np.linspace(10, 80, 13)]).astype(dtype)
    special = np.array([np.nan, 0.5, -0.0, 1.0, 2.0], dtype)
    for name in FUNCTIONS:
        for given in (x, special) if name != "log" else (x,):
            found = (compiled(program(name, given))(given) or (None,))[0]
            assert found is not None, name
            wanted = getattr(np, name)(given.astype(np.longdouble)).astype(dtype)
            np.testing.assert_array_max_ulp(found, wanted, 4)
            zeros = given == 0
            np.testing.assert_array_equal(np.signbit(found)[zeros], np.signbit(wanted)[zeros])


SELECTED = [case for case in HESSIANS if case[0] in ("robust", "mixture", "heat in place")]


@pytest.mark.parametrize("case", SELECTED, ids=[case[0] for case in SELECTED])
def test_hessians(lesser: Machine, case: Case) -> None:
    _, function, arguments = case
    both_ways(ad.jit(ad.hessian(function)), *arguments)
    both_ways(ad.jit(ad.value_and_grad(function)), *arguments)


def test_warnings_are_seen(lesser: Machine) -> None:
    for length in (3, 50):
        x = np.ones(length)
        run = compiled(program("divide", x, x))
        assert run(x, x) is not None
        x[-1] = 0
        assert run(x, x) is None
        index = np.arange(length) % 3
        table = np.arange(3.0)
        taken = compiled(program("gather", table, index))
        assert taken(table, index) is not None
        index[-1] = 3
        assert taken(table, index) is None
