"""Least squares and exponentials of sparse matrices, against those of dense ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from scipy.linalg import expm

import adjoint as ad
from tests.scipy.comparing import agrees, agrees_in_all_modes

D = np.random.default_rng(0).uniform(1.0, 2.0, 9)
B = np.linspace(0.5, 1.5, 6)
TIGHT = {"atol": 1e-15, "btol": 1e-15}


def tall(d: Any) -> Any:
    return sp.diags([d[:4], d[4:8], d[8]], [0, -1, -2], shape=(6, 4)).tocsr()


FITS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "lsmr": (
        lambda d: sla.lsmr(tall(d), B * d[0], **TIGHT)[0],
        lambda d: np.linalg.lstsq(tall(d).toarray(), B * d[0])[0],
    ),
    "lsqr": (
        lambda d: sla.lsqr(tall(d), B, **TIGHT)[0],
        lambda d: np.linalg.lstsq(tall(d).toarray(), B)[0],
    ),
    "wide": (
        lambda d: sla.lsmr(tall(d).T, B[:4], **TIGHT)[0],
        lambda d: np.linalg.pinv(tall(d).toarray().T) @ B[:4],
    ),
    "damped": (
        lambda d: sla.lsmr(tall(d), B, damp=d[0], **TIGHT)[0],
        lambda d: np.linalg.solve(
            tall(d).toarray().T @ tall(d).toarray() + d[0] ** 2 * np.eye(4), tall(d).toarray().T @ B
        ),
    ),
    "dense": (
        lambda d: sla.lsqr(tall(d).toarray(), B, **TIGHT)[0],
        lambda d: np.linalg.lstsq(tall(d).toarray(), B)[0],
    ),
}


@pytest.mark.parametrize("name", FITS)
def test_least_squares(name: str) -> None:
    sparse, dense = FITS[name]
    np.testing.assert_allclose(sparse(D), dense(D), rtol=1e-10)
    for function in (lambda x: np.sum(x**3), lambda x: x[0] * x[1]):
        found = ad.grad(lambda d, f=function: f(sparse(d)))(D)
        expected = ad.grad(lambda d, f=function: f(dense(d)))(D)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
    agrees_in_all_modes(lambda d: np.sum(sparse(d) ** 3), D)


def test_the_residual_and_what_is_not_known() -> None:
    def residual(d: Any) -> Any:
        result = sla.lsmr(tall(d), B, **TIGHT)
        assert result[2] is None
        return result[3]

    expected = ad.grad(
        lambda d: np.linalg.norm(B - tall(d) @ np.linalg.lstsq(tall(d).toarray(), B)[0])
    )(D)
    np.testing.assert_allclose(ad.grad(residual)(D), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("solver", [sla.lsmr, sla.lsqr])
@pytest.mark.parametrize("damp", [0.0, 0.5])
def test_starts(solver: Any, damp: float) -> None:
    """Of a wide matrix, or a damped one, the solution depends on where the iteration starts."""
    agrees(lambda d: solver(tall(d), B, damp, x0=d[:4], **TIGHT)[0], D)
    agrees(lambda d: solver(tall(d).T.tocsr(), B[:4], damp, x0=d[: len(B)], **TIGHT)[0], D)


# --- operators ------------------------------------------------------------------------------------


RNG = np.random.default_rng(11)
MIXED = RNG.normal(size=(12, 5))


def operator_of(a: Any) -> Any:
    """MIXED diag(a), as functions."""
    return sla.LinearOperator(
        MIXED.shape, matvec=lambda x: MIXED @ (a * x), rmatvec=lambda y: a * (MIXED.T @ y)
    )


@pytest.mark.parametrize("solver", [sla.lsmr, sla.lsqr])
@pytest.mark.parametrize("damp", [0.0, 0.3])
def test_operators_have_the_derivatives_of_matrices(solver: Any, damp: float) -> None:
    right, a = RNG.normal(size=12), RNG.uniform(0.5, 1.5, 5)

    def with_operator(a: Any, right: Any) -> Any:
        x, _, _, rest, *_ = solver(operator_of(a), right, damp=damp, atol=1e-14, btol=1e-14)
        return np.sum(np.sin(x) * np.arange(1.0, 6.0)) + rest

    def by_hand(a: Any, right: Any) -> Any:
        matrix = MIXED * a
        x = np.linalg.solve(matrix.T @ matrix + damp**2 * np.eye(5), matrix.T @ right)
        damped = damp**2 * np.sum(x**2) * (solver is sla.lsmr)  # in the norm that it returns
        rest = np.sqrt(np.sum((right - matrix @ x) ** 2) + damped)
        return np.sum(np.sin(x) * np.arange(1.0, 6.0)) + rest

    both = [
        lambda f: f(a, right),
        lambda f: np.concatenate(ad.grad(f, argnums=(0, 1))(a, right)),
        lambda f: np.concatenate(ad.jacobian(f, argnums=(0, 1), mode="forward")(a, right)),
        lambda f: ad.hessian(f)(a, right),
        lambda f: ad.jit(ad.grad(f))(a, right),
        lambda f: ad.vmap(ad.grad(f))(np.stack([a, a + 0.1]), np.stack([right, right])),
    ]
    for of in both:
        np.testing.assert_allclose(of(with_operator), of(by_hand), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("solver", [sla.lsmr, sla.lsqr])
def test_a_small_damp_takes_no_digits_of_the_slope(solver: Any) -> None:
    """x is linear in b, and no residual is a difference of what 1 / damp^2 has blown up."""
    wide, right = MIXED.T, RNG.normal(size=5)
    weights, direction, damp = RNG.normal(size=12), RNG.normal(size=5), 1e-6

    def value(t: Any) -> Any:
        operator = sla.aslinearoperator(wide)
        how = {"damp": damp, "atol": 1e-14, "btol": 1e-14, "conlim": 0}
        return weights @ solver(operator, right + t * direction, **how)[0]

    u, s, v = np.linalg.svd(wide, full_matrices=False)
    expected = weights @ (v.T @ (s / (s**2 + damp**2) * (u.T @ direction)))
    for derivative in (ad.grad(value)(0.0), ad.jvp(value, (0.0,), (1.0,))[1]):
        np.testing.assert_allclose(derivative, expected, rtol=1e-7)


@pytest.mark.parametrize("kind", ["operator", "matrix"])
def test_a_damp_that_is_too_small_makes_up_for_no_rank(kind: str) -> None:
    """Derivatives with respect to A and damp have 1 / damp^2 in them, and would have no digits."""
    wide, right = MIXED.T, RNG.normal(size=5)

    def value(t: Any, damp: Any) -> Any:
        matrix = sp.csr_array(wide) * t
        given = sla.aslinearoperator(matrix) if kind == "operator" else matrix
        return np.sum(sla.lsmr(given, right, damp=damp, atol=1e-14, btol=1e-14, conlim=0)[0])

    assert np.isclose(ad.jit(value)(1.2, 1e-8), value(1.2, 1e-8))
    for wrt in (0, 1):
        with pytest.raises(ad.errors.SingularError, match="rank"):
            ad.grad(value, argnums=wrt)(1.2, 1e-8)
    slope = ad.grad(value)(1.2, 1e-2)
    ahead, behind = (value(1.2 + step, 1e-2) for step in (1e-5, -1e-5))
    assert np.isclose(slope, (ahead - behind) / 2e-5, rtol=1e-5)


def test_operators_that_give_complex_numbers_are_complex_whatever_they_say() -> None:
    right = RNG.normal(size=12)

    def value(t: Any, dtype: Any) -> Any:
        operator = sla.LinearOperator(
            MIXED.shape,
            matvec=lambda x: (MIXED * t * (1 + 1j)) @ x,
            rmatvec=lambda y: (MIXED * t * (1 - 1j)).T @ y,
            dtype=dtype,
        )
        return np.sum(np.abs(sla.lsqr(operator, right, **TIGHT)[0]) ** 2)

    for dtype in (None, float, complex):
        found, slope = ad.value_and_grad(value)(1.3, dtype)
        assert slope == pytest.approx(-2 * found / 1.3)


def test_negative_damps_are_those_of_scipy() -> None:
    right = RNG.normal(size=12)
    for solver in (sla.lsqr, sla.lsmr):
        for matrix in (sp.csr_array(MIXED), sla.aslinearoperator(MIXED)):
            solved = lambda b: solver(matrix, b, damp=-0.7, atol=1e-13, btol=1e-13)[0]  # noqa: B023, E731
            np.testing.assert_allclose(ad.jit(solved)(right), solved(right), rtol=1e-9)


class ByMatrices(sla.LinearOperator):
    """As SciPy describes classes of operators: products with matrices, and the adjoint."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        super().__init__(float, matrix.shape)

    def _matmat(self, X: Any) -> Any:
        return self.matrix @ X

    def _adjoint(self) -> Any:
        return ByMatrices(self.matrix.T)


