"""Estimates by random vectors: their means and errors, against what is exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentError, ArgumentTypeError, MembershipError, ShapeError
from adjoint.spaces import Euclidean, Weighted
from tests.calculus.operators.functions import LINE, SQUARE, network, rational

X = np.abs(LINE)
KINDS = [kind.value for kind in ad.ProbeKind]


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_is_exact_and_the_error_is_right(kind: Any) -> None:
    v = ad.probes(X, 4000, np.random.default_rng(0), kind)
    np.testing.assert_allclose(v.T @ v / 4000, np.eye(4), atol=0.08)
    estimate = ad.estimate_laplacian(rational, v)(X)
    hessian = ad.hessian(rational)(X)
    samples = np.einsum("ri,ij,rj->r", v, hessian, v)
    np.testing.assert_allclose(estimate.value, np.mean(samples))
    np.testing.assert_allclose(estimate.error, np.std(samples, ddof=1) / np.sqrt(4000))
    assert abs(estimate.value - np.trace(hessian)) < 4 * estimate.error + 1e-12


def test_as_many_orthogonal_ones_as_dimensions_leave_no_error() -> None:
    v = ad.probes(SQUARE, 12, 1, "orthogonal")
    estimate = ad.estimate_laplacian(network, v)(SQUARE)
    np.testing.assert_allclose(estimate.value, ad.laplacian(network)(SQUARE))
    assert ad.probes(SQUARE, 30, 1, "orthogonal").shape == (30, 3, 4)


def test_under_a_weight_they_average_to_its_laplacian() -> None:
    gram = np.array([[2.0, 1.0], [1.0, 3.0]])
    space = Weighted(Euclidean(2), gram)
    v = ad.probes(np.ones(2), 2, 3, "orthogonal", space)
    np.testing.assert_allclose(v.T @ v / 2, np.linalg.inv(gram))
    f = lambda x: np.sum(x**3) * x[0]  # noqa: E731
    estimate = ad.estimate_laplacian(f, v)(np.ones(2))
    np.testing.assert_allclose(estimate.value, ad.laplacian(f, space=space)(np.ones(2)))


def test_divergences() -> None:
    field = lambda x: np.tanh(SQUARE.T @ SQUARE @ x) * x[0]  # noqa: E731
    v = ad.probes(X, 3000, 5)
    estimate = ad.estimate_divergence(field, v)(X)
    exact = ad.divergence(field)(X)
    assert 0 < abs(estimate.value - exact) < 4 * estimate.error
    samples = np.einsum("ri,ij,rj->r", v, ad.jacobian(field)(X), v)
    np.testing.assert_allclose(estimate.value, np.mean(samples))


def test_trees_and_several_arguments() -> None:
    def field(q: Any, p: Any) -> Any:
        return {"r": 2 * q["r"]}, 3 * p

    point = ({"r": LINE}, SQUARE)
    v = ad.probes(point, 5, 0)
    estimate = ad.estimate_divergence(field, v, argnums=(0, 1))(*point)
    assert estimate == (2 * 4 + 3 * 12, 0)
    energy = lambda q, p: np.sum(q["r"] ** 2) + np.sum(p**2)  # noqa: E731
    assert ad.estimate_laplacian(energy, v, argnums=(0, 1))(*point).value == 2 * 16


def test_compositions() -> None:
    v = ad.probes(X, 8, 0)
    plain = lambda x, v: ad.estimate_laplacian(network, v)(x).value  # noqa: E731
    for number in range(6):  # what is compiled takes other vectors
        other = ad.probes(X, 8, number)
        np.testing.assert_allclose(ad.jit(plain)(X, other), plain(X, other))
    step = 1e-6
    expected = [(plain(X + e, v) - plain(X - e, v)) / (2 * step) for e in np.eye(4) * step]
    np.testing.assert_allclose(ad.grad(plain)(X, v), expected, rtol=1e-6, atol=1e-7)
    rows = ad.vmap(lambda x: plain(x, v))(SQUARE)
    np.testing.assert_allclose(rows, [plain(row, v) for row in SQUARE])


def test_a_single_one_has_no_error() -> None:
    estimate = ad.estimate_laplacian(rational, ad.probes(X, 1, 0))(X)
    assert np.isfinite(estimate.value)
    assert np.isnan(estimate.error)


def test_what_is_refused() -> None:
    with pytest.raises(ArgumentError, match="drawn once for all"):
        ad.grad(lambda x: np.sum(ad.probes(X, 2, 0) * x))(X)
    with pytest.raises(ArgumentError, match="at least 1"):
        ad.probes(X, 0, 0)
    with pytest.raises(ArgumentTypeError, match="seed must be"):
        ad.probes(X, 1, "seed")
    with pytest.raises(ArgumentTypeError, match="kind must be one of"):
        ad.probes(X, 1, 0, "uniform")
    with pytest.raises(ArgumentTypeError, match="real arrays"):
        ad.probes(X * 1j, 1, 0)
    with pytest.raises(MembershipError):
        ad.probes(X, 1, 0, space=Euclidean(3))
    with pytest.raises(ShapeError, match=r"expected floating-point numbers of shape \(count, 4\)"):
        ad.estimate_laplacian(rational, np.ones((2, 3)))(X)
    with pytest.raises(ShapeError, match="expected one number"):
        ad.estimate_divergence(lambda x, y: (x, y), (np.ones((2, 4)), np.ones((3, 4))), (0, 1))(
            X, X
        )
    with pytest.raises(ArgumentTypeError, match="probes has the structure"):
        ad.estimate_laplacian(rational, [np.ones((2, 4))])(X)


def test_of_nothing_nothing_is_estimated() -> None:
    x = np.ones(2)
    assert ad.estimate_laplacian(lambda x: (), ad.probes(x, 3, 0))(x) == ((), ())
