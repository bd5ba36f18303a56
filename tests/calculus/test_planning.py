"""The order of products: plans, their costs, and Jacobians by every mode."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from functools import lru_cache
from itertools import pairwise

import numpy as np
import optree
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint.calculus.planning import Chain, Order, Step, jacobian_program
from adjoint.calculus.planning.operations import program_operations
from adjoint.optimise import simplify
from adjoint.primitives.contraction import CONTRACT
from tests.transforms.test_random_programs import INDEX, N, programs
from tests.transforms.test_random_programs import run as run_program

RNG = np.random.default_rng(17)
MODES = list(ad.Mode)
PLANNED = [ad.Mode.MIDDLE, ad.Mode.OPTIMAL, ad.Mode.AUTO]
SIZES = st.lists(st.integers(1, 12), min_size=2, max_size=8)


def close(found, expected):
    for one, two in zip(optree.tree_leaves(found), optree.tree_leaves(expected), strict=True):
        assert one.shape == two.shape
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-13)


def matrices(sizes):
    return [RNG.normal(size=(after, before)) for before, after in pairwise(sizes)]


def product_of(factors):
    def function(x):
        for factor in factors:
            x = factor @ x
        return x

    return function


def network(weights):
    def function(x):
        for weight in weights:
            x = np.tanh(weight @ x)
        return x

    return function


# --- costs of matrix chains -----------------------------------------------------------------------


def brute_force(d):
    """The cheapest of all bracketings of a product of matrices: as many as Catalan's numbers."""
    count = 0

    def every(i, j):
        nonlocal count
        if j - i == 1:
            return [0]
        return [
            left + right + d[i] * d[k] * d[j]
            for k in range(i + 1, j)
            for left in every(i, k)
            for right in every(k, j)
        ]

    costs = every(0, len(d) - 1)
    return min(costs), len(costs)


@settings(max_examples=40, deadline=None)
@given(SIZES)
def test_dynamic_programming_is_the_best_of_all_bracketings(d):
    """Lecture, "Which mode should be used depending on the d_i?": none of the modes, in general."""
    best, count = brute_force(d)
    assert count == [1, 1, 2, 5, 14, 42, 132][len(d) - 2]
    optimal = Chain.of_matrices(d).optimal
    assert optimal.operations == best
    assert replayed(optimal, d) == best


def replayed(order, d):
    """The operations of an order, counted again from its steps alone."""
    total = sum(replayed(part, d) for part in order.parts)
    ends = d[order.start] * d[order.stop]
    match order.step:
        case Step.PUSH:
            return total + ends * d[order.stop - 1]
        case Step.PULL:
            return total + ends * d[order.start + 1]
        case Step.PRODUCT:
            return total + ends * d[order.parts[0].stop]
    return total


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_dynamic_programming_on_general_chains(data):
    """Maps that are no matrices, which cost less, or more, to apply than their size."""
    n = data.draw(st.integers(1, 5))
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=n + 1, max_size=n + 1))
    push, pull = (
        tuple(data.draw(st.lists(st.integers(0, 99), min_size=n, max_size=n))) for _ in range(2)
    )
    known = tuple(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    chain = Chain(tuple(sizes), push, pull, known, (1,) * n)

    @lru_cache
    def best(i, j):
        if i == j:
            return 0
        ways = [best(i, j - 1) + sizes[i] * push[j - 1], best(i + 1, j) + sizes[j] * pull[i]]
        ways += [best(i, k) + best(k, j) + sizes[i] * sizes[k] * sizes[j] for k in range(i + 1, j)]
        return min([*ways, 0] if j - i == 1 and known[i] else ways)

    assert chain.optimal.operations == best(0, n)
    others = (chain.forward(), chain.reverse(), chain.middle)
    assert chain.optimal.operations <= min(each.operations for each in others)


def test_memory_of_orders():
    """The numbers of partial products that are held at once."""
    chain = Chain.of_matrices([2, 3, 5])
    assert chain.forward().memory == 2 * (3 + 5)
    assert chain.reverse().memory == 5 * (2 + 3)
    assert chain.meeting(1).memory == 2 * 3 + 3 * 5 + 2 * 5


def test_text_of_orders():
    chain = Chain.of_matrices([3, 3, 3, 3])
    assert str(chain.forward()) == "J3 (J2 J1)"
    assert str(chain.reverse()) == "(J3 J2) J1"
    assert str(Chain.of_matrices([50, 2, 50, 2, 50]).optimal) == "J4 ((J3 J2) J1)"
    assert str(Chain.of_matrices([4, 1, 4, 4, 4, 1, 4]).meeting(3)) == "((J6 J5) J4) (J3 (J2 J1))"
    assert [str(each) for each in chain.reverse().products()] == ["J3 J2", "(J3 J2) J1"]


# --- operations -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "args", "count"),
    [
        (lambda a, b: a @ b, (np.ones((2, 3)), np.ones((3, 5))), 30),
        (
            lambda a, b: np.einsum("ijk,ikl->ijl", a, b),
            (np.ones((4, 2, 3)), np.ones((4, 3, 5))),
            120,
        ),
        (np.sin, (np.ones((2, 3)),), 6),
        (lambda x: np.sum(x, axis=0), (np.ones((2, 3)),), 6),
        (lambda x: np.concatenate([x.T.reshape(6), x[0]]), (np.ones((2, 3)),), 0),
        (np.linalg.solve, (np.eye(4), np.ones((4, 2))), 64 + 32),
        (np.linalg.inv, (np.ones((3, 4, 4)) + np.eye(4),), 3 * 64),
    ],
)
def test_operations_of_a_program(function, args, count):
    assert program_operations(simplify(ad.program(function, *args).program)) == count


