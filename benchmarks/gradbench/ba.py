"""The eval ba: reprojection errors, and their sparse Jacobian in compressed rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import adjoint as ad
from benchmarks.bundle import error
from benchmarks.gradbench.functions import Function, Input, Module, listed


class Compressed(NamedTuple):
    """A sparse matrix: where each row begins, the columns of its entries, and their values."""

    rows: Any
    cols: Any
    vals: Any


def weight_error(weight: Any) -> Any:
    return 1 - weight**2


def errors(cameras: Any, points: Any, weights: Any, observed: Any, features: Any) -> Any:
    """The reprojection errors, two an observation, and those of the weights."""
    seen, by = points[observed[:, 1]], cameras[observed[:, 0]]
    return ad.vmap(error)(by, seen, weights, features).ravel(), weight_error(weights)


def jacobian(cameras: Any, points: Any, weights: Any, observed: Any, features: Any) -> Any:
    """By cameras, points and weights, the rows of the weights' errors last."""
    seen, by = points[observed[:, 1]], cameras[observed[:, 0]]
    blocks = ad.vmap(ad.jacobian(error, argnums=(0, 1, 2)))(by, seen, weights, features)
    by_camera, by_point, by_weight = blocks
    values = np.concatenate([by_camera, by_point, by_weight[..., None]], axis=2)
    slopes = ad.vmap(ad.grad(weight_error))(weights)
    vals = np.concatenate([values.ravel(), slopes])
    return Compressed(*pattern(len(cameras), len(points), observed), vals)


def pattern(cameras: int, points: int, observed: Any) -> tuple[Any, Any]:
    """The starts of the rows, and the columns: 11 of a camera, 3 of a point and a weight each."""
    count = len(observed)
    weights = 11 * cameras + 3 * points + np.arange(count)
    of_cameras = 11 * observed[:, :1] + np.arange(11)
    of_points = 11 * cameras + 3 * observed[:, 1:] + np.arange(3)
    columns = np.concatenate([of_cameras, of_points, weights[:, None]], axis=1)
    cols = np.concatenate([np.repeat(columns, 2, axis=0).ravel(), weights])
    rows = np.concatenate([15 * np.arange(2 * count + 1), 30 * count + 1 + np.arange(count)])
    return rows, cols


def _observations(given: Input) -> tuple[Any, ...]:
    """One camera, point, weight and feature, as often as the input says."""
    n, m, p = (int(given[name]) for name in "nmp")
    observed = np.stack([np.arange(p) % n, np.arange(p) % m], axis=1)
    cameras, points = np.tile(given["cam"], (n, 1)), np.tile(given["x"], (m, 1))
    return cameras, points, np.full(p, float(given["w"])), observed, np.tile(given["feat"], (p, 1))


def _first_error(found: Any) -> Any:
    reprojections, weights = found
    return {
        "reproj_error": {"elements": listed(reprojections[:2]), "repeated": len(weights)},
        "w_err": {"element": float(weights[0]), "repeated": len(weights)},
    }


def _shortened(matrix: Compressed) -> Any:
    """The first 30 entries and the last of each of the three lists."""
    return {name: [*listed(each[:30]), each[-1].item()] for name, each in matrix._asdict().items()}


BA: Module = {
    "objective": Function(_observations, ad.jit(errors), _first_error),
    "jacobian": Function(_observations, ad.jit(jacobian), _shortened),
}
