"""Colourings: valid on any pattern, small on known ones, and alike on both ways to run."""

from __future__ import annotations

from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from adjoint.calculus.jacobians.sparsity.colourings import greedy as colouring
from adjoint.calculus.jacobians.sparsity.colourings.acyclic import acyclic_colouring
from adjoint.calculus.jacobians.sparsity.colourings.greedy import (
    column_colouring,
    row_colouring,
    star_colouring,
)
from adjoint.calculus.jacobians.sparsity.products import products_of, symmetric_products

RNG = np.random.default_rng(4)


def random_pattern(height: int, width: int, density: float) -> Any:
    return sparse.csr_array(RNG.random((height, width)) < density)


def symmetric(pattern: Any) -> Any:
    whole = pattern + pattern.T.tocsr()
    whole.sort_indices()
    return whole.tocsr()


def banded(size: int, width: int) -> Any:
    offsets = range(-width, width + 1)
    return (
        sparse.diags_array(
            [np.ones(size - abs(k)) for k in offsets], offsets=list(offsets), shape=(size, size)
        )
        .tocsr()
        .astype(bool)
    )


def arrow(size: int) -> Any:
    dense = np.eye(size, dtype=bool)
    dense[0] = dense[:, 0] = True
    return sparse.csr_array(dense)


def grid(side: int) -> Any:
    """The five-point stencil on a square with periodic borders."""
    line = np.roll(np.eye(side), 1, axis=1)
    line = sparse.csr_array(line + line.T + np.eye(side))
    one = sparse.eye_array(side)
    return sparse.csr_array((sparse.kron(line, one) + sparse.kron(one, line)) != 0)


def test_columns_that_meet_differ() -> None:
    for number in range(60):
        height, width = RNG.integers(1, 25, size=2)
        pattern = random_pattern(int(height), int(width), [0.05, 0.2, 0.7][number % 3])
        coloured = column_colouring(pattern)
        colours, count = coloured.colours, coloured.count
        for row in pattern.toarray():
            used = colours[row]
            assert len(set(used)) == len(used)
            assert (used >= 0).all()
        assert set(colours) - {-1} == set(range(count))
        assert row_colouring(pattern.T.tocsr()).count == count


def star_is_valid(graph: Any, colours: Any) -> bool:
    """By the definition: neighbours differ, and no path on four vertices has two colours."""
    size = len(colours)
    edges = [(a, b) for a, b in combinations(range(size), 2) if graph[a, b]]
    if any(colours[a] == colours[b] for a, b in edges):
        return False
    around = {v: [u for u in range(size) if u != v and graph[u, v]] for v in range(size)}
    for b, c in [*edges, *(edge[::-1] for edge in edges)]:
        for a in around[b]:
            for d in around[c]:
                if (
                    a != c
                    and d not in (a, b)
                    and colours[a] == colours[c]
                    and colours[b] == colours[d]
                ):
                    return False
    return True


def test_star_colourings_by_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(colouring, "_periodic", lambda *args: None)  # which asks for less
    for number in range(60):
        size = int(RNG.integers(1, 16))
        pattern = symmetric(random_pattern(size, size, [0.05, 0.15, 0.5][number % 3]))
        colours = star_colouring(pattern).colours
        assert star_is_valid(
            pattern.toarray(), np.where(colours < 0, -1 - np.arange(size), colours)
        )


@pytest.mark.parametrize("is_late", [False, True])
def test_both_rules_give_star_colourings(is_late: bool) -> None:
    for number in range(60):
        size = int(RNG.integers(2, 16))
        pattern = symmetric(random_pattern(size, size, [0.05, 0.15, 0.5][number % 3]))
        graph = colouring._without_diagonal(pattern)
        run = colouring._late_star if is_late else colouring._early_star
        order = RNG.permutation(size)
        bits = colouring._run(run, 4, False, order, graph.indptr, graph.indices)
        assert star_is_valid(pattern.toarray(), colouring._numbered(bits).colours)  # type: ignore[union-attr]


def stencil(shape: tuple[int, ...], has_corners: bool) -> Any:
    """A grid without periodic borders: neighbours along the axes, or those at corners too."""
    near = [abs(np.subtract.outer(np.arange(size), np.arange(size))) <= 1 for size in shape]
    lines = [sparse.csr_array(line.astype(int)) for line in near]
    own = [sparse.eye_array(size, dtype=int, format="csr") for size in shape]
    axes = range(len(shape))
    terms = [lines] if has_corners else [[*own[:k], lines[k], *own[k + 1 :]] for k in axes]
    whole = sum(reduce(sparse.kron, parts) for parts in terms)
    whole = sparse.csr_array(whole != 0)
    whole.sort_indices()
    return whole


# The fewest colours of a star and of an acyclic colouring that ColPack 1.0.11 takes in any of its
# orders: natural, largest first, smallest last, incidence degree, dynamic largest first.
COLPACK = {
    "5 points": (stencil((30, 30), False), 5, 4),
    "5 points, a rectangle": (stencil((60, 40), False), 5, 4),
    "9 points": (stencil((30, 30), True), 11, 6),
    "7 points": (stencil((12, 12, 12), False), 10, 6),
    "27 points": (stencil((10, 10, 10), True), 31, 17),
    "an arrow to both sides": (arrow(10), 4, 2),
}


@pytest.mark.parametrize("name", COLPACK)
def test_no_more_colours_than_colpack(name: str) -> None:
    pattern, star, acyclic = COLPACK[name]
    assert star_colouring(pattern).count <= star
    result = acyclic_colouring(pattern, 10**6)
    assert result is not None
    assert result[0].count <= acyclic


