"""The public functions of packages, each with points that it may be asked at."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import numpy as np

from tests.packages.arguments import arguments, required

Case = tuple[str, Callable[..., Any], Iterator[tuple[Any, ...]]]
# What is constant between its steps, which are shorter than those of differences, and what is the
# rest of a division of a large number, to fewer digits than differences need.
STEPS = frozenset({"sgp4.functions.days2mdhms", "fluids.optional.spa.mean_sidereal_time"})
_APART = ("test", "numba", "vectorized", "plot", "visualizer", "examples")


def _functions(package: str, deep: bool = True) -> Iterator[Any]:
    """All functions of a package, each once: of its modules too, where it is looked into deep."""
    root = importlib.import_module(package)
    modules, seen = [root], set()
    for info in pkgutil.walk_packages(root.__path__, f"{package}.") if deep else ():
        if not any(part in info.name for part in _APART):
            try:
                modules.append(importlib.import_module(info.name))
            except Exception:  # which needs what is not installed
                continue
    for module in modules:
        for name in dir(module):
            value = getattr(module, name, None)
            home = getattr(value, "__module__", None) or ""
            inside = inspect.isfunction(value) and home.startswith(package)
            if inside and not name.startswith("_") and value not in seen:
                seen.add(value)
                yield value


def _by_name(package: str, deep: bool = True) -> Iterator[Case]:
    for number, function in enumerate(_functions(package, deep)):
        name = f"{function.__module__}.{function.__qualname__}"
        if name not in STEPS:
            yield name, function, arguments(function, number)


def _line_shapes(package: str) -> Iterator[Case]:
    """The functions of lmfit's models, with x and their parameters."""
    models = importlib.import_module(f"{package}.models").lmfit_models
    for name, model in models.items():
        try:
            function = model().func
        except TypeError:  # of a model that needs more than its parameters
            continue
        names = [name for name in inspect.signature(function).parameters if name != "x"]
        x = np.linspace(0.3, 2.3, 5)
        generator = np.random.default_rng(len(names))
        points = (tuple(generator.uniform(0.4, 1.6, len(names))) for _ in range(4))

        def shape(*parameters: Any, function: Any = function, x: Any = x) -> Any:
            return function(x, *parameters)

        yield f"lmfit.models.{name}", shape, (tuple(map(float, point)) for point in points)


def _within(low: Any, high: Any, seed: int) -> Iterator[tuple[Any, ...]]:
    generator = np.random.default_rng(seed)
    for _ in range(3):
        yield (np.asarray(low) + generator.uniform(0.3, 0.7, np.size(low)) * (high - low),)


def _benchmarks(package: str) -> Iterator[Case]:
    """The test functions of opfunu."""
    opfunu = importlib.import_module(package)
    for number, kind in enumerate(opfunu.get_all_name_based_functions()):
        try:
            problem = kind()
        except Exception:  # which needs data
            continue
        points = _within(problem.lb[:10], problem.ub[:10], number) if problem.ndim <= 10 else ()
        yield f"opfunu.{kind.__name__}", problem.evaluate, iter(points)


_PROBLEMS = (
    *("ackley", "griewank", "himmelblau", "rastrigin", "rosenbrock", "schwefel", "sphere"),
    *("zakharov", "zdt1", "zdt2", "zdt3", "zdt4", "zdt6", "bnh", "osy", "tnk", "truss2d"),
    *("welded_beam", "kursawe", "dtlz1", "dtlz2", "dtlz3", "dtlz4", "dtlz5", "dtlz6", "dtlz7"),
    *("g1", "g2", "g4", "g6", "g7", "g8", "g9", "g10", "ctp1", "ctp2", "dascmop1", "mw1", "mw2"),
    *("pressure_vessel", "cantilevered_beam", "wfg1", "wfg2", "wfg3", "wfg4", "wfg9", "modact"),
)


def _problems(package: str) -> Iterator[Case]:
    """The problems of pymoo."""
    get_problem = importlib.import_module(f"{package}.problems").get_problem
    for number, name in enumerate(_PROBLEMS):
        try:
            problem = get_problem(name)
        except Exception:  # which needs more arguments
            continue
        yield f"pymoo.{name}", problem.evaluate, _within(problem.xl, problem.xu, number)


_TLE = (
    "1 25544U 98067A   19343.69339541  .00001764  00000-0  38792-4 0  9991",
    "2 25544  51.6439 211.2001 0007417  17.6667  85.6398 15.50103472202482",
)


def _satellites(package: str) -> Iterator[Case]:
    """Orbits of sgp4 in time, by its code in Python, and its functions."""
    model = importlib.import_module(f"{package}.model")
    satellite = model.Satrec.twoline2rv(*_TLE)
    times = iter([(12.5,), (700.0,)])
    yield "sgp4.Satrec.sgp4_tsince", lambda time: satellite.sgp4_tsince(time)[1:], times
    days = zip(repeat(2458826.5), (0.3, 0.7), strict=False)
    yield "sgp4.Satrec.sgp4", lambda *day: satellite.sgp4(*day)[1:], days
    for case in _by_name(package):
        if required(case[1]):
            yield case


COLLECTIONS: dict[str, Callable[[str], Iterator[Case]]] = {
    **dict.fromkeys(("fluids", "chemicals", "ht", "transforms3d", "pytransform3d"), _by_name),
    **dict.fromkeys(("pymap3d",), _by_name),
    "colour": lambda package: _by_name(package, deep=False),
    "sgp4": _satellites,
    "pymoo": _problems,
    "opfunu": _benchmarks,
    "lmfit": _line_shapes,
}
"""How the functions of each package are collected, by the name that it is imported under."""
