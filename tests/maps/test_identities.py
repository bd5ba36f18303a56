"""The checkers must find faults: each is shown things that are wrong by one part in a thousand."""

from __future__ import annotations

import numpy as np
import pytest

from adjoint.base.errors import MissingTransposeError
from adjoint.maps import LinearMap, adjoint_error, linearity_error, space_error, zero
from adjoint.spaces import Euclidean, Weighted
from tests.spaces.strategies import positive_matrix

A = np.random.default_rng(0).standard_normal((4, 3))
X = Weighted(Euclidean(3), positive_matrix(3, 0))
Y = Weighted(Euclidean(4), positive_matrix(4, 1))


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e100])
@pytest.mark.parametrize("seed", range(5))
def test_a_transpose_wrong_by_a_thousandth_is_found_at_every_scale(seed, scale):
    wrong = A.T.copy()
    wrong[1, 2] *= 1.001
    right_map = LinearMap(X, Y, lambda u: scale * (A @ u), lambda c: scale * (A.T @ c))
    wrong_map = LinearMap(X, Y, lambda u: scale * (A @ u), lambda c: scale * (wrong @ c))
    assert adjoint_error(right_map, seed) < 1e-14
    assert adjoint_error(wrong_map, seed) > 1e-7


def test_an_adjoint_wrong_by_a_thousandth_altogether_is_found():
    wrong_map = LinearMap(X, X, lambda u: u, lambda c: 1.001 * c)
    assert max(adjoint_error(wrong_map, seed) for seed in range(5)) > 1e-4


def test_nan_is_infinitely_wrong():
    broken = LinearMap(X, X, lambda u: u * np.nan, lambda c: c)
    assert adjoint_error(broken) == np.inf
    assert linearity_error(broken) == np.inf


def test_zero_maps_are_right():
    assert adjoint_error(zero(X, Y)) == 0.0
    assert linearity_error(zero(X, Y)) == 0.0


@pytest.mark.parametrize(
    "function", [lambda u: u + 1e-3, lambda u: u + 1e-3 * np.abs(u), lambda u: u * u]
)
def test_nonlinear_functions_are_found(function):
    errors = [linearity_error(LinearMap(X, X, function), seed) for seed in range(5)]
    assert max(errors) > 1e-5


def test_missing_transpose_is_told():
    with pytest.raises(MissingTransposeError):
        adjoint_error(LinearMap(X, X, lambda u: u))


@pytest.mark.parametrize("method", ["_riesz", "_represent"])
def test_a_wrong_riesz_map_is_found(method, monkeypatch):
    right = getattr(Weighted, method)
    monkeypatch.setattr(Weighted, method, lambda self, x: 1.001 * right(self, x))
    assert space_error(X) > 1e-5


def test_an_asymmetric_inner_product_is_found(monkeypatch):
    skew = np.array([[1.0, 0.001, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    monkeypatch.setattr(Weighted, "_riesz", lambda self, x: skew @ x)
    monkeypatch.setattr(Weighted, "_represent", lambda self, c: np.linalg.solve(skew, c))
    assert max(space_error(X, seed) for seed in range(3)) > 1e-6


def test_a_wrong_sign_is_found(monkeypatch):
    monkeypatch.setattr(Weighted, "_riesz", lambda self, x: -x)
    monkeypatch.setattr(Weighted, "_represent", lambda self, c: -c)
    assert space_error(X) == np.inf


def test_wrong_coordinates_are_found(monkeypatch):
    monkeypatch.setattr(Weighted, "_coordinates", lambda self, x: 1.001 * x)
    assert space_error(X) > 1e-5
