"""Acyclic colourings, and Hessians by substitution: as exact as by a star, with fewer products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import adjoint as ad
from adjoint.calculus.jacobians.sparsity import derivatives, products
from adjoint.calculus.jacobians.sparsity.colourings.acyclic import acyclic_colouring, trees_of
from adjoint.calculus.jacobians.sparsity.colourings.greedy import Colouring, star_colouring
from tests.calculus.sparsity.test_colouring import arrow, banded, grid, random_pattern, symmetric

RNG = np.random.default_rng(5)
MANY = 10**6


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Substitution wherever it takes fewer products, whatever these cost."""
    monkeypatch.setattr(products, "_SUBSTITUTION", 0)
    monkeypatch.setattr(products, "_SEARCHED", np.inf)
    ad.cache_clear()


def chain(x: Any) -> Any:
    return np.sum((x[1:] - np.sin(x[:-1])) ** 2)


def filled(pattern: Any) -> Any:
    """A symmetric matrix of random numbers."""
    upper = sparse.triu(pattern).astype(float)
    upper.data = RNG.normal(size=upper.nnz)
    matrix = sparse.csr_array(upper + sparse.triu(upper, 1).T)
    matrix.sort_indices()
    return matrix


def recovered(matrix: Any, colouring: Colouring, trees: Any) -> Any:
    """The entries from the products, one after the other, leaves first."""
    seeds = (colouring.colours[None] == np.arange(colouring.count)[:, None]).astype(float)
    items = (seeds @ matrix.toarray())[trees.colours, trees.lines]
    for item in np.argsort(trees.sizes, kind="stable"):
        if trees.parents[item] < len(items):
            items[trees.parents[item]] -= items[item]
    return items[trees.items]


def by_doubling(matrix: Any, colouring: Colouring, trees: Any) -> Any:
    seeds = (colouring.colours[None] == np.arange(colouring.count)[:, None]).astype(float)
    items = (seeds @ matrix.toarray())[trees.colours, trees.lines]
    for step, above in enumerate(trees.doublings):
        moved = np.zeros(len(items) + 1)
        np.add.at(moved, above, items)
        items = items + (-1 if step == 0 else 1) * moved[:-1]
    return items[trees.items]


def test_entries_by_substitution() -> None:
    known = [banded(60, 1), banded(60, 3), grid(8), arrow(30)]
    sizes = [int(RNG.integers(1, 40)) for _ in range(60)]
    drawn = [
        symmetric(random_pattern(size, size, [0.02, 0.1, 0.4][number % 3]))
        for number, size in enumerate(sizes)
    ]
    for pattern in known + drawn:
        result = acyclic_colouring(pattern, MANY)
        assert result is not None
        colouring, trees = result
        assert colouring.count <= max(star_colouring(pattern).count, 1)
        matrix = filled(pattern)
        np.testing.assert_allclose(recovered(matrix, colouring, trees), matrix.data, atol=1e-12)
        np.testing.assert_allclose(by_doubling(matrix, colouring, trees), matrix.data, atol=1e-12)


def test_counts_of_known_patterns() -> None:
    """A band of half-width w takes w + 1 colours, where a star takes 2 w + 1."""
    for width in (1, 2, 3, 6):
        result = acyclic_colouring(banded(100, width), MANY)
        assert result is not None
        assert result[0].count == width + 1
    result = acyclic_colouring(grid(12), MANY)
    assert result is not None
    assert result[0].count <= 4


def test_cycles_of_two_colours_and_large_trees_are_refused() -> None:
    ring = symmetric(sparse.csr_array(np.roll(np.eye(6, dtype=bool), 1, axis=1)))
    two = Colouring(np.arange(6) % 2, 2)
    assert trees_of(ring, two) is None
    assert trees_of(ring, Colouring(np.zeros(6, int), 1)) is None
    assert trees_of(banded(6, 1), two) is not None
    long = 5000
    assert trees_of(banded(long, 1), Colouring(np.arange(long) % 2, 2)) is None


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_tridiagonal_hessian_in_two_products(always: None, dtype: Any, native: bool) -> None:
    x = RNG.normal(size=300).astype(dtype)
    report = ad.colouring(chain, x, order=2)
    assert str(report) == "acyclic: 2 products for 898 entries"
    assert report.columns.max() == 1
    with ad.config(native=native):
        hessian = ad.hessian(chain, sparse=True)
        for _ in range(4):
            matrix = hessian(x)
    dense = ad.hessian(chain)(x)
    rtol = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(matrix.toarray(), dense, rtol=rtol, atol=rtol * abs(dense).max())
    assert matrix.dtype == dtype


