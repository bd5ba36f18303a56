"""Some eigenvalues and singular values of sparse matrices, against all of those of dense ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import adjoint as ad
from tests.scipy.comparing import agrees_in_all_modes

N = 9
C = np.random.default_rng(0).uniform(1.0, 2.0, N + 1)
WEIGHTS = np.linspace(0.3, 1.0, N)


def stiffness(c: Any) -> Any:
    return sp.diags([c[:-1] + c[1:], -c[1:-1], -c[1:-1]], [0, 1, -1]).tocsc()


def rectangular(c: Any) -> Any:
    return sp.vstack([stiffness(c), sp.csr_array(c[None, :N])]).tocsr()


def of_pairs(values: Any, vectors: Any) -> Any:
    """What is the same for all signs of the vectors."""
    return np.sum(np.sin(values)) + np.sum((WEIGHTS @ vectors) ** 2 * values)


def dense(c: Any, part: slice) -> Any:
    values, vectors = np.linalg.eigh(stiffness(c).toarray())
    return of_pairs(values[part], vectors[:, part])


PAIRS: dict[str, tuple[Callable[[Any], Any], slice]] = {
    "largest": (lambda c: sla.eigsh(stiffness(c), 3), slice(-3, None)),
    "smallest": (lambda c: sla.eigsh(stiffness(c), 2, which="SA"), slice(0, 2)),
    "near a value": (lambda c: sla.eigsh(stiffness(c), 2, sigma=0.0), slice(0, 2)),
    "all but one": (lambda c: sla.eigsh(stiffness(c), N - 1, which="LA"), slice(1, None)),
    "lobpcg": (lambda c: sla.lobpcg(stiffness(c), np.eye(N)[:, :2], largest=False), slice(0, 2)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name: str) -> None:
    function, part = PAIRS[name]

    def energy(c: Any) -> Any:
        return of_pairs(*function(c))

    found, expected = ad.value_and_grad(energy)(C), ad.value_and_grad(dense)(C, part)
    assert found[0] == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9, atol=1e-11)
    agrees_in_all_modes(energy, C, tolerance=1e-5)


@pytest.mark.parametrize("which", ["LM", "LA", "SA", "SM", "BE"])
def test_values_alone_have_scipys_order(which: str) -> None:
    def values(c: Any) -> Any:
        return sla.eigsh(stiffness(c), 3, which=which, return_eigenvectors=False)

    value, _ = ad.jvp(values, (C,), (C,))
    np.testing.assert_allclose(value, values(C), rtol=1e-12)
    _, slope = ad.jvp(lambda c: values(c) ** 2, (C,), (C,))  # which has degree 2
    np.testing.assert_allclose(slope, 2 * values(C) ** 2, rtol=1e-10)


@pytest.mark.parametrize("sigma", [None, 0.1])
@pytest.mark.parametrize("which", ["LM", "LA", "SA", "SM", "BE"])
@pytest.mark.parametrize("count", [3, 4])
def test_values_of_both_signs_alone_have_scipys_order(
    count: int, which: str, sigma: float | None
) -> None:
    """Those of the largest or smallest size are ordered by it."""

    def values(c: Any) -> Any:
        matrix = stiffness(c) - sp.diags([np.linspace(2.0, 5.0, N) * c[0]], [0])
        return sla.eigsh(matrix.tocsc(), count, which=which, sigma=sigma, return_eigenvectors=False)

    found = ad.jit(values)
    for c in (C, C[::-1].copy()):
        np.testing.assert_allclose(found(c), values(c), rtol=1e-10)
        value, slope = ad.jvp(values, (c,), (c,))  # which has degree 1
        np.testing.assert_allclose(value, values(c), rtol=1e-10)
        np.testing.assert_allclose(slope, values(c), rtol=1e-9)


def test_singular_values_and_vectors() -> None:
    def sparse(c: Any) -> Any:
        u, s, vt = sla.svds(rectangular(c), 2)
        return np.sum(s**2 * (np.linspace(0, 1, N + 1) @ u) * (vt @ WEIGHTS))

    def whole(c: Any) -> Any:
        u, s, vt = np.linalg.svd(rectangular(c).toarray(), full_matrices=False)
        return np.sum((s**2 * (np.linspace(0, 1, N + 1) @ u) * (vt @ WEIGHTS))[:2])

    assert sparse(C) == pytest.approx(whole(C), rel=1e-12)
    np.testing.assert_allclose(ad.grad(sparse)(C), ad.grad(whole)(C), rtol=1e-9, atol=1e-11)
    agrees_in_all_modes(sparse, C, tolerance=1e-5)
    value, _ = ad.jvp(
        lambda c: sla.svds(rectangular(c), 2, return_singular_vectors=False), (C,), (C,)
    )
    np.testing.assert_allclose(value, sla.svds(rectangular(C), 2)[1])


@pytest.mark.parametrize("is_tall", [True, False])
def test_smallest_singular_values(is_tall: bool) -> None:
    def matrix(c: Any) -> Any:
        return rectangular(c) if is_tall else rectangular(c).T.tocsr()

    def sparse(c: Any) -> Any:
        u, s, vt = sla.svds(matrix(c), 2, which="SM")
        return np.sum(s**2) + np.sum(s * u[0] * vt[:, 0])

    def whole(c: Any) -> Any:
        u, s, v = np.linalg.svd(matrix(c).toarray(), full_matrices=False)
        return np.sum(s[-2:] ** 2) + np.sum(s[-2:] * u[0, -2:] * v[-2:, 0])

    assert sparse(C) == pytest.approx(whole(C), rel=1e-9)
    np.testing.assert_allclose(ad.grad(sparse)(C), ad.grad(whole)(C), rtol=1e-7, atol=1e-9)
    value, _ = ad.jvp(
        lambda c: sla.svds(matrix(c), 2, which="SM", return_singular_vectors=False), (C,), (C,)
    )
    np.testing.assert_allclose(value, sla.svds(matrix(C), 2, which="SM")[1])


def test_diagonal_masses() -> None:
    def pairs(c: Any) -> Any:
        return of_pairs(*sla.eigsh(stiffness(c), 2, M=sp.diags_array(c[1:] ** 2), sigma=0.0))

    def by_lobpcg(c: Any) -> Any:
        mass = sp.diags_array(c[1:] ** 2)
        return of_pairs(*sla.lobpcg(stiffness(c), np.eye(N)[:, :2], mass, largest=False))

    def whole(c: Any) -> Any:
        scales = 1 / c[1:]
        values, vectors = np.linalg.eigh(stiffness(c).toarray() * scales * scales[:, None])
        return of_pairs(values[:2], (vectors * scales[:, None])[:, :2])

    expected, slope = ad.value_and_grad(whole)(C)
    assert pairs(C) == pytest.approx(expected, rel=1e-9)
    for function in (pairs, by_lobpcg):
        value, gradient = ad.value_and_grad(function)(C)
        assert value == pytest.approx(expected, rel=1e-9)
        np.testing.assert_allclose(gradient, slope, rtol=1e-8, atol=1e-10)
    agrees_in_all_modes(pairs, C, tolerance=1e-5)


def test_degenerate_pairs_and_failures() -> None:
    degenerate = ad.errors.DegenerateError
    twice = np.array([1.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    for k, which in ((2, "SA"), (1, "SA"), (5, "LA")):  # both, one of two, and one at the edge
        with pytest.raises(degenerate, match="two of them coincide"):
            ad.grad(
                lambda d, k=k, which=which: np.sum(
                    sla.eigsh(sp.diags_array(d).tocsc(), k, which=which)[0]
                )
            )(twice)
    values = ad.grad(lambda d: np.sum(sla.eigsh(sp.diags_array(d).tocsc(), 4, which="LA")[0]))(
        twice
    )
    np.testing.assert_allclose(values, [0, 0, 1, 1, 1, 1], atol=1e-10)
    for d, how in (
        (np.array([1.0, 2.0, 2.5, 3.0, 5.0, 5.0]), {"k": 2, "which": "BE"}),
        (np.array([1.0, 1.0, 2.5, 3.0, 4.0, 5.0]), {"k": 2, "which": "BE"}),
        (np.array([1.9, 3.0, 3.0, 5.0, 6.0]), {"k": 1, "which": "LA", "sigma": 2.0}),
        (np.array([1.0, 1.0, 2.1, 5.0, 6.0]), {"k": 1, "which": "SA", "sigma": 2.0}),
        (np.array([1.0, 2.1, 5.0, 9.0, 9.0]), {"k": 1, "which": "SM", "sigma": 2.0}),
    ):

        def found(d: Any, how: Any = how) -> Any:
            return np.sum(sla.eigsh(sp.diags_array(d).tocsc(), **how)[0])

        apart = d + 0.1 * np.arange(len(d))
        np.testing.assert_allclose(np.sum(ad.grad(found)(apart)), how["k"], rtol=1e-9)
        with pytest.raises(degenerate, match="two of them coincide"):
            ad.grad(found)(d)
    big = sp.diags_array(np.linspace(1, 1.01, 400)).tocsc()
    with pytest.raises(ad.errors.NotConvergedError, match="eigenvalues of a sparse matrix"):
        ad.grad(lambda t: np.sum(sla.eigsh(t * big, 3, which="SA", maxiter=1)[0]))(2.0)
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="returns no histories"):
        ad.grad(lambda c: sla.lobpcg(stiffness(c), WEIGHTS.T, retLambdaHistory=True)[0][0])(C)
    with pytest.raises(ValueError, match="k must be"):
        ad.grad(lambda c: sla.eigsh(stiffness(c), N)[0][0])(C)
