"""Second derivatives in the four compositions: maps, products, Hessians, Lagrangians."""

from __future__ import annotations

import numpy as np
import optree
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint.calculus.jacobians.planning.operations import program_operations
from adjoint.calculus.second_order.composition import Twice, with_unit_weight
from adjoint.maps import BilinearMap, adjoint_error
from adjoint.optimise import simplify
from adjoint.spaces import Covector, Euclidean, Product, Symmetric, Weighted
from tests.transforms.test_random_programs import INDEX, N, programs
from tests.transforms.test_random_programs import run as run_program

RNG = np.random.default_rng(41)
COMPOSITIONS = list(ad.Composition)
FOUR = [each for each in COMPOSITIONS if each is not ad.Composition.AUTO]
A = RNG.normal(size=(3, 4))
X, U, V = RNG.normal(size=(3, 4))
S = RNG.normal(size=(3, 3))


def close(found, expected, rtol=1e-10):
    for one, two in zip(optree.tree_leaves(found), optree.tree_leaves(expected), strict=True):
        np.testing.assert_allclose(one, two, rtol=rtol, atol=1e-12)


def loop(x):
    total = 0.0
    for entry in x:
        total = np.sin(total + entry) * entry
    return total


def branch(x):
    return np.sum(x**3) if x[0] > 0 else np.sum(np.exp(x))


REAL = [
    (lambda x: np.sum(np.exp(np.sin(A @ x))) + x[0] * x[1] * x[2], X),
    (lambda x: np.sum(np.tanh(A @ x) ** 2), X),
    (loop, X),
    (branch, X),
    (branch, -X),
    (lambda x: x @ x, X),
    (lambda x: np.sum(x), X),
    (lambda x: 3.0, X),
    (lambda x: x**4, 2.0),
    (lambda x: np.prod(x), np.array([1.0, 0.0, 3.0])),
    (lambda x: np.max(x) * np.sum(x**2), X),
    (lambda x: np.trace(x @ x @ x), S),
    (lambda x: np.linalg.norm(x), X),
    (lambda x: np.logaddexp(x[0], x[1]) / x[2], X),
    (lambda x: np.sum(np.cumsum(x) ** 3), X),
    (lambda x: np.sum(x[[0, 0, 1]] * x[1:]), X),
    (lambda p: p["a"] ** 2 * np.sum(p["b"] ** 3), {"a": 2.0, "b": np.array([1.0, 2.0])}),
    (lambda z: np.sum(np.abs(z) ** 4), np.array([1.0 + 2j, 0.5 - 1j])),
    (lambda z: np.sum((z**3).real), np.array([1.0 + 2j, 0.5 - 1j])),
]
MAPS = [
    (lambda x: np.tanh(A @ x) * x[0], X),
    (lambda x: A @ x, X),
    (lambda x: np.outer(x, np.sin(x)), X[:2]),
    (lambda x: x @ x.T, S),
    (lambda x: {"p": np.sum(x**3), "q": [x[:2] ** 2, np.cos(x)]}, X),
    (lambda p: p["a"] * p["b"] ** 2, {"a": 2.0, "b": np.array([1.0, 2.0])}),
    (lambda z: z**3, np.array([1.0 + 2j, 0.5 - 1j])),
    (lambda x: np.exp(1j * x), X),
    (lambda z: np.abs(z) ** 2, np.array([1.0 + 2j, 0.5 - 1j])),
    *REAL,
]


def tangents(space):
    return space.random(1), space.random(2)


def nested(function, x, u, v):
    """∂²f(x)[u, v] by nesting the public functions."""
    return ad.jvp(lambda x: ad.jvp(function, (x,), (u,))[1], (x,), (v,))[1]


# --- the second derivative as a map ---------------------------------------------------------------


