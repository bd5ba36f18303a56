"""Functions of matrices at the level of primitives: closed forms, adjoints, divided differences."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from adjoint import errors
from adjoint.primitives import PRIMITIVES
from adjoint.primitives.linear_algebra.spectra.divided_differences import Differences

RNG = np.random.default_rng(3)
BASIS = np.linalg.qr(RNG.normal(size=(4, 4)) + 1j * RNG.normal(size=(4, 4)))[0]
FRECHET, WEIGHTS = PRIMITIVES["frechet"], PRIMITIVES["frechet_weights"]
SPECTRA = {
    "simple": [0.5, 1.0, 1.7, 3.0],
    "degenerate": [1.0, 1.0, 1.0, 2.0],
    "nearly": [1.0, 1.0 + 1e-9, 1.0 + 1e-6, 2.0],
    "zero": [0.0, 0.0, 0.0, 0.0],
    "tiny": [0.0, 1e-12, 2e-12, 1e-12],
}


def cube(values: Any) -> list[Any]:
    return [values**3, 3 * values**2, 6 * values, 6 + 0 * values]


def directions(count: int) -> list[Any]:
    drawn = RNG.normal(size=(count, 4, 4)) + 1j * RNG.normal(size=(count, 4, 4))
    return [each + each.conj().T for each in drawn]


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("name", SPECTRA)
def test_the_derivatives_of_the_cube_are_sums_over_all_orders_of_the_factors(
    name: str, order: int
) -> None:
    values = np.array(SPECTRA[name])
    a = (BASIS * values) @ BASIS.conj().T
    along = directions(order)
    found = FRECHET.evaluate(values, BASIS, a, *cube(values), *cube(values), *along, lower=True)
    factors = [a] * (3 - order) + along
    products = [x @ y @ z for x, y, z in permutations(factors)]
    repeated = [1, 1, 2, 6][3 - order]
    np.testing.assert_allclose(found, sum(products) / repeated, atol=1e-12)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("name", ["simple", "degenerate"])
def test_frechet_and_its_weights_are_transposes(name: str, order: int) -> None:
    values = np.array(SPECTRA[name])
    g = [np.repeat(RNG.normal(size=2), [3, 1]) for _ in range(4)]  # equal in the cluster
    along, (w,) = directions(order), directions(1)
    given = (values, BASIS, BASIS, *cube(values))
    forward = FRECHET.evaluate(*given, *g, *along, lower=True)
    back = WEIGHTS.evaluate(*given, *along, w, lower=True)
    left = np.vdot(w, forward).real
    right = sum(x @ y for x, y in zip(back, g, strict=True))
    np.testing.assert_allclose(left, right, rtol=1e-10)


def test_a_function_that_differs_in_a_cluster_is_refused_by_the_numbers_of_the_pair() -> None:
    values = np.array([1.0, 1.0, 2.0, 3.0])
    cut = [np.array([1.0, 0, 0, 0]), *(np.zeros(4) for _ in range(3))]
    with pytest.raises(errors.DegenerateError, match=r"Numbers 0 and 1 coincide \(1 and 1\)"):
        FRECHET.evaluate(values, BASIS, BASIS, *cut, *cut, *directions(1), lower=True)


def test_differences_keep_their_digits_between_all_kinds_of_nodes() -> None:
    nodes = np.array([0.0, 1e-17, 1e-12, 1e-8, 1e-4, 1e-2, 1.0, 1.0 + 1e-9])
    g = [np.expm1(nodes), *(np.exp(nodes) for _ in range(3))]
    i, j = np.indices((8, 8))
    found = Differences(nodes, g, g).matrix()
    gap, middle = (nodes[j] - nodes[i]) / 2, (nodes[j] + nodes[i]) / 2
    exact = np.exp(middle) * np.where(gap == 0, 1, np.sinh(gap) / np.where(gap == 0, 1, gap))
    np.testing.assert_allclose(found, exact, rtol=1e-11)


def test_differences_across_a_jump_are_quotients() -> None:
    nodes = np.array([1.0, 1.0 + 1e-4, 2.0])
    step = [np.array([0.0, 1.0, 1.0]), *(np.zeros(3) for _ in range(3))]
    found = Differences(nodes, step, step).matrix()
    np.testing.assert_allclose(found[0, 1], 1e4, rtol=1e-10)
    np.testing.assert_allclose(found[0, 2], 1.0)


def test_orders_beyond_the_known_ones_are_refused_where_nodes_coincide() -> None:
    nodes = np.ones(5)
    g = [np.ones(5)] * 4
    with pytest.raises(errors.DegenerateError, match="orders up to 3"):
        Differences(nodes, g, g).at(*np.arange(5)[:, None])
