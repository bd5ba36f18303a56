"""Functions that capture does not enter: their rules in every mode, and what is refused."""

from __future__ import annotations

import gc
import math
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special
from scipy.sparse.linalg import aslinearoperator

import adjoint as ad
from adjoint import errors

X = np.array([0.3, 1.2])
A = np.array([[1.0, 2.0], [3.0, 4.0]])


def each(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """A function of one number, applied to each entry in a way that capture cannot enter."""
    return lambda x: np.array([function(float(t)) for t in np.ravel(x)]).reshape(np.shape(x))


def pair() -> tuple[Any, Any]:
    """Sine and cosine, each the other's derivative."""
    sine, cosine = ad.primitive(each(math.sin)), ad.primitive(each(math.cos))
    sine.jvp(lambda p, t: (sine(p[0]), cosine(p[0]) * t[0]))
    cosine.jvp(lambda p, t: (cosine(p[0]), -sine(p[0]) * t[0]))
    return sine, cosine


# --- a JVP rule is enough -------------------------------------------------------------------------


def test_a_jvp_rule_serves_every_mode() -> None:
    sine, _ = pair()

    def f(x: Any) -> Any:
        return np.sum(sine(x) * x)

    first = np.sin(X) + X * np.cos(X)
    second = np.diag(2 * np.cos(X) - X * np.sin(X))
    close = np.testing.assert_allclose
    close(f(X), np.sum(np.sin(X) * X), rtol=1e-15)
    close(ad.grad(f)(X), first, rtol=1e-14)
    close(ad.jvp(f, (X,), (np.ones(2),))[1], first.sum(), rtol=1e-14)
    close(ad.jacobian(sine, mode=ad.Mode.FORWARD)(X), np.diag(np.cos(X)), rtol=1e-14)
    close(ad.jacobian(sine, mode=ad.Mode.REVERSE)(X), np.diag(np.cos(X)), rtol=1e-14)
    close(ad.hessian(f)(X), second, rtol=1e-14)
    close(ad.jacobian(ad.grad(f), mode=ad.Mode.REVERSE)(X), second, rtol=1e-14)
    close(ad.jit(ad.grad(f))(X), first, rtol=1e-14)
    batch = np.stack([X, X + 1])
    close(ad.vmap(ad.grad(f))(batch)[0], first, rtol=1e-14)
    close(ad.grad(lambda x: np.sum(ad.vmap(f)(x)))(batch)[0], first, rtol=1e-14)
    assert ad.testing.check(f, X).passed


def test_a_jvp_rule_as_a_decorator() -> None:
    @ad.primitive
    def cube(x: Any) -> Any:
        """The third power."""
        return x**3

    @cube.jvp
    def rule(primals: Any, tangents: Any) -> Any:
        return primals[0] ** 3, 3 * primals[0] ** 2 * tangents[0]

    assert cube.__name__ == "cube"
    assert cube.__doc__ == "The third power."
    assert callable(rule)
    assert ad.grad(cube)(2.0) == 12.0
    assert ad.grad(ad.grad(ad.grad(cube)))(2.0) == 6.0
    assert cube(2.0) == 8.0
    assert "cube" in repr(cube)


def test_the_program_is_found_again() -> None:
    sine, _ = pair()
    gradient = ad.grad(lambda x: np.sum(sine(x)))
    gradient(X)
    before = ad.cache_info()
    gradient(X + 1)
    assert ad.cache_info().misses == before.misses
    assert ad.cache_info().hits > before.hits


def test_a_static_argument_in_a_recursion() -> None:
    @ad.primitive
    def bessel(n: int, x: Any) -> Any:
        assert isinstance(n, int)
        return special.jv(n, x)

    @bessel.jvp
    def _(primals: Any, tangents: Any) -> Any:
        (n, x), (nothing, u) = primals, tangents
        assert nothing is None
        return bessel(n, x), 0.5 * (bessel(n - 1, x) - bessel(n + 1, x)) * u

    f: Any = lambda x: bessel(0, x)  # noqa: E731
    for order in range(4):
        assert f(1.3) == pytest.approx(special.jvp(0, 1.3, order), rel=1e-13)
        f = ad.grad(f)


def test_pytrees_keywords_and_integers() -> None:
    @ad.primitive
    def split(tree: Any, factor: int = 2) -> Any:
        return {"s": tree["a"] * factor, "n": len(tree["b"]), "t": (tree["b"] ** 2,)}

    @split.jvp
    def _(primals: Any, tangents: Any, factor: int = 2) -> Any:
        (p,), (u,) = primals, tangents
        value = {"s": p["a"] * factor, "n": 0, "t": (p["b"] ** 2,)}
        return value, {"s": u["a"] * factor, "n": None, "t": (2 * p["b"] * u["b"],)}

    def f(tree: Any) -> Any:
        return split(tree, factor=3)["s"] * np.sum(split(tree)["t"][0])

    found = ad.grad(f)({"a": 2.0, "b": X})
    assert found["a"] == pytest.approx(3 * np.sum(X**2))
    np.testing.assert_allclose(found["b"], 12 * X)
    assert ad.testing.check(f, {"a": 2.0, "b": X}).passed
    with pytest.raises(errors.ArgumentTypeError, match="Keyword arguments are static"):
        ad.grad(lambda tree: split(tree, factor=tree["a"])["s"])({"a": 2.0, "b": X})
    with pytest.raises(errors.ArgumentTypeError, match="hashed"):
        ad.grad(lambda tree: split(tree, factor=X)["s"])({"a": 2.0, "b": X})


def test_what_does_not_move_costs_nothing() -> None:
    product = ad.primitive(lambda x, y: x * y)
    product.jvp(lambda p, t: (p[0] * p[1], p[0] * t[1] + t[0] * p[1]))
    program = str(ad.program(lambda x: product(x, np.array([1.0, 2.0])), X).jvp())
    assert program.count("multiply") == 1
    assert "add" not in program
    assert "fill" not in program


@pytest.mark.parametrize(
    ("tangent", "slope"),
    [
        (lambda p, u: np.where(p > 0, u, 0.0), [1, 1]),
        (lambda p, u: np.zeros(2), [0, 0]),
        (lambda p, u: None, [0, 0]),
        (lambda p, u: np.array([u[0], 0.0]), [1, 0]),
        (lambda p, u: np.concatenate([np.zeros(1), u[:1]]), [1, 0]),
    ],
)
def test_zeros_in_a_rule(tangent: Any, slope: list[int]) -> None:
    f = ad.primitive(lambda x: 1.0 * x)
    f.jvp(lambda p, t: (p[0], tangent(p[0], t[0])))
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(f(x)))(X), slope)


