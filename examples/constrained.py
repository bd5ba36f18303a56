"""A hanging chain, by SciPy's trust-constr with exact Jacobians and Hessians of the constraints.

The links of a chain have fixed lengths; it hangs where its potential energy is least. The Hessian
of the Lagrangian, ∇²f(x) - Σ λᵢ ∇²gᵢ(x), is a sparse operator that no one needs to write down:
`ad.lagrangian_hessian` applies it to vectors. Without it SciPy approximates it by BFGS, from the
changes of the gradient, and needs more iterations.

Run it with `python examples/constrained.py`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.optimize import BFGS, NonlinearConstraint, minimize

import adjoint as ad

LINKS = 24
LENGTH = 1.4 / LINKS
ENDS = np.array([[0.0, 0.0], [1.0, 0.2]])


def nodes(x):
    """All nodes of the chain, (LINKS + 1, 2), from those that are free."""
    return np.concatenate([ENDS[:1], x.reshape(-1, 2), ENDS[1:]])


def energy(x):
    """The height of the links' centres, summed."""
    heights = nodes(x)[:, 1]
    return np.sum(heights[1:] + heights[:-1]) / 2


def stretch(x):
    """For each link, by how much its squared length is too large."""
    links = np.diff(nodes(x), axis=0)
    return (np.sum(links**2, axis=1) / LENGTH**2 - 1) / 2


def energy_hessian(x: Any) -> Any:
    """∇²f(x), as an operator."""
    return ad.second_derivative(energy, x).operator().as_scipy()


def stretch_hessian(x: Any, multipliers: Any) -> Any:
    """SciPy adds Σ λᵢ ∇²gᵢ(x), with the other sign of λ."""
    return ad.lagrangian_hessian(None, stretch, x, -multipliers).as_scipy()


def start() -> Any:
    """The free nodes on a parabola through the ends."""
    across = np.linspace(0, 1, LINKS + 1)[1:-1]
    return np.stack([across, 0.2 * across - 1.5 * across * (1 - across)], axis=1).ravel()


def solve(energy_curvature: Any, stretch_curvature: Any, callback: Any = None) -> Any:
    """The chain at rest, with these Hessians of energy and constraints.

    SciPy calls `callback(x, state)` after each iteration.
    """
    constraint = NonlinearConstraint(
        stretch, 0, 0, jac=ad.jacobian(stretch), hess=stretch_curvature
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of BFGS, where the change of the gradient is zero
        return minimize(
            energy,
            start(),
            method="trust-constr",
            jac=ad.grad(energy),
            hess=energy_curvature,
            constraints=[constraint],
            callback=callback,
            options={"gtol": 1e-7, "xtol": 1e-15, "maxiter": 3000},
        )


HESSIANS = {"exact": (energy_hessian, stretch_hessian), "BFGS": (BFGS(), BFGS())}


def main() -> None:
    """Solve it twice, and compare."""
    print(f"{'Hessians':<10} {'iterations':>10} {'energy':>12} {'violation':>10} {'slope':>10}")
    results = []
    for name, hessians in HESSIANS.items():
        result = solve(*hessians)
        results.append(result)
        print(
            f"{name:<10} {result.niter:>10} {result.fun:>12.8f} "
            f"{result.constr_violation:>10.1e} {result.optimality:>10.1e}"
        )
    lowest = np.min(nodes(results[0].x)[:, 1])
    print(f"The lowest node hangs at {lowest:.4f}.")


if __name__ == "__main__":
    main()
