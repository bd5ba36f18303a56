"""Implicit functions (E.1.69 - E.1.75): every mode, against closed forms and differences."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import (
    ArgumentError,
    NotConvergedError,
    ShapeError,
    ValueNeededError,
)

implicit = ad.implicit


def cube(x: Any) -> Any:
    """y with y^3 + y = x, whose derivatives are known."""
    return implicit.root(lambda y, x: y**3 + y - x, 1.0, x)


def cosine(x: Any) -> Any:
    """y = cos(x y)."""
    return implicit.fixed_point(lambda y, x: np.cos(x * y), 0.5, x)


def least(x: Any) -> Any:
    """The minimiser of (y - x)^4 / 4 + y^2 / 2, with (y - x)^3 + y = 0."""
    return implicit.argmin(lambda y, x: (y - x) ** 4 / 4 + y**2 / 2, 0.0, x)


def slopes(function: Any, y: float, x: float) -> tuple[float, float]:
    """The first two derivatives of y(x), by hand, from those of f(y, x) = 0."""
    if function is cube:
        first = 1 / (3 * y**2 + 1)
        return first, -6 * y * first**3
    if function is least:
        slope = 3 * (y - x) ** 2
        first = slope / (slope + 1)
        second = -6 * (y - x) * (first - 1) ** 2 / (slope + 1)
        return first, second
    sine, cosine_ = np.sin(x * y), np.cos(x * y)
    weight = 1 + x * sine
    first = -y * sine / weight
    inner = y + x * first  # of x y, by x
    second = -(cosine_ * inner**2 + 2 * sine * first) / weight
    return first, second


FUNCTIONS = [cube, cosine, least]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_first_and_second_derivatives_in_every_mode_are_those_of_the_closed_form(
    function: Callable[[Any], Any],
) -> None:
    """E.1.72, and its derivative: f, r, ff, fr, rf, rr and Taylor."""
    x = 1.3
    y = float(function(x))
    first, second = slopes(function, y, x)

    def forward(g: Any) -> Any:
        return lambda x: ad.jvp(g, (x,), (1.0,))[1]

    assert np.isclose(forward(function)(x), first, rtol=1e-10)
    assert np.isclose(ad.grad(function)(x), first, rtol=1e-10)
    for outer in (forward, ad.grad):
        for inner in (forward, ad.grad):
            assert np.isclose(outer(inner(function))(x), second, rtol=1e-9)
    third = [outer(ad.grad(ad.grad(function)))(x) for outer in (forward, ad.grad)]
    step = 1e-5
    _, above = slopes(function, float(function(x + step)), x + step)
    _, below = slopes(function, float(function(x - step)), x - step)
    assert np.allclose(third, (above - below) / (2 * step), rtol=1e-6)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_taylor_coefficients_are_those_of_the_derivatives(function: Any) -> None:
    """E.1.69: y(x + t) = y + y' t + y'' t^2 / 2 + ..."""
    x = 1.3
    first, second = slopes(function, float(function(x)), x)
    found = ad.taylor(function, x, 1.0, 2)
    assert np.allclose(found, [function(x), first, second / 2], rtol=1e-9)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_batches_are_loops(function: Any) -> None:
    """A batch of equations, of derivatives, and of second derivatives."""
    points = np.array([0.4, 1.0, 1.7])
    for each in (function, ad.grad(function), ad.grad(ad.grad(function))):
        loop = [each(float(x)) for x in points]
        assert np.allclose(ad.vmap(each)(points), loop, rtol=1e-9)
    inside = ad.grad(lambda points: np.sum(ad.vmap(function)(points) ** 2))(points)
    loop = [2 * function(float(x)) * ad.grad(function)(float(x)) for x in points]
    assert np.allclose(inside, loop, rtol=1e-9)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_jit_keeps_the_program_and_not_the_solution(function: Any) -> None:
    """The solver runs anew for every argument."""
    for each in (function, ad.grad(function)):
        kept = ad.jit(each)
        for x in (1.3, 0.7, 1.3):
            assert np.isclose(kept(x), each(x), rtol=1e-10)