def test_complex_numbers_and_single_precision() -> None:
    f = ad.primitive(lambda z: np.exp(z))
    f.jvp(lambda p, t: (f(p[0]), f(p[0]) * t[0]))
    assert ad.testing.check(f, X + 1j * X[::-1]).passed
    assert ad.testing.check(f, X.astype(np.float32)).passed
    assert ad.grad(lambda x: np.sum(f(x)))(X.astype(np.float32)).dtype == np.float32


# --- the derivative as a linear map ---------------------------------------------------------------


def test_a_derivative_as_a_function() -> None:
    cube = ad.primitive(lambda x: x**3)
    cube.derivative(lambda x: lambda u: 3 * x**2 * u)
    report = ad.testing.check(cube, X)
    assert report.passed, str(report)
    norm = ad.primitive(lambda x, y: np.sqrt(x**2 + y**2))
    norm.derivative(lambda x, y: lambda u, v: (x * u + y * v) / norm(x, y))
    report = ad.testing.check(norm, X, X + 1)
    assert report.passed, str(report)


def plane() -> ad.Space:
    return ad.spaces.Euclidean(2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ad.maps.from_matrix(A, plane(), plane()),
        lambda: ad.maps.from_scipy(aslinearoperator(A), plane(), plane()),
    ],
)
def test_a_derivative_as_a_linear_map(make: Callable[[], ad.LinearMap]) -> None:
    linear_map = make()
    f = ad.primitive(lambda x: A @ x)
    f.derivative(lambda x: linear_map)
    report = ad.testing.check(lambda x: np.sum(f(x) ** 2), X)
    assert report.passed, str(report)
    np.testing.assert_allclose(ad.hessian(lambda x: np.sum(f(x) ** 2))(X), 2 * A.T @ A)


