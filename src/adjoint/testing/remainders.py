"""How fast remainders vanish, and what differences say of a derivative, in the face of rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Along = Callable[[float], Any]

_FIRST, _LAST = 3, 45  # the ladder: steps 2^-3 ... 2^-45, times the size of the point
_ABOVE = 50.0  # a remainder counts if it is that much larger than rounding
_ABRUPT = 64.0  # from one rung to the next, no power up to the fifth falls by so much
_WINDOW = 4  # rungs from which a rate is told


class Rate(NamedTuple):
    """The order at which a remainder vanishes: remainder ~ step^rate.

    rate: infinity where it is at rounding level throughout, NaN where no rung could be used.
    """

    rate: float
    largest: float
    smallest: float


class Ladder:
    """Values of a function along a line, and their rounding noise.

    along: step -> value, a real vector. size: of the point. slope: the derivative along the line.
    epsilon: the relative precision in which the function is evaluated.
    """

    def __init__(self, along: Along, size: float, slope: Any, epsilon: float) -> None:
        self.size = size
        self.along = along
        self.known: dict[float, Any] = {}
        self.origin = self.at(0.0)
        self.slope = slope
        floor = epsilon * _norm(self.origin)
        self.noise = max(floor, *(self._wobble(step) for step in (4 * epsilon, epsilon**0.45)))

    def _wobble(self, step: float) -> float:
        """Rounding noise from third differences, in which anything smooth on this scale cancels."""
        # On one side: a kink or a jump at the point itself is not noise.
        return scatter([self.at(k * step * self.size) for k in range(1, 9)])

    def at(self, step: float) -> Any:
        """The value at a step."""
        if step not in self.known:
            self.known[step] = self.along(step)
        return self.known[step]

    @property
    def steps(self) -> list[float]:
        """From large to small."""
        return [self.size * 2.0**-k for k in range(_FIRST, _LAST + 1)]

    def rate(self, remainder: Callable[[float], Any], noise: Callable[[float], float]) -> Rate:
        """The order of a remainder on the smallest steps that rounding leaves."""
        usable: list[tuple[float, float]] = []
        finite, below = 0, 0
        for step in self.steps:
            size = _norm(remainder(step))
            if not np.isfinite(size):
                usable, below = [], 0  # the domain ends between here and the smaller steps
                continue
            finite += 1
            if size > _ABOVE * noise(step):
                if below:
                    usable = []  # what lies beyond a gap is not of the same regime
                usable.append((step, size))
                below = 0
            else:
                below += 1
                if below > 2 * _WINDOW and finite > 3 * _WINDOW:
                    break
        if finite < _WINDOW:
            return Rate(float("nan"), float("nan"), float("nan"))
        if len(usable) < _WINDOW:
            return Rate(float("inf"), float("nan"), float("nan"))
        if below and usable[-1][1] > _ABRUPT * _ABOVE * noise(usable[-1][0]):
            # What was seen lies farther away, such as a kink nearby; here there is nothing.
            return Rate(float("inf"), usable[0][0], usable[-1][0])
        steps, sizes = (np.array(column) for column in zip(*usable[-_WINDOW:], strict=True))
        rate = np.polyfit(np.log2(steps), np.log2(sizes), 1)[0]
        return Rate(float(rate), float(steps[0]), float(steps[-1]))

    # --- the remainders --------------------------------------------------------------------------

    def zeroth(self) -> Rate:
        """f(x + h u) - f(x)."""
        return self.rate(lambda h: self.at(h) - self.origin, lambda h: self.noise)

    def first(self, epsilon: float) -> Rate:
        """f(x + h u) - f(x) - h Df(x)u; epsilon: the relative precision of the derivative."""
        limit = 16 * epsilon * _norm(self.slope)
        return self.rate(
            lambda h: self.at(h) - self.origin - h * self.slope, lambda h: self.noise + h * limit
        )

    def second(self, epsilon: float, curvature: Any) -> Rate:
        """f(x + h u) - f(x) - h Df(x)u - h^2/2 D2f(x)[u, u]."""
        limits = 16 * epsilon * _norm(self.slope), 16 * epsilon * _norm(curvature)
        return self.rate(
            lambda h: self.at(h) - self.origin - h * self.slope - h * h / 2 * curvature,
            lambda h: self.noise + h * limits[0] + h * h * limits[1],
        )

    def symmetric(self) -> Rate:
        """f(x + h u) - 2 f(x) + f(x - h u): of order one at a kink, of order zero at a jump."""
        return self.rate(
            lambda h: self.at(h) - 2 * self.origin + self.at(-h), lambda h: 2 * self.noise
        )

    def blind(self, share: float) -> bool:
        """Whether rounding hides an error of this share of the derivative at every step."""
        sizes = [_norm(self.at(h) - self.origin) for h in self.steps[: 2 * _WINDOW]]
        finite = [size for size in sizes if np.isfinite(size)]
        largest = max([*finite, _norm(self.slope) * self.steps[0]])
        return largest > 0 and share * largest <= _ABOVE * self.noise


class DerivativeEstimate(NamedTuple):
    """A derivative from central differences, how far extrapolation can be trusted, and its step."""

    value: Any
    error: float
    step: float


def scatter(values: list[Any]) -> float:
    """The rounding noise of equidistant values, which vary smoothly but for it."""
    thirds = np.diff(np.array(values), 3, axis=0) / np.sqrt(20)
    return max(
        (_norm(difference) for difference in thirds if np.all(np.isfinite(difference))), default=0.0
    )


def differentiate(along: Along, size: float) -> DerivativeEstimate:
    """The derivative at 0 by Ridders' extrapolation, from the best of several first steps."""
    best = DerivativeEstimate(np.array(np.nan), float("inf"), float("inf"))
    for exponent in (3, 6, 10, 14, 18):
        estimate = _ridders(along, size * 2.0**-exponent)
        if estimate.error < best.error:
            best = estimate
        if best.error <= 1e-12 * (_norm(best.value) + 1e-300):
            break
    return best


def _ridders(along: Along, first: float, rungs: int = 8, ratio: float = 1.6) -> DerivativeEstimate:
    best = DerivativeEstimate(np.array(np.nan), float("inf"), float("inf"))
    before: list[Any] = []
    for rung in range(rungs):
        step = first / ratio**rung
        column = [(along(step) - along(-step)) / (2 * step)]
        if not np.all(np.isfinite(column[0])):
            before = []
            continue
        for order, old in enumerate(before, 1):
            factor = ratio ** (2 * order)
            column.append((factor * column[-1] - old) / (factor - 1))
            error = max(_norm(column[-1] - column[-2]), _norm(column[-1] - old))
            if error < best.error:
                best = DerivativeEstimate(column[-1], error, step)
        before = column
    return best


def _norm(vector: Any) -> float:
    return float(np.linalg.norm(vector))