def test_machine_code_around_a_solver_gives_the_same() -> None:
    """What stands before and after the solver is compiled; the solver is called from it."""
    x = np.array([0.1, 0.2])
    with ad.config(native=False):
        expected = [ad.grad(lambda x: np.sin(cube(np.exp(x))))(each) for each in x]
    with ad.config(native=True):
        assert np.allclose(ad.grad(lambda x: np.sum(np.sin(_cubes(np.exp(x)))))(x), expected)
    with ad.config(native=True), pytest.raises(NotConvergedError):
        ad.grad(lambda x: implicit.root(lambda y: y**2 + np.exp(x), 1.0))(1.0)


def _cubes(x: Any) -> Any:
    return implicit.root(lambda y: y**3 + y - x, np.ones(x.shape))


def layer(y: Any, x: Any, parameters: dict[str, Any]) -> Any:
    """A DEQ layer, contractive."""
    return np.tanh(parameters["W"] @ y + parameters["U"] @ x + parameters["b"])


def deq_data(size: int = 6) -> tuple[Any, dict[str, Any], Any]:
    generator = np.random.default_rng(1)
    W = generator.standard_normal((size, size))
    parameters = {
        "W": 0.6 * W / np.linalg.norm(W, 2),
        "U": generator.standard_normal((size, 3)),
        "b": generator.standard_normal(size),
    }
    return generator.standard_normal(3), parameters, generator.standard_normal(size)


def test_the_vjp_of_a_deq_layer_is_that_of_the_three_steps() -> None:
    """E.1.70 - E.1.75: solve y = g(x, y); solve t = A* t + v; return the VJP ∂_x g(x, y)*[t]."""
    x, parameters, v = deq_data()
    y = np.zeros(6)
    for _ in range(200):
        y = layer(y, x, parameters)  # E.1.70
    assert np.allclose(y, layer(y, x, parameters), atol=1e-14)  # E.1.71
    _, pull_y = ad.vjp(lambda y: layer(y, x, parameters), y)
    t = v
    for _ in range(200):
        t = pull_y(t)[0] + v  # E.1.75
    _, pull_x = ad.vjp(lambda x, p: layer(y, x, p), x, parameters)
    expected = pull_x(t)

    A = ad.jacobian(lambda y: layer(y, x, parameters))(y)
    assert np.allclose(np.linalg.solve(np.eye(6) - A.T, v), t)  # E.1.74
    iteration = implicit.Iteration()
    for linear_solver in (None, iteration, implicit.Krylov(), implicit.Direct()):
        value, pull = ad.vjp(
            lambda x, p, s=linear_solver: implicit.fixed_point(
                layer, np.zeros(6), x, p, solver=iteration, linear_solver=s
            ),
            x,
            parameters,
        )
        assert np.allclose(value, y, atol=1e-11)
        found = pull(v)
        assert np.allclose(found[0], expected[0], atol=1e-9)
        for name in parameters:
            assert np.allclose(found[1][name], expected[1][name], atol=1e-9)


def test_the_vjp_in_terms_of_both_jacobians() -> None:
    """E.1.73: ∂y(x)*[v] = B*(A^-1)*[v], with A = ∂_y f and B = -∂_x f."""

    def f(y: Any, x: Any) -> Any:
        return np.array([y[0] ** 3 + y[1] * x[0] - 1, y[1] + np.sin(y[0]) - x[1] * x[2]])

    x = np.array([0.5, 1.2, -0.7])
    y = implicit.root(f, np.ones(2), x)
    A = ad.jacobian(f)(y, x)
    B = -ad.jacobian(f, argnums=1)(y, x)
    jacobian = ad.jacobian(lambda x: implicit.root(f, np.ones(2), x))(x)
    assert np.allclose(jacobian, np.linalg.solve(A, B))
    v = np.array([1.0, -2.0])
    _, pull = ad.vjp(lambda x: implicit.root(f, np.ones(2), x), x)
    assert np.allclose(pull(v)[0], B.T @ np.linalg.solve(A.T, v))
    assert np.allclose(
        jacobian @ x, ad.jvp(lambda x: implicit.root(f, np.ones(2), x), (x,), (x,))[1]
    )