def test_a_linear_map_that_depends_on_the_point() -> None:
    f = ad.primitive(lambda x: np.sin(x))
    f.derivative(lambda x: ad.maps.diagonal(np.cos(x), plane()))
    np.testing.assert_allclose(ad.grad(lambda x: np.sum(f(x)))(X), np.cos(X))


# --- a VJP rule -----------------------------------------------------------------------------------


def squares() -> Any:
    square = ad.primitive(lambda x: x**2)
    square.vjp(lambda x: (x**2, lambda w: 2 * x * w))
    return square


def test_a_vjp_rule_serves_reverse_mode() -> None:
    square = squares()

    def f(x: Any) -> Any:
        return np.sum(square(x) * np.array([1.0, 3.0]))

    second = np.diag([2.0, 6.0])
    np.testing.assert_allclose(ad.grad(f)(X), [0.6, 7.2])
    np.testing.assert_allclose(ad.jacobian(ad.grad(f), mode=ad.Mode.REVERSE)(X), second)
    np.testing.assert_allclose(ad.hessian(f)(X), second)  # forward over the pullback itself
    np.testing.assert_allclose(ad.jacobian(square, mode=ad.Mode.REVERSE)(X), np.diag(2 * X))
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(np.stack([X, X]))[1], [0.6, 7.2])


def test_a_vjp_rule_is_transposed_in_forward_mode() -> None:
    """E.1.54 of the tensor-notation document, footnote 10: a JVP is the pullback, transposed."""
    both = ad.primitive(lambda x, y: (np.sin(x) * y, x @ y))

    @both.vjp
    def _(x: Any, y: Any) -> Any:
        def pullback(cotangents: Any) -> Any:
            a, b = cotangents
            return np.cos(x) * y * a + b * y, np.sin(x) * a + b * x

        return (np.sin(x) * y, x @ y), pullback

    def known(x: Any, y: Any) -> Any:
        return np.sin(x) * y, x @ y

    y = np.linspace(1, 2, X.size)
    found, expected = (ad.jvp(f, (X, y), (y, X))[1] for f in (both, known))
    np.testing.assert_allclose(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1])
    forward = ad.Mode.FORWARD
    one, other = (ad.jacobian(lambda x, f=f: f(x, y)[0], mode=forward)(X) for f in (both, known))
    np.testing.assert_allclose(one, other)
    for composition in ad.Composition:
        one, other = (
            ad.hessian(lambda x, f=f: np.sum(f(x, x * y)[0]) * f(x, y)[1], composition=composition)(
                X
            )
            for f in (both, known)
        )
        np.testing.assert_allclose(one, other)
    rows = ad.vmap(lambda x: ad.jvp(lambda x: both(x, y)[1], (x,), (y,))[1])(np.stack([X, 2 * X]))
    np.testing.assert_allclose(rows, [y @ y, y @ y])


def test_a_vjp_rule_is_transposed_beside_results_that_do_not_vary() -> None:
    ranked = ad.primitive(lambda x: (x**2, np.argmax(x)))
    ranked.vjp(lambda x: ((x**2, np.argmax(x)), lambda w: 2 * x * w[0]))
    np.testing.assert_allclose(ad.jvp(lambda x: ranked(x)[0], (X,), (X,))[1], 2 * X * X)
    found = ad.hessian(lambda x: np.sum(ranked(x)[0] * x))(X)
    np.testing.assert_allclose(found, np.diag(6 * X))


