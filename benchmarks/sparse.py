"""Sparse Jacobians and Hessians: preparation (pattern, colouring, program) and each further one."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import adjoint as ad
from benchmarks.measure import Thunk, medians
from benchmarks.peers import installed, jax_modules
from benchmarks.table import Table, duration, ratio

TOLERANCE = 1e-9


class Problem(NamedTuple):
    """A function over a namespace `xp` (numpy or jax.numpy) at a point.

    second: whether its Hessian is meant, else its Jacobian. by_hand: gives the matrix. casadi: the
    function on CasADi's symbols.
    """

    name: str
    function: Callable[[Any, Any], Any]
    point: Any
    second: bool
    by_hand: Callable[[Any], Any] | None = None
    casadi: Callable[[Any, Any], Any] | None = None


# --- the problems ---------------------------------------------------------------------------------


def squared_differences(x: Any, xp: Any) -> Any:
    return (x[1:] - x[:-1]) ** 2


def differences_by_hand(x: Any) -> Any:
    slopes = 2 * (x[1:] - x[:-1])
    entries = np.empty(2 * len(slopes))
    entries[::2], entries[1::2] = -slopes, slopes
    numbers = np.arange(len(x))
    columns = np.stack([numbers[:-1], numbers[1:]], 1).ravel()
    starts = np.arange(0, 2 * len(slopes) + 1, 2)
    return sparse.csr_array((entries, columns, starts), shape=(len(slopes), len(x)))


def rosenbrock(x: Any, xp: Any) -> Any:
    return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def rosenbrock_by_hand(x: Any) -> Any:
    middle = np.zeros_like(x)
    middle[:-1] = 1200 * x[:-1] ** 2 - 400 * x[1:] + 2
    middle[1:] += 200
    beside = -400 * x[:-1]
    return sparse.diags_array([beside, middle, beside], offsets=[-1, 0, 1]).tocsr()


def brusselator(state: Any, xp: Any) -> Any:
    """Two substances on a square with periodic borders, which react and diffuse."""
    side = int(np.sqrt(state.shape[0] // 2))
    u, v = state.reshape(2, side, side)

    def around(w: Any) -> Any:
        across = xp.roll(w, 1, 0) + xp.roll(w, -1, 0)
        return side**2 / 50 * (across + xp.roll(w, 1, 1) + xp.roll(w, -1, 1) - 4 * w)

    product = u * u * v
    rates = xp.stack([around(u) + 1 + product - 4.4 * u, around(v) + 3.4 * u - product])
    return rates.reshape(-1)


def collocation(z: Any, xp: Any) -> Any:
    """The Lagrangian of an optimal control of van der Pol's oscillator, by the trapezoidal rule."""
    x, v, u = z[: 3 * (z.shape[0] // 3)].reshape(3, -1)
    rate = (1 - x * x) * v - x + u
    first = x[1:] - x[:-1] - 0.01 * (v[1:] + v[:-1])
    second = v[1:] - v[:-1] - 0.01 * (rate[1:] + rate[:-1])
    return xp.sum(x * x + v * v + u * u) + xp.sum(xp.sin(first)) + xp.sum(second * x[1:])


def collocation_in_casadi(z: Any, casadi: Any) -> Any:
    size = z.shape[0] // 3
    x, v, u = z[:size], z[size : 2 * size], z[2 * size : 3 * size]
    rate = (1 - x * x) * v - x + u
    first = x[1:] - x[:-1] - 0.01 * (v[1:] + v[:-1])
    second = v[1:] - v[:-1] - 0.01 * (rate[1:] + rate[:-1])
    energy = casadi.sum1(x * x + v * v + u * u)
    return energy + casadi.sum1(casadi.sin(first)) + casadi.sum1(second * x[1:])


def bundle(seed: int, cameras: int, points: int, seen: int) -> tuple[Any, Any]:
    """Reprojection errors: each of a camera's six numbers and a point's three."""
    random = np.random.default_rng(seed)
    camera_of = random.integers(0, cameras, seen)
    point_of = random.integers(0, points, seen)

    def errors(z: Any, xp: Any) -> Any:
        camera = z[: 6 * cameras].reshape(cameras, 6)[camera_of]
        point = z[6 * cameras :].reshape(points, 3)[point_of]
        turned = point + xp.cross(camera[:, :3], point) + camera[:, 3:]
        return (turned[:, :2] / (turned[:, 2:] + 5.0)).reshape(-1)

    return errors, 0.1 * random.standard_normal(6 * cameras + 3 * points)


def networks(x: Any, xp: Any) -> Any:
    """A deep network at each point of a line, which sees eight neighbours: products cost much."""
    rows = xp.stack([x[k : x.shape[0] - 7 + k] for k in range(8)], 1)
    mixing = 0.1 + 0.9 * np.eye(8)
    for _ in range(20):
        rows = xp.sin(rows @ mixing)
    return xp.sum(rows)


def casadis_differences(x: Any, casadi: Any) -> Any:
    return (x[1:] - x[:-1]) ** 2


def casadis_rosenbrock(x: Any, casadi: Any) -> Any:
    return casadi.sum1(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def problems() -> list[Problem]:
    random = np.random.default_rng(0)
    errors, unknowns = bundle(1, 50, 2000, 8000)
    line = (False, differences_by_hand, casadis_differences)
    chain = (True, rosenbrock_by_hand, casadis_rosenbrock)
    control = (True, None, collocation_in_casadi)
    return [
        Problem("differences, 4 000", squared_differences, np.linspace(0, 1, 4000), *line),
        Problem("differences, 100 000", squared_differences, np.linspace(0, 1, 100_000), *line),
        Problem("Rosenbrock, 1 000", rosenbrock, random.normal(size=1000), *chain),
        Problem("Rosenbrock, 100 000", rosenbrock, random.normal(size=100_000), *chain),
        Problem("Brusselator, 2 · 64²", brusselator, random.random(2 * 64**2), False),
        Problem("Brusselator, 2 · 256²", brusselator, random.random(2 * 256**2), False),
        Problem("optimal control, 9 999", collocation, random.normal(size=9999), *control),
        Problem("networks, 2 000", networks, 0.1 * random.normal(size=2000), True),
        Problem("bundle adjustment, 6 300", errors, unknowns, False),
    ]


# --- who computes them ----------------------------------------------------------------------------


def _adjoint(problem: Problem) -> Thunk:
    make = ad.hessian if problem.second else ad.jacobian
    matrix = make(lambda x: problem.function(x, np), sparse=True)
    return lambda: matrix(problem.point)


def _asdex(problem: Problem) -> Thunk:
    asdex = import_module("asdex")
    jax, xp = jax_modules()
    point = xp.asarray(problem.point)

    def function(x: Any) -> Any:
        return problem.function(x, xp)

    if problem.second:
        matrix = asdex.hessian_from_coloring(function, asdex.hessian_coloring(function, point))
    else:
        matrix = asdex.jacobian_from_coloring(function, asdex.jacobian_coloring(function, point))
    compiled = jax.jit(matrix)
    return lambda: jax.block_until_ready(compiled(point))


def _casadi(problem: Problem) -> Thunk:
    casadi = import_module("casadi")
    assert problem.casadi is not None
    x = casadi.SX.sym("x", len(problem.point))
    value = problem.casadi(x, casadi)
    matrix = casadi.hessian(value, x)[0] if problem.second else casadi.jacobian(value, x)
    function = casadi.Function("matrix", [x], [matrix])
    return lambda: function(problem.point)


def _as_csr(matrix: Any) -> Any:
    if hasattr(matrix, "todense") and not sparse.issparse(matrix):  # JAX's BCOO
        places = tuple(np.asarray(matrix.indices).T)
        return sparse.csr_array((np.asarray(matrix.data), places), shape=matrix.shape)
    return sparse.csr_array(matrix.sparse() if hasattr(matrix, "sparse") else matrix)


def _agree(one: Any, other: Any) -> None:
    one, other = _as_csr(one), _as_csr(other)
    gap = abs(one - other).max()
    if not gap <= TOLERANCE * abs(one).max():
        raise AssertionError(f"two Jacobians differ by {gap:.2g}")


def _line(problem: Problem) -> list[str]:
    makers: dict[str, Callable[[Problem], Thunk]] = {"adjoint": _adjoint}
    if installed("asdex"):
        makers["asdex"] = _asdex
    if installed("casadi") and problem.casadi is not None:
        makers["CasADi"] = _casadi
    ad.cache_clear()
    thunks: dict[str, Thunk] = {}
    first: dict[str, Any] = {}
    preparation: dict[str, float] = {}
    for name, make in makers.items():
        start = time.perf_counter()
        thunks[name] = make(problem)
        first[name] = thunks[name]()
        preparation[name] = time.perf_counter() - start
    if problem.by_hand is not None:
        by_hand, point = problem.by_hand, problem.point
        thunks["by hand"] = lambda: by_hand(point)
        first["by hand"] = by_hand(point)
    for result in first.values():
        _agree(first["adjoint"], result)
    times = medians(thunks, 6.0)
    return [
        problem.name,
        f"{first['adjoint'].nnz:,}".replace(",", " "),
        duration(times["adjoint"]),
        *(_beside(times, name) for name in ("by hand", "asdex", "CasADi")),
        *(_stated(preparation, name) for name in ("adjoint", "asdex", "CasADi")),
    ]


def _stated(seconds: dict[str, float], name: str) -> str:
    return duration(seconds[name]) if name in seconds else ""


def _beside(times: dict[str, float], name: str) -> str:
    """A time, and how many times adjoint's it is."""
    if name not in times:
        return ""
    return f"{duration(times[name])}, {ratio(times[name] / times['adjoint'])}"


def run() -> list[Table]:
    columns = ["", "entries", "adjoint", "NumPy by hand", "asdex, jitted", "CasADi"]
    table = Table([*columns, "prepared by adjoint", "asdex", "CasADi"])
    # What a process pays once, for the first sizes that are coloured.
    for size in (20_000, 60_000, 300_000):
        ad.jacobian(lambda x: squared_differences(x, np), sparse=True)(np.zeros(size))
        ad.hessian(lambda x: rosenbrock(x, np), sparse=True)(np.ones(size))
    table.rows = [_line(problem) for problem in problems()]
    return [table]
