"""A function with loops of the library against the same function with Python's own loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad

Function = Callable[[Any], Any]


def _close(name: str, found: Any, expected: Any, tolerance: float) -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, name
    assert found.dtype == expected.dtype, name
    size = max(np.max(np.abs(expected), initial=0.0), 1.0)
    assert np.max(np.abs(found - expected), initial=0.0) <= tolerance * size, name


def hessians(function: Function, x: Any) -> dict[str, Any]:
    """The Hessian of a real function of a vector in the four compositions of modes."""
    units = np.eye(x.size)
    gradient = ad.grad(function)

    def rates(y: Any) -> Any:
        return np.stack([ad.jvp(function, (y,), (e,))[1] for e in units])

    return {
        "forward over forward": np.stack([ad.jvp(rates, (x,), (e,))[1] for e in units]),
        "forward over reverse": np.stack([ad.jvp(gradient, (x,), (e,))[1] for e in units]),
        "reverse over forward": np.stack([ad.grad(lambda y, e=e: rates(y) @ e)(x) for e in units]),
        "reverse over reverse": np.stack(
            [ad.grad(lambda y, e=e: gradient(y) @ e)(x) for e in units]
        ),
    }


def check_modes(function: Function, reference: Function, x: Any, tolerance: float = 1e-11) -> None:
    """Values, gradients and Hessians, alone and in batches, are those of the reference."""
    _close("value", function(x), reference(x), tolerance)
    expected = ad.grad(reference)(x)
    _close("reverse", ad.grad(function)(x), expected, tolerance)
    units = np.eye(x.size)
    forward = [ad.jvp(function, (x,), (e,))[1] for e in units]
    _close("forward", np.stack(forward), expected, tolerance)
    curvature = np.stack([ad.jvp(ad.grad(reference), (x,), (e,))[1] for e in units])
    for name, found in hessians(function, x).items():
        _close(name, found, curvature, tolerance)
    batch = np.stack([x, 0.9 * x, x[::-1]])
    _close("batch", ad.vmap(function)(batch), np.stack([*map(reference, batch)]), tolerance)
    each = np.stack([ad.grad(reference)(y) for y in batch])
    _close("batch of gradients", ad.vmap(ad.grad(function))(batch), each, tolerance)
    whole = ad.grad(lambda y: np.sum(ad.vmap(function)(y)))(batch)
    _close("gradient of a batch", whole, each, tolerance)
    _close("jit", ad.jit(ad.grad(function))(x), expected, tolerance)
