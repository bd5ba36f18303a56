"""The gradient of the log posterior of a Gaussian mixture with full covariances (Wishart prior)."""

from __future__ import annotations

from typing import Any

import numpy as np

import adjoint as ad
from benchmarks.compiled import SCALAR, by_hand
from benchmarks.machine import limit
from benchmarks.measure import Thunk
from benchmarks.peers import agreeing_medians, chosen, gradients
from benchmarks.table import Table, compared

SAMPLES = 1000
SHAPES = ((10, 25), (32, 25), (64, 100))  # d, k
BY_HAND = "NumPy by hand"


def triangles(entries: Any, rows: Any, columns: Any, d: int, xp: Any) -> Any:
    """Square matrices with these entries at these places, and zeros elsewhere."""
    below = xp.zeros((entries.shape[0], d, d), dtype=entries.dtype)
    if hasattr(below, "at"):  # JAX writes nothing in place
        return below.at[:, rows, columns].set(entries)
    below[:, rows, columns] = entries
    return below


def log_sum_exp(values: Any, xp: Any) -> Any:
    """Over the first axis."""
    top = xp.amax(values, 0)
    return top + xp.log(xp.sum(xp.exp(values - top), 0))


def log_posterior(parameters: Any, xp: Any, x: Any) -> Any:
    """That of weights, means and factors of inverse covariances, up to a constant."""
    alphas, means, icf = parameters
    d = x.shape[1]
    return posterior(alphas, means, icf[:, :d], icf[:, d:], np.tril_indices(d, -1), x, xp)


def posterior(
    alphas: Any,
    means: Any,
    logarithms: Any,
    entries: Any,
    places: Any,
    x: Any,
    xp: Any = np,
    gamma: float = 1.0,
    extra: float = 0.0,
) -> Any:
    """The same of logarithms of diagonals, and of the entries of the factors at places below.

    gamma, extra: the precision of the Wishart prior, and its degrees of freedom beyond d + 1.
    """
    n, d = x.shape
    rows, columns = places
    below, diagonals = triangles(entries, rows, columns, d, xp), xp.exp(logarithms)
    differences = x - means[:, None]  # (k, n, d)
    products = differences @ xp.swapaxes(below, 1, 2) + diagonals[:, None] * differences
    traces = xp.sum(logarithms, 1)
    terms = (alphas + traces)[:, None] - 0.5 * xp.sum(products**2, 2)
    squares = xp.sum(diagonals**2) + xp.sum(entries**2)
    prior = extra * xp.sum(traces) - 0.5 * gamma**2 * squares
    return xp.sum(log_sum_exp(terms, xp)) - n * log_sum_exp(alphas, xp) + prior


def gradient_by_hand(parameters: Any, x: Any) -> list[Any]:
    """In NumPy, one matrix product of the size of the data and a factor each way."""
    alphas, means, icf = parameters
    n, d = x.shape
    rows, columns = np.tril_indices(d, -1)
    below, diagonals = triangles(icf[:, d:], rows, columns, d, np), np.exp(icf[:, :d])
    whole = below + diagonals[:, None] * np.eye(d)
    differences = x - means[:, None]
    products = differences @ np.swapaxes(whole, 1, 2)
    terms = (alphas + np.sum(icf[:, :d], 1))[:, None]
    terms = terms - 0.5 * np.einsum("knd,knd->kn", products, products)
    shares = np.exp(terms - np.max(terms, 0))
    shares /= np.sum(shares, 0)
    products *= -shares[..., None]
    by_whole = np.swapaxes(products, 1, 2) @ differences - whole
    by_icf = np.empty_like(icf)
    totals = np.sum(shares, 1)
    by_icf[:, :d] = np.einsum("kdd->kd", by_whole) * diagonals + totals[:, None]
    by_icf[:, d:] = by_whole[:, rows, columns]
    weights = np.exp(alphas - np.max(alphas))
    by_means = -(np.sum(products, 1)[:, None] @ whole)[:, 0]
    return [totals - n * weights / np.sum(weights), by_means, by_icf]


def run() -> list[Table]:
    return [_table(d, k) for d, k in SHAPES]


def _table(d: int, k: int) -> Table:
    random = np.random.default_rng(0)
    x = random.standard_normal((SAMPLES, d))
    packed = d * (d + 1) // 2
    parameters = [
        random.standard_normal(k),
        random.standard_normal((k, d)),
        random.standard_normal((k, packed)) / d,
    ]
    shapes = [each.shape for each in parameters]

    def loss(p: Any) -> Any:
        return log_posterior(p, np, x)

    jitted = ad.jit(ad.grad(loss))
    candidates: dict[str, Thunk] = {
        BY_HAND: lambda: gradient_by_hand(parameters, x),
        **by_hand("mixture", [*parameters, x, SAMPLES, d, k], shapes),
        "adjoint, ad.grad(f)(p)": lambda: ad.grad(loss)(parameters),
        "adjoint with ad.jit": lambda: jitted(parameters),
        **chosen(gradients(log_posterior, parameters, (x,), ("jax", "torch"))),
    }
    times = agreeing_medians(candidates, gradient_by_hand(parameters, x), 1e-10, seconds=8.0)
    # A triangular product each way for every sample and component, and six passes over vectors.
    flops = SAMPLES * k * (2 * d * (d + 1) + 6 * d)
    bound = limit(flops=flops, moved=8 * (SAMPLES * d + 2 * k * packed), exponentials=SAMPLES * k)
    others = [SCALAR, "JAX with jit", "PyTorch eager"]
    return compared(times, BY_HAND, bound, others, title=f"d = {d}, k = {k}, n = {SAMPLES}")
