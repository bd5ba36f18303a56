"""The Newton direction of k-means: the gradient over the diagonal of the Hessian."""

from __future__ import annotations

from collections.abc import Callable
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

K, N, D = 100, 10_000, 8
BY_HAND = "NumPy by hand"


def by_products(centroids: Any, points: Any, xp: Any = np) -> Any:
    """The squares of the distances to the nearest centroid, summed: by one matrix product."""
    products = points @ centroids.T
    squares = xp.sum(points**2, 1)[:, None] - 2 * products + xp.sum(centroids**2, 1)
    return xp.sum(xp.amin(squares, 1))


def by_differences(centroids: Any, points: Any, xp: Any = np) -> Any:
    """The same as it is defined: every difference of a point and a centroid."""
    squares = xp.sum((points[:, None] - centroids) ** 2, -1)
    return xp.sum(xp.amin(squares, 1))


def direction_by_hand(centroids: Any, points: Any) -> Any:
    """From the numbers and the sums of the points that are nearest to each centroid."""
    halves = 0.5 * np.sum(centroids**2, 1) - points @ centroids.T
    nearest = np.argmin(halves, 1)
    counts = np.bincount(nearest, minlength=len(centroids))[:, None]
    sums = np.stack([np.bincount(nearest, each, len(centroids)) for each in points.T], 1)
    return 2 * (counts * centroids - sums) / (2 * counts)


def run() -> list[Table]:
    random = np.random.default_rng(0)
    points = random.standard_normal((N, D))
    # Every centroid is a point that is moved a little, so that none is without points.
    centroids = points[:K] + 1e-3 * random.standard_normal((K, D))
    return [_table(by_products, centroids, points), _table(by_differences, centroids, points)]


def _table(objective: Callable[..., Any], centroids: Any, points: Any) -> Table:
    direction = direction_of(objective)
    jitted = ad.jit(direction)
    candidates: dict[str, Thunk] = {
        BY_HAND: lambda: direction_by_hand(centroids, points),
        **by_hand("kmeans", [centroids, points, K, N], [centroids.shape]),
        "adjoint, un-jitted": lambda: direction(centroids, points),
        "adjoint with ad.jit": lambda: jitted(centroids, points),
        **_jax(objective, centroids, points),
        **_torch(objective, centroids, points),
    }
    expected = direction_by_hand(centroids, points)
    times = agreeing_medians(candidates, expected, 1e-9, seconds=6.0)
    # One product; its halves of squares are added, and the least is found.
    bound = limit(flops=N * K * (2 * D + 2), moved=8 * N * D)
    title = f"{objective.__name__.replace('_', ' ')}, k = {K}, n = {N}, d = {D}"
    return compared(times, BY_HAND, bound, [SCALAR, "JAX with jit"], title)


def direction_of(objective: Callable[..., Any]) -> Callable[..., Any]:
    """The Newton direction of an objective: the gradient over the diagonal of the Hessian."""

    def direction(centroids: Any, points: Any) -> Any:
        def cost(c: Any) -> Any:
            return objective(c, points)

        return ad.grad(cost)(centroids) / ad.hvp(cost, centroids, np.ones_like(centroids))

    return direction


def _jax(objective: Callable[..., Any], centroids: Any, points: Any) -> dict[str, Thunk]:
    if not installed("jax"):
        return {}
    jax, xp = jax_modules()

    def direction(c: Any, p: Any) -> Any:
        gradient = jax.grad(lambda t: objective(t, p, xp))
        return jax.numpy.divide(*jax.jvp(gradient, (c,), (xp.ones_like(c),)))

    return {"JAX with jit": jitted_by_jax(direction, [centroids, points])}


def _torch(objective: Callable[..., Any], centroids: Any, points: Any) -> dict[str, Thunk]:
    if not installed("torch"):
        return {}
    torch = torch_module()
    leaf = torch.from_numpy(centroids.copy()).requires_grad_()
    data = torch.from_numpy(points)

    def direction() -> Any:
        (gradient,) = torch.autograd.grad(objective(leaf, data, torch), leaf, create_graph=True)
        (diagonal,) = torch.autograd.grad(gradient.sum(), leaf)
        return gradient.detach() / diagonal

    return {"PyTorch eager": direction}
