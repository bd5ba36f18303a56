"""The tanh network of the lecture ("Wine example"): its loss, its derivative by hand, its training.

Notation of the lecture: X holds a sample a column, y the classes -1, 0, 1 in one row, W the two
weight matrices; the loss is the mean square of W[1] tanh(W[0] X) - y.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import adjoint as ad
from adjoint.base.errors import ArgumentError

Array = NDArray[Any]
Weights = list[Array]


def loss_on(X: Array, y: Array) -> Callable[[Weights], Any]:
    """The loss as a function of the weights alone: plain NumPy, as the lecture writes it."""

    def loss(W: Weights) -> Any:
        return np.sum((W[1] @ np.tanh(W[0] @ X) - y) ** 2) / y.shape[1]

    return loss


def hand_written_gradient(W: Weights, X: Array, y: Array) -> Weights:
    """The lecture's `forward_pass` and `reverse_diff`, with the second weight matrix as well."""
    hidden = np.tanh(W[0] @ X)  # (h, n)
    tanh_slope = 1 - hidden**2  # (h, n)
    loss_slope = 2 * (W[1] @ hidden - y) / y.shape[1]  # (1, n)
    return [(tanh_slope * (W[1].T @ loss_slope)) @ X.T, loss_slope @ hidden.T]


def draw_weights(hidden: int, features: int, seed: int) -> Weights:
    """Weights uniform in [0, 1) in single precision, as the lecture draws them."""
    random = np.random.default_rng(seed)
    shapes = [(hidden, features), (1, hidden)]
    return [random.random(shape, dtype=np.float32) for shape in shapes]


def default_learning_rate(hidden: int) -> float:
    """A step at which gradient descent is stable from these weights.

    At the start nearly every unit is saturated, so that the loss curves with about 2 h along the
    outer weights; a step of 1.25 / h stays inside what that allows, and 0.1 is enough for small
    networks.
    """
    return min(0.1, 1.25 / hidden)


def outputs(W: Weights, X: Array) -> Array:
    """What the network says of each sample, one number a sample."""
    return np.ravel(W[1] @ np.tanh(W[0] @ X))


def classes(values: Array) -> Array:
    """The class value -1, 0 or 1 nearest to each output."""
    return np.clip(np.rint(values), -1, 1)


def accuracy(W: Weights, X: Array, y: Array) -> float:
    """The share of samples whose nearest class is their own."""
    return float(np.mean(classes(outputs(W, X)) == y[0]))


@dataclass(frozen=True, eq=False)
class Training:
    """A finished training: the weights, and the loss before each step and after the last."""

    weights: Weights
    losses: list[float]


def train(
    loss: Callable[[Weights], Any],
    weights: Weights,
    steps: int,
    learning_rate: float,
    after_step: Callable[[float], object] = lambda loss: None,
) -> Training:
    """Plain gradient descent. `after_step` hears the loss before each step."""
    value_and_gradient = ad.value_and_grad(loss)
    losses: list[float] = []
    with np.errstate(over="ignore", invalid="ignore"):  # told by the check below
        for _ in range(steps):
            value, gradient = value_and_gradient(weights)
            losses.append(_finite(value, len(losses), learning_rate))
            weights = [w - learning_rate * g for w, g in zip(weights, gradient, strict=True)]
            after_step(losses[-1])
        losses.append(_finite(loss(weights), steps, learning_rate))
    return Training(weights, losses)


def _finite(loss: Any, step: int, learning_rate: float) -> float:
    value = float(loss)
    if not np.isfinite(value):
        raise ArgumentError(
            f"Training diverged at step {step} with the learning rate {learning_rate:g}: "
            "the loss is not finite. Try a smaller learning rate."
        )
    return value
