"""A function of the user's timed beside its derivatives and central differences.

The methods take turns, so that what else the machine does falls on all of them alike; a median over
the rounds is told with the range of the middle half.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import adjoint as ad
from adjoint.base import pytrees
from adjoint.base.arrays import is_numeric, type_of
from adjoint.base.errors import ArgumentError, MissingRuleError, NotDifferentiableError
from adjoint.report.plain import copied, plain_value
from adjoint.testing.problem import pack

ROUNDS: Final = 40
LEAST: Final = 5  # rounds, however long they take
TURN: Final = 2e-4  # seconds of one turn, in which a short call is repeated
LONGEST: Final = 1.0  # seconds of central differences, of more of which one coordinate is run
WARM: Final = 0.3  # seconds of calls, after which what is run often is machine code


@dataclass(frozen=True)
class Timing:
    """What was measured of one method.

    Attributes:
        name: of the method.
        median: seconds of a call.
        low, high: the quartiles of the rounds.
        first: seconds of the first call, with all that is prepared in it.
        error: how far its result is from the reference, relative to the largest entry of that;
            None for the value.
        rounds: how many there were.
        whole: whether all of it was run; if not, one entry was, and `median` is for all.
    """

    name: str
    median: float
    low: float
    high: float
    first: float
    error: float | None
    rounds: int
    whole: bool = True


@dataclass(frozen=True)
class Benchmark:
    """The timings of a function and its derivatives, and what the errors are relative to."""

    timings: tuple[Timing, ...]
    reference: str
    coordinates: int
    replayed: bool


@dataclass(frozen=True)
class _TimedWay:
    """A way to a result. share: how much of the work a call is; 1 but for central differences."""

    name: str
    call: Callable[[], Any]
    share: float = 1.0


def benchmark(function: Callable[..., Any], args: Sequence[Any], seconds: float) -> Benchmark:
    """Time the value, its derivative plain and jitted, and central differences.

    Of a real scalar the derivative is the gradient, with a Hessian-vector product beside; of
    anything else a JVP and a VJP.

    Args:
        function: plain NumPy code.
        args: the point; those without floating-point numbers are held fixed.
        seconds: for how long about the methods take turns.

    Raises:
        NotDifferentiableError: no argument holds floating-point numbers.
    """
    with np.errstate(all="ignore"):  # at each of many calls it would be the same warning
        return _benchmark(function, args, seconds)


def _benchmark(function: Callable[..., Any], args: Sequence[Any], seconds: float) -> Benchmark:
    problem = _Point(function, tuple(args))
    methods = problem.methods()
    firsts, results = _first_calls(methods)
    kept = [method for method in methods if method.name in results]
    times = _interleaved(kept, seconds)
    errors = problem.errors(results)
    timings = []
    for method in kept:
        rounds = sorted(taken / method.share for taken in times[method.name])
        quarter = len(rounds) // 4
        timings.append(
            Timing(
                method.name,
                statistics.median(rounds),
                rounds[quarter],
                rounds[-1 - quarter],
                firsts[method.name] / method.share,
                errors.get(method.name),
                len(rounds),
                method.share == 1,
            )
        )
    replayed = ad.explain(function, *args).replayed
    return Benchmark(tuple(timings), problem.reference, problem.size, replayed)


def _first_calls(methods: Sequence[_TimedWay]) -> tuple[dict[str, float], dict[str, Any]]:
    """The seconds and the results of first calls, for which nothing is prepared or kept on disk."""
    firsts, results = {}, {}
    with ad.config(cache=False):
        ad.program(np.tanh, np.ones(2)).native()  # loads LLVM, which no method is to pay for
        for method in methods:
            ad.cache_clear()
            start = time.perf_counter()
            with suppress(MissingRuleError):  # second derivatives may lack a rule
                results[method.name] = method.call()
                firsts[method.name] = time.perf_counter() - start
    return firsts, results


def _interleaved(methods: Sequence[_TimedWay], seconds: float) -> dict[str, list[float]]:
    """Seconds of a call, method by method, in rounds in which each has its turn."""
    repeats = {method.name: _repeats(method) for method in methods}
    times: dict[str, list[float]] = {method.name: [] for method in methods}
    end = time.perf_counter() + seconds
    for number in range(ROUNDS):
        if number >= LEAST and time.perf_counter() > end:
            break
        for method in methods:
            count = repeats[method.name]
            start = time.perf_counter()
            for _ in range(count):
                method.call()
            times[method.name].append((time.perf_counter() - start) / count)
    return times


def _repeats(method: _TimedWay) -> int:
    """How many calls one turn has, found while the method is warmed up."""
    start = end = time.perf_counter()
    while end - start < WARM:
        begun = end
        method.call()
        end = time.perf_counter()
        taken = end - begun
    return max(1, round(TURN / max(taken, 1e-9)))


class _Point:
    """A function at a point: what is differentiated, and in which ways."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.function = function
        self.args = args
        self.places = tuple(n for n, arg in enumerate(args) if _varies(arg))
        self.point = tuple(args[n] for n in self.places)
        self.size = pack(self.point).size
        if not self.size:
            raise NotDifferentiableError(
                "bench needs an argument of floating-point numbers to differentiate at. Integers "
                "and booleans carry no derivative: write 2.0 for 2."
            )
        random = np.random.default_rng(0)
        self.direction = pytrees.tree_map(
            lambda x: np.asarray(random.standard_normal(np.shape(x)), type_of(x).dtype)[()],
            self.point,
        )
        self.value = plain_value(function, args)
        before = [pack(copied(arg)) for arg in self.point]
        function(*args)
        if not all(map(_same, before, map(pack, self.point))):
            raise ArgumentError(
                "bench calls the function many times, and it changes an argument, so that no two "
                "calls do the same. Let it work on a copy: x = x.copy()."
            )
        leaves = pytrees.leaves(self.value)
        self.scalar = (
            len(leaves) == 1
            and not isinstance(self.value, tuple | list | dict)
            and type_of(leaves[0]).shape == ()
            and type_of(leaves[0]).dtype.kind == "f"
        )
        self.reference = ""

    def at(self, point: tuple[Any, ...]) -> Any:
        """The value with the point in its places."""
        merged = list(self.args)
        for place, value in zip(self.places, point, strict=True):
            merged[place] = value
        return self.function(*merged)

    def of_point(self) -> Callable[[tuple[Any, ...]], Any]:
        """The function of the point, to be captured: rebinding reaches the user's through it."""
        function, args, places = self.function, self.args, self.places

        def of_point(point: tuple[Any, ...]) -> Any:
            merged = list(args)
            for place, value in zip(places, point, strict=True):
                merged[place] = value
            return function(*merged)

        return of_point

    # --- ways -----------------------------------------------------------------------------------

    def methods(self) -> list[_TimedWay]:
        """All ways, the value first."""
        function, args = self.function, self.args
        jitted = ad.jit(function)
        value = [
            _TimedWay("value, NumPy", lambda: function(*args)),
            _TimedWay("value, jit", lambda: jitted(*args)),
        ]
        return [*value, *(self._of_scalar() if self.scalar else self._of_vector())]

    def _of_scalar(self) -> list[_TimedWay]:
        args, point, direction = self.args, self.point, self.direction
        gradient = ad.grad(self.function, argnums=self.places)
        jitted = ad.jit(gradient)
        of_point = self.of_point()
        product = ad.jit(lambda at, along: ad.hvp(of_point, at, along))
        return [
            _TimedWay("gradient", lambda: gradient(*args)),
            _TimedWay("gradient, jit", lambda: jitted(*args)),
            _TimedWay("Hessian product, jit", lambda: product(point, direction)),
            self._central_differences(),
        ]

    def _of_vector(self) -> list[_TimedWay]:
        point, direction, of_point = self.point, self.direction, self.of_point()
        random = np.random.default_rng(1)
        weights = pytrees.tree_map(
            lambda y: np.asarray(random.standard_normal(np.shape(y)), type_of(y).dtype)[()],
            self.value,
        )

        def push(at: Any, along: Any) -> Any:
            return ad.jvp(of_point, (at,), (along,))[1]

        def pull(at: Any, covector: Any) -> Any:
            return ad.vjp(of_point, at)[1](covector)[0]

        jitted_push, jitted_pull = ad.jit(push), ad.jit(pull)
        return [
            _TimedWay("JVP", lambda: push(point, direction)),
            _TimedWay("JVP, jit", lambda: jitted_push(point, direction)),
            _TimedWay("VJP", lambda: pull(point, weights)),
            _TimedWay("VJP, jit", lambda: jitted_pull(point, weights)),
            _TimedWay("central difference", lambda: self._difference(direction)),
        ]

    def _central_differences(self) -> _TimedWay:
        """All entries, or where that takes too long, one: the others would take as long."""
        start = time.perf_counter()
        self._difference(self.direction)
        one = time.perf_counter() - start
        count = self.size if one * self.size < LONGEST else 1
        basis = [self._one_hot(number) for number in range(count)]
        return _TimedWay(
            "central differences",
            lambda: [self._difference(along) for along in basis],
            count / self.size,
        )

    def _one_hot(self, number: int) -> Any:
        """The direction in which one coordinate moves, in the order of `pack`."""
        flat = np.zeros(self.size)
        flat[number] = 1
        return _unpacked(flat, self.point)

    def _difference(self, along: Any) -> Any:
        """(f(x + hu) - f(x - hu)) / 2h with h = eps^(1/3): rounding and truncation in balance."""
        eps = max(np.finfo(type_of(x).dtype).eps for x in pytrees.leaves(self.point) if _inexact(x))
        step = float(np.cbrt(eps)) * max(1.0, float(np.max(np.abs(pack(self.point)), initial=0)))

        def value(shift: float) -> Any:
            moved = pytrees.tree_map(lambda x, u: _moved(x, u, shift), self.point, along)
            return pack(self.at(moved))

        above, below = value(step), value(-step)
        return (above - below) / (2 * step)

    # --- errors ---------------------------------------------------------------------------------

    def errors(self, results: dict[str, Any]) -> dict[str, float]:
        """How far each derivative is from one that was found in another mode."""
        return self._gradient_errors(results) if self.scalar else self._map_errors(results)

    def _gradient_errors(self, results: dict[str, Any]) -> dict[str, float]:
        of_point = self.of_point()
        count = min(self.size, 200)
        self.reference = "forward mode" + (f", first {count} entries" if count < self.size else "")
        reference = np.array(
            [pack(ad.jvp(of_point, (self.point,), (self._one_hot(n),))[1])[0] for n in range(count)]
        )
        gradients = ("gradient", "gradient, jit")
        compared = {name: pack(results[name])[:count] for name in gradients if name in results}
        compared["central differences"] = np.ravel(results["central differences"])[:count]
        return {name: _error(one, reference[: one.size]) for name, one in compared.items()}

    def _map_errors(self, results: dict[str, Any]) -> dict[str, float]:
        self.reference = "the un-jitted JVP"
        if "JVP" not in results:
            return {}
        reference = pack(results["JVP"])
        along = ("JVP, jit", "central difference")
        return {name: _error(pack(results[name]), reference) for name in along if name in results}


