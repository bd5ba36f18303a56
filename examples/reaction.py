"""A stiff reaction with diffusion, by an implicit method that is given the sparse Jacobian.

Two substances react and diffuse on a square (the Brusselator of I. Prigogine and R. Lefever, 1968):

    u' = 1 + u²v - 4.4u + αΔu + f(t),    v' = 3.4u - u²v + αΔv

It is stiff, since neighbours in a fine grid exchange quickly, so SciPy's BDF solves a linear system
at each step. Each rate depends on six numbers of some thousands. `ad.jacobian(rates, sparse=True)`
finds out which, from the code below as it stands, and computes all entries of the Jacobian by a few
products. Without it, BDF perturbs the state once for each number in it.

    python examples/reaction.py
"""

import numpy as np
from scipy.integrate import solve_ivp

import adjoint as ad

DIFFUSION = 0.1
START, HEATED, END = 0.0, 1.1, 11.5
DISC = (0.3, 0.6, 0.1)  # where u is fed from the time HEATED on: a centre, and a radius


def grid(side):
    """The coordinates of the points of a square with periodic borders."""
    points = np.arange(side) / side
    return np.meshgrid(points, points, indexing="ij")


def rates(t, state, side):
    """The time derivatives of both substances, as one vector."""
    u, v = state.reshape(2, side, side)
    x, y = grid(side)
    fed = 5.0 * ((x - DISC[0]) ** 2 + (y - DISC[1]) ** 2 <= DISC[2] ** 2) * (t >= HEATED)
    product = u * u * v
    return np.stack(
        [
            1 + product - 4.4 * u + DIFFUSION * laplacian(u) + fed,
            3.4 * u - product + DIFFUSION * laplacian(v),
        ]
    ).ravel()


def laplacian(u):
    """By differences of neighbours."""
    around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
    return len(u) ** 2 * (around - 4 * u)


def start(side):
    x, y = grid(side)
    u = 22 * (y * (1 - y)) ** 1.5
    v = 27 * (x * (1 - x)) ** 1.5
    return np.stack([u, v]).ravel()


def solved(side, times=None):
    """The solution by BDF with the sparse Jacobian."""
    jacobian = ad.jacobian(rates, argnums=1, sparse=True)
    return solve_ivp(
        rates,
        (START, END),
        start(side),
        method="BDF",
        t_eval=times,
        args=(side,),
        jac=jacobian,
        rtol=1e-5,
        atol=1e-5,
    )


def pattern(side):
    """Which rate depends on which concentration."""
    return ad.sparsity(rates, START, start(side), side, argnums=1)


def main(side=32):
    state = start(side)
    plan = ad.plan(rates, START, state, side, argnums=1)
    print(f"{state.size} unknowns; the Jacobian: {plan.sparse}")
    solution = solved(side)
    u, v = solution.y[:, -1].reshape(2, side, side)
    print(f"{solution.nfev} rates, {solution.njev} Jacobians, {solution.nlu} factorisations")
    print(f"at t = {END}: u from {u.min():.3f} to {u.max():.3f}, v to {v.max():.3f}")


if __name__ == "__main__":
    main()