def test_reverse_mode_does_not_look_at_a_jvp_rule_beside_a_vjp_rule() -> None:
    square = ad.primitive(lambda x: x**2)
    square.jvp(lambda primals, tangents: (primals[0] ** 2, np.abs(tangents[0])))  # not linear
    square.vjp(lambda x: (x**2, lambda w: 2 * x * w))
    np.testing.assert_allclose(ad.grad(lambda x: np.sum(square(x)))(X), 2 * X)
    with pytest.raises(errors.NotLinearError):
        ad.jvp(square, (X,), (X,))


def test_a_vjp_rule_of_complex_numbers_is_transposed() -> None:
    square = ad.primitive(lambda z: z * z)
    square.vjp(lambda z: (z * z, lambda w: np.conj(2 * z) * w))
    z, u = np.array([1 + 2j, 0.3 - 1j]), np.array([0.2 - 0.5j, 1j])
    np.testing.assert_allclose(ad.jvp(square, (z,), (u,))[1], 2 * z * u)


def test_a_vjp_rule_that_cannot_be_transposed_says_so() -> None:
    """Its pullback calls what capture does not enter."""
    doubled = ad.primitive(lambda x: 2 * x)
    doubled.vjp(lambda x: (doubled(x), lambda w: doubled(w)))
    assert ad.grad(lambda x: np.sum(doubled(x)))(X).tolist() == [2.0] * X.size
    for forward in (
        lambda: ad.jvp(doubled, (X,), (X,)),
        lambda: ad.jacobian(doubled, mode=ad.Mode.FORWARD)(X),
        lambda: ad.linearize(doubled, X)[1](X),
    ):
        with pytest.raises(errors.MissingRuleError, match=r"only a VJP rule .* add a JVP"):
            forward()


def test_a_solver_by_its_pullback() -> None:
    """Calls of the function itself on cotangents are taken to be linear."""
    solve = ad.primitive(np.linalg.solve)

    @solve.vjp
    def _(matrix: Any, b: Any) -> Any:
        y = solve(matrix, b)

        def pullback(w: Any) -> Any:
            z = solve(matrix.T, w)
            return -np.outer(z, y), z

        return y, pullback

    def f(matrix: Any, b: Any) -> Any:
        return np.sum(solve(matrix, b) ** 2)

    report = ad.testing.check(f, A, X)
    assert report.passed, str(report)
    second = ad.jacobian(ad.grad(f, argnums=1), argnums=1, mode=ad.Mode.REVERSE)(A, X)
    np.testing.assert_allclose(second, 2 * np.linalg.inv(A @ A.T), rtol=1e-11)


def test_both_rules() -> None:
    """Each serves its own mode."""
    f = ad.primitive(lambda x: np.sin(x))
    f.jvp(lambda p, t: (f(p[0]), np.cos(p[0]) * t[0]))
    f.vjp(lambda x: (f(x), lambda w: 2 * np.cos(x) * w))  # wrong, so that it can be told apart
    np.testing.assert_allclose(ad.jvp(f, (X,), (np.ones(2),))[1], np.cos(X))
    np.testing.assert_allclose(ad.vjp(f, X)[1](np.ones(2))[0], 2 * np.cos(X))
    shared = ad.grad(lambda w: np.sum(ad.vmap(lambda y: f(w) * y)(np.ones((3, 2)))))(X)
    np.testing.assert_allclose(shared, 6 * np.cos(X))
    pushed = ad.vmap(lambda u: ad.jvp(f, (X,), (u,))[1])(np.eye(2))
    np.testing.assert_allclose(pushed, np.diag(np.cos(X)))
    twice = ad.jvp(lambda x: ad.jvp(f, (x,), (X,))[1], (X,), (X,))[1]
    np.testing.assert_allclose(twice, -np.sin(X) * X * X)


def test_both_rules_and_right() -> None:
    f = ad.primitive(lambda x: np.sin(x))
    f.jvp(lambda p, t: (f(p[0]), np.cos(p[0]) * t[0]))
    f.vjp(lambda x: (f(x), lambda w: np.cos(x) * w))
    report = ad.testing.check(lambda x: np.sum(f(x) * x), X)
    assert report.passed, str(report)
    assert not report.skipped


