"""The derivative audit: every test that a function's derivatives must pass, on one point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import type_of
from adjoint.base.errors import (
    CheckFailedError,
    MissingRuleError,
    MissingTransposeError,
    ValueNeededError,
)
from adjoint.base.signatures.checked import checked
from adjoint.calculus import grad, jit, jvp, vmap
from adjoint.maps import MatrixBy, adjoint_error, linearity_error
from adjoint.testing.derivatives import Derivatives
from adjoint.testing.identities import generator, measured
from adjoint.testing.measures import (
    Unavailable,
    brief,
    is_numbers,
    rate_result,
    refuse_kink,
    relative,
    rms,
    type_text,
    typed,
    unboxed,
)
from adjoint.testing.problem import CheckedFunction, only, pack, pairing, randomised
from adjoint.testing.remainders import Ladder, differentiate
from adjoint.testing.repeating import changed
from adjoint.testing.report import VALUE, Outcome, Report, Result

_MATRIX = 48  # coordinates up to which whole Jacobians are compared
_LEAVES = 24  # leaves up to which each is looked at alone
_HIDDEN = 1e-3  # a test that could not see an error of this share is not made
_ADJOINT = "<Du, v> is not <u, D.H v>: the transpose is not that of the derivative"

Results = Iterator[Result]


@checked
def check(
    function: Callable[..., Any],
    *args: Any,
    seed: int = 0,
    spaces: Any = None,
    order: int = 2,
    raise_on_failure: bool = False,
) -> Report:
    """Audit the derivatives of a function at a point.

    With respect to every argument that holds floating-point numbers:

    - the value under capture is NumPy's own, and no argument is changed;
    - |f(x + hu) - f(x)| and the first and second remainders of Taylor's formula vanish like h, h^2
      and h^3 (the second of <w, f(x)> for a random w);
    - the JVP and the pullback agree with extrapolated central differences, argument by argument;
    - <Du, v> = <u, D.H v> in three random pairs of inner products;
    - the derivative map is linear, and forward and reverse mode give the same Jacobian;
    - forward and reverse mode in all four orders give the same second derivative of <w, f(x)>;
    - vmap gives what a loop gives.

    A test that cannot be made is skipped, with its reason: at a kink or a jump, where a value is
    not finite, where rounding hides an error of 0.1 %, where a rule is missing. A function that
    gives another value when it is called again, because it draws or keeps a state, fails at once.

    What it cannot see: a fault away from the point; a derivative that is wrong by less than what
    differences can tell (`allowed` in the report), in the same way in forward and reverse mode.

    Args:
        function: plain NumPy code.
        args: the point; arguments without floating-point numbers are held fixed.
        seed: of all random directions.
        spaces: a pair (domain, codomain) in which the adjoint identity is tested too, and from
            which directions are drawn (of symmetric matrices, say); None for the Euclidean one.
            With several arguments that vary, the domain is a `Product` of a tuple.
        order: 2, or 1 to leave out second derivatives.
        raise_on_failure: raise CheckFailedError, with the report, if a test fails, or none of a
            derivative could be made.

    Returns:
        A `Report`: `print` shows every test, `.passed` and `.failures` say what came of them.

    Raises:
        NotDifferentiableError: no argument, or no result, holds floating-point numbers.
        MissingRuleError: the function has no derivative rule at all.
        CheckFailedError: with `raise_on_failure`, as said there.
        ArgumentError: `spaces` is no pair, or the order neither 1 nor 2.
        ArgumentTypeError: what is given is no function, or an option is not what it should be.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> report = ad.testing.check(
        ...     lambda x, y: np.sum(np.tanh(x) * y), np.ones(3), np.ones(3)
        ... )
        >>> report.passed
        True
    """
    problem = CheckedFunction(function, args, spaces)
    name = getattr(function, "__name__", type(function).__name__)
    fault = changed(problem, 1e-12 if problem.epsilon < 1e-10 else 1e-5)
    if fault is None:
        tests = tuple(_Audit(Derivatives(problem, seed), seed, order).run())
    report = Report(name, tests if fault is None else (fault,))
    if raise_on_failure and not report.passed:
        raise CheckFailedError(str(report))
    return report


class _Audit:
    """One audit; each method makes the tests of one kind."""

    def __init__(self, derivatives: Derivatives, seed: int, order: int) -> None:
        self.of = derivatives
        self.problem = derivatives.problem
        self.seed = seed
        self.order = order

    def run(self) -> Results:
        """All tests in order."""
        kinds = [
            (VALUE, self.value),
            ("Taylor remainders", self.remainders),
            ("differences", self.differences),
            ("adjoint identity", self.adjoint),
            ("linearity", self.linearity),
            ("forward = reverse", self.modes),
        ]
        if self.order >= 2:
            kinds += [
                ("second-order modes", self.second_order),
                ("second remainder", self.second_remainder),
            ]
        kinds.append(("vmap", self.batching))
        for name, tests in kinds:
            yield from _test_results(name, tests)

    # --- (6) the value ---------------------------------------------------------------------------

    def value(self) -> Results:
        """The value under capture, and what became of the arguments."""
        problem = self.problem
        before = [pack(arg) if is_numbers(arg) else None for arg in problem.args]
        captured = jit(self.of.function)(problem.point)
        expected = problem.value
        name, where = VALUE, "compared with NumPy"
        tolerance = 1e-12 if self.of.precise else 1e-5
        structures = pytrees.flatten(captured)[1], pytrees.flatten(expected)[1]
        types = [
            [type_text(leaf) for leaf in pytrees.leaves(tree)] for tree in (captured, expected)
        ]
        if structures[0] != structures[1] or types[0] != types[1]:
            detail = f"it is {types[0]}, NumPy gives {types[1]}"
            yield Result(name, Outcome.FAILED, where, float("inf"), tolerance, detail)
        else:
            error = relative(pack(captured), pack(expected))
            yield measured(name, where, error, tolerance, "the values differ")
        for place, (old, arg) in enumerate(zip(before, problem.args, strict=True)):
            if old is not None and not np.array_equal(old, pack(arg), equal_nan=True):
                detail = "capture changed the argument"
                yield Result(
                    "arguments unchanged", Outcome.FAILED, f"argument {place}", detail=detail
                )

    # --- (1) remainders --------------------------------------------------------------------------

    def remainders(self) -> Results:
        """The zeroth and the first remainder of Taylor's formula."""
        self.of.require_finite()
        yield from self._best(self._first_remainders)

    def _best(self, attempt: Callable[[Any], list[Result]]) -> list[Result]:
        """The results on the first of three directions on which all is well.

        A remainder may change its sign within the ladder, which spoils the rate on that direction.
        A wrong rule fails on all.
        """
        first: list[Result] | None = None
        for trial in range(3):
            results = attempt(self.of.direction(trial))
            if not any(result.failed for result in results):
                return results
            first = results if first is None else first
        assert first is not None
        return first

    def _ladder(self, direction: Any, slope: Any, along: Any = None) -> Ladder:
        ladder = Ladder(along or self.of.along(direction), self.of.size, slope, self.of.evaluation)
        if not np.all(np.isfinite(slope)):
            raise Unavailable("the derivative is not finite here")
        if ladder.blind(_HIDDEN):
            raise Unavailable(f"rounding noise of {ladder.noise:.1e} hides an error of 0.1 %")
        return ladder

    def _first_remainders(self, direction: Any) -> list[Result]:
        ladder = self._ladder(direction, self._slope(direction))
        zeroth, first = ladder.zeroth(), ladder.first(self.problem.epsilon)
        if not (zeroth.rate > 0.9 and first.rate > 1.9):
            refuse_kink(ladder)
        where = "random direction"
        return [
            rate_result("f(x+hu) - f(x) ~ h", where, zeroth, 0.9),
            rate_result("first remainder ~ h^2", where, first, 1.9),
        ]

    def _slope(self, direction: Any) -> Any:
        """The derivative along a direction, in whichever mode there is."""
        try:
            return pack(self.of.push(direction))
        except MissingRuleError:
            if pack(self.problem.value).size != 1:
                raise
            one = pytrees.tree_map(np.ones_like, self.problem.value)
            return np.atleast_1d(pairing(self.of.pull(one), direction))

    # --- (2) differences -------------------------------------------------------------------------

    def differences(self) -> Results:
        """The JVP and the pullback against differences, one argument at a time."""
        self.of.require_finite()
        problem = self.problem
        paths = problem.paths()
        whole = self.of.direction(10)
        alone = problem.domain == problem.domain.ambient or not problem.given
        if not alone or len(paths) > _LEAVES or len(paths) == 1:
            cases = [(paths[0] if len(paths) == 1 else "all arguments", whole)]
        else:
            cases = [(path, only(problem, n, whole)) for n, path in enumerate(paths)]
        for where, direction in cases:
            try:
                yield from self._compared(where, direction)
            except Unavailable as reason:
                yield Result("differences", Outcome.SKIPPED, where, detail=str(reason))

    def _compared(self, where: str, direction: Any) -> Results:
        along = self.of.along(direction)
        estimate = differentiate(along, self.of.size)
        scale = float(np.linalg.norm(estimate.value))
        floor = 1e-8 if self.of.precise else 2e-4
        ladder = Ladder(along, self.of.size, np.zeros_like(estimate.value), self.of.evaluation)
        rounding = ladder.noise / self.of.size
        reached = estimate.error + ladder.noise / estimate.step
        tolerance = max(floor, 20 * reached / scale if scale else floor, self.of.tolerance(1))
        if not np.isfinite(estimate.error):
            raise Unavailable("no differences can be taken: values nearby are not finite")
        refuse_kink(ladder)
        if tolerance > _HIDDEN / 2 and scale > _HIDDEN * rounding:
            raise Unavailable(f"differences reach a relative precision of {tolerance:.0e} only")
        for name, pair in (
            ("jvp = differences", self._pushed),
            ("vjp = differences", self._pulled),
        ):
            try:
                mine, theirs = pair(direction, estimate.value)
            except MissingRuleError as missing:
                yield Result(name, Outcome.SKIPPED, where, detail=str(missing))
                continue
            error = float(np.linalg.norm(mine - theirs)) / max(scale, rounding, 1e-300)
            if name.startswith("vjp"):
                error /= max(1.0, rms(pack(self.of.weights)) * np.sqrt(pack(self.of.weights).size))
            detail = f"differences: {brief(theirs)}, rule: {brief(mine)}"
            yield measured(name, where, error, tolerance, detail)

    def _pushed(self, direction: Any, expected: Any) -> tuple[Any, Any]:
        return pack(self.of.push(direction)), expected

    def _pulled(self, direction: Any, expected: Any) -> tuple[Any, Any]:
        mine = pairing(self.of.pull(self.of.weights), direction)
        return np.atleast_1d(mine), np.atleast_1d(pack(self.of.weights) @ expected)

    # --- (3), (4) the derivative as a map --------------------------------------------------------

    def adjoint(self) -> Results:
        """<Du, v> = <u, D.H v> in given and in random inner products."""
        self.of.require_finite_derivative()
        problem = self.problem
        tolerance = self.of.tolerance(1)
        if problem.given:
            error = adjoint_error(
                self.of.map(problem.domain, problem.codomain), generator(self.seed, 40)
            )
            yield measured("adjoint identity", "the spaces given", error, tolerance, _ADJOINT)
        for trial in range(3):
            random = generator(self.seed, 30 + trial)
            domain, codomain = (
                randomised(space, random) for space in (problem.domain, problem.codomain)
            )
            error = adjoint_error(self.of.map(domain, codomain), random)
            where = f"random inner products {trial + 1}"
            yield measured("adjoint identity", where, error, tolerance, _ADJOINT)

    def linearity(self) -> Results:
        """D(a u + b v) = a D u + b D v."""
        self.of.require_finite_derivative()
        problem = self.problem
        derivative = self.of.map(problem.domain, problem.codomain)
        tolerance = self.of.tolerance(1)
        for where, linear_map in (("forward", derivative), ("reverse", derivative.H)):
            try:
                error = linearity_error(linear_map, generator(self.seed, 50))
            except MissingRuleError as missing:
                yield Result("linearity", Outcome.SKIPPED, where, detail=str(missing))
                continue
            yield measured("linearity", where, error, tolerance, "D(au + bv) is not aDu + bDv")

    def modes(self) -> Results:
        """Jacobians by columns and by rows; products with them where they are large."""
        self.of.require_finite_derivative()
        problem = self.problem
        tolerance = self.of.tolerance(1)
        if max(problem.domain.dimension, problem.codomain.dimension) <= _MATRIX:
            derivative = self.of.map(problem.domain, problem.codomain)
            columns, rows = (
                derivative.matrix(by=MatrixBy.COLUMNS),
                derivative.matrix(by=MatrixBy.ROWS),
            )
            where, detail = "Jacobian matrices", ""
            error = relative(columns, rows)
            if error > tolerance:
                row, column = np.unravel_index(np.argmax(np.abs(columns - rows)), columns.shape)
                one, two = columns[row, column], rows[row, column]
                detail = f"entry ({row}, {column}): forward {one:.9g}, reverse {two:.9g}"
        else:
            direction = self.of.direction(60)
            one = pairing(self.of.weights, self.of.push(direction))
            two = pairing(self.of.pull(self.of.weights), direction)
            where, detail = "a Jacobian-vector product", f"forward {one:.9g}, reverse {two:.9g}"
            size = np.linalg.norm(pack(self.of.push(direction))) * np.linalg.norm(
                pack(self.of.weights)
            )
            error = abs(float(one - two)) / max(float(size), 1e-300)
        yield measured("forward = reverse", where, error, tolerance, detail)

    # --- (5) second order ------------------------------------------------------------------------

    def _compositions(self, u: Any, v: Any) -> dict[str, Callable[[], Any]]:
        """The second derivative of <w, f> on u and v, in each order of the modes."""
        phi, point = self.of.weighed(), self.problem.point
        u, v = typed(u, point), typed(v, point)

        def slope(x: Any) -> Any:
            return jvp(phi, (x,), (u,))[1]

        def product(x: Any) -> Any:
            return pairing(grad(phi)(x), u)

        return {
            "forward on forward": lambda: jvp(slope, (point,), (v,))[1],
            "forward on reverse": lambda: jvp(product, (point,), (v,))[1],
            "reverse on forward": lambda: pairing(grad(slope)(point), v),
            "reverse on reverse": lambda: pairing(grad(product)(point), v),
        }

    def second_order(self) -> Results:
        """All four compositions agree."""
        self.of.require_finite_derivative()
        second_derivatives: dict[str, float] = {}
        name = "second-order modes"
        u, v = self.of.direction(70), self.of.direction(71)
        for order, compute in self._compositions(u, v).items():
            try:
                second_derivatives[order] = float(compute())
            except MissingRuleError as missing:
                yield Result(name, Outcome.SKIPPED, order, detail=str(missing))
        if not second_derivatives:
            return
        scale = self._second_scale(u, v, second_derivatives)
        tolerance = self.of.tolerance(2)
        reference = next(iter(second_derivatives.values()))
        if not np.all(np.isfinite(list(second_derivatives.values()))):
            raise Unavailable(f"second derivatives are not finite here: {second_derivatives}")
        for order, value in list(second_derivatives.items())[1:]:
            first = next(iter(second_derivatives))
            detail = f"{value:.12g}, {first} gives {reference:.12g}"
            error = abs(value - reference) / scale if value != reference else 0.0
            yield measured(name, order, error, tolerance, detail)

    def _second_scale(self, u: Any, v: Any, second_derivatives: dict[str, float]) -> float:
        """The size against which second derivatives are compared: |H u| |v|, or theirs."""
        sizes = [abs(value) for value in second_derivatives.values()]
        try:
            moved = jvp(
                grad(self.of.weighed()), (self.problem.point,), (typed(u, self.problem.point),)
            )
            sizes.append(float(np.linalg.norm(pack(moved[1])) * np.linalg.norm(pack(v))))
        except MissingRuleError:
            pass
        finite = [size for size in sizes if np.isfinite(size)]
        return max([*finite, 1e-300])

    def second_remainder(self) -> Results:
        """The second remainder of <w, f(x)>."""
        self.of.require_finite_derivative()
        yield from self._best(self._second_remainder)

    def _second_remainder(self, direction: Any) -> list[Result]:
        weights = pack(self.of.weights)
        slope = np.atleast_1d(pairing(self.of.pull(self.of.weights), direction))
        curvature = np.atleast_1d(self._curvature(direction))
        if not np.all(np.isfinite(curvature)):
            raise Unavailable("the second derivative is not finite here")
        along = self.of.along(direction)
        ladder = self._ladder(direction, slope, lambda step: np.atleast_1d(weights @ along(step)))
        remainder = ladder.second(self.problem.epsilon, curvature)
        if not remainder.rate > 2.9:
            refuse_kink(ladder)
        return [rate_result("second remainder ~ h^3", "<w, f(x)>", remainder, 2.9)]

    def _curvature(self, direction: Any) -> Any:
        missing: MissingRuleError | None = None
        for compute in self._compositions(direction, direction).values():
            try:
                return compute()
            except MissingRuleError as error:
                missing = error
        assert missing is not None
        raise missing

    # --- (7) batches -----------------------------------------------------------------------------

    def batching(self) -> Results:
        """vmap against a loop over three points nearby."""
        self.of.require_finite()
        problem = self.problem
        points = [
            pytrees.tree_map(
                lambda x, u: np.asarray(x + 1e-3 * np.abs(x) * u, type_of(x).dtype),
                problem.point,
                self.of.direction(80 + trial),
            )
            for trial in range(3)
        ]
        stacked = pytrees.tree_map(lambda *xs: np.stack(xs), *points)
        mapped = vmap(self.of.function)(stacked)
        rows = [problem.kept_part(problem.plain(unboxed(point))) for point in points]
        expected = pytrees.tree_map(lambda *ys: np.stack(ys), *rows)
        tolerance = 1e-12 if self.of.precise else 1e-5
        error = relative(pack(mapped), pack(expected))
        yield measured("vmap = loop", "three points", error, tolerance, "the values differ")


def _test_results(name: str, tests: Callable[[], Results]) -> list[Result]:
    """The results of the tests of one kind, up to one that cannot be made."""
    results: list[Result] = []
    try:
        with np.errstate(all="ignore"):
            for result in tests():
                results.append(result)
    except Unavailable as reason:
        results.append(Result(name, Outcome.SKIPPED, detail=str(reason)))
    except (MissingRuleError, MissingTransposeError, ValueNeededError) as error:
        results.append(Result(name, Outcome.SKIPPED, detail=str(error)))
    return results