@pytest.mark.parametrize("number", range(len(MAPS)))
@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_second_derivative(number, composition):
    """E.1.77: B(u, u') is bilinear and symmetric; B(u) is a linear map with its transpose."""
    function, x = MAPS[number]
    B = ad.second_derivative(function, x, composition=composition)
    u, v = tangents(B.domain_left)
    expected = nested(function, x, u, v)
    close(B(u, v), expected)
    close(B(v, u), expected)
    close(B(u)(v), expected)
    w = B.codomain.covector(B.codomain.random(3))
    close(B(u).T(w)(v), w(expected))
    assert adjoint_error(B(u)) < 1e-12


SPACES = [
    (lambda S: S @ S @ S, np.eye(3) + 0.1 * (S + S.T), Symmetric(3), Symmetric(3)),
    (
        lambda x: np.tanh(A @ x),
        X,
        Weighted(Euclidean(4), A.T @ A + np.eye(4)),
        Weighted(Euclidean(3), np.array([1.0, 2.0, 3.0])),
    ),
    (
        lambda z: z**3 * z[0],
        np.array([1.0 + 2j, 0.5 - 1j]),
        Euclidean(2, complex),
        Weighted(Euclidean(2, complex), np.array([2.0, 3.0])),
    ),
    (
        lambda p: (p["a"] * p["b"] ** 2, np.sum(p["b"])),
        {"a": 2.0, "b": np.array([1.0, 2.0])},
        Product({"a": Weighted(Euclidean(()), 2.0), "b": Euclidean(2)}),
        Product((Weighted(Euclidean(2), 3.0), Euclidean(()))),
    ),
]


@pytest.mark.parametrize("number", range(len(SPACES)))
@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_second_derivative_between_spaces(number, composition):
    function, x, domain, codomain = SPACES[number]
    B = ad.second_derivative(function, x, domain=domain, codomain=codomain, composition=composition)
    u, v = tangents(domain)
    w = codomain.random(3)
    close(B(u, v), nested(function, x, u, v))
    close(domain.inner(B(u).H(w), v), codomain.inner(w, B(u, v)))
    coordinates = np.einsum("kij,i,j->k", B.array(), domain.coordinates(u), domain.coordinates(v))
    close(coordinates, codomain.coordinates(B(u, v)))


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_array_is_the_jacobian_of_the_jacobian(composition):
    """E.1.78."""
    function, x = MAPS[0]
    array = ad.second_derivative(function, x, composition=composition).array()
    close(array, ad.jacobian(ad.jacobian(function))(x))


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_operator_is_self_adjoint(composition):
    """E.1.79: ⟨u', ∇²f(x)[u]⟩ = B(u, u') in the inner product of the space."""
    space = Weighted(Euclidean(4), A.T @ A + np.eye(4))
    B = ad.second_derivative(REAL[0][0], X, domain=space, composition=composition)
    operator = B.operator()
    close(space.inner(V, operator(U)), B(U, V))
    close(operator.H(U), operator(U))
    close(operator(U), ad.hvp(REAL[0][0], X, U, space=space))
    assert adjoint_error(operator) < 1e-12


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_of_nothing_and_to_nothing(composition):
    nowhere = ad.second_derivative(lambda x: None, X, composition=composition)
    assert nowhere(U, V) is None
    close(nowhere(U).T(nowhere.codomain.covector(None)).components, np.zeros(4))
    empty = ad.second_derivative(lambda x: np.ones(2), {}, composition=composition)
    close(empty({}, {}), np.zeros(2))
    assert empty({}).T(empty.codomain.covector(np.ones(2))).components == {}


def test_several_arguments():
    B = ad.second_derivative(lambda x, y: x @ A.T @ y, X, X[:3])
    u, v = (U, U[:3]), (V, V[:3])
    close(B(u, v), U @ A.T @ V[:3] + V @ A.T @ U[:3])
    close(B.operator()(u), (A.T @ U[:3], A @ U))