def test_differences_of_a_tree_of_unknowns_and_parameters() -> None:
    """y and x are pytrees; an integer among the parameters is static."""

    def f(y: Any, p: Any, power: int) -> Any:
        return {
            "u": y["u"] ** power + y["u"] + y["s"] - p["a"],
            "s": y["s"] * p["k"] + y["u"].sum(),
        }

    def total(p: Any) -> Any:
        start = {"u": np.zeros(3), "s": 0.0}
        y = implicit.root(f, start, p, 3)
        return np.sum(y["u"] ** 2) + y["s"]

    p = {"a": np.array([0.3, -1.0, 2.0]), "k": 2.5}
    found = ad.grad(total)(p)
    step = 1e-6
    for place in range(3):
        unit = step * np.eye(3)[place]
        moved = [total({**p, "a": p["a"] + sign * unit}) for sign in (1, -1)]
        assert np.isclose(found["a"][place], (moved[0] - moved[1]) / (2 * step), atol=1e-8)
    moved = [total({**p, "k": p["k"] + sign * step}) for sign in (1, -1)]
    assert np.isclose(found["k"], (moved[0] - moved[1]) / (2 * step), atol=1e-8)
    hessian = ad.hessian(lambda a: total({"a": a, "k": 2.5}))(p["a"])
    assert np.allclose(hessian, hessian.T, atol=1e-10)


def test_closures_carry_derivatives_and_data_are_read_anew() -> None:
    """The residual may read what it likes: traced values, and data that change between calls."""
    data = np.array([1.0, 2.0])

    def y(x: Any) -> Any:
        return implicit.root(lambda y: data * y + y**3 - x, np.zeros(2))

    x = np.array([0.5, 4.0])

    def expected() -> Any:
        return 1 / (data + 3 * y(x) ** 2)

    derivative = ad.grad(lambda x: np.sum(y(x)))
    for _ in range(4):  # with what is kept for replay
        assert np.allclose(derivative(x), expected())
    before = ad.cache_info().misses
    data[:] = [3.0, 0.5]
    assert np.allclose(derivative(x), expected())
    data = np.array([2.0, 2.5])
    assert np.allclose(derivative(x), expected())
    assert ad.cache_info().misses <= before + 1  # data that change are inputs, of one more program


def test_a_minimiser_inside_a_root() -> None:
    """Nested: t such that the minimiser of (y - t)^2 + t y^2 / 2 is x; y = 2 t / (2 + t)."""

    def inner(t: Any) -> Any:
        return implicit.argmin(lambda y: (y - t) ** 2 + t * y**2 / 2, 0.0)

    def outer(x: Any) -> Any:
        return implicit.root(lambda t, x: inner(t) - x, 1.0, x)

    x = 0.8
    assert np.isclose(outer(x), 2 * x / (2 - x))
    assert np.isclose(ad.grad(outer)(x), 4 / (2 - x) ** 2)
    assert np.isclose(ad.grad(ad.grad(outer))(x), 8 / (2 - x) ** 3)
    assert np.allclose(ad.vmap(ad.grad(outer))(np.array([0.5, x])), [4 / 1.5**2, 4 / 1.2**2])


def test_the_derivative_by_the_initial_value_is_zero() -> None:
    """Where the solver begins does not matter."""
    assert ad.grad(lambda start: implicit.root(lambda y: y**3 + y - 10, start))(1.0) == 0
    both = ad.grad(lambda x: implicit.root(lambda y: y**3 + y - x, x))(10.0)
    assert np.isclose(both, 1 / 13)
    assert np.isclose(implicit.root(lambda y: y**3 + y - 10, 1), 2)  # an integer begins too


def test_complex_unknowns() -> None:
    """Over Re<., .>: y^2 = z, with dy = dz / (2 y)."""

    def real(z: Any) -> Any:
        return np.real(implicit.root(lambda y: y**2 - z, np.array(1 + 1j)))

    y = 2 + 1j
    assert np.isclose(implicit.root(lambda y: y**2 - (3 + 4j), np.array(1 + 1j)), y)
    assert np.isclose(ad.grad(real)(3 + 4j), np.conj(1 / (2 * y)))


def test_single_precision_is_kept() -> None:
    """In and out, to its own rounding."""
    x = np.array([3.0, 10.0], np.float32)
    y = implicit.root(lambda y: y**3 + y - x, np.ones(2, np.float32))
    assert y.dtype == np.float32
    assert np.allclose(y**3 + y, x, rtol=1e-5)


