"""A charged particle steered through a loop whose number of steps depends on the control.

The problem of Pearlmutter and Siskind (*Using programming language theory to make automatic
differentiation sound and efficient*, 2008): two charges repel a particle, one of them at a place w
that is to be chosen so that the particle hits the x axis near the origin. The force is a gradient
inside of each Euler step, and the gradient with respect to w goes around the loop: a derivative in
a derivative, here in all four combinations of modes, with Newton's method for w.

    python examples/particle.py
    adjoint check examples/particle.py:particle
"""

import itertools

import numpy as np

import adjoint as ad

inputs = (0.3,)
STEP = 0.1
START = np.array([0.0, 8.0]), np.array([0.75, 0.0])  # a place and a velocity


def forward(function):
    """A gradient by forward mode: one directional derivative for each unit vector."""

    def gradient(x):
        if np.ndim(x) == 0:
            return ad.jvp(function, (x,), (1.0,))[1]
        return np.stack([ad.jvp(function, (x,), (e,))[1] for e in np.eye(len(x))])

    return gradient


def potential(x, w):
    """That of both charges, at the place x."""
    charges = np.array([10.0, 10 - w]), np.array([10.0, 0.0])
    return sum(1 / np.linalg.norm(x - charge) for charge in charges)


def fall(state, w, gradient=ad.grad):
    """One Euler step of place and velocity."""
    x, v = state
    return x + STEP * v, v - STEP * gradient(lambda x: potential(x, w))(x)


def above(state):
    """Whether the next step ends above y = 0."""
    x, v = state
    return x[1] + STEP * v[1] > 0


def crossing(w, gradient):
    """Where the particle meets y = 0."""
    x, v = ad.while_loop(above, lambda state: fall(state, w, gradient), START)
    return (x - x[1] / v[1] * v)[0]


def particle(w, gradient=ad.grad):
    """How far it misses, squared."""
    return crossing(w, gradient) ** 2


def newton(outside, inside, iterations=6):
    """The control w by Newton's method, with these modes of the outer and the inner gradient."""

    def miss(w):
        return particle(w, inside)

    slope, curvature = ad.jit(outside(miss)), ad.jit(ad.grad(outside(miss)))
    w = 0.0
    for _ in range(iterations):
        w = w - slope(w) / abs(curvature(w))
    return w


def main():
    modes = {"forward": forward, "reverse": ad.grad}
    for (outer, outside), (inner, inside) in itertools.product(modes.items(), repeat=2):
        w = newton(outside, inside)
        print(f"{outer} over {inner}: w = {w:.12f}, x = {crossing(w, inside):+.2e}")


if __name__ == "__main__":
    main()
