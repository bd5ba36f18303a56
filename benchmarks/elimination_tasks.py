"""The functions whose Jacobians are published with counts of multiplications (AlphaGrad, 2024).

They are written from the formulas of their sources, operation by operation as in the published
graphs: what those compute twice is computed twice here. `xp` is NumPy, or JAX's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import adjoint as ad
from adjoint.scipy import special

GAMMA = 1.4  # the ratio of specific heats of air


@dataclass(frozen=True)
class Task:
    """A function, at which arguments, and the published counts.

    rules: the multiplications by forward mode, reverse mode and Markowitz's rule, if our graph is
    the published one. simple: the fewest of these, as published. best: the fewest of all published.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    rules: tuple[int, int, int] | None
    simple: int
    best: int
    pointwise: bool = True


# --- Roe's flux between two states of a gas (Roe 1981) --------------------------------------------


def roe_flux_1d(xp: Any, *numbers: Any) -> Any:
    """In one dimension; a state is density, momentum and energy."""
    left, right = numbers[:3], numbers[3:]
    jump = right[0] - left[0]
    density = xp.sqrt(left[0] * right[0])
    weight = xp.sqrt(left[0]) + xp.sqrt(right[0])
    velocities, pressures, enthalpies = zip(*(_gas(*x) for x in (left, right)), strict=True)

    def mean(pair: Sequence[Any]) -> Any:
        return (xp.sqrt(left[0]) * pair[0] + xp.sqrt(right[0]) * pair[1]) / weight

    d_pressure, d_velocity = pressures[1] - pressures[0], velocities[1] - velocities[0]
    u, h = mean(velocities), mean(enthalpies)
    square = u**2
    sound_square = (GAMMA - 1) * (h - 0.5 * square)
    sound = xp.sqrt(sound_square)
    # The slow sound wave has the speed |u - sound|; the published graph takes |u|.
    fast, middle, slow = xp.abs(u + sound), xp.abs(u), xp.abs(u)
    impedance = sound * density
    entropy = (jump - d_pressure / sound_square) * middle
    ahead = (d_velocity + d_pressure / impedance) * fast
    behind = (d_velocity - d_pressure / impedance) * slow
    share = 0.5 * density / sound
    waves = (
        entropy + share * ahead - share * behind,
        entropy * u + share * ahead * (u + sound) - share * behind * (u - sound),
        entropy * 0.5 * square + share * ahead * (h + u * sound) - share * behind * (h - u * sound),
    )
    fluxes = (_euler_flux(x, p) for x, p in zip((left, right), pressures, strict=True))
    sums = [one + other for one, other in zip(*fluxes, strict=True)]
    return tuple(0.5 * (total - wave) for total, wave in zip(sums, waves, strict=True))


def _gas(density: Any, momentum: Any, energy: Any) -> tuple[Any, Any, Any]:
    """Velocity, pressure and enthalpy."""
    velocity = momentum / density
    pressure = (GAMMA - 1) * (energy - 0.5 * momentum**2 / density)
    return velocity, pressure, (energy + pressure) / density


def _euler_flux(state: Sequence[Any], pressure: Any) -> tuple[Any, Any, Any]:
    density, momentum, energy = state
    velocity = momentum / density
    return momentum, pressure + momentum * velocity, velocity * (pressure + energy)


# --- the hand of a robot arm with six joints ------------------------------------------------------

LINKS, OFFSETS = (175.0, 890.0, 50.0), (575.0, 1035.0, 185.0)


def robot_arm(xp: Any, *angles: Any) -> Any:
    """Its place and its angles of orientation, from those of the joints (Denavit-Hartenberg)."""
    t1, t2, t3, t4, t5, t6 = angles
    c1, c2, c4, c5, c6 = (xp.cos(t) for t in (t1, t2, t4, t5, t6))
    c23 = xp.cos(t2) * xp.cos(t3) - xp.sin(t2) * xp.sin(t3)
    s1, s2, s4, s5, s6 = (xp.sin(t) for t in (t1, t2, t4, t5, t6))
    s23 = xp.cos(t2) * xp.sin(t3) + xp.sin(t2) * xp.cos(t3)

    def approach(along: Any, across: Any) -> Any:
        return s5 * (along * c23 * c4 + across * s4) + along * s23 * c5

    def reach(along: Any) -> Any:
        return along * (LINKS[0] + LINKS[1] * c2 + LINKS[2] * c23 + OFFSETS[1] * s23)

    def dip() -> Any:
        return s23 * c4 * s5 - c23 * c5

    def normal() -> Any:
        return c23 * s5 + s23 * c4 * c5

    across = s5 * (s1 * c23 * c4 - c1 * s4) + s1 * s23 * c5
    along, down = approach(c1, s1), dip()
    turned = c6 * normal() - s23 * s4 * s6
    sideways = -s6 * normal() - s23 * s4 * c6
    yaw = xp.arctan2(across, along)
    pitch = xp.arctan2(xp.sqrt(1.0 - down**2), down)
    roll = xp.arctan2(sideways, -turned)
    x = OFFSETS[2] * approach(c1, s1) + reach(c1)
    y = OFFSETS[2] * approach(s1, c1) + reach(s1)
    z = LINKS[1] * s2 + OFFSETS[0] + LINKS[2] * s23 - OFFSETS[1] * c23 + OFFSETS[2] * dip()
    return x, y, z, yaw, pitch, roll


