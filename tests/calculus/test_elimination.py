"""Elimination of vertices: what orders cost, what the search finds, and Jacobians by it."""

from __future__ import annotations

import random
from functools import partial
from itertools import permutations

import numpy as np
import optree
import pytest

import adjoint as ad
from adjoint.calculus.inputs.arguments import Chosen
from adjoint.calculus.jacobians.planning.elimination import (
    EliminationGraph,
    markowitz,
    rules,
    searched,
)
from adjoint.calculus.jacobians.planning.elimination.graph import without_idle
from adjoint.calculus.jacobians.planning.elimination.orders import OrderSearch
from adjoint.calculus.jacobians.planning.jacobians import Differentiated
from adjoint.calculus.jit.captures import captured_at
from benchmarks.elimination_graphs import published_graph
from benchmarks.elimination_tasks import TASKS

RNG = np.random.default_rng(5)
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e308, 5e-324, 1e-200, 0.5])


def random_graph(generator, size, inputs=3, outputs=2):
    """Each vertex comes of up to three earlier ones; about a third of the edges are units."""
    edges = {}
    for target in range(inputs, size):
        for _ in range(generator.randint(1, 3)):
            edges[generator.randrange(target), target] = generator.random() < 0.3
    last = range(size - outputs, size)
    edges = {edge: unit for edge, unit in edges.items() if edge[0] not in last}
    return without_idle(
        EliminationGraph(size, edges, frozenset((*range(inputs), *last))), range(inputs)
    )


# --- orders ---------------------------------------------------------------------------------------


def multiplied_out(graph, order):
    """The edges that are left, and the multiplications, with coefficients that are numbers."""
    generator = random.Random(1)
    edges = {edge: 1.0 if unit else generator.uniform(0.5, 2) for edge, unit in graph.edges.items()}
    units = {edge for edge, unit in graph.edges.items() if unit}
    count = 0
    for vertex in order:
        sources = [u for u, w in edges if w == vertex]
        targets = [w for u, w in edges if u == vertex]
        for u in sources:
            for w in targets:
                one, other, new = (u, vertex), (vertex, w), (u, w)
                count += one not in units and other not in units
                unit = one in units and other in units and new not in edges
                edges[new] = edges.get(new, 0.0) + edges[one] * edges[other]
                units = units | {new} if unit else units - {new}
        edges = {edge: value for edge, value in edges.items() if vertex not in edge}
    return edges, count


@pytest.mark.parametrize("seed", range(6))
def test_an_order_costs_what_multiplying_out_takes(seed):
    graph = random_graph(random.Random(seed), 14)
    expected = None
    for order in rules(graph, graph.start(), graph.vertices).values():
        edges, count = multiplied_out(graph, order)
        assert graph.count(order).multiplications == count
        expected = expected or edges
        assert edges == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(4))
def test_a_stretch_is_settled_at_its_best(seed):
    graph = random_graph(random.Random(seed), 11)
    vertices = graph.vertices
    least = min(graph.count(order).multiplications for order in permutations(vertices))
    search = OrderSearch(graph.start(), vertices)
    search.settle(0, len(vertices))
    assert graph.count(search.order).multiplications == least
    assert graph.count(searched(graph, 200)).multiplications == least


def test_a_search_is_the_same_again_and_no_worse_than_the_rules():
    graph = random_graph(random.Random(3), 60, inputs=5, outputs=4)
    order = searched(graph, 500)
    assert sorted(order) == graph.vertices
    assert searched(graph, 500) == order
    least = min(
        graph.count(rule).multiplications
        for rule in rules(graph, graph.start(), graph.vertices).values()
    )
    assert graph.count(order).multiplications <= least


def test_moves_cost_what_the_order_then_costs():
    graph = random_graph(random.Random(8), 30)
    search = OrderSearch(graph.start(), graph.vertices)
    generator = random.Random(0)
    for _ in range(50):
        source, target = (generator.randrange(len(search.order)) for _ in range(2))
        before = list(search.order)
        moved = search.move(source, target, allowance=1.0)
        assert moved == (search.order != before) or source == target
        assert int(search.cost) == graph.count(search.order).multiplications


# --- published counts -----------------------------------------------------------------------------


