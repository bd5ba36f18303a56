"""Solvers of nonlinear equations, the user's own among them, and what is checked after them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize

import adjoint as ad
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    DroppedDerivativeError,
    NotConvergedError,
    ShapeError,
    UnknownResultError,
)

implicit = ad.implicit
WEIGHTS = np.random.default_rng(3).standard_normal((8, 8)) / 8


def equation(y: Any, x: Any) -> Any:
    """y - tanh(W y) - x, solvable by all."""
    return y - np.tanh(WEIGHTS @ y) - x


def step(y: Any, x: Any) -> Any:
    """The same as a fixed point."""
    return np.tanh(WEIGHTS @ y) + x


def energy(y: Any, x: Any) -> Any:
    """Strictly convex."""
    return np.sum(np.cosh(y)) + np.sum((WEIGHTS @ y - x) ** 2)


POINT = np.linspace(-1, 2, 8)


def checked(function: Any) -> None:
    """The gradient against a central difference."""
    loss = lambda x: np.sum(np.sin(function(x)))  # noqa: E731
    u = np.cos(np.arange(8.0))
    difference = (loss(POINT + 1e-5 * u) - loss(POINT - 1e-5 * u)) / 2e-5
    assert np.isclose(ad.grad(loss)(POINT) @ u, difference, atol=1e-8)


@pytest.mark.parametrize(
    "solver",
    [
        implicit.Newton(),
        implicit.Anderson(memory=3),
        implicit.Iteration(),
        implicit.SciPy("hybr"),
        implicit.SciPy("lm"),
        implicit.SciPy("krylov"),
        implicit.SciPy("df-sane", options={"fatol": 1e-12}),
        lambda f, start: optimize.root(f, start, tol=1e-12).x,
    ],
)
def test_roots_and_fixed_points(solver: Any) -> None:
    """Whatever finds y, the derivative is the same."""
    y = implicit.root(equation, np.zeros(8), POINT, solver=solver)
    assert np.allclose(equation(y, POINT), 0, atol=1e-9)
    checked(lambda x: implicit.root(equation, np.zeros(8), x, solver=solver))
    checked(lambda x: implicit.fixed_point(step, np.zeros(8), x, solver=solver))


@pytest.mark.parametrize(
    "solver",
    [
        None,
        implicit.Newton(),
        *(implicit.SciPy(name) for name in ("BFGS", "L-BFGS-B", "trust-exact", "trust-krylov")),
        implicit.SciPy("Newton-CG", options={"maxiter": 50}),
    ],
)
def test_minimisers(solver: Any) -> None:
    """By the name of SciPy's method, or Newton's on the gradient."""
    checked(lambda x: implicit.argmin(energy, np.zeros(8), x, solver=solver))


def test_a_method_without_gradients() -> None:
    """SciPy's simplex, made exact by Newton's method."""
    y = implicit.argmin(lambda y: (y - 1) ** 4 + y**2, 0.0, solver=implicit.SciPy("Nelder-Mead"))
    assert np.isclose(4 * (y - 1) ** 3 + 2 * y, 0, atol=1e-12)


def test_a_saddle_is_no_minimiser() -> None:
    """Newton's method finds it, and its Hessian is looked at; a flat minimum has no derivative."""

    def saddle(y: Any) -> Any:
        return y[0] ** 2 - y[1] ** 2 + y[1] ** 4

    start = np.array([0.5, 0.1])
    for space in (None, ad.spaces.Weighted(ad.spaces.Euclidean(2), np.array([1.0, 5.0]))):
        with pytest.raises(NotConvergedError, match="a saddle point or a maximum"):
            implicit.argmin(saddle, start, solver=implicit.Newton(), space=space)
        found = implicit.argmin(saddle, start, space=space)
        assert np.allclose(found, [0, np.sqrt(0.5)])
    with pytest.raises(NotConvergedError):
        implicit.argmin(lambda y: y**4, 0.1)


def test_a_minimiser_in_an_inner_product() -> None:
    """The gradient changes with the space, and where it is zero does not (E.1.37)."""
    space = ad.spaces.Weighted(ad.spaces.Euclidean(8), np.linspace(1, 9, 8))
    plain = implicit.argmin(energy, np.zeros(8), POINT)
    for linear_solver in (None, implicit.Krylov()):
        found = implicit.argmin(
            energy, np.zeros(8), POINT, space=space, linear_solver=linear_solver
        )
        assert np.allclose(found, plain)
        checked(
            lambda x, s=linear_solver: implicit.argmin(
                energy, np.zeros(8), x, space=space, linear_solver=s
            )
        )


# --- solvers of the user's -----------------------------------------------------------------------


@implicit.function(equation)
def solved(x: Any, **options: Any) -> Any:
    """By SciPy."""
    return optimize.root(lambda y: equation(y, x), np.zeros(8), tol=1e-12, **options).x


