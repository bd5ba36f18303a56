"""The inner product of functions makes descent independent of the mesh: `examples/poisson_control`.

E.1.27, E.1.39, E.1.43.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest

import adjoint as ad
from tests.architecture.modules import ROOT

REFINEMENTS = (1, 4, 16, 64)


@pytest.fixture(name="example")
def imported_example(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    import poisson_control

    yield poisson_control
    sys.modules.pop("poisson_control", None)


def counts(example, problem, tolerance):
    found = []
    for refinement in REFINEMENTS:
        space, boundary = example.rod(refinement)
        results = example.iterations(problem(space, boundary), space, tolerance)
        assert all(result.converged for result in results)
        found.append([result.iterations for result in results])
    return np.array(found).T


def test_distance_from_a_random_function(example):
    """In L2, one step along ∇J = u - d; in l2, as many as the condition of the mass matrix asks."""
    plain, weighted = counts(example, lambda space, _: example.distance(space), 1e-7)
    np.testing.assert_array_equal(weighted, 1)
    growth = plain[1:] / plain[:-1]
    assert np.all((growth > 2.5) & (growth < 5))  # refined four times more
    space, _ = example.rod(16)
    objective, u = example.distance(space), space.random(3)
    target = space.random(0)
    np.testing.assert_allclose(ad.grad(objective, space=space)(u), u - target, atol=1e-12)
    np.testing.assert_allclose(ad.grad(objective)(u), space.mass @ (u - target), atol=1e-12)


def test_control_of_a_rod(example):
    plain, weighted = counts(example, example.control, 1e-6)
    assert np.ptp(weighted) <= 1
    assert np.max(weighted) < 10
    growth = plain[2:] / plain[1:-1]
    assert np.all((growth > 2.5) & (growth < 5))


def test_quasi_newton_methods_too(example):
    """The identity that BFGS begins with is the Riesz map of the space."""
    numbers = []
    for refinement in (1, 32):
        space, boundary = example.rod(refinement)
        objective, start = example.control(space, boundary), np.zeros(space.dimension)
        numbers.append(
            [
                ad.optimize.minimize(
                    objective, start, each, method="L-BFGS-B", options={"gtol": 1e-7, "ftol": 0}
                ).nit
                for each in (None, space)
            ]
        )
    (_, coarse), (plain, weighted) = numbers
    assert abs(coarse - weighted) <= 2
    assert plain > 2 * weighted


def test_the_state_equation_is_solved_and_transposed(example):
    """Against y = sin πx, u = π² sin πx; and by a Taylor test of the objective."""
    space, boundary = example.rod(1, elements=64)
    objective = example.control(space, boundary)
    u, v = space.random(0), space.random(1)
    slope = ad.jvp(objective, (u,), (v,))[1]
    gradient = ad.grad(objective, space=space)(u)
    assert space.inner(gradient, v) == pytest.approx(slope, rel=1e-9)
    h = 1e-4
    central = (objective(u + h * v) - objective(u - h * v)) / (2 * h)
    assert slope == pytest.approx(central, rel=1e-8)
    exact = space.interpolate(lambda x: np.pi**2 * np.sin(np.pi * x))
    target = space.interpolate(lambda x, *_: np.sin(np.pi * x) + (x > 0.5))
    state = space.interpolate(lambda x: np.sin(np.pi * x))
    expected = example.half_square(space, state - target)
    expected = expected + example.ALPHA * example.half_square(space, exact)
    assert objective(exact) == pytest.approx(expected, rel=1e-3)