def test_the_function_runs_once_and_its_work_is_not_repeated():
    """What is applied holds none of the function's own operations."""
    calls = []

    def counted(x):
        calls.append(1)
        return np.sum(np.exp(np.sin(A @ x)))

    B = ad.second_derivative(counted, X)
    for _ in range(3):
        close(B(U, V), B.operator()(U) @ V)
    assert len(calls) == 1
    apply = B._apply.__closure__
    programs = next(
        cell.cell_contents for cell in apply if hasattr(cell.cell_contents, "residuals")
    )
    for backwards in (False, True):
        names = {each.primitive.name for each in programs.compiled(backwards).program.equations}
        linear = {"contract", "scale", "multiply", "add", "negative", "sum", "subtract", "hard"}
        assert names <= linear


def test_maps_inside_other_transforms():
    function = REAL[0][0]

    def curvature(x):
        return ad.second_derivative(function, x)(U, V)

    expected = nested(function, X, U, V)
    close(ad.jit(curvature)(X), expected)
    close(ad.vmap(curvature)(np.stack([X, 2 * X]))[0], expected)
    third = ad.grad(curvature)(X)
    steps = 1e-6 * np.eye(4)
    slopes = [(curvature(X + e) - curvature(X - e)) / 2e-6 for e in steps]
    close(third, np.array(slopes), rtol=1e-6)
    array = ad.jit(lambda x: ad.second_derivative(function, x).array())(X)
    close(array[0], ad.hessian(function)(X))


# --- products and Hessians ------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(len(REAL)))
@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_products_agree(number, composition):
    """E.1.79, lecture: the four compositions compute the same product."""
    function, x = REAL[number]
    u = ad.spaces.infer(x).random(5)
    expected = ad.jvp(ad.grad(function), (x,), (u,))[1]
    close(ad.hvp(function, x, u, composition=composition), expected)


@pytest.mark.parametrize("number", range(len(REAL) - 2))
@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_hessians_agree(number, composition):
    function, x = REAL[number]
    expected = ad.jacobian(ad.grad(function))(x)
    found = ad.hessian(function, composition=composition)(x)
    close(found, expected)
    assert optree.tree_structure(found) == optree.tree_structure(expected)


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_products_inside_other_transforms(composition):
    """Third order, vmap over directions and points, jit, closures over traced values."""

    def function(x):
        return np.sum(np.exp(np.sin(A @ x)))

    def product(x, u):
        return ad.hvp(function, x, u, composition=composition)

    hessian = ad.hessian(function, composition=composition)
    close(ad.vmap(product, in_axes=(None, 0))(X, np.eye(4)), hessian(X))
    close(ad.vmap(product)(np.stack([X, V]), np.stack([U, U]))[1], hessian(V) @ U)
    close(ad.jit(product)(X, U), hessian(X) @ U)
    third = ad.jacobian(ad.hessian(function))(X)
    close(ad.jacobian(product)(X, U), np.einsum("ijk,j->ik", third, U))
    close(ad.grad(lambda x: V @ product(x, U))(X), np.einsum("ijk,i,j->k", third, V, U))
    close(ad.grad(lambda u: V @ product(X, u))(U), hessian(X) @ V)

    def scaled(s):
        return np.sum(ad.hvp(lambda x: np.sum(s * x**3), X, U, composition=composition))

    close(ad.grad(scaled)(2.0), np.sum(6 * X * U))


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_float32_stays_float32(composition):
    x = np.ones(2, np.float32)

    def function(x):
        return np.sum(np.exp(x / 3) * x[0])

    assert ad.hvp(function, x, x, composition=composition).dtype == np.float32
    assert ad.hessian(function, composition=composition)(x).dtype == np.float32
    B = ad.second_derivative(function, x, composition=composition)
    assert B(x, x).dtype == np.float32
    assert B.operator()(x).dtype == np.float32


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_auxiliary_outputs(composition):
    def function(x):
        return np.sum(x**3), {"n": x + 1, "m": 2}

    hessian, aux = ad.hessian(function, has_aux=True, composition=composition)(X)
    close(hessian, np.diag(6 * X))
    close(aux["n"], X + 1)
    assert aux["m"] == 2


