"""`scipy.spatial.distance`, and Rosenbrock's function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize, spatial
from scipy.spatial import distance

import adjoint as ad
from adjoint.scipy.spatial.distances import METRICS
from tests.scipy.comparing import agrees

RNG = np.random.default_rng(4)
ONE, OTHER = RNG.standard_normal((4, 3)), RNG.standard_normal((5, 3))
WEIGHTS = np.array([0.2, 0.5, 1.0])
OPTIONS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in METRICS),
    *((name, {"w": WEIGHTS}) for name in METRICS if name not in ("seuclidean", "mahalanobis")),
    ("minkowski", {"p": 1.5}),
    ("minkowski", {"p": np.inf}),
    ("seuclidean", {"V": WEIGHTS}),
    ("mahalanobis", {"VI": np.diag(WEIGHTS)}),
]


@pytest.mark.parametrize(("metric", "options"), OPTIONS)
def test_distances(metric: str, options: dict[str, Any]) -> None:
    def of_two(a: Any, b: Any) -> Any:
        return distance.cdist(a, b, metric, **options)

    def of_pairs(a: Any) -> Any:
        return distance.pdist(a, metric, **options)

    agrees(of_two, ONE, OTHER)
    agrees(of_pairs, OTHER)
    np.testing.assert_allclose(
        ad.jit(of_two)(ONE, OTHER), of_two(ONE, OTHER), rtol=1e-12, atol=1e-15
    )
    np.testing.assert_allclose(ad.jit(of_pairs)(OTHER), of_pairs(OTHER), rtol=1e-12)
    batched = ad.vmap(of_pairs)(np.stack([OTHER, OTHER]))
    np.testing.assert_allclose(batched[1], of_pairs(OTHER), rtol=1e-12)
    if options or metric not in ("seuclidean", "mahalanobis"):
        agrees(lambda u, v: getattr(distance, metric)(u, v, **options), ONE[0], OTHER[0])


def test_a_point_has_no_distance_from_itself() -> None:
    for metric, options in (("euclidean", {}), ("minkowski", {"p": 3}), ("mahalanobis", {})):
        slopes = ad.grad(lambda a, m=metric, o=options: distance.cdist(a, a, m, **o).sum())(OTHER)
        assert np.isfinite(slopes).all()


def test_refusals() -> None:
    for metric in ("jaccard", lambda u, v: np.sum(np.abs(u - v))):
        with pytest.raises(ad.errors.UnsupportedFunctionError):
            ad.grad(lambda a, m=metric: distance.pdist(a, m).sum())(ONE)


def test_rosenbrock() -> None:
    x, p = RNG.standard_normal((2, 4))
    for function in (optimize.rosen, optimize.rosen_der, optimize.rosen_hess):
        agrees(function, x)
        np.testing.assert_allclose(ad.jit(function)(x), function(x), rtol=1e-12)
    agrees(optimize.rosen_hess_prod, x, p)
    agrees(optimize.rosen, x.reshape(2, 2))
    np.testing.assert_allclose(ad.grad(optimize.rosen)(x), optimize.rosen_der(x), rtol=1e-12)


POINTS = np.random.default_rng(3).uniform(size=(20, 3))
TREE = spatial.KDTree(POINTS)
PLACES = np.array([[0.3, 0.4, 0.5], [0.9, 0.1, 0.2]])
NEAREST: dict[str, Any] = {
    "one": lambda x: TREE.query(x)[0],
    "some": lambda x: TREE.query(x, 3)[0],
    "chosen": lambda x: TREE.query(x, [2, 4])[0],
    "compiled tree": lambda x: spatial.cKDTree(POINTS).query(x, 2)[0],
    "taxicab": lambda x: TREE.query(x, 2, p=1)[0],
    "largest": lambda x: TREE.query(x, 2, p=np.inf)[0],
    "few": lambda x: np.minimum(TREE.query(x, 5, distance_upper_bound=0.3)[0], 1.0),
    "values there": lambda x: POINTS[TREE.query(x)[1]] * x,
}


@pytest.mark.parametrize("name", NEAREST)
def test_the_nearest_points(name: str) -> None:
    agrees(NEAREST[name], PLACES)


def test_the_nearest_points_are_looked_for_at_each_call() -> None:
    compiled = ad.jit(ad.grad(lambda x: TREE.query(x)[0].sum()))
    for places in (PLACES, PLACES[::-1] + 0.1, PLACES):
        _, nearest = TREE.query(places)
        steps = places - POINTS[nearest]
        expected = steps / np.linalg.norm(steps, axis=1, keepdims=True)
        np.testing.assert_allclose(compiled(places), expected)


def test_what_a_tree_counts_has_no_derivative() -> None:
    with pytest.raises(ad.errors.UnsupportedFunctionError, match=r"KDTree\.query_ball_point"):
        ad.grad(lambda x: x.sum() * len(TREE.query_ball_point(x, 0.2)))(PLACES[0])
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="made of constant points"):
        ad.grad(lambda x: spatial.KDTree(x).query(np.zeros(3))[0])(POINTS)
