"""The examples of whole programs: what they find, and that all ways to their derivatives agree."""

from __future__ import annotations

import runpy
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.architecture.modules import ROOT


def example(name: str) -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "examples" / f"{name}.py"))


def slope(function: Any, x: Any, direction: Any, step: float = 1e-5) -> Any:
    return (function(x + step * direction) - function(x - step * direction)) / (2 * step)


def test_an_epidemic_of_a_class_with_state() -> None:
    names = example("epidemic")
    loss, (point,) = names["epidemic"], names["inputs"]
    direction = np.array([0.3, -1.0, 0.5])
    value, gradient = ad.value_and_grad(loss)(point)
    assert value == pytest.approx(loss(point))
    assert gradient @ direction == pytest.approx(slope(loss, point, direction), rel=1e-6)
    truth = np.log([0.4, 0.1, 0.001])
    assert loss(truth) < 2 * 0.03**2 < value


def test_a_particle_in_all_four_modes() -> None:
    names = example("particle")
    particle, forward = names["particle"], names["forward"]
    found = [
        outer(lambda w, inner=inner: particle(w, inner))(0.3)
        for outer in (forward, ad.grad)
        for inner in (forward, ad.grad)
    ]
    np.testing.assert_allclose(found, slope(particle, 0.3, 1.0), rtol=1e-6)
    assert np.ptp(found) < 1e-12 * abs(found[0])


def test_the_local_energy_of_helium() -> None:
    names = example("local_energy")
    (r,) = names["inputs"]
    # By differences of log ψ, in all six coordinates.
    step, psi = 1e-4, lambda r: names["log_psi"](r, names["START"])
    units = step * np.eye(6).reshape(6, 2, 3)
    slopes = np.array([(psi(r + u) - psi(r - u)) / (2 * step) for u in units])
    laplacian = sum((psi(r + u) - 2 * psi(r) + psi(r - u)) / step**2 for u in units)
    expected = -(laplacian + slopes @ slopes) / 2 + names["potential"](r)
    assert names["local_energy"](r) == pytest.approx(expected, rel=1e-5)
    # Without a Jastrow factor and without repulsion, two hydrogen-like electrons have -4 each.
    single = names["log_psi"](r, np.array([2.0, 50.0, 0.0]))
    assert single == pytest.approx(-2 * np.sum(np.linalg.norm(r, axis=1)))
    (first, start), *_, (last, end) = names["descent"](steps=12, walkers=200)
    assert np.std(end) < np.std(start)
    assert np.mean(end) == pytest.approx(names["EXACT"], abs=0.12)
    assert not np.allclose(first, last)


def test_the_gradient_of_an_alignment_is_a_flow_from_corner_to_corner() -> None:
    names = example("alignment")
    distances = np.subtract.outer(names["SHORT"][::4], names["LONG"][::4]) ** 2
    gradient = ad.jit(ad.grad(names["cost"]))
    flow = gradient(distances)
    direction = np.cos(np.arange(distances.size)).reshape(distances.shape)
    assert np.vdot(flow, direction) == pytest.approx(slope(names["cost"], distances, direction))
    assert flow[0, 0] == pytest.approx(1.0)
    assert flow[-1, -1] == pytest.approx(1.0)
    assert np.all(flow > 0)
    assert np.all(flow.sum(axis=0) >= 1 - 1e-12)  # every column is passed


def test_a_reaction_whose_jacobian_is_sparse() -> None:
    names = example("reaction")
    side, state = 5, names["start"](5)
    jacobian = ad.jacobian(names["rates"], argnums=1, sparse=True)(0.5, state, side)
    assert jacobian.nnz == 6 * state.size
    direction = np.cos(np.arange(state.size))
    moved = slope(lambda y: names["rates"](0.5, y, side), state, direction)
    np.testing.assert_allclose(jacobian @ direction, moved, rtol=1e-6, atol=1e-6)
    solution = names["solved"](side, [names["END"]])
    assert solution.success
    assert solution.njev < 30


def test_the_conductivity_of_a_block_by_two_solves() -> None:
    names = example("conductivity")
    truth, data = names["problem"](6)
    point = 0.1 * np.cos(np.arange(truth.size))
    direction = np.sin(np.arange(truth.size))
    value, gradient = ad.value_and_grad(names["misfit"])(point, *data)
    assert value == pytest.approx(names["misfit"](point, *data))
    difference = slope(lambda m: names["misfit"](m, *data), point, direction, 1e-4)
    assert gradient @ direction == pytest.approx(difference, rel=1e-5)
    truth, found, history = names["reconstruction"](6, 40)
    assert history[-1] < 0.01 * history[0]
    assert np.linalg.norm(found - truth) < 0.7 * np.linalg.norm(truth - truth.mean())


def test_the_evidence_of_a_gaussian_process() -> None:
    names = example("gaussian_process")
    times, _, values = names["data"](40)
    point = np.array([0.3, -1.5])

    def dense(parameters: Any) -> Any:
        """The values themselves are Gaussian: their covariance, written out."""
        log_motion, log_noise = parameters
        prior = np.linalg.inv(names["precision"](log_motion, times).toarray())
        covariance = prior[::2, ::2] + np.exp(log_noise) * np.eye(len(times))
        _, logarithm = np.linalg.slogdet(covariance)
        return -(values @ np.linalg.solve(covariance, values) + logarithm) / 2

    evidence = names["evidence"]
    assert evidence(point, times, values) == pytest.approx(dense(point), rel=1e-7)
    gradient = ad.grad(evidence)(point, times, values)
    np.testing.assert_allclose(gradient, ad.grad(dense)(point), rtol=1e-5)
    hessian = ad.hessian(evidence)(point, times, values)
    np.testing.assert_allclose(hessian, ad.hessian(dense)(point), rtol=1e-4)
    result = names["fitted"](times, values)
    assert np.linalg.norm(result.jac) < 1e-3
