"""Krylov methods where rounding is what limits them, and on operators of many blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import splu, spsolve

import adjoint as ad
from adjoint.base.errors import (
    NotConvergedError,
    ShapeError,
    SingularError,
)

implicit = ad.implicit
SIZE = 2000
STEP = 1 / (SIZE + 1)
BANDS = [-np.ones(SIZE - 1), 2 * np.ones(SIZE), -np.ones(SIZE - 1)]
LAPLACIAN = sparse.diags_array(BANDS, offsets=[-1, 0, 1]).tocsc() / STEP**2
FACTORS = splu(LAPLACIAN)
SPACE = ad.spaces.Euclidean(SIZE)
INVERSE = ad.LinearMap(
    SPACE,
    SPACE,
    lambda r: FACTORS.solve(np.asarray(r)),
    lambda r: FACTORS.solve(np.asarray(r), "T"),
)


def equation(u: Any, c: Any) -> Any:
    """-u'' + u^3 = c, with u = 0 at both ends."""
    whole = np.concatenate([[0.0], u, [0.0]])
    return -(whole[2:] - 2 * whole[1:-1] + whole[:-2]) / STEP**2 + u**3 - c


@pytest.mark.parametrize(
    ("preconditioner", "facts"),
    [
        (None, {"positive": True}),
        (INVERSE, {"positive": True}),
        (INVERSE, {"self_adjoint": True}),
        (INVERSE, {}),
    ],
)
def test_a_stiff_equation_is_solved_as_far_as_rounding_goes(
    preconditioner: Any, facts: dict[str, bool]
) -> None:
    """Of condition number 1e6: no residual can be eps^(2/3) of its right-hand side (E.1.72)."""
    krylov = implicit.Krylov(preconditioner=preconditioner)

    def solution(c: Any) -> Any:
        return implicit.root(equation, np.zeros(SIZE), c, linear_solver=krylov, **facts)

    c = np.full(SIZE, 50.0)
    u = solution(c)
    jacobian = LAPLACIAN + sparse.diags_array(3 * u**2)
    gradient = ad.grad(lambda c: np.sum(solution(c) ** 2))(c)
    assert np.allclose(gradient, spsolve(jacobian.tocsc(), 2 * u), rtol=1e-9)


def test_what_is_singular_is_refused_all_the_same() -> None:
    """Rounding is no excuse for a residual of the size of the right-hand side."""
    singular = lambda x: x - np.mean(x)  # noqa: E731
    for facts in ({}, {"self_adjoint": True}, {"positive": True}):
        with pytest.raises(NotConvergedError):
            implicit.linear_solve(singular, np.arange(50.0), solver=implicit.Krylov(), **facts)
    with pytest.raises((NotConvergedError, SingularError)):  # for x = 5e15, A x may round to 1
        implicit.linear_solve(singular, np.ones(50), solver=implicit.Krylov())


@pytest.mark.parametrize("facts", [{}, {"self_adjoint": True}, {"positive": True}])
@pytest.mark.parametrize("preconditioner", [None, lambda r: r / 3])
def test_operators_that_act_on_each_entry(preconditioner: Any, facts: dict[str, bool]) -> None:
    """Each entry is a block of its own; a Krylov method that was asked for takes them together."""
    d, b = np.linspace(1, 5, 30), np.cos(np.arange(30.0))
    krylov = implicit.Krylov(preconditioner=preconditioner)

    def solution(b: Any) -> Any:
        return implicit.linear_solve(lambda x: d * x, b, solver=krylov, **facts)

    assert np.allclose(solution(b), b / d)
    assert np.allclose(ad.grad(lambda b: np.sum(solution(b)))(b), 1 / d)


def test_flags_that_do_not_hold_raise_or_do_no_harm() -> None:
    """Outside debug mode too: what is returned solves the system."""
    generator = np.random.default_rng(2)
    for _ in range(20):
        A = generator.standard_normal((6, 6)) + generator.choice([0, 4]) * np.eye(6)
        b = generator.standard_normal(6)
        for facts in ({"positive": True}, {"self_adjoint": True}):
            for solver in (None, implicit.Krylov()):
                with ad.config(debug=False):
                    try:
                        x = implicit.linear_solve(A, b, solver=solver, **facts)
                    except NotConvergedError:
                        assert solver is not None
                        continue
                assert np.linalg.norm(A @ x - b) < 1e-7 * np.linalg.norm(b)


def test_what_is_told_of_a_sparse_matrix_is_used() -> None:
    """Conjugate gradients for a positive one, which say so where it is not; and the space."""
    matrix = sparse.diags_array([-np.ones(9), 3 * np.ones(10), -np.ones(9)], offsets=[-1, 0, 1])
    b = np.arange(10.0)
    x = implicit.linear_solve(matrix, b, positive=True, solver=implicit.Krylov())
    assert np.allclose(matrix @ x, b)
    with pytest.raises(NotConvergedError, match="not positive definite"):
        implicit.linear_solve(-matrix, b, positive=True, solver=implicit.Krylov())
    weights = np.linspace(1, 5, 10)
    space = ad.spaces.Weighted(ad.spaces.Euclidean(10), weights)
    scaled = sparse.diags_array(1 / weights) @ matrix  # self-adjoint in the space alone
    krylov = implicit.Krylov(implicit.Method.CG)
    found = implicit.linear_solve(scaled, b, positive=True, space=space, solver=krylov)
    assert np.allclose(scaled @ found, b)


def test_a_preconditioner_that_is_none() -> None:
    """What it returns must have the shape of x."""
    A, b = np.eye(4) + 0.1, np.ones(4)
    with pytest.raises(ShapeError, match="What a preconditioner returned has shape"):
        implicit.linear_solve(A, b, solver=implicit.Krylov(preconditioner=lambda r: r[:2]))
