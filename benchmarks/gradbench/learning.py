"""The evals gmm, kmeans and lstm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import multigammaln

import adjoint as ad
from benchmarks.gradbench.functions import Function, Input, Module, arrays, listed
from benchmarks.kmeans import by_differences, direction_of
from benchmarks.lstm import by_python
from benchmarks.mixture import posterior

# --- gmm ------------------------------------------------------------------------------------------


def log_posterior(parameters: Any, x: Any, gamma: float, m: int) -> Any:
    """That of a mixture whose precisions have a Wishart prior; the factors go column by column."""
    alpha, mu, q, below = parameters
    (n, d), k = x.shape, len(alpha)
    columns, rows = np.triu_indices(d, 1)
    freedom = d + m + 1
    prior = freedom * d * np.log(gamma / math.sqrt(2)) - multigammaln(0.5 * freedom, d)
    constant = k * prior - 0.5 * n * d * math.log(2 * math.pi)
    return posterior(alpha, mu, q, below, (rows, columns), x, gamma=gamma, extra=m) + constant


def _mixture(given: Input) -> tuple[Any, ...]:
    parameters = arrays("alpha", "mu", "q", "l")(given)
    return parameters, *arrays("x")(given), float(given["gamma"]), int(given["m"])


def _named(gradient: Any) -> Any:
    return dict(zip(("alpha", "mu", "q", "l"), map(listed, gradient), strict=True))


GMM: Module = {
    "objective": Function(_mixture, ad.jit(log_posterior), float),
    "jacobian": Function(_mixture, ad.jit(ad.grad(log_posterior)), _named),
}

# --- kmeans ---------------------------------------------------------------------------------------

_POINTS = arrays("centroids", "points")

KMEANS: Module = {
    "cost": Function(_POINTS, ad.jit(by_differences), float),
    "dir": Function(_POINTS, ad.jit(direction_of(by_differences)), listed),
}

# --- lstm -----------------------------------------------------------------------------------------


def loss(parameters: Any, sequence: Any, state: Any) -> Any:
    """The loss of `benchmarks.lstm` of parameters and states as the eval arranges them."""
    main, extra = parameters
    bits = extra.shape[1]
    return by_python(
        (main.reshape(-1, 2, 4, bits), extra), sequence, list(state.reshape(-1, 2, bits))
    )


def _network(given: Input) -> tuple[Any, ...]:
    return arrays("main_params", "extra_params")(given), *arrays("sequence", "state")(given)


def _joined(gradient: Any) -> Any:
    return listed(np.concatenate([np.ravel(each) for each in gradient]))


LSTM: Module = {
    "objective": Function(_network, ad.jit(loss), float),
    "jacobian": Function(_network, ad.jit(ad.grad(loss)), _joined),
}
