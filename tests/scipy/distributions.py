"""What the distributions of `scipy.stats` can do: each method, in each argument, against SciPy.

`python -m tests.scipy.distributions` prints the table of docs/scipy.md.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats
from scipy.stats._distr_params import distcont, distdiscrete

import adjoint as ad

CONTINUOUS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf")
DISCRETE = ("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf")
LOC, SCALE = 0.2, 1.3


@functools.cache
def cases() -> dict[str, tuple[Any, ...]]:
    """The distributions that have a name, with shapes that SciPy tries."""
    named: dict[str, tuple[Any, ...]] = {}
    for name, shapes in (*distcont, *distdiscrete):
        if isinstance(name, str):
            named.setdefault(name, shapes)
    del named["poisson_binom"]  # whose shape is a list
    return named | {"kappa4": (0.4, 0.3)}  # away from the limits of its formulas


def methods(name: str) -> tuple[str, ...]:
    """The methods that are tried."""
    return DISCRETE if is_discrete(name) else CONTINUOUS


def is_discrete(name: str) -> bool:
    """Whether a distribution has masses."""
    return isinstance(getattr(stats, name), stats.rv_discrete)


def argument_names(name: str) -> list[str]:
    """The real arguments: of a discrete distribution the shapes that do not count."""
    shapes = [info.name for info in getattr(stats, name)._shape_info()]
    if is_discrete(name):
        return shapes
    return ["x", *shapes, "loc", "scale"]


def points(name: str, method: str) -> tuple[float, ...]:
    """Two places, one in each half."""
    if method == "ppf":
        return (0.31, 0.83)
    shapes = cases()[name]
    if is_discrete(name):
        return tuple(map(float, getattr(stats, name).ppf([0.31, 0.83], *shapes)))
    return tuple(map(float, getattr(stats, name).ppf([0.31, 0.83], *shapes, LOC, SCALE)))


def call(name: str, method: str, place: float) -> tuple[Callable[..., Any], tuple[float, ...]]:
    """A method as a function of its real arguments, and these."""
    evaluate, shapes = getattr(getattr(stats, name), method), tuple(map(float, cases()[name]))
    if is_discrete(name):
        return (lambda *given: evaluate(place, *given)), shapes
    return (lambda *given: evaluate(*given)), (place, *shapes, LOC, SCALE)


def differences_of(
    function: Callable[..., Any], args: tuple[float, ...], place: int
) -> list[float]:
    """The derivative by differences, with three steps."""

    def at(step: float) -> float:
        return float(function(*args[:place], args[place] + step, *args[place + 1 :]))

    slopes = []
    for size in (1e-4, 1e-5, 1e-6):
        h = size * max(1.0, abs(args[place]))
        slopes.append((8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h))
    return slopes


def is_right(slope: float, differences: list[float]) -> bool:
    """Whether one of the differences says the same, as far as they agree with each other."""
    first, second, third = differences
    unsure = min(abs(first - second), abs(second - third))
    close = min(abs(slope - other) for other in differences)
    return bool(close <= 1e-6 * max(1e-3, abs(second)) + 3 * unsure)


def refused_arguments(name: str, method: str) -> list[str]:
    """The arguments in which there is no derivative; an assertion where one is wrong."""
    names = argument_names(name)
    refused: list[str] = []
    for place in points(name, method):
        function, args = call(name, method, place)
        for number, argument in enumerate(names):
            if argument in refused:
                continue
            try:
                value, slope = ad.value_and_grad(function, argnums=number)(*args)
            except ad.errors.AdjointError:
                refused.append(argument)
                continue
            np.testing.assert_allclose(value, function(*args), rtol=1e-12)
            expected = differences_of(function, args, number)
            if np.isfinite(expected).all():
                assert is_right(float(slope), expected), (name, method, argument, slope, expected)
    return refused


def agrees_with_itself(name: str, method: str, refused: list[str]) -> bool:
    """Compiled as it is eager; in a batch too, or refused there: whether it is not refused."""
    names = argument_names(name)
    numbers = tuple(n for n, argument in enumerate(names) if argument not in refused)
    if not numbers:
        return True
    function, args = call(name, method, points(name, method)[0])
    slopes = ad.value_and_grad(function, argnums=numbers)
    value, eager = slopes(*args)
    again, compiled = ad.jit(slopes)(*args)
    np.testing.assert_allclose(again, value, rtol=1e-12)
    np.testing.assert_allclose(compiled, eager, rtol=1e-9, atol=1e-14)
    try:
        many, batched = ad.vmap(slopes)(*(np.array([arg, arg]) for arg in args))
    except ad.errors.AdjointError:
        return False
    np.testing.assert_allclose(many[0], value, rtol=1e-12)
    np.testing.assert_allclose([slope[0] for slope in batched], eager, rtol=1e-9, atol=1e-14)
    return True


def row(name: str) -> str:
    """What a distribution cannot do: nothing, or methods, each with its arguments."""
    parts: dict[str, list[str]] = {}
    alone = []
    names = argument_names(name)
    for method in methods(name):
        refused = refused_arguments(name, method)
        if refused:
            what = "all" if refused == names else ", ".join(refused)
            parts.setdefault(what, []).append(method)
        if refused != names and not agrees_with_itself(name, method, refused):
            alone.append(method)
    every = list(methods(name))
    texts = [f"{what} of {_listed(some, every)}" for what, some in parts.items()]
    if alone:
        texts.append(f"in a batch: {_listed(alone, every)}")
    return "; ".join(texts)


def _listed(some: list[str], every: list[str]) -> str:
    return "every method" if some == every else ", ".join(f"`{method}`" for method in some)


def table() -> str:
    """The lines of the table."""
    return lines_of({name: row(name) for name in cases()})


def lines_of(texts: dict[str, str]) -> str:
    """Distributions that cannot do the same, together."""
    rows: dict[str, list[str]] = {}
    for name, text in texts.items():
        rows.setdefault(text, []).append(name)
    lines = ["| distributions | no derivative |", "|---|---|"]
    for text, names in sorted(rows.items(), key=lambda item: (item[0] != "", -len(item[1]))):
        lines.append(f"| {', '.join(sorted(names))} | {text or 'none is missing'} |")
    return "\n".join(lines)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(table())
