"""The bordered systems of eigenpairs: sparse factors, a dense inverse, or MINRES.

The matrix is [A - l M, M v; (M v)^H, 0], the fixed operands are what A and M depend on, all of the
eigenvalues, the one that is meant, and its vector. See `adjoint.scipy.sparse.eigenpairs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

import numpy as np

from adjoint.base.errors import DegenerateError, NotConvergedError, SingularError
from adjoint.calculus.implicit.krylov import minres
from adjoint.calculus.implicit.layout import Rows
from adjoint.calculus.implicit.linear_solvers import Direct, Krylov, Method, each_row
from adjoint.calculus.implicit.systems import (
    DENSE_LIMIT,
    BoundOperator,
    LinearSolver,
    Operator,
    SolveRows,
)
from adjoint.primitives.linear_algebra.sparse.eigen import rounding_of

# Eigenvalues that are closer than this, of the largest one, are one value: rounding decides which
# vectors belong to them.
CLOSE: Final = 1e-9
_STILL: Final = 1e-6  # of a vector, what is left by an operator for which it counts as lost
_TIGHT: Final = 1e-11  # of a right-hand side, how much a trial by MINRES may leave
_TRIAL: Final = 1e-2  # of one entry's share of a random vector, what a trial may leave


def pencil_matrix(fixed: Sequence[Any], size: int) -> Any:
    """The sparse matrix of these entries, rows and columns."""
    entries, rows, columns = map(np.asarray, fixed[:3])
    return import_module("scipy.sparse").csc_array((entries, (rows, columns)), (size, size))


@dataclass(frozen=True)
class BorderedSolver(LinearSolver):
    """Solves bordered systems, and refuses those of eigenvalues that are not simple.

    counts: of the operands of A, and of M if there is one. sparse: whether these are the entries,
    rows and columns of matrices.
    """

    counts: tuple[int, ...]
    sparse: bool

    def takes_blocks(self, operator: Operator) -> bool:
        """One after the other."""
        return False

    def prepare(self, bound: BoundOperator) -> SolveRows:
        """Factorise, or try MINRES on a random vector."""
        if not self.sparse and bound.size > DENSE_LIMIT:
            return self._iterated(bound)
        try:
            solve = self._factorised(bound) if self.sparse else Direct().prepare(bound)
        except (SingularError, RuntimeError):  # the latter in SuperLU's words
            raise _degenerate(bound) from None
        _, trial = _Along(bound).split(_random(bound))
        solution = solve(trial.reshape(1, 1, -1)).ravel()
        self._refuse(bound, trial, solution, trial - bound.times(solution), np.inf)
        return solve

    def _factorised(self, bound: BoundOperator) -> SolveRows:
        sparse = import_module("scipy.sparse")
        value, vector = (np.asarray(x) for x in bound.fixed[-2:])
        size, dtype = vector.size, vector.dtype
        first = self.counts[0]
        matrix = pencil_matrix(bound.fixed, size)
        mass = sparse.eye_array(size, format="csc")
        if len(self.counts) > 1:
            mass = pencil_matrix(bound.fixed[first:], size)
        border = sparse.csc_array((mass @ vector)[:, None])
        rows = [[matrix - value * mass, border], [border.conj().T, None]]
        whole = sparse.block_array(rows).tocsc().astype(dtype)
        trial = _random(bound)
        # The transposed system has the conjugate matrix where numbers are complex.
        times = whole @ trial.view(dtype)
        if np.linalg.norm(times.view(trial.dtype) - bound.times(trial)) > _STILL * np.linalg.norm(
            times
        ):
            whole = whole.conj()
        factors = import_module("scipy.sparse.linalg").splu(whole)
        return each_row(lambda right: factors.solve(right.view(dtype)).view(right.dtype))

    def _iterated(self, bound: BoundOperator) -> SolveRows:
        along = _Along(bound)
        _, trial = along.split(_random(bound))
        # Singular systems are told by what is left at the end: a direction that is lost.
        length = float(np.linalg.norm(trial))
        solution, _ = minres(bound, trial, lambda r: r, _TIGHT * length, 10 * bound.size)
        goal = _TRIAL * length / bound.size**0.5
        self._refuse(bound, trial, solution, trial - bound.times(solution), goal)
        solve = Krylov(Method.MINRES).prepare(bound)

        def both(right: Rows) -> Rows:
            known, rest = along.split(right)
            # Of a gradient of eigenvalues alone, nothing is left.
            if np.linalg.norm(rest) <= 8 * np.finfo(rest.dtype).eps * np.linalg.norm(right):
                return known
            return np.asarray(known + solve(rest.reshape(1, 1, -1)).ravel())

        return each_row(both)

    def _refuse(
        self, bound: BoundOperator, trial: Rows, solution: Rows, rest: Rows, goal: float
    ) -> None:
        """DegenerateError where a system makes much of a random vector, or loses a part of it.

        The vector has nothing along the eigenvector, nor in the corner: what is made of those does
        not depend on how far other eigenvalues are, and has other units.
        """
        values, value, vector = (np.asarray(x) for x in bound.fixed[-3:])
        weighted = bound.apply([np.zeros_like(vector), np.ones((), vector.dtype)])[0]
        length = float(np.linalg.norm(weighted) / np.linalg.norm(vector))
        size = length * float(np.max(np.abs(values))) or bound.scale
        given = float(np.linalg.norm(trial))
        across = np.asarray(bound.solution.leaves(solution)[0])
        growth = float(np.linalg.norm(across)) / given * bound.size**0.5
        norm = float(np.linalg.norm(bound.times(trial))) / given * bound.size**0.5
        left = float(np.linalg.norm(rest))
        lost = left > goal and np.linalg.norm(bound.times(rest)) <= _STILL * size * left
        if lost or not growth * max(CLOSE * size, rounding_of(norm)) < 1:
            raise _degenerate(bound)
        if left > goal:
            raise NotConvergedError(
                f"The system of derivatives of an eigenvalue of an operator, near "
                f"{float(value):.6g}, was not solved by MINRES in {10 * bound.size} steps, so that "
                "it is not known whether the eigenvalue is simple. Give a sparse matrix in place "
                "of the operator: its system is factorised."
            )


class _Along:
    """The part of solutions that the vector itself answers, as (A - l M) v is zero."""

    def __init__(self, bound: BoundOperator) -> None:
        self.bound = bound
        vector = np.asarray(bound.fixed[-1])
        one, none = np.ones((), vector.dtype), np.zeros_like(vector)
        weighted = bound.apply([none, one])[0]
        # In the transposed system of complex numbers, the conjugate stands for the vector.
        corner = bound.apply([vector, 0 * one])[1]
        turned = abs(corner - 1) > _STILL
        self.vector = vector.conj() if turned else vector
        self.weighted = weighted

    def split(self, right: Rows) -> tuple[Rows, Rows]:
        """What is known of the solution, and the right-hand side of what is left."""
        top, corner = self.bound.right.leaves(right)
        multiple = np.vdot(self.vector, top)
        known = self.bound.solution.vector([corner * self.vector, multiple])
        rest = self.bound.right.vector([top - multiple * self.weighted, 0 * corner])
        return known, rest


def _random(bound: BoundOperator) -> Rows:
    # Of another seed than the start of Lanczos' method: among vectors of one eigenvalue that finds
    # the one along its start, of which nothing is across it.
    trial = np.random.default_rng(1).standard_normal(bound.size)
    return trial.astype(bound.solution.dtype)


def _degenerate(bound: BoundOperator) -> DegenerateError:
    value = float(np.asarray(bound.fixed[-2]))
    return DegenerateError(
        "A derivative of eigenvalues of an operator was asked for where two of them coincide: "
        f"near {value:.6g} there is another one, or so close to it that the system of derivatives "
        "is singular. There single eigenvalues and their vectors have none."
    )