def test_scales_that_substitution_would_lose(always: None) -> None:
    """Entries that differ by 10¹⁸ in one tree: the products of a star are taken."""
    weights = 10.0 ** np.linspace(0, 18, 99)

    def weighted(x: Any) -> Any:
        return np.sum(weights * x[1:] ** 2 * x[:-1])

    x = RNG.normal(size=100)
    assert ad.colouring(weighted, x, order=2).kind == "acyclic"
    matrix = ad.hessian(weighted, sparse=True)(x).toarray()
    np.testing.assert_allclose(matrix, ad.hessian(weighted)(x), rtol=1e-13)


def test_what_is_not_finite_stays_where_it_is(always: None) -> None:
    x = np.full(50, 2.0)
    x[20] = np.inf

    def squares(x: Any) -> Any:
        return np.sum(x[1:] ** 2 * x[:-1])

    with np.errstate(invalid="ignore", over="ignore"):
        matrix = ad.hessian(squares, sparse=True)(x).toarray()
    assert not np.isfinite(matrix[19:22, 19:22]).all()
    np.testing.assert_allclose(matrix[:19, :19], ad.hessian(squares)(np.full(50, 2.0))[:19, :19])


def test_several_arguments(always: None) -> None:
    def energy(x: Any, pair: Any) -> Any:
        near = np.sin(x[2:] * x[1:-1] * x[:-2])
        return np.sum(near) + np.sum(x[:5] * pair["a"] ** 2)

    x, pair = RNG.normal(size=30), {"a": RNG.normal(size=5)}
    assert ad.colouring(energy, x, pair, argnums=(0, 1), order=2).kind == "acyclic"
    blocks = ad.hessian(energy, argnums=(0, 1), sparse=True)(x, pair)
    dense = ad.hessian(energy, argnums=(0, 1))(x, pair)
    np.testing.assert_allclose(blocks[0][0].toarray(), dense[0][0], atol=1e-13)
    np.testing.assert_allclose(blocks[0][1]["a"].toarray(), dense[0][1]["a"], atol=1e-13)
    np.testing.assert_allclose(blocks[1]["a"][0].toarray(), dense[1]["a"][0], atol=1e-13)
    np.testing.assert_allclose(blocks[1]["a"][1]["a"].toarray(), dense[1]["a"][1]["a"], atol=1e-13)


def test_derivatives_of_a_hessian_take_a_star(
    always: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(derivatives, "substituted_program", refuse)
    x = RNG.normal(size=40)
    found = ad.grad(lambda x: np.sum(ad.hessian(chain, sparse=True)(x) @ np.cos(x)))(x)
    expected = ad.grad(lambda x: np.sum(ad.hessian(chain)(x) @ np.cos(x)))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_costly_products_are_saved() -> None:
    """A band of half-width 7: eight products along trees, where a star takes fifteen."""
    mixing = 0.1 + 0.9 * np.eye(8)

    def mixed(x: Any) -> Any:
        rows = np.stack([x[k : len(x) - 7 + k] for k in range(8)], 1)
        for _ in range(20):
            rows = np.sin(rows @ mixing)
        return np.sum(rows)

    x = 0.1 * RNG.normal(size=100)
    assert str(ad.colouring(mixed, x, order=2)) == "acyclic: 8 products for 1,444 entries"
    dense = ad.hessian(mixed)(x)
    found = ad.hessian(mixed, sparse=True)(x).toarray()
    np.testing.assert_allclose(found, dense, atol=1e-12 * abs(dense).max())
    assert ad.colouring(chain, x, order=2).kind == "star"


def test_reports_of_jacobians() -> None:
    x = np.ones(6)
    assert str(ad.colouring(lambda x: x[1:] * x[:-1], x)) == "columns: 2 products for 10 entries"
    assert ad.colouring(lambda x: np.sum(x**2), x).kind == "rows"

    def both(x: Any) -> Any:
        return np.concatenate([[np.sum(x**2)], x[0] * x[1:]])

    report = ad.colouring(both, np.ones(50))
    assert (report.kind, report.products) == ("both", 3)
    with pytest.raises(ad.errors.ArgumentError, match="order must be"):
        ad.colouring(both, x, order=3)
    with pytest.raises(ad.errors.ArgumentTypeError):
        ad.colouring(3, x)  # type: ignore[arg-type]
