"""The gradient of the wine network with respect to both weight matrices, h = 16, float32."""

from __future__ import annotations

from typing import Any

import adjoint as ad
from adjoint.datasets import load_wine
from adjoint.report import draw_weights, hand_written_gradient, loss_on
from benchmarks.machine import peak_flops
from benchmarks.measure import Thunk, medians
from benchmarks.peers import assert_agreement, casadi_gradient, gradients
from benchmarks.table import Table, compared

HIDDEN = 16
BY_HAND = "NumPy by hand"


def network(W: Any, xp: Any, X: Any, y: Any) -> Any:
    """The loss of the lecture over any namespace."""
    return xp.sum((W[1] @ xp.tanh(W[0] @ X) - y) ** 2) / y.shape[1]


def run() -> list[Table]:
    X, y = load_wine().network_data()
    W = draw_weights(HIDDEN, X.shape[0], seed=0)
    loss = loss_on(X, y)
    jitted = ad.jit(ad.grad(loss))
    candidates: dict[str, Thunk] = {
        BY_HAND: lambda: hand_written_gradient(W, X, y),
        "adjoint, ad.grad(loss)(W)": lambda: ad.grad(loss)(W),
        "adjoint with ad.jit": lambda: jitted(W),
        **gradients(network, W, (X, y)),
        **casadi_gradient(lambda ca: _casadi_network(ca, X, y), W),
    }
    assert_agreement(candidates, hand_written_gradient(W, X, y), tolerance=1e-5)
    times = medians({**candidates, "the loss alone": lambda: loss(W)}, seconds=6.0)
    return [compared(times, BY_HAND, ("arithmetic at peak", _flops(*X.shape) / peak_flops("f4")))]


def _casadi_network(ca: Any, X: Any, y: Any) -> tuple[list[Any], Any]:
    W = [ca.MX.sym("A", HIDDEN, X.shape[0]), ca.MX.sym("B", 1, HIDDEN)]
    difference = W[1] @ ca.tanh(W[0] @ ca.DM(X.astype(float))) - ca.DM(y.astype(float))
    return W, ca.sumsqr(difference) / y.shape[1]


def _flops(features: int, samples: int) -> int:
    """Two products with X and three with the hidden layer; tanh and the rest count as one each."""
    return samples * HIDDEN * (2 * 2 * features + 3 * 2 + 4)
