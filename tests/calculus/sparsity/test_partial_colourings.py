"""The search for fewer colours: what it gives is a colouring, and it stops where there is none."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from adjoint.calculus.jacobians.sparsity.colourings import partial_colourings
from adjoint.calculus.jacobians.sparsity.colourings.partial_colourings import with_fewer_colours

RNG = np.random.default_rng(7)


def random_graph(size: int, density: float) -> Any:
    upper = np.triu(RNG.random((size, size)) < density, 1)
    return sparse.csr_array(upper | upper.T)


def searched(graph: Any, colours: list[int], least: int) -> Any:
    return np.array(
        with_fewer_colours(graph.indptr.tolist(), graph.indices.tolist(), colours, least)
    )


def is_valid(graph: Any, colours: Any) -> bool:
    rows, columns = graph.nonzero()
    return bool((colours >= 0).all() and (colours[rows] != colours[columns]).all())


def fewest_colours(graph: Any) -> int:
    """By trying all."""
    edges = [(a, b) for a, b in combinations(range(graph.shape[0]), 2) if graph[a, b]]
    for count in range(1, graph.shape[0] + 1):
        for colours in product(range(count), repeat=graph.shape[0]):
            if all(colours[a] != colours[b] for a, b in edges):
                return count
    return 0


def test_colourings_of_random_graphs() -> None:
    for number in range(60):
        size = int(RNG.integers(1, 40))
        graph = random_graph(size, [0.1, 0.3, 0.7][number % 3])
        colours = searched(graph, list(range(size)), 1)
        assert is_valid(graph, colours)
        assert set(colours) == set(range(max(colours) + 1))


def test_the_fewest_of_graphs_small_enough_to_try_all() -> None:
    for number in range(12):
        graph = random_graph(6, [0.2, 0.5, 0.8][number % 3])
        assert max(searched(graph, list(range(6)), 1)) + 1 == fewest_colours(graph)


def test_no_search_below_what_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound that is given, and vertices that all meet: neither is searched below."""

    class Unwanted:
        def __init__(self, *args: Any) -> None:
            raise AssertionError("searched")

    monkeypatch.setattr(partial_colourings, "_PartialColouring", Unwanted)
    path = sparse.csr_array(np.eye(4, k=1) + np.eye(4, k=-1))
    assert list(searched(path, [0, 1, 2, 0], 3)) == [0, 1, 2, 0]
    full = sparse.csr_array(1 - np.eye(5))
    assert list(searched(full, [0, 1, 2, 3, 4], 1)) == [0, 1, 2, 3, 4]
    assert list(searched(sparse.csr_array((0, 0)), [], 0)) == []