def test_cotangents_of_several_arguments() -> None:
    power = ad.primitive(lambda x, n: x**n)
    power.vjp(lambda x, n: (x**n, lambda w: (n * x ** (n - 1) * w, None)))
    assert ad.grad(lambda x: power(x, 3))(2.0) == 12.0
    two = ad.primitive(lambda x, y: x * y)
    two.vjp(lambda x, y: (x * y, lambda w: (y * w, None)))
    assert ad.grad(two, argnums=(0, 1))(2.0, 3.0) == (3.0, 0.0)


# --- without a rule -------------------------------------------------------------------------------


def test_without_a_rule() -> None:
    cube = ad.primitive(lambda x: np.asarray(x) ** 3)
    np.testing.assert_array_equal(cube(X), X**3)
    np.testing.assert_array_equal(ad.jit(cube)(X), X**3)
    np.testing.assert_array_equal(ad.vmap(cube)(np.stack([X, X]))[1], X**3)
    calls: tuple[Callable[[], Any], ...] = (
        lambda: ad.jvp(cube, (X,), (X,)),
        lambda: ad.grad(lambda x: np.sum(cube(x)))(X),
    )
    for differentiate in calls:
        with pytest.raises(errors.MissingRuleError, match=r"<lambda>.*has none.*jvp"):
            differentiate()


def test_a_derivative_that_is_not_wanted_needs_no_rule() -> None:
    cube = ad.primitive(lambda x: np.asarray(x) ** 3)
    for f in (
        lambda x: np.sum(x * cube(ad.stop_gradient(x))),
        lambda x: np.sum(x * ad.stop_gradient(cube(x))),
    ):
        np.testing.assert_array_equal(ad.grad(f)(X), X**3)
        np.testing.assert_allclose(ad.jvp(f, (X,), (X,))[1], np.sum(X**4))


def test_integers_among_the_results() -> None:
    top = ad.primitive(lambda x: (int(np.argmax(x)), np.max(x)))
    top.jvp(lambda p, t: ((0, p[0][1]), (None, t[0][1])))
    np.testing.assert_array_equal(ad.grad(lambda x: x[top(x)[0]] * top(x)[1])(X), [0, 2.4])


# --- the type of the result -----------------------------------------------------------------------


def test_the_result_type_inside_vmap() -> None:
    batch = np.stack([X, X])
    unknown = ad.primitive(lambda x: x**3)
    np.testing.assert_array_equal(ad.vmap(unknown)(batch), batch**3)  # the first example tells
    unknown.jvp(lambda p, t: (p[0] ** 3, 3 * p[0] ** 2 * t[0]))  # the rule tells it
    np.testing.assert_array_equal(ad.vmap(unknown)(batch), batch**3)
    for result in (lambda x: x, X, lambda x: np.empty(x.shape, x.dtype)):
        declared = ad.primitive(result=result)(lambda x: x**3)
        np.testing.assert_array_equal(ad.vmap(declared)(batch), batch**3)
    total = ad.primitive(result=lambda x: 0.0)(np.sum)
    np.testing.assert_allclose(ad.vmap(total)(batch), [1.5, 1.5])


def test_a_result_that_is_not_as_declared() -> None:
    wrong = ad.primitive(result=lambda x: x)(lambda x: x[:1])
    with pytest.raises(errors.ShapeError, match=r"f8\[1\], and f8\[2\] was expected"):
        ad.jit(wrong)(X)
    moody = ad.primitive(lambda x: x[x > 0])
    assert ad.jit(moody)(X).shape == (2,)
    with pytest.raises(errors.ShapeError, match="alone"):
        ad.jit(moody)(-X)
    with pytest.raises(errors.ArgumentTypeError, match="`result`"):
        ad.jit(ad.primitive(result="array")(np.sin))(X)
    with pytest.raises(errors.ArgumentTypeError, match="dtype object"):
        ad.jit(ad.primitive(lambda x: object()))(X)


