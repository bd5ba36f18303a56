"""Models in the manner of autograd's examples, by NumPy and Python loops, lists and dictionaries.

Smoke that is moved by a velocity so that it becomes a picture, a recurrent network that predicts
letters, a mixture of Gaussians fitted by Newton steps, and approximate inference by samples.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.random as npr
import scipy.optimize
from scipy.special import logsumexp
from scipy.stats import norm

import adjoint as ad
from adjoint import grad, value_and_grad
from tests.strangers.checking import agrees

minimize: Any = scipy.optimize.minimize  # whose types are stricter than what it takes

# --- a fluid --------------------------------------------------------------------------------------


def solenoidal(u: Any, v: Any, rounds: int = 10) -> tuple[Any, Any]:
    """A velocity less the gradient of a pressure, by Jacobi's method on a torus."""
    h = 1.0 / len(u)

    def ahead(f: Any, axis: int) -> Any:
        return np.roll(f, -1, axis=axis)

    def behind(f: Any, axis: int) -> Any:
        return np.roll(f, 1, axis=axis)

    divergence = -0.5 * h * (ahead(u, 0) - behind(u, 0) + ahead(v, 1) - behind(v, 1))
    pressure = np.zeros(u.shape)
    for _ in range(rounds):
        neighbours = sum(ahead(pressure, k) + behind(pressure, k) for k in (0, 1))
        pressure = (divergence + neighbours) / 4
    u -= 0.5 * (ahead(pressure, 0) - behind(pressure, 0)) / h
    v -= 0.5 * (ahead(pressure, 1) - behind(pressure, 1)) / h
    return u, v


def carried(f: Any, u: Any, v: Any) -> Any:
    """A field after a step of a flow: what was where it comes from, between four cells."""
    rows, columns = f.shape
    y, x = np.meshgrid(np.arange(rows), np.arange(columns))
    x, y = (x - u).ravel(), (y - v).ravel()
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    a, b = x - left, y - top
    left, top = np.mod(left, rows), np.mod(top, columns)
    right, bottom = np.mod(left + 1, rows), np.mod(top + 1, columns)
    near = (1 - b) * f[left, top] + b * f[left, bottom]
    far = (1 - b) * f[right, top] + b * f[right, bottom]
    return np.reshape((1 - a) * near + a * far, (rows, columns))


def test_smoke_is_steered_to_a_picture() -> None:
    side, steps = 8, 3
    x, y = np.meshgrid(np.arange(side), np.arange(side))
    smoke = np.exp(-((x - 3.0) ** 2 + (y - 3.0) ** 2) / 4)
    picture = np.roll(smoke, (1, 1), axis=(0, 1))

    def objective(parameters: Any) -> Any:
        u, v = np.reshape(parameters, (2, side, side))
        u, v, field = u.copy(), v.copy(), smoke
        for _ in range(steps):
            u, v = solenoidal(carried(u, u, v), carried(v, u, v))
            field = carried(field, u, v)
        return np.mean((picture - field) ** 2)

    start = 0.3 + 0.05 * npr.RandomState(0).randn(2 * side * side)  # no cell's edge is near
    value, gradient = value_and_grad(objective)(start)
    assert value == objective(start)
    assert agrees(objective, gradient, start)
    options = {"maxiter": 6}
    result: Any = minimize(value_and_grad(objective), start, jac=True, method="CG", options=options)
    assert result.fun < 0.7 * value


# --- letters --------------------------------------------------------------------------------------


def with_ones(weights: Any, *inputs: Any) -> Any:
    return np.dot(np.hstack((*inputs, np.ones((len(inputs[0]), 1)))), weights)


def sigmoid(x: Any) -> Any:
    return 0.5 * (np.tanh(x / 2) + 1)


def predictions(parameters: Any, letters: Any) -> list[Any]:
    """Logarithms of the probabilities of each letter after those before it."""
    count = letters.shape[1]
    hidden = np.repeat(parameters["hidden"], count, axis=0)
    cells = np.repeat(parameters["cells"], count, axis=0)
    outputs = []
    for letter in letters:
        scores = with_ones(parameters["predict"], hidden)
        outputs.append(scores - logsumexp(scores, axis=1, keepdims=True))
        gates = [with_ones(parameters[gate], letter, hidden) for gate in ("forget", "in", "out")]
        forget, take, give = (sigmoid(gate) for gate in gates)
        cells = cells * forget + take * np.tanh(with_ones(parameters["change"], letter, hidden))
        hidden = give * np.tanh(cells)
    return outputs


