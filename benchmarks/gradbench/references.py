"""What each function of an eval should give, number by number, from the definitions.

Nothing here is shared with the tool. Functions take complex numbers, and derivatives are imaginary
parts after a step along the imaginary axis, which loses no digits.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import multigammaln

from benchmarks.gradbench.functions import Input

_STEP = 1e-40


def slopes(function: Callable[[Any], Any], x: Any) -> Any:
    """The derivatives of a function of a vector, by each of its numbers, along the last axis."""
    x = np.array(x, dtype=complex)
    units = _STEP * 1j * np.eye(len(x))
    return np.stack([np.imag(function(x + unit)) / _STEP for unit in units], axis=-1)


def llsq(x: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        t = -1 + 2 * i / (n - 1)
        total += (np.sign(t) - sum(each * t**j for j, each in enumerate(x))) ** 2
    return 0.5 * total


def lse(x: Any) -> Any:
    high = max(each.real for each in x)
    return high + cmath.log(sum(cmath.exp(each - high) for each in x))


def ode(x: Any, s: int) -> Any:
    """Runge and Kutta's method with s steps, to t = 2."""

    def rate(y: Any) -> Any:
        return np.array([x[0], *(x[i] * y[i - 1] for i in range(1, len(x)))])

    y, h = np.zeros(len(x)), 2 / s
    for _ in range(s):
        a = h * rate(y)
        b = h * rate(y + a / 2)
        c = h * rate(y + b / 2)
        y = y + (a + 2 * b + 2 * c + h * rate(y + c)) / 6
    return y


def _det(given: Input) -> tuple[Any, Any]:
    matrix = np.reshape(given["A"], (given["ell"], given["ell"]))
    value = np.linalg.det(matrix)
    return value, (value * np.linalg.inv(matrix).T).ravel()


