"""Functions whose results are sparse matrices: pulled back, pushed forward, and refused stacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import adjoint as ad

RNG = np.random.default_rng(6)
N = 6
X = RNG.normal(size=N)
SEED = RNG.normal(size=(N - 1, N))


def cubes(x: Any) -> Any:
    return (x[1:] - x[:-1]) ** 3


J = ad.jacobian(cubes, sparse=True)
DENSE = ad.jacobian(cubes, mode="forward")
PULLED = ad.vjp(DENSE, X)[1](SEED)[0]


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dia", "bsr", "lil", "dok"])
def test_cotangents_are_matrices_of_any_kind(form: str) -> None:
    """Only their numbers where the result has entries count."""
    value, pullback = ad.vjp(lambda x: J(x).asformat(form), X)
    assert value.format == form
    for cotangent in (SEED, sparse.csr_array(SEED), sparse.coo_matrix(SEED)):
        np.testing.assert_allclose(pullback(cotangent)[0], PULLED, rtol=1e-12)


def test_cotangents_of_several_matrices() -> None:
    def several(x: Any) -> Any:
        return {"a": (J(x), x**2), "b": 2 * J(x)}

    weights = np.cos(X)
    _, pullback = ad.vjp(several, X)
    found = pullback({"a": (SEED, weights), "b": sparse.csr_array(SEED)})[0]
    np.testing.assert_allclose(found, 3 * PULLED + 2 * X * weights, rtol=1e-12)
    with pytest.raises(ad.errors.ShapeError, match=r"has shape \(6, 5\); expected a matrix"):
        pullback({"a": (SEED.T, weights), "b": SEED})
    with pytest.raises(ad.errors.ArgumentTypeError, match="structure"):
        pullback({"a": (SEED, weights)})


def test_entries_at_one_place_have_one_cotangent() -> None:
    places = (np.array([0, 0, 1, 0]), np.array([1, 1, 0, 1]))
    _, pullback = ad.vjp(lambda x: sparse.coo_array((x**2, places), shape=(2, 2)), X[:4])
    seed = SEED[:2, :2]
    np.testing.assert_allclose(pullback(seed)[0], 2 * X[:4] * seed[places], rtol=1e-12)


def seeded(jacobian: Any, seed: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: np.sum(ad.vjp(jacobian, x)[1](seed(x))[0] * np.arange(N))


def diagonal(x: Any) -> Any:
    return sparse.diags_array(x[1:] ** 2, shape=(N - 1, N)).tocsr()


@pytest.mark.parametrize(
    ("seed", "plain"),
    [
        (lambda x: SEED, lambda x: SEED),
        (lambda x: sparse.csr_array(SEED), lambda x: SEED),
        (lambda x: SEED * x, lambda x: SEED * x),
        (lambda x: J(x), lambda x: DENSE(x)),
        (diagonal, lambda x: diagonal(x).toarray()),
    ],
    ids=["known dense", "known sparse", "dense", "its own", "of another pattern"],
)
def test_pullbacks_are_differentiated(seed: Any, plain: Any) -> None:
    found, expected = (ad.grad(seeded(*how))(X) for how in ((J, seed), (DENSE, plain)))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_maps_into_matrices() -> None:
    found, expected = ad.derivative(J, X), ad.derivative(DENSE, X)
    np.testing.assert_allclose(found(X).toarray(), expected(X), rtol=1e-12)
    np.testing.assert_allclose(found.H(SEED), expected.H(SEED), rtol=1e-12)
    np.testing.assert_allclose(found.H(sparse.csr_array(SEED)), expected.H(SEED), rtol=1e-12)
    np.testing.assert_allclose(found.matrix(), expected.matrix(), rtol=1e-12)
    np.testing.assert_allclose(found.matrix(sparse=True).toarray(), expected.matrix(), rtol=1e-12)


def test_second_derivatives_of_matrices() -> None:
    found, expected = (ad.second_derivative(jacobian, X) for jacobian in (J, DENSE))
    u = np.cos(X)
    np.testing.assert_allclose(found(X, u).toarray(), expected(X, u), rtol=1e-12)


@pytest.mark.parametrize(
    "stack",
    [
        lambda: ad.vmap(J)(np.stack([X, X])),
        lambda: ad.jacobian(J)(X),
        lambda: ad.scan(lambda x, _: (x, J(x)), X, np.arange(3.0)),
    ],
    ids=["vmap", "jacobian", "scan"],
)
def test_there_are_no_stacks_of_matrices(stack: Any) -> None:
    with pytest.raises(ad.errors.UnsupportedFunctionError, match=r"no stacks .* A\.data"):
        stack()
