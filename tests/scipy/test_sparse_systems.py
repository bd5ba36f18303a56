"""Systems with sparse matrices: factors and iterations that serve the value and its derivatives."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import adjoint as ad
from adjoint.primitives.linear_algebra.sparse import factors
from tests.scipy.comparing import agrees, agrees_in_all_modes

N = 6
B = np.linspace(0.5, 1.5, N)
C = np.random.default_rng(0).uniform(1.0, 2.0, N + 1)
L = sp.diags_array([np.full(N - 1, -0.3), np.full(N - 1, 0.2)], offsets=[-1, 2], shape=(N, N))


def spd(c: Any) -> Any:
    return sp.diags([c[:-1] + c[1:], -c[1:-1], -c[1:-1]], [0, 1, -1]).tocsr()


def general(c: Any) -> Any:
    return (spd(c) + L * c[0]).tocsc()


def inside(c: Any) -> Any:
    """A solver made in the function, for its transposes too."""
    lu = sla.splu(general(c))
    u = lu.solve(B)
    return np.sum(lu.solve(u, "T") * u + lu.solve(np.stack([u, B], axis=1), trans="H")[:, 1] ** 2)


def repeated(c: Any) -> Any:
    solve, u = sla.factorized(general(c)), B
    for _ in range(3):
        u = solve(u)
    return u @ u


DIRECT: dict[str, Callable[[Any], Any]] = {
    "splu": inside,
    "factorized": repeated,
    "spsolve": lambda c: np.sum(sla.spsolve(general(c), c[1:]) ** 2),
    "an order of elimination": lambda c: np.sum(sla.spsolve(general(c), B, "NATURAL") ** 2),
    "a sparse right side": lambda c: np.sum(
        (sla.spsolve(general(c), sp.csc_array(spd(c)[:, :2])) @ np.ones(2)) ** 2
    ),
    "spsolve_triangular": lambda c: np.sum(
        sla.spsolve_triangular(sp.tril(general(c)).tocsr(), c[1:])
        * sla.spsolve_triangular(sp.triu(general(c)).tocsc(), np.stack([B, c[1:]], 1), False)[:, 1]
    ),
    "unit_diagonal": lambda c: np.sum(
        sla.spsolve_triangular(sp.tril(general(c)).tocsr(), c[1:], unit_diagonal=True) ** 2
    ),
    "inv": lambda c: np.sum(np.cos(sla.inv(general(c)).data)),
    "complex": lambda c: np.sum(np.abs(sla.spsolve(general(c) * (1 + 1j), B * (2 - 1j))) ** 2),
    "complex b": lambda c: np.sum(np.abs(sla.spsolve(general(c), B * (2 - 1j))) ** 2),
}


def diagonal(A: Any) -> Any:
    return sp.diags(1 / A.diagonal())


class Operator(sla.LinearOperator):
    """The user's own class."""

    def __init__(self, c: Any) -> None:
        self.c = c
        super().__init__(float, (N, N))

    def _matvec(self, x: Any) -> Any:
        return spd(self.c) @ x + self.c[0] * x


