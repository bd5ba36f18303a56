"""Krylov methods in the inner product of a space (Saad, Iterative Methods for Sparse Systems)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.errors import NotConvergedError
from adjoint.calculus.implicit.layout import Rows
from adjoint.calculus.implicit.systems import BoundOperator

Apply = Callable[[Rows], Rows]
# (right-hand side, residual to be reached, most steps) -> solution and steps
Once = Callable[[Rows, float, int], tuple[Rows, int]]


def refined(
    bound: BoundOperator, right: Rows, goal: float, limit: int, once: Once
) -> tuple[Rows, int]:
    """The method, begun anew on what is left, until the goal or what rounding allows."""
    x = np.zeros(bound.size, bound.solution.dtype)
    steps = 0
    while True:
        residual = right - bound.times(x) if steps else right.astype(x.dtype)
        length = bound.norm(residual)
        enough = length <= bound.allowed(x, right, goal)
        if enough or steps >= limit or not np.isfinite(length):
            return x, steps
        update, count = once(residual, max(goal / 2, 1e-14 * length), limit - steps)
        x = x + update
        steps += count or limit


def conjugate_gradients(
    bound: BoundOperator, right: Rows, precondition: Apply, goal: float, limit: int
) -> tuple[Rows, int]:
    """Preconditioned conjugate gradients, algorithm 9.1; every product is the space's."""
    x = np.zeros(bound.size, bound.solution.dtype)
    residual = right
    z = precondition(residual)
    direction, along = z, bound.inner(residual, z)
    for step in range(limit):
        if bound.norm(residual) <= goal:
            return x, step
        image = bound.times(direction)
        curvature = bound.inner(image, direction)
        if not curvature > 0:
            raise NotConvergedError(
                f"Conjugate gradients met a direction u with <A u, u> = {curvature:.2e} in step "
                f"{step}: the operator is not positive definite. Leave `positive` away, or look "
                "at the point: a Hessian that is not positive belongs to no strict minimum."
            )
        x = x + along / curvature * direction
        residual = residual - along / curvature * image
        z = precondition(residual)
        along, before = bound.inner(residual, z), along
        direction = z + along / before * direction
    return x, limit


def generalised_residuals(
    bound: BoundOperator, right: Rows, precondition: Apply, goal: float, restart: int
) -> tuple[Rows, int]:
    """GMRES with preconditioning from the right, algorithm 9.5, as many steps as `restart`."""
    length = bound.norm(right)
    basis = [right / length]
    upper = np.zeros((restart + 1, restart))
    seed = np.zeros(restart + 1)
    seed[0] = length
    weights: Any = np.zeros(0)
    for step in range(restart):
        vector = bound.times(precondition(basis[step]))
        for _ in range(2):  # twice is enough
            for number, other in enumerate(basis):
                overlap = bound.inner(other, vector)
                upper[number, step] += overlap
                vector = vector - overlap * other
        height = upper[step + 1, step] = bound.norm(vector)
        matrix = upper[: step + 2, : step + 1]
        weights, *_ = np.linalg.lstsq(matrix, seed[: step + 2], rcond=None)
        left = np.linalg.norm(seed[: step + 2] - matrix @ weights)
        if left <= goal or not height > 0:
            break
        basis.append(vector / height)
    count = len(weights)
    return precondition(np.asarray(weights @ np.stack(basis[:count]))), count


def minres(
    bound: BoundOperator, right: Rows, precondition: Apply, goal: float, limit: int
) -> tuple[Rows, int]:
    """SciPy's MINRES on R A x = R b, R being the Riesz map, which is symmetric as A is."""
    from scipy.sparse.linalg import LinearOperator
    from scipy.sparse.linalg import minres as scipy_minres

    size, steps = bound.size, 0
    operator = LinearOperator((size, size), lambda x: bound.riesz(bound.times(x)), dtype=float)
    inverse = LinearOperator((size, size), lambda x: precondition(bound.represent(x)), dtype=float)

    def count(_: Any) -> None:
        nonlocal steps
        steps += 1

    rtol = max(goal / bound.norm(right) / 5, 1e-14)
    solution, _ = scipy_minres(
        operator, bound.riesz(right), rtol=rtol, maxiter=limit, M=inverse, callback=count
    )
    return solution.astype(bound.solution.dtype), steps
