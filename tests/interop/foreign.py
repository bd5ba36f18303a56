"""What holds of a function of any other library within NumPy code, beside the same in NumPy."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad

X = np.array([0.3, 0.5, 1.2])
Y = np.array([1.0, 2.0, 0.1])


def pair(library: Any) -> Callable[..., Any]:
    """A function of two arrays, in the words that NumPy, JAX and PyTorch share."""

    def function(x: Any, y: Any) -> Any:
        return library.sum(library.sin(x) * y), x * library.exp(y)

    return function


def curve(library: Any) -> Callable[..., Any]:
    """A function of complex numbers that is not holomorphic."""

    def function(z: Any) -> Any:
        return library.exp(1j * z) * library.conj(z) + library.imag(z) ** 2

    return function


def energy(function: Any) -> Any:
    """A NumPy function of what `pair` gives."""

    def total(x: Any, y: Any) -> Any:
        one, two = function(x, y)
        return one**2 + np.sum(two**2)

    return total


def squared_slope(f: Any) -> Any:
    return ad.grad(lambda x, y: np.sum(ad.grad(f)(x, y) ** 2))


def forward_over_reverse(f: Any) -> Any:
    return lambda x, y: ad.jvp(ad.grad(f, argnums=(0, 1)), (x, y), (y, x))


def reverse_over_forward(f: Any) -> Any:
    return ad.grad(lambda x, y: ad.jvp(f, (x, y), (y, x))[1])


TRANSFORMS = {
    "value": lambda f: f,
    "gradient": ad.grad,
    "gradients": lambda f: ad.grad(f, argnums=(0, 1)),
    "hessian": ad.hessian,
    "squared slope": squared_slope,
    "forward over reverse": forward_over_reverse,
    "reverse over forward": reverse_over_forward,
    "a batch": lambda f: lambda x, y: ad.vmap(ad.grad(f), (0, None))(np.stack([x, x + 1]), y),
    "a batch of hessians": lambda f: lambda x, y: ad.vmap(ad.hessian(f))(x[None], y[None]),
    "nested batches": lambda f: (
        lambda x, y: ad.vmap(ad.vmap(f, (0, None)), (None, 0))(
            np.stack([x, y]), np.stack([y, x, y])
        )
    ),
    "hessian of a batch": lambda f: (
        lambda x, y: ad.hessian(lambda rows: np.sum(ad.vmap(f, (0, None))(rows, y) ** 2))(
            np.stack([x, y])
        )
    ),
    "jit": lambda f: ad.jit(ad.grad(f)),
    "within more": lambda f: lambda x, y: ad.grad(lambda t: t * f(x * t, y))(2.0),
}


def assert_same(found: Any, expected: Any) -> None:
    if isinstance(expected, (tuple, list)):
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def check_complex(ours: Any) -> None:
    """Both modes of a function of complex numbers, which pair by Re sum conj(a) b."""
    z, u = X + 1j * Y, Y - 2j * X
    assert_same(ad.jvp(ours, (z,), (u,)), ad.jvp(curve(np), (z,), (u,)))
    assert_same(ad.vjp(ours, z)[1](u), ad.vjp(curve(np), z)[1](u))


class Scaled:
    """A function that is entered, of another kind than what `def` makes, with a state."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __call__(self, x: Any) -> Any:
        """`scale * sin(x)`, entry by entry."""
        result = np.zeros(len(x))
        for place in range(len(x)):
            result[place] = self.scale * math.sin(x[place])
        return result

    def method(self, x: Any) -> Any:
        """The same."""
        return self(x)


def entered_functions(scaled: Scaled) -> dict[str, Callable[..., Any]]:
    """Functions of all kinds that ask for the scale at each call."""
    return {
        "an object": scaled,
        "a method": scaled.method,
        "a partial": functools.partial(lambda scaled, x: scaled(x), scaled),
        "a closure": lambda x: scaled(x),
        "a replayed one": ad.jit(lambda x: scaled(x)),
    }


ENTERED = tuple(entered_functions(Scaled(1.0)))
