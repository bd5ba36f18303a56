"""Solving quadratic programs to rounding: an interior point method, then its active constraints.

Interior point methods stop some 1e-9 from the solution, with multipliers of inactive constraints
that are small and not zero. Nearly always they tell which constraints are active (where they do
not, pivoting does), and those with equality are linear equations (the KKT system), solved to
rounding here. So the multiplier of an inactive constraint is exactly zero.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.base.errors import (
    ArgumentError,
    InfeasibleError,
    MissingPackageError,
    NotConvergedError,
    UnboundedError,
)

Array = np.ndarray[Any, Any]

_BALANCING_STEPS: Final = 3  # each takes the square root of how far sizes lie apart
# Relative errors that a solution of linear equations may have, and that of what is near.
_EXACT: Final = 1e-9
_NEAR: Final = 1e-7
# Of the distance, beside an objective of size 1.
_PROXIMITY: Final = 1e-7


class QuadraticProblem(NamedTuple):
    """min x'Qx / 2 + q'x subject to Ax = b, Gx <= h; without constraints of a kind, 0 rows."""

    Q: Any
    q: Any
    A: Any
    b: Any
    G: Any
    h: Any


class Solution(NamedTuple):
    """A minimiser and its Lagrange multipliers: Qx + q + A'nu + G'lambda = 0, with lambda >= 0.

    x: the minimiser, shape (n,). equality: nu, the multipliers of Ax = b. inequality: lambda, those
    of Gx <= h; zero where a constraint is not active.
    """

    x: Any
    equality: Any
    inequality: Any


class Scales(NamedTuple):
    """Factors that bring x, and the rows of A and of G, to one scale.

    x: shape (n,), the unknowns are these times numbers without units. equality: shape (m,).
    inequality: shape (k,).
    """

    x: Any
    equality: Any
    inequality: Any


def solve(problem: QuadraticProblem) -> Solution:
    """The solution of a convex program of arrays, in double precision."""
    problem = QuadraticProblem(*(np.asarray(array, float) for array in problem))
    problem = problem._replace(Q=(problem.Q + problem.Q.T) / 2)
    _check(problem)
    scales = scales_of(problem)
    if not len(problem.h):
        return _only_equalities(problem, scales)
    return _polished(problem, _interior_point(problem, scales), scales)


def _check(problem: QuadraticProblem) -> None:
    for name, array in problem._asdict().items():
        if not np.all(np.isfinite(array)):
            raise ArgumentError(
                f"{name} of a quadratic program holds NaN or infinity. Leave constraints that do "
                "not bind away."
            )
    if not len(problem.q):
        return
    eigenvalues = np.linalg.eigvalsh(problem.Q)
    allowed = len(problem.q) * np.finfo(float).eps * 8 * max(abs(eigenvalues[0]), eigenvalues[-1])
    if eigenvalues[0] < -allowed:
        raise ArgumentError(
            f"Q of a quadratic program is not positive semidefinite: its smallest eigenvalue is "
            f"{eigenvalues[0]:.3g}, its largest {eigenvalues[-1]:.3g}. The program is not convex, "
            "and quadratic_program finds minimisers of convex ones only."
        )


# --- linear equations ----------------------------------------------------------------------------


def scales_of(problem: QuadraticProblem) -> Scales:
    """Factors of x and of the rows of A and G that make the largest entries about 1 everywhere.

    Variables and constraints may be written in any units. This is Ruiz's iteration (2001) on the
    matrix [[Q, A', G'], [A, 0, 0], [G, 0, 0]]; problems may be traced.
    """
    curvature, rows = np.abs(problem.Q), np.abs(np.concatenate([problem.A, problem.G]))
    columns, row_factors = np.ones_like(problem.q), np.ones_like(rows[:, 0])
    for _ in range(_BALANCING_STEPS):
        scaled = rows * row_factors[:, None] * columns
        largest = np.max(curvature * columns[:, None] * columns, axis=1)
        largest = np.maximum(largest, np.max(scaled, axis=0, initial=0))
        widest = np.max(scaled, axis=1)
        columns = columns / np.sqrt(np.where(largest > 0, largest, 1))
        row_factors = row_factors / np.sqrt(np.where(widest > 0, widest, 1))
    count = problem.b.shape[0]
    return Scales(columns, row_factors[:count], row_factors[count:])


def _stationary(
    problem: QuadraticProblem, near: Solution, active: Array, scales: Scales
) -> Solution:
    """The solution with these inequalities as equations and the others left away.

    Of many solutions the nearest.
    """
    n, equalities = len(problem.q), len(problem.b)
    rows = np.concatenate([problem.A, problem.G[active]])
    empty = np.zeros((len(rows), len(rows)))
    matrix = np.block([[problem.Q, rows.T], [rows, empty]])
    right = np.concatenate([-problem.q, problem.b, problem.h[active]])
    scale = np.concatenate([scales.x, scales.equality, scales.inequality[active]])
    inverse = _inverse(scale[:, None] * matrix * scale)
    point = np.concatenate([near.x, near.equality, near.inequality[active]])
    for _ in range(2):  # the second time refines
        point = point + scale * (inverse @ (scale * (right - matrix @ point)))
    inequality = np.zeros(len(problem.h))
    inequality[active] = point[n + equalities :]
    return Solution(point[:n], point[n : n + equalities], inequality)


def _inverse(matrix: Array) -> Array:
    """The inverse, or the pseudo-inverse of what is singular to working precision."""
    try:
        inverse = np.linalg.inv(matrix)
        condition = np.linalg.norm(matrix, 1) * np.linalg.norm(inverse, 1) if inverse.size else 1.0
    except np.linalg.LinAlgError:
        condition = np.inf
    if condition < 1e13:
        return inverse
    return np.linalg.pinv(matrix, rcond=1e-13, hermitian=True)


def _only_equalities(problem: QuadraticProblem, scales: Scales) -> Solution:
    zero = Solution(*map(np.zeros_like, (problem.q, problem.b, problem.h)))
    solution = _stationary(problem, zero, np.zeros(0, bool), scales)
    error, gap = _errors(problem, solution, scales)
    if gap > _EXACT:
        raise InfeasibleError(
            f"The equations Ax = b of a quadratic program contradict each other: the best x leaves "
            f"|Ax - b| = {_size(problem.A @ solution.x - problem.b):.3g}. Rows of A depend on each "
            "other, and b does not."
        )
    if error > _EXACT:
        slope = problem.Q @ solution.x + problem.q + problem.A.T @ solution.equality
        raise UnboundedError(_falls(problem, -slope))
    return solution


def _falls(problem: QuadraticProblem, direction: Array) -> str:
    direction = direction / _size(direction)
    return (
        "A quadratic program has no minimiser: along the direction d = "
        f"{_listed(direction)} its constraints allow every step, and the objective falls without "
        f"end, with q'd = {problem.q @ direction:.3g} and Qd = 0."
    )


def _size(array: Array) -> float:
    return float(np.max(np.abs(array), initial=0))


def _listed(array: Array) -> str:
    return np.array2string(array, precision=3, threshold=8, edgeitems=3, suppress_small=True)


# --- the interior point method --------------------------------------------------------------------


def _interior_point(problem: QuadraticProblem, scales: Scales) -> Solution:
    """Clarabel's solution (Goulart and Chen, 2024)."""
    try:
        clarabel: Any = import_module("clarabel")  # an extra
    except ImportError:
        raise MissingPackageError(
            "Quadratic programs with inequalities are solved by Clarabel, which is not installed: "
            "pip install 'adjoint[qp]'. With equations alone it is not needed."
        ) from None
    from scipy.sparse import csc_array  # late: slow to import

    equalities, inequalities = len(problem.b), len(problem.h)
    columns, row_factors = scales.x, np.concatenate(scales[1:])
    cones = [clarabel.ZeroConeT(equalities), clarabel.NonnegativeConeT(inequalities)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = 500
    settings.presolve_enable = False  # which leaves out what is larger than 1e20
    solver = clarabel.DefaultSolver(
        csc_array(np.triu(columns[:, None] * problem.Q * columns)),
        columns * problem.q,
        csc_array(row_factors[:, None] * np.concatenate([problem.A, problem.G]) * columns),
        row_factors * np.concatenate([problem.b, problem.h]),
        cones,
        settings,
    )
    answer = solver.solve()
    x, multipliers = columns * answer.x, row_factors * answer.z
    _check_status(problem, scales, answer, x, multipliers)
    return Solution(x, multipliers[:equalities], multipliers[equalities:])


def _check_status(
    problem: QuadraticProblem, scales: Scales, answer: Any, x: Array, multipliers: Array
) -> None:
    status = str(answer.status)
    if status in ("Solved", "AlmostSolved", "InsufficientProgress"):
        return  # what is not solved yet may be by its active constraints, or is found not to be
    if "PrimalInfeasible" in status and _shows_infeasible(problem, scales, multipliers):
        weights = multipliers / _size(multipliers)
        sides = np.concatenate([problem.b, problem.h])
        raise InfeasibleError(
            "No x satisfies the constraints of a quadratic program: the rows of [A; G], added with "
            f"the weights {_listed(weights)} (those of G are not negative), give 0 <= "
            f"{float(weights @ sides):.3g}."
        )
    if "DualInfeasible" in status and _shows_unbounded(problem, scales, x):
        raise UnboundedError(_falls(problem, x))
    raise NotConvergedError(
        f"A quadratic program of {len(problem.q)} unknowns was not solved: Clarabel says {status} "
        f"after {answer.iterations} iterations, with a primal residual of {answer.r_prim:.2e} and "
        f"a dual one of {answer.r_dual:.2e}. Numbers of very different sizes are a likely cause."
    )


def _shows_infeasible(problem: QuadraticProblem, scales: Scales, weights: Array) -> bool:
    """Whether the rows with these weights add up to 0 <= something negative."""
    rows, sides = np.concatenate([problem.A, problem.G]), np.concatenate([problem.b, problem.h])
    largest = _size(weights / np.concatenate(scales[1:]))
    return float(weights @ sides) < 0 and _size(scales.x * (weights @ rows)) <= _NEAR * largest


def _shows_unbounded(problem: QuadraticProblem, scales: Scales, direction: Array) -> bool:
    """Whether the objective falls along the direction, the constraints holding, without end."""
    small = _NEAR * _size(direction / scales.x)
    return (
        float(problem.q @ direction) < 0
        and _size(scales.x * (problem.Q @ direction)) <= small
        and _size(scales.equality * (problem.A @ direction)) <= small
        and float(np.max(scales.inequality * (problem.G @ direction))) <= small
    )


# --- the active constraints -----------------------------------------------------------------------


def tightness(problem: QuadraticProblem, solution: Solution, scales: Scales) -> tuple[Any, Any]:
    """How far each inequality is from being active, and how hard it pushes; both without units."""
    columns, of_equations, of_inequalities = scales
    x, multipliers = solution.x / columns, solution.inequality / of_inequalities
    curvature = np.max(np.abs(columns[:, None] * problem.Q * columns))
    slope = np.max(np.abs(columns * problem.q))
    length = np.maximum(np.max(np.abs(x)), slope / np.where(curvature > 0, curvature, np.inf))
    # Where the objective says nothing of the size of x, and x is zero but for an error, the
    # constraints say it.
    sides = np.abs(np.concatenate([of_equations * problem.b, of_inequalities * problem.h]))
    least = np.min(np.where(sides > 0, sides, np.inf))
    silent = ((slope == 0) | (curvature == 0)) & np.isfinite(least)
    length = np.where(silent, np.maximum(length, least), length)
    bend = np.max(np.abs(columns * (problem.Q @ solution.x)))
    force = np.maximum(np.maximum(slope, bend), np.max(np.abs(multipliers)))
    force = np.where((slope > 0) | (curvature > 0), force, 1.0)  # else no point is better
    return (
        of_inequalities * (problem.h - problem.G @ solution.x) / np.where(length > 0, length, 1.0),
        multipliers / np.where(force > 0, force, 1.0),
    )


def _polished(problem: QuadraticProblem, near: Solution, scales: Scales) -> Solution:
    """The solution of the linear equations of the active constraints that a near solution has.

    Where that solution does not tell them, a method finds them that goes from one set to another.
    """
    distance, push = tightness(problem, near, scales)
    for guess in (lambda: push > distance, lambda: _pivoted(problem, near, scales)):
        solution = _exchanged(problem, near, guess(), scales)
        if solution is not None:
            return solution
    error, gap = _errors(problem, near, scales)
    raise NotConvergedError(
        f"A quadratic program of {len(problem.q)} unknowns was not solved to rounding: no set of "
        f"active constraints was found. Near by, a relative residual of {error:.1e} is left in its "
        f"stationarity, one of {gap:.1e} in its equations, and a constraint is violated by "
        f"{max(-float(np.min(distance)), 0):.1e}. Numbers of very different sizes, or constraints "
        "that all but contradict each other, are likely causes."
    )


def _exchanged(
    problem: QuadraticProblem, near: Solution, active: Array, scales: Scales
) -> Solution | None:
    """The solution for this active set, or for that which letting go and taking on leads to."""
    seen: list[bytes] = []
    while active.tobytes() not in seen:
        seen.append(active.tobytes())
        solution = _stationary(problem, near, active, scales)
        distance, push = tightness(problem, solution, scales)
        pulls, violated = push < -_EXACT, distance < -_EXACT
        wrong = pulls | violated | (active & (distance > _EXACT))  # these contradict each other
        if not wrong.any() and max(_errors(problem, solution, scales)) <= _EXACT:
            return solution._replace(inequality=np.maximum(solution.inequality, 0))
        active = (active & ~pulls) | violated
    return None


def _pivoted(problem: QuadraticProblem, near: Solution, scales: Scales) -> Array:
    """The active set by pivoting, which tells apart what an interior point method does not.

    The program as one of least distance, solved by non-negative least squares (Lawson and Hanson
    1974, chapter 23). A small multiple of the distance from the near solution makes the objective
    strictly convex.
    """
    from scipy.linalg import null_space, solve_triangular  # late: slow to import
    from scipy.optimize import nnls

    columns, of_equations, of_inequalities = scales
    Q = columns[:, None] * problem.Q * columns
    A, G = (
        of_equations[:, None] * problem.A * columns,
        of_inequalities[:, None] * problem.G * columns,
    )
    start = near.x / columns
    start = start + np.linalg.pinv(A) @ (of_equations * problem.b - A @ start)
    free = null_space(A) if len(A) else np.eye(len(start))
    none = np.zeros(len(G), bool)
    if not free.shape[1]:
        return none
    slope = free.T @ (Q @ start + columns * problem.q)
    factor = np.linalg.cholesky(free.T @ Q @ free + _PROXIMITY * np.eye(free.shape[1]))
    # x = start + free (factor^-T z - (the minimiser without inequalities)): minimise |z|.
    lowest = start - free @ np.linalg.solve(factor @ factor.T, slope)
    sides = solve_triangular(factor, (G @ free).T, lower=True)  # of z' sides <= room
    room = of_inequalities * problem.h - G @ lowest
    unit = max(_size(room), 1e-300)  # z in units of this
    try:
        weights = nnls(np.vstack([-sides, -room / unit]), np.eye(len(sides) + 1)[-1])[0]
    except RuntimeError:  # too many iterations
        return none
    return np.asarray(weights > 0)


def _errors(problem: QuadraticProblem, solution: Solution, scales: Scales) -> tuple[float, float]:
    """What is left of stationarity and of the equations, relative to their terms."""
    columns, of_equations, _ = scales
    slope = problem.Q @ solution.x + problem.q
    slope = slope + problem.A.T @ solution.equality + problem.G.T @ solution.inequality
    gap = problem.A @ solution.x - problem.b
    parts = (
        problem.q,
        problem.Q @ solution.x,
        np.abs(problem.A.T) @ np.abs(solution.equality),
        np.abs(problem.G.T) @ np.abs(solution.inequality),
    )
    force = sum(_size(columns * part) for part in parts)
    if not (problem.Q.any() or problem.q.any()):  # no point is better than another
        force = 1.0
    length = _size(of_equations * problem.b) + _size(solution.x / columns)
    return _size(columns * slope) / (force or 1.0), _size(of_equations * gap) / (length or 1.0)
