"""How equations are solved, checked and differentiated: what is refused, batches, cost (E.1.72)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import NotConvergedError, SingularError

implicit = ad.implicit


def test_a_singular_derivative_is_an_error() -> None:
    """(y - x)^3 = 0 and y_0 + y_1 = x twice: the implicit function theorem does not hold."""
    with pytest.raises(SingularError, match="row 0 of its matrix is zero"):
        ad.grad(lambda x: implicit.root(lambda y: (y - x) ** 3, 0.0))(0.0)

    def twice(x: Any) -> Any:
        def f(y: Any) -> Any:
            total = y[0] + y[1] - x
            return np.array([total, 3 * total])

        return implicit.root(f, np.array([0.5, 0.5]))[0]

    with pytest.raises(SingularError, match="condition number is"):
        ad.grad(twice)(1.0)


def test_no_convergence_is_an_error_with_numbers() -> None:
    """The iterations, the residual and the tolerance."""
    with pytest.raises(NotConvergedError, match=r"after 1000 iterations .* is 5.00e-01"):
        implicit.fixed_point(lambda y: 2 * y + 1, 1.0, solver=implicit.Iteration())
    with pytest.raises(NotConvergedError, match="after 3 iterations"):
        implicit.fixed_point(np.cos, 1.0, solver=implicit.Iteration(limit=3))
    with pytest.raises(NotConvergedError, match=r"Anderson's iteration .* after 2 iterations"):
        implicit.fixed_point(np.cos, 1.0, solver=implicit.Anderson(limit=2))
    with pytest.raises(NotConvergedError, match="Newton's method did not converge"):
        implicit.root(lambda y: y**2 + 1, 0.7)
    with pytest.raises(NotConvergedError, match="is nan"):
        implicit.root(lambda y: np.log(y), -1.0)


def test_a_batch_is_solved_at_once_and_none_hinders_the_others() -> None:
    """Entries of very different sizes, and one that only converges alone."""
    calls = []

    class Counting(implicit.Newton):
        def find(self, problem: Any) -> Any:
            calls.append(problem.layout.blocks)
            return super().find(problem)

    def solve(x: Any, start: Any) -> Any:
        return implicit.root(lambda y: y**3 + y - x, start, solver=Counting())

    x = np.array([1e-6, 2.0, 1e6])
    y = ad.vmap(lambda x: solve(x, 1.0))(x)
    assert calls == [3]
    assert np.allclose(y**3 + y, x, rtol=1e-9, atol=0)
    calls.clear()
    starts = np.array([1.0, 2.0])
    with pytest.raises(NotConvergedError):  # one has no root: the error is that of the loop
        ad.vmap(lambda x: implicit.root(lambda y: y**2 + x, 0.7, solver=Counting()))(
            np.array([-1.0, 1.0])
        )
    assert calls == [2, 1, 1]
    assert np.allclose(ad.vmap(solve)(np.array([2.0, 10.0]), starts), [1.0, 2.0])


def test_a_derivative_that_is_applied_again_does_not_factorise_again() -> None:
    """The cost promise of linear maps, for the system inside."""
    x = np.linspace(1, 2, 40)
    W = np.random.default_rng(5).standard_normal((40, 40)) / 20
    _, D = ad.linearize(lambda x: implicit.fixed_point(lambda y: np.tanh(W @ y) + x, 0 * x), x)
    found = D(x)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np.linalg, "inv", None)  # a second one would call it
        assert np.allclose(D(2 * x), 2 * found)


def test_whose_tolerance_holds() -> None:
    """The solver's own, if it was given one; and one that was given besides is checked."""
    loose = implicit.Newton(tolerance=1e-2)

    def cube(x: Any, **options: Any) -> Any:
        return implicit.root(lambda y, x: y**3 + y - x, 1.7, x, solver=loose, **options)

    assert np.isclose(cube(10.0), 2.0, rtol=1e-2)
    with pytest.raises(NotConvergedError, match=r"1.00e-14 is allowed"):
        implicit.root(
            lambda y, x: np.exp(y) - x,
            0.0,
            10.0,
            solver=implicit.Iteration(tolerance=0.9, limit=5),
            tolerance=1e-14,
        )