def test_hessian_runs_the_function_once():
    calls = []

    def counted(x):
        calls.append(1)
        return np.sum(x**3)

    ad.hessian(counted)(X)
    ad.hvp(counted, X, U)
    assert len(calls) == 2


# --- which composition ----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 8, 30])
def test_auto_takes_few_operations(size):
    """As few as the best of the four when they are simplified, or nearly."""
    weights = RNG.normal(size=(5, size))

    def function(x):
        return np.sum(np.tanh(weights @ x) ** 2)

    twice = Twice(ad.program(function, np.ones(size)).program, 1, [True])

    def operations(composition):
        return program_operations(simplify(with_unit_weight(twice.pull(composition))))

    assert operations(ad.Composition.AUTO) <= 1.1 * min(map(operations, FOUR))


# --- Lagrangians ----------------------------------------------------------------------------------


def objective(x):
    return np.sum(np.exp(A @ x)) + x[0] * x[1]


def constraints(x):
    return {"sphere": np.sum(x**2) - 1, "pair": np.array([np.prod(x), np.sin(x[0] * x[3])])}


LAMBDA = {"sphere": 0.5, "pair": np.array([-2.0, 1.5])}


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_hessian_of_the_lagrangian(composition):
    """Lecture: ∇²ₓL(x, λ) = ∇²f(x) - Σ λᵢ ∇²gᵢ(x)."""
    operator = ad.lagrangian_hessian(objective, constraints, X, LAMBDA, composition=composition)
    second = ad.jacobian(ad.jacobian(constraints))(X)
    expected = ad.hessian(objective)(X) - 0.5 * second["sphere"]
    expected = expected - np.tensordot(LAMBDA["pair"], second["pair"], axes=1)
    close(operator.matrix(), expected)
    close(operator.as_scipy() @ U, expected @ U)
    close(operator.as_scipy().T @ U, expected @ U)
    assert adjoint_error(operator) < 1e-13


def test_lagrangian_of_constraints_alone():
    operator = ad.lagrangian_hessian(None, lambda x: x**2, X, np.ones(4))
    close(operator.matrix(), -2 * np.eye(4))


def test_lagrangian_in_a_space_and_of_pytrees():
    space = Product({"a": Weighted(Euclidean(()), 2.0), "b": Euclidean(2)})
    point = {"a": 2.0, "b": np.ones(2)}
    operator = ad.lagrangian_hessian(
        lambda p: p["a"] ** 2, lambda p: [np.sum(p["b"] ** 2)], point, [3.0], space=space
    )
    close(operator({"a": 1.0, "b": np.ones(2)}), {"a": 1.0, "b": np.full(2, -6.0)})


# --- bilinear maps --------------------------------------------------------------------------------


def test_a_symmetric_map_is_its_own_swap():
    B = ad.second_derivative(MAPS[0][0], X)
    assert B.symmetric
    assert B.swapped() is B
    close(B.swapped()(U).T(B.codomain.covector(np.ones(3)))(V), np.sum(B(U, V)))