def gmm(given: Input, unknown: Any) -> Any:
    """The logarithm of likelihood and prior, by the densities of Gauss and Wishart."""
    d, k, m, gamma = (given[name] for name in ("d", "k", "m", "gamma"))
    alpha, mu, q, entries = _parts(unknown, [(k,), (k, d), (k, d), (k, d * (d - 1) // 2)])
    total = 0.0
    densities = np.zeros((len(given["x"]), k), dtype=complex)
    for c in range(k):
        factor = np.diag(np.exp(q[c]))
        places = [(i, j) for j in range(d) for i in range(j + 1, d)]
        for (i, j), entry in zip(places, entries[c], strict=True):
            factor[i, j] = entry
        precision = factor.T @ factor
        root = np.sqrt(np.linalg.det(precision) / (2 * math.pi) ** d)
        for i, point in enumerate(given["x"]):
            away = point - mu[c]
            densities[i, c] = root * np.exp(-0.5 * away @ precision @ away)
        freedom = d + m + 1
        total += 0.5 * m * np.log(np.linalg.det(precision)) - 0.5 * gamma**2 * np.trace(precision)
        total += freedom * d * (math.log(gamma) - 0.5 * math.log(2)) - multigammaln(freedom / 2, d)
    shares = np.exp(alpha) / np.sum(np.exp(alpha))
    return total + np.sum(np.log(densities @ shares))


def _parts(values: Any, shapes: list[tuple[int, ...]]) -> list[Any]:
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    pieces = np.split(np.asarray(values), ends[:-1])
    return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]


def _mixture_slopes(given: Input) -> Any:
    names = ("alpha", "mu", "q", "l")
    values = [np.array(given[name]) for name in names]
    unknown = np.concatenate([each.ravel() for each in values])
    found = _parts(slopes(lambda x: gmm(given, x), unknown), [each.shape for each in values])
    return dict(zip(names, found, strict=True))


def _nearest(given: Input) -> Any:
    points, centroids = np.array(given["points"]), np.array(given["centroids"])
    return np.array([[np.sum((p - c) ** 2) for c in centroids] for p in points]), points, centroids


def _direction(given: Input) -> Any:
    """From a centroid to where its points are in the middle, backwards."""
    squares, points, centroids = _nearest(given)
    owner = np.argmin(squares, 1)
    return [c - np.mean(points[owner == j], 0) for j, c in enumerate(centroids)]


def lstm(given: Input, unknown: Any) -> Any:
    """The loss, one number at a time."""
    sequence, bits = given["sequence"], len(given["sequence"][0])
    main = np.reshape(unknown[: -3 * bits], (-1, 2, 4, bits))
    extra = np.reshape(unknown[-3 * bits :], (3, bits))
    state = np.array(given["state"], dtype=complex).reshape(-1, 2, bits)
    total: Any = 0.0
    for now, following in pairwise(sequence):
        predicted = np.zeros(bits, dtype=complex)
        for i in range(bits):
            x = now[i] * extra[0, i]
            for layer, own in zip(main, state, strict=True):
                x, own[1, i] = _cell(layer[:, :, i], x, own[0, i], own[1, i])
                own[0, i] = x
            predicted[i] = x * extra[1, i] + extra[2, i]
        total += np.dot(following, predicted - np.log(np.sum(np.exp(predicted)) + 2))
    return -total / ((len(sequence) - 1) * bits)


def _cell(layer: Any, x: Any, hidden: Any, memory: Any) -> tuple[Any, Any]:
    (wf, wi, wo, wc), (bf, bi, bo, bc) = layer
    forget, into, out = (
        1 / (1 + cmath.exp(-each)) for each in (x * wf + bf, hidden * wi + bi, x * wo + bo)
    )
    memory = memory * forget + into * cmath.tanh(hidden * wc + bc)
    return out * cmath.tanh(memory), memory


def _network(given: Input) -> Any:
    return np.concatenate([np.ravel(given[name]) for name in ("main_params", "extra_params")])


def projection(unknown: Any, feature: Any) -> Any:
    """The error of one observation by the 11 numbers of a camera, 3 of a point and a weight."""
    r, place, weight = unknown[:3], unknown[11:14] - unknown[3:6], unknown[14]
    angle = np.sqrt(r @ r)
    axis = r / angle
    across = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    p = (np.eye(3) + np.sin(angle) * across + (1 - np.cos(angle)) * across @ across) @ place
    x = p[:2] / p[2]
    square = x @ x
    seen = unknown[6] * x * (1 + unknown[9] * square + unknown[10] * square**2) + unknown[7:9]
    return weight * (seen - np.array(feature))


def _adjustment(given: Input) -> tuple[Any, Any]:
    unknown = np.array([*given["cam"], *given["x"], given["w"]])
    n, m, p = (given[name] for name in "nmp")
    value, weight = projection(unknown, given["feat"]), given["w"]
    errors = {
        "reproj_error": {"elements": value, "repeated": p},
        "w_err": {"element": 1 - weight**2, "repeated": p},
    }
    ends = [15 * i for i in range(2 * p + 1)] + [30 * p + 1 + i for i in range(p)]
    one = [*range(11), *(11 * n + i for i in range(3)), 11 * n + 3 * m]
    vals = np.ravel(slopes(lambda x: projection(x, given["feat"]), unknown))
    matrix = {
        "rows": [*ends[:30], ends[-1]],
        "cols": [*one, *one, 11 * n + 3 * m + p - 1],
        "vals": [*vals, -2 * weight],
    }
    return errors, matrix


def hand(given: Input, theta: Any, us: Any) -> Any:
    """The distances of the points, one after the other, bone by bone."""
    data, model = given["data"], given["data"]["model"]
    posed: list[Any] = []
    for bone, parent in enumerate(model["parents"]):
        own = np.array(model["base_relatives"][bone]) @ _motion(theta, bone)
        posed.append(own if parent < 0 else posed[parent] @ own)
    r, angle = theta[:3], np.sqrt(np.sum(theta[:3] ** 2))
    axis = np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]]) / angle
    whole = np.eye(3) + np.sin(angle) * axis + (1 - np.cos(angle)) * axis @ axis
    sign = -1 if model["is_mirrored"] else 1

    def vertex(v: int) -> Any:
        place = np.zeros(4)
        for bone in np.flatnonzero(model["weights"][v]):
            weight = model["weights"][v][bone]
            at_rest = np.array(model["inverse_base_absolutes"][bone]) @ model["base_positions"][v]
            place = place + weight * (posed[bone] @ at_rest)
        return whole @ (place[:3] * np.array([sign, 1, 1])) + theta[3:6]

    found = []
    for i, (at, point) in enumerate(zip(data["correspondences"], data["points"], strict=True)):
        if len(us):
            a, b, c = model["triangles"][at]
            u, v = us[2 * i], us[2 * i + 1]
            found.append(point - u * vertex(a) - v * vertex(b) - (1 - u - v) * vertex(c))
        else:
            found.append(point - vertex(at))
    return np.concatenate(found)