# --- the dipole of the human heart (MINPACK-2) ----------------------------------------------------


def heart_dipole(xp: Any, *x: Any) -> Any:
    """The residuals of its eight equations."""
    a, b, c, d, t, u, v, w = x

    def cubic(x: Any, y: Any) -> Any:
        return x * (x**2 - 3 * y**2)

    first, second = t**2 - v**2, u**2 - w**2
    tv, vt, uw, wu = cubic(t, v), cubic(v, t), cubic(u, w), cubic(w, u)
    return (
        a + b - 1.0,
        c + d - 1.0,
        t * a + u * b - v * c - w * d - 1.0,
        v * a + w * b + t * c + u * d - 1.0,
        a * first - 2 * c * t * v + b * second - 2 * d * u * w - 1.0,
        c * first + 2 * a * t * v + d * second + 2 * b * u * w - 1.0,
        a * tv + c * vt + b * uw + d * wu - 1.0,
        c * tv - a * vt + d * uw - b * wu - 1.0,
    )


# --- the price of an option (Black and Scholes 1973) ----------------------------------------------


def option_price(spot: Any, strike: Any, rate: Any, volatility: Any, time: Any) -> Any:
    """A European call, by the price of the future (Black 1976)."""

    def distribution(z: Any) -> Any:
        return (1.0 + special.erf(z / np.sqrt(2.0))) / 2

    future = np.exp(rate * time) * spot
    spread = volatility * np.sqrt(time)
    upper = (np.log(future / strike) + volatility**2 / 2.0 * time) / spread
    lower = upper - volatility * np.sqrt(time)
    return np.exp(-rate * time) * (future * distribution(upper) - strike * distribution(lower))


def option_slopes(xp: Any, *numbers: Any) -> Any:
    """Its derivatives with respect to all arguments; their Jacobian is the second order."""
    return ad.grad(option_price, argnums=(0, 1, 2, 3, 4))(*numbers)


# --- Roe's flux in three dimensions ---------------------------------------------------------------


def roe_flux_3d(xp: Any, *arguments: Any) -> Any:
    """Across a face whose normal is the first axis; momentum is a vector of three numbers."""
    left, right = arguments[:3], arguments[3:]
    d_density = right[0] - left[0]
    d_momentum, d_energy = right[1] - left[1], right[2] - left[2]
    weight = xp.sqrt(left[0]) + xp.sqrt(right[0])
    velocities = [momentum / density for density, momentum, _ in (left, right)]
    pressures = [(GAMMA - 1) * (e - 0.5 * xp.sum(m**2) / rho) for rho, m, e in (left, right)]
    enthalpies = [(x[2] + p) / x[0] for x, p in zip((left, right), pressures, strict=True)]

    def mean(pair: Sequence[Any]) -> Any:
        return (xp.sqrt(left[0]) * pair[0] + xp.sqrt(right[0]) * pair[1]) / weight

    velocity, h = mean(velocities), mean(enthalpies)
    u, v, w = velocity[0], velocity[1], velocity[2]
    square = xp.sum(velocity**2)
    sound_square = (GAMMA - 1) * (h - 0.5 * square)
    sound = xp.sqrt(sound_square)
    fast, slow = u + sound, u - sound
    work = (h - square) * d_density + xp.sum(velocity * d_momentum) - d_energy
    entropy = (GAMMA - 1) / sound_square * work * u
    shears = [(d_momentum[2] / w - d_momentum[0]) * u, (d_momentum[1] / v - d_density) * u]
    rest = d_density - entropy
    skew = (d_momentum[0] - u * d_density) / sound
    behind, ahead = 0.5 * (rest - skew) * slow, 0.5 * (rest + skew) * fast
    waves = (
        behind + entropy + ahead * fast,
        xp.stack(
            [
                behind * slow + entropy * u + ahead * fast,
                behind * v + shears[1] * v + entropy * v + ahead * v,
                behind * w + shears[0] * w + entropy * w + ahead * w,
            ]
        ),
        behind * (h - u * sound)
        + shears[1] * v**2
        + shears[0] * w**2
        + entropy * 0.5 * square
        + ahead * (h + u * sound),
    )
    fluxes = [
        (m[0], xp.stack([p, 0.0, 0.0]) + m * speed, speed[0] * (p + e))
        for (_, m, e), p, speed in zip((left, right), pressures, velocities, strict=True)
    ]
    sums = [one + other for one, other in zip(*fluxes, strict=True)]
    return tuple(0.5 * (total - wave) for total, wave in zip(sums, waves, strict=True))


