"""The evals in JAX, as one would write them there: `lax` where loops are long, nothing in place.

Each takes the arguments of the tool's function. JAX has no reverse mode through loops that end by
values, so that `particle` and `saddle` are forward outside. There is no `det`: XLA takes minutes
for the recursion even where equal minors are computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarks.bundle import error
from benchmarks.descents import jaxs, particle, saddle
from benchmarks.kmeans import by_products
from benchmarks.logsumexp import logsumexp
from benchmarks.lstm import character
from benchmarks.mixture import posterior
from benchmarks.peers import jax_modules
from benchmarks.rk4 import step


def derivatives() -> Mapping[str, Callable[..., Any]]:
    """The functions that are timed, by name, not yet jitted."""
    jax, xp = jax_modules()
    return {
        "llsq": lambda x, n: jax.grad(partial(misses, n=n, xp=xp))(x),
        "lse": jax.grad(lambda x: logsumexp(x, xp)),
        "ode": lambda x, s: jax.grad(partial(last, s=s))(x),
        "gmm": jax.grad(mixture),
        "kmeans": direction,
        "lstm": jax.grad(network),
        "ba": adjustment,
        "ht": tracking,
        **{f"particle {modes}": _nested(particle, modes) for modes in ("ff", "fr")},
        **{f"saddle {modes}": _nested(saddle, modes) for modes in ("ff", "fr")},
    }


def misses(x: Any, n: int, xp: Any) -> Any:
    t = xp.linspace(-1.0, 1.0, n)
    away = xp.polyval(x[::-1], t) - xp.sign(t)
    return 0.5 * xp.sum(away**2)


def last(x: Any, s: int) -> Any:
    jax, xp = jax_modules()

    def body(y: Any, _: Any) -> Any:
        return step(x, y, 2.0 / s, xp), None

    return jax.lax.scan(body, xp.zeros(len(x)), None, length=s)[0][-1]


def mixture(parameters: Any, x: Any, gamma: float, m: int) -> Any:
    """Without the constant, which has no slope."""
    _, xp = jax_modules()
    alpha, mu, q, below = parameters
    columns, rows = np.triu_indices(x.shape[1], 1)
    return posterior(alpha, mu, q, below, (rows, columns), x, xp, gamma, m)


def direction(centroids: Any, points: Any) -> Any:
    jax, xp = jax_modules()
    gradient = jax.grad(lambda c: by_products(c, points, xp))
    return xp.divide(*jax.jvp(gradient, (centroids,), (xp.ones_like(centroids),)))


def network(parameters: Any, sequence: Any, state: Any) -> Any:
    jax, xp = jax_modules()
    main, extra = parameters
    bits = extra.shape[1]
    layers = main.reshape(-1, 2, 4, bits)

    def body(state: Any, pair: Any) -> Any:
        now, following = pair
        return character((layers, extra), state, now, following, xp)

    initial = [tuple(each) for each in state.reshape(-1, 2, bits)]
    likelihoods = jax.lax.scan(body, initial, (sequence[:-1], sequence[1:]))[1]
    return -xp.sum(likelihoods) / sequence[1:].size


def adjustment(cameras: Any, points: Any, weights: Any, observed: Any, features: Any) -> Any:
    jax, xp = jax_modules()
    jacobian = jax.vmap(jax.jacrev(lambda c, p, w, f: error(c, p, w, f, xp), argnums=(0, 1, 2)))
    by_camera, by_point, by_weight = jacobian(
        cameras[observed[:, 0]], points[observed[:, 1]], weights, features
    )
    values = xp.concatenate([by_camera, by_point, by_weight[..., None]], axis=2)
    slopes = jax.vmap(jax.grad(lambda w: 1 - w**2))(weights)
    count, before = len(weights), 11 * len(cameras)
    own = before + 3 * len(points) + xp.arange(count)
    of_cameras = 11 * observed[:, :1] + xp.arange(11)
    of_points = before + 3 * observed[:, 1:] + xp.arange(3)
    columns = xp.concatenate([of_cameras, of_points, own[:, None]], axis=1)
    cols = xp.concatenate([xp.repeat(columns, 2, axis=0).ravel(), own])
    rows = xp.concatenate([15 * xp.arange(2 * count + 1), 30 * count + 1 + xp.arange(count)])
    return rows, cols, xp.concatenate([values.ravel(), slopes])


def _nested(function: Any, modes: str) -> Callable[[Any], Any]:
    return lambda start: function(start, modes, jaxs())


# --- ht -------------------------------------------------------------------------------------------


def tracking(
    theta: Any, us: Any, hand: Any, parents: Any, mirrored: Any, corners: Any, points: Any
) -> Any:
    jax, xp = jax_modules()

    def away(shift: Any, theta: Any) -> Any:
        places = vertices(theta, hand, parents, mirrored)[corners]
        if len(us) == 0:
            return (points - places[:, 0]).ravel()
        u = us + shift
        shares = xp.stack([u[:, 0], u[:, 1], 1 - u[:, 0] - u[:, 1]], axis=1)
        return (points - xp.sum(shares[..., None] * places, axis=1)).ravel()

    if len(us) == 0:
        return jax.jacfwd(away, argnums=1)(0.0, theta)
    return xp.concatenate(jax.jacfwd(away, argnums=(0, 1))(xp.zeros(2), theta), axis=1)


def vertices(theta: Any, hand: Any, parents: Any, mirrored: bool) -> Any:
    _, xp = jax_modules()
    relatives = hand.relatives @ turned(joint_angles(theta, len(parents)))
    absolutes: list[Any] = []
    for relative, parent in zip(relatives, parents, strict=True):
        absolutes.append(relative if parent < 0 else absolutes[parent] @ relative)
    motions = xp.stack(absolutes) @ hand.inverses
    blended = xp.tensordot(hand.weights, motions[:, :3], 1)
    places = (blended @ hand.positions[:, :, None])[..., 0]
    if mirrored:
        places = places * xp.array([-1.0, 1.0, 1.0])
    return places @ rotation(theta[:3]).T + theta[3:6]


def joint_angles(theta: Any, bones: int) -> Any:
    _, xp = jax_modules()
    fingers = theta[6:].reshape(5, 4)
    joints = xp.zeros((5, 4, 3))
    joints = joints.at[:, 1:, 0].set(fingers[:, np.array([0, 2, 3])])
    joints = joints.at[:, 1, 1].set(fingers[:, 1])
    return xp.zeros((bones, 3)).at[1:21].set(joints.reshape(20, 3))


def turned(angles: Any) -> Any:
    _, xp = jax_modules()
    (cx, cz, cy), (sx, sz, sy) = xp.cos(angles).T, xp.sin(angles).T
    zero, one = xp.zeros_like(cx), xp.ones_like(cx)
    rows = [
        [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx, zero],
        [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx, zero],
        [-sy, cy * sx, cy * cx, zero],
        [zero, zero, zero, one],
    ]
    return xp.moveaxis(xp.array(rows), 2, 0)


def rotation(vector: Any) -> Any:
    _, xp = jax_modules()
    angle = xp.sqrt(xp.sum(vector**2))
    x, y, z = vector / angle
    across = xp.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    along = xp.outer(vector, vector) / angle**2
    return xp.cos(angle) * xp.eye(3) + xp.sin(angle) * across + (1 - xp.cos(angle)) * along