def test_representation():
    B = ad.second_derivative(MAPS[0][0], X)
    assert (
        repr(B) == "BilinearMap(∂²<lambda>: Euclidean((4,)) x Euclidean((4,)) -> Euclidean((3,)))"
    )
    assert isinstance(B(U).T(B.codomain.covector(np.ones(3))), Covector)


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: ad.hvp(np.sum, X, U, composition="forward"),
            ad.errors.ArgumentTypeError,
            "a member of ad.Composition, got 'forward'",
        ),
        (lambda: ad.hvp(np.sin, X, U), ad.errors.NotDifferentiableError, "hvp was asked of a fun"),
        (
            lambda: ad.hvp(lambda x: (x, x), X, U),
            ad.errors.NotDifferentiableError,
            r"hvp was asked of a function that returns .*second_derivative",
        ),
        (lambda: ad.hvp(np.argmax, X, U), ad.errors.NotDifferentiableError, "integer or boolean"),
        (
            lambda: ad.hvp(np.sum, X, U, space=object()),
            ad.errors.ArgumentTypeError,
            "one inner product was expected for space, got a object",
        ),
        (
            lambda: ad.hvp(np.sum, X, U, space=Euclidean(3)),
            ad.errors.MembershipError,
            r"must be an element of Euclidean\(\(3,\)\)",
        ),
        (lambda: ad.hessian(np.sin)(X), ad.errors.NotDifferentiableError, "hessian was asked of"),
        (
            lambda: ad.hessian(lambda z: np.sum(np.abs(z)))(X + 1j),
            ad.errors.NotDifferentiableError,
            r"argument 0, which is c16\[4\]; .*second_derivative",
        ),
        (
            lambda: ad.hessian(lambda x: x @ x, has_aux=True)(X),
            ad.errors.ArgumentTypeError,
            r"must return a pair \(value, auxiliary\)",
        ),
        (
            lambda: ad.hessian(lambda x: (x, x), has_aux=True)(X),
            ad.errors.NotDifferentiableError,
            "hessian was asked of",
        ),
        (lambda: ad.second_derivative(np.sin), ad.errors.ArgumentError, "At least one argument"),
        (
            lambda: ad.second_derivative(np.argmax, X),
            ad.errors.NotDifferentiableError,
            r"A second derivative was asked of a function whose value is i8\[\]",
        ),
        (
            lambda: ad.second_derivative(np.sin, X, codomain=Euclidean(3)),
            ad.errors.MembershipError,
            "the function's value",
        ),
        (
            lambda: ad.second_derivative(np.sin, X, codomain=3),
            ad.errors.ArgumentTypeError,
            "one inner product was expected for codomain",
        ),
        (
            lambda: ad.second_derivative(np.sin, X).operator(),
            ad.errors.SpaceMismatchError,
            "Its values are not real numbers",
        ),
        (
            lambda: BilinearMap(Euclidean(2), Euclidean(2), Euclidean(()), np.dot).operator(),
            ad.errors.MissingTransposeError,
            "It was built without one",
        ),
        (
            lambda: BilinearMap(Euclidean(2), Euclidean(3), Euclidean(()), max, symmetric=True),
            ad.errors.SpaceMismatchError,
            "A symmetric bilinear map has one domain",
        ),
        (
            lambda: ad.lagrangian_hessian(lambda x: x, constraints, X, LAMBDA),
            ad.errors.ShapeError,
            r"objective has values of shape \(4,\); expected a number",
        ),
        (
            lambda: ad.lagrangian_hessian(None, constraints, X, 1.0),
            ad.errors.ArgumentTypeError,
            r"multipliers has the structure an array; expected .*sphere",
        ),
        (
            lambda: ad.lagrangian_hessian(None, constraints, X, {"sphere": 1.0, "pair": X}),
            ad.errors.ShapeError,
            r"multipliers\['pair'\] has shape \(4,\); expected \(2,\)",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


# --- random programs ------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(0, 2**32 - 1))
def test_random_programs(program, seed):
    """Slices, writes, gathers, sums and products: the four compositions are transposes of B."""
    rng = np.random.default_rng(seed)
    x, y, *directions = rng.uniform(-1, 1, (6, N, N))
    (left, right) = directions[:2], directions[2:]
    weights = list(rng.uniform(-1, 1, (len(program.outputs), N, N)))
    twice = Twice(program, 2, [True] * len(program.outputs))
    pushed = run_program(twice.push(), x, y, INDEX, *left, *right)
    expected = sum(np.sum(w * each) for w, each in zip(weights, pushed, strict=True))
    size = 1 + sum(np.sum(np.abs(each)) for each in pushed)
    for composition in FOUR:
        pulled = run_program(twice.pull(composition), x, y, INDEX, *left, *weights)
        paired = sum(np.sum(u * each) for u, each in zip(right, pulled, strict=True))
        assert abs(paired - expected) <= 1e-10 * size