# --- networks -------------------------------------------------------------------------------------


def _still(xp: Any, x: Any) -> Any:
    """The same, without a derivative."""
    if xp.__name__ == "numpy":
        return ad.stop_gradient(x)
    import jax

    return jax.lax.stop_gradient(x)


def _softmax(xp: Any, x: Any, axis: int) -> Any:
    powers = xp.exp(x - _still(xp, xp.max(x, axis=axis, keepdims=True)))
    return powers / xp.sum(powers, axis=axis, keepdims=True)


def _cross_entropy(xp: Any, x: Any, labels: Any) -> Any:
    return -xp.sum(labels * xp.log(_softmax(xp, x, -1)), axis=-1)


def _normalised(xp: Any, x: Any, gain: Any, shift: Any) -> Any:
    """Over the last axis (layer normalisation)."""
    mean = xp.mean(x, axis=-1, keepdims=True)
    variance = xp.sum((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) / xp.sqrt(variance / x.shape[-1] + 1e-6) * gain + shift


def perceptron(xp: Any, *arguments: Any) -> Any:
    """Two layers with a normalisation between, and the cross entropy."""
    x, labels, w1, b1, w2, b2, gain, shift = arguments
    hidden = _normalised(xp, xp.tanh(w1 @ x + b1), gain, shift)
    return _cross_entropy(xp, xp.tanh(w2 @ hidden + b2), labels)


def encoder(xp: Any, *arguments: Any) -> Any:
    """Two blocks of attention, normalisation and a layer, and the cross entropy."""
    x, labels, q1, q2, k1, k2, v1, v2, w1, w2, b1, b2, shift1, gain1, shift2, gain2 = arguments

    def block(x: Any, q: Any, k: Any, v: Any, w: Any, b: Any, gain: Any, shift: Any) -> Any:
        weights = _softmax(xp, (q @ x).T @ (k @ x), 1)
        inner = w @ _normalised(xp, x + weights @ (v @ x), gain, shift) + b
        return inner * (1.0 / (1.0 + xp.exp(-inner)))

    hidden = block(x, q1, k1, v1, w1, b1, gain1, shift1)
    return _cross_entropy(xp, block(hidden, q2, k2, v2, w2, b2, gain2, shift2), labels)


def _tasks() -> tuple[Task, ...]:
    generator = np.random.default_rng(0)

    def numbers(low: float, high: float, count: int) -> tuple[Any, ...]:
        return tuple(np.array(x) for x in generator.uniform(low, high, count))

    def arrays(*shapes: tuple[int, ...]) -> tuple[Any, ...]:
        return tuple(generator.normal(size=shape) for shape in shapes)

    states = [np.array(x) for x in (1.0, [0.1, 0.2, 0.3], 2.5, 0.8, [0.2, 0.2, 0.4], 2.0)]
    gas = [np.array(x) for x in (1.0, 0.5, 2.5, 0.8, 0.7, 2.0)]
    square = (4, 4)
    one, zero = np.array(1.0), np.array(0.0)
    return (
        Task("Roe's flux, 1-d", roe_flux_1d, tuple(gas), (620, 364, 407), 364, 320),
        Task("robot arm", robot_arm, numbers(0.1, 1.2, 6), (397, 301, 288), 288, 231),
        Task("heart dipole", heart_dipole, numbers(0.1, 1.0, 8), (240, 172, 194), 172, 148),
        Task("option, 2nd order", option_slopes, numbers(0.5, 1.5, 5), None, 350, 312),
        Task("Roe's flux, 3-d", roe_flux_3d, tuple(states), None, 938, 811),
        Task(
            "two-layer network",
            perceptron,
            (*arrays((4,), (4,), (8, 4), (8,), (4, 8), (4,)), one, zero),
            None,
            392,
            389,
            False,
        ),
        Task(
            "encoder",
            encoder,
            (
                *arrays(square, (2, 4), *[square] * 7, (2, 4), (4,), (2, 1)),
                *(zero, one, zero, one),
            ),
            None,
            4688,
            4656,
            False,
        ),
    )


TASKS = _tasks()
