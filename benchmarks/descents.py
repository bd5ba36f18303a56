"""Nested minimisations with loops that end by values: a charged particle, and a saddle point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import adjoint as ad
from benchmarks.compiled import SCALAR, by_hand
from benchmarks.measure import Thunk
from benchmarks.peers import agreeing_medians, installed, jax_modules, jitted_by_jax
from benchmarks.table import Table, compared

STEP = 0.1  # of Euler's method
ENOUGH = 1e-5  # slope, or step, at which a descent ends
FORWARD_TWICE = "JAX with jit, forward in forward"
PLAINLY = "adjoint with ad.jit, ad.value_and_grad, Python's `while` and `if`"
MODES = {"ff": "forward in forward", "fr": "forward in reverse", "rf": "reverse in forward"}
MODES["rr"] = "reverse in reverse"


@dataclass(frozen=True)
class Tools:
    """What a library offers. slope: (function, point) -> value and gradient, by mode."""

    xp: Any
    while_loop: Callable[..., Any]
    slopes: dict[str, Callable[..., Any]]


def _forward(jvp: Callable[..., Any], xp: Any) -> Callable[..., Any]:
    def slope(function: Any, point: Any) -> Any:
        if xp.ndim(point) == 0:
            return jvp(function, (point,), (xp.ones_like(point),))
        pairs = [jvp(function, (point,), (unit,)) for unit in xp.eye(len(point))]
        return pairs[0][0], xp.stack([each for _, each in pairs])

    return slope


def adjoints() -> Tools:
    """This library's."""

    def reverse(function: Any, point: Any) -> Any:
        # `ad.value_and_grad` would go forward where one number goes through a loop.
        value, pull = ad.vjp(function, point)
        return value, pull(np.ones_like(value))[0]

    return Tools(np, ad.while_loop, {"f": _forward(ad.jvp, np), "r": reverse})


def jaxs() -> Tools:
    """JAX's, which has no reverse mode through such loops."""
    jax, xp = jax_modules()

    def reverse(function: Any, point: Any) -> Any:
        return jax.value_and_grad(function)(point)

    return Tools(xp, jax.lax.while_loop, {"f": _forward(jax.jvp, xp), "r": reverse})


def descend(slope: Callable[..., Any], function: Any, start: Any, tools: Tools) -> Any:
    """Gradient descent: the step is doubled after ten successes and halved at a failure."""
    xp = tools.xp

    def size(gradient: Any) -> Any:
        return xp.abs(gradient) if xp.ndim(gradient) == 0 else xp.sqrt(xp.sum(gradient**2))

    def goes_on(state: Any) -> Any:
        _, _, gradient, rate, _ = state
        steepness = size(gradient)
        return (steepness > ENOUGH) & (rate * steepness > ENOUGH)

    def once(state: Any) -> Any:
        point, value, gradient, rate, count = state
        further = point - rate * gradient
        lower, turned = slope(function, further)
        better = lower < value
        count = xp.where(better, count + 1, 0)
        rate = xp.where(better, xp.where(count == 10, 2 * rate, rate), rate / 2)
        return (
            xp.where(better, further, point),
            xp.where(better, lower, value),
            xp.where(better, turned, gradient),
            rate,
            xp.where(count == 10, 0, count),
        )

    value, gradient = slope(function, start)
    initial = (start, value, gradient, xp.asarray(1e-5), xp.asarray(0))
    return tools.while_loop(goes_on, once, initial)[0]


def particle(start: Any, modes: str, tools: Tools) -> Any:
    """The place of a charge for which a particle, falling past it, hits the origin.

    modes: of the derivative by the charge, then of the potential within each step.
    """
    xp, inner = tools.xp, tools.slopes[modes[1]]

    def crossing(w: Any) -> Any:
        charges = xp.stack([xp.stack([10.0 + 0 * w, 10.0 - w]), xp.stack([10.0 + 0 * w, 0 * w])])

        def potential(place: Any) -> Any:
            return xp.sum(1 / xp.sqrt(xp.sum((place - charges) ** 2, 1)))

        def falls(state: Any) -> Any:
            place, velocity = state
            return place[1] + STEP * velocity[1] > 0

        def step(state: Any) -> Any:
            place, velocity = state
            return place + STEP * velocity, velocity - STEP * inner(potential, place)[1]

        initial = (xp.asarray([0.0, 8.0]), xp.asarray([0.75, 0.0]))
        place, velocity = tools.while_loop(falls, step, initial)
        return (place[0] - place[1] / velocity[1] * velocity[0]) ** 2

    return descend(tools.slopes[modes[0]], crossing, start, tools)