def test_a_decorated_solver_in_every_mode() -> None:
    """f, r, ff, fr, rf, rr, vmap and jit; compared with ours."""
    checked(solved)
    checked(lambda x: solved(x, method="lm"))

    def ours(x: Any) -> Any:
        return implicit.root(equation, np.zeros(8), x)

    u = np.ones(8)

    def forward(g: Any) -> Any:
        return lambda x: ad.jvp(g, (x,), (u,))[1]

    def reverse(g: Any) -> Any:
        return lambda x: ad.vjp(g, x)[1](u)[0]

    for outer in (forward, reverse):
        for inner in (forward, reverse):
            assert np.allclose(outer(inner(solved))(POINT), outer(inner(ours))(POINT), atol=1e-8)
    points = np.stack([POINT, -POINT])
    assert np.allclose(ad.vmap(solved)(points), [ours(x) for x in points])
    assert np.allclose(ad.jit(ad.grad(lambda x: solved(x)[0]))(POINT), ad.jacobian(ours)(POINT)[0])
    assert solved.__name__ == "solved"
    assert type(solved(POINT)) is np.ndarray


def test_the_residual_may_close_over_traced_values_and_the_solver_may_not() -> None:
    """What the solver reads would be lost; the residual is captured."""

    def outer(theta: Any) -> Any:
        @implicit.function(lambda y, x: y**3 + y - theta * x)
        def inner(x: Any) -> Any:
            return optimize.brentq(lambda y: y**3 + y - theta * x, -10, 10)

        return inner(2.0)

    with pytest.raises(DroppedDerivativeError, match="Pass it as an argument"):
        ad.grad(outer)(5.0)

    def right(theta: Any) -> Any:
        @implicit.function(lambda y, x: y**3 + y - theta * x / theta)
        def inner(x: Any) -> Any:
            return optimize.brentq(lambda y: y**3 + y - x, -10, 10, xtol=1e-14)

        return inner(theta)

    assert np.isclose(ad.grad(right)(10.0), 1 / 13)


def test_the_type_of_the_result_inside_a_batch() -> None:
    """It cannot be found by calling, and can be declared."""

    def residual(y: Any, x: Any) -> Any:
        return {"y": y["y"] ** 3 + y["y"] - x}

    def solver(x: Any) -> Any:
        return {"y": optimize.brentq(lambda y: y**3 + y - x, -10, 10, xtol=1e-14)}

    unknown = implicit.function(residual)(solver)
    with pytest.raises(UnknownResultError, match="Declare it"):
        ad.vmap(unknown)(np.array([2.0, 10.0]))
    known = implicit.function(residual, result=lambda x: {"y": x})(solver)
    assert np.allclose(ad.vmap(known)(np.array([2.0, 10.0]))["y"], [1.0, 2.0])
    slopes = ad.vmap(ad.grad(lambda x: known(x)["y"]))(np.array([2.0, 10.0]))
    assert np.allclose(slopes, [1 / 4, 1 / 13])


def test_a_point_where_the_equation_does_not_hold_is_an_error() -> None:
    """Off by 1e-3; NaN; and with a tolerance that allows it, or a polish that mends it."""

    def cube(y: Any, x: Any) -> Any:
        return y**3 + y - x

    def near(x: Any) -> Any:
        return 2.001

    with pytest.raises(NotConvergedError, match=r"\|f\(y, x\)\| is 2.94e-04 of .* is allowed"):
        implicit.function(cube)(near)(10.0)
    assert implicit.function(cube, tolerance=1e-2)(near)(10.0) == 2.001
    assert np.isclose(implicit.function(cube, polish=2)(near)(10.0), 2, atol=1e-12)
    with pytest.raises(NotConvergedError, match="NaN or infinity"):
        implicit.function(cube)(lambda x: np.nan)(10.0)


def test_the_check_does_not_depend_on_the_units_of_the_equation() -> None:
    """f times 1e-12 is as wrong, and f times 1e12 as right."""
    for unit in (1e-12, 1e12):

        def cube(y: Any, x: Any, unit: float = unit) -> Any:
            return unit * (y**3 + y - x)

        with pytest.raises(NotConvergedError):
            implicit.function(cube)(lambda x: 2.001)(10.0)
        assert implicit.function(cube)(lambda x: 2.0 + 1e-12)(10.0) == 2.0 + 1e-12


