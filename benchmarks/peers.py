"""The gradient of one function by every peer that is installed.

A case writes its function once over a namespace `xp` that is numpy, autograd.numpy, jax.numpy or
torch. The argument is an array or a list of arrays.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import adjoint as ad
from benchmarks.measure import Thunk, medians
from benchmarks.table import Times

Seconds = dict[str, float]
Function = Callable[..., Any]  # (argument, xp, *constants) -> scalar

PEERS = ("autograd", "jax", "torch", "casadi")


def installed(name: str) -> bool:
    """Whether a peer is there."""
    return find_spec(name) is not None


def say_what_is_skipped() -> None:
    """Name the peers that are not installed on stderr."""
    for name in PEERS:
        if not installed(name):
            print(f"skipped: {name} is not installed", file=sys.stderr)


def gradients(
    function: Function,
    argument: Any,
    constants: Any = (),
    peers: Sequence[str] = ("autograd", "jax", "torch"),
) -> dict[str, Thunk]:
    """The gradient by each of these peers that is installed: `function(argument, xp, *constants)`.

    Each has its own arrays as arguments; that PyTorch and JAX are also given and asked for NumPy
    arrays is a line of its own where it matters.
    """
    makers = {name: _MAKERS[name] for name in peers}
    found: dict[str, Thunk] = {}
    for name, make in makers.items():
        if installed(name):
            found.update(make(function, argument, constants))
    return found


def _autograd(function: Function, argument: Any, constants: Any) -> dict[str, Thunk]:
    xp = import_module("autograd.numpy")
    gradient = import_module("autograd").grad(lambda x: function(x, xp, *constants))
    return {"autograd": partial(gradient, argument)}


def jax_modules() -> tuple[Any, Any]:
    """The modules `jax` and `jax.numpy`, with double precision switched on."""
    jax = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    return jax, import_module("jax.numpy")


def jitted_by_jax(function: Callable[..., Any], arguments: Sequence[Any]) -> Thunk:
    """A function of JAX arrays, jitted and waited for."""
    jax, xp = jax_modules()
    inputs = jax.tree.map(xp.asarray, tuple(arguments))
    compiled = jax.jit(function)
    return lambda: jax.block_until_ready(compiled(*inputs))


def _jax(function: Function, argument: Any, constants: Any) -> dict[str, Thunk]:
    jax, xp = jax_modules()
    inputs, data = jax.tree.map(xp.asarray, (argument, tuple(constants)))
    gradient = jax.grad(lambda x: function(x, xp, *data))
    compiled = jax.jit(gradient)
    return {
        "JAX without jit": lambda: jax.block_until_ready(gradient(inputs)),
        "JAX with jit": lambda: jax.block_until_ready(compiled(inputs)),
        "JAX with jit, NumPy in and out": lambda: jax.tree.map(np.asarray, compiled(argument)),
    }


def torch_module() -> Any:
    """The module `torch`, on as many threads as this process has cores."""
    torch = import_module("torch")
    if sys.platform == "linux":
        torch.set_num_threads(len(os.sched_getaffinity(0)))
    return torch


def _torch(function: Function, argument: Any, constants: Any) -> dict[str, Thunk]:
    torch = torch_module()
    data = [torch.from_numpy(c) for c in constants]
    is_list = isinstance(argument, list)
    arrays = argument if is_list else [argument]
    leaves = [torch.from_numpy(a.copy()).requires_grad_() for a in arrays]

    def gradient() -> Any:
        value = function(leaves if is_list else leaves[0], torch, *data)
        return torch.autograd.grad(value, leaves)

    return {"PyTorch eager": gradient}


_MAKERS: dict[str, Callable[[Function, Any, Any], dict[str, Thunk]]] = {
    "autograd": _autograd,
    "jax": _jax,
    "torch": _torch,
}

# For cases of large arrays, where only the arithmetic counts.
LARGE = ("autograd", "JAX with jit", "PyTorch eager")


def chosen(candidates: Mapping[str, Thunk], names: Sequence[str] = LARGE) -> dict[str, Thunk]:
    """Those of these names that there are."""
    return {name: candidates[name] for name in names if name in candidates}


def casadi_gradient(
    build: Callable[[Any], tuple[list[Any], Any]], values: list[Any]
) -> dict[str, Thunk]:
    """CasADi's gradient, prepared once. `build(casadi)` gives its symbols and the loss."""
    if not installed("casadi"):
        return {}
    casadi = import_module("casadi")
    symbols, loss = build(casadi)
    function = casadi.Function("g", symbols, [casadi.gradient(loss, s) for s in symbols])
    return {"CasADi, prepared": lambda: function(*values)}


def assert_agreement(candidates: Mapping[str, Thunk], expected: Any, tolerance: float) -> Seconds:
    """Refuse to time what is not the gradient. `expected` is an array or a list of them.

    Returns:
        What one call of each of them took.
    """
    wanted = expected if isinstance(expected, list) else [expected]
    seconds: Seconds = {}
    for name, thunk in candidates.items():
        start = time.perf_counter()
        value: Any = thunk()
        seconds[name] = time.perf_counter() - start
        found = list(value) if isinstance(value, list | tuple) else [value]
        for got, want in zip(found, wanted, strict=True):
            error = np.max(np.abs(np.reshape(np.asarray(got), np.shape(want)) - want))
            if not error <= tolerance * np.max(np.abs(want)):
                raise AssertionError(f"the gradient by {name} is off by {error:.2g}")
    return seconds


def agreeing_medians(
    candidates: Mapping[str, Thunk],
    expected: Any,
    tolerance: float,
    seconds: float,
    others: Mapping[str, Thunk] | None = None,
) -> Times:
    """Their medians, if they agree: before, and after, when what became hot has been compiled.

    Nothing is read from disk, and neither LLVM nor XLA is started by the first calls.

    Args:
        candidates: What to time, each with the same results.
        expected: These results, an array or a list of them.
        tolerance: The largest difference, relative to the largest number expected.
        seconds: How long to measure, all candidates together.
        others: More to time, with results of their own.
    """
    _start_compilers()
    with ad.config(cache=False):
        first = assert_agreement(candidates, expected, tolerance)
    times = medians({**candidates, **(others or {})}, seconds)
    assert_agreement(candidates, expected, tolerance)
    return Times(times, first)


def _start_compilers() -> None:
    """What every process pays once is paid before the first calls are timed."""
    ad.jit(ad.grad(lambda x: np.sum(x * x)))(np.ones(3))
    if installed("jax"):
        jax, xp = jax_modules()
        jax.jit(jax.grad(lambda x: xp.sum(x * x)))(xp.ones(3)).block_until_ready()
    ad.cache_clear()