def _same(one: Any, other: Any) -> bool:
    return bool(np.array_equal(one, other, equal_nan=True))


def _error(value: Any, reference: Any) -> float:
    scale = float(np.max(np.abs(reference), initial=0))
    difference = float(np.max(np.abs(value - reference), initial=0))
    return difference / scale if scale else difference


def _varies(arg: Any) -> bool:
    leaves = pytrees.leaves(arg)
    return bool(leaves) and all(is_numeric(leaf) and _inexact(leaf) for leaf in leaves)


def _inexact(leaf: Any) -> bool:
    return is_numeric(leaf) and type_of(leaf).inexact


def _moved(x: Any, u: Any, step: float) -> Any:
    return np.asarray(x + step * u, type_of(x).dtype)[()]


def _unpacked(flat: Any, model: Any) -> Any:
    """The point whose `pack` is a vector: real parts before imaginary ones, leaf by leaf."""
    leaves, treedef = pytrees.flatten(model)
    parts, start = [], 0
    for leaf in leaves:
        dtype, shape = type_of(leaf).dtype, type_of(leaf).shape
        size = int(np.prod(shape))
        part = flat[start : start + size].astype(dtype)
        start += size
        if dtype.kind == "c":
            part = part + 1j * flat[start : start + size]
            start += size
        parts.append(part.reshape(shape)[()])
    return pytrees.unflatten(treedef, parts)
