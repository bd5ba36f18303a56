"""Quadratic programs: closed forms, differences in all coefficients, OptNet's own formula."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import errors
from adjoint.calculus.implicit.quadratic_program import quadratic_program
from adjoint.spaces import Symmetric

pytest.importorskip("clarabel")

NAMES = ("Q", "q", "A", "b", "G", "h")


def problem(seed: int, n: int = 5, equalities: int = 2, inequalities: int = 7) -> tuple[Any, ...]:
    """A random program with a feasible point."""
    generator = np.random.default_rng(seed)
    factor, point = generator.normal(size=(n, n)), generator.normal(size=n)
    A, G = generator.normal(size=(equalities, n)), generator.normal(size=(inequalities, n))
    room = generator.uniform(0.05, 0.6, inequalities)
    return factor @ factor.T, generator.normal(size=n), A, A @ point, G, G @ point + room


def differences(function: Any, step: float = 1e-4) -> Any:
    """The slope at zero of a function of one number, to fourth order."""
    pairs = [(function(k * step) - function(-k * step)) / (2 * k * step) for k in (1, 2)]
    return (4 * pairs[0] - pairs[1]) / 3


def close(found: Any, expected: Any, tolerance: float = 1e-9) -> None:
    scale = np.max(np.abs(expected), initial=1.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_the_conditions_hold_to_rounding(seed: int) -> None:
    Q, q, A, b, G, h = problem(seed, n=8, inequalities=12)
    x, nu, multipliers = quadratic_program(Q, q, A, b, G, h, multipliers=True)
    close(Q @ x + q + A.T @ nu + G.T @ multipliers, 0, 1e-13)
    close(A @ x, b, 1e-13)
    assert np.all(G @ x - h <= 1e-13)
    assert np.all(multipliers >= 0)
    close(multipliers * (G @ x - h), 0, 1e-13)


def test_numbers_of_very_different_sizes() -> None:
    Q, q, _, _, G, h = problem(3, inequalities=6)
    units = np.array([1, 1e4, 1e-4, 1, 1e3, 1])
    expected = quadratic_program(Q, q, G=G, h=h)
    close(quadratic_program(1e3 * Q, 1e3 * q, G=units[:, None] * G, h=units * h), expected, 1e-11)


def test_any_feasible_point_where_there_is_no_objective() -> None:
    G = np.concatenate([np.eye(3), -np.eye(3)])
    found = quadratic_program(
        np.zeros((3, 3)), np.zeros(3), np.ones((1, 3)), [1.0], G, np.full(6, 0.5), multipliers=True
    )
    close(found.x.sum(), 1.0, 1e-13)
    assert np.all(np.abs(found.x) <= 0.5)
    close(found.inequality, 0)


def test_single_precision() -> None:
    single = [array.astype(np.float32) for array in problem(1)]
    found = quadratic_program(*single)
    assert found.dtype == np.float32
    close(found, quadratic_program(*problem(1)), 1e-5)
    gradient = ad.grad(lambda q: np.sum(quadratic_program(single[0], q, *single[2:]) ** 2))
    close(
        gradient(single[1]),
        ad.grad(lambda q: np.sum(quadratic_program(problem(1)[0], q, *problem(1)[2:]) ** 2))(
            problem(1)[1]
        ),
        1e-4,
    )


def test_integers_count_as_double_precision() -> None:
    found = quadratic_program([[2, 0], [0, 2]], [-2, -4], [[1, 1]], [2])
    assert found.dtype == float
    close(found, [0.5, 1.5])


@pytest.mark.parametrize("gap", [1e-4, 1e-6, 1e-7])
def test_bounds_that_an_interior_point_method_hardly_tells_apart(gap: float) -> None:
    def solve(bound: Any) -> Any:  # x <= 1 + gap and x <= bound, below the free minimum 2
        return quadratic_program([[1.0]], [-2.0], G=[[1.0], [1.0]], h=np.stack([1 + gap, bound]))[0]

    close(solve(np.float64(1.0)), 1.0, 1e-15)
    close(ad.grad(solve)(1.0), 1.0)


def near_vertex(seed: int) -> tuple[Any, ...]:
    """Two of three active constraints in the plane; the third is 1e-7 away, and in other units."""
    generator = np.random.default_rng(seed)
    G, point = generator.normal(size=(3, 2)), generator.normal(size=2)
    push = generator.uniform(0.5, 1, 2)
    q = -point - push @ G[:2]  # so that point is the minimiser, with multipliers push
    units = 10.0 ** generator.uniform(-4, 4, 3)
    h = G @ point + np.array([0, 0, 1e-7])
    return np.eye(2), q, units[:, None] * G, units * h, point, push / units[:2]


@pytest.mark.parametrize("seed", range(6))
def test_an_inactive_constraint_near_a_vertex_in_any_units(seed: int) -> None:
    Q, q, G, h, point, multipliers = near_vertex(seed)
    found = quadratic_program(Q, q, G=G, h=h, multipliers=True)
    close(found.x, point, 1e-11)
    np.testing.assert_allclose(found.inequality, [*multipliers, 0], rtol=1e-8)
    jacobian = ad.jacobian(lambda h: quadratic_program(Q, q, G=G, h=h))(h)
    close(jacobian * h, np.c_[np.linalg.inv(G[:2]), np.zeros(2)] * h, 1e-8)


@pytest.mark.parametrize("spread", [1e3, 1e6, 1e9])
def test_unknowns_in_other_units(spread: float) -> None:
    Q, q, _, _, G, h = problem(3, n=3, inequalities=4)
    units = np.array([spread, 1.0, 1 / spread])

    def solve(q: Any) -> Any:
        scaled = units[:, None] * Q * units, units * q
        return quadratic_program(*scaled, G=G * units, h=h) * units

    close(solve(q), quadratic_program(Q, q, G=G, h=h), 1e-9)
    expected = ad.jacobian(lambda q: quadratic_program(Q, q, G=G, h=h))(q)
    close(ad.jacobian(solve)(q), expected, 1e-9)


def test_zero_is_found_where_nothing_else_has_a_size() -> None:
    generator = np.random.default_rng(0)
    for _ in range(10):
        G = np.round(generator.normal(size=(8, 3)))
        h = np.array([0.0, 0, 0, 0, 1, 1, 2, 0])
        found = quadratic_program(np.eye(3), np.zeros(3), G=G, h=h)
        close(found, 0, 1e-12)


# --- closed forms ---------------------------------------------------------------------------------


def onto_box(y: Any, low: Any, high: Any) -> Any:
    eye = np.eye(3)
    return quadratic_program(eye, -y, G=np.concatenate([-eye, eye]), h=np.concatenate([-low, high]))


def test_projection_onto_a_box() -> None:
    y, low, high = np.array([0.5, 2.0, -3.0]), -np.ones(3), np.array([1.0, 1.5, 1.0])
    close(onto_box(y, low, high), np.clip(y, low, high))
    inside = [np.diag([1.0, 0, 0]), np.diag([0.0, 0, 1]), np.diag([0.0, 1, 0])]
    for place, expected in enumerate(inside):
        close(ad.jacobian(onto_box, argnums=place)(y, low, high), expected)


def test_projection_onto_the_simplex() -> None:
    def onto_simplex(y: Any) -> Any:
        n = y.shape[0]
        return quadratic_program(
            np.eye(n), -y, np.ones((1, n)), np.ones(1), -np.eye(n), np.zeros(n)
        )

    y = np.random.default_rng(2).normal(size=6)
    descending = np.sort(y)[::-1]
    shift = (np.cumsum(descending) - 1) / np.arange(1, 7)  # Held, Wolfe and Crowder (1974)
    threshold = shift[np.flatnonzero(descending > shift)[-1]]
    close(onto_simplex(y), np.maximum(y - threshold, 0))
    support = (y > threshold).astype(float)
    expected = np.diag(support) - np.outer(support, support) / support.sum()
    close(ad.jacobian(onto_simplex)(y), expected)


def test_equations_alone_in_closed_form_and_without_the_extra() -> None:
    Q, q, A, b, _, _ = problem(4)

    def closed(Q: Any, q: Any, A: Any, b: Any) -> Any:
        S = (Q + Q.T) / 2
        inverse = np.linalg.inv(S)
        nu = np.linalg.solve(A @ inverse @ A.T, -(A @ inverse @ q) - b)
        return -inverse @ (q + A.T @ nu)

    weights = np.arange(1.0, 6)
    close(quadratic_program(Q, q, A, b), closed(Q, q, A, b))
    found = ad.grad(lambda *all: weights @ quadratic_program(*all), argnums=(0, 1, 2, 3))
    expected = ad.grad(lambda *all: weights @ closed(*all), argnums=(0, 1, 2, 3))
    for one, other in zip(found(Q, q, A, b), expected(Q, q, A, b), strict=True):
        close(one, other)
    close(
        ad.hessian(lambda Q: weights @ quadratic_program(Q, q, A, b))(Q),
        ad.hessian(lambda Q: weights @ closed(Q, q, A, b))(Q),
    )
    close(quadratic_program(Q, q), -np.linalg.solve(Q, q))


# --- derivatives ----------------------------------------------------------------------------------


@pytest.mark.parametrize("place", range(6), ids=NAMES)
def test_differences_in_every_argument_in_both_modes(place: int) -> None:
    arguments = problem(11)
    generator = np.random.default_rng(place)
    direction = generator.normal(size=arguments[place].shape)

    def along(t: float) -> Any:
        moved = list(arguments)
        moved[place] = moved[place] + t * direction
        return np.concatenate(quadratic_program(*moved, multipliers=True))

    expected = differences(along)
    active = quadratic_program(*arguments, multipliers=True).inequality > 0
    assert 0 < active.sum() < active.size

    def of_one(x: Any) -> Any:
        given = [*arguments[:place], x, *arguments[place + 1 :]]
        return np.concatenate(quadratic_program(*given, multipliers=True))

    _, pushed = ad.jvp(of_one, (arguments[place],), (direction,))
    close(pushed, expected, 1e-8)
    weights = generator.normal(size=expected.shape)
    (pulled,) = ad.vjp(of_one, arguments[place])[1](weights)
    close(np.sum(pulled * direction), weights @ expected, 1e-8)
    close(np.sum(pulled * direction), weights @ pushed, 1e-12)


def test_the_formula_of_optnet() -> None:
    """Amos and Kolter (2017), equations (6) to (8), with their own form of complementarity."""
    Q, q, A, b, G, h = problem(12)
    x, nu, multipliers = quadratic_program(Q, q, A, b, G, h, multipliers=True)
    n, m, k = len(q), len(b), len(h)
    kkt = np.block(
        [
            [Q, G.T, A.T],
            [multipliers[:, None] * G, np.diag(G @ x - h), np.zeros((k, m))],
            [A, np.zeros((m, k)), np.zeros((m, m))],
        ]
    )
    w = np.random.default_rng(0).normal(size=n)
    transposed = kkt.copy().T
    d_x, d_l, d_n = np.split(
        -np.linalg.solve(transposed, np.concatenate([w, np.zeros(k + m)])), [n, n + k]
    )
    scaled = multipliers * d_l
    expected = {
        "Q": (np.outer(d_x, x) + np.outer(x, d_x)) / 2,
        "q": d_x,
        "A": np.outer(d_n, x) + np.outer(nu, d_x),
        "b": -d_n,
        "G": np.outer(scaled, x) + np.outer(multipliers, d_x),
        "h": -scaled,
    }
    found = ad.vjp(quadratic_program, Q, q, A, b, G, h)[1](w)
    for one, other in zip(found, expected.values(), strict=True):
        close(one, other)


def test_the_multipliers_are_the_derivative_of_the_optimal_value() -> None:
    Q, q, A, b, G, h = problem(13)

    def value(b: Any, h: Any) -> Any:
        x = quadratic_program(Q, q, A, b, G, h)
        return x @ Q @ x / 2 + q @ x

    _, nu, multipliers = quadratic_program(Q, q, A, b, G, h, multipliers=True)
    to_b, to_h = ad.grad(value, argnums=(0, 1))(b, h)
    close(to_b, -nu)
    close(to_h, -multipliers)


def test_second_order() -> None:
    Q, q, A, b, G, h = problem(14, n=4, equalities=1, inequalities=5)

    def f(G: Any, q: Any) -> Any:
        return np.sum(np.sin(quadratic_program(Q, q, A, b, G, h)))

    generator = np.random.default_rng(3)
    directions = generator.normal(size=G.shape), generator.normal(size=q.shape)
    first = ad.grad(f, argnums=(0, 1))
    expected = [
        differences(lambda t, n=n: first(G + t * directions[0], q + t * directions[1])[n])
        for n in range(2)
    ]
    _, found = ad.jvp(first, (G, q), directions)
    _, pull = ad.vjp(first, G, q)
    for one, other, number in zip(found, expected, range(2), strict=True):
        close(one, other, 1e-7)
        # The second derivative is symmetric, so reverse over reverse gives the same.
        close(pull(directions)[number], one, 1e-10)


def test_on_symmetric_matrices_and_on_all_the_derivative_in_Q_is_symmetric() -> None:
    Q, *rest = problem(15)

    def f(Q: Any) -> Any:
        return np.sum(quadratic_program(Q, *rest) ** 2)

    gradient = ad.grad(f)(Q)
    close(gradient, gradient.T)
    close(ad.grad(f, space=Symmetric(5))(Q), gradient)
    skew = np.triu(np.ones((5, 5)), 1)
    close(f(Q + skew - skew.T), f(Q))


def test_vmap_and_jit() -> None:
    Q, q, A, b, G, h = problem(16)
    batch = q + 0.1 * np.random.default_rng(0).normal(size=(4, 5))

    def f(q: Any) -> Any:
        return np.sum(quadratic_program(Q, q, A, b, G, h) ** 2)

    close(ad.vmap(f)(batch), [f(row) for row in batch])
    close(ad.vmap(ad.grad(f))(batch), [ad.grad(f)(row) for row in batch])
    jitted = ad.jit(ad.grad(f))
    close(jitted(batch[0]), ad.grad(f)(batch[0]))
    close(jitted(batch[1]), ad.grad(f)(batch[1]))
    matrices = np.stack([Q, 2 * Q])
    found = ad.vmap(lambda Q: quadratic_program(Q, q, A, b, G, h))(matrices)
    close(found[1], quadratic_program(2 * Q, q, A, b, G, h))


def test_linear_programs_are_a_special_case() -> None:
    def f(q: Any, b: Any) -> Any:
        return quadratic_program(np.zeros((2, 2)), q, np.ones((1, 2)), b, -np.eye(2), np.zeros(2))

    q, b = np.array([1.0, 2.0]), np.ones(1)
    close(f(q, b), [1, 0])
    close(ad.jacobian(f)(q, b), np.zeros((2, 2)))
    close(ad.jacobian(f, argnums=1)(q, b), [[1], [0]])


def any_problem(generator: np.random.Generator) -> tuple[Any, ...]:
    """Within a box, and else as may be: Q of any rank, constraints that touch or depend."""
    n = int(generator.integers(1, 8))
    m, k = int(generator.integers(0, max(1, n // 2))), int(generator.integers(1, 2 * n + 2))
    factor, point = (
        generator.normal(size=(n, generator.integers(0, n + 1))),
        generator.normal(size=n),
    )
    Q = factor @ factor.T + generator.integers(0, 2) * 0.1 * np.eye(n)
    q = -(Q @ point) if generator.random() < 0.3 else generator.normal(size=n)
    A, G = generator.normal(size=(m, n)), generator.integers(-1, 2, (k, n)) * 1.0
    G = generator.normal(size=(k, n)) if generator.random() < 0.6 else G
    h = G @ point + np.where(generator.random(k) < 0.3, 0, generator.uniform(0, 1, k))
    G = np.concatenate([G, np.eye(n), -np.eye(n)])
    return Q, q, A, A @ point, G, np.concatenate([h, np.full(2 * n, 5.0)])


def test_of_any_program_the_derivative_is_right_or_refused() -> None:
    generator = np.random.default_rng(5)
    right = refused = 0
    for _ in range(60):
        Q, q, A, b, G, h = any_problem(generator)
        to_q, to_G, to_h = (generator.normal(size=x.shape) for x in (q, G, h))

        def along(t: Any, Q=Q, q=q, A=A, b=b, G=G, h=h, u=to_q, v=to_G, w=to_h) -> Any:
            return quadratic_program(Q, q + t * u, A, b, G + t * v, h + t * w)

        try:
            _, found = ad.jvp(along, (0.0,), (1.0,))
        except errors.SingularError:
            refused += 1
            continue
        close(found, differences(along, 1e-6), 1e-6)
        right += 1
    assert right > 20
    assert refused > 5


# --- where there is none --------------------------------------------------------------------------


def test_weakly_active_constraints_have_a_value_and_no_derivative() -> None:
    def positive_part(y: Any) -> Any:
        return quadratic_program(np.eye(2), -y, G=-np.eye(2), h=np.zeros(2))

    y = np.array([1.0, 0.0])  # the derivative of max(y, 0) jumps at 0
    close(positive_part(y), y)
    with pytest.raises(errors.SingularError, match=r"inequalities \[1\].*strict complementarity"):
        ad.jvp(positive_part, (y,), (y,))
    with pytest.raises(errors.SingularError, match=r"inequalities \[1\].*strict complementarity"):
        ad.grad(lambda y: np.sum(positive_part(y)))(y)


def test_dependent_constraints_have_a_value_and_no_derivative() -> None:
    def f(q: Any) -> Any:
        return quadratic_program(np.eye(2), q, G=np.array([[1.0, 0], [1, 0]]), h=np.ones(2))

    q = np.array([-2.0, -1])
    close(f(q), [1, 1])
    with pytest.raises(errors.SingularError, match=r"constraints depend on each other"):
        ad.grad(lambda q: np.sum(f(q)))(q)


def test_a_minimiser_that_is_not_the_only_one_has_no_derivative() -> None:
    def f(q: Any) -> Any:
        return quadratic_program(np.diag([1.0, 0]), q)

    close(f(np.array([2.0, 0])), [-2, 0])
    with pytest.raises(errors.SingularError, match=r"not positive definite"):
        ad.jacobian(f)(np.array([2.0, 0]))


def test_programs_without_a_solution() -> None:
    eye, zero = np.eye(2), np.zeros(2)
    with pytest.raises(errors.InfeasibleError, match=r"weights \[1\. 1\.\].*0 <= -2"):
        quadratic_program(eye, zero, G=[[1.0, 0], [-1, 0]], h=[-1.0, -1])
    with pytest.raises(errors.InfeasibleError, match=r"contradict each other.*0\.5"):
        quadratic_program(eye, zero, np.ones((2, 2)), [1.0, 2])
    with pytest.raises(errors.UnboundedError, match=r"d = \[-1\..*q'd = -1"):
        quadratic_program(0 * eye, [1.0, 0], G=[[1.0, 0]], h=[1.0])
    with pytest.raises(errors.UnboundedError, match=r"falls without end"):
        quadratic_program(np.diag([1.0, 0]), np.ones(2))
    with pytest.raises(errors.ArgumentError, match=r"smallest eigenvalue is -1"):
        quadratic_program(np.diag([1.0, -1]), zero)
    with pytest.raises(errors.ArgumentError, match=r"h of a quadratic program holds NaN"):
        quadratic_program(eye, zero, G=eye, h=[1.0, np.inf])


def test_a_wrong_verdict_of_the_interior_point_method_is_not_passed_on() -> None:
    with pytest.raises(errors.NotConvergedError, match=r"very different sizes"):  # not: unbounded
        quadratic_program(np.eye(2), -np.ones(2), G=-np.eye(2), h=np.array([0, 1e20]))


def test_arguments_that_do_not_fit_are_named() -> None:
    eye, zero = np.eye(2), np.zeros(2)
    with pytest.raises(errors.ShapeError, match=r"A and b .* belong together"):
        quadratic_program(eye, zero, A=eye)
    with pytest.raises(errors.ShapeError, match=r"G .* has shape \(1, 3\); expected \(1, 2\)"):
        quadratic_program(eye, zero, G=np.ones((1, 3)), h=np.ones(1))
    with pytest.raises(errors.ShapeError, match=r"Q .* has 3 axes; expected 2"):
        quadratic_program(np.stack([eye, eye]), zero)
    with pytest.raises(errors.ShapeError, match=r"q of a quadratic program is empty"):
        quadratic_program(np.zeros((0, 0)), np.zeros(0))
    with pytest.raises(errors.DTypeError, match=r"q .* dtype complex128"):
        quadratic_program(eye, 1j * zero)


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "clarabel", None)
    close(quadratic_program(np.eye(2), np.ones(2)), [-1, -1])
    with pytest.raises(errors.MissingPackageError, match=r"pip install 'adjoint\[qp\]'"):
        quadratic_program(np.eye(2), np.ones(2), G=np.eye(2), h=np.ones(2))
