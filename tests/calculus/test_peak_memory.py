"""`peak_memory` says before a run what Python's own count of memory says after it."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest

import adjoint as ad
from adjoint.executors.arena import Arena
from adjoint.executors.numpy import NumpyExecutor, executor
from adjoint.pipeline import compile_program

LONG = np.linspace(0.1, 2.0, 200_000)
SQUARE = np.random.default_rng(3).uniform(0.1, 1.0, (400, 400))


def chain(x):
    for _ in range(12):
        x = np.sin(x) * x
    return np.sum(x)


def network(weights):
    hidden = np.tanh(weights @ SQUARE)
    return np.sum(np.log(1.0 + np.exp(hidden @ weights)))


def rows(x):
    y = x.reshape(400, 500)
    z = np.exp(y - np.max(y, axis=1, keepdims=True))
    return np.sum((z / np.sum(z, axis=1, keepdims=True)) ** 2)


def pieces(x):
    y = np.zeros(200_000)
    y[:100_000] = x[100_000:] ** 2
    y[100_000:] = np.cumsum(x[:100_000])
    return np.sum(np.where(y > 1.0, np.concatenate([y[1:], y[:1]]), y**3))


def rounds(x):
    return np.sum(ad.fori_loop(0, 10, lambda k, y: np.sin(y) * x, x))


def forgetful(x):
    step = ad.checkpoint(lambda y: np.sin(np.exp(-y) * y))
    return np.sum(step(step(step(x))))


def measured(program, arguments, monkeypatch):
    """The most bytes that a run allocates which finds no memory kept by earlier ones."""
    executable = NumpyExecutor().compile(program)
    executable.run(*arguments)  # what Python itself allocates once
    monkeypatch.setattr(executor, "ARENA", Arena())
    gc.collect()
    tracemalloc.start()
    try:
        executable.run(*arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("function", [chain, network, rows, pieces, rounds, forgetful])
def test_the_forecast_is_within_a_tenth_of_what_a_run_takes(function, monkeypatch):
    point = SQUARE if function is network else LONG
    view = ad.program(function, point)
    forecast = view.peak_memory()
    constants = view._values[1:]
    programs = {"value": view, "forward": view.jvp(), "reverse": view.vjp()}
    seeds = {"value": [], "forward": [np.ones_like(point)], "reverse": [np.float64(1.0)]}
    for name, each in programs.items():
        program = compile_program(each.program).program
        taken = measured(program, [point, *constants, *seeds[name]], monkeypatch)
        assert getattr(forecast, name) == pytest.approx(taken, rel=0.1), name


def test_reverse_mode_keeps_what_forward_mode_lets_go():
    forecast = ad.program(chain, LONG).peak_memory()
    assert 24 * LONG.nbytes <= forecast.reverse
    assert forecast.forward < 6 * LONG.nbytes
    assert forecast.value < 3 * LONG.nbytes
