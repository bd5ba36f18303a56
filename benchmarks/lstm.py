"""A long short-term memory: two layers with diagonal weights, over 1024 characters."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

import adjoint as ad
from benchmarks.compiled import SCALAR, by_hand
from benchmarks.machine import limit
from benchmarks.measure import Thunk
from benchmarks.peers import (
    agreeing_medians,
    installed,
    jax_modules,
    jitted_by_jax,
    torch_module,
)
from benchmarks.table import Table, compared

LAYERS, HIDDEN, CHARACTERS = 2, 14, 1024
VALUE = "C++ by hand, the value alone"
NUMPY = "NumPy, the value alone"


def sigmoid(x: Any, xp: Any) -> Any:
    return 1 / (1 + xp.exp(-x))


def cell(layer: Any, x: Any, hidden: Any, memory: Any, xp: Any) -> tuple[Any, Any]:
    """One layer for one character: its new hidden state and memory."""
    weight, bias = layer[0], layer[1]
    forget = sigmoid(x * weight[0] + bias[0], xp)
    into = sigmoid(hidden * weight[1] + bias[1], xp)
    out = sigmoid(x * weight[2] + bias[2], xp)
    change = xp.tanh(hidden * weight[3] + bias[3])
    memory = memory * forget + into * change
    return out * xp.tanh(memory), memory


def character(parameters: Any, state: Any, now: Any, following: Any, xp: Any = np) -> Any:
    """The new states of the layers, and the log-likelihood of the next character."""
    layers, extra = parameters
    x = now * extra[0]
    states = []
    for layer, (hidden, memory) in zip(layers, state, strict=True):
        x, memory = cell(layer, x, hidden, memory, xp)
        states.append((x, memory))
    predicted = x * extra[1] + extra[2]
    log_of_sum = xp.log(xp.sum(xp.exp(predicted)) + 2)
    return states, xp.sum(following * (predicted - log_of_sum))


def start() -> Any:
    """The states before the first character."""
    return [(np.zeros(HIDDEN), np.zeros(HIDDEN)) for _ in range(LAYERS)]


def by_python(parameters: Any, characters: Any, state: Any = None) -> Any:
    """The loss by Python's own loop, from that state of the layers or the usual one."""
    state, total = start() if state is None else state, 0.0
    for now, following in pairwise(characters):
        state, likelihood = character(parameters, state, now, following)
        total = total + likelihood
    return -total / characters[1:].size


def by_scan(parameters: Any, characters: Any) -> Any:
    """The loss by `ad.scan`."""

    def body(state: Any, pair: Any) -> Any:
        now, following = pair
        return character(parameters, state, now, following)

    _, likelihoods = ad.scan(body, start(), (characters[:-1], characters[1:]))
    return -np.sum(likelihoods) / characters[1:].size


def run() -> list[Table]:
    random = np.random.default_rng(0)
    main = 0.5 * random.standard_normal((LAYERS, 2, 4, HIDDEN))
    extra = 0.5 * random.standard_normal((3, HIDDEN))
    characters = random.integers(0, 2, (CHARACTERS, HIDDEN)).astype(float)
    parameters = (main, extra)
    looped = ad.jit(ad.grad(by_scan))
    unrolled = ad.jit(ad.grad(by_python))
    expected = [np.asarray(each) for each in ad.grad(by_python)(parameters, characters)]
    candidates: dict[str, Thunk] = {
        "adjoint with ad.jit": lambda: unrolled(parameters, characters),
        "adjoint with ad.jit, ad.scan": lambda: looped(parameters, characters),
        **_jax(parameters, characters),
        **_torch(parameters, characters),
    }
    primal = by_hand("lstm", [main, extra, characters, CHARACTERS, LAYERS, HIDDEN], [()])
    others: dict[str, Thunk] = {NUMPY: lambda: by_python(parameters, characters)}
    if primal:
        others[VALUE] = primal[SCALAR]
    times = agreeing_medians(candidates, expected, 1e-9, seconds=12.0, others=others)
    # Each number of a layer takes three exps and two tanhs, each one that is predicted an exp.
    numbers = LAYERS * HIDDEN * (CHARACTERS - 1)
    bound = limit(
        flops=3 * 25 * numbers,
        moved=8 * CHARACTERS * HIDDEN,
        exponentials=3 * numbers + HIDDEN * (CHARACTERS - 1),
        tangents=2 * numbers,
    )
    unit = VALUE if VALUE in times else NUMPY
    title = f"{LAYERS} layers, {HIDDEN} hidden, {CHARACTERS} characters"
    return [compared(times, unit, bound, ["JAX with jit, scan"], title)]


def _jax(parameters: Any, characters: Any) -> dict[str, Thunk]:
    if not installed("jax"):
        return {}
    jax, xp = jax_modules()

    def loss(parameters: Any, characters: Any) -> Any:
        def body(state: Any, pair: Any) -> Any:
            now, following = pair
            return character(parameters, state, now, following, xp)

        pairs = (characters[:-1], characters[1:])
        initial = jax.tree.map(xp.asarray, start())
        return -xp.sum(jax.lax.scan(body, initial, pairs)[1]) / characters[1:].size

    return {"JAX with jit, scan": jitted_by_jax(jax.grad(loss), [parameters, characters])}


def _torch(parameters: Any, characters: Any) -> dict[str, Thunk]:
    if not installed("torch"):
        return {}
    torch = torch_module()
    leaves = [torch.from_numpy(each.copy()).requires_grad_() for each in parameters]
    data = torch.from_numpy(characters)

    def gradient() -> Any:
        state = [tuple(map(torch.from_numpy, pair)) for pair in start()]
        total = 0.0
        for now, following in pairwise(data):
            state, likelihood = character(leaves, state, now, following, torch)
            total = total + likelihood
        return torch.autograd.grad(-total / data[1:].numel(), leaves)

    return {"PyTorch eager": gradient}
