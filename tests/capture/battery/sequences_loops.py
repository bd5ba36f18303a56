"""Loops of ours beside the same loops of Python's: indices, arrays of no axes, no rounds at all."""

from __future__ import annotations

import numpy as np

import adjoint as ad
from tests.capture.battery.registry import sequence

ROW = np.array([0.7, 1.3])


def _counted(first, last, body, begun):
    for index in range(first, last):
        begun = body(index, begun)
    return begun


def _both(body, last=3):
    """A function that loops by `fori_loop`, which by hand is Python's loop."""

    def f(x):
        return np.sum(ad.fori_loop(0, last, body, x))

    f.by_hand = lambda x: np.sum(_counted(0, last, body, x))
    return f


@sequence
def indices_are_pythons_integers():
    def body(i, x):
        kind = 1.0 if isinstance(i, int) and not isinstance(i, np.integer) else 2.0
        half = np.float32(1.5) * i
        return x * kind + (0.5 if half.dtype == np.float32 else 0.25) + i / 2 + 2.0**i

    for _ in range(4):
        yield _both(body), ROW


@sequence
def arrays_of_no_axes():
    def body(i, x):
        total = np.asarray(x[0])
        return x * (1.0 if isinstance(total, np.ndarray) else 2.0)

    for _ in range(4):
        yield _both(body), ROW


@sequence
def a_round_that_never_runs():
    seen = []

    def body(i, x):
        seen.append(i)
        return x + x[5]

    for _ in range(4):
        yield _both(body, 0), ROW
    yield (lambda x: np.sum(x) + len(seen)), ROW