def test_classes_of_operators_may_define_products_with_matrices() -> None:
    right = RNG.normal(size=12)

    def value(t: Any) -> Any:
        return np.sum(sla.lsmr(ByMatrices(MIXED * t), right * t, atol=1e-13, btol=1e-13)[0] ** 2)

    assert np.isclose(ad.grad(value)(1.2), 0.0, atol=1e-8)  # x does not depend on t
    assert np.isclose(ad.jit(value)(1.2), value(1.2))


@pytest.mark.parametrize("size", [5, 150])
@pytest.mark.parametrize("kind", ["operator", "matrix"])
def test_a_matrix_that_lacks_one_direction_is_noticed(kind: str, size: int) -> None:
    """Of a random vector of many entries, that direction is a small share."""
    generator = np.random.default_rng(size)
    gone = generator.normal(size=size)
    gone /= np.linalg.norm(gone)
    full = generator.normal(size=(2 * size, size)) / np.sqrt(size) + 3 * np.eye(2 * size, size)
    matrix, right = full - np.outer(full @ gone, gone), generator.normal(size=2 * size)

    def solved(a: Any) -> Any:
        operator = sla.LinearOperator(
            matrix.shape, matvec=lambda x: a * (matrix @ x), rmatvec=lambda y: a * (matrix.T @ y)
        )
        given = operator if kind == "operator" else sp.csr_array(matrix) * a
        return np.sum(sla.lsmr(given, right, atol=1e-12, btol=1e-12)[0])

    assert np.isclose(ad.jit(solved)(2.0), np.sum(np.linalg.pinv(matrix) @ right) / 2)
    for derivative in (ad.grad(solved), lambda a: ad.jvp(solved, (a,), (1.0,))):
        with pytest.raises(ad.errors.SingularError, match="rank"):
            derivative(2.0)


