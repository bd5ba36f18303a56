"""The entry leaks nothing, on no path."""

from __future__ import annotations

import contextlib
import copy
import gc
import math
import pickle
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from adjoint.base.arrays import ArrayType, array_type
from adjoint.executors.native.entry.function import EntrySpec
from tests.executors.native.entry.kernels import (
    FLOAT,
    INT,
    binary,
    built,
    f8,
    identity,
    raising,
)

MANY = 100_000

Way = tuple[Callable[..., Any], list[Any]]


def mixed(place: int, other: Any) -> Way:
    """A function of arguments of all sorts, one of which is another than it wants."""
    types = (f8(3), f8(), FLOAT, INT, array_type((), bool), array_type((), "c8"))
    given = [np.ones(3), np.float64(1), 2.5, 10**12, True, np.complex64(1j)]
    given[place] = other
    return identity(*types, watched=(0, 1)), given


def dividing(denominator: float, **options: Any) -> Way:
    spec = EntrySpec((f8(3), f8(3)), (f8(3),), **options)
    lent = [np.ones(3)] * len(spec.lent)
    return built(spec, binary("fdiv", f8(3))), [np.ones(3), np.full(3, denominator), *lent]


def ending(body: str, *outputs: ArrayType) -> Way:
    return built(EntrySpec((), outputs), body), []


OUTPUTS = (f8(3), f8(), array_type((), bool), f8(2, 2))
WAYS: dict[str, Callable[[], Way]] = {
    "fine": lambda: mixed(0, np.ones(3)),
    "array": lambda: mixed(0, np.ones(4)),
    "scalar": lambda: mixed(1, 1),
    "float": lambda: mixed(2, None),
    "integer": lambda: mixed(3, 2**70),
    "truth": lambda: mixed(4, "no"),
    "complex": lambda: mixed(5, 1j),
    "NaN": lambda: mixed(0, np.full(3, math.nan)),
    "dtype": lambda: mixed(0, pickle.loads(pickle.dumps(np.ones(3)))),
    "byte order": lambda: mixed(0, np.ones(3, ">f8")),
    "count": lambda: (identity(f8(3), f8(3)), [np.ones(3)]),
    "bare": lambda: dividing(1, bare=True),
    "bare, error": lambda: dividing(0, bare=True),
    "released": lambda: dividing(1, release=True),
    "released, error": lambda: dividing(0, release=True),
    "lent": lambda: dividing(1, lent=(0,)),
    "lent, error": lambda: dividing(0, lent=(0,)),
    "fault": lambda: ending("  ret i32 1", *OUTPUTS),
    "raises": lambda: ending(raising(ValueError), *OUTPUTS),
    # More than can be addressed, after an output that can be had.
    "no memory": lambda: ending("  ret i32 0", f8(3), f8(1 << 45), f8(2)),
}


def call(function: Callable[..., Any], given: list[Any], times: int) -> None:
    for _ in range(times):
        with contextlib.suppress(ValueError, MemoryError):
            function(*given)


def counts(given: list[Any]) -> list[int]:
    watched = [np.dtype("f8"), np.dtype("c8"), np.ndarray, np.float64, np.True_, None, *given]
    gc.collect()
    return [sys.getrefcount(each) for each in watched]


@pytest.mark.parametrize("way", WAYS)
def test_nothing_leaks(way: str) -> None:
    function, given = WAYS[way]()
    call(function, given, 100)
    before = counts(given)
    call(function, given, MANY)
    after = counts(given)
    # Other code holds more or fewer of the shared objects meanwhile, but not by thousands.
    assert all(abs(new - old) < MANY // 100 for new, old in zip(after, before, strict=True))
    tracemalloc.start()
    try:
        call(function, given, 2000)
        start = tracemalloc.get_traced_memory()[0]
        call(function, given, 5000)
        assert tracemalloc.get_traced_memory()[0] - start < 5000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("bare", [False, True])
def test_no_memory_for_small_objects(bare: bool) -> None:
    testing = pytest.importorskip("_testcapi")
    types = (f8(3),) if bare else (f8(3), f8(), f8(), array_type((), "c16"), *[f8()] * 30)
    function = identity(*types, bare=bare)
    given = [np.ones(type_.shape, type_.dtype)[()] for type_ in types]
    raised = []
    for number in range(len(types) + 4):
        testing.set_nomemory(number, number + 1)
        try:
            function(*given)
            error = None
        except MemoryError as caught:
            error = caught
        finally:
            testing.remove_mem_hooks()
        raised.append(error is not None)
    assert any(raised)
    assert len(function(*given)) == len(types) or bare


def test_results_are_independent() -> None:
    function = identity(f8(3), bare=True)
    given = np.arange(3.0)
    first, second = function(given), function(given)
    assert not np.shares_memory(first, second)
    assert not np.shares_memory(first, given)
    alone = np.arange(3.0)
    assert sys.getrefcount(first) == sys.getrefcount(second) == sys.getrefcount(alone)
    assert copy.deepcopy(first).tolist() == [0, 1, 2]