def test_a_million_independent_equations_make_no_dense_matrix() -> None:
    """∂_y f does to every entry what it does to the others: a diagonal, found by its program."""
    x = np.linspace(-2, 2, 200_000)
    gradient = ad.grad(lambda x: np.sum(implicit.root(lambda y: y**3 + y - x, np.zeros(x.shape))))(
        x
    )
    y = implicit.root(lambda y: y**3 + y - x, np.zeros(x.shape))
    assert np.allclose(gradient, 1 / (3 * y**2 + 1))


def test_memory_does_not_grow_with_the_iterations() -> None:
    """The solver never enters the capture; unrolling it does, and its memory grows (E.1.70)."""
    size = 2000
    x = np.linspace(0.1, 1.0, size)

    def peak(function: Any) -> int:
        # What compiling takes beside the calls is not what is measured.
        with ad.config(replay=False, native=False):
            ad.grad(function)(x)  # compiled before it is measured
            tracemalloc.start()
            ad.grad(function)(x)
            found = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return found

    def solved(weight: float, tolerance: float) -> Any:
        iteration = implicit.Iteration(tolerance=tolerance)
        return lambda x: np.sum(
            implicit.fixed_point(
                lambda y, x: weight * np.tanh(y) + x,
                np.zeros(size),
                x,
                solver=iteration,
                linear_solver=iteration,
            )
        )

    def unrolled(steps: int) -> Any:
        def loss(x: Any) -> Any:
            y = np.zeros(size)
            for _ in range(steps):
                y = 0.5 * np.tanh(y) + x
            return np.sum(y)

        return loss

    few, many = peak(solved(0.2, 1e-3)), peak(solved(0.9, 1e-12))
    assert many < 1.3 * few
    assert peak(unrolled(100)) > 5 * peak(unrolled(10))


# --- what is refused ----------------------------------------------------------------


def test_equations_that_are_not_as_many_as_unknowns() -> None:
    """Three unknowns, two equations; a fixed point of another shape."""
    with pytest.raises(ShapeError, match=r"2 equations .* 3 unknowns"):
        implicit.root(lambda y: y[:2], np.zeros(3))
    with pytest.raises(ShapeError, match="the structure and the shapes of y"):
        implicit.fixed_point(lambda y: y[:2], np.zeros(3))
    with pytest.raises(ShapeError, match="the structure and the shapes of y"):
        implicit.fixed_point(lambda y: {"b": np.cos(y["a"])}, {"a": 1.0})


def test_branching_on_the_unknown_is_an_error_and_on_a_parameter_is_not() -> None:
    """y is not known while the residual is captured; parameters are."""
    with pytest.raises(ValueNeededError, match="not known before it is solved"):
        implicit.root(lambda y: y if y > 0 else 2 * y, 1.0)

    def f(y: Any, x: Any) -> Any:
        return y**3 + y - x if x > 0 else 2 * y - x

    derivative = ad.grad(lambda x: implicit.root(f, 1.0, x))
    for each in (derivative, ad.jit(derivative)):
        assert np.isclose(each(10.0), 1 / 13)
        assert np.isclose(each(-1.0), 0.5)
        assert np.isclose(each(10.0), 1 / 13)


def test_wrong_arguments() -> None:
    """Named, with what was expected."""
    with pytest.raises(ArgumentError, match="solver must be"):
        implicit.root(lambda y: y, 1.0, solver="newton")
    with pytest.raises(ArgumentError, match="linear_solver must be"):
        implicit.root(lambda y: y, 1.0, linear_solver=3)
    with pytest.raises(ArgumentError, match="holds no arrays"):
        implicit.root(lambda y: y, [])
    with pytest.raises(ArgumentError, match="initial is a str"):
        implicit.root(lambda y: y, "start")


def test_adjoints_are_those_of_the_spaces() -> None:
    """<D u, v>_Y = <u, D.H v>_X for the derivative of an implicit function (E.1.52)."""
    x, parameters, v = deq_data()
    domain = ad.spaces.Weighted(ad.spaces.Euclidean(3), np.array([1.0, 10.0, 0.1]))
    codomain = ad.spaces.Weighted(ad.spaces.Euclidean(6), np.arange(1.0, 7.0))

    def y(x: Any) -> Any:
        krylov = implicit.Krylov()
        return implicit.fixed_point(
            layer, np.zeros(6), x, parameters, linear_solver=krylov, space=codomain
        )

    D = ad.derivative(y, x, domain=domain, codomain=codomain)
    assert np.isclose(codomain.inner(D(x), v), domain.inner(x, D.H(v)))
    assert ad.maps.adjoint_error(D) < 1e-9