def _motion(theta: Any, bone: int) -> Any:
    """A bone's own motion: about x and z as its joint allows; neither wrist nor forearm has one."""
    finger, joint = divmod(bone - 1, 4)
    motion = np.eye(4, dtype=complex)
    if not 0 <= finger < 5 or joint == 0:
        return motion
    numbers = theta[6 + 4 * finger : 10 + 4 * finger]
    bend = numbers[(0, 2, 3)[joint - 1]]
    motion[1:3, 1:3] = [[np.cos(bend), -np.sin(bend)], [np.sin(bend), np.cos(bend)]]
    if joint == 1:
        spread = np.eye(4, dtype=complex)
        c, s = np.cos(numbers[1]), np.sin(numbers[1])
        spread[:2, :2] = [[c, -s], [s, c]]
        motion = spread @ motion
    return motion


def _tracked(given: Input) -> Any:
    us = np.ravel(given["us"])
    return np.real(hand(given, np.array(given["theta"], dtype=complex), us))


def _tracked_slopes(given: Input) -> Any:
    theta, us = np.array(given["theta"]), np.ravel(given["us"])
    by_theta = slopes(lambda x: hand(given, x, us), theta)
    if not len(us):
        return by_theta
    by_us = slopes(lambda x: hand(given, theta, x), us)
    own = [[by_us[row, 2 * (row // 3) + j] for j in (0, 1)] for row in range(len(by_us))]
    return np.concatenate([own, by_theta], axis=1)


# Where the descents end from the starts of the evals, as GradBench has it.
_PARTICLE, _SADDLE = 0.2071918746486116, 8.246324826140356e-06

Reference = Callable[[Any], Any]

REFERENCES: Mapping[str, Mapping[str, Reference]] = {
    "hello": {"square": lambda x: x**2, "double": lambda x: 2 * x},
    "llsq": {
        "primal": lambda given: llsq(given["x"], given["n"]),
        "gradient": lambda given: slopes(lambda x: llsq(x, given["n"]), given["x"]),
    },
    "lse": {
        "primal": lambda given: lse(given["x"]).real,
        "gradient": lambda given: slopes(lse, given["x"]),
    },
    "ode": {
        "primal": lambda given: ode(given["x"], given["s"]),
        "gradient": lambda given: slopes(lambda x: ode(x, given["s"])[-1], given["x"]),
    },
    "det": {"primal": lambda given: _det(given)[0], "gradient": lambda given: _det(given)[1]},
    "gmm": {
        "objective": lambda given: (
            gmm(
                given, np.concatenate([np.ravel(given[name]) for name in ("alpha", "mu", "q", "l")])
            ).real
        ),
        "jacobian": _mixture_slopes,
    },
    "kmeans": {
        "cost": lambda given: np.sum(np.min(_nearest(given)[0], 1)),
        "dir": _direction,
    },
    "lstm": {
        "objective": lambda given: lstm(given, _network(given)).real,
        "jacobian": lambda given: slopes(lambda x: lstm(given, x), _network(given)),
    },
    "ba": {
        "objective": lambda given: _adjustment(given)[0],
        "jacobian": lambda given: _adjustment(given)[1],
    },
    "ht": {"objective": _tracked, "jacobian": _tracked_slopes},
    "particle": {modes: lambda given: _PARTICLE for modes in ("ff", "fr", "rf", "rr")},
    "saddle": {modes: lambda given: [_SADDLE] * 4 for modes in ("ff", "fr", "rf", "rr")},
}