# --- rules that are wrong -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tangent",
    [
        lambda p, u: u**2,
        lambda p, u: u + 1,
        lambda p, u: np.ones(2),
        lambda p, u: u * u,
        lambda p, u: np.where(p > 0, u, p),
        lambda p, u: np.sin(u),
    ],
)
def test_a_rule_that_is_not_linear(tangent: Any) -> None:
    f = ad.primitive(lambda x: 1.0 * x)
    f.jvp(lambda p, t: (p[0], tangent(p[0], t[0])))
    with pytest.raises(errors.NotLinearError, match="must be linear in the tangents"):
        ad.grad(lambda x: np.sum(f(x)))(X)
    f = ad.primitive(lambda x: 1.0 * x)
    f.vjp(lambda x: (x, lambda w: tangent(x, w)))
    with pytest.raises(errors.NotLinearError, match="must be linear in the cotangents"):
        ad.grad(lambda x: np.sum(f(x)))(X)


@pytest.mark.parametrize(
    ("rule", "error", "text"),
    [
        (lambda p, t: p[0], errors.ArgumentTypeError, r"\(value, tangent\)"),
        (lambda p, t: (p[0][:1], t[0]), errors.ShapeError, "value that the rule"),
        (lambda p, t: (p[0], t[0][:1]), errors.ShapeError, r"tangent .* shape \(1,\)"),
        (lambda p, t: (p[0], (t[0], t[0])), errors.AdjointError, "tangent"),
        (lambda p, t: (p[0], 1j * t[0]), errors.DTypeError, "complex128"),
        (lambda p, t: (p[0], t[0] if p[0][0] > 0 else 2 * t[0]), errors.ValueNeededError, "where"),
    ],
)
def test_a_rule_that_returns_something_else(rule: Any, error: type, text: str) -> None:
    f = ad.primitive(lambda x: 1.0 * x)
    f.jvp(rule)
    with pytest.raises(error, match=text):
        ad.grad(lambda x: np.sum(f(x)))(X)


def test_a_vjp_rule_that_returns_something_else() -> None:
    f = ad.primitive(lambda x: 1.0 * x)
    f.vjp(lambda x: x)
    with pytest.raises(errors.ArgumentTypeError, match=r"\(value, pullback\)"):
        ad.grad(lambda x: np.sum(f(x)))(X)
    f.vjp(lambda x: (x, lambda w: (w, w)))
    with pytest.raises(errors.AdjointError, match="pullback"):
        ad.grad(lambda x: np.sum(f(x)))(X)
    for give in (f.jvp, f.vjp, f.derivative, ad.primitive):
        with pytest.raises(errors.ArgumentTypeError):
            give(3.0)


# --- what rules and functions read besides their arguments ----------------------------------------


def by_dead_function(a: Any) -> Any:
    """The value is not needed for the gradient, so the function would not be run."""
    g = ad.primitive(result=lambda x: x)(lambda x: x + a)
    g.jvp(lambda p, t: (p[0], t[0]))
    return g(a)


def by_rule(a: Any) -> Any:
    g = ad.primitive(lambda x: x**2)
    g.jvp(lambda p, t: (p[0] ** 2, a * p[0] * t[0]))
    return g(a)


def by_pullback(a: Any) -> Any:
    g = ad.primitive(lambda x: x**2)
    g.vjp(lambda x: (x**2, lambda w: a * x * w))
    return g(a)


def by_function(a: Any) -> Any:
    g = ad.primitive(lambda x: a * x)
    g.jvp(lambda p, t: (p[0], p[0] * t[0]))
    return g(a)


def by_inner_rule(a: Any) -> Any:
    g = ad.primitive(lambda x: 1.0 * x)
    g.jvp(lambda p, t: (p[0], a * t[0]))
    return ad.grad(g)(3.0)


def by_inner_function(a: Any) -> Any:
    g = ad.primitive(lambda x: a * x)
    g.jvp(lambda p, t: (p[0], t[0]))
    return ad.value_and_grad(g)(3.0)[0]


