"""The lecture's comparison: the same gradient by four methods, their time, agreement and memory."""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import adjoint as ad
from adjoint.report.network import Array, Weights, hand_written_gradient, loss_on


@dataclass(frozen=True)
class GradientMethod:
    """A way to the gradient: its name, what it evaluates, and the function itself."""

    name: str
    work: str
    gradient: Callable[[Weights], Weights]


@dataclass(frozen=True)
class Row:
    """What was measured of a method.

    Attributes:
        method: The method.
        seconds: The median time of one gradient, after some tenths of a second of them.
        error: The largest difference from the reference, relative to the largest entry of that.
        peak_bytes: The most memory in use at once during one gradient.
    """

    method: GradientMethod
    seconds: float
    error: float
    peak_bytes: int


def methods(
    X: Array, y: Array, weights: Weights, device: str | None = None
) -> list[GradientMethod]:
    """Forward mode over every weight, reverse mode, the derivative by hand, central differences.

    device: where reverse mode runs as well, with weights that are copied there and back, and with
        weights that are there.
    """
    loss = loss_on(X, y)
    count = sum(w.size for w in weights)
    return [
        GradientMethod("forward mode", f"{count} JVPs", lambda W: _forward(loss, W)),
        GradientMethod("reverse mode", "1 pullback", lambda W: list(ad.grad(loss)(W))),
        *([] if device is None else _on_device(X, y, weights, device)),
        GradientMethod("by hand", "1 pullback", lambda W: hand_written_gradient(W, X, y)),
        GradientMethod("central differences", f"{2 * count} losses", lambda W: _central(loss, W)),
    ]


def _on_device(X: Array, y: Array, weights: Weights, device: str) -> list[GradientMethod]:
    def loss(W: Weights, X: Array, y: Array) -> Any:
        return loss_on(X, y)(W)

    slope = ad.jit(ad.grad(loss), device=device)
    data, there = ad.device_put((X, y), device), ad.device_put(weights, device)

    def copied(W: Weights) -> Weights:
        return [np.asarray(w) for w in slope(W, *data)]

    return [
        GradientMethod(f"reverse mode, {device}", "1 pullback, weights copied", copied),
        GradientMethod(
            f"reverse mode, {device}", "1 pullback, all there", lambda _: slope(there, *data)
        ),
    ]


def compare(
    X: Array, y: Array, weights: Weights, seconds_each: float = 0.3, device: str | None = None
) -> list[Row]:
    """Measure every method at the same weights, against that by hand in double precision."""
    wide = [w.astype(np.float64) for w in weights]
    reference = hand_written_gradient(wide, X.astype(np.float64), y.astype(np.float64))
    rows = []
    # What runs often becomes machine code beside the calls, which a busy machine delays beyond any
    # time that is worth waiting for: here it is made at the first call.
    with ad.config(native=True):
        for method in methods(X, y, weights, device):
            error = _relative_error(method.gradient(weights), reference)  # also warms up
            seconds = _median_seconds(method.gradient, weights, seconds_each)
            rows.append(Row(method, seconds, error, _peak_bytes(method.gradient, weights)))
    return rows


def _entries(weights: Weights) -> Iterator[tuple[int, tuple[int, ...]]]:
    for layer, weight in enumerate(weights):
        for place in np.ndindex(weight.shape):
            yield layer, place


def _one_hot(weights: Weights, layer: int, place: tuple[int, ...]) -> Weights:
    tangent = [np.zeros_like(w) for w in weights]
    tangent[layer][place] = 1
    return tangent


def _forward(loss: Callable[[Weights], Array], weights: Weights) -> Weights:
    """One JVP for each entry of the weights, along the matrix that is 1 there and 0 elsewhere."""
    gradient = [np.empty_like(w) for w in weights]
    for layer, place in _entries(weights):
        _, slope = ad.jvp(loss, (weights,), (_one_hot(weights, layer, place),))
        gradient[layer][place] = slope
    return gradient


def _central(loss: Callable[[Weights], Array], weights: Weights) -> Weights:
    """The quotients (loss(W + h E) - loss(W - h E)) / 2h over the entries E.

    The step h = eps^(1/3) balances rounding and truncation.
    """
    step = float(np.cbrt(np.finfo(weights[0].dtype).eps))
    gradient = [np.empty_like(w) for w in weights]
    for layer, place in _entries(weights):
        direction = _one_hot(weights, layer, place)
        above = loss([w + step * e for w, e in zip(weights, direction, strict=True)])
        below = loss([w - step * e for w, e in zip(weights, direction, strict=True)])
        gradient[layer][place] = (above - below) / (2 * step)
    return gradient


def _relative_error(gradient: Weights, reference: Weights) -> float:
    largest = max(np.max(np.abs(r)) for r in reference)
    pairs = zip(map(np.asarray, gradient), reference, strict=True)
    differences = [np.max(np.abs(g - r)) for g, r in pairs]
    return float(max(differences) / largest)


def _median_seconds(
    gradient: Callable[[Weights], Weights], weights: Weights, budget: float
) -> float:
    """Of calls after so many seconds of others, in which what is run often becomes machine code."""
    end = time.perf_counter() + budget
    while time.perf_counter() < end:
        gradient(weights)
    times: list[float] = []
    while len(times) < 3 or (sum(times) < budget and len(times) < 1000):
        start = time.perf_counter()
        gradient(weights)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _peak_bytes(gradient: Callable[[Weights], Weights], weights: Weights) -> int:
    tracemalloc.start()
    try:
        gradient(weights)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