def test_failures() -> None:
    with pytest.raises(
        ad.errors.NotConvergedError, match="limit of iterations was reached after 1"
    ):
        ad.grad(lambda d: np.sum(sla.lsmr(tall(d), B, maxiter=1, **TIGHT)[0]))(D)
    with pytest.raises(ad.errors.SingularError, match="not full rank"):
        ad.grad(
            lambda d: (
                np.sum(sla.lsmr(sp.hstack([tall(d), tall(d)]).tocsr()[:, 1:5], B)[0])
                + np.sum(sla.lsmr(sp.hstack([tall(d)[:, :2]] * 2), B)[0])
            )
        )(D)
    unsupported = ad.errors.UnsupportedFunctionError
    for function, words in (
        (lambda d: sla.lsqr(tall(d), B, calc_var=True)[0][0], "calc_var"),
        (lambda d: sla.expm_multiply(tall(d)[:4].toarray(), B[:4])[0], "scipy.linalg.expm"),
    ):
        with pytest.raises(unsupported, match=words):
            ad.grad(function)(D)


# --- exponentials ---------------------------------------------------------------------------------


def generator(d: Any) -> Any:
    return sp.diags([-d[:6], d[1:6], d[3:8]], [0, 1, -1]).tocsr()


def test_exponentials_at_several_times() -> None:
    def several(d: Any) -> Any:
        return sla.expm_multiply(generator(d), d[:6], start=0.1, stop=1.3, num=4)

    agrees(several, D)
    agrees(lambda d: sla.expm_multiply(generator(d), d[:6], 0.0, 1.0, 3, endpoint=False)[1:], D)
    agrees_in_all_modes(lambda d: np.sum(several(d) ** 2), D)
    with pytest.raises(ValueError, match="two time points"):
        ad.grad(lambda d: np.sum(sla.expm_multiply(generator(d), d[:6], 0.0, 1.0, 1)))(D)


def test_single_precision_gives_scipys_dtypes() -> None:
    d = D.astype(np.float32)
    for function in (
        lambda d: sla.lsqr(tall(d), B)[0],
        lambda d: sla.lsmr(tall(d), B)[0],
        lambda d: sla.expm_multiply(generator(d), d[:6]),
        lambda d: (tall(d) / 2.0).toarray(),
        lambda d: (tall(d) / d[0]).toarray(),
        lambda d: (tall(d) / d[:4]).toarray(),
    ):
        value, _ = ad.jvp(function, (d,), (d,))
        assert value.dtype == function(d).dtype
        np.testing.assert_allclose(value, function(d), rtol=1e-4)


@pytest.mark.parametrize("scale", [0.3, -20.0, 60.0])
def test_exponentials(scale: float) -> None:
    def sparse(d: Any) -> Any:
        return np.log(np.sum((sla.expm_multiply(scale * generator(d), d[:6]) * B) ** 2))

    def dense(d: Any) -> Any:
        return np.log(np.sum((expm(scale * generator(d).toarray()) @ d[:6] * B) ** 2))

    assert sparse(D) == pytest.approx(dense(D), rel=1e-11)
    np.testing.assert_allclose(ad.grad(sparse)(D), ad.grad(dense)(D), rtol=1e-8, atol=1e-9)


