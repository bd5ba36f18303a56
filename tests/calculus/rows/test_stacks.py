"""Linear algebra over rows: a matrix for each of them, or rows as right-hand sides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import RowsError
from tests.calculus.rows.functions import RANDOM, close

COUNT = 60
PLAIN = RANDOM.normal(size=(COUNT, 3, 3)) + 3 * np.eye(3)
VECTORS = RANDOM.normal(size=(COUNT, 3))
W = RANDOM.normal(size=(3, 3)) * 0.1


def squared(w: Any, a: Any) -> Any:
    turned = a + w
    return turned @ np.swapaxes(turned, -1, -2) + np.eye(3)


FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "systems": lambda w, a, b: np.sum(np.linalg.solve(a + w, b[..., None]) ** 2),
    "inverses": lambda w, a, b: np.sum(np.linalg.inv(a + w) ** 2),
    "determinants": lambda w, a, b: np.mean(np.linalg.det(a + w)),
    "logarithms": lambda w, a, b: np.mean(np.linalg.slogdet(a + w)[1]),
    "Cholesky factors": lambda w, a, b: np.sum(np.linalg.cholesky(squared(w, a)) ** 3),
    "eigenvalues": lambda w, a, b: np.sum(np.linalg.eigvalsh(squared(w, a))[:, 0]),
    "eigenvectors": lambda w, a, b: np.sum(np.linalg.eigh(squared(w, a))[1][:, 0, 0] ** 2),
    "singular values": lambda w, a, b: np.sum(np.linalg.svd(a + w, compute_uv=False)[:, 1]),
    "orthogonal factors": lambda w, a, b: np.sum(np.linalg.qr(a + w)[1] ** 2),
    "one system": lambda w, a, b: np.sum(np.linalg.solve(w + np.eye(3), b.T) ** 2),
    "Mahalanobis": lambda w, a, b: np.mean(
        np.einsum("ij,ij->i", b, np.linalg.solve(w @ w.T + np.eye(3), b.T).T)
    ),
    "one matrix for all": lambda w, a, b: np.sum(np.linalg.solve((w + np.eye(3))[None], a)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_are_those_of_all_rows(name: str) -> None:
    function = FUNCTIONS[name]
    given = ad.rows(PLAIN, chunk=17), ad.rows(VECTORS, chunk=17)
    close(ad.value_and_grad(function)(W, *given), ad.value_and_grad(function)(W, PLAIN, VECTORS))


def test_as_many_rows_as_a_matrix_has() -> None:
    for name in ("systems", "one system", "logarithms"):
        a, b = PLAIN[:3], VECTORS[:3]
        try:
            found = ad.grad(FUNCTIONS[name])(W, ad.rows(a, chunk=2), ad.rows(b, chunk=2))
        except RowsError:
            continue  # it cannot tell which axis is meant
        close(found, ad.grad(FUNCTIONS[name])(W, a, b))


def test_matrices_of_whole_numbers() -> None:
    whole = np.round(10 * PLAIN).astype(int) + 20 * np.eye(3, dtype=int)

    def function(w: Any, a: Any, b: Any) -> Any:
        return np.sum(np.linalg.solve(a, (b @ w)[..., None])) + w[0, 0] * np.sum(np.linalg.det(a))

    found = ad.grad(function)(W, ad.rows(whole, chunk=17), ad.rows(VECTORS, chunk=17))
    close(found, ad.grad(function)(W, whole, VECTORS))


@pytest.mark.parametrize(
    "function",
    [
        lambda w, b: np.linalg.qr(b @ w)[1][0, 0],
        lambda w, b: np.sum(np.linalg.svd(b @ w, compute_uv=False)),
        lambda w, b: np.linalg.slogdet(b @ w @ b.T)[1],
    ],
)
def test_matrices_of_rows_are_refused(function: Any) -> None:
    with pytest.raises(RowsError, match=r"within the matrices|by all others"):
        ad.grad(function)(W, ad.rows(VECTORS, chunk=17))