@pytest.mark.parametrize("f", [by_rule, by_pullback, by_function, by_inner_rule, by_inner_function])
def test_a_traced_value_from_outside_is_refused(f: Any) -> None:
    """Never a derivative that is silently lost."""
    for differentiate in (ad.grad(f), ad.grad(ad.jit(f)), ad.grad(ad.grad(f))):
        with pytest.raises(errors.DroppedDerivativeError, match="Pass it as an argument"):
            differentiate(2.0)
    with pytest.raises(errors.DroppedDerivativeError, match="Pass it as an argument"):
        ad.vmap(ad.grad(f))(np.array([2.0, 3.0]))


def test_a_compiled_program_does_not_keep_what_a_rule_saw() -> None:
    compiled = ad.jit(by_rule)
    assert compiled(2.0) == 4.0
    with pytest.raises(errors.DroppedDerivativeError):
        ad.grad(compiled)(2.0)


def test_data_that_rules_read_may_change_between_calls() -> None:
    data = {"now": np.array([1.0, 2.0])}
    f = ad.primitive(lambda x: data["now"] * x)
    f.jvp(lambda p, t: (f(p[0]), data["now"] * t[0]))
    gradient = ad.grad(lambda x: np.sum(f(x)))
    np.testing.assert_array_equal(gradient(X), [1, 2])
    data["now"][:] = [5, 6]
    np.testing.assert_array_equal(gradient(X), [5, 6])
    data["now"] = np.array([7.0, 8.0])
    np.testing.assert_array_equal(gradient(X), [7, 8])


def test_a_rule_may_be_replaced() -> None:
    f = ad.primitive(lambda x: x**2)
    f.jvp(lambda p, t: (f(p[0]), p[0] * t[0]))
    assert ad.grad(f)(3.0) == 3.0
    f.jvp(lambda p, t: (f(p[0]), 2 * p[0] * t[0]))
    assert ad.grad(f)(3.0) == 6.0


def test_nested_derivatives_are_not_confused() -> None:
    sine, _ = pair()

    def f(x: Any) -> Any:
        return x * ad.grad(lambda y: sine(y) * x)(x)  # x cos(x) x

    x = 0.7
    assert ad.grad(f)(x) == pytest.approx(2 * x * np.cos(x) - x**2 * np.sin(x), rel=1e-14)
    inner = ad.grad(lambda x: ad.jvp(sine, (x,), (x,))[1])(x)
    assert inner == pytest.approx(np.cos(x) - x * np.sin(x), rel=1e-14)


def test_a_function_that_writes_into_its_arguments_or_keeps_its_result() -> None:
    kept = np.zeros(2)

    def scramble(x: Any) -> Any:
        kept[:] = 3 * x
        x[:] = np.nan
        return kept

    f = ad.primitive(scramble)
    f.jvp(lambda p, t: (3 * p[0], 3 * t[0]))
    point = X.copy()
    value, gradient = ad.value_and_grad(lambda x: np.sum(f(x) * x))(point)
    assert value == pytest.approx(3 * np.sum(X**2))
    np.testing.assert_allclose(gradient, 6 * X)
    np.testing.assert_array_equal(point, X)
    one = ad.jit(f)(X)
    f(X.copy() + 1)
    np.testing.assert_allclose(one, 3 * X)


def test_known_arrays_are_computed_with_at_once() -> None:
    sine, _ = pair()

    def f(x: Any) -> Any:
        table = sine(np.ones(2))
        table[0] = x
        return np.sum(table**2)

    assert ad.grad(f)(0.5) == 1.0


def test_threads() -> None:
    sine, _ = pair()
    found: list[Any] = []

    def work() -> None:
        found.append(ad.hessian(lambda x: np.sum(sine(x)))(X))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for each_ in found:
        np.testing.assert_allclose(each_, np.diag(-np.sin(X)))


def test_a_primitive_can_be_collected() -> None:
    def make() -> Any:
        f = ad.primitive(lambda x: x**2)
        f.jvp(lambda p, t: (p[0] ** 2, 2 * p[0] * t[0]))
        assert ad.grad(f)(3.0) == 6.0
        return weakref.ref(f)

    dead = make()
    ad.cache_clear()
    gc.collect()
    assert dead() is None


