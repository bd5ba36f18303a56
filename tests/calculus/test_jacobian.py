"""jacobian, hessian and hvp."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

import adjoint as ad
from adjoint.spaces import Euclidean, Product, Weighted

RNG = np.random.default_rng(9)
A = RNG.normal(size=(3, 4))
X = RNG.normal(size=4)
MODES = list(ad.Mode)
Pair = namedtuple("Pair", "a b")


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("function", "x"),
    [
        (lambda x: A @ x, X),
        (lambda x: np.sum(x), X),
        (lambda x: x[0] * np.ones((2, 3)), X),
        (lambda x: x**2 * np.arange(4.0), 2.0),
        (lambda x: x @ x.T, A),
        (lambda x: x**3, 2.0),
        (lambda x: x.reshape(0, 2), np.zeros((2, 0))),
    ],
)
def test_shape_and_modes(function, x, mode):
    jacobian = ad.jacobian(function, mode=mode)(x)
    assert jacobian.shape == np.shape(function(x)) + np.shape(x)
    columns = ad.derivative(function, x).matrix()
    close(np.reshape(jacobian, columns.shape), columns)


def test_jacobian_of_a_linear_function_is_its_matrix():
    close(ad.jacobian(lambda x: A @ x)(X), A)


@pytest.mark.parametrize("mode", MODES)
def test_containers_on_both_sides(mode):
    def function(p, s):
        return {"x": p.a[:2] * s, "y": [np.sum(p.a) * p.b]}

    found = ad.jacobian(function, argnums=(0, -1), mode=mode)(Pair(X, 2.0), 3.0)
    with_p, with_s = found["x"]
    assert isinstance(with_p, Pair)
    close(with_p.a, 3 * np.eye(2, 4))
    close(with_p.b, np.zeros(2))
    close(with_s, X[:2])
    close(found["y"][0][0].a, np.full(4, 2.0))
    close(found["y"][0][0].b, np.sum(X))
    close(found["y"][0][1], 0)


@pytest.mark.parametrize("argnums", [1, -1])
def test_argnums(argnums):
    close(ad.jacobian(lambda a, b: a * b, argnums)(X, 2 * X), np.diag(X))


@pytest.mark.parametrize("mode", MODES)
def test_has_aux(mode):
    jacobian, aux = ad.jacobian(lambda x: (A @ x, {"n": x}), mode=mode, has_aux=True)(X)
    close(jacobian, A)
    close(aux["n"], X)


@pytest.mark.parametrize("mode", MODES)
def test_the_function_runs_once(mode):
    calls = []

    def counted(x):
        calls.append(1)
        return np.sin(A @ x)

    close(ad.jacobian(counted, mode=mode)(X), np.cos(A @ X)[:, None] * A)
    assert len(calls) == 1


@pytest.mark.parametrize("mode", MODES)
def test_float32_stays_float32(mode):
    x = np.ones(2, np.float32)
    assert ad.jacobian(lambda x: np.sin(x) * 2.5, mode=mode)(x).dtype == np.float32
    assert ad.hessian(lambda x: np.sum(x**3) / 3)(x).dtype == np.float32
    assert ad.hvp(lambda x: np.sum(np.exp(x / 3)), x, x).dtype == np.float32


def test_constant_outputs_have_zero_rows():
    close(ad.jacobian(lambda x: (np.ones(2), 3 * x))(X)[0], np.zeros((2, 4)))


@pytest.mark.parametrize("function", [lambda x: x * 1j, np.argmax, lambda x: x > 0])
def test_results_that_are_not_real(function):
    with pytest.raises(ad.errors.NotDifferentiableError, match=r"A Jacobian was asked .*over the "):
        ad.jacobian(function)(X)


@pytest.mark.parametrize("mode", ["forwards", None, 1])
def test_mode_is_a_mode(mode):
    with pytest.raises(ad.errors.ArgumentTypeError, match=r"mode must be one of 'auto', 'forward'"):
        ad.jacobian(np.sin, mode=mode)


@pytest.mark.parametrize("mode", ad.Mode)
def test_modes_by_their_values(mode):
    one, other = (ad.jacobian(np.sin, mode=each)(X) for each in (mode, mode.value))
    np.testing.assert_array_equal(one, other)
    plan = ad.plan(lambda x: np.sin(x) * np.exp(x), X)
    assert plan[mode.value] == plan[mode]


@pytest.mark.parametrize("composition", ad.Composition)
def test_compositions_by_their_values(composition):
    value = composition.value
    one, other = (ad.hessian(np.prod, composition=each)(X) for each in (composition, value))
    np.testing.assert_array_equal(one, other)
    with pytest.raises(ad.errors.ArgumentTypeError, match="composition must be one of 'auto'"):
        ad.hvp(np.prod, X, X, composition=value + "s")


# --- hessian --------------------------------------------------------------------------------------


def f(x):
    return np.sum(np.exp(A @ x)) + x[0] * x[1] ** 2


def test_hessian_is_symmetric_and_the_jacobian_of_the_gradient():
    hessian = ad.hessian(f)(X)
    close(hessian, hessian.T)
    for mode in MODES:
        close(hessian, ad.jacobian(ad.grad(f), mode=mode)(X))


def test_hessian_of_matrices_and_numbers():
    assert ad.hessian(lambda x: x**4)(2.0) == 48
    assert ad.hessian(lambda x: np.sum(x @ x))(np.ones((2, 2))).shape == (2, 2, 2, 2)
    assert ad.hessian(lambda x: np.sum(x**2))(np.zeros((0, 2))).shape == (0, 2, 0, 2)


def test_hessian_of_containers_and_several_arguments():
    def function(p, s):
        return p["a"] ** 2 * np.sum(p["b"] ** 3) * s

    p = {"a": 2.0, "b": np.array([1.0, 2.0])}
    block = ad.hessian(function)(p, 1.0)
    close(block["a"]["a"], 18)
    close(block["a"]["b"], 12 * p["b"] ** 2)
    close(block["b"]["b"], np.diag(24 * p["b"]))
    both = ad.hessian(function, argnums=(0, 1))(p, 1.0)
    close(both[1][0]["b"], both[0]["b"][1])
    close(both[1][1], 0)


def test_hessian_has_aux():
    hessian, aux = ad.hessian(lambda x: (np.sum(x**3), x + 1), has_aux=True)(X)
    close(hessian, np.diag(6 * X))
    close(aux, X + 1)


# --- hvp ------------------------------------------------------------------------------------------


def test_hvp_is_the_hessian_times_the_direction():
    u = RNG.normal(size=4)
    close(ad.hvp(f, X, u), ad.hessian(f)(X) @ u)


@pytest.mark.parametrize("weight", [np.array([1.0, 2.0, 3.0, 4.0]), A.T @ A + np.eye(4)])
def test_hvp_in_a_weighted_space(weight):
    space, u = Weighted(Euclidean(4), weight), RNG.normal(size=4)
    dense = np.diag(weight) if weight.ndim == 1 else weight
    close(ad.hvp(f, X, u, space=space), np.linalg.solve(dense, ad.hessian(f)(X) @ u))


def test_hvp_of_containers():
    space = Product({"a": Weighted(Euclidean(()), 2.0), "b": Euclidean(2)})
    p, u = {"a": 2.0, "b": np.ones(2)}, {"a": 1.0, "b": np.array([1.0, 0.0])}
    product = ad.hvp(lambda p: p["a"] ** 2 * np.sum(p["b"] ** 3), p, u, space=space)
    assert product["a"] == (2 * 2 + 12) / 2
    close(product["b"], [12 + 24, 12])


@pytest.mark.parametrize(
    ("direction", "error", "message"),
    [
        (np.ones(3), ad.errors.ShapeError, r"direction has shape \(3,\)"),
        ([X], ad.errors.ArgumentTypeError, "direction has the structure"),
        (Euclidean(4).covector(X), ad.errors.SpaceMismatchError, "direction is, or holds, a cov"),
    ],
)
def test_wrong_directions(direction, error, message):
    with pytest.raises(error, match=message):
        ad.hvp(f, X, direction)
