"""Where a jitted gradient is slower than another way to it: un-jitted, or in JAX.

The programs are those of `unjitted`, in JAX where it takes them with `jax.numpy` in the place of
`numpy` and finds the same numbers, and the evals of `gradbench`, in JAX as one would write them
there. A row is a program whose jitted gradient takes 1.2 times as long as the best of the others.
"""

from __future__ import annotations

import signal
import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

import adjoint as ad
from adjoint.base import pytrees
from benchmarks.gradbench import figures
from benchmarks.measure import Thunk, medians
from benchmarks.peers import installed, jax_modules
from benchmarks.table import Table, duration, ratio
from benchmarks.unjitted import (
    Case,
    copied,
    derivative,
    is_inexact,
    programs,
    runs_again,
    writes,
)

JITTED, UNJITTED, JAX = "jitted", "un-jitted", "JAX"
_ALLOWED: Final = 1.2
_SECONDS: Final = 0.25  # of measuring, a program
_CALLS: Final = 70  # after which what is un-jitted is machine code
_PATIENCE: Final = 30  # whole seconds for JAX to compile a program
_AGAIN: Final = 3  # measurements of what seems slower: a busy machine makes exceptions of its own


class Measured(NamedTuple):
    """A program's times; bound: why it is not faster."""

    name: str
    times: dict[str, float]
    bound: str

    @property
    def share(self) -> float:
        """The jitted time over the best of the others, or 0 where there are none."""
        others = [seconds for name, seconds in self.times.items() if name != JITTED]
        return self.times[JITTED] / min(others) if others else 0.0


def run() -> list[Table]:
    found = [*map(natural, programs()), *map(eval_of_gradbench, figures.cases())]
    slower = [each for each in found if each.share > _ALLOWED]
    summary = Table(["", "programs", "in JAX too", "median", "most", "beyond 1.2×"])
    shares = [each.share for each in found if each.share]
    summary.rows.append([
        "jitted gradient, the best of the others = 1",
        str(len(found)),
        str(sum(JAX in each.times for each in found)),
        ratio(statistics.median(shares)),
        ratio(max(shares)),
        str(len(slower)),
    ])  # fmt: skip
    if not slower:
        summary.notes.append("No gradient is slower under jit than elsewhere.")
        return [summary]
    rows = Table(["slower under jit", *(JITTED, UNJITTED, JAX), "what bounds it"])
    for each in slower:
        times = [duration(each.times[n]) if n in each.times else "-" for n in rows.columns[1:4]]
        rows.rows.append([each.name, *times, each.bound])
    return [summary, rows]


def natural(case: Case) -> Measured:
    """A program as people write it."""
    ad.cache_clear()
    slope, given = derivative(case), copied if writes(case) else tuple
    jitted = ad.jit(slope())
    candidates: dict[str, Thunk] = {
        JITTED: lambda: jitted(*given(case.args)),
        UNJITTED: lambda: slope()(*given(case.args)),
    }
    result = jitted(*copied(case.args))
    for _ in range(_CALLS):
        slope()(*copied(case.args))
    with ad.config(native=True):  # what is being compiled is waited for
        slope()(*copied(case.args))
    if installed("jax"):
        theirs = in_jax(case, result)
        if theirs is not None:
            candidates[JAX] = theirs
    return _measured(case.name, candidates, partial(bound_of, slope(), case))


def eval_of_gradbench(case: figures.Case) -> Measured:
    """An eval, whose version in JAX stands in `gradbench/peer.py`."""
    ad.cache_clear()
    jitted = ad.jit(case.derivative)
    candidates: dict[str, Thunk] = {JITTED: lambda: jitted(*case.arguments)}
    if installed("jax") and case.peer is not None:
        candidates[JAX] = figures.in_jax(case, case.peer)
    return _measured(
        case.title, candidates, partial(left_to_numpy, case.derivative, case.arguments)
    )


def _measured(name: str, candidates: dict[str, Thunk], bound: Callable[[], str]) -> Measured:
    best = Measured(name, medians(candidates, _SECONDS, 50), "")
    for _ in range(_AGAIN):
        if best.share <= _ALLOWED:
            return best
        again = Measured(name, medians(candidates, 4 * _SECONDS, 50), "")
        best = min(best, again, key=lambda each: each.share)
    return best._replace(bound=bound())


def bound_of(slope: Callable[..., Any], case: Case) -> str:
    """Why the gradient of a program is not faster."""
    jitted = ad.jit(slope)
    for _ in range(2):
        jitted(*copied(case.args))
    if runs_again(case.function.__code__, lambda: jitted(*copied(case.args))):
        return "captured at every call"
    return left_to_numpy(slope, case.args)


def left_to_numpy(function: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """The equations of a program that have no machine code."""
    left = ad.program(function, *copied(args)).native().left()
    names = "; ".join(sorted({each.equation for each in left}))
    return f"left to NumPy: {names}" if names else "all is machine code"


# --- JAX ------------------------------------------------------------------------------------------


class _ImpatientError(Exception):
    """JAX has had its time."""


def in_jax(case: Case, wanted: Any) -> Thunk | None:
    """The gradient by JAX, or None where it does not take the program or finds other numbers."""
    jax, xp = jax_modules()
    places = tuple(place for place, arg in enumerate(case.args) if is_inexact(arg))
    others = tuple(place for place in range(len(case.args)) if place not in places)

    def total(*args: Any) -> Any:
        return sum(xp.sum(xp.real(leaf)) for leaf in jax.tree.leaves(case.function(*args)))

    compiled = jax.jit(jax.grad(total, places), static_argnums=others)
    args = [
        jax.tree.map(lambda x: xp.asarray(x) if isinstance(x, np.ndarray) else x, arg)
        if place in places
        else arg
        for place, arg in enumerate(copied(case.args))
    ]
    try:
        with _jax_for_numpy(xp), _patience():
            found = jax.block_until_ready(compiled(*args))
    except Exception:  # whatever it is that JAX does not take: branches by values, writing, ...
        return None
    same = _same_numbers(jax.tree.leaves(found), pytrees.leaves(wanted))
    return (lambda: jax.block_until_ready(compiled(*args))) if same else None


@contextmanager
def _jax_for_numpy(xp: Any) -> Iterator[None]:
    """`np` means `jax.numpy` in the modules of the programs."""
    modules = [
        module
        for name, module in list(sys.modules.items())
        if name.startswith(("tests.capture.programs", "examples."))
        and getattr(module, "np", None) is np
    ]
    for module in modules:
        vars(module)["np"] = xp
    try:
        yield
    finally:
        for module in modules:
            vars(module)["np"] = np


@contextmanager
def _patience() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise _ImpatientError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(_PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _same_numbers(found: list[Any], wanted: list[Any]) -> bool:
    return len(found) == len(wanted) and all(
        np.shape(x) == np.shape(y) and np.allclose(x, y, rtol=1e-6, atol=1e-8)
        for x, y in zip(found, wanted, strict=True)
    )
