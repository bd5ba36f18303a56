"""Fits, orbits and equilibria as a cookbook of SciPy's has them, with derivatives for the asking.

Each is run as it stands there, by differences inside of SciPy, and once more with ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.integrate
import scipy.interpolate
import scipy.optimize

import adjoint as ad

# Without their types, which are stricter than what the functions take.
integrate: Any = scipy.integrate
interpolate: Any = scipy.interpolate
optimize: Any = scipy.optimize

# --- fits -----------------------------------------------------------------------------------------


def test_a_circle_through_six_points() -> None:
    x = np.array([9.0, 35.0, -13.0, 10.0, 23.0, 0.0])
    y = np.array([34.0, 10.0, 6.0, -14.0, 27.0, -10.0])

    def residuals(centre: Any) -> Any:
        distances = np.sqrt((x - centre[0]) ** 2 + (y - centre[1]) ** 2)
        return distances - distances.mean()

    start = np.array([x.mean(), y.mean()])
    by_differences, _ = optimize.leastsq(residuals, start)
    fitted, _ = optimize.leastsq(residuals, start, Dfun=ad.jacobian(residuals))
    away = np.array([x, y]) - fitted[:, None]
    np.testing.assert_allclose(fitted, by_differences, rtol=1e-6)
    # At the centre of the best circle the sum of unit vectors, weighted by residuals, vanishes.
    units = (away / np.linalg.norm(away, axis=0)).T
    assert np.max(np.abs(residuals(fitted) @ (units - units.mean(axis=0)))) < 1e-5


def test_a_peak_on_a_slope_with_its_uncertainties() -> None:
    rng = np.random.default_rng(0)

    def peak(t: Any, height: Any, place: Any, width: Any, slope: Any) -> Any:
        return height * np.exp(-(((t - place) / width) ** 2) / 2) + slope * t

    t, truth = np.linspace(0, 10, 200), np.array([3.0, 4.0, 0.8, 0.2])
    data = peak(t, *truth) + 0.05 * rng.normal(size=t.size)
    fitted, covariance = ad.optimize.curve_fit(peak, t, data, p0=[1, 5.0, 1.0, 0.0])
    plain, plain_covariance = optimize.curve_fit(peak, t, data, p0=[1.0, 5.0, 1.0, 0.0])
    np.testing.assert_allclose(fitted, plain, rtol=1e-6)
    np.testing.assert_allclose(covariance, plain_covariance, rtol=1e-3, atol=1e-9)
    assert np.all(np.abs(fitted - truth) < 4 * np.sqrt(np.diag(covariance)))


def test_a_robust_fit_of_a_decaying_wave() -> None:
    rng = np.random.default_rng(1)
    t = np.linspace(0, 5, 60)

    def residuals(p: Any, t: Any, y: Any) -> Any:
        return p[0] * np.exp(-p[1] * t) * np.sin(p[2] * t) - y

    truth = np.array([2.0, 0.3, 3.0])
    data = -residuals(truth, t, 0.0) * -1 + 0.02 * rng.normal(size=t.size)
    data[::9] += 2.0
    options: dict[str, Any] = {"loss": "soft_l1", "f_scale": 0.1, "args": (t, data)}
    jacobian = ad.jacobian(residuals)
    found = optimize.least_squares(residuals, truth + 0.2, jac=jacobian, **options)
    plain = optimize.least_squares(residuals, truth + 0.2, **options)
    np.testing.assert_allclose(found.x, plain.x, rtol=1e-5)
    np.testing.assert_allclose(found.x, truth, atol=0.05)


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1 - x[:-1]) ** 2.0)


def test_a_valley_by_every_method_that_takes_derivatives() -> None:
    start = np.array([1.3, 0.7, 0.8, 1.9, 1.2])
    np.testing.assert_allclose(ad.grad(rosenbrock)(start), optimize.rosen_der(start), rtol=1e-12)
    np.testing.assert_allclose(ad.hessian(rosenbrock)(start), optimize.rosen_hess(start))

    def product(x: Any, u: Any) -> Any:
        return ad.hvp(rosenbrock, x, u)

    second: dict[str, Any]
    for method, second in (
        ("BFGS", {}),
        ("L-BFGS-B", {}),
        ("Newton-CG", {"hess": ad.hessian(rosenbrock)}),
        ("Newton-CG", {"hessp": product}),
        ("trust-ncg", {"hessp": product}),
        ("trust-exact", {"hess": ad.hessian(rosenbrock)}),
    ):
        result = optimize.minimize(
            rosenbrock, start, method=method, jac=ad.grad(rosenbrock), tol=1e-10, **second
        )
        np.testing.assert_allclose(result.x, np.ones(5), atol=1e-5)


def test_a_minimum_under_constraints() -> None:
    def objective(x: Any) -> Any:
        return 2 * x[0] * x[1] + 2 * x[0] - x[0] ** 2 - 2 * x[1] ** 2

    constraints: Any = (
        {"type": "eq", "fun": lambda x: x[0] ** 3 - x[1]},
        {"type": "ineq", "fun": lambda x: x[1] - 1},
    )
    with_slopes = [{**c, "jac": ad.grad(c["fun"])} for c in constraints]
    result = optimize.minimize(
        lambda x: -objective(x),
        [-1.0, 1.0],
        jac=ad.grad(lambda x: -objective(x)),
        constraints=with_slopes,
        method="SLSQP",
    )
    np.testing.assert_allclose(result.x, [1.0, 1.0], atol=1e-6)


# --- equations of motion --------------------------------------------------------------------------


def test_two_masses_on_springs_and_fitting_one_of_them() -> None:
    def motion(w: Any, t: Any, p: Any) -> Any:
        x1, y1, x2, y2 = w
        m1, m2, k1, k2, length1, length2 = p
        near = -k1 * (x1 - length1) + k2 * (x2 - x1 - length2)
        return [y1, near / m1, y2, -k2 * (x2 - x1 - length2) / m2]

    t, start = np.linspace(0, 4, 30), np.array([0.5, 0.0, 2.25, 0.0])
    accuracy = {"rtol": 1e-10, "atol": 1e-10}

    def path(stiffness: Any) -> Any:
        parameters = (1.0, 1.5, stiffness, 4.0, 0.5, 1.0)
        return integrate.odeint(motion, start, t, args=(parameters,), **accuracy)[:, 0]

    data = path(8.0)

    def misfit(stiffness: Any) -> Any:
        return np.sum((path(stiffness) - data) ** 2)

    slope = (misfit(7.0 + 1e-4) - misfit(7.0 - 1e-4)) / 2e-4
    assert np.isclose(ad.grad(misfit)(7.0), slope, rtol=1e-5)
    fitted, _ = ad.optimize.curve_fit(lambda _, k: path(k), t, data, p0=[7.5])
    np.testing.assert_allclose(fitted, [8.0], rtol=1e-6)


def test_the_equilibrium_of_predators_and_prey() -> None:
    a, b, c, d = 1.0, 0.1, 1.5, 0.75

    def growth(populations: Any, t: float = 0.0) -> Any:
        rabbits, foxes = populations
        return np.array([a * rabbits - b * rabbits * foxes, -c * foxes + d * b * rabbits * foxes])

    rest = np.array([c / (d * b), a / b])
    exact = np.array([[a - b * rest[1], -b * rest[0]], [d * b * rest[1], -c + d * b * rest[0]]])
    np.testing.assert_allclose(ad.jacobian(growth)(rest), exact, atol=1e-14)
    periods = 2 * np.pi / np.abs(np.linalg.eigvals(ad.jacobian(growth)(rest)))
    np.testing.assert_allclose(periods, 2 * np.pi / np.sqrt(a * c))
    found = optimize.root(growth, rest + 1.0, jac=ad.jacobian(growth))
    np.testing.assert_allclose(found.x, rest, rtol=1e-8)
    # What is kept along every orbit: d b u + b v - c log u - a log v.
    orbit = integrate.odeint(growth, [10.0, 5.0], np.linspace(0, 5, 40), rtol=1e-9, atol=1e-9)

    def kept(populations: Any) -> Any:
        u, v = populations
        return d * b * u + b * v - c * np.log(u) - a * np.log(v)

    assert np.ptp([kept(point) for point in orbit]) < 1e-6
    along = [np.dot(ad.grad(kept)(point), growth(point)) for point in orbit[::10]]
    np.testing.assert_allclose(along, 0.0, atol=1e-12)


# --- curves ---------------------------------------------------------------------------------------


def test_a_spline_through_data_and_its_slope_with_respect_to_them() -> None:
    x = np.arange(0, 2 * np.pi + np.pi / 4, np.pi / 4)
    at = np.linspace(0.5, 5.5, 7)

    def interpolated(y: Any) -> Any:
        return interpolate.CubicSpline(x, y)(at)

    weights = ad.jacobian(interpolated)(np.sin(x))
    np.testing.assert_allclose(weights @ np.sin(x), interpolated(np.sin(x)), rtol=1e-12)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)


def test_an_arc_length_by_quadrature() -> None:
    def length(a: Any) -> Any:
        return integrate.quad(lambda t: np.sqrt(1 + (2 * a * t) ** 2), 0, 1)[0]

    a = 0.7
    root = np.sqrt(1 + 4 * a * a)
    assert np.isclose(length(a), root / 2 + np.arcsinh(2 * a) / (4 * a))
    exact = (root / 2 - np.arcsinh(2 * a) / (4 * a)) / a
    assert np.isclose(ad.grad(length)(a), exact, rtol=1e-9)