@pytest.mark.parametrize("task", [task for task in TASKS if task.rules], ids=lambda task: task.name)
def test_graphs_are_the_published_ones(task):
    """Forward mode, reverse mode and Markowitz's rule take as much as published."""
    graph = published_graph(partial(task.function, np), task.arguments)
    forward = graph.vertices
    orders = (forward, forward[::-1], markowitz(graph, units=False))
    counts = tuple(graph.count(order, units=False).multiplications for order in orders)
    assert counts == task.rules


@pytest.mark.parametrize("task", TASKS[:-1], ids=lambda task: task.name)
def test_no_more_multiplications_than_published(task):
    graph = published_graph(partial(task.function, np), task.arguments)
    order = searched(graph, 4000, units=False)
    assert graph.count(order, units=False).multiplications <= task.best


# --- Jacobians ------------------------------------------------------------------------------------


def agree(function, *args, argnums=0):
    """The three modes, to 1e-12 of the largest number."""
    blocks = [
        optree.tree_leaves(ad.jacobian(function, argnums, mode=mode)(*args))
        for mode in ("elimination", "forward", "reverse")
    ]
    scale = max(np.max(np.abs(block), initial=0.0) for block in blocks[1])
    for one, *others in zip(*blocks, strict=True):
        for other in others:
            assert one.shape == other.shape
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12 * scale)


def lanes_of(function, x):
    chosen = Chosen(0, (x,), {})
    captured = captured_at(function, chosen)
    eliminated = Differentiated(captured.program(), 1, len(captured.outputs)).eliminated
    return eliminated.linear.lanes


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_tasks_by_every_mode(task):
    function = partial(task.function, np)
    agree(function, *task.arguments, argnums=tuple(range(len(task.arguments))))


def written(x):
    rows = np.zeros((4, x.shape[1]))
    rows[0] = x[0] * x[1]
    rows[1] = np.sin(x[2])
    rows[2] += 3.0 * rows[0]
    return rows


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sin(x) * x,
        lambda x: np.stack([x[0] * x[1], x[0] - x[1]], axis=1),
        lambda x: np.where(x[0] > 0.5, x[1] * x[2], -x[1]),
        lambda x: np.maximum(np.sum(x**2, axis=0) / x[0], 0.5),
        lambda x: np.tanh(np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 3.0]]) @ x).T,
        lambda x: (x / np.sum(x, axis=0)).reshape(3, 7)[::-1],
        lambda x: np.concatenate([x[:2], np.ones((1, 7)), -x[1:]]),
        lambda x: x[0] + x[0],
        lambda x: x[0] * x[0] - x[0] * x[0],
        written,
    ],
)
def test_points_along_the_last_axis_and_the_first(function):
    x = RNG.uniform(0.2, 1, (3, 7))
    assert lanes_of(function, x) == 7
    assert lanes_of(lambda x: function(x.T), np.ascontiguousarray(x.T)) == 7
    agree(function, x)
    agree(lambda x: function(x.T), np.ascontiguousarray(x.T))


def test_rows_added_to_what_does_not_vary_or_is_the_same_at_all_points():
    x, rows = RNG.uniform(0.2, 1, (3, 7)), RNG.uniform(0.2, 1, (7, 2))
    gradient = ad.grad(lambda x: np.sum(x[0] * x[1] * x[2]) + np.sum(x[1] ** 3))
    assert lanes_of(gradient, x) == 7
    agree(gradient, x)

    def added(rows, x):
        rows = rows * 1.0
        np.add.at(rows, np.s_[:, 0], x)
        return rows

    agree(added, rows, x[0], argnums=(0, 1))
    agree(lambda x: np.where(x[0] > 0.5, x[1] * x[2], np.zeros(7)), x)


def test_an_argument_that_is_the_same_at_all_points():
    x, k = RNG.uniform(0.2, 1, (3, 7)), np.array(2.0)
    agree(lambda x, k: k * np.sin(x[0] * k) + x[1], x, k, argnums=(0, 1))
    agree(lambda x, k: k * np.arange(7.0) + x[1], x, k, argnums=(0, 1))
    agree(lambda x, k: (k * k, x[0], x), x, k, argnums=(0, 1))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x / np.sum(x),
        lambda x: np.cumsum(x, axis=1),
        lambda x: np.sort(x, axis=1),
        lambda x: x[:, ::-1] * x,
        lambda x: x[:, 1:] - x[:, :-1],
        lambda x: x[:, :3] * 2.0,
        lambda x: np.sin(x[:, :3].reshape(9, 1)),
        lambda x: np.outer(x[0, :3], x[0, :3]),
        lambda x: np.linalg.norm(x),
        lambda x: x @ x.T,
    ],
)
def test_points_that_depend_on_each_other(function):
    agree(function, RNG.uniform(0.2, 1, (3, 4)))


