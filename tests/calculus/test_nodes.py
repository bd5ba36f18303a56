"""Tangents and adjoints at every node: the recursions of the chapter and of the lecture."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.base import pytrees
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    MembershipError,
    NotDifferentiableError,
    ShapeError,
)
from adjoint.maps import adjoint_error, linearity_error
from adjoint.spaces import Euclidean, Metric, Product, Symmetric, Weighted
from tests.capture import programs_learning, programs_numerics, programs_physics
from tests.capture.programs import EXAMPLES
from tests.spaces.strategies import positive_matrix

assert all((programs_learning, programs_numerics, programs_physics))

RNG = np.random.default_rng(4)
A, B = RNG.normal(size=(3, 4)), RNG.normal(size=(2, 3))
X, U = RNG.normal(size=(2, 4))


def graph(x, b):
    """Fan-in, fan-out, a shared input, a constant, a result used twice."""
    h = np.tanh(A @ x)
    g = np.sin(b @ h) * np.sum(h * h)
    return np.sum(g * np.exp(g)) + np.sum(x) * b[0, 0]


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


# --- consistency with the transforms --------------------------------------------------------------


def test_inputs_hold_the_gradient_and_the_result_the_derivative():
    V = RNG.normal(size=B.shape)
    nodes = ad.nodes(graph, X, B, tangents=(U, V), cotangents=1.0)
    for node, gradient in zip(nodes.inputs, ad.grad(graph, argnums=(0, 1))(X, B), strict=False):
        close(node.adjoint, gradient)
    value, tangent = ad.jvp(graph, (X, B), (U, V))
    assert nodes.value == pytest.approx(value, rel=1e-14)
    close(nodes.results[0].node.tangent, tangent)


def test_the_pairing_is_the_same_at_every_cut():
    """<tangent, covector> summed over the edges of a cut: E.1.52 for the two halves."""
    nodes = ad.nodes(graph, X, B, tangents=(U, None), cotangents=1.0)
    cuts = [nodes.cut(number) for number in range(len(nodes.equations) + 1)]
    close(cuts, ad.jvp(graph, (X, B), (U, np.zeros_like(B)))[1])


def test_every_covector_is_the_derivative_with_respect_to_its_node():
    """Against the definition: the result as a function of what is added to one node."""
    nodes = ad.nodes(graph, X, B, cotangents=1.0)

    def bumped(h_shift):
        h = np.tanh(A @ X) + h_shift
        g = np.sin(B @ h) * np.sum(h * h)
        return np.sum(g * np.exp(g)) + np.sum(X) * B[0, 0]

    (tanh,) = (node for node in nodes if node.operation == "tanh")
    close(tanh.covector.components, ad.grad(bumped)(np.zeros(3)))


def random_like(tree, generator):
    def entry(leaf):
        leaf = np.asarray(leaf)
        return np.asarray(generator.normal(size=leaf.shape)).astype(leaf.dtype)[()]

    return pytrees.tree_map(entry, tree)


SHORT = {
    each.function.__name__: each
    for each in EXAMPLES
    if each.refused is None and len(ad.program(each.function, *each.args)) <= 150
}


def test_there_are_many_programs():
    assert len(SHORT) >= 70


@pytest.mark.parametrize("name", SHORT)
def test_programs_as_scientists_write_them(name):
    """Covectors at the arguments are the pullback, and every cut pairs to the same number."""
    function, args = SHORT[name].function, SHORT[name].args
    generator = np.random.default_rng(0)
    value, pullback = ad.vjp(function, *args)
    seed = random_like(value, generator)
    tangents = tuple(random_like(each, generator) for each in args)
    nodes = ad.nodes(
        function,
        *args,
        tangents=tangents if len(args) > 1 else tangents[0],
        cotangents=seed,
    )
    found = [node.covector.components for node in nodes.inputs if node.operation == "argument"]
    for one, expected in zip(found, pytrees.leaves(pullback(seed)), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-8, atol=1e-9)
    count = len(nodes.equations)
    cuts = [nodes.cut(number) for number in (0, count // 3, count // 2, count)]
    np.testing.assert_allclose(cuts, cuts[0], rtol=1e-7, atol=1e-8)


# --- the recursions -------------------------------------------------------------------------------


def test_adjoint_recursion_with_H_in_chosen_spaces():
    """E.1.61 to E.1.68 in vectors: what arrives is summed, and goes on through the adjoint."""
    weights = {
        "a": Weighted(Euclidean(4), positive_matrix(4, 0)),
        "b": Weighted(Euclidean((2, 3)), 3.0),
        "e": Weighted(Euclidean(3), positive_matrix(3, 1)),
        "g": Weighted(Euclidean(2), np.array([1.0, 5.0])),
    }
    nodes = ad.nodes(graph, X, B, cotangents=1.0, spaces=weights)
    arriving = {id(node): None for node in nodes}
    arriving[id(nodes.results[0].node)] = np.float64(1)
    for node in reversed(nodes.equations):
        adjoint = arriving[id(node)]
        if adjoint is None:
            continue
        close(adjoint, node.adjoint)
        for place, operand in enumerate(node.operands):
            if operand.node.varies:
                sent = node.partial(place).H(adjoint)
                before = arriving[id(operand.node)]
                arriving[id(operand.node)] = sent if before is None else before + sent
    gradient = ad.grad(graph, argnums=(0, 1), space=Product((weights["a"], weights["b"])))(X, B)
    for name, expected in zip("ab", gradient, strict=True):
        close(arriving[id(nodes[name])], expected)
        close(nodes[name].adjoint, expected)


def test_spaces_change_adjoints_and_never_covectors():
    plain = ad.nodes(graph, X, B, cotangents=1.0)
    weighted = ad.nodes(graph, X, B, cotangents=1.0, spaces={"e": Weighted(Euclidean(3), 2.0)})
    for one, other in zip(plain, weighted, strict=True):
        if one.varies:
            close(one.covector.components, other.covector.components)
    close(weighted["e"].adjoint, plain["e"].adjoint / 2)


def test_forward_and_reverse_recurrences_of_a_chain():
    """Lecture: s_k = f_k(s_k-1), t_k = f_k'(s_k-1) t_k-1, r_k = r_k+1 f_k+1'(s_k)."""
    x = np.float64(0.7)
    nodes = ad.nodes(lambda x: np.exp(np.sin(np.square(x))), x, tangents=1.0, cotangents=1.0)
    s = [x, x**2, np.sin(x**2), np.exp(np.sin(x**2))]
    slopes = [2 * s[0], np.cos(s[1]), s[3]]
    t = [1.0, *np.cumprod(slopes)]
    r = [*np.cumprod(slopes[::-1])[::-1], 1.0]
    close([node.value for node in nodes], s)
    close([node.tangent for node in nodes], t)
    close([node.covector.components for node in nodes], r)
    close([node.covector(node.tangent) for node in nodes], np.prod(slopes))


def test_forward_recursion_is_the_local_derivative_of_the_tangents():
    """E.1.58: u <- df(h)[u], and over fan-in a sum."""
    V = RNG.normal(size=B.shape)
    nodes = ad.nodes(graph, X, B, tangents=(U, V))
    for node in nodes.equations:
        if node.varies:
            moving = [each.node.tangent for each in node.operands if each.node.varies]
            tangent = node.derivative(moving[0] if len(moving) == 1 else tuple(moving))
            close(node.tangent, tangent)


def test_local_derivatives_are_linear_and_have_their_adjoints():
    spaces = {"e": Weighted(Euclidean(3), positive_matrix(3, 1))}
    for node in ad.nodes(graph, X, B, spaces=spaces).equations:
        assert linearity_error(node.derivative) < 1e-12
        assert adjoint_error(node.derivative) < 1e-12
        for place in range(len(node.operands)):
            assert adjoint_error(node.partial(place)) < 1e-12


def test_two_inputs_have_two_partial_derivatives():
    """E.1.64 to E.1.66: y = Wx; v_1 = W'v, v_2 = v x'."""
    v = RNG.normal(size=3)
    nodes = ad.nodes(lambda x, w: w @ x, X, A, cotangents=v)
    (product,) = nodes.equations
    close(product.partial(1).matrix(), A)
    close(product.contributions[1].components, A.T @ v)
    close(product.contributions[0].components, np.outer(v, X))


def test_contributions_to_a_shared_value_are_summed_before_they_go_on():
    """E.1.68: x + x^2 at 3 receives 1 and 6."""
    nodes = ad.nodes(lambda x: x + np.square(x), np.float64(3), cotangents=1.0)
    square, total = nodes.equations
    assert total.contributions[0].components == 1
    assert square.contributions[0].components == 6
    assert nodes["a"].covector.components == 7


def test_contributions_that_cancel_to_nan_are_shown_and_not_warned_of():
    graph = ad.nodes(lambda x: np.sqrt(x - x) * 1.0, 1.0, cotangents=1.0)
    assert np.isnan(graph[0].covector.components)


def test_work_is_linear_in_the_graph():
    """2^40 paths, 40 nodes."""

    def doubled(x):
        for _ in range(40):
            x = x + x
        return x

    assert ad.nodes(doubled, np.float64(1), cotangents=1.0)["a"].adjoint == 2.0**40


# --- what nodes say -------------------------------------------------------------------------------


def test_nodes_follow_the_users_order_and_lines():
    def f(x):
        first = np.sin(x)
        second = np.cos(first)
        return second * 2.0

    nodes = ad.nodes(f, 1.0)
    assert [node.operation for node in nodes.inputs] == ["argument", "constant"]
    found = [(node.operation, node.text) for node in nodes.equations]
    assert ("sin", "first = np.sin(x)") in found
    assert ("cos", "second = np.cos(first)") in found
    sine = next(node for node in nodes if node.operation == "sin")
    path, _, number = sine.line.rpartition(":")
    assert path == __file__
    assert int(number) == f.__code__.co_firstlineno + 1


def test_the_line_of_a_transformed_function_is_not_one_of_this_package():
    def f(x):
        return np.sum(np.abs(x))

    x = np.zeros((2, 3))
    for nodes in (ad.nodes(ad.vmap(f), x), ad.nodes(ad.jit(f), x), ad.nodes(ad.grad(f), x[0])):
        lines = [node.line for node in nodes.equations if node.line]
        assert lines
        assert all(line.rpartition(":")[0] == __file__ for line in lines)


def test_values_operands_and_names_are_those_of_the_program():
    text = str(ad.program(graph, X, B))
    for node in ad.nodes(graph, X, B).equations:
        reads = " ".join(each.node.name for each in node.operands)
        assert f"{node.name}: {node.types[0]} = {node.operation} {reads}\n" in text
    for node in ad.nodes(graph, X, B):
        for operand in node.operands:
            assert operand.value is operand.node.value


def test_the_table():
    table = str(ad.nodes(lambda x: np.sum(x * x), np.ones(2), tangents=np.ones(2), cotangents=1.0))
    lines = table.splitlines()
    assert lines[0].split() == ["node", "operation", "value", "tangent", "covector", "line"]
    assert lines[2].startswith("b     multiply a a")
    assert "[1. 1.]" in lines[2]
    assert "covector" not in str(ad.nodes(np.sin, 1.0))


def test_integers_and_comparisons_carry_no_derivative():
    nodes = ad.nodes(lambda x: np.where(x > 0, x, -x), np.array([1.0, -1.0]), cotangents=np.ones(2))
    comparison = next(node for node in nodes if node.operation == "greater")
    assert (comparison.varies, comparison.covector, comparison.space) == (False, None, None)
    assert comparison.adjoint is None
    with pytest.raises(NotDifferentiableError, match="carries no derivative"):
        comparison.partial(0)
    with pytest.raises(NotDifferentiableError, match="does not depend"):
        _ = ad.nodes(lambda x, n: x * (n * 2.0), 1.0, 3)["d"].derivative
    select = next(node for node in nodes if node.operation == "select")
    with pytest.raises(NotDifferentiableError, match="operand 0"):
        select.partial(0)
    with pytest.raises(ArgumentError, match="has 3 operands"):
        select.partial(3)


def test_trees_several_results_and_arguments_that_stand_still():
    def f(tree, n):
        return {"double": tree["w"] * n, "once": tree["w"]}

    cotangents = {"double": X, "once": U}
    nodes = ad.nodes(f, {"w": X}, 2, tangents=({"w": U}, None), cotangents=cotangents)
    number = nodes["b"]
    assert (number.operation, number.varies, number.tangent) == ("argument", False, None)
    close(nodes["a"].covector.components, 2 * X + U)
    close(nodes["c"].tangent, 2 * U)
    close(nodes.cut(0), 2 * U @ X + U @ U)
    close(nodes.value["double"], 2 * X)


def test_repeated_results_are_seeded_once_each():
    """E.1.67: y_1 = y_2 = f(x) receives v_1 + v_2."""

    def twice(x):
        y = np.sin(x)
        return y, y

    nodes = ad.nodes(twice, X, cotangents=(U, 2 * U), tangents=U)
    close(nodes["b"].covector.components, 3 * U)
    close(nodes.cut(0), nodes.cut(1))


def test_an_operation_with_several_results():
    """E.1.67 with two outputs, through a function that capture does not enter."""

    @ad.primitive
    def pair(x):
        return np.sin(x), np.cos(x)

    @pair.jvp
    def _(primals, tangents):
        (x,), (u,) = primals, tangents
        return (np.sin(x), np.cos(x)), (np.cos(x) * u, -np.sin(x) * u)

    def f(x):
        sine, cosine = pair(x)
        return np.sum(sine * cosine)

    nodes = ad.nodes(f, X, tangents=U, cotangents=1.0)
    (both,) = (node for node in nodes.equations if len(node.types) == 2)
    assert both.name == "b, c"
    close(both.value, (np.sin(X), np.cos(X)))
    close(both.tangent, (np.cos(X) * U, -np.sin(X) * U))
    close(both.covector.components, (np.cos(X), np.sin(X)))
    close(both.adjoint, (np.cos(X), np.sin(X)))
    assert both.space == Product((Euclidean(4), Euclidean(4)))
    assert adjoint_error(both.derivative) < 1e-12
    close(nodes["a"].adjoint, np.cos(2 * X))
    close(nodes.cut(0), nodes.cut(1))
    assert [each.result for each in nodes.equations[1].operands] == [0, 1]
    assert "(" in str(nodes)


def test_complex_values():
    z = RNG.normal(size=3) + 1j * RNG.normal(size=3)

    def f(z):
        return np.sum(np.abs(z * z))

    nodes = ad.nodes(f, z, tangents=z, cotangents=1.0)
    close(nodes["a"].adjoint, ad.grad(f)(z))
    close(nodes.cut(1), nodes.cut(0))


def test_strong_zeros_hold_at_every_node():
    def f(x):
        return np.sum(np.where(x > 0, np.log(x), 0.0))

    with np.errstate(all="ignore"):
        nodes = ad.nodes(f, np.array([0.0, 2.0]), cotangents=1.0)
    close(nodes["a"].covector.components, [0, 0.5])


def test_a_function_that_takes_a_derivative_itself():
    def inner(x):
        return np.sum(np.where(x > 0, np.log(x), x * x))

    def f(x):
        return np.sum(ad.grad(inner)(x) ** 2)

    x = np.array([0.0, 2.0])
    with np.errstate(all="ignore"):
        nodes = ad.nodes(f, x, tangents=np.ones(2), cotangents=1.0)
        expected = ad.grad(f)(x)
    assert nodes.value == 0.25
    close(nodes["a"].adjoint, expected)
    assert not any(np.any(np.isnan(node.covector.components)) for node in nodes if node.varies)


@pytest.mark.parametrize(
    "function", [np.linalg.det, lambda A: np.sum(np.linalg.solve(A, np.ones(3)))]
)
def test_linear_algebra(function):
    A = np.eye(3) * 3 + RNG.normal(size=(3, 3)) / 3
    nodes = ad.nodes(function, A, tangents=np.ones((3, 3)), cotangents=1.0)
    close(nodes["a"].adjoint, ad.grad(function)(A))
    close(nodes.cut(0), nodes.cut(len(nodes.equations)))


def test_symmetric_arguments():
    """The space of an argument may tie its entries: the gradient is then symmetric."""
    space, S = Symmetric(3), np.eye(3) + 0.1
    matrix = RNG.normal(size=(3, 3))

    def f(s):
        return np.sum(matrix * (s @ s))

    nodes = ad.nodes(f, S, cotangents=1.0, spaces={"a": space})
    close(nodes["a"].adjoint, ad.grad(f, space=space)(S))


# --- errors ---------------------------------------------------------------------------------------


def test_errors():
    with pytest.raises(ArgumentTypeError, match="takes a function first"):
        ad.nodes(3.0, 1.0)
    with pytest.raises(ArgumentTypeError, match="at least one array"):
        ad.nodes(np.sin, "x")
    with pytest.raises(ArgumentTypeError, match="one entry for each"):
        ad.nodes(graph, X, B, tangents=U)
    with pytest.raises(ShapeError, match="tangent of argument 0"):
        ad.nodes(np.sin, X, tangents=np.ones(2))
    with pytest.raises(ShapeError, match="cotangent"):
        ad.nodes(np.sin, X, cotangents=np.ones(2))
    with pytest.raises(DTypeError):
        ad.nodes(np.sin, X, tangents=1j * U)
    with pytest.raises(ArgumentError, match="no node 'z'"):
        ad.nodes(np.sin, X)["z"]


def test_errors_of_spaces():
    with pytest.raises(ArgumentError, match="names the node 'q'"):
        ad.nodes(np.sin, X, spaces={"q": Euclidean(4)})
    with pytest.raises(ArgumentTypeError, match="A space was expected"):
        ad.nodes(np.sin, X, spaces={"a": 3})
    with pytest.raises(MembershipError, match="value of node 'a'"):
        ad.nodes(np.sin, X, spaces={"a": Euclidean(3)})
    with pytest.raises(ArgumentError, match="entries are tied"):
        ad.nodes(lambda x: x * x, np.eye(2), spaces={"b": Symmetric(2)})


def test_cuts_need_both_passes():
    with pytest.raises(ArgumentError, match="pairs tangents with covectors"):
        ad.nodes(np.sin, X, tangents=U).cut(0)
    with pytest.raises(ArgumentError, match="0 to 1"):
        ad.nodes(np.sin, X, tangents=U, cotangents=U).cut(2)


def test_nodes_within_a_capture_are_refused():
    with pytest.raises(ArgumentTypeError, match="being captured"):
        ad.grad(lambda x: ad.nodes(np.sin, x)[1].value)(1.0)


def test_a_metric_gives_the_space_at_the_value():
    metric = Metric(lambda x: Weighted(Euclidean(2), 1 / x**2))
    x = np.array([2.0, 3.0])
    nodes = ad.nodes(np.sum, x, cotangents=1.0, spaces={"a": metric})
    np.testing.assert_allclose(nodes["a"].adjoint, x**2)


def test_nodes_stay_as_they_are_when_the_argument_is_written_into():
    x = np.ones(2)
    nodes = ad.nodes(lambda x: x * x, x)
    x[:] = 9
    np.testing.assert_array_equal(nodes["a"].value, np.ones(2))
    np.testing.assert_array_equal(nodes["b"].partial(0)(np.ones(2)), np.ones(2))


def test_cuts_through_infinite_slopes_that_meet_zeros():
    """The square root at 0 sends infinity to a sum of squares whose tangent is 0.

    That a norm is 0 there is a matter of both; node by node there is no number.
    """

    def function(x):
        return np.sqrt(np.sum(x * x))

    nodes = ad.nodes(function, np.zeros(2), tangents=np.ones(2), cotangents=1.0)
    assert np.isinf(nodes.equations[1].covector.components)
    np.testing.assert_array_equal([nodes.cut(n) for n in range(4)], [np.nan, np.nan, np.nan, 0])
    assert ad.jvp(function, (np.zeros(2),), (np.ones(2),))[1] == 0


def test_custom_primitives_are_nodes():
    @ad.primitive
    def scaled(x, n):
        return x * n, np.sum(x)

    scaled.vjp(lambda x, n: (scaled(x, n), lambda c: (c[0] * n + c[1], None)))

    def function(x):
        first, second = scaled(x, 2)
        return np.sum(first) * second

    x = np.array([1.0, 2.0, 3.0])
    nodes = ad.nodes(function, x, cotangents=1.0)
    assert nodes["b, c"].types[1].shape == ()
    np.testing.assert_allclose(nodes["a"].adjoint, ad.grad(function)(x))
