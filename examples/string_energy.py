"""A gradient that does not depend on the grid: steepest descent for a function on [0, 1].

The energy of a string under a load is E(f) = ∫ f'²/2 - f dx. In the inner product of the grid,
which holds the spacing, its gradient is a function; in the plain one it is a vector that shrinks as
the grid is refined. In the energy's own inner product, ∫ f'g', one step reaches the minimum.

    python examples/string_energy.py
    adjoint check examples/string_energy.py:string_energy
"""

import numpy as np

import adjoint as ad

inputs = (np.sin(np.linspace(0.1, 3.0, 20)),)


def string_energy(f):
    h = 1 / (f.size + 1)
    inside = np.concatenate([np.zeros(1), f, np.zeros(1)])  # fixed at both ends
    return np.sum(np.diff(inside) ** 2) / (2 * h) - h * np.sum(f)


def stiffness(n):
    return (2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)) * (n + 1)


def gradients(n):
    """n points, a string, and its gradients in the plain product, the grid's and the energy's."""
    x = np.linspace(0, 1, n + 2)[1:-1]
    plain = ad.spaces.Euclidean(n)
    grid = ad.spaces.Weighted(plain, np.full(n, 1 / (n + 1)))
    natural = ad.spaces.Weighted(plain, stiffness(n))
    f = np.sin(np.pi * x)
    return x, f, [ad.grad(string_energy, space=space)(f) for space in (plain, grid, natural)]


def main():
    print("points   plain    grid   after one step in the energy's space")
    for n in (9, 99, 999):
        x, f, (plain, grid, natural) = gradients(n)
        sizes = [np.max(np.abs(gradient)) for gradient in (plain, grid)]
        error = np.max(np.abs(f - natural - x * (1 - x) / 2))
        print(f"{n:6d} {sizes[0]:7.4f} {sizes[1]:7.4f}   error {error:.1e}")


if __name__ == "__main__":
    main()