def test_numbers_of_two_precisions():
    agree(lambda x, y: (x * y).astype(np.float32) * x, np.float32([1, 2]), np.array([3.0, 4.0]))
    agree(lambda x, y: np.where(y > 3.5, x, y) * x, np.float32([1, 2]), np.array([3.0, 4.0]))
    agree(lambda x: np.sin(x) * 2.0, np.float32([1, 2]))


def test_auxiliary_outputs_and_zero_blocks():
    x = RNG.uniform(size=(2, 5))

    def function(x):
        return {"a": x[0] ** 2, "b": np.ones(3)}, x[1]

    jacobians, aux = ad.jacobian(function, has_aux=True, mode="elimination")(x)
    np.testing.assert_array_equal(aux, x[1])
    assert not jacobians["b"].any()
    assert jacobians["b"].shape == (3, 2, 5)
    np.testing.assert_allclose(np.einsum("iai->ai", jacobians["a"]), [2 * x[0], 0 * x[0]])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.where(x > 0, np.log(x), 0.0) * x,
        lambda x: np.sqrt(x) * x,
        lambda x: np.sqrt(x * x),
        lambda x: np.exp(-1 / x),
        lambda x: np.maximum(x, 0.0) ** 2 * np.log(x),
        lambda x: np.where(x == 0, 0.0, np.sin(x) / np.where(x == 0, 1.0, x)),
        lambda x: x / np.sqrt(x * x + 1),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_special_values_as_in_forward_mode(function):
    one, other = (ad.jacobian(function, mode=mode)(SPECIAL) for mode in ("elimination", "forward"))
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=0)


def test_derivatives_through_an_elimination():
    x = RNG.uniform(0.2, 1, 5)

    def rows(mode):
        return ad.jacobian(lambda x: np.sin(x) * x, mode=mode)

    weights = RNG.normal(size=(5, 5))
    one, other = (
        ad.grad(lambda x, mode=mode: np.sum(weights * rows(mode)(x)))(x)
        for mode in ("elimination", "reverse")
    )
    np.testing.assert_allclose(one, other, rtol=1e-12)
    states = RNG.uniform(0.5, 1, (4, 5))
    one, other = (ad.vmap(rows(mode))(states) for mode in ("elimination", "reverse"))
    np.testing.assert_allclose(one, other, rtol=1e-12)


# --- plans ----------------------------------------------------------------------------------------


def test_auto_eliminates_where_one_graph_serves_many_points():
    plan = ad.plan(lambda x: np.sin(x) * np.exp(x), np.ones(50))
    assert plan.chosen is ad.Mode.ELIMINATION
    assert plan["elimination"].operations < plan["forward"].operations / 2
    assert ad.plan(lambda x: np.sin(x[0] * x[1]), np.ones(2)).chosen is not ad.Mode.ELIMINATION


def test_a_plan_without_elimination():
    plan = ad.plan(np.cumsum, np.ones(3))
    with pytest.raises(ad.errors.ArgumentError, match="no candidate"):
        plan["elimination"]
    agree(np.cumsum, np.ones(3))


def test_an_elimination_is_not_drawn():
    plan = ad.plan(lambda x: np.sin(x) * np.exp(x), np.ones(50))
    assert plan.chosen is ad.Mode.ELIMINATION
    with pytest.raises(ad.errors.ArgumentError, match="an elimination is none"):
        plan.svg("elimination")
    assert plan.svg() == plan.svg("optimal")


def test_arguments_without_numbers():
    def function(x, y):
        return x * np.sin(x), y * 2.0

    agree(function, np.ones(4), np.ones((0, 4)), argnums=(0, 1))
    agree(lambda x: x * x, np.ones((3, 0)))
    agree(lambda x: np.float16(2) * x * x, np.ones(3, np.float16))


def test_an_entry_that_a_result_has_twice():
    """Its copies are edges from it, so it is eliminated, and is no entry of the result itself."""
    x = np.arange(1.0, 4.0)
    for function in (lambda x: np.concatenate([2 * x, 2 * x]), lambda x: np.stack([x * 1.0] * 3)):
        expected = ad.jacobian(function, mode="forward")(x)
        for mode in ("elimination", "auto"):
            np.testing.assert_array_equal(ad.jacobian(function, mode=mode)(x), expected)
