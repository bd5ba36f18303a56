"""Descent in a space, in a metric, or on a manifold."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from adjoint.base import pytrees
from adjoint.base.errors import ArgumentError, ArgumentTypeError
from adjoint.base.settings import config, settings
from adjoint.base.signatures.checked import checked
from adjoint.calculus.first_order.gradient import value_and_grad
from adjoint.calculus.inputs.arguments import check_callable
from adjoint.calculus.inputs.representation import space_of
from adjoint.calculus.optimize.directions import DirectionRule, steepest_descent
from adjoint.calculus.optimize.entry import asks_to_stop, check_args, points_to_argmin
from adjoint.calculus.optimize.line_search import LineSearch, StepRule
from adjoint.calculus.optimize.progress import Progress, progress_bar
from adjoint.calculus.optimize.ray import Ray, Trial
from adjoint.calculus.optimize.result import Descent, Iterate, Reason, Step
from adjoint.calculus.optimize.saved import DescentFile, DescentState, SavedIterate
from adjoint.spaces import Space, TangentBundle, infer
from adjoint.spaces.elements.values import describe

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

    def restored(self, saved: SavedIterate) -> Iterate:
        """An iterate that was kept in a file."""
        self.evaluations = saved.evaluations
        trial = Trial(saved.length, saved.x, saved.value, 0.0, saved.components)
        return self.iterate(saved.number, trial, saved.direction)

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
    checkpoint: str | os.PathLike[str] | None = None,
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
        checkpoint: a file in which the state is kept, about once a second and at the end. If it is
            there already, the descent goes on from it: to the same end, to the last bit, as if it
            had not been interrupted. Programs are compiled at once, as NumPy rounds otherwise.

    Returns:
        A `Descent`: the point `x` where it ended, value, gradient, reason and the history of steps.

    Raises:
        NotDifferentiableError: x0 holds integers, or the value is no real scalar.
        MembershipError: x0 is not in the space.
        ArgumentError: value or gradient at x0 are not finite, a tolerance makes no sense, or the
            file of `checkpoint` is damaged, or of another start or function.
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
    start = pytrees.tree_map(_as_inexact, x0)
    problem = _DescentProblem(function, args, infer(x0) if space is None else space, rule)
    if checkpoint is None:
        run = _DescentRun(problem, direction, *problem.start(start))
        with progress_bar(progress, max_iterations) as bar:
            return run.to_end(tolerance, absolute_tolerance, max_iterations, callback, bar)
    native = settings().native
    with (
        config(native=True if native is None else native),
        DescentFile(checkpoint, start) as file,
        progress_bar(progress, max_iterations) as bar,
    ):
        state = file.read()
        if state is None:
            run = _DescentRun(problem, direction, *problem.start(start))
        else:
            run = _DescentRun.again(problem, direction, state)
        run.file = file
        return run.to_end(tolerance, absolute_tolerance, max_iterations, callback, bar)


class _DescentRun:
    """A descent on its way: where it is, and what it needs to go on from there."""

    def __init__(
        self, problem: _DescentProblem, direction: DirectionRule, here: Iterate, components: Any
    ) -> None:
        self.problem = problem
        self.direction = direction
        self.here = here
        self.components = components
        self.previous: Iterate | None = None
        self.components_before: Any = None
        self.guess = problem.step.first
        self.history = [_entry(here)]
        self.lowest = _Lowest(here)
        self.file: DescentFile | None = None

    @classmethod
    def again(
        cls, problem: _DescentProblem, direction: DirectionRule, state: DescentState
    ) -> _DescentRun:
        """The run that a file holds the state of."""
        value, _ = problem.evaluate(state.here.x)
        if value != state.here.value:
            raise ArgumentError(
                f"The file of checkpoint holds the value {state.here.value!r} of the function, and "
                f"at the same point it is now {value!r}. Give the same function and data, or "
                "another file."
            )
        previous = None if state.previous is None else problem.restored(state.previous)
        run = cls(problem, direction, problem.restored(state.here), state.here.components)
        if state.previous is not None:
            run.previous, run.components_before = previous, state.previous.components
        run.guess, run.history = state.guess, list(state.history)
        run.lowest.value, run.lowest.gradient_norm, run.lowest.age = state.lowest
        return run

    def _state(self) -> DescentState:
        previous = self.previous
        return DescentState(
            SavedIterate.of(self.here, self.components),
            None if previous is None else SavedIterate.of(previous, self.components_before),
            self.guess,
            tuple(self.history),
            (self.lowest.value, self.lowest.gradient_norm, self.lowest.age),
        )

    def to_end(
        self,
        tolerance: float,
        absolute_tolerance: float,
        limit: int,
        callback: Callable[[Iterate], Any] | None,
        bar: Progress,
    ) -> Descent:
        """Go on until there is a reason to stop."""
        bound = max(absolute_tolerance, tolerance * self.history[0].gradient_norm)
        while True:
            if self.file is not None:
                self.file.note(self._state())
            bar.show(self.here)
            reason = _ending(self.here, bound, limit, self.lowest, callback)
            reason = reason or self._step()
            if reason is not None:
                return _result(self.here, self.problem.evaluations, reason, self.history)

    def _step(self) -> Reason | None:
        """Take a step; or say why there is none."""
        here = self.here
        towards = self.direction(here, self.previous)
        trial = self.problem.step_from(here, self.components, towards, self.guess)
        if isinstance(trial, Reason):
            return trial
        self.previous, self.components_before = here, self.components
        self.guess, self.components = trial.length, trial.components
        self.here = self.problem.iterate(here.number + 1, trial, towards)
        self.history.append(_entry(self.here))
        return None


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
