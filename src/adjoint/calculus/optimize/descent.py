"""Descent in a space, in a metric, or on a manifold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from adjoint.base import pytrees
from adjoint.base.checked import checked
from adjoint.base.errors import ArgumentError, ArgumentTypeError
from adjoint.calculus.arguments import check_callable
from adjoint.calculus.gradient import value_and_grad
from adjoint.calculus.optimize.directions import DirectionRule, steepest_descent
from adjoint.calculus.optimize.entry import asks_to_stop, check_args, points_to_argmin
from adjoint.calculus.optimize.line_search import LineSearch, StepRule
from adjoint.calculus.optimize.progress import Progress, progress_bar
from adjoint.calculus.optimize.ray import Ray, Trial
from adjoint.calculus.optimize.result import Descent, Iterate, Reason, Step
from adjoint.calculus.representation import space_of
from adjoint.spaces import Space, TangentBundle, infer
from adjoint.spaces.values import describe

# So many iterations without a lower value or a smaller gradient than any before are no progress.
_PATIENCE: Final = 10


class _DescentProblem:
    """The function with its gradient, and where its points lie."""

    def __init__(
        self, function: Any, args: Sequence[Any], bundle: Space | TangentBundle, step: StepRule
    ) -> None:
        self.bundle = bundle
        self.step = step
        self.evaluations = 0
        self._value_and_grad = value_and_grad(function)
        self._args = tuple(args)

    def evaluate(self, x: Any) -> tuple[float, Any]:
        """The value, and the components of the differential."""
        self.evaluations += 1
        value, components = self._value_and_grad(x, *self._args)
        return float(value), components

    def start(self, x: Any) -> tuple[Iterate, Any]:
        """The first iterate, and the components of the differential there."""
        space_of(x, self.bundle, "x0")
        value, components = self.evaluate(x)
        here = self.iterate(0, Trial(0.0, x, value, 0.0, components), None)
        if not (np.isfinite(value) and np.isfinite(here.gradient_norm)):
            raise ArgumentError(
                f"descend needs a start with a finite value and gradient. At x0 the value is "
                f"{value:.6g} and the norm of the gradient {here.gradient_norm:.6g}. "
                "Start where the function is defined."
            )
        return here, components

    def iterate(self, number: int, trial: Trial, direction: Any) -> Iterate:
        """The iterate at a point that was evaluated."""
        space = space_of(trial.x, self.bundle, "x")
        with np.errstate(over="ignore", invalid="ignore"):  # the reason will say so
            gradient = space._represent(space._restrict(trial.components))
            norm = float(space._norm(gradient))
        return Iterate(
            number,
            trial.x,
            trial.value,
            gradient,
            norm,
            space,
            direction,
            trial.length,
            self.evaluations,
        )

    def step_from(
        self, here: Iterate, components: Any, direction: Any, guess: float
    ) -> Trial | Reason:
        """The next point, or why there is none."""
        mismatch = here.space._mismatch(direction, deep=False)
        if mismatch is not None:
            raise mismatch.error(mismatch.message("The direction"))
        slope = float(here.space._pair(here.space._restrict(components), direction))
        if not slope < 0:
            return Reason.NO_DESCENT
        start = Trial(0.0, here.x, here.value, slope, components)
        return self.step.find(Ray(self.evaluate, self.bundle, start, direction, here.space), guess)


@points_to_argmin
@checked
def descend(
    function: Callable[..., Any],
    x0: Any,
    space: Space | TangentBundle | None = None,
    *,
    args: Sequence[Any] = (),
    step: StepRule | None = None,
    direction: DirectionRule = steepest_descent,
    tolerance: float = 1e-6,
    absolute_tolerance: float = 0.0,
    max_iterations: int = 1000,
    callback: Callable[[Iterate], Any] | None = None,
    progress: bool = False,
) -> Descent:
    """Minimise a function by steepest descent, x - ∇f(x)/(2η), in a chosen space (E.1.40-E.1.43).

    The gradient is that of the space, so the space is the preconditioner: under <x, y> = x'Wy the
    steps go along W⁻¹ times the plain gradient (E.1.43). In a `Metric` the space is that of each
    iterate; on a manifold steps are retracted to it.

    Args:
        function: its value a real scalar; of x, and of args, which stay as they are.
        x0: where to start, an array or a pytree.
        space: of x: a space, a `Metric`, or a manifold. Euclidean if not given.
        args: further arguments of the function.
        step: how far to go: a `LineSearch` unless told otherwise, or `Sharpness(eta)`.
        direction: a rule (iterate, iterate before) -> tangent at the iterate.
        tolerance: stop when the norm of the gradient, in the space, falls below this times that at
            the start,
        absolute_tolerance: or below this, which a start that may be a minimum needs.
        max_iterations: stop after so many steps.
        callback: called with the `Iterate` at the start and after every step; it ends the descent
            by returning True.
        progress: whether to show a progress bar, which needs the package `rich`.

    Returns:
        A `Descent`: the point `x` where it ended, value, gradient, reason and the history of steps.

    Raises:
        NotDifferentiableError: x0 holds integers, or the value is no real scalar.
        MembershipError: x0 is not in the space.
        ArgumentError: value or gradient at x0 are not finite, or a tolerance makes no sense.
        ArgumentTypeError: a rule is none, or args is no tuple.
        DroppedDerivativeError: inside of a function that is differentiated: `ad.implicit.argmin`
            has a derivative.
        MissingPackageError: a progress bar without `rich`.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> W = np.array([1.0, 100.0])
        >>> f = lambda x: np.sum(W * (x - 1) ** 2)
        >>> space = ad.spaces.Weighted(ad.spaces.Euclidean(2), W)
        >>> result = ad.optimize.descend(f, np.zeros(2), space)
        >>> result.iterations, result.x
        (1, array([1., 1.]))
    """
    check_callable(function, "descend")
    check_args(args)
    _check_rules(step, direction)
    _check_limits(tolerance, absolute_tolerance, max_iterations)
    rule = LineSearch() if step is None else step
    problem = _DescentProblem(function, args, infer(x0) if space is None else space, rule)
    here, components = problem.start(pytrees.tree_map(_as_inexact, x0))
    bound = max(absolute_tolerance, tolerance * here.gradient_norm)
    with progress_bar(progress, max_iterations) as bar:
        return _run(problem, here, components, direction, bound, max_iterations, callback, bar)


def _run(
    problem: _DescentProblem,
    here: Iterate,
    components: Any,
    direction: DirectionRule,
    bound: float,
    limit: int,
    callback: Callable[[Iterate], Any] | None,
    bar: Progress,
) -> Descent:
    history = [_entry(here)]
    previous: Iterate | None = None
    guess = problem.step.first
    lowest = _Lowest(here)
    while True:
        bar.show(here)
        reason = _ending(here, bound, limit, lowest, callback)
        if reason is not None:
            return _result(here, problem.evaluations, reason, history)
        towards = direction(here, previous)
        trial = problem.step_from(here, components, towards, guess)
        if isinstance(trial, Reason):
            return _result(here, problem.evaluations, trial, history)
        previous, guess, components = here, trial.length, trial.components
        here = problem.iterate(here.number + 1, trial, towards)
        history.append(_entry(here))


class _Lowest:
    """The lowest value and gradient so far, and how long ago one of them was found."""

    def __init__(self, start: Iterate) -> None:
        self.value = start.value
        self.gradient_norm = start.gradient_norm
        self.age = 0

    def stalls(self, here: Iterate) -> bool:
        """Whether too many iterations have gone by without progress."""
        progress = here.value < self.value or here.gradient_norm < self.gradient_norm
        self.age = 0 if progress else self.age + 1
        self.value = min(self.value, here.value)
        self.gradient_norm = min(self.gradient_norm, here.gradient_norm)
        return self.age > _PATIENCE


def _ending(
    here: Iterate,
    bound: float,
    limit: int,
    lowest: _Lowest,
    callback: Callable[[Iterate], Any] | None,
) -> Reason | None:
    if callback is not None and asks_to_stop(callback(here)):
        return Reason.CALLBACK
    if here.gradient_norm <= bound:
        return Reason.GRADIENT
    if not np.isfinite(here.gradient_norm):
        return Reason.NOT_FINITE
    if here.number >= limit:
        return Reason.ITERATIONS
    return Reason.NO_PROGRESS if lowest.stalls(here) else None


def _entry(here: Iterate) -> Step:
    return Step(here.value, here.gradient_norm, here.length, here.evaluations)


def _result(here: Iterate, evaluations: int, reason: Reason, history: list[Step]) -> Descent:
    return Descent(
        here.x,
        here.value,
        here.gradient,
        here.gradient_norm,
        here.number,
        evaluations,
        reason,
        tuple(history),
    )


def _as_inexact(leaf: Any) -> Any:
    """Python floats as NumPy's, so that every iterate is of one type."""
    return np.float64(leaf) if type(leaf) is float else leaf


def _check_rules(step: Any, direction: Any) -> None:
    if step is not None and not callable(getattr(step, "find", None)):
        raise ArgumentTypeError(
            f"step must be a rule for the length of steps. Got {describe(step)}. "
            "ad.optimize.Sharpness(eta) fixes it to 1/(2 eta), ad.optimize.LineSearch() looks for "
            "it."
        )
    if not callable(direction):
        raise ArgumentTypeError(
            f"direction must be a function of an iterate and the one before. Got "
            f"{describe(direction)}. ad.optimize.steepest_descent is one."
        )


def _check_limits(tolerance: float, absolute_tolerance: float, max_iterations: int) -> None:
    if not (tolerance >= 0 and absolute_tolerance >= 0 and max_iterations >= 0):
        raise ArgumentError(
            "tolerance, absolute_tolerance and max_iterations must not be negative. Got "
            f"{tolerance!r}, {absolute_tolerance!r} and {max_iterations!r}. Zero tolerances go on "
            "until no step lowers the value."
        )
