"""Constraints for SciPy's minimisers, on coordinates, with their first and second derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from adjoint.base import pytrees
from adjoint.base.errors import AdjointError, ArgumentError, ArgumentTypeError
from adjoint.calculus.first_order.derivative import derivative
from adjoint.calculus.jacobians.sparsity.maps import has_entries
from adjoint.calculus.second_order import hessian, second_derivative
from adjoint.spaces import OrthonormalCoordinates, infer

_LARGE: Final = 100  # unknowns from which derivatives of constraints are computed as sparse ones


def as_constraints(constraints: Any, start: Any, frame: OrthonormalCoordinates, method: str) -> Any:
    """The constraints of a call as SciPy takes them.

    start: the point at which the method starts. frame: the coordinates that it works in.
    """
    if constraints in ((), [], None):
        return ()
    given = constraints if isinstance(constraints, (tuple, list)) else [constraints]
    is_second = method.lower() == "trust-constr"
    return [_constraint(constraint, start, frame, is_second) for constraint in given]


def _constraint(constraint: Any, start: Any, frame: OrthonormalCoordinates, is_second: bool) -> Any:
    """A constraint on the coordinates.

    is_second: whether the method takes second derivatives, and sparse matrices.
    """
    from scipy.optimize import LinearConstraint, NonlinearConstraint  # lazy: it takes long

    sparse = is_second and frame.space.dimension >= _LARGE
    if isinstance(constraint, LinearConstraint):
        given: Any = constraint.A
        if hasattr(given, "toarray") and not sparse:
            given = given.toarray()
        matrix = given if hasattr(given, "toarray") else np.atleast_2d(given)
        if matrix.shape[1] != frame.space.dimension:
            raise ArgumentError(
                f"The matrix of a LinearConstraint has shape {matrix.shape}; expected one column "
                f"for each of the {frame.space.dimension} coordinates of x in space.basis()."
            )
        return LinearConstraint(
            frame.rows(matrix), constraint.lb, constraint.ub, constraint.keep_feasible
        )
    if not isinstance(constraint, NonlinearConstraint):
        raise ArgumentTypeError(
            "Constraints are scipy.optimize.LinearConstraint or NonlinearConstraint. Got a "
            f"{type(constraint).__name__}. NonlinearConstraint(fun, 0, 0) says fun(x) = 0."
        )
    function = constraint.fun

    def values(z: Any) -> Any:
        value = function(frame.element(z))
        return infer(value).coordinates(value)

    own = isinstance(start, np.ndarray)  # derivatives of the user's, as matrices

    def slopes(z: Any) -> Any:
        if own and callable(constraint.jac):
            matrix: Any = constraint.jac(frame.element(z))
            return frame.rows(matrix if hasattr(matrix, "toarray") else np.atleast_2d(matrix))
        slope = derivative(function, frame.element(z), domain=frame.space)
        if frame.space.dimension < _LARGE:
            return frame.rows(slope.matrix())
        matrix = slope.matrix(sparse=True)  # by few products, where it has few entries
        return frame.rows(matrix if sparse else matrix.toarray())

    return NonlinearConstraint(
        values,
        constraint.lb,
        constraint.ub,
        jac=slopes,
        hess=_second(constraint, start, frame) if is_second else None,
        keep_feasible=constraint.keep_feasible,
    )


def _second(constraint: Any, start: Any, frame: OrthonormalCoordinates) -> Any:
    """(z, v) -> the Hessian of v' g in the coordinates z; None where it is not to be had.

    SciPy then approximates it from gradients, as it does for users who do not give one.
    """
    function = constraint.fun
    if isinstance(start, np.ndarray) and callable(constraint.hess):

        def given(z: Any, weights: Any) -> Any:
            matrix = constraint.hess(frame.element(z), weights)
            if hasattr(matrix, "matvec"):  # an operator, as one of the elements
                matrix = matrix @ np.eye(len(z))
            return frame.rows(frame.rows(matrix).T)

        return given

    def weighted(x: Any, weights: Any) -> Any:
        total, first = 0.0, 0
        for value in pytrees.leaves(function(x)):
            stop = first + np.size(value)
            total = total + np.sum(np.reshape(weights[first:stop], np.shape(value)) * value)
            first = stop
        return total

    is_sparse = (
        frame.space.dimension >= _LARGE
        and frame.scales is not None
        and isinstance(start, np.ndarray)
        and has_entries(frame.space)
    )
    matrix = hessian(weighted, sparse=True)

    def second(z: Any, weights: Any) -> Any:
        x = frame.element(z)
        if is_sparse:
            return frame.rows(frame.rows(matrix(x, weights)).T)
        # Prepared once for all of its products, of which SciPy takes many at one point.
        product = second_derivative(lambda x: weighted(x, weights), x).operator()
        return _operator(lambda u: frame.of_covector(product(frame.element(np.ravel(u)))), len(z))

    try:
        value = function(start)
        if not has_entries(infer(value)):
            return None
        z = frame.of(start)
        second(z, np.zeros(infer(value).dimension)) @ np.zeros(len(z))
    except AdjointError:  # a rule is missing for it, say
        return None
    return second


def _operator(apply: Callable[[Any], Any], size: int) -> Any:
    from scipy.sparse.linalg import LinearOperator  # lazy: it takes long

    return LinearOperator((size, size), matvec=apply, rmatvec=apply, dtype=np.float64)
