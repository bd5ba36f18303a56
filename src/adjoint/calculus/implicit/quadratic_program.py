"""Quadratic programs as differentiable functions of all their coefficients (OptNet).

Amos and Kolter, "OptNet: Differentiable Optimization as a Layer in Neural Networks" (2017): the
minimiser is defined by the optimality conditions of Karush, Kuhn and Tucker, an equation in the
minimiser and its multipliers, to which the implicit function theorem applies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.base.errors import DTypeError, ShapeError, SingularError
from adjoint.base.signatures.checked import checked
from adjoint.calculus.first_order.stopping import stop_gradient
from adjoint.calculus.implicit.function import function
from adjoint.calculus.implicit.linear_solvers import Direct
from adjoint.calculus.implicit.quadratic_solver import (
    QuadraticProblem,
    Solution,
    scales_of,
    solve,
    tightness,
)
from adjoint.calculus.implicit.systems import BoundOperator, SolveRows
from adjoint.capture import Traced, current
from adjoint.capture.numpy.table import as_array


@checked
def quadratic_program(
    Q: Any,
    q: Any,
    A: Any = None,
    b: Any = None,
    G: Any = None,
    h: Any = None,
    *,
    multipliers: bool = False,
) -> Any:
    """The minimiser of x'Qx / 2 + q'x subject to Ax = b and Gx <= h: differentiable in all six.

    The derivative is that of the optimality conditions in x and the Lagrange multipliers (E.1.72;
    Amos and Kolter 2017, equations 6 to 8), in every mode and of every order. With inequalities
    the program is solved by Clarabel, an interior point method, and then to rounding as the linear
    equations of its active constraints. Equations alone are solved directly.

    x'Qx depends on the symmetric part of Q alone, so this function of all matrices Q has symmetric
    derivatives with respect to Q.

    Args:
        Q: shape (n, n); its symmetric part is positive semidefinite.
        q: shape (n,).
        A: shape (m, n); None without equations.
        b: shape (m,).
        G: shape (k, n); None without inequalities.
        h: shape (k,).
        multipliers: whether the Lagrange multipliers are returned, too.

    Returns:
        x, of shape (n,); or a `Solution(x, equality, inequality)`, with the multipliers nu of
        Ax = b and lambda >= 0 of Gx <= h, for which Qx + q + A'nu + G'lambda = 0. They too are
        differentiable: -lambda is the derivative of the optimal value with respect to h.

    Raises:
        ShapeError, DTypeError: shapes do not fit, or numbers are not real.
        ArgumentError: Q is not positive semidefinite, or a number is not finite.
        InfeasibleError: no x satisfies the constraints.
        UnboundedError: the objective falls without end.
        NotConvergedError: Clarabel gave up.
        SingularError: when a derivative is computed where there is none or more than one: an active
            constraint with multiplier zero (strict complementarity fails), active constraints
            that depend on each other, or a minimiser that is not the only one. The value is right
            there.
        MissingPackageError: there are inequalities, and Clarabel is not installed: pip install
            'adjoint[qp]'.
        ArgumentTypeError: an argument is no array of numbers, or `multipliers` neither True nor
            False.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> def onto_simplex(y):  # the nearest point with entries >= 0 and sum 1
        ...     I = np.eye(3)
        ...     return ad.implicit.quadratic_program(
        ...         I, -y, np.ones((1, 3)), np.ones(1), -I, np.zeros(3)
        ...     )
        >>> y = np.array([0.5, 1.2, -0.3])
        >>> onto_simplex(y).round(12) + 0.0
        array([0.15, 0.85, 0.  ])
        >>> ad.jacobian(onto_simplex)(y).round(12) + 0.0
        array([[ 0.5, -0.5,  0. ],
               [-0.5,  0.5,  0. ],
               [ 0. ,  0. ,  0. ]])
    """
    solution = _solve(_problem(Q, q, A, b, G, h))
    return solution if multipliers else solution.x


def _problem(Q: Any, q: Any, A: Any, b: Any, G: Any, h: Any) -> QuadraticProblem:
    """The arguments as arrays of one dtype, whose shapes fit."""
    q = _array("q", q, 1)
    n = q.shape[0]
    if not n:
        raise ShapeError("q of a quadratic program is empty: there is nothing to minimise over.")
    none = (np.zeros((0, n), np.float32), np.zeros(0, np.float32))
    for matrix, vector, names in ((A, b, "A and b"), (G, h, "G and h")):
        if (matrix is None) != (vector is None):
            raise ShapeError(f"{names} of a quadratic program belong together: give both or none.")
    A, b = none if A is None else (A, b)
    G, h = none if G is None else (G, h)
    arrays = {"Q": _array("Q", Q, 2), "q": q}
    arrays |= {"A": _array("A", A, 2), "b": _array("b", b, 1)}
    arrays |= {"G": _array("G", G, 2), "h": _array("h", h, 1)}
    wanted = {"Q": (n, n), "q": (n,)}
    for matrix, vector in (("A", "b"), ("G", "h")):
        rows = arrays[vector].shape[0]
        wanted |= {matrix: (rows, n), vector: (rows,)}
    for name, array in arrays.items():
        if array.shape != wanted[name]:
            raise ShapeError(
                f"{name} of a quadratic program in {n} unknowns has shape {array.shape}; expected "
                f"{wanted[name]}: Q (n, n), q (n,), A (m, n), b (m,), G (k, n), h (k,)."
            )
    dtype = np.result_type(*(array.dtype for array in arrays.values()))
    dtype = dtype if dtype.kind == "f" and dtype.itemsize > 2 else np.dtype(float)
    return QuadraticProblem(**{name: _cast(array, dtype) for name, array in arrays.items()})


def _array(name: str, value: Any, ndim: int) -> Any:
    if not isinstance(value, Traced):
        value = as_array(value) if current() is not None else np.asarray(value)
    if value.dtype.kind not in "biuf":
        raise DTypeError(
            f"{name} of a quadratic program is of dtype {value.dtype}; it takes real numbers."
        )
    if value.ndim != ndim:
        raise ShapeError(
            f"{name} of a quadratic program has {value.ndim} axes; expected {ndim}. A batch of "
            "programs is solved with ad.vmap."
        )
    return value


def _cast(array: Any, dtype: np.dtype[Any]) -> Any:
    return array if array.dtype == dtype else array.astype(dtype)


# --- the optimality conditions --------------------------------------------------------------------


def _conditions(y: Solution, problem: QuadraticProblem) -> Solution:
    """What is zero at a solution: stationarity, the equations, and complementarity.

    Of each inequality either the slack is zero or the multiplier is, and that one is taken. Where
    both are, the row is constantly zero, and so no derivative is found.
    """
    Q, q, A, b, G, h = problem
    slope = (Q + Q.T) @ y.x / 2 + q + A.T @ y.equality + G.T @ y.inequality
    if not h.shape[0]:
        return Solution(slope, A @ y.x - b, y.inequality)
    held = QuadraticProblem(*map(stop_gradient, problem))
    distance, push = tightness(held, Solution(*map(stop_gradient, y)), scales_of(held))
    active = stop_gradient(y.inequality) > 0
    clear = np.where(active, push, distance) > _least_distance(q.dtype)
    chosen = np.where(active, G @ y.x - h, y.inequality)
    return Solution(slope, A @ y.x - b, np.where(clear, chosen, 0))


def _least_distance(dtype: np.dtype[Any]) -> float:
    """What is less counts as zero: a slack of the size of x, or a force of that of the gradient."""
    return float(np.finfo(dtype).eps ** 0.6)


@dataclass(frozen=True)
class _Conditions(Direct):
    """The linear equations of the derivative, with an error in terms of the program."""

    def prepare(self, bound: BoundOperator) -> SolveRows:
        """Factorise."""
        try:
            return super().prepare(bound)
        except SingularError as error:
            raise SingularError(_why(bound, str(error))) from None


def _why(bound: BoundOperator, text: str) -> str:
    matrices = bound.matrices()
    inequalities = (
        matrices.shape[1] - (bound.right if bound.facts.dual else bound.solution).sizes[2]
    )
    zero = ~np.any(matrices, axis=1 if bound.facts.dual else 2)
    touching = sorted({int(place) for _, place in np.argwhere(zero[:, inequalities:])})
    lead = "The solution of a quadratic program has no single derivative here: "
    if touching:
        return (
            f"{lead}the inequalities {touching} of Gx <= h hold with equality, and their "
            "multipliers are zero (strict complementarity fails), so that in one direction they "
            "bind and in the other they do not. Move h or q a little, or leave them away."
        )
    return (
        f"{lead}its active constraints depend on each other, or Q is not positive definite on the "
        f"directions that they leave free. {text}"
    )


def _unknowns(problem: QuadraticProblem) -> Solution:
    """Arrays of the types of a solution."""
    rows = (problem.q, problem.b, problem.h)
    return Solution(*(np.empty(vector.shape, vector.dtype) for vector in rows))


@function(_conditions, result=_unknowns, linear_solver=_Conditions())
def _solve(problem: QuadraticProblem) -> Solution:
    solution = solve(problem)
    dtype = problem.q.dtype
    return Solution(*(part.astype(dtype) for part in solution))
