"""Whether an equation holds is decided in its own units (E.1.69): of f, of y, and of both mixed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import NotConvergedError

implicit = ad.implicit
SOLVERS = [None, implicit.Newton(), implicit.Anderson(), implicit.Iteration()]
UNITS = [1e-20, 1e-12, 1e-8, 1.0, 1e8, 1e12]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("unit", UNITS)
def test_a_small_unknown_is_found_as_exactly_as_a_large_one(unit: float, solver: Any) -> None:
    """y = s cos(x y / s) is s times that of s = 1 (E.1.71), and so is its derivative."""

    def scaled(x: Any) -> Any:
        return implicit.fixed_point(lambda y, x: unit * np.cos(y / unit * x), 0.0, x, solver=solver)

    y = 0.7390851332151607
    assert np.isclose(scaled(1.0) / unit, y, rtol=1e-10, atol=0)
    slope = -y * np.sin(y) / (1 + np.sin(y))
    assert np.isclose(ad.grad(scaled)(1.0) / unit, slope, rtol=1e-9, atol=0)
    batch = ad.vmap(scaled)(np.array([1.0, 0.5]))
    assert np.isclose(batch[0] / unit, y, rtol=1e-10, atol=0)


@pytest.mark.parametrize("unit", UNITS)
def test_what_is_careless_is_refused_in_every_unit(unit: float) -> None:
    """An error of 5e-4 of y, in f and in y alike."""

    def cube(y: Any, x: Any) -> Any:
        return (y / unit) ** 3 + y / unit - x

    with pytest.raises(NotConvergedError):
        implicit.function(cube)(lambda x: 2.001 * unit)(10.0)
    found = implicit.function(cube)(lambda x: 2.0 * unit)
    assert np.isclose(ad.grad(found)(10.0) * 13, unit, rtol=1e-9, atol=0)


def mixed(y: Any, x: Any) -> Any:
    """Unknowns of 1e9 and of 1e-9, and equations of 1 and of 1e6."""
    return np.array([y[0] / 1e9 - x[0], 1e6 * ((y[1] * 1e9) ** 3 + y[1] * 1e9 - x[1])])


def test_unknowns_and_equations_of_mixed_units() -> None:
    """The small one is solved for too, and none hides behind the large one."""
    x = np.array([2.0, 10.0])
    found = implicit.root(mixed, np.array([1.0, 0.0]), x)
    assert np.allclose(found, [2e9, 2e-9], rtol=1e-10, atol=0)
    jacobian = ad.jacobian(lambda x: implicit.root(mixed, np.array([1.0, 0.0]), x))(x)
    assert np.allclose(np.diag(jacobian), [1e9, 1e-9 / 13], rtol=1e-10, atol=0)
    for wrong in ([2e9, 2.001e-9], [2.001e9, 2e-9]):
        with pytest.raises(NotConvergedError):
            implicit.function(mixed)(lambda x, y=wrong: np.array(y))(x)


def test_a_solution_that_is_zero() -> None:
    """Of equations that zero solves, of data that are zero, and only up to rounding."""
    for solver in SOLVERS:
        contraction = lambda y: 0.5 * np.tanh(y)  # noqa: E731
        y = implicit.fixed_point(contraction, np.ones(3), solver=solver)
        assert np.allclose(y, 0, atol=1e-10)
    slope = ad.grad(lambda x: implicit.root(lambda y, x: y**3 + y - x, 1.0, x))(0.0)
    assert np.isclose(slope, 1.0)
    nearly = implicit.function(lambda y, x: y**3 + y - x)(lambda x: 1e-14)
    assert np.isclose(ad.grad(nearly)(0.0), 1.0)
    around = implicit.root(lambda y: np.sin(y + np.pi), 0.1)  # sin(pi) is 1.2e-16
    assert abs(around) < 1e-15
    mixture = implicit.root(
        lambda y, x: np.stack([y[0] - x, np.tanh(y[1]) * y[0]]), np.ones(2), 3.0
    )
    assert np.allclose(mixture, [3.0, 0.0], atol=1e-12)


def test_complex_entries_are_measured_whole() -> None:
    """The imaginary part of y^2 = 4 is rounding alone."""
    found = implicit.root(lambda y, z: y**2 - z, np.array(1 + 0.3j), 4 + 0j)
    assert np.isclose(found, 2)
    nearly = implicit.function(lambda y, z: y**2 - z)(lambda z: np.array(2 + 1e-15j))
    assert np.isclose(nearly(4 + 0j), 2)
    with pytest.raises(NotConvergedError):
        implicit.function(lambda y, z: y**2 - z)(lambda z: np.array(2 + 1e-3j))(4 + 0j)


def test_single_precision_has_tolerances_of_its_own() -> None:
    """The operands are moved in their own type."""
    x = np.array([1e-10, 2e10], np.float32)
    found = implicit.root(lambda y, x: y**3 / x**2 + y - 2 * x, x, x)
    assert found.dtype == np.float32
    assert np.allclose(found, x, rtol=1e-5, atol=0)