def saddle(start: Any, modes: str, tools: Tools) -> Any:
    """The saddle of |p|^2 - |q|^2, least in p and greatest in q, by a descent within a descent."""
    xp, inner = tools.xp, tools.slopes[modes[1]]

    def height(p: Any, q: Any) -> Any:
        return xp.sum(p**2) - xp.sum(q**2)

    def highest(p: Any) -> Any:
        return descend(inner, lambda q: -height(p, q), start, tools)

    p = descend(tools.slopes[modes[0]], lambda p: height(p, highest(p)), start, tools)
    return xp.concatenate([p, highest(p)])


# --- the same in loops and branches of Python's own -----------------------------------------------


def forwards(function: Any, point: Any) -> Any:
    """The value and the gradient by forward mode."""

    def noted(point: Any) -> Any:
        value = function(point)
        return value, value

    gradient, value = ad.jacobian(noted, mode=ad.Mode.FORWARD, has_aux=True)(point)
    return value, gradient


def backwards(function: Any, point: Any) -> Any:
    """The same by reverse mode; by forward mode where one number goes through a loop."""
    return ad.value_and_grad(function)(point)


PLAIN_SLOPES = {"f": forwards, "r": backwards}


def descend_plainly(slope: Callable[..., Any], function: Any, start: Any) -> Any:
    """`descend`, with `while` and `if`."""
    point, rate, count = start, 1e-5, 0
    value, gradient = slope(function, point)
    while True:
        steepness = np.sqrt(np.sum(gradient**2))
        if steepness <= ENOUGH or rate * steepness <= ENOUGH:
            return point
        further = point - rate * gradient
        lower, turned = slope(function, further)
        if lower < value:
            point, value, gradient, count = further, lower, turned, count + 1
            if count == 10:
                rate, count = 2 * rate, 0
        else:
            rate, count = rate / 2, 0


def particle_plainly(start: Any, modes: str = "rr") -> Any:
    """`particle`, with loops of Python's own."""
    outer, inner = (PLAIN_SLOPES[mode] for mode in modes)

    def crossing(w: Any) -> Any:
        charges = np.array([[10.0, 10.0 - w], [10.0, 0.0]])

        def potential(place: Any) -> Any:
            return np.sum(1 / np.sqrt(np.sum((place - charges) ** 2, 1)))

        place, velocity = np.array([0.0, 8.0]), np.array([0.75, 0.0])
        while place[1] + STEP * velocity[1] > 0:
            place, velocity = (
                place + STEP * velocity,
                velocity - STEP * inner(potential, place)[1],
            )
        return (place[0] - place[1] / velocity[1] * velocity[0]) ** 2

    return descend_plainly(outer, crossing, start)


def saddle_plainly(start: Any, modes: str = "rr") -> Any:
    """`saddle`, with loops of Python's own."""
    outer, inner = (PLAIN_SLOPES[mode] for mode in modes)

    def height(p: Any, q: Any) -> Any:
        return np.sum(p**2) - np.sum(q**2)

    def highest(p: Any) -> Any:
        return descend_plainly(inner, lambda q: -height(p, q), start)

    p = descend_plainly(outer, lambda p: height(p, highest(p)), start)
    return np.concatenate([p, highest(p)])


def run() -> list[Table]:
    return [
        _table("particle", particle, particle_plainly, np.array(0.0), ()),
        _table("saddle", saddle, saddle_plainly, np.array([1.0, 1.0]), (4,)),
    ]


def _table(name: str, function: Any, plainly: Any, start: Any, shape: tuple[int, ...]) -> Table:
    mine = adjoints()
    candidates: dict[str, Thunk] = {}
    for modes, words in MODES.items():
        jitted = ad.jit(partial(function, modes=modes, tools=mine))
        candidates[f"adjoint with ad.jit, {words}"] = partial(jitted, start)
    candidates[PLAINLY] = partial(ad.jit(plainly), start)
    if installed("jax"):
        theirs = jaxs()
        candidates[FORWARD_TWICE] = jitted_by_jax(
            lambda start: function(start, "ff", theirs), [start]
        )
    hand = by_hand("descents", [start], [shape], function=name)
    expected = np.asarray(function(start, "ff", mine))
    times = agreeing_medians({**hand, **candidates}, expected, 1e-8, seconds=8.0)
    unit = SCALAR if SCALAR in times else next(iter(candidates))
    return compared(times, unit, None, [FORWARD_TWICE], name)