ILU = sla.spilu(sp.csc_matrix(spd(C)))
M = sla.LinearOperator((N, N), ILU.solve)
SHIFT = sla.aslinearoperator(np.eye(N) + np.eye(N, k=1) / 4)
TIGHT = {"rtol": 1e-13}
ITERATIVE: dict[str, Callable[[Any], Any]] = {
    "cg": lambda c: sla.cg(spd(c), c[1:], **TIGHT),
    "cg with M": lambda c: sla.cg(spd(c), B, M=diagonal(spd(c)), **TIGHT),
    "cg with ilu": lambda c: sla.cg(spd(c), B, M=M, **TIGHT),
    "cg from x0": lambda c: sla.cg(spd(c), B, x0=c[1:], **TIGHT),
    "gmres": lambda c: sla.gmres(general(c), B, restart=20, **TIGHT),
    "gmres with M": lambda c: sla.gmres(
        general(c), B, M=sla.LinearOperator((N, N), lambda x: np.tril(np.ones((N, N))) @ x), **TIGHT
    ),
    "bicgstab": lambda c: sla.bicgstab(general(c), B, **TIGHT),
    "bicg": lambda c: sla.bicg(general(c), B, **TIGHT),
    "qmr": lambda c: sla.qmr(
        general(c), B, M1=sla.aslinearoperator(diagonal(general(c))), M2=SHIFT, **TIGHT
    ),
    "lgmres": lambda c: sla.lgmres(general(c), B, **TIGHT),
    "minres": lambda c: sla.minres(spd(c) - 1.5 * sp.eye_array(N), B, rtol=1e-15),
    "an operator": lambda c: sla.gmres(
        sla.LinearOperator((N, N), matvec=lambda x: general(c) @ x + c[1] * x), B, **TIGHT
    ),
    "an algebra of operators": lambda c: sla.gmres(
        2 * sla.aslinearoperator(spd(c)) - sla.aslinearoperator(general(c)).T, B, **TIGHT
    ),
    "an operator of a class": lambda c: sla.cg(Operator(c), B, **TIGHT),
    "a dense matrix": lambda c: sla.cg(spd(c).toarray(), B, **TIGHT),
}


@pytest.mark.parametrize("name", DIRECT)
def test_direct(name: str) -> None:
    agrees(DIRECT[name], C)
    agrees_in_all_modes(DIRECT[name], C)


@pytest.mark.parametrize("name", ITERATIVE)
def test_iterative(name: str) -> None:
    def energy(c: Any) -> Any:
        x, info = ITERATIVE[name](c)
        assert info == 0
        return np.sum(x**2 * B)

    agrees(energy, C)
    agrees_in_all_modes(energy, C)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    done: list[str] = []
    make, solve = factors._factorise, factors.Factors.solve
    monkeypatch.setattr(
        factors, "_factorise", lambda *given: done.append("factorise") or make(*given)
    )
    monkeypatch.setattr(
        factors.Factors, "solve", lambda *given: done.append("solve") or solve(*given)
    )
    return done


def test_one_factorisation_and_two_solves_for_a_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    def energy(c: Any) -> Any:
        return np.sum(sla.spsolve(general(c), B) ** 2)

    with ad.config(debug=False):  # which runs some things twice
        point = C + 0.125
        gradient = ad.jit(ad.grad(energy))
        gradient(point + 1)
        done = counted(monkeypatch)
        gradient(point)
        assert (done.count("factorise"), done.count("solve")) == (1, 2)
        ad.hvp(energy, point, C)
        assert done.count("factorise") == 1


def test_known_factors_are_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lu = sla.splu(sp.csc_array(general(C)))
    done = counted(monkeypatch)
    agrees_in_all_modes(lambda b: np.sum(lu.solve(lu.solve(b), "T") ** 3), B)
    assert done == []


