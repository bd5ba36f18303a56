"""jvp, vjp, linearize, derivative and linear_transpose."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

import adjoint as ad
from adjoint.maps import adjoint_error, linearity_error
from adjoint.spaces import Euclidean, Product, Symmetric, Weighted

RNG = np.random.default_rng(4)
A = RNG.normal(size=(3, 4))
X, U = RNG.normal(size=4), RNG.normal(size=4)
Pair = namedtuple("Pair", "a b")
W = np.array([[2.0, 1.0], [1.0, 3.0]])


def f(x):
    return np.tanh(A @ x) * x[0]


def tree(p):
    return {"out": p.a[:2] * p.b, "sum": [np.sum(p.a), 3.0]}


POINT = Pair(X, 2.0)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


# --- jvp ------------------------------------------------------------------------------------------


def test_jvp_gives_the_value_and_the_tangent():
    value, tangent = ad.jvp(f, (X,), (U,))
    close(value, f(X))
    close(tangent, ad.jacobian(f)(X) @ U)
    again = ad.jvp(f, [X], [U])
    close(again[1], tangent)


def test_jvp_of_containers():
    value, tangent = ad.jvp(tree, (POINT,), (Pair(U, 0.5),))
    close(value["out"], 2 * X[:2])
    close(tangent["out"], U[:2] * 2 + X[:2] * 0.5)
    close(tangent["sum"][0], np.sum(U))
    assert value["sum"][1] == 3
    assert tangent["sum"][1] == 0


def test_jvp_with_respect_to_some_arguments():
    def power(x, n, how):
        return x**n if how == "up" else -x

    value, tangent = ad.jvp(power, (X, 3, "up"), (U, None, None))
    close(value, X**3)
    close(tangent, 3 * X**2 * U)


def test_jvp_has_aux():
    _, tangent, aux = ad.jvp(lambda x: (x**2, {"twice": 2 * x}), (X,), (U,), has_aux=True)
    close(tangent, 2 * X * U)
    close(aux["twice"], 2 * X)


def test_tangents_of_results_that_carry_no_derivative_are_zero():
    value, tangent = ad.jvp(lambda x: (np.argmax(x), x > 0, 2 * x), (X,), (U,))
    assert value[0] == np.argmax(X)
    assert tangent[0] == 0
    np.testing.assert_array_equal(tangent[1], np.zeros(4))
    close(tangent[2], 2 * U)


@pytest.mark.parametrize(
    ("primals", "tangents", "error", "message"),
    [
        (X, U, ad.errors.ArgumentTypeError, r"tuples or lists: ad.jvp\(f, \(x,\), \(u,\)\)"),
        ((X,), U, ad.errors.ArgumentTypeError, "tuples or lists"),
        ((X,), (U, U), ad.errors.ArgumentError, "1 primals and 2 tangents"),
        ((X,), (None,), ad.errors.ArgumentError, "at least one argument"),
        ((), (), ad.errors.ArgumentError, "at least one argument"),
        ((X,), (U[:2],), ad.errors.ShapeError, r"tangents\[0\] has shape \(2,\); expected \(4,\)"),
        ((X,), (U * 1j,), ad.errors.DTypeError, r"tangents\[0\] has dtype complex128; expected fl"),
        ((X,), ("a",), ad.errors.ArgumentTypeError, r"tangents\[0\] is a str"),
        ((X,), ([U],), ad.errors.ArgumentTypeError, "tangents has the structure"),
        (({"a": X},), ({"b": U},), ad.errors.ArgumentTypeError, r"expected \(\{'a': \*\},\)"),
        (({"a": X},), ({"a": U[:1]},), ad.errors.ShapeError, r"tangents\[0\]\['a'\] has shape"),
        ((X,), (Euclidean(4).covector(U),), ad.errors.SpaceMismatchError, "tangents is, or holds"),
        ((3,), (1.0,), ad.errors.NotDifferentiableError, "argument 0 has the type int"),
        ((X, 3), (U, 1.0), ad.errors.NotDifferentiableError, "argument 1 has the type int"),
    ],
)
def test_wrong_tangents(primals, tangents, error, message):
    with pytest.raises(error, match=message):
        ad.jvp(lambda *args: 1.0, primals, tangents)


def test_tangents_take_the_dtype_of_their_argument():
    x = np.ones(2, np.float32)
    for u in (np.ones(2, np.float64), np.ones(2, int), np.ones(2, bool)):
        value, tangent = ad.jvp(np.sin, (x,), (u,))
        assert value.dtype == tangent.dtype == np.float32
    assert ad.jvp(np.sin, (1.0,), (1,))[1] == np.cos(1.0)


def test_python_numbers_do_not_widen_single_precision():
    def valley(x):
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2 * 0.5)

    x = np.linspace(-1, 1, 5, dtype=np.float32)
    value, tangent = ad.jvp(valley, (x,), (x,))
    assert value.dtype == tangent.dtype == np.float32
    assert ad.vjp(valley, x)[1](value)[0].dtype == np.float32
    assert ad.hvp(valley, x, x).dtype == np.float32
    assert tangent == pytest.approx(ad.grad(valley)(x.astype(float)) @ x, rel=1e-5)


# --- vjp ------------------------------------------------------------------------------------------


def test_vjp_gives_the_value_and_a_pullback():
    value, pullback = ad.vjp(f, X)
    v = np.arange(3.0)
    close(value, f(X))
    (pulled,) = pullback(v)
    close(pulled, ad.jacobian(f)(X).T @ v)


def test_vjp_of_several_arguments_and_containers():
    value, pullback = ad.vjp(lambda p, s: tree(p) | {"s": s**2}, POINT, 3.0)
    seed = {"out": np.ones(2), "sum": [10.0, 5.0], "s": 1.0}
    p, s = pullback(seed)
    assert isinstance(p, Pair)
    close(p.a, [12, 12, 10, 10])
    close(p.b, np.sum(X[:2]))
    assert s == 6
    assert value["s"] == 9


def test_vjp_has_aux():
    value, pullback, aux = ad.vjp(lambda x: (np.sum(x), x * 2), X, has_aux=True)
    assert value == np.sum(X)
    close(pullback(2.0)[0], np.full(4, 2.0))
    close(aux, 2 * X)


@pytest.mark.parametrize(
    ("cotangent", "error", "message"),
    [
        (np.ones(4), ad.errors.ShapeError, r"the cotangent has shape \(4,\); expected \(3,\)"),
        (np.ones(3) * 1j, ad.errors.DTypeError, "the cotangent has dtype complex128"),
        ([np.ones(3)], ad.errors.ArgumentTypeError, "the cotangent has the structure"),
        ("a", ad.errors.ArgumentTypeError, "the cotangent is a str"),
        (Euclidean(3).covector(np.ones(3)), ad.errors.SpaceMismatchError, "covector.components"),
    ],
)
def test_wrong_cotangents(cotangent, error, message):
    _, pullback = ad.vjp(f, X)
    with pytest.raises(error, match=message):
        pullback(cotangent)


@pytest.mark.parametrize("transform", [ad.vjp, ad.linearize, ad.derivative, ad.linear_transpose])
def test_no_arguments(transform):
    with pytest.raises(ad.errors.ArgumentError, match="At least one argument"):
        transform(lambda: 1.0)


# --- linearize ------------------------------------------------------------------------------------


def test_linearize_gives_the_value_and_the_map():
    value, linear = ad.linearize(f, X)
    close(value, f(X))
    close(linear(U), ad.jvp(f, (X,), (U,))[1])
    close(linear.matrix(), ad.jacobian(f)(X))
    assert adjoint_error(linear, 0) < 1e-14
    assert linearity_error(linear, 0) < 1e-14


def test_the_map_repeats_none_of_the_work_of_the_function():
    calls = []

    def counted(x):
        calls.append(1)
        return np.sum(np.exp(x) ** 2) * np.exp(-x)

    _, linear = ad.linearize(counted, X)
    for _ in range(3):
        linear(U)
        linear.H(U)
    assert len(calls) == 1
    view = ad.program(counted, X)
    for half in (view.linearize(), view.transpose()):
        names = {equation.primitive.name for equation in half.program.equations}
        assert not names & {"exp", "square"}
        assert "exp" not in half.source()


def test_the_map_is_that_of_the_point_even_if_the_array_changes_later():
    x = X.copy()
    _, linear = ad.linearize(np.square, x)
    _, pullback = ad.vjp(np.square, x)
    x[:] = 0
    close(linear(U), 2 * X * U)
    close(pullback(U)[0], 2 * X * U)


def test_linearize_of_several_arguments_takes_a_tuple():
    value, linear = ad.linearize(lambda x, y: x * y, X, 3.0)
    close(value, 3 * X)
    close(linear((U, 2.0)), 3 * U + 2 * X)
    close(linear.H(U)[1], X @ U)


def test_a_result_that_does_not_vary():
    value, linear = ad.linearize(lambda x: (np.arange(2.0), 2 * x), X)
    close(value[0], np.arange(2.0))
    close(linear(U)[0], np.zeros(2))
    close(linear.H((np.ones(2), U)), 2 * U)


# --- derivative -----------------------------------------------------------------------------------


def test_derivative_between_spaces():
    domain, codomain = Weighted(Euclidean(2), W), Weighted(Euclidean(3), np.array([1.0, 2, 4]))
    derivative = ad.derivative(lambda x: A[:, :2] @ x, X[:2], domain=domain, codomain=codomain)
    assert derivative.domain == domain
    assert derivative.codomain == codomain
    expected = np.linalg.solve(W, A[:, :2].T * np.array([1.0, 2, 4]))
    close(derivative.H.matrix(), expected)
    close(derivative.T(codomain.covector(np.ones(3))).components, A[:, :2].T @ np.ones(3))


def test_derivative_on_symmetric_matrices():
    space = Symmetric(2)
    derivative = ad.derivative(lambda x: x @ x, W, domain=space, codomain=space)
    u = np.array([[1.0, 2.0], [2.0, 0.0]])
    close(derivative(u), u @ W + W @ u)
    assert derivative.matrix().shape == (3, 3)
    assert adjoint_error(derivative, 1) < 1e-14


def test_derivative_of_several_arguments_and_containers():
    derivative = ad.derivative(lambda p, s: {"y": p["x"] * s}, {"x": X}, 2.0)
    assert derivative.domain == Product(({"x": Euclidean(4)}, Euclidean(())))
    assert derivative.codomain == Product({"y": Euclidean(4)})
    close(derivative(({"x": U}, np.float64(1.0)))["y"], 2 * U + X)
    assert adjoint_error(derivative, 2) < 1e-14


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"domain": Euclidean(3)}, "primals must be"), ({"codomain": Euclidean(2)}, "the function's")],
)
def test_points_and_values_outside_the_spaces(wrong, message):
    with pytest.raises(ad.errors.MembershipError, match=message):
        ad.derivative(f, X, **wrong)


@pytest.mark.parametrize("name", ["domain", "codomain"])
def test_spaces_that_are_none(name):
    with pytest.raises(ad.errors.ArgumentTypeError, match="A space was expected"):
        ad.derivative(f, X, **{name: 3})


def test_vectors_and_covectors_do_not_mix():
    derivative = ad.derivative(f, X)
    covector, vector = derivative.codomain.covector(np.ones(3)), np.ones(3)
    for take in (
        lambda: derivative(derivative.domain.covector(U)),
        lambda: derivative.T(vector),
        lambda: derivative.H(covector),
        lambda: derivative.T(Weighted(Euclidean(3), 2.0).covector(vector)),
    ):
        with pytest.raises(ad.errors.SpaceMismatchError, match="ovector"):
            take()


def test_derivative_of_an_integer_result():
    with pytest.raises(ad.errors.NotDifferentiableError, match=r"value is i8\[\]"):
        ad.derivative(np.argmax, X)


def test_composition_of_derivatives():
    inner = ad.derivative(f, X)
    outer = ad.derivative(lambda y: np.outer(y, y), f(X))
    close((outer @ inner).matrix(), ad.derivative(lambda x: np.outer(f(x), f(x)), X).matrix())


# --- linear_transpose -----------------------------------------------------------------------------


def test_transpose_of_a_linear_function():
    transposed = ad.linear_transpose(lambda x: np.cumsum(A @ x)[::-1], np.zeros(4))
    matrix = np.cumsum(A, axis=0)[::-1]
    close(transposed(np.arange(3.0))[0], matrix.T @ np.arange(3.0))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: 3 * x, 3 * U),
        (lambda x: x * A[0] / 2 - x, A[0] * U / 2 - U),
        (lambda x: np.where(A[0] > 0, x, 2 * x), np.where(A[0] > 0, U, 2 * U)),
        (lambda x: x[::-1], U[::-1]),
        (lambda x: np.concatenate([x, np.zeros(2)])[1:5], np.append(0, U[:3])),
    ],
)
def test_transpose_of_sums_products_and_selections(function, expected):
    close(ad.linear_transpose(function, X)(U)[0], expected)


def test_transpose_of_a_complex_function():
    c = np.array([1j, 2.0, -1j, 1.0])
    close(ad.linear_transpose(lambda z: c * z, U * 1j)(c)[0], c.conj() * c)
    close(ad.linear_transpose(lambda x: c * x, U)(c)[0], np.abs(c) ** 2)  # real arguments


def test_transpose_of_a_function_of_several_arguments():
    first, second = ad.linear_transpose(lambda x, y: 2 * x + A @ y, np.zeros(3), X)(np.ones(3))
    close(first, np.full(3, 2.0))
    close(second, A.T @ np.ones(3))


@pytest.mark.parametrize(
    "function",
    [
        np.sin,
        np.abs,
        np.floor,
        lambda x: x**2,
        lambda x: x * x,
        lambda x: 1 / x,
        lambda x: x * np.sum(x),
        lambda x: x + 1.0,
        lambda x: (x, np.ones(2)),
        lambda x: np.where(x > 0, x, 2 * x),
    ],
)
def test_functions_that_are_not_linear(function):
    with pytest.raises(ad.errors.NotLinearError, match=r"not linear.*vjp differentiates any") as e:
        ad.linear_transpose(function, X)
    assert isinstance(e.value, ValueError)


def test_an_error_of_a_transform_points_at_the_line():
    def function(x):
        y = 2 * x
        z = np.sin(y)  # here
        return z + x

    with pytest.raises(ad.errors.NotLinearError) as caught:
        ad.linear_transpose(function, X)
    (note,) = caught.value.__notes__
    assert "test_maps.py" in note
    assert note.endswith("z = np.sin(y)  # here")
