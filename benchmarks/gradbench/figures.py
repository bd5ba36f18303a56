"""The evals of GradBench: primals in NumPy, derivatives here, in JAX and by hand, first calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import adjoint as ad
from benchmarks import bundle
from benchmarks.compiled import SCALAR, by_hand
from benchmarks.descents import MODES, particle_plainly, saddle_plainly
from benchmarks.gradbench import ba, hand, inputs, learning, peer, scalars
from benchmarks.gradbench.functions import Function
from benchmarks.kmeans import by_differences, by_products, direction_of
from benchmarks.logsumexp import logsumexp
from benchmarks.measure import Thunk, medians
from benchmarks.minors import determinant
from benchmarks.peers import installed, jax_modules
from benchmarks.rk4 import solution
from benchmarks.table import Table, duration, ratio

_SECONDS = 4.0  # of measuring, a case
_NOTHING = "-"


@dataclass(frozen=True)
class Case:
    """A row of the table.

    goal: microseconds. peer: the name of JAX's function, or of the nearest that JAX has; none where
        JAX takes minutes to compile it. fixed: the arguments that are part of the program for JAX.
    hand: C++ by hand, and whether that is the primal.
    """

    title: str
    derivative: Callable[..., Any]
    arguments: tuple[Any, ...]
    primal: Callable[..., Any] | None
    peer: str | None
    goal: float | None = None
    fixed: tuple[int, ...] = ()
    hand: dict[str, Thunk] = field(default_factory=dict)
    primal_by_hand: bool = False


def run() -> list[Table]:
    jax = installed("jax")
    columns = ["the eval", "primal, NumPy", "adjoint", *(["JAX", "JAX = 1"] if jax else [])]
    columns += ["C++ by hand", "first call", *(["first call of JAX"] if jax else []), "goal"]
    table = Table(columns)
    _warm(jax)
    for case in cases():
        table.rows.append(_row(case, jax))
    return [table]


def _warm(jax: bool) -> None:
    """What loads a compiler is no part of a first call."""
    with ad.config(cache=False):
        ad.jit(ad.grad(lambda x: np.sum(x * x)))(np.ones(3))
    if jax:
        module, xp = jax_modules()
        module.block_until_ready(module.jit(module.grad(lambda x: xp.sum(x * x)))(xp.ones(3)))


def _row(case: Case, jax: bool) -> list[str]:
    ad.cache_clear()
    jitted = ad.jit(case.derivative)
    with ad.config(cache=False):
        first, found = _timed(lambda: jitted(*case.arguments))
    candidates: dict[str, Thunk] = {"adjoint": lambda: jitted(*case.arguments)}
    first_of_jax = None
    if jax and case.peer is not None:
        candidates["JAX"] = in_jax(case, case.peer)
        first_of_jax, result = _timed(candidates["JAX"])
        _agree(case.title, found, result)
    if case.primal is not None:
        candidates["NumPy"] = partial(case.primal, *case.arguments)
    if case.hand:
        candidates["C++"] = case.hand[SCALAR]
    times = medians(candidates, _SECONDS)
    _agree(case.title, jitted(*case.arguments), found)
    share = ratio(times["adjoint"] / times["JAX"]) if "JAX" in times else _NOTHING
    by_cpp = _duration(times.get("C++")) + (
        " (primal)" if case.primal_by_hand and case.hand else ""
    )
    return [
        case.title,
        _duration(times.get("NumPy")),
        _duration(times["adjoint"]),
        *([_duration(times.get("JAX")), share] if jax else []),
        by_cpp,
        _duration(first),
        *([_duration(first_of_jax)] if jax else []),
        _duration(None if case.goal is None else 1e-6 * case.goal),
    ]


def _duration(seconds: float | None) -> str:
    return _NOTHING if seconds is None else duration(seconds)


def _timed(thunk: Thunk) -> tuple[float, Any]:
    start = time.perf_counter()
    result = thunk()
    return time.perf_counter() - start, result


def in_jax(case: Case, name: str) -> Thunk:
    """JAX's function of arrays of its own, jitted and waited for; what is fixed stays NumPy's."""
    jax, xp = jax_modules()
    function = peer.derivatives()[name]
    free = [i for i in range(len(case.arguments)) if i not in case.fixed]
    given = [jax.tree.map(xp.asarray, case.arguments[i]) for i in free]

    def of_free(*values: Any) -> Any:
        own = dict(zip(free, values, strict=True))
        return function(*(own.get(i, each) for i, each in enumerate(case.arguments)))

    compiled = jax.jit(of_free)
    return lambda: jax.block_until_ready(compiled(*given))


def _agree(title: str, found: Any, wanted: Any) -> None:
    """Refuse to time what is not the derivative."""
    pairs = list(zip(_leaves(found), _leaves(wanted), strict=True))
    for got, want in pairs:
        off = np.max(np.abs(got - want), initial=0.0)
        if not off <= 1e-8 * np.max(np.abs(want), initial=0.0):
            raise AssertionError(f"{title} differs by {off:.2g}")


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for each in value:
            yield from _leaves(each)
    else:
        yield np.asarray(value)


# --- what is measured -----------------------------------------------------------------------------


def cases() -> Iterator[Case]:
    """At the sizes of the evals, each made when it is its turn."""
    random = np.random.default_rng(0)
    yield from _scalars(random)
    yield from _learning(random)
    yield _adjustment()
    for shares in (False, True):
        given = _read(hand.HT["jacobian"], inputs.ht(random, 800, shares))
        title = f"ht, 800 points, {'complicated' if shares else 'simple'}"
        yield Case(title, hand.jacobian, given, hand.misses, "ht", 300, fixed=(3, 4, 5))
    yield from _nested()


def _read(function: Function, given: Any) -> tuple[Any, ...]:
    return function.read(given)


def _scalars(random: inputs.Generator) -> Iterator[Case]:
    x, n = _read(scalars.LLSQ["gradient"], inputs.llsq(random, 4096, 128))
    t = np.linspace(-1, 1, n)
    cpp = by_hand("polynomial", [x, t, np.sign(t), len(x), n], [x.shape])
    gradient: Any = ad.grad(scalars.misses)
    yield Case("llsq, n = 4096, m = 128", gradient, (x, n), scalars.misses, "llsq", 80, (1,), cpp)
    for size, goal in ((2500, None), (40_000, 27)):
        (x,) = _read(scalars.LSE["gradient"], inputs.vector(random, size))
        cpp = by_hand("logsumexp", [x, size], [x.shape])
        yield Case(f"lse, n = {size}", ad.grad(logsumexp), (x,), logsumexp, "lse", goal, (), cpp)
    for steps, goal in ((10, 25), (100, 250)):
        x, s = _read(scalars.ODE["gradient"], inputs.ode(random, 1000, steps))
        cpp = by_hand("rk4", [x, len(x), s], [x.shape], function="rk4_gradient")
        title, gradient = f"ode, n = 1000, s = {steps}", ad.grad(scalars.last)
        yield Case(title, gradient, (x, s), solution, "ode", goal, (1,), cpp)
    (a,) = _read(scalars.DET["gradient"], inputs.det(random, 9))
    cpp = by_hand("minors", [a, 9], [()])
    gradient = ad.grad(determinant)
    yield Case("det, 9 × 9", gradient, (a,), determinant, None, 13, (), cpp, True)


def _learning(random: inputs.Generator) -> Iterator[Case]:
    for (d, k), goal in {(10, 25): 390, (32, 25): 2400, (64, 100): 30_000}.items():
        given = _read(learning.GMM["jacobian"], inputs.gmm(random, d, k, 1000))
        (alpha, mu, q, below), x = given[:2]
        factors = np.concatenate([q, below], 1)
        shapes = [alpha.shape, mu.shape, factors.shape]
        cpp = by_hand("mixture", [alpha, mu, factors, x, 1000, d, k], shapes)
        function, gradient = learning.log_posterior, ad.grad(learning.log_posterior)
        yield Case(f"gmm, d = {d}, k = {k}", gradient, given, function, "gmm", goal, (2, 3), cpp)
    given = _read(learning.KMEANS["dir"], inputs.kmeans(random, 100, 10_000, 8))
    cpp = by_hand("kmeans", [*given, 100, 10_000], [given[0].shape])
    title = "kmeans, k = 100, n = 10000, d = 8"
    for name, cost in (("differences", by_differences), ("products", by_products)):
        yield Case(f"{title}, {name}", direction_of(cost), given, cost, "kmeans", 700, (), cpp)
    given = _read(learning.LSTM["jacobian"], inputs.lstm(random, 2, 1024))
    (main, extra), sequence = given[:2]
    cpp = by_hand("lstm", [main, extra, sequence, 1024, 2, 14], [()])
    title, loss = "lstm, 2 layers, 1024 characters", learning.loss
    yield Case(title, ad.grad(loss), given, loss, "lstm", 250, (), cpp, True)


def _adjustment() -> Case:
    cameras, points, camera_of, point_of, weights, features = problem = bundle.problem()
    count = len(weights)
    given = (cameras, points, weights, np.stack([camera_of, point_of], 1), features)
    shapes = [(count, 2, 11), (count, 2, 3), (count, 2)]
    cpp = by_hand("bundle", [*problem, count], shapes)
    title = f"ba, {count} observations"
    return Case(title, ba.jacobian, given, _errors_by_numpy, "ba", 1100, (), cpp)


def _errors_by_numpy(*given: Any) -> Any:
    with ad.config(native=False):
        return ba.errors(*given)


def _nested() -> Iterator[Case]:
    starts = {"particle": (np.array(0.0), (), 950), "saddle": (np.array([1.0, 1.0]), (4,), 160)}
    functions = {"particle": particle_plainly, "saddle": saddle_plainly}
    for name, (start, shape, goal) in starts.items():
        cpp = by_hand("descents", [start], [shape], function=name)
        for modes, words in MODES.items():
            function = partial(functions[name], modes=modes)
            # JAX has no reverse mode through these loops: its forward mode stands in.
            theirs = f"{name} f{modes[1]}"
            yield Case(f"{name}, {words}", function, (start,), None, theirs, goal, (), cpp)