# --- linear functions -----------------------------------------------------------------------------


def smooth(x: Any) -> Any:
    return np.convolve(x, [1.0, 2.0, 3.0], "same")


def smooth_back(w: Any) -> Any:
    return np.convolve(w, [3.0, 2.0, 1.0], "same")


def test_a_linear_function_given_once() -> None:
    linear = ad.linear(smooth, smooth_back)
    matrix = np.stack([smooth(row) for row in np.eye(4)], axis=1)
    point = np.arange(4.0)
    np.testing.assert_array_equal(linear(point), smooth(point))
    np.testing.assert_array_equal(ad.jacobian(linear, mode=ad.Mode.FORWARD)(point), matrix)
    np.testing.assert_array_equal(ad.jacobian(linear, mode=ad.Mode.REVERSE)(point), matrix)
    np.testing.assert_array_equal(ad.vmap(linear)(np.eye(4)), matrix.T)
    report = ad.testing.check(lambda x: np.sum(np.tanh(linear(x))), point)
    assert report.passed, str(report)


def test_a_linear_function_of_trees() -> None:
    linear = ad.linear(lambda t: (2 * t["a"], t["b"]), lambda w: {"a": 2 * w[0], "b": w[1]})
    np.testing.assert_array_equal(ad.grad(lambda x: sum(linear({"a": x[0], "b": x[1]})))(X), [2, 1])


def test_a_linear_map_brings_its_transpose() -> None:
    operator = ad.maps.from_scipy(aslinearoperator(A), plane(), plane())
    linear = ad.linear(operator)
    report = ad.testing.check(lambda x: np.exp(linear(x)), X)
    assert report.passed, str(report)
    with pytest.raises(errors.ArgumentTypeError, match="brings its own"):
        ad.linear(operator, smooth_back)  # type: ignore[arg-type]


def test_a_linear_function_without_a_transpose() -> None:
    linear = ad.linear(smooth)
    np.testing.assert_array_equal(ad.jvp(linear, (X,), (X,))[1], smooth(X))
    with pytest.raises(errors.MissingRuleError, match="without its transpose"):
        ad.grad(lambda x: np.sum(linear(x)))(X)


def test_an_affine_function_is_refused() -> None:
    with pytest.raises(errors.NotLinearError, match="not zero at zero"):
        ad.grad(lambda x: np.sum(ad.linear(lambda t: t + 1)(x)))(X)


# --- how often the function runs ------------------------------------------------------------------


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("replay", [False, True])
def test_a_function_runs_once_a_call(debug: bool, replay: bool) -> None:
    """As in plain NumPy: what capture has called, the program of that call does not call again."""
    runs: list[Any] = []

    @ad.primitive
    def cube(v: Any) -> Any:
        runs.append(v)
        return v**3

    @cube.jvp
    def _(primals: Any, tangents: Any) -> Any:
        return cube(*primals), 3 * primals[0] ** 2 * tangents[0]

    def function(x: Any) -> Any:
        return np.sum(cube(x) * x)

    jitted = ad.jit(ad.grad(function))
    ways: tuple[Callable[..., Any], ...] = (
        ad.grad(function),
        ad.value_and_grad(function),
        lambda x: ad.jvp(function, (x,), (x,)),
        lambda x: ad.vjp(function, x)[1](1.0),
        jitted,
    )
    with ad.config(debug=debug, replay=replay):
        for way in ways:
            for number in range(1 if debug else 6):
                runs.clear()
                x = np.array([0.5, 1.0]) + number
                way(x)
                assert len(runs) == 1
                np.testing.assert_array_equal(runs[0], x)


def test_a_forward_rule_that_takes_arguments_one_by_one_is_told_how() -> None:
    @ad.primitive
    def exponential(x: Any) -> Any:
        return np.exp(x)

    exponential.jvp(lambda x, u: (exponential(x), np.exp(x) * u))
    with pytest.raises(ad.errors.ShapeError, match=r"two tuples.*\(x,\), \(u,\) = primals"):
        ad.grad(exponential)(1.0)
