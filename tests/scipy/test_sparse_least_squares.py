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
        (lambda d: sla.lsmr(sla.aslinearoperator(tall(d)), B)[0][0], "takes a matrix"),
        (lambda d: sla.lsqr(tall(d), B, calc_var=True)[0][0], "calc_var"),
        (lambda d: sla.lsmr(1j * tall(d), B)[0][0], "real"),
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