# bcsstk01 of the Harwell-Boeing collection: a stiffness matrix, of which ColPack holds the graph.
# Each row's places are the bits of a number.
STIFFNESS = """
21040471 28802aa c50011c c20028e 10500455 21880823 840001c51 80022a8a 300014704 30000838a
400014551 8400228e0 c61000471040 3820002ae880 38c00011e500 38c00028e200 c50000475500
c61000833880 840000c51001 80000a8a022 300000704014 30000038a008 400000551014 8400008e0022
471000021 28a000002 10c00000c 28e00000c 451000010 821000021 1c51000840 22a8a000080 14704000300
838a000300 14551000400 228e0000840 471040021000 2aa880002000 11c50000c000 28e20000c000
455500010000 823880021000 c51000871000 38a00008e000 38400030e000 38a00030e000 c51000431000
c60000871000
"""


def stiffness() -> Any:
    rows = [int(row, 16) for row in STIFFNESS.split()]
    return sparse.csr_array([[bool(row >> k & 1) for k in range(len(rows))] for row in rows])


def test_no_more_columns_than_colpack() -> None:
    """ColPack 1.0.11 takes 14 in the best of its orders; the fullest row has 12 entries."""
    pattern = stiffness()
    assert np.diff(pattern.indptr).max() == 12
    coloured = column_colouring(pattern)
    assert coloured.count <= 14
    assert row_colouring(pattern).count == coloured.count
    for row in pattern.toarray():
        assert len(set(coloured.colours[row])) == row.sum()


def test_the_fewest_of_a_small_torus() -> None:
    """Orders alone, and colours over and over, take seven or eight where five will do."""
    assert column_colouring(grid(10)).count == 5


@pytest.mark.parametrize("bands", [10, 20])
def test_published_counts_of_bands(bands: int) -> None:
    """Gebremedhin, Pothen, Tarafdar, Walther (INFORMS J. Comput. 21, 2009), for ρ bands:

    ⌊ρ/2⌋ + 1 colours of an acyclic and 2 ⌊ρ/2⌋ + 1 of a star colouring.
    """
    assert star_colouring(banded(5000, bands // 2)).count == bands + 1
    result = acyclic_colouring(banded(2000, bands // 2), 10**6)
    assert result is not None
    assert result[0].count == bands // 2 + 1


@pytest.mark.parametrize("small", [0, 10**9], ids=["compiled", "plain"])
def test_both_ways_to_run(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(colouring, "_SMALL", small)
    patterns = [grid(12), arrow(40), banded(50, 3), random_pattern(60, 40, 0.1)]
    counts = [column_colouring(pattern).count for pattern in patterns]
    stars = [star_colouring(pattern).count for pattern in patterns[:3]]
    assert (counts[1:3], stars) == ([40, 7], [5, 2, 7])
    assert counts[0] <= 8
    monkeypatch.setattr(colouring, "_SMALL", 10**9 - small)
    assert [column_colouring(pattern).count for pattern in patterns] == counts


def test_more_colours_than_an_integer_has_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(colouring, "_SMALL", 0)
    dense = sparse.csr_array(np.ones((3, 150), bool))
    whole = column_colouring(dense)
    assert whole.count == 150
    assert sorted(whole.colours) == list(range(150))


def recovered(matrix: Any, products: Any, symmetrically: bool) -> Any:
    """The entries of a matrix from its products alone."""
    rows, columns = matrix.nonzero()
    entries = np.zeros(len(rows))
    for by_column, colours in ((True, products.columns), (False, products.rows)):
        if symmetrically and not by_column:
            colours = products.columns
        if colours is None:
            continue
        lines = columns if by_column else rows
        seeds = (colours.colours[None, :] == np.arange(colours.count)[:, None]).astype(float)
        whole = seeds @ (matrix.T if by_column else matrix).toarray()
        chosen = products.by_column == by_column
        others = rows if by_column else columns
        entries[chosen] = whole[colours.colours[lines[chosen]], others[chosen]]
    return entries


def test_entries_from_products() -> None:
    for number in range(80):
        height, width = (int(n) for n in RNG.integers(1, 20, size=2))
        pattern = random_pattern(height, width, [0.05, 0.2, 0.6][number % 3])
        if number % 4 == 0:
            dense = pattern.toarray()
            dense[0] = dense[:, -1] = True
            pattern = sparse.csr_array(dense)
        pattern.sort_indices()
        matrix = pattern.astype(float)
        matrix.data = RNG.normal(size=matrix.nnz)
        products = products_of(pattern, True, True)
        np.testing.assert_array_equal(recovered(matrix, products, False), matrix.data)


def test_entries_of_symmetric_matrices() -> None:
    for number in range(80):
        size = int(RNG.integers(1, 20))
        pattern = symmetric(random_pattern(size, size, [0.02, 0.1, 0.4][number % 3]))
        matrix = pattern.astype(float)
        upper = sparse.triu(matrix)
        upper.data = RNG.normal(size=upper.nnz)
        matrix = sparse.csr_array(upper + sparse.triu(upper, 1).T)
        matrix.sort_indices()
        products = symmetric_products(pattern)
        np.testing.assert_array_equal(recovered(matrix, products, True), matrix.data)


def test_an_arrow_takes_three_products() -> None:
    products = products_of(arrow(100), True, True)
    assert products.count == 3
    assert products.columns is not None
    assert products.rows is not None


def test_fewest_of_known_patterns() -> None:
    """A band takes its width, a diagonal one; an arrow's Hessian two, a tridiagonal three."""
    assert products_of(banded(300, 2), True, True).count == 5
    assert products_of(banded(300, 0), True, True).count == 1
    assert symmetric_products(arrow(100)).count == 2
    assert symmetric_products(banded(300, 1)).count == 3
    assert products_of(sparse.csr_array((4, 3), dtype=bool), True, True).count == 0
