"""Bundle adjustment: the Jacobians of 31 843 reprojection errors, by camera, point and weight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad
from benchmarks.compiled import SCALAR, by_hand
from benchmarks.machine import limit
from benchmarks.measure import Thunk
from benchmarks.peers import agreeing_medians, installed, jax_modules, jitted_by_jax
from benchmarks.table import Table, compared

CAMERAS, POINTS, ERRORS = 49, 7776, 31_843
BY_HAND = "NumPy by hand"


def rotated(rotation: Any, x: Any, xp: Any = np) -> Any:
    """Rodrigues' formula: x turned about the axis of `rotation` by its length."""
    angle = xp.sqrt(xp.sum(rotation * rotation))
    axis = rotation / angle
    turned = x * xp.cos(angle) + xp.cross(axis, x) * xp.sin(angle)
    return turned + axis * (xp.dot(axis, x) * (1 - xp.cos(angle)))


def projected(camera: Any, point: Any, xp: Any = np) -> Any:
    """Where a camera sees a point: rotation, centre, focal length, principal point, distortion."""
    p = rotated(camera[:3], point - camera[3:6], xp)
    x = p[:2] / p[2]
    square = xp.sum(x * x)
    stretch = 1 + camera[9] * square + camera[10] * square**2
    return camera[6] * (stretch * x) + camera[7:9]


def error(camera: Any, point: Any, weight: Any, feature: Any, xp: Any = np) -> Any:
    """The weighted distance from the feature in the picture."""
    return weight * (projected(camera, point, xp) - feature)


def errors_jacobian(
    cameras: Any, points: Any, camera_of: Any, point_of: Any, weights: Any, features: Any
) -> Any:
    """All of them, by camera, point and weight: what a user of this package writes."""
    jacobian = ad.jacobian(error, argnums=(0, 1, 2))
    return ad.vmap(jacobian)(cameras[camera_of], points[point_of], weights, features)


def jacobian_by_hand(
    cameras: Any, points: Any, camera_of: Any, point_of: Any, weights: Any, features: Any
) -> list[Any]:
    """All errors at once in NumPy, with the error as the last axis."""
    camera = cameras[camera_of].T
    p, by_point, by_rotation = _rotation_by_hand(camera[:3], points[point_of].T - camera[3:6])
    x = p[:2] / p[2]
    square = np.sum(x * x, 0)
    first, second = camera[9], camera[10]
    stretch = 1 + square * (first + square * second)
    outer = 2 * (first + 2 * second * square) * x[:, None] * x
    by_x = weights * camera[6] * (np.eye(2)[..., None] * stretch + outer)
    by_p = np.concatenate([by_x, -np.sum(by_x * x, 1, keepdims=True)], 1) / p[2]
    result = np.empty((2, 11, len(weights)))
    result[:, :3] = np.einsum("ijn,jkn->ikn", by_p, by_rotation)
    moved = np.einsum("ijn,jkn->ikn", by_p, by_point)
    result[:, 3:6] = -moved
    result[:, 6] = weights * stretch * x
    result[:, 7:9] = weights * np.eye(2)[..., None]
    result[:, 9] = weights * camera[6] * x * square
    result[:, 10] = result[:, 9] * square
    by_weight = camera[6] * stretch * x + camera[7:9] - features.T
    return [np.ascontiguousarray(np.moveaxis(each, -1, 0)) for each in (result, moved, by_weight)]


def _rotation_by_hand(r: Any, x: Any) -> tuple[Any, Any, Any]:
    """The rotated points, and their derivatives by the point and by the rotation vector."""
    square = np.sum(r * r, 0)
    angle = np.sqrt(square)
    cosine = np.cos(angle)
    a = np.sin(angle) / angle
    b = (1 - cosine) / square
    cross, dot = np.cross(r, x, axis=0), np.sum(r * x, 0)
    identity = np.eye(3)[..., None]
    along = -a * x + (cosine - a) / square * cross + (a - 2 * b) / square * dot * r
    by_point = cosine * identity + a * _skew(r) + b * r[:, None] * r
    by_rotation = along[:, None] * r - a * _skew(x) + b * (r[:, None] * x + dot * identity)
    return cosine * x + a * cross + b * dot * r, by_point, by_rotation


def _skew(r: Any) -> Any:
    zero = np.zeros_like(r[0])
    return np.array([[zero, -r[2], r[1]], [r[2], zero, -r[0]], [-r[1], r[0], zero]])


def problem() -> tuple[Any, ...]:
    """Cameras around the origin that look at points near it, of the size of the Ladybug set."""
    random = np.random.default_rng(0)
    cameras = np.empty((CAMERAS, 11))
    cameras[:, :3] = random.normal(0, 0.2, (CAMERAS, 3))
    cameras[:, 3:6] = random.normal(0, 0.3, (CAMERAS, 3)) - [0, 0, 6]
    cameras[:, 6] = random.uniform(400, 800, CAMERAS)
    cameras[:, 7:9] = random.normal(0, 5, (CAMERAS, 2))
    cameras[:, 9:] = random.normal(0, 0.05, (CAMERAS, 2))
    points = random.normal(0, 0.8, (POINTS, 3))
    camera_of = random.integers(0, CAMERAS, ERRORS)
    point_of = random.integers(0, POINTS, ERRORS)
    features = random.normal(0, 100, (ERRORS, 2))
    return cameras, points, camera_of, point_of, random.uniform(0.5, 1.5, ERRORS), features


def run() -> list[Table]:
    data = problem()
    jitted = ad.jit(errors_jacobian)
    shapes = [(ERRORS, 2, 11), (ERRORS, 2, 3), (ERRORS, 2)]
    candidates: dict[str, Thunk] = {
        BY_HAND: lambda: jacobian_by_hand(*data),
        **by_hand("bundle", [*data, ERRORS], shapes),
        "adjoint, un-jitted": lambda: errors_jacobian(*data),
        "adjoint with ad.jit": lambda: jitted(*data),
        **_jax(data),
    }
    times = agreeing_medians(candidates, jacobian_by_hand(*data), 1e-11, seconds=8.0)
    # Operations as in cpp/bundle.cpp; 30 numbers written, 5 read, cameras and points in a cache.
    bound = limit(flops=250 * ERRORS, moved=35 * 8 * ERRORS, exponentials=2 * ERRORS)
    others = [SCALAR, "JAX, vmap(jacrev)"]
    return [compared(times, BY_HAND, bound, others, title=f"{ERRORS} errors")]


def _jax(data: tuple[Any, ...]) -> dict[str, Thunk]:
    if not installed("jax"):
        return {}
    jax, xp = jax_modules()

    def whole(mode: Callable[..., Any]) -> Callable[..., Any]:
        def jacobians(c: Any, p: Any, i: Any, j: Any, w: Any, f: Any) -> Any:
            jacobian = mode(lambda c, p, w, f: error(c, p, w, f, xp), argnums=(0, 1, 2))
            return jax.vmap(jacobian)(c[i], p[j], w, f)

        return jacobians

    modes = {"jacfwd": jax.jacfwd, "jacrev": jax.jacrev}
    return {f"JAX, vmap({name})": jitted_by_jax(whole(mode), data) for name, mode in modes.items()}
