"""Sod's shock tube with implicit steps, whose Jacobians are eliminated vertex by vertex.

Gas of high pressure meets gas of low pressure; Roe's flux says what passes between two cells. An
implicit step needs its Jacobian at every face. The flux is a graph of few numbers: eliminating its
vertices in a good order takes far fewer products than forward or reverse mode, and `ad.vmap` does
so at all faces at once.

    python examples/shock_tube.py
    adjoint check examples/shock_tube.py:shock_tube
"""

import numpy as np

import adjoint as ad

GAMMA = 1.4
LEFT, RIGHT = np.array([1.0, 0.0, 2.5]), np.array([0.125, 0.0, 0.25])  # density, momentum, energy
inputs = (np.array([1.0, 0.4, 2.5]), np.array([0.5, 0.1, 1.0]))


def shock_tube(left, right):
    """Roe's flux (1981) from one cell into the next."""
    (rho_l, momentum_l, energy_l), (rho_r, momentum_r, energy_r) = left, right
    u_l, u_r = momentum_l / rho_l, momentum_r / rho_r
    p_l = (GAMMA - 1) * (energy_l - momentum_l * u_l / 2)
    p_r = (GAMMA - 1) * (energy_r - momentum_r * u_r / 2)
    root_l, root_r = np.sqrt(rho_l), np.sqrt(rho_r)
    u = (root_l * u_l + root_r * u_r) / (root_l + root_r)
    h = ((energy_l + p_l) / root_l + (energy_r + p_r) / root_r) / (root_l + root_r)
    c = np.sqrt((GAMMA - 1) * (h - u * u / 2))
    push, pull = (p_r - p_l) / c**2, root_l * root_r * (u_r - u_l) / c
    slow, fast = np.abs(u - c) * (push - pull) / 2, np.abs(u + c) * (push + pull) / 2
    middle = np.abs(u) * (rho_r - rho_l - push)
    mass = momentum_l + momentum_r - slow - middle - fast
    force = momentum_l * u_l + p_l + momentum_r * u_r + p_r
    force -= slow * (u - c) + middle * u + fast * (u + c)
    power = u_l * (energy_l + p_l) + u_r * (energy_r + p_r)
    power -= slow * (h - u * c) + middle * u * u / 2 + fast * (h + u * c)
    return np.stack([mass, force, power]) / 2


flux = ad.vmap(shock_tube)
slopes = ad.vmap(ad.jacobian(shock_tube, argnums=(0, 1), mode="elimination"))


def implicit_step(cells, ratio):
    """One step of Newton's method for the states after a time of `ratio` widths of a cell."""
    n = len(cells)
    padded = np.concatenate([cells[:1], cells, cells[-1:]])
    through = flux(padded[:-1], padded[1:])
    by_left, by_right = slopes(padded[:-1], padded[1:])
    matrix = np.zeros((n, 3, n, 3))
    i = np.arange(n)
    matrix[i, :, i] = np.eye(3) + ratio * (by_left[1:] - by_right[:-1])
    matrix[i[1:], :, i[:-1]] -= ratio * by_left[1:-1]
    matrix[i[:-1], :, i[1:]] += ratio * by_right[1:-1]
    change = -ratio * np.diff(through, axis=0)
    return cells + np.linalg.solve(matrix.reshape(3 * n, 3 * n), change.ravel()).reshape(n, 3)


def tube(n=150, ratio=0.5, time=0.2):
    """The middles of the cells, and the states at this time."""
    x = (np.arange(n) + 0.5) / n
    cells = np.where(x[:, None] < 0.5, LEFT, RIGHT)
    for _ in range(round(time * n / ratio)):
        cells = implicit_step(cells, ratio)
    return x, cells


def operations():
    """What the Jacobian of the flux takes in each order."""
    plan = ad.plan(shock_tube, *inputs, argnums=(0, 1))
    return {candidate.mode.value: candidate.operations for candidate in plan.candidates}


def main():
    for mode, count in operations().items():
        print(f"{mode:11s} {count:4.0f} operations")
    _, cells = tube()
    print(f"mass {cells[:, 0].mean():.6f}, energy {cells[:, 2].mean():.6f}, as at the start")


if __name__ == "__main__":
    main()