def test_factors_made_anew_at_each_call_have_one_program() -> None:
    known = sp.csc_array(general(C))
    one, other = (factored(known) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != factored(2 * known)


def factored(matrix: Any) -> Any:
    from adjoint.primitives.linear_algebra.sparse.factored import KnownFactors

    return KnownFactors(sla.splu(matrix))


def test_singular_matrices() -> None:
    singular = ad.errors.SingularError
    G = sp.diags_array([1.0, -1.0], offsets=[0, 1], shape=(N - 1, N)).tocsr()
    with pytest.raises(singular, match=r"row 2 of its matrix is zero"):
        ad.grad(lambda d: np.sum(sla.spsolve(sp.diags([d], [0]).tocsc(), B)))(
            B * (np.arange(N) != 2)
        )
    with pytest.raises(singular, match="singular"):  # that of Neumann's problem
        ad.grad(lambda d: np.sum(sla.spsolve((G.T @ sp.diags([d], [0]) @ G).tocsc(), B)))(C[:-2])
    scales = 10.0 ** np.array([-20, 0, 20, 0, 3, -9])  # which is none
    found = ad.grad(lambda d: np.sum(sla.spsolve(sp.diags([d], [0]).tocsc(), B)))(scales)
    np.testing.assert_allclose(found, -B / scales**2)


def test_what_did_not_converge() -> None:
    failed = ad.errors.NotConvergedError
    with pytest.raises(failed, match=r"system of 6 unknowns.*cg: info is 2, the residual \d"):
        ad.grad(lambda c: np.sum(sla.cg(spd(c), B, maxiter=2)[0]))(C)
    ones = np.ones((N, N))
    with pytest.raises(failed, match="minres"):  # inconsistent
        ad.grad(lambda c: np.sum(sla.minres(c[0] * ones, B)[0]))(C)
    with pytest.raises(failed, match="The transposed system"):  # consistent, its adjoint is not
        ad.grad(lambda c: sla.minres(c[0] * ones, np.ones(N))[0] @ B)(C)


def test_refusals() -> None:
    unsupported = ad.errors.UnsupportedFunctionError
    for function, words in (
        (lambda c: np.sum(sla.cg(spd(c), B, callback=print)[0]), "callback"),
        (lambda c: np.sum(sla.minres(spd(c), B, shift=1.0)[0]), "shift"),
        (lambda c: np.sum(sla.splu(general(c)).U.diagonal()), "log_determinant"),
        (lambda c: sla.spilu(general(c)).solve(B)[0], "incomplete"),
    ):
        with pytest.raises(unsupported, match=words):
            ad.grad(function)(C)
    with pytest.raises(ValueError, match="square"):
        ad.grad(lambda c: np.sum(sla.spsolve(spd(c)[:, 1:], B)))(C)
    square = sla.LinearOperator((N, N), matvec=lambda x: x * x, dtype=float)
    with pytest.raises(ad.errors.NotLinearError, match="linear"):
        ad.grad(lambda c: np.sum(sla.gmres(square, c[1:])[0]))(C)


def test_a_symmetric_matrix_that_needs_pivots() -> None:
    """Elimination along the diagonal would divide by 1e-14."""
    coupling = np.eye(N)[::-1]

    def energy(c: Any) -> Any:
        matrix = sp.block_array(
            [[sp.diags_array(1e-14 * c[1:]), sp.csr_array(coupling)], [coupling, sp.eye_array(N)]]
        )
        return np.sum(sla.spsolve(matrix.tocsc(), np.tile(B, 2)) ** 2)

    agrees(energy, 1e8 * C)


@pytest.mark.parametrize("hermitian", [False, True])
def test_large_banded_systems(hermitian: bool) -> None:
    from scipy import linalg

    size = 200
    generator = np.random.default_rng(3)
    band = generator.uniform(-1.0, 1.0, (2 if hermitian else 4, size))
    band[0 if hermitian else 1] += 4.0
    b = generator.standard_normal(size)

    def solution(band: Any) -> Any:
        if hermitian:
            return linalg.solveh_banded(band, b * band[0], lower=True)
        return linalg.solve_banded((2, 1), band, b * band[1])

    agrees(solution, band)
    rows = np.stack([band, band + 0.1])
    gradient = ad.grad(lambda band: np.sum(solution(band) ** 2))
    np.testing.assert_allclose(ad.vmap(gradient)(rows), [gradient(row) for row in rows], rtol=1e-9)


def test_a_banded_system_stays_banded() -> None:
    """At 20 000 unknowns a dense matrix takes 3.2 GB."""
    from scipy import linalg

    size = 20_000
    band = np.stack([np.full(size, -1.0), np.full(size, 4.0), np.full(size, -2.0)])
    tracemalloc.start()
    gradient = ad.grad(lambda ab: np.sum(linalg.solve_banded((1, 1), ab, np.ones(size))))(band)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert np.isfinite(gradient).all()
    assert peak < 1e8


def test_an_indefinite_band_raises_in_replays_too() -> None:
    from scipy import linalg

    def energy(middle: Any) -> Any:
        band = np.stack([middle, np.ones(200)])
        return np.sum(linalg.solveh_banded(band, np.ones(200), lower=True) ** 2)

    gradient = ad.grad(energy)
    for shift in range(6):
        gradient(np.full(200, 4.0 + shift))
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        gradient(np.full(200, 0.5))
