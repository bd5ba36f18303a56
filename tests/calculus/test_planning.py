"""The order of products: plans, their costs, and Jacobians by every mode."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import numpy as np
import optree
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint.calculus.jacobians.planning import Chain, Order, ProductStep, jacobian_program
from adjoint.calculus.jacobians.planning.jacobians import best
from adjoint.calculus.jacobians.planning.operations import (
    program_operations,
)
from adjoint.optimise import simplify
from adjoint.primitives.structure.contraction import CONTRACT
from tests.capture import programs_learning, programs_numerics, programs_physics
from tests.capture.programs import EXAMPLES
from tests.transforms.test_random_programs import INDEX, N, programs
from tests.transforms.test_random_programs import run as run_program

assert all((programs_learning, programs_numerics, programs_physics))  # they fill EXAMPLES
RNG = np.random.default_rng(17)
MODES = list(ad.Mode)
PLANNED = [ad.Mode.MIDDLE, ad.Mode.OPTIMAL, ad.Mode.AUTO]


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
        (ad.grad(lambda a: np.linalg.cholesky(a)[0, 0]), (np.eye(4),), 64 + 64 + 1),
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
    for mode in (candidate.mode for candidate in plan.candidates):
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
    with pytest.raises(ad.errors.ArgumentTypeError, match="mode must be one of 'auto', 'forward'"):
        ad.plan(np.sin, np.ones(2))["forwards"]


def test_auto_does_not_hold_too_many_numbers():
    """A plan that saves a third of the operations, and holds hundreds of times as much."""
    simple, wide = (
        Order(0, 1, ProductStep.PUSH, (), 3e12, 10**7),
        Order(0, 1, ProductStep.PUSH, (), 2e12, 10**9),
    )
    narrow = Order(0, 1, ProductStep.PUSH, (), 2e12, 3 * 10**7)
    orders = dict.fromkeys((ad.Mode.FORWARD, ad.Mode.REVERSE, ad.Mode.MIDDLE), simple)
    assert best({**orders, ad.Mode.OPTIMAL: narrow}) is ad.Mode.OPTIMAL
    assert best({**orders, ad.Mode.OPTIMAL: wide}) is ad.Mode.FORWARD
    small = (
        Order(0, 1, ProductStep.PUSH, (), 3000, 100),
        Order(0, 1, ProductStep.PUSH, (), 2000, 9000),
    )
    orders = dict.fromkeys(orders, small[0])
    assert best({**orders, ad.Mode.OPTIMAL: small[1]}) is ad.Mode.OPTIMAL


def test_outputs_that_do_not_vary_do_not_count():
    found = ad.plan(lambda x: (np.sum(x), np.ones(9)), np.ones(4))
    assert found.sizes == (4, 1)
    assert found.chosen is ad.Mode.REVERSE


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
        assert found.dtype == function(*args).dtype
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
def test_arguments_and_results_of_different_precision(mode):
    """Partial products from one end to a cut, where all has one precision, and on from there."""
    single, double, left, right = (
        RNG.normal(size=size) for size in ((2, 50), (2, 50), (60, 2), (40, 2))
    )

    def function(p):
        x = np.sin(np.tanh(single.astype(np.float32) @ p["a"] + double @ p["b"]))
        return left @ x, right.astype(np.float32) @ x.astype(np.float32)

    point = {"a": np.ones(50, np.float32), "b": np.ones(50)}
    assert ad.plan(function, point).chosen is ad.Mode.OPTIMAL
    expected = ad.jacobian(function, mode=ad.Mode.FORWARD)(point)
    found = ad.jacobian(function, mode=mode)(point)
    for one, two in zip(optree.tree_leaves(found), optree.tree_leaves(expected), strict=True):
        assert one.dtype == two.dtype
        np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)


def test_cuts_where_all_that_crosses_has_one_precision():
    """None in a program that carries two precisions side by side all the way."""

    def function(p):
        a, b = p
        for _ in range(4):
            a, b = np.sin(np.ones((3, 3), np.float32) @ a), np.tanh(WIDE @ (NARROW @ b))
        return a, b

    point = np.ones(3, np.float32), np.ones(9)
    assert ad.plan(function, point).sizes == (12, 12)
    assert len(ad.plan(function, (np.ones(3), np.ones(9))).sizes) > 9


@pytest.mark.parametrize("mode", PLANNED)
@pytest.mark.parametrize("seed", range(25))
def test_complex_numbers_may_cross(seed, mode):
    """Real functions by way of complex numbers: a cut there is one of twice as many real ones."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 6, 4)
    factors = [
        rng.normal(size=(after, before)) + 1j * rng.normal(size=(after, before))
        for before, after in pairwise(lengths)
    ]
    kinds = rng.integers(0, 4, 3)

    def function(x):
        for factor, kind in zip(factors, kinds, strict=True):
            x = factor @ x / 3
            x = [x, np.tanh(x), np.abs(x) ** 2, x * np.sum(np.conj(x))][kind]
        return np.concatenate([np.real(x), np.abs(x) ** 2])

    x = rng.normal(size=lengths[0])
    expected = ad.jacobian(function, mode=ad.Mode.FORWARD)(x)
    np.testing.assert_allclose(ad.jacobian(function, mode=mode)(x), expected, rtol=1e-11, atol=1e-9)


def test_complex_sizes_are_counted_twice():
    A, B = np.ones((1, 5)) * 1j, np.ones((6, 1)) * (1 + 1j)
    assert ad.plan(lambda x: np.abs(B @ (A @ x)), np.ones(5)).sizes == (5, 2, 12, 6)


@pytest.mark.parametrize("mode", MODES)
def test_dtypes_are_those_of_the_outputs(mode):
    """Not of the arguments: which mode AUTO takes does not show."""

    def function(p):
        whole = p["a"] * np.sum(p["b"]) * np.ones((9, 1))
        return whole, p["a"] * 2, np.sum(p["b"]).astype(np.float32)

    point = {"a": np.float32(2.0), "b": np.ones(3)}
    for row, dtype in zip(ad.jacobian(function, mode=mode)(point), "dff", strict=True):
        assert {each.dtype.char for each in row.values()} == {dtype}


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


REALS = [
    each
    for each in EXAMPLES
    if each.refused is None
    and all(leaf.dtype.kind == "f" for leaf in map(np.asarray, optree.tree_leaves(each.args)))
]


@pytest.mark.parametrize("example", REALS, ids=lambda example: example.function.__name__)
def test_programs_of_scientists(example):
    """Meeting in the middle pushes, pulls and multiplies."""
    function, args = example.function, example.args
    places = tuple(range(len(args)))
    expected = ad.jacobian(function, places, mode=ad.Mode.FORWARD)(*args)
    found = ad.jacobian(function, places, mode=ad.Mode.MIDDLE)(*args)
    for one, two in zip(optree.tree_leaves(found), optree.tree_leaves(expected), strict=True):
        scale = np.max(np.abs(two), initial=1.0)
        np.testing.assert_allclose(one, two, rtol=1e-8, atol=1e-9 * scale)
