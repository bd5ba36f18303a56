"""How far to go in a direction: a fixed sharpness, or a search."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Protocol, final

from adjoint.base.errors import ArgumentError
from adjoint.base.signatures.checked import checked_class
from adjoint.calculus.optimize.ray import Ray, Trial
from adjoint.calculus.optimize.result import Reason


class StepRule(Protocol):
    """How far to go along a ray."""

    @property
    def first(self) -> float:
        """The length to try first at the start."""

    def find(self, ray: Ray, guess: float) -> Trial | Reason:
        """The point to go to; or why there is none.

        Args:
            ray: the half-line from the iterate along the direction.
            guess: the length to try first.

        Returns:
            A `Trial`, the point with its value and slope; or the `Reason` why the descent ends
            here.
        """


@checked_class
@final
@dataclass(frozen=True)
class Sharpness:
    """Steps of the fixed length 1/(2η), where η is the sharpness of the surrogate (E.1.41, E.1.42).

    Args:
        eta: η > 0. The value falls with every step if 2η is at least the largest second derivative
            in directions of length 1; nothing checks that.

    Raises:
        ArgumentError: η is not positive.
        ArgumentTypeError: eta is no number.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> result = ad.optimize.descend(
        ...     lambda x: x @ x, np.ones(2), step=Sharpness(2.0), max_iterations=1
        ... )
        >>> result.x
        array([0.5, 0.5])
    """

    eta: float

    def __post_init__(self) -> None:
        if not self.eta > 0:
            raise ArgumentError(
                f"The sharpness must be positive. Got {self.eta!r}. The larger it is, the "
                "shorter the steps: x - ∇f(x) / (2 η)."
            )

    @property
    def first(self) -> float:
        """1/(2η)."""
        return 1 / (2 * self.eta)

    def find(self, ray: Ray, guess: float) -> Trial | Reason:
        """The point at the fixed length.

        Args:
            ray: the half-line from the iterate along the direction.
            guess: the length to try first; it does not matter.

        Returns:
            A `Trial`, or `Reason.NOT_FINITE` where value or slope there is not finite.
        """
        trial = ray.at(self.first)
        return trial if trial.finite else Reason.NOT_FINITE


@checked_class
@final
@dataclass(frozen=True)
class LineSearch:
    """Steps of a searched length, with the strong Wolfe conditions (Nocedal, Wright 2006, ch. 3).

    A step of length t along d is good if the value has fallen by `decrease` times what the slope at
    the start promised, and the slope has shrunk to `curvature` times that at the start. The next
    length to try is that where a straight line through two slopes is zero, so on a quadratic
    function the second trial is its minimum along d. Where the value or slope is not finite, or the
    function raises an ArithmeticError or LinAlgError, shorter steps are tried. Where values differ
    by rounding only, slopes decide alone (Hager, Zhang 2005).

    Args:
        first: the length tried first at the start; later searches begin with the length before.
        decrease: between 0 and 1/2.
        curvature: between `decrease` and 1.
        trials: how many lengths to try; then the best that lowered the value is taken.

    Raises:
        ArgumentError: an argument is out of its range.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> f = lambda x: -np.log(1 - x[0] ** 2)  # undefined at the first trial, x = -8.6
        >>> result = ad.optimize.descend(f, np.array([0.9]))
        >>> result.converged, bool(abs(result.x[0]) < 1e-5)
        (True, True)
    """

    first: float = 1.0
    decrease: float = 1e-4
    curvature: float = 0.1
    trials: int = 30

    def __post_init__(self) -> None:
        if not (
            self.first > 0
            and 0 < self.decrease < 0.5
            and self.decrease < self.curvature < 1
            and self.trials >= 1
        ):
            raise ArgumentError(
                "A line search needs first > 0, 0 < decrease < 1/2, decrease < curvature < 1 and "
                f"trials >= 1. Got {self!r}. The defaults are good for steepest descent."
            )

    def find(self, ray: Ray, guess: float) -> Trial | Reason:
        """The first good point, or else the best one that lowers the value.

        Args:
            ray: the half-line from the iterate along the direction.
            guess: the length to try first.

        Returns:
            A `Trial`, or the `Reason` why no length lowers the value.
        """
        start = ray.start
        before, low = start, start  # low: the farthest good point from which the value still falls
        high: Trial | None = None  # a point too far
        best: Trial | None = None
        length, failures = guess, 0
        for count in range(self.trials):
            trial = ray.at(length)
            failures += not trial.finite
            if trial.finite and self._lowers(trial, start, ray.noise):
                if best is None or trial.value < best.value:
                    best = trial
                if abs(trial.slope) <= self.curvature * abs(start.slope):
                    return trial
                if trial.slope > 0:
                    high = trial
                else:
                    before, low = low, trial
            else:
                high = trial
            if high is None:
                length = _extrapolated(before, low)
            elif high.finite:
                length = _between(low, high, count)
            else:
                length = _short_of(before, low, high, failures)
            if length in (low.length, trial.length):  # neighbouring floating-point numbers
                break
        return Reason.NO_PROGRESS if best is None else best

    def _lowers(self, trial: Trial, start: Trial, noise: float) -> bool:
        promised = self.decrease * trial.length * start.slope
        if trial.value <= start.value + promised:
            return True
        level = abs(trial.value - start.value) <= noise
        return level and abs(trial.slope) <= abs(start.slope)


def _zero_of_slope(before: Trial, low: Trial) -> float | None:
    """Where the slopes of two points, both negative, lead to zero; None if they lead nowhere."""
    rise = low.slope - before.slope
    if rise <= 0:
        return None
    return low.length - low.slope * (low.length - before.length) / rise


def _extrapolated(before: Trial, low: Trial) -> float:
    """A length beyond `low`, up to a hundred times as far."""
    stationary = _zero_of_slope(before, low)
    if stationary is None:
        return 10 * low.length
    return min(max(stationary, 1.001 * low.length), 100 * low.length)


def _short_of(before: Trial, low: Trial, high: Trial, failures: int) -> float:
    """A length short of one where the function is not finite, which may be anywhere."""
    if low.length == 0:
        return high.length / float(10 ** min(2 ** (failures - 1), 300))
    middle = sqrt(low.length) * sqrt(high.length)
    stationary = _zero_of_slope(before, low)
    return middle if stationary is None else min(max(stationary, 1.001 * low.length), middle)


def _between(low: Trial, high: Trial, count: int) -> float:
    """A length between a point from which the value falls, and one too far."""
    width = high.length - low.length
    part = 0.5
    if high.slope > 0 and count < 8:
        part = -low.slope / (high.slope - low.slope)
    elif high.slope <= 0:
        # The minimum of the parabola through both values with the slope at `low`.
        excess = high.value - low.value - low.slope * width
        part = -low.slope * width / (2 * excess) if excess > 0 else 0.5
    margin = 0.0 if count < 2 else 0.1  # quadratics are trusted to be quadratics first
    return low.length + width * min(max(part, margin), 1 - margin)