def test_inside_a_rule_of_a_custom_primitive() -> None:
    """A linear solve is linear in its right-hand side, and a rule may call it."""

    @ad.primitive
    def cubic(x: Any) -> Any:
        return np.cbrt(x)

    @cubic.jvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (u,) = primals, tangents
        y = cubic(x)
        return y, implicit.linear_solve(lambda t: 3 * y**2 * t, u)

    assert np.isclose(ad.grad(cubic)(8.0), 1 / 12)
    assert np.isclose(ad.grad(ad.grad(cubic))(8.0), -2 / 9 * 8 ** (-5 / 3))


def test_nothing_to_solve() -> None:
    """No unknowns, and no examples."""
    W = np.ones((0, 0))

    def y(x: Any) -> Any:
        return implicit.root(lambda y: W @ y + y - x, np.zeros(0))

    assert y(np.zeros(0)).shape == ad.grad(lambda x: np.sum(y(x)))(np.zeros(0)).shape == (0,)
    assert ad.vmap(cube)(np.zeros(0)).shape == (0,)


def test_a_program_seen_under_another_setting_of_kinks_leaves_its_equation_as_it_is() -> None:
    def y(x: Any) -> Any:
        return ad.implicit.root(lambda y, x: y - np.abs(x) - 1.0, 0.5, x)

    with ad.config(kink=1.0):
        view = ad.program(y, 0.0)
    view.vjp()  # derives the same equation with a kink of 1/2
    with ad.config(kink=1.0):
        assert float(ad.grad(y)(0.0)) == 1.0
    assert float(ad.grad(y)(0.0)) == 0.0


def test_the_setting_of_kinks_reaches_the_equation() -> None:
    """y = 2 |x|, whose derivative at 0 is a setting, which tells programs apart."""
    derivative = ad.grad(lambda x: implicit.root(lambda y, x: y / 2 - np.abs(x), 0.0, x))
    for kink, expected in ((0.5, 0.0), (1.0, 2.0), (0.0, -2.0), (0.5, 0.0)):
        with ad.config(kink=kink):
            assert np.isclose(derivative(0.0), expected)


@pytest.mark.parametrize("linear_solver", [None, implicit.Krylov()])
def test_zeros_are_strong_in_equations(linear_solver: Any) -> None:
    """Where np.where leaves a slope of infinity out, as in any other derivative."""
    W, x = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([-1.0, -2.0])

    def residual(y: Any, x: Any) -> Any:
        return np.where(y > 0, np.sqrt(np.maximum(y, 0)), W @ y) - x

    def objective(y: Any, x: Any) -> Any:
        return np.sum(np.where(y > 0, np.sqrt(np.maximum(y, 0)), 0.0) + (y - x) ** 2)

    def root(x: Any) -> Any:
        return implicit.root(residual, -np.ones(2), x, linear_solver=linear_solver)

    def least(x: Any) -> Any:
        return implicit.argmin(objective, -np.ones(2), x, linear_solver=linear_solver)

    assert np.allclose(root(x), np.linalg.solve(W, x))
    assert np.allclose(ad.grad(lambda x: root(x)[0])(x), np.linalg.inv(W)[0])
    assert np.allclose(least(x), x)
    assert np.allclose(ad.jacobian(least)(x), np.eye(2))


@pytest.mark.parametrize("solver", [implicit.Iteration(), implicit.Anderson(), implicit.Newton()])
def test_a_batch_of_layers(solver: Any) -> None:
    """All examples at once, by every solver that takes them, are each on its own (E.1.71)."""
    _, parameters, v = deq_data()
    xs = np.random.default_rng(4).standard_normal((5, 3)) * np.array([[0.01], [1], [3], [1], [1]])

    def loss(x: Any, p: Any) -> Any:
        return v @ implicit.fixed_point(layer, np.zeros(6), x, p, solver=solver)

    together = ad.grad(lambda p: np.sum(ad.vmap(lambda x: loss(x, p))(xs)))(parameters)
    alone = [ad.grad(loss, argnums=1)(x, parameters) for x in xs]
    for name, gradient in together.items():
        assert np.allclose(gradient, sum(each[name] for each in alone), atol=1e-9)