def test_a_recurrent_network_learns_a_text() -> None:
    text, size = "abcadbabcadcabcadb", 4
    alphabet = sorted(set(text))
    codes = np.array([[letter == one for one in alphabet] for letter in text]).astype(float)
    letters = codes.reshape(6, 3, len(alphabet), order="F")
    rs = npr.RandomState(1)
    shapes = {name: (len(alphabet) + size + 1, size) for name in ("change", "forget", "in", "out")}
    shapes |= {"hidden": (1, size), "cells": (1, size), "predict": (size + 1, len(alphabet))}
    parameters = {name: 0.3 * rs.randn(*shape) for name, shape in shapes.items()}

    def loss(parameters: Any) -> Any:
        total = 0.0
        for output, letter in zip(predictions(parameters, letters), letters, strict=True):
            total += np.sum(output * letter)
        return -total / letters.shape[0] / letters.shape[1]

    gradient = grad(loss)
    assert agrees(loss, gradient(parameters), parameters)
    before = loss(parameters)
    for _ in range(120):
        slopes = gradient(parameters)
        parameters = {name: w - 0.5 * slopes[name] for name, w in parameters.items()}
    assert loss(parameters) < 0.6 * before


# --- a mixture ------------------------------------------------------------------------------------


def test_a_mixture_of_gaussians_by_newton() -> None:
    rs = npr.RandomState(2)
    data = np.concatenate([rs.randn(30, 2) * 0.4 + centre for centre in ([0, 2], [1.5, -1])])
    start = (np.zeros(2), data[[0, -1]], np.stack([np.eye(2)] * 2))
    sizes = np.cumsum([np.size(part) for part in start])[:-1]

    def negative_log_likelihood(flat: Any) -> Any:
        parts = [np.reshape(a, b.shape) for a, b in zip(np.split(flat, sizes), start, strict=True)]
        proportions = parts[0] - logsumexp(parts[0])
        densities = []
        for share, mean, root in zip(proportions, parts[1], parts[2], strict=True):
            precision = root @ root.T + 0.01 * np.eye(2)
            away = data - mean
            _, logarithm = np.linalg.slogdet(precision)
            squares = np.einsum("ij,jk,ik->i", away, precision, away)
            densities.append(share + 0.5 * (logarithm - squares) - np.log(2 * np.pi))
        return -np.sum(logsumexp(np.array(densities), axis=0))

    first = np.concatenate([np.ravel(part) for part in start])
    gradient = grad(negative_log_likelihood)
    assert agrees(negative_log_likelihood, gradient(first), first)
    result: Any = minimize(
        negative_log_likelihood,
        first,
        jac=gradient,
        hessp=lambda x, u: ad.hvp(negative_log_likelihood, x, u),
        method="trust-ncg",
    )
    assert result.success
    assert np.max(np.abs(gradient(result.x))) < 1e-3
    found = result.x[2:6].reshape(2, 2)
    assert np.allclose(sorted(found[:, 0]), [0.0, 1.5], atol=0.3)


# --- inference by samples -------------------------------------------------------------------------


def test_a_posterior_is_approximated_with_samples_that_are_drawn_in_the_function() -> None:
    rs = npr.RandomState(3)

    def log_density(x: Any) -> Any:
        return np.sum(norm.logpdf(x, np.array([1.0, -2.0]), np.array([0.5, 2.0])), axis=1)

    def bound(parameters: Any) -> Any:
        mean, log_scale = parameters[:2], parameters[2:]
        samples = rs.randn(200, 2) * np.exp(log_scale) + mean
        return np.sum(log_scale) + np.mean(log_density(samples))

    parameters = np.zeros(4)
    for _ in range(300):
        parameters = parameters + 0.1 * grad(bound)(parameters)
    assert np.allclose(parameters, [1.0, -2.0, np.log(0.5), np.log(2.0)], atol=0.25)


# --- layers ---------------------------------------------------------------------------------------


def test_a_list_of_layers_and_optimising_it_in_a_dictionary_of_state() -> None:
    rs = npr.RandomState(4)
    layers = [(rs.randn(m, n) * 0.5, np.zeros(n)) for m, n in pairwise([1, 5, 5, 1])]
    x = np.linspace(-2, 2, 20)[:, None]
    y = np.sin(2 * x)

    def loss(layers: Any) -> Any:
        inputs = x
        for weights, shift in layers:
            outputs = np.dot(inputs, weights) + shift
            inputs = np.tanh(outputs)
        return np.mean((outputs - y) ** 2) + 1e-4 * sum(np.sum(w**2) for w, _ in layers)

    before, gradient = value_and_grad(loss)(layers)
    assert agrees(loss, gradient, layers)
    for _ in range(300):
        slopes = grad(loss)(layers)
        layers = [
            (weights - 0.1 * by, shift - 0.1 * shift_by)
            for (weights, shift), (by, shift_by) in zip(layers, slopes, strict=True)
        ]
    assert loss(layers) < 0.7 * before
