"""Eigenpairs of operators, of complex matrices and of pencils, against those of dense matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import adjoint as ad
from tests.scipy.comparing import agrees_in_all_modes
from tests.scipy.test_sparse_eigenvalues import WEIGHTS, C, N, rectangular, stiffness

RNG = np.random.default_rng(3)
SKEW = RNG.standard_normal((N, N))
PHASES = 1j * (SKEW - SKEW.T)
TALL = 0.3 * RNG.standard_normal((N + 1, N))
FIRST, LAST = slice(0, 2), slice(-2, None)


def operator(apply: Callable[[Any], Any], size: int = N, dtype: Any = None) -> Any:
    return sla.LinearOperator((size, size), matvec=apply, rmatvec=apply, dtype=dtype)


def mass(c: Any) -> Any:
    return sp.diags([2 + c[:N], 0.1 * c[: N - 1], 0.1 * c[: N - 1]], [0, 1, -1]).tocsc()


def hermitian(c: Any) -> Any:
    return sp.csc_array(PHASES * c[1]) + stiffness(c)


def invariant(values: Any, vectors: Any) -> Any:
    """What is the same for all phases of the vectors."""
    return np.sum(np.sin(values)) + np.sum(np.abs(WEIGHTS @ vectors) ** 2 * values)


def dense(A: Any, M: Any, part: slice) -> Any:
    inverse = np.linalg.inv(np.linalg.cholesky(M))
    values, vectors = np.linalg.eigh(inverse @ A @ np.conj(inverse.T))
    return invariant(values[part], (np.conj(inverse.T) @ vectors)[:, part])


def rectangular_of(A: Any) -> Any:
    rows, columns = np.nonzero(np.ones((N + 1, N)))
    return sp.csr_array((A[rows, columns], (rows, columns)), shape=(N + 1, N))


class Case(NamedTuple):
    pairs: Callable[[Any], Any]
    matrix: Callable[[Any], Any]
    mass: Callable[[Any], Any] | None
    part: slice


CASES: dict[str, Case] = {
    "operator": Case(
        lambda c: sla.eigsh(operator(lambda x: stiffness(c) @ x), 2, which="SA"),
        stiffness,
        None,
        FIRST,
    ),
    "as operator": Case(
        lambda c: sla.eigsh(sla.aslinearoperator(stiffness(c)), 2), stiffness, None, LAST
    ),
    "mass": Case(
        lambda c: sla.eigsh(stiffness(c), 2, M=mass(c), sigma=0.0), stiffness, mass, FIRST
    ),
    "operators": Case(
        lambda c: sla.eigsh(
            operator(lambda x: stiffness(c) @ x),
            2,
            M=operator(lambda x: mass(c) @ x, dtype=float),
            which="LA",
        ),
        stiffness,
        mass,
        LAST,
    ),
    "lobpcg": Case(
        lambda c: sla.lobpcg(
            lambda X: stiffness(c) @ X, np.eye(N)[:, :2], B=mass(c), largest=False
        ),
        stiffness,
        mass,
        FIRST,
    ),
    "complex": Case(lambda c: sla.eigsh(hermitian(c), 2, which="SA"), hermitian, None, FIRST),
    "complex mass": Case(
        lambda c: sla.eigsh(
            hermitian(c), 2, M=mass(c) + sp.csc_array(0.05 * PHASES * c[2]), which="LA"
        ),
        hermitian,
        lambda c: mass(c) + sp.csc_array(0.05 * PHASES * c[2]),
        LAST,
    ),
    "complex operator": Case(
        lambda c: sla.eigsh(
            operator(lambda x: hermitian(c) @ x, dtype=complex), 2, M=mass(c), which="LA"
        ),
        hermitian,
        mass,
        LAST,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_pairs(name: str) -> None:
    case = CASES[name]

    def energy(c: Any) -> Any:
        return invariant(*case.pairs(c))

    def whole(c: Any) -> Any:
        M = np.eye(N) if case.mass is None else case.mass(c).toarray()
        return dense(case.matrix(c).toarray(), M, case.part)

    value, gradient = ad.value_and_grad(energy)(C)
    expected, slope = ad.value_and_grad(whole)(C)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(ad.hessian(energy)(C), ad.hessian(whole)(C), rtol=1e-8, atol=1e-10)
    agrees_in_all_modes(energy, C, tolerance=1e-5)


def as_operator(A: Any) -> Any:
    back = A.T.conj()
    return sla.LinearOperator(
        A.shape, matvec=lambda x: A @ x, rmatvec=lambda y: back @ y, dtype=A.dtype
    )


@pytest.mark.parametrize("which", ["LM", "SM"])
@pytest.mark.parametrize("is_complex", [True, False])
@pytest.mark.parametrize("wrap", [as_operator, lambda A: A])
def test_singular_values(which: str, is_complex: bool, wrap: Any) -> None:
    def matrix(c: Any) -> Any:
        A = rectangular(c)
        return A + sp.csr_array(1j * TALL * c[0]) if is_complex else A

    def of(u: Any, s: Any, vh: Any) -> Any:
        return np.sum(np.abs((u * s) @ vh) ** 2 * np.linspace(0, 1, N + 1)[:, None]) + np.sum(s)

    def sparse(c: Any) -> Any:
        return of(*sla.svds(wrap(matrix(c)), 2, which=which))

    def whole(c: Any) -> Any:
        u, s, vh = np.linalg.svd(matrix(c).toarray(), full_matrices=False)
        part = FIRST if which == "LM" else LAST
        return of(u[:, part], s[part], vh[part])

    value, gradient = ad.value_and_grad(sparse)(C)
    expected, slope = ad.value_and_grad(whole)(C)
    assert value == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(gradient, slope, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ad.hessian(sparse)(C), ad.hessian(whole)(C), rtol=1e-7, atol=1e-8)


# --- large operators, by MINRES -------------------------------------------------------------------

LARGE = 900


def spring(c: Any) -> Any:
    return operator(lambda x: (2 + c) * x - np.pad(x[1:], (0, 1)) - np.pad(x[:-1], (1, 0)), LARGE)


def test_large_operators_have_the_derivatives_of_matrices() -> None:
    c = 0.1 * np.linspace(0, 1, LARGE) ** 2

    def of(values: Any, vectors: Any) -> Any:
        return np.sum(values) + np.sum(vectors**4)

    def by_matrix(c: Any) -> Any:
        beside = -np.ones(LARGE - 1)
        A = sp.diags_array([2 + c, beside, beside], offsets=[0, 1, -1]).tocsc()
        return of(*sla.eigsh(A, 3, which="LA"))

    found = ad.grad(lambda c: of(*sla.eigsh(spring(c), 3, which="LA")))(c)
    np.testing.assert_allclose(found, ad.grad(by_matrix)(c), rtol=1e-8, atol=1e-10)
    values = ad.grad(lambda c: np.sum(sla.eigsh(spring(c), 3, which="LA")[0]))(c)
    assert np.sum(values) == pytest.approx(3.0)  # a shift of all moves each by as much


@pytest.mark.parametrize("gap", [0.0, 1e-10])
def test_large_operators_with_two_equal_values_have_none(gap: float) -> None:
    d = np.concatenate([np.linspace(1, 2, LARGE - 2), [3, 3 + gap]])
    for take in (lambda values, vectors: values[0], lambda values, vectors: vectors[0, 0]):
        with pytest.raises(ad.errors.DegenerateError, match="two of them coincide"):
            ad.grad(lambda d, take=take: take(*sla.eigsh(operator(lambda x: d * x, LARGE), 1)))(d)


def test_a_large_operator_of_which_it_cannot_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def gives_up(bound: Any, right: Any, *how: Any) -> Any:
        return 0 * right, 0

    monkeypatch.setattr("adjoint.scipy.sparse.bordered.minres", gives_up)
    with pytest.raises(ad.errors.NotConvergedError, match="whether the eigenvalue is simple"):
        ad.grad(lambda c: sla.eigsh(spring(c), 1)[0][0])(np.linspace(0, 1, LARGE))


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [operator, lambda apply: sp.csc_array(apply(np.eye(N) + 0j))])
def test_degenerate_pairs(wrap: Any) -> None:
    twice = np.array([1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])

    def total(d: Any, k: int, which: str) -> Any:
        return np.sum(sla.eigsh(wrap(lambda x: (d * x.T).T), k, which=which)[0])

    for k, which in ((2, "SA"), (1, "SA"), (3, "SM")):
        with pytest.raises(ad.errors.DegenerateError, match="two of them coincide"):
            ad.grad(total)(twice, k, which)
    np.testing.assert_allclose(ad.grad(total)(twice, 2, "LA"), [0] * 7 + [1, 1], atol=1e-10)
    opposite = np.array([-8.0, 8.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 1.0])
    with pytest.raises(ad.errors.DegenerateError, match="equally far up"):
        ad.grad(total)(opposite, 1, "LM")
    np.testing.assert_allclose(ad.grad(total)(opposite, 2, "LM"), [1, 1] + [0] * 7, atol=1e-10)


def test_pencils_over_a_batch() -> None:
    def total(c: Any) -> Any:
        return invariant(*sla.eigsh(stiffness(c), 2, M=mass(c), which="LA"))

    points = np.stack([C, C + 0.1])
    expected = [ad.grad(total)(c) for c in points]
    np.testing.assert_allclose(ad.vmap(ad.grad(total))(points), expected, rtol=1e-10)


def test_failures() -> None:
    def slow(t: Any) -> Any:
        apply = operator(lambda x: t * np.linspace(1, 1.01, 400) * x, 400)
        return np.sum(sla.eigsh(apply, 3, which="SA", maxiter=1)[0])

    with pytest.raises(ad.errors.NotConvergedError, match="eigenvalues of an operator"):
        ad.grad(slow)(2.0)
    with pytest.raises(ValueError, match="k must be"):
        ad.grad(lambda c: sla.eigsh(operator(lambda x: stiffness(c) @ x), N)[0][0])(C)
    with pytest.raises(ValueError, match="wrong M dimensions"):
        ad.grad(lambda c: sla.eigsh(stiffness(c), 1, M=sp.eye_array(N + 1) * c[0])[0][0])(C)
    with pytest.raises(ValueError, match="expected square"):
        ad.grad(lambda c: sla.eigsh(as_operator(rectangular(c)), 1)[0][0])(C)


@pytest.mark.parametrize("unit", [1e-12, 1e-8, 1.0, 1e8, 1e12, 1e16])
@pytest.mark.parametrize(
    "wrap",
    [operator, lambda apply: sp.csc_array(apply(np.eye(N) + 0j))],
    ids=["operator", "complex"],
)
def test_units_do_not_matter(wrap: Any, unit: float) -> None:
    def largest(d: Any) -> Any:
        return sla.eigsh(wrap(lambda x: (unit * d * x.T).T), 2, which="LA")[0][-1]

    expected = np.zeros(N)
    expected[-1] = unit
    slope = ad.grad(largest)(np.arange(1.0, N + 1))
    np.testing.assert_allclose(slope, expected, atol=1e-9 * unit)


COUPLED = np.ones((N, N)) + 2 * np.eye(N)[:, :1] @ np.eye(N)[:1]


@pytest.mark.parametrize("zero", [0j, 0.0])
def test_values_that_are_zero_up_to_rounding_are_one_value(zero: Any) -> None:
    """Of two components of a graph, say: their gap is of the size of themselves."""
    twice = np.diag([0.0, 0.0, *range(1, N - 1)])
    rows, columns = np.nonzero(COUPLED)
    for k, which, sigma in ((1, "SA", None), (2, "SM", None), (1, "LM", -0.1)):

        def least(t: Any, k: int = k, which: str = which, sigma: Any = sigma) -> Any:
            entries = (twice + t * COUPLED + zero)[rows, columns]
            matrix = sp.csr_array((entries, (rows, columns)), shape=(N, N))
            return sla.eigsh(matrix, k, which=which, sigma=sigma)[0][0]

        with pytest.raises(ad.errors.DegenerateError):
            ad.grad(least)(0.0)


@pytest.mark.parametrize("wrap", [rectangular_of, as_operator])
@pytest.mark.parametrize("zero", [0j, 0.0])
def test_singular_values_that_are_zero_have_no_slope(wrap: Any, zero: Any) -> None:
    deficient = TALL @ np.diag([0.0, *range(1, N)]) @ np.linalg.qr(SKEW)[0]
    moved = RNG.standard_normal((N + 1, N))

    def smallest(t: Any, start: Any = deficient) -> Any:
        return sla.svds(wrap(start + t * moved + zero), 1, which="SM")

    for of in (lambda t: smallest(t)[1][0], lambda t: np.sum(np.abs(smallest(t)[0][:3]) ** 2)):
        with pytest.raises(ad.errors.DegenerateError, match="zero up to rounding"):
            ad.grad(of)(0.0)
    assert abs(smallest(0.0)[1][0]) < 1e-12  # which it has
    slope = ad.grad(lambda t: smallest(t)[1][0])(0.5)
    expected = ad.grad(lambda t: np.linalg.svdvals(deficient + t * moved)[-1])(0.5)
    np.testing.assert_allclose(slope, expected, rtol=1e-8)


@pytest.mark.parametrize("which", ["LM", "SM"])
def test_singular_values_of_complex_matrices_are_in_order(which: str) -> None:
    matrix = TALL + 1j * TALL[::-1]
    expected = sla.svds(sp.csr_array(matrix), 3, which=which)[1]
    values, _ = ad.jvp(
        lambda t: sla.svds(rectangular_of(t * matrix), 3, which=which)[1], (1.0,), (1.0,)
    )
    np.testing.assert_allclose(values, expected)
