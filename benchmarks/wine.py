"""The gradient of the wine network with respect to both weight matrices, float32."""

from __future__ import annotations

from typing import Any

import adjoint as ad
from adjoint.datasets import load_wine
from adjoint.report import draw_weights, hand_written_gradient, loss_on
from benchmarks import first_call
from benchmarks.machine import limit
from benchmarks.measure import Thunk
from benchmarks.peers import LARGE, agreeing_medians, casadi_gradient, chosen, gradients
from benchmarks.table import Table, compared

HIDDEN = 16
WIDER = (200, 2000)
BY_HAND = "NumPy by hand"
JAX = "JAX with jit"


def network(W: Any, xp: Any, X: Any, y: Any) -> Any:
    """The loss of the lecture over any namespace."""
    return xp.sum((W[1] @ xp.tanh(W[0] @ X) - y) ** 2) / y.shape[1]


def run() -> list[Table]:
    return [_table(HIDDEN), *(_table(hidden) for hidden in WIDER), first_call.table()]


def _table(hidden: int) -> Table:
    X, y = load_wine().network_data()
    W = draw_weights(hidden, X.shape[0], seed=0)
    loss = loss_on(X, y)
    jitted = ad.jit(ad.grad(loss))
    peers = gradients(network, W, (X, y))
    if hidden == HIDDEN:
        peers.update(casadi_gradient(lambda ca: _casadi_network(ca, X, y), W))
    else:
        peers = chosen(peers, LARGE)
    candidates: dict[str, Thunk] = {
        BY_HAND: lambda: hand_written_gradient(W, X, y),
        "adjoint, ad.grad(loss)(W)": lambda: ad.grad(loss)(W),
        "adjoint with ad.jit": lambda: jitted(W),
        **peers,
    }
    # Sums of products of thousands of units, in single precision.
    expected, tolerance = hand_written_gradient(W, X, y), 1e-5 * max(1, hidden / 100)
    loss_alone: dict[str, Thunk] = {"the loss alone": lambda: loss(W)}
    times = agreeing_medians(candidates, expected, tolerance, seconds=6.0, others=loss_alone)
    return compared(
        times, BY_HAND, _limit(hidden, *X.shape), others=[JAX], title=f"{hidden} hidden units"
    )


def _casadi_network(ca: Any, X: Any, y: Any) -> tuple[list[Any], Any]:
    W = [ca.MX.sym("A", HIDDEN, X.shape[0]), ca.MX.sym("B", 1, HIDDEN)]
    difference = W[1] @ ca.tanh(W[0] @ ca.DM(X.astype(float))) - ca.DM(y.astype(float))
    return W, ca.sumsqr(difference) / y.shape[1]


def _limit(hidden: int, features: int, samples: int) -> tuple[str, float]:
    """Two products with X and three with the hidden layer; the rest counts as one each."""
    flops = samples * hidden * (2 * 2 * features + 3 * 2 + 3)
    moved = 4 * (2 * hidden * (features + 1) + (features + 1) * samples)
    return limit(flops=flops, moved=moved, tangents=hidden * samples, dtype="f4")