def test_results_that_change_their_shape_and_static_arguments() -> None:
    """The type of the result depends on those of the arguments alone."""
    sizes = iter([2, 3])

    @implicit.function(lambda y, x: y - x)
    def changing(x: Any) -> Any:
        return np.full(next(sizes), x)

    with pytest.raises(ShapeError, match="What the solver"):
        ad.value_and_grad(lambda x: np.sum(changing(x)))(1.0)
    with pytest.raises(ArgumentTypeError, match="cannot be hashed"):
        solved(POINT, options={"xtol": 1e-9})
    with pytest.raises(ArgumentTypeError, match="cannot be hashed"):
        implicit.SciPy("hybr", options={"diag": [1.0]})
    with pytest.raises(ArgumentTypeError, match="keyword argument"):
        ad.grad(lambda x: np.sum(solved(POINT, start=x)))(POINT)
    with pytest.raises(ArgumentTypeError, match="floating-point values"):
        implicit.function(lambda y, x: y - x)(lambda x: 3)(1.0)
    with pytest.raises(ArgumentTypeError, match="returned None, which holds no arrays"):
        implicit.function(lambda y, x: y - x)(lambda x: None)(1.0)


def test_a_solver_that_is_a_method() -> None:
    """The object is the first argument, and static; what the residual reads of it is read anew."""

    class Cubic:
        slope = 1.0

        @implicit.function(lambda y, self, x: y**3 + self.slope * y - x)
        def solve(self, x: Any) -> Any:
            return optimize.brentq(lambda y: y**3 + self.slope * y - x, -10, 10, xtol=1e-14)

    cubic = Cubic()
    gradient = ad.grad(cubic.solve)
    assert np.isclose(gradient(10.0), 1 / 13)
    cubic.slope = 5.0
    y = cubic.solve(10.0)
    assert np.isclose(gradient(10.0), 1 / (3 * y**2 + 5))


def test_what_a_solver_keeps_and_overwrites() -> None:
    """A buffer that it writes into at every call, and arguments that it destroys."""
    buffer = np.zeros(3)

    @implicit.function(lambda y, x: y**3 + y - x)
    def kept(x: Any) -> Any:
        buffer[:] = optimize.root(lambda y: y**3 + y - x, np.ones(3), tol=1e-13).x
        x[:] = np.nan
        return buffer

    x = np.array([1.0, 2.0, 10.0])
    one, two = kept(x), kept(2 * x)
    assert np.allclose(one**3 + one, x)
    gradient = ad.grad(lambda x: np.sum(kept(x) * kept(2 * x)))(x)
    assert np.allclose(gradient, two / (3 * one**2 + 1) + 2 * one / (3 * two**2 + 1))


def test_the_branch_is_the_one_that_the_solver_chose() -> None:
    """Of y^2 = x it is the solver's, at every call anew."""
    signs = [1.0]

    @implicit.function(lambda y, x: y**2 - x)
    def either(x: Any) -> Any:
        return signs[0] * np.sqrt(x)

    gradient = ad.grad(either)
    assert np.isclose(gradient(4.0), 0.25)
    signs[0] = -1.0
    assert np.isclose(gradient(4.0), -0.25)


def test_the_example_that_fails_is_named() -> None:
    """In batches of equations, of the user's solvers, and of both nested."""
    with pytest.raises(NotConvergedError, match="In example 2 of a batch of 4: Newton's method"):
        ad.vmap(lambda x: implicit.root(lambda y: y**2 - x, 1.0))(np.array([1.0, 2.0, -1.0, 3.0]))
    two = implicit.function(lambda y, x: y**3 + y - x, result=lambda x: x)(lambda x: 2.0)
    xs = np.array([[10.0, 10.0], [10.0, 11.0]])
    with pytest.raises(NotConvergedError, match="example 1 of a batch of 2: In example 1 of"):
        ad.vmap(ad.vmap(two))(xs)


@pytest.mark.parametrize(
    "make",
    [
        lambda: implicit.Newton(limit=0),
        lambda: implicit.Newton(tolerance=0.0),
        lambda: implicit.Iteration(tolerance=-1.0),
        lambda: implicit.Anderson(memory=0),
        lambda: implicit.Krylov(restart=0),
        lambda: implicit.Krylov("cg"),
        lambda: implicit.root(lambda y: y, 1.0, tolerance=0.0),
        lambda: implicit.root(lambda y: y, 1.0, polish=-1),
        lambda: implicit.root(lambda y: y, 1.0, solver=implicit.Newton),
        lambda: implicit.root(lambda y: y, 1.0, linear_solver=implicit.Direct),
    ],
)
def test_options_that_make_no_sense(make: Any) -> None:
    """A class in the place of an object, and numbers with which nothing can be found."""
    with pytest.raises(ArgumentError, match=r"must be|positive|polish is"):
        make()


@pytest.mark.parametrize("name", ["Newton", "Anderson", "Iteration"])
def test_a_tolerance_may_be_an_array_of_one_number(name: str) -> None:
    tolerance: Any = np.array(1e-4)
    solver = getattr(ad.implicit, name)(tolerance=tolerance)
    assert solver == getattr(ad.implicit, name)(tolerance=1e-4)

    def half(x: Any) -> Any:
        return ad.implicit.root(
            lambda y, x: (2 * y - x) / 4, 1.0, x, solver=solver, tolerance=tolerance
        )

    assert abs(ad.grad(half)(3.0) - 0.5) < 1e-3
