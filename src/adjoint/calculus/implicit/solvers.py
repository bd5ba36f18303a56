"""Solvers of nonlinear equations f(y, x) = 0, none of which a derivative ever looks into."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    NotConvergedError,
    SingularError,
)
from adjoint.base.signatures.checked import checked_class
from adjoint.calculus.implicit.layout import Rows
from adjoint.calculus.implicit.linear_solvers import (
    as_numbers,
    check_solution,
    each_row,
    precision,
    require_positive,
)
from adjoint.calculus.implicit.problems import Problem, Solver
from adjoint.calculus.implicit.systems import (
    BoundOperator,
    LinearSolver,
    Operator,
    SolveRows,
)
from adjoint.capture import sealed


def _not_converged(name: str, steps: int, size: float, tolerance: float, advice: str) -> Exception:
    return NotConvergedError(
        f"{name} did not converge: after {steps} iterations the relative size of f(y, x) is "
        f"{size:.2e}, and {tolerance:.2e} was to be reached. {advice}"
    )


def _iterated(
    problem: Problem,
    solver: Iteration | Anderson,
    name: str,
    follow: Callable[[Rows, Rows], Rows],
    advice: str,
) -> Rows:
    """Iterate z <- follow(z, f(z)) until f is as small as the solver was told."""
    z, size, steps = problem.initial, 0.0, 0
    tolerance = solver.tolerance or precision(z.dtype, 0.75)
    with np.errstate(all="ignore"):
        while steps < solver.limit:
            steps += 1
            residual = problem.residual(z)
            size = problem.step_size(residual, z)
            if size <= tolerance:
                return z
            if not np.isfinite(size):
                break
            z = follow(z, residual)
    raise _not_converged(name, steps, size, tolerance, advice)


@checked_class
@dataclass(frozen=True)
class Iteration(Solver, LinearSolver):
    """Plain fixed-point iteration, y <- y - f(y, x), which is y <- g(x, y) for f = y - g (E.1.71).

    It converges where that step is a contraction. Given as a linear solver, it iterates the
    backward fixed point t <- A* t + v (E.1.75), whose limit is t = (I - A*)^-1 v (E.1.74).

    Attributes:
        tolerance: of the largest entry of f relative to that of y (at least 1, if f is zero where y
            is); as a linear solver, of the norm relative to the right-hand side's. eps^(3/4) if
            None.
        limit: the most iterations.

    Raises:
        NotConvergedError: when solving, if the tolerance is not reached.
        ArgumentError: the tolerance or the limit is not positive.
        ArgumentTypeError: an option is no number.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> y = ad.implicit.fixed_point(np.cos, 1.0, solver=ad.implicit.Iteration())
        >>> round(float(y), 6)
        0.739085
    """

    tolerance: float | None = None
    limit: int = 1000

    def __post_init__(self) -> None:
        as_numbers(self)
        require_positive("Iteration", tolerance=self.tolerance, limit=self.limit)

    def find(self, problem: Problem) -> Rows:
        """Iterate."""
        advice = "Use ad.implicit.Anderson() or Newton(), or make the step a contraction."
        name = "Fixed-point iteration"
        return _iterated(problem, self, name, lambda z, residual: z - residual, advice)

    def takes_batches(self, operator: Operator) -> bool:
        """Their steps do not mix."""
        return True

    def takes_blocks(self, operator: Operator) -> bool:
        """Each system converges in its own time."""
        return False

    def prepare(self, bound: BoundOperator) -> SolveRows:
        """As a linear solver (E.1.75)."""
        tolerance = self.tolerance or precision(bound.solution.dtype, 0.75)

        def solve(right: Rows) -> Rows:
            goal = tolerance * bound.norm(right)
            t = right.astype(bound.solution.dtype)
            steps = 0
            while steps < self.limit:
                residual = right - bound.times(t)  # with M = I - A*: v + A* t - t
                if not bound.norm(residual) > goal:
                    break
                t = t + residual
                steps += 1
            check_solution(bound, right, t, goal, f"fixed-point iteration, {steps} times,")
            return t

        return each_row(solve)


@checked_class
@dataclass(frozen=True)
class Anderson(Solver):
    """Fixed-point iteration with Anderson's acceleration (Walker and Ni 2011, type II).

    The next iterate combines the last ones so that their residuals, combined alike, are least.

    Attributes:
        memory: how many of the last iterates are combined.
        tolerance: as for `Iteration`.
        limit: the most iterations.

    Raises:
        ArgumentError: the memory, the tolerance or the limit is not positive.
        NotConvergedError: when solving, if the tolerance is not reached.
        ArgumentTypeError: an option is no number.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> y = ad.implicit.fixed_point(np.cos, 1.0, solver=ad.implicit.Anderson())
        >>> round(float(y), 6)
        0.739085
    """

    memory: int = 5
    tolerance: float | None = None
    limit: int = 200

    def __post_init__(self) -> None:
        as_numbers(self)
        require_positive("Anderson", memory=self.memory, tolerance=self.tolerance, limit=self.limit)

    def find(self, problem: Problem) -> Rows:
        """Iterate."""
        points: list[Rows] = []
        residuals: list[Rows] = []

        def follow(z: Rows, residual: Rows) -> Rows:
            points.append(z.reshape(problem.layout.blocks, -1))
            residuals.append(residual.reshape(points[-1].shape))
            del points[: -self.memory - 1], residuals[: -self.memory - 1]
            return self._next(points, residuals).ravel()

        advice = "Use ad.implicit.Newton(), begin nearer, or make the step a contraction."
        return _iterated(problem, self, "Anderson's iteration", follow, advice)

    def takes_batches(self, operator: Operator) -> bool:
        """Each example has weights of its own."""
        return True

    def _next(self, points: list[Rows], residuals: list[Rows]) -> Rows:
        z, residual = points[-1], residuals[-1]  # (examples, unknowns)
        if len(points) == 1:
            return z - residual
        moves = np.diff(np.stack(points, axis=-1))  # (examples, unknowns, up to memory)
        changes = np.diff(np.stack(residuals, axis=-1))
        rounding = float(np.finfo(z.dtype).eps) * max(changes.shape[1:])
        weights = np.linalg.pinv(changes, rcond=rounding) @ residual[..., None]
        return np.asarray(z - residual - ((moves - changes) @ weights)[..., 0])


@checked_class
@dataclass(frozen=True)
class Newton(Solver):
    """Newton's method by our own derivative, with a line search that halves the step.

    The linear systems are solved by the linear solver of the implicit function: directly where it
    is small or entrywise, by a Krylov method (Newton-Krylov) where it is large.

    Attributes:
        tolerance: of each equation, relative to what it changes by where y, and what else it reads,
            move by their own size; eps^(3/4) if None.
        limit: the most iterations.

    Raises:
        NotConvergedError: when solving, if the tolerance is not reached, unless rounding alone is
            in the way: a residual of eps^(1/2) that no step makes smaller is taken.
        ArgumentError: the tolerance or the limit is not positive.
        ArgumentTypeError: an option is no number.

    Example:
        >>> import adjoint as ad
        >>> y = ad.implicit.root(
        ...     lambda y: y**3 + y - 10, 1.0, solver=ad.implicit.Newton()
        ... )
        >>> round(float(y), 6)
        2.0
    """

    tolerance: float | None = None
    limit: int = 50

    def __post_init__(self) -> None:
        as_numbers(self)
        require_positive("Newton", tolerance=self.tolerance, limit=self.limit)

    def find(self, problem: Problem) -> Rows:
        """Iterate."""
        with np.errstate(all="ignore"):
            return self._find(problem, problem.initial)

    def _find(self, problem: Problem, z: Rows) -> Rows:
        tolerance = self.tolerance or precision(z.dtype, 0.75)
        size = 0.0
        advice = "Begin nearer to the solution, or allow more iterations."
        steps = 0
        while steps < self.limit:
            steps += 1
            residual, fixed = problem.linearised(z)
            size = problem.relative(z, residual, fixed)
            if size <= tolerance:
                return self._last(problem, z)
            if not np.isfinite(problem.norm(residual)):
                break
            try:
                step = problem.step(residual, fixed)
            except (NotConvergedError, SingularError) as error:
                advice = f"It came to a point where it cannot go on. {error}"
                nearer = None
            else:
                nearer = _search(problem, z, step, problem.norm(residual))
            if nearer is None:
                if size <= precision(z.dtype, 0.5):
                    return z
                break
            z = nearer
        raise _not_converged("Newton's method", steps, size, tolerance, advice)

    def takes_batches(self, operator: Operator) -> bool:
        """If the linear solver does."""
        return operator.facts.solver.takes_blocks(operator)

    def _last(self, problem: Problem, z: Rows) -> Rows:
        """One step more, which squares what is left of the error."""
        try:
            return problem.polished(z)
        except (NotConvergedError, SingularError):  # errors where a derivative is asked for
            return z


def _search(problem: Problem, z: Rows, step: Rows, size: float) -> Rows | None:
    """The first of ever shorter steps after which |f| is smaller."""
    length = 1.0
    while length > 1e-9:
        nearer = z - length * step
        if problem.norm(problem.residual(nearer)) <= (1 - 1e-4 * length) * size:
            return nearer
        length /= 2
    return None


@checked_class
@dataclass(frozen=True)
class SciPy(Solver):
    """`scipy.optimize.root`, or `scipy.optimize.minimize` for `argmin`, by the name of a method.

    They are given our derivatives. Unless `polish` is False, Newton's method goes on from what they
    find, since their default tolerances are loose, and the error of a derivative is of the order
    of the residual.

    Attributes:
        method: SciPy's name: "hybr", "lm", "krylov", ...; "BFGS", "trust-ncg", ... for `argmin`.
        options: SciPy's options of that method, as a dict or as pairs, all hashable.
        polish: whether Newton's method goes on from what SciPy finds.

    Raises:
        ArgumentTypeError: the options hold what cannot be hashed.
        NotConvergedError: when solving, if Newton's method does not converge from what SciPy finds.

    Example:
        >>> import adjoint as ad
        >>> y = ad.implicit.root(
        ...     lambda y: y**3 + y - 10, 1.0, solver=ad.implicit.SciPy("hybr")
        ... )
        >>> round(float(y), 6)
        2.0
    """

    method: str
    options: Mapping[str, Any] | tuple[tuple[str, Any], ...] = ()
    polish: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.options, Mapping):
            object.__setattr__(self, "options", tuple(sorted(self.options.items())))
        try:
            hash(self.options)
        except TypeError:
            raise ArgumentTypeError(
                f"The options of ad.implicit.SciPy({self.method!r}) hold what cannot be hashed. "
                "They tell programs apart: give numbers, strings and tuples."
            ) from None

    def find(self, problem: Problem) -> Rows:
        """Call SciPy."""
        start = problem.initial.astype(float)
        with np.errstate(all="ignore"):
            find = self._least if problem.objective else self._zero
            z = np.asarray(find(problem, start).x, problem.layout.dtype)
            return Newton()._find(problem, z) if self.polish else z

    def _zero(self, problem: Problem, start: Rows) -> Any:
        from scipy import optimize

        find: Any = optimize.root
        given = {"jac": problem.matrix} if self.method in ("hybr", "lm") else {}
        options = dict(self.options)
        return find(problem.residual, start, method=self.method, options=options, **given)

    def _least(self, problem: Problem, start: Rows) -> Any:
        from scipy import optimize

        find: Any = optimize.minimize
        function: Any = problem.value
        given: dict[str, Any] = {"jac": True}
        if self.method in _WITHOUT_GRADIENT:

            def value_alone(z: Rows) -> float:
                return problem.value(z)[0]

            function, given = value_alone, {}
        elif self.method in _WITH_HESSIAN:
            given["hess"] = problem.matrix
        elif self.method in _WITH_PRODUCTS:
            given["hessp"] = lambda z, u: problem.times(problem.linearised(z)[1], np.asarray(u))
        return find(function, start, method=self.method, options=dict(self.options), **given)


_WITHOUT_GRADIENT = frozenset({"Nelder-Mead", "Powell", "COBYLA", "COBYQA"})
_WITH_HESSIAN = frozenset({"dogleg", "trust-exact"})
_WITH_PRODUCTS = frozenset({"Newton-CG", "trust-ncg", "trust-krylov", "trust-constr"})


@dataclass(frozen=True)
class GivenSolver(Solver):
    """A solver of the user's: (f as a function of y, where to begin) -> y."""

    function: Callable[[Callable[[Any], Any], Any], Any]

    def find(self, problem: Problem) -> Rows:
        """Called with arrays."""
        facts, layout = problem.options.facts, problem.layout

        def residual(tree: Any) -> Any:
            z = layout.vector(pytrees.leaves(tree))
            return pytrees.unflatten(facts.codomain, problem.values.leaves(problem.residual(z)))

        start = pytrees.unflatten(facts.domain, layout.leaves(problem.initial))
        with sealed("The solver of an implicit function"):
            return problem.coordinates(self.function(residual, start))


def as_solver(solver: Any, default: Solver) -> Solver:
    """A solver of equations from what a user may give for one."""
    if solver is None:
        return default
    if isinstance(solver, Solver):
        return solver
    if callable(solver) and not isinstance(solver, type):
        return GivenSolver(solver)
    raise ArgumentError(
        "solver must be ad.implicit.Newton(), Anderson(), Iteration() or SciPy(method), or a "
        f"function of f and of where to begin. Got {solver!r}."
    )