def test_exponentials_in_all_modes() -> None:
    agrees_in_all_modes(lambda d: np.sum(sla.expm_multiply(generator(d), np.eye(6)[:, :2]) ** 2), D)
    known = generator(D)
    agrees_in_all_modes(lambda d: np.sum(sla.expm_multiply(2 * known, d[:6]) ** 3), D)
    agrees_in_all_modes(
        lambda d: np.sum(np.abs(sla.expm_multiply(1j * generator(d), d[:6]) * B) ** 2 * B), D
    )


# --- complex numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [sla.lsmr, sla.lsqr])
@pytest.mark.parametrize("damp", [0.0, 0.3])
@pytest.mark.parametrize("with_operator", [True, False])
def test_complex_numbers(solver: Any, damp: float, with_operator: bool) -> None:
    phases = RNG.normal(size=(12, 5)) * 1j
    right = RNG.normal(size=12) + 1j * RNG.normal(size=12)

    def of(x: Any) -> Any:
        return np.sum(np.arange(1.0, 6.0) * np.abs(x) ** 2) + np.sum(np.real((1 + 2j) * x))

    def solved(a: Any, right: Any) -> Any:
        matrix = MIXED * a + phases
        given = sp.csr_array(matrix)
        if with_operator:
            back = np.conj(matrix.T)
            given = sla.LinearOperator(
                MIXED.shape, matvec=lambda x: matrix @ x, rmatvec=lambda y: back @ y, dtype=complex
            )
        return of(solver(given, right, damp, **TIGHT)[0])

    def by_hand(a: Any, right: Any) -> Any:
        matrix = MIXED * a + phases
        back = np.conj(matrix.T)
        return of(np.linalg.solve(back @ matrix + damp**2 * np.eye(5), back @ right))

    a = RNG.uniform(0.5, 1.5, 5)
    value, slopes = ad.value_and_grad(solved, argnums=(0, 1))(a, right)
    expected, by_parts = ad.value_and_grad(by_hand, argnums=(0, 1))(a, right)
    assert value == pytest.approx(expected, rel=1e-12)
    for found, given in zip(slopes, by_parts, strict=True):
        np.testing.assert_allclose(found, given, rtol=1e-9, atol=1e-11)
    found, given = (ad.hessian(lambda a, f=f: f(a, right))(a) for f in (solved, by_hand))
    np.testing.assert_allclose(found, given, rtol=1e-8, atol=1e-9)
    agrees_in_all_modes(lambda a: solved(a, right), a, tolerance=1e-5)


WIDE: dict[str, tuple[Any, Any, Any]] = {
    "b": (0.0, 1 + 2j, 0.0),
    "the matrix": (1j, 1.0, 0.0),
    "the start": (0.0, 1.0, 2 - 1j),
    "all": (2j, 1j, 1 - 1j),
}


@pytest.mark.parametrize("damp", [0.0, 0.4])
@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("solver", [sla.lsmr, sla.lsqr])
def test_shortest_solutions_of_complex_numbers(solver: Any, name: str, damp: float) -> None:
    """The derivative with respect to a wide matrix, of which no full column rank can be asked."""
    phase, factor, start = WIDE[name]
    wide = RNG.normal(size=(5, 8)) * (RNG.random((5, 8)) < 0.7) + np.eye(5, 8)
    angles, right = RNG.normal(size=(5, 8)) * (wide != 0), RNG.normal(size=5)

    def solved(a: Any, right: Any, start: Any) -> Any:
        given = sp.csr_array(wide * a[:, None] + phase * angles)
        x = solver(given, factor * right, damp, x0=start, **TIGHT)[0]
        return np.sum(np.arange(8.0) * np.abs(x) ** 2) + np.sum(np.real((1 + 2j) * x))

    def by_hand(a: Any, right: Any, start: Any) -> Any:
        matrix = wide * a[:, None] + phase * angles
        back = np.conj(matrix.T)
        inner = matrix @ back + damp**2 * np.eye(5)
        x = start + back @ np.linalg.solve(inner, factor * right - matrix @ start)
        return np.sum(np.arange(8.0) * np.abs(x) ** 2) + np.sum(np.real((1 + 2j) * x))

    point = (RNG.uniform(0.5, 1.5, 5), right, start * np.ones(8))
    value, slopes = ad.value_and_grad(solved, argnums=(0, 1, 2))(*point)
    expected, by_parts = ad.value_and_grad(by_hand, argnums=(0, 1, 2))(*point)
    assert value == pytest.approx(expected, rel=1e-12)
    for found, given in zip(slopes, by_parts, strict=True):
        np.testing.assert_allclose(found, given, rtol=1e-9, atol=1e-11)
    agrees_in_all_modes(lambda a: solved(a, *point[1:]), point[0], tolerance=1e-5)
