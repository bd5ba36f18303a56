"""Least squares with an operator: x as the solution of a system that is symmetric.

With the residual r = b - A x, what `lsmr` finds solves

    [ I   A   ] [r]   [b]
    [ A^H -d^2] [x] = [0],

so that derivatives and their transposes are solutions of the same system with other right-hand
sides, which two runs of the method find. They need A of full column rank, or damp: where the
derivative with respect to A is asked for, that is tried on a random vector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Final

import numpy as np

from adjoint.calculus.implicit.layout import Rows
from adjoint.calculus.implicit.linear import operator_of, solve_with
from adjoint.calculus.implicit.linear_solvers import each_row
from adjoint.calculus.implicit.proofs import SingularityProof, with_proof
from adjoint.calculus.implicit.systems import (
    BoundOperator,
    Core,
    Facts,
    LinearSolver,
    Operator,
    SolveRows,
)
from adjoint.capture.scipy.operators import TracedOperator
from adjoint.primitives.linear_algebra.sparse.least_squares import (
    solve_least_squares,
    solved_to_rounding,
)
from adjoint.program import Program

_FAINT: Final = 2e-11  # the square of a damp over that of A's size, below which it is no help


@dataclass(frozen=True)
class LeastSquares(LinearSolver):
    """`lsmr` or `lsqr` for the symmetric system.

    name: SciPy's name of it. options: its other arguments. damped: whether d is not zero.
    proving: whether it goes on as long as that makes sense.
    """

    name: str
    options: tuple[tuple[str, Any], ...]
    damped: bool
    proving: bool = False

    def proven(self, core: Core, derivative: Program) -> Program:
        """Without full rank, something is found as well."""
        proof = SingularityProof(core.solved_by(replace(self, proving=True)), (False, True))
        return with_proof(derivative, proof)

    def takes_blocks(self, operator: Operator) -> bool:
        """One after the other."""
        return False

    def prepare(self, bound: BoundOperator) -> SolveRows:
        """Ready to solve."""
        residual, unknown = (np.zeros(type_.shape, type_.dtype) for type_ in bound.solution.types)

        def times(x: Any) -> Any:
            return bound.apply([residual, x])[0]

        def back(r: Any) -> Any:
            return bound.apply([r, unknown])[1]

        damp = 0.0
        if self.damped and unknown.size:
            damp = float(np.sqrt(-bound.apply([residual, np.ones_like(unknown)])[1][0].real))
        shape, dtype = (residual.size, unknown.size), unknown.dtype
        solve = self._solution(shape, times, back, damp, dtype)

        def both(right: Rows) -> Rows:
            top, bottom = bound.right.leaves(right)
            return bound.solution.vector(solve(top, bottom))

        return each_row(both)

    def _solution(
        self, shape: tuple[int, int], times: Any, back: Any, damp: float, dtype: Any
    ) -> Callable[[Any, Any], Any]:
        """The r and x of the system with a right-hand side in two parts."""
        operator = _operator(shape, times, back, dtype)
        rows, columns = shape
        if damp:
            whole = _operator(
                (rows + columns, columns),
                lambda x: np.concatenate([times(x), damp * x]),
                lambda r: back(r[:rows]) + damp * r[rows:],
                dtype,
            )
        else:
            whole = operator

        def solve(top: Any, bottom: Any) -> tuple[Any, Any]:
            if self.proving:
                if _is_faint(damp, top, bottom):  # and makes up for no rank that A lacks
                    x = solved_to_rounding(operator, top, self.name)
                else:  # of an exact solution, top = A x and bottom = -d^2 x
                    both = np.concatenate([top, -bottom / damp])
                    x = solved_to_rounding(whole, both, self.name)
                return top - times(x), x
            x = np.zeros(columns, dtype)
            if top.any() or not bottom.any():
                options = (*self.options, ("damp", damp))
                x = solve_least_squares(operator, top, self.name, options)
            r = top - times(x)
            if not bottom.any():
                return r, x
            # With B = A, or A with damp I below it: B^H w = bottom adds the rows of A of w to the
            # residual, and takes B^+ w from x. A residual of all of x would lose what is small.
            side = solve_least_squares(whole.H, bottom, self.name, self.options)
            return r + side[:rows], x - solve_least_squares(whole, side, self.name, self.options)

        return solve


def _is_faint(damp: float, top: Any, bottom: Any) -> bool:
    """Whether derivatives, in which 1 / d^2 occurs, would have fewer than five digits for a damp.

    top, bottom: A x and -d^2 x for some x, which tell the size of A.
    """
    if not damp:
        return True
    x = float(np.linalg.norm(bottom)) / damp**2
    return (damp * x) ** 2 < _FAINT * float(np.linalg.norm(top)) ** 2


def _operator(shape: tuple[int, int], times: Any, back: Any, dtype: Any) -> Any:
    linear_operator = import_module("scipy.sparse.linalg").LinearOperator
    return linear_operator(shape, matvec=times, rmatvec=back, dtype=dtype)


def solve_with_operator(
    name: str, operator: TracedOperator, right: Any, damp: Any, options: dict[str, Any]
) -> tuple[Any, Any]:
    """x and the residual b - A x, for a right-hand side with one axis."""
    damped = not (isinstance(damp, (int, float)) and damp == 0)

    def apply(both: Any) -> Any:
        r, x = both
        above, below = operator.matvec(x), operator.rmatvec(r)
        return r + above, below - damp * damp * x if damped else below

    known = tuple(sorted(options.items()))
    facts = Facts(LeastSquares(name, known, damped), self_adjoint=True)
    unknown = np.zeros(operator.shape[1], right.dtype)
    fixed, core = operator_of(apply, (np.zeros(right.shape, right.dtype), unknown), facts, True)
    residual, x = solve_with(core, fixed, (right, unknown))
    return x, residual
