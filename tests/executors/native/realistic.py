"""Functions such as people write, each with arguments: models, solvers, statistics, geometry."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import expit, logsumexp

RNG = np.random.default_rng(7)


def normal(*shape: int, dtype: str = "f8") -> Any:
    return RNG.normal(size=shape).astype(dtype)


# --- learning -------------------------------------------------------------------------------------


def perceptron(weights: Any, x: Any, y: Any) -> Any:
    for matrix, bias in weights[:-1]:
        x = np.tanh(x @ matrix + bias)
    matrix, bias = weights[-1]
    return np.mean((x @ matrix + bias - y) ** 2)


def layers(*sizes: int, dtype: str = "f8") -> Any:
    pairs = pairwise(sizes)
    return [
        (normal(m, n, dtype=dtype) / np.sqrt(m).astype(dtype), normal(n, dtype=dtype))
        for m, n in pairs
    ]


def convolution(kernel: Any, images: Any) -> Any:
    """A 3 x 3 convolution by slices, a rectifier, and the largest of each 2 x 2."""
    height, width = images.shape[-2] - 2, images.shape[-1] - 2
    found = 0.0
    for i in range(3):
        for j in range(3):
            found = (
                found + kernel[:, None, None, i, j] * images[:, None, i : i + height, j : j + width]
            )
    found = np.maximum(found, 0.0)
    pooled = np.maximum(
        np.maximum(found[..., ::2, ::2], found[..., 1::2, ::2]),
        np.maximum(found[..., ::2, 1::2], found[..., 1::2, 1::2]),
    )
    return np.sum(np.mean(pooled, axis=(2, 3)) ** 2)


def softmax(x: Any) -> Any:
    shifted = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return shifted / np.sum(shifted, axis=-1, keepdims=True)


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = np.einsum("hid,hjd->hij", q, k) / np.sqrt(q.shape[-1])
    return np.sum(np.einsum("hij,hjd->hid", softmax(scores), v) ** 3)


def cross_entropy(logits: Any, labels: Any) -> Any:
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    chosen = shifted[np.arange(len(labels)), labels]
    return np.mean(np.log(np.sum(np.exp(shifted), axis=1)) - chosen)


def logistic(w: Any, x: Any, y: Any) -> Any:
    margins = y * (x @ w)
    return np.sum(np.logaddexp(0.0, -margins)) + 0.5 * np.sum(w * w)


def embedding(table: Any, words: Any) -> Any:
    return np.sum(np.tanh(np.mean(table[words], axis=1)) ** 2)


def layer_norm(x: Any, scale: Any) -> Any:
    centred = x - np.mean(x, axis=1, keepdims=True)
    return np.sum(
        np.sin(centred / np.sqrt(np.mean(centred**2, axis=1, keepdims=True) + 1e-5)) @ scale
    )


# --- differential equations and grids -------------------------------------------------------------


def runge_kutta(state: Any, rate: Any, steps: int = 50) -> Any:
    def field(s: Any) -> Any:
        x, y = s[..., 0], s[..., 1]
        return np.stack([x * (rate - y), y * (x - 1.0) - 0.1 * y**2], axis=-1)

    h = 0.02
    for _ in range(steps):
        a = field(state)
        b = field(state + h / 2 * a)
        c = field(state + h / 2 * b)
        state = state + h / 6 * (a + 2 * b + 2 * c + field(state + h * c))
    return state


def energy(state: Any, rate: Any, steps: int = 50) -> Any:
    return np.sum(runge_kutta(state, rate, steps) ** 2)


def heat(grid: Any) -> Any:
    for _ in range(3):
        inner = grid[1:-1, 1:-1]
        change = grid[2:, 1:-1] + grid[:-2, 1:-1] + grid[1:-1, 2:] + grid[1:-1, :-2] - 4 * inner
        grid = np.pad(inner + 0.1 * change, 1)
    return np.sum(grid**2)


def heat_in_place(grid: Any) -> Any:
    u = grid.copy()
    for _ in range(3):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] - 2 * u[1:-1, 1:-1])
        u[0] = u[1]
        u[-1] *= 0.5
    return np.sum(u * np.sin(u))


def upwind(u: Any) -> Any:
    for _ in range(4):
        left, right = u - np.roll(u, 1), np.roll(u, -1) - u
        u = u - 0.2 * np.where(u > 0, u * left, u * right)
    return np.sum(u**2)


def minimal_surface(z: Any) -> Any:
    dx, dy = np.diff(z, axis=0)[:, :-1], np.diff(z, axis=1)[:-1]
    return np.sum(np.sqrt(1.0 + dx**2 + dy**2))


def prefix(x: Any) -> Any:
    out = np.zeros_like(x)
    out[..., 0] = x[..., 0]
    for i in range(1, x.shape[-1]):
        out[..., i] = 0.5 * out[..., i - 1] + np.sin(x[..., i])
    return np.sum(out**2)


# --- statistics -----------------------------------------------------------------------------------


def mixture(logits: Any, means: Any, scales: Any, x: Any) -> Any:
    offsets = (x[:, None, :] - means) / np.exp(scales)
    each = -0.5 * np.sum(offsets**2, axis=2) - np.sum(scales, axis=1) + logits
    return np.sum(logsumexp(each, axis=1)) - len(x) * logsumexp(logits)


def clusters(centres: Any, x: Any) -> Any:
    distances = np.sum((x[:, None, :] - centres[None]) ** 2, axis=2)
    return np.sum(np.min(distances, axis=1))


def gaussian(mean: Any, factor: Any, x: Any) -> Any:
    lower = np.tril(factor, -1) + np.diag(np.exp(np.diag(factor)))
    whitened = (x - mean) @ lower
    return np.sum(-0.5 * whitened**2) + len(x) * np.sum(np.diag(factor))


def robust(parameters: Any, t: Any, y: Any) -> Any:
    a, b, c = parameters
    residual = y - a * np.exp(-b * t) - c
    size = np.abs(residual)
    return np.sum(np.where(size < 0.5, 0.5 * residual**2, 0.5 * size - 0.125))


def horner(coefficients: Any, x: Any) -> Any:
    value = coefficients[-1] + 0.0 * x
    for i in range(len(coefficients) - 2, -1, -1):
        value = value * x + coefficients[i]
    return np.sum(value**2) / len(x)


def masked(x: Any, mask: Any) -> Any:
    inside = np.where(mask, x, 0.0)
    return np.sum(inside**2) / np.sum(mask) + np.sum(np.exp(inside) * ~mask)


def counted(weights: Any, bins: Any) -> Any:
    counts = np.zeros(17)
    np.add.at(counts, bins, weights)
    return np.sum(counts * np.log1p(counts**2))


def kernel_matrix(scale: Any, x: Any) -> Any:
    squares = np.sum(x**2, axis=1)
    distances = squares[:, None] + squares[None, :] - 2.0 * x @ x.T
    return np.sum(np.exp(-0.5 * np.maximum(distances, 0.0) / scale**2))


# --- geometry -------------------------------------------------------------------------------------


def rotated(rotation: Any, point: Any) -> Any:
    angle2 = np.sum(rotation**2) + 1e-12
    angle = np.sqrt(angle2)
    axis = rotation / angle
    cosine, sine = np.cos(angle), np.sin(angle)
    return point * cosine + np.cross(axis, point) * sine + axis * (axis @ point) * (1 - cosine)


def reprojection(camera: Any, point: Any, weight: Any, seen: Any) -> Any:
    moved = rotated(camera[:3], point - camera[3:6])
    flat = moved[:2] / moved[2]
    radius = flat @ flat
    distorted = flat * (1.0 + camera[9] * radius + camera[10] * radius**2)
    return weight * (camera[6] * distorted + camera[7:9] - seen)


def springs(positions: Any, ends: Any, lengths: Any) -> Any:
    offsets = positions[ends[:, 0]] - positions[ends[:, 1]]
    return np.sum((np.sqrt(np.sum(offsets**2, axis=1)) - lengths) ** 2)


def newton(x: Any) -> Any:
    """The root of y^3 + y = x, until a value says that it is enough."""
    y = 0.3 * x
    while np.max(np.abs(y**3 + y - x)) > 1e-10:
        y = y - (y**3 + y - x) / (3 * y**2 + 1)
    return np.sum(y * x)


# --- complex numbers ------------------------------------------------------------------------------


def resonance(damping: Any, frequencies: Any) -> Any:
    response = 1.0 / (1.0 - frequencies**2 + 1j * damping[:, None] * frequencies)
    return np.sum(np.abs(response) ** 2)


def quadrature(z: Any) -> Any:
    w = z * z + (0.5 + 0.25j) * np.conj(z)
    return np.sum(w.real**2 + 3 * w.imag * z.real)


def gate(x: Any, w: Any) -> Any:
    return np.sum(expit(x @ w) * np.tanh(x @ w[:, ::-1]))


def heat_field(grid: Any) -> Any:
    return np.exp(0.1 * (np.roll(grid, 1, 0) + np.roll(grid, -1, 1) - 2 * grid)) * grid