# --- plans of programs ----------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(4, 7), (9, 2, 9), (3, 50, 2, 40, 6), (7, 7, 1, 2, 8, 3)])
def test_a_product_of_matrices_is_planned_as_such(sizes):
    found = ad.plan(product_of(matrices(sizes)), np.ones(sizes[0]))
    chain = Chain.of_matrices(sizes)
    assert found.sizes == sizes
    assert found.maps == (("contract",),) * (len(sizes) - 1)
    assert found[ad.Mode.FORWARD].operations == chain.forward().operations
    assert found[ad.Mode.REVERSE].operations == chain.reverse().operations
    assert found[ad.Mode.MIDDLE].operations == chain.middle.operations
    assert found[ad.Mode.OPTIMAL].operations == chain.optimal.operations


def executed(function, x, mode):
    """The multiply-adds of the products in the program that computes a Jacobian."""
    program = ad.program(function, x).program
    whole = simplify(jacobian_program(program, ("jacobian", 1, 1, mode))[0])
    return [each for each in whole.equations if each.primitive is CONTRACT], whole


@pytest.mark.parametrize("mode", [ad.Mode.FORWARD, ad.Mode.REVERSE, *PLANNED[:2]])
@pytest.mark.parametrize("sizes", [(9, 2, 9), (3, 50, 2, 40, 6), (7, 7, 1, 2, 8, 3), (6, 6)])
def test_predicted_operations_are_those_of_the_program(sizes, mode):
    """The program that runs takes exactly the operations that the plan says."""
    function, x = product_of(matrices(sizes)), np.ones(sizes[0])
    products, _ = executed(function, x, mode)
    work = 0
    for each in products:
        (a, b), result = (atom.type for atom in each.inputs), each.outputs[0].type
        # An entry of a product of matrices takes as many multiply-adds as it sums terms.
        terms = (a.size * b.size // max(result.size, 1)) ** 0.5
        work += round(result.size * terms)
    assert work == ad.plan(function, x)[mode].operations


def test_predicted_operations_of_a_network():
    """Elementwise parts too; what is left are the partial derivatives and the identity."""
    sizes = (20, 3, 30, 2, 25)
    function, x = network(matrices(sizes)), np.ones(20)
    plan = ad.plan(function, x)
    function_itself = program_operations(ad.program(function, x).linearize().program)
    for mode in ad.Mode:
        _, whole = executed(function, x, mode)
        rest = program_operations(whole) - plan[mode].operations
        assert 0 <= rest < 1.2 * (2 * function_itself + 2 * 25**2)


def test_the_cheapest_mode_is_chosen():
    wide = np.ones(40)
    narrow = network(matrices((40, 40, 2, 40, 40)))
    assert ad.plan(narrow, wide).chosen is ad.Mode.OPTIMAL
    assert ad.plan(network(matrices((40, 9, 3))), wide).chosen is ad.Mode.REVERSE
    assert ad.plan(network(matrices((3, 9, 40))), np.ones(3)).chosen is ad.Mode.FORWARD
    assert ad.plan(np.tanh, wide).chosen is ad.Mode.FORWARD


def test_wide_narrow_wide_wins_by_hundreds():
    """1000 -> 3 -> 1000, between maps of full size: forward mode takes 100 times as much."""
    found = ad.plan(network(matrices((1000, 1000, 3, 1000, 1000))), np.ones(1000))
    assert found[ad.Mode.OPTIMAL].operations * 110 < found[ad.Mode.FORWARD].operations
    assert found[ad.Mode.OPTIMAL].operations * 220 < found[ad.Mode.REVERSE].operations


def test_long_programs_are_cut_in_few_places():
    def function(x):
        for _ in range(60):
            x = np.tanh(WIDE @ np.tanh(NARROW @ x))
        return x

    found = ad.plan(function, np.ones(9))
    assert len(found.sizes) == 26
    assert found[ad.Mode.OPTIMAL].operations < found[ad.Mode.FORWARD].operations


WIDE, NARROW = RNG.normal(size=(9, 2)), RNG.normal(size=(2, 9))


def test_plan_as_text_and_picture(tmp_path):
    found = ad.plan(network(matrices((30, 2, 50, 2, 30))), np.ones(30))
    lines = str(found).splitlines()
    assert lines[0] == "d = 30, 2, 2, 50, 50, 2, 2, 30, 30"
    assert lines[1].split() == ["mode", "operations", "relative", "memory", "order"]
    place = lines[1].index("order")
    assert all(line[place - 1] == " " and line[place] in "J(" for line in lines[2:])
    assert repr(found).startswith("<JacobianPlan: d = 30, 2, ")
    found.save(tmp_path / "plan.svg", ad.Mode.FORWARD)
    text = (tmp_path / "plan.svg").read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    labels = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert labels[:3] == ["30", "2", "J1"]
    assert "7. push" in labels
    assert found.svg() != text
    with pytest.raises(ad.errors.ArgumentError, match=r"name it .svg, got"):
        found.save(tmp_path / "plan.png")


def test_plan_of_one_argument_of_several():
    def function(x, weights, *, scale):
        return scale * np.tanh(weights @ x)

    weights = np.ones((2, 3))
    assert ad.plan(function, np.ones(3), weights, scale=2.0).sizes[0] == 3
    assert ad.plan(function, np.ones(3), weights, scale=2.0, argnums=1).sizes[0] == 6
    assert ad.plan(function, np.ones(3), weights, scale=2.0, argnums=(0, 1)).sizes[0] == 9


def test_plan_errors():
    with pytest.raises(ad.errors.NotDifferentiableError, match="A Jacobian was asked"):
        ad.plan(lambda x: x * 1j, np.ones(2))
    with pytest.raises(ad.errors.ArgumentTypeError, match="plan takes a function first"):
        ad.plan(np.ones(2), np.ones(2))
    with pytest.raises(ad.errors.ArgumentTypeError, match="MIDDLE or OPTIMAL"):
        ad.plan(np.sin, np.ones(2))["forward"]


# --- Jacobians ------------------------------------------------------------------------------------


def graph(x):
    """No chain: values branch, meet again, and skip ahead; one output is constant."""
    a, b = np.sin(WIDE[:5] @ x[:2]), np.cos(WIDE[3:8] @ x[1:])
    c = np.tanh(NARROW[:, :5] @ (a * b))
    d = WIDE[:3] @ c + a[:3]
    return {"p": np.outer(c, d), "q": 2 * a, "r": np.sum(d) ** 2, "s": np.ones(2), "t": x}


CASES = [
    (network(matrices((30, 40, 2, 35, 20))), (np.ones(30),)),
    (product_of(matrices((8, 1, 8, 1, 8))), (np.ones(8),)),
    (graph, (RNG.normal(size=3),)),
    (lambda x: np.sum(x) * np.ones((4, 4)), (np.ones((3, 5)),)),
    (lambda x: np.outer(np.sum(x, 0), x[:, 0]), (RNG.normal(size=(6, 2)),)),
    (lambda x: x, (np.ones(3),)),
    (lambda x: x["b"], ({"a": np.ones(2), "b": np.ones(3)},)),
    (lambda x: 3.0, (np.ones(3),)),
    (lambda x: (x.sum() * np.ones(3), x[:0]), (np.ones(4),)),
    (lambda x: NARROW @ x, (np.ones(9),)),
    (lambda x: np.einsum("ijk,j->ki", TENSOR, x), (np.ones(3),)),
    (lambda x: np.einsum("ijk,jk->i", TENSOR, x) * 2, (np.ones((3, 4)),)),
    (lambda x: (TENSOR @ x) @ NARROW[:, :2], (np.ones((4, 2)),)),
    (lambda x: np.linalg.norm(x) * x, (np.ones(5),)),
    (lambda x: np.exp(-np.sum(x**2)) * WIDE, (np.ones((2, 3), np.float32),)),
]
TENSOR = RNG.normal(size=(2, 3, 4))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("number", range(len(CASES)))
def test_jacobians_are_equal_in_every_mode(number, mode):
    function, args = CASES[number]
    expected = ad.jacobian(function, mode=ad.Mode.FORWARD)(*args)
    found = ad.jacobian(function, mode=mode)(*args)
    if args[0].__class__ is np.ndarray and args[0].dtype == np.float32:
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        assert found.dtype in (np.float32, np.float64)
    else:
        close(found, expected)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_graphs(data):
    """Random programs of several values, with products, elementwise maps and sums."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    depth = data.draw(st.integers(1, 6))
    lengths = [data.draw(st.integers(1, 6)) for _ in range(depth + 1)]
    weights = [
        (rng.normal(size=(after, before)), int(rng.integers(0, 3)))
        for before, after in pairwise(lengths)
    ]
    sources = [int(rng.integers(0, n + 1)) for n in range(depth)]

    def function(x):
        values = [x]
        for (weight, kind), source in zip(weights, sources, strict=True):
            y = weight @ values[-1]
            y = [y, np.tanh(y), y * np.sum(values[source])][kind]
            values.append(y + np.sum(values[source]) if kind == 1 else y)
        return (values[-1], values[len(values) // 2])

    x = rng.normal(size=lengths[0])
    expected = ad.jacobian(function, mode=ad.Mode.FORWARD)(x)
    for mode in (ad.Mode.REVERSE, *PLANNED):
        for one, two in zip(ad.jacobian(function, mode=mode)(x), expected, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-11, atol=1e-11 * np.max(np.abs(two)))


@pytest.mark.parametrize("mode", PLANNED)
def test_planned_jacobians_compose(mode):
    """Under vmap, jit, and another derivative."""
    function = network(matrices((12, 14, 2, 13, 12)))
    x, y = RNG.normal(size=(2, 12))
    expected = ad.jacobian(function, mode=ad.Mode.FORWARD)
    planned = ad.jacobian(function, mode=mode)
    close(ad.jit(planned)(x), expected(x))
    close(ad.vmap(planned)(np.stack([x, y])), np.stack([expected(x), expected(y)]))
    close(ad.jvp(planned, (x,), (y,))[1], ad.jvp(expected, (x,), (y,))[1])
    close(
        ad.grad(lambda x: np.sum(planned(x) ** 2))(x),
        ad.grad(lambda x: np.sum(expected(x) ** 2))(x),
    )


def test_planned_jacobians_become_machine_code():
    function = network(matrices((12, 14, 2, 13, 12)))
    x = RNG.normal(size=12)
    planned = ad.jacobian(function, mode=ad.Mode.OPTIMAL)
    with ad.config(native=False):
        expected = planned(x)
    with ad.config(native=True):
        close(planned(x), expected)
    assert str(ad.program(planned, x).native()) == "one piece of machine code"


def test_the_plan_is_kept_with_the_program():
    """The second call finds the program, plan and all."""
    planned = ad.jacobian(network(matrices((12, 14, 2, 13, 12))), mode=ad.Mode.OPTIMAL)
    planned(np.ones(12))
    before = ad.cache_info()
    planned(np.zeros(12))
    after = ad.cache_info()
    assert (after.misses, after.hits) == (before.misses, before.hits + 1)


def test_an_order_is_a_value():
    assert Chain.of_matrices([2, 3, 4]).forward() == Order(
        0, 2, Step.PUSH, (Order(0, 1, Step.GIVEN, (), 0, 6),), 24, 14
    )


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(0, 2**32 - 1))
def test_random_programs(program, seed):
    """Slices, writes, gathers, sums, products: blocks of every mode are those of forward mode."""
    x, y = np.random.default_rng(seed).uniform(-1, 1, (2, N, N))
    kept = len(program.outputs)
    found = {}
    for mode in ad.Mode:
        whole, watched, _ = jacobian_program(program, ("jacobian", 2, kept, mode))
        assert watched == tuple(range(2 * kept))
        found[mode] = run_program(whole, x, y, INDEX)
    for mode in PLANNED:
        for one, two in zip(found[mode], found[ad.Mode.FORWARD], strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-11, atol=1e-12)
    for one, two in zip(found[ad.Mode.REVERSE], found[ad.Mode.FORWARD], strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-11, atol=1e-12)
