"""The logarithm of the determinant of sparse matrices, against that of dense ones."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import adjoint as ad
from adjoint.primitives.linear_algebra.sparse import factors, selected
from tests.scipy.comparing import agrees_in_all_modes

log_determinant = ad.scipy.sparse.log_determinant
SIDE = 4
G = sp.vstack(
    [
        sp.kron(sp.diags_array([1.0, -1.0], offsets=[0, 1], shape=(SIDE - 1, SIDE)), sp.eye(SIDE)),
        sp.kron(sp.eye(SIDE), sp.diags_array([1.0, -1.0], offsets=[0, 1], shape=(SIDE - 1, SIDE))),
    ]
).tocsr()
K = np.random.default_rng(0).uniform(1.0, 2.0, G.shape[0])


def precision(k: Any) -> Any:
    """Of a field on a grid: that of its differences, and of its values."""
    return (G.T @ sp.diags_array(k) @ G + 0.1 * sp.eye_array(SIDE**2)).tocsc()


def test_value_and_derivatives_of_every_order() -> None:
    def sparse(k: Any) -> Any:
        return log_determinant(precision(k)) * 1.0

    def dense(k: Any) -> Any:
        return np.linalg.slogdet(precision(k).toarray())[1]

    assert sparse(K) == pytest.approx(dense(K), rel=1e-14)
    np.testing.assert_allclose(ad.grad(sparse)(K), ad.grad(dense)(K), rtol=1e-12)
    agrees_in_all_modes(sparse, K)
    u = np.cos(np.arange(len(K)))

    def third(f: Any) -> Any:
        return ad.grad(lambda k: np.sum(ad.hvp(f, k, u) * u))(K)

    np.testing.assert_allclose(third(sparse), third(dense), rtol=1e-9)
    np.testing.assert_allclose(ad.vmap(sparse)(np.stack([K, 2 * K])), [dense(K), dense(2 * K)])


@pytest.mark.parametrize("seed", range(8))
def test_the_selected_inverse(seed: int) -> None:
    generator = np.random.default_rng(seed)
    size = int(generator.integers(1, 60))
    half = sp.random_array((size, size), density=2.5 / size, rng=generator)
    matrix = (half + half.T + 4 * sp.eye_array(size)).tocoo()
    rows, columns = matrix.coords
    made = factors._factorise(matrix.data, rows, columns, size, factors.SYMMETRIC_ORDER)
    inverse = np.linalg.inv(matrix.toarray())
    assert made.symmetric is not None
    assert selected._solved_on_pattern(*made.symmetric) is not None
    found = selected.selected_inverse(made, rows, columns)
    np.testing.assert_allclose(found, inverse[rows, columns], atol=1e-13)
    by_solving = selected.inverse_at(made, (), rows, columns)
    np.testing.assert_allclose(by_solving, inverse[rows, columns], atol=1e-13)


def test_entries_that_happen_to_be_zero() -> None:
    """SuperLU leaves them away, and elimination has filled them in."""
    generator = np.random.default_rng(1)
    size = 30
    half = sp.random_array((size, size), density=0.1, rng=generator).tocoo()
    half.data[::2] = 0.0
    pattern = sp.coo_array((half.data, half.coords), shape=(size, size))
    whole = pattern + pattern.T + 4 * sp.eye_array(size)
    entries = np.concatenate([half.data, half.data, np.full(size, 4.0)])
    rows = np.concatenate([half.coords[0], half.coords[1], np.arange(size)])
    columns = np.concatenate([half.coords[1], half.coords[0], np.arange(size)])
    made = factors._factorise(entries, rows, columns, size, factors.SYMMETRIC_ORDER)
    calls: list[Any] = []
    kept = selected.inverse_at
    try:
        selected.inverse_at = lambda *given: calls.append(given)
        found = selected.selected_inverse(made, rows, columns)
    finally:
        selected.inverse_at = kept
    assert calls == []
    inverse = np.linalg.inv(whole.toarray())
    np.testing.assert_allclose(found, inverse[rows, columns], atol=1e-13)


def test_places_off_the_pattern_are_solved_for() -> None:
    matrix = sp.coo_array(precision(K))
    size = matrix.shape[0]
    made = factors._factorise(matrix.data, *matrix.coords, size, factors.SYMMETRIC_ORDER)
    rows, columns = np.arange(size), np.arange(size)[::-1]
    inverse = np.linalg.inv(matrix.toarray())
    found = selected.selected_inverse(made, rows, columns)
    np.testing.assert_allclose(found, inverse[rows, columns], atol=1e-13)


def test_one_factorisation_serves_the_system_too(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Any] = []
    make = factors._factorise
    monkeypatch.setattr(
        factors, "_factorise", lambda *given: done.append(given[-1]) or make(*given)
    )

    def likelihood(k: Any) -> Any:
        Q = precision(k)
        return log_determinant(Q) - np.ones(SIDE**2) @ sla.spsolve(Q, np.arange(SIDE**2))

    ad.grad(likelihood)(K + 0.03125)
    assert done == [factors.SYMMETRIC_ORDER]


def test_what_has_no_such_logarithm() -> None:
    positive = ad.errors.NotPositiveDefiniteError
    with pytest.raises(positive, match="smallest pivot is -"):
        log_determinant(sp.diags_array([1.0, -2.0, 3.0]).tocsc())
    with pytest.raises(positive, match="not symmetric"):
        ad.grad(lambda t: log_determinant(sp.csc_array((t, ([0, 1, 0], [0, 1, 1])))))(np.ones(3))
    with pytest.raises(ad.errors.SingularError, match="zero"):
        log_determinant(sp.csc_array(([1.0], ([0], [0])), shape=(2, 2)))
    with pytest.raises(ValueError, match="square"):
        log_determinant(G)
    with pytest.raises(ad.errors.DTypeError, match="complex"):
        log_determinant(1j * precision(K))


def test_nothing_is_dense() -> None:
    """At 16 900 unknowns the inverse would take 2.3 GB."""
    side = 130
    D = sp.diags_array([1.0, -1.0], offsets=[0, -1], shape=(side + 1, side))
    grid = sp.vstack([sp.kron(D, sp.eye_array(side)), sp.kron(sp.eye_array(side), D)]).tocsr()

    def field(k: Any) -> Any:
        return log_determinant(grid.T @ sp.diags_array(k) @ grid)

    tracemalloc.start()
    gradient = ad.grad(field)(np.linspace(1.0, 2.0, grid.shape[0]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2e8
    # log det(t A) = n log t + log det(A), along the weights themselves
    assert gradient @ np.linspace(1.0, 2.0, grid.shape[0]) == pytest.approx(side**2, rel=1e-10)
