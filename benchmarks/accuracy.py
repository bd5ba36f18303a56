"""`python -m benchmarks.accuracy [NAME ...] [--write docs/accuracy.md]`: derivatives in ulps.

The value, the first and the second derivative of each elementwise function, on both executors, in
single and double precision, at points of all magnitudes, against many digits (`references.py`).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.special
from mpmath import mp, mpf

import adjoint as ad
from benchmarks.references import COMPOSED, NUMPY, Reference
from benchmarks.special_references import SPECIAL
from benchmarks.table import Table, replaced

ENOUGH = 4.0  # ulps
ORDERS = ("value", "first", "second")
LANES = 8  # as many equal numbers, so that machine code works on whole registers
Function = Callable[[Any], Any]

_NAMES = {"np": np, "softplus": lambda x: np.logaddexp(0.0, x)}


@dataclass(frozen=True)
class Case:
    """A function of one number, as plain NumPy code, and its reference."""

    name: str
    function: Function
    reference: Reference


def cases(names: Sequence[str] = ()) -> list[Case]:
    """All of them, or those of these names."""
    found = [Case(name, getattr(np, name), each) for name, each in NUMPY.items()]
    found += [Case(name, getattr(scipy.special, name), each) for name, each in SPECIAL.items()]
    space: dict[str, Any] = {**vars(scipy.special), **vars(np), **_NAMES}
    for text, each in COMPOSED.items():
        found.append(Case(text, eval(f"lambda x: {text}", space), each))
    return [each for each in found if not names or each.name in names]


# --- points ---------------------------------------------------------------------------------------

_SPECIAL_POINTS = (0.0, 0.5, 1.0, 1.4616321449683622, 2.0, np.pi / 2, np.pi, 2.5, 3.0, 18.0, 90.0)


def points(dtype: np.dtype[Any], count: int) -> np.ndarray[Any, Any]:
    """About so many numbers: of usual size, of all magnitudes, and near special points."""
    info = np.finfo(dtype)
    draw = np.random.default_rng(count)
    usual = 10.0 ** draw.uniform(-4, 3, count // 2)
    lowest, highest = np.log10(float(info.smallest_subnormal)), np.log10(float(info.max))
    every = 10.0 ** draw.uniform(lowest, highest, count // 4)
    steps = 2.0 ** -draw.uniform(2, info.nmant + 1, count // 4)
    near = draw.choice(_SPECIAL_POINTS, count // 4) * (1 + steps * draw.choice([-1, 1], count // 4))
    found = np.concatenate([usual, every, near, _SPECIAL_POINTS])
    found = np.concatenate([found, -found])
    ends = [float(info.smallest_subnormal), float(info.tiny), float(info.max)]
    with np.errstate(over="ignore"):
        rounded = np.unique(np.concatenate([found, ends, np.negative(ends)]).astype(dtype))
    finite: np.ndarray[Any, Any] = rounded[np.isfinite(rounded)]
    return finite


# --- derivatives ----------------------------------------------------------------------------------


def compositions(function: Function, order: int) -> list[Function]:
    """The ways in which a derivative of an order is asked for, entry by entry."""

    def reverse(inner: Function) -> Function:
        return ad.grad(lambda x: np.sum(inner(x)))

    def forward(inner: Function) -> Function:
        return lambda x: ad.jvp(inner, (x,), (np.ones_like(x),))[1]

    if order == 0:
        return [lambda x: function(x) + 0]
    if order == 1:
        return [reverse(function)]
    return [reverse(reverse(function)), forward(forward(function))]


def computed(function: Function, x: np.ndarray[Any, Any], native: bool) -> np.ndarray[Any, Any]:
    """A function at each of some points; in machine code one after another, in whole registers."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), ad.config(native=native):
        warnings.simplefilter("ignore")
        if not native:
            return np.asarray(function(x))
        run = ad.jit(function)
        return np.array([run(np.full(LANES, number))[0] for number in x])


# --- errors ---------------------------------------------------------------------------------------


def ulps(found: float, exact: Any, dtype: Any) -> float:
    """How many units in the last place of the exact number lie between."""
    info = np.finfo(dtype)
    with mp.workdps(60):
        largest = mpf(float(info.max))
        if np.isnan(found):
            return float("inf")
        if np.isinf(found):
            if abs(exact) > largest and (exact > 0) == (found > 0):
                return 0.0
            return float("inf")
        exponent = max(mp.mag(exact) - 1, int(info.minexp)) if exact else int(info.minexp)
        unit = mp.ldexp(1, exponent - info.nmant)
        if abs(exact) > largest:
            exact, unit = mp.sign(exact) * largest, mp.ldexp(1, int(info.maxexp) - 1 - info.nmant)
        return float(abs(mpf(float(found)) - exact) / unit)


@dataclass
class Worst:
    """The largest error of one quantity, and where it is."""

    ulps: float = 0.0
    point: float = 0.0
    found: float = 0.0
    exact: float = 0.0
    points: int = 0

    def note(self, error: float, point: float, found: float, exact: Any) -> None:
        self.points += 1
        if error > self.ulps:
            self.ulps, self.point = error, float(point)
            self.found, self.exact = float(found), float(exact)


@dataclass
class Measured:
    """The largest errors of a function, by precision, executor and order."""

    case: Case
    worst: dict[tuple[str, str, int], Worst] = field(default_factory=dict)

    def largest(self, order: int, dtype: str | None = None) -> Worst:
        """That of both executors, and of both precisions unless one is named."""
        keys = [key for key in self.worst if key[2] == order and dtype in (None, key[0])]
        return max((self.worst[key] for key in keys), key=lambda worst: worst.ulps)

    def within(self) -> bool:
        """Whether derivatives are as exact as is wanted."""
        return all(self.largest(order).ulps <= ENOUGH for order in (1, 2))


# What bounds those that are worse than wanted.
_ZEROS = "its zeros: SciPy's values are right to digits after the point there"
_ITS_VALUE = "its value, of which the derivative is made"
BOUNDS: dict[str, str] = {
    **dict.fromkeys(("j0", "j1", "y0", "y1", "i1e"), _ZEROS),
    **dict.fromkeys(("sindg", "cosdg", "tandg", "cotdg"), "SciPy's values at large angles are 0"),
    **dict.fromkeys(("sinc", "erfcinv", "erfinv"), _ITS_VALUE),
    **dict.fromkeys(("dawsn", "i0", "i1"), "SciPy's value, and sums of several terms"),
    **dict.fromkeys(("k0", "k1", "k0e", "k1e"), "SciPy's values of subnormal numbers"),
    **dict.fromkeys(("gamma", "gammaln", "psi", "rgamma"), "zeros of psi; SciPy's zeta"),
    **dict.fromkeys(("ellipk", "ellipe", "ellipkm1"), "SciPy's hypergeometric function"),
    "log_ndtr": "a product of four functions",
    "cosm1": "SciPy's value",
    "tan": "near its poles, the cube of its value",
    "expi": "a difference of infinities at subnormal numbers, and the zero at 1",
    "wrightomega": _ITS_VALUE,
    "spence": "a difference near 1",
    "betaln(2.5, x)": "a difference of equal numbers for large x",
    "power(2.5, x)": "the rounding of the logarithm in `power`",
}

EXECUTORS = {"NumPy": False, "native": True}


def measure(
    case: Case,
    count: int,
    dtypes: Sequence[str] = ("float64", "float32"),
    executors: Sequence[str] = tuple(EXECUTORS),
    orders: Sequence[int] = (0, 1, 2),
) -> Measured:
    """The errors of a function at about so many points."""
    result = Measured(case)
    for name in dtypes:
        dtype = np.dtype(name)
        x = points(dtype, count)
        for order in orders:
            exact = [case.reference(float(number), order) for number in x]
            real = np.array([each is not None for each in exact])
            wanted = [each for each in exact if each is not None]
            for executor in executors:
                worst = result.worst[name, executor, order] = Worst()
                for way in compositions(case.function, order):
                    found = computed(way, x[real], EXECUTORS[executor])
                    for point, number, truth in zip(x[real], found, wanted, strict=True):
                        worst.note(ulps(number, truth, dtype), point, number, truth)
    return result


# --- the page -------------------------------------------------------------------------------------


def _figure(error: float) -> str:
    if error == float("inf"):
        return "∞"
    return f"{error:.1f}" if error < 1000 else f"{error:.0e}"


def _rows(measured: Sequence[Measured]) -> Iterator[Sequence[str]]:
    for each in measured:
        names = ("float64", "float32")
        cells = [_figure(each.largest(order, name).ulps) for name in names for order in (0, 1, 2)]
        worst = max((each.largest(n, "float64") for n in (1, 2)), key=lambda worst: worst.ulps)
        bound = BOUNDS.get(each.case.name, "") if not each.within() else ""
        yield [f"`{each.case.name}`", *cells, f"{worst.point:.6g}", bound]


def table(measured: Sequence[Measured]) -> Table:
    """The largest errors, a line a function."""
    heads = [f"{order} {bits}" for bits in ("64", "32") for order in ("f", "f'", "f''")]
    return Table(["function", *heads, "worst at", "bounded by"], rows=list(_rows(measured)))


def summary(measured: Sequence[Measured]) -> str:
    """How many functions reach what is wanted."""
    lines = []
    for dtype in ("float64", "float32"):
        good = [each for each in measured if each.largest(0, dtype).ulps <= ENOUGH]
        counts = []
        for group in (measured, good):
            for order in (1, 2):
                counts.append(sum(each.largest(order, dtype).ulps <= ENOUGH for each in group))
        lines.append(
            f"`{dtype}`: of {len(measured)} functions {len(good)} have a value within {ENOUGH:g} "
            f"ulp, {counts[0]} a first derivative and {counts[1]} a second one; of those with such "
            f"a value, {counts[2]} and {counts[3]}."
        )
    return "\n".join(lines)


def _report(measured: Measured) -> None:
    """What is worse than wanted, as it is found."""
    for (dtype, executor, order), worst in measured.worst.items():
        if worst.ulps > ENOUGH:
            print(
                f"{measured.case.name:20} {dtype} {executor:6} {ORDERS[order]:6} "
                f"{_figure(worst.ulps):>8} at {worst.point!r}: {worst.found!r}, "
                f"not {worst.exact!r} ({worst.points})",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--points", type=int, default=60, help="about so many of each sign (60)")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="refresh the table of a page")
    options = parser.parse_args()
    measured = []
    for case in cases(options.names):
        measured.append(measure(case, options.points))
        _report(measured[-1])
    text = f"{summary(measured)}\n\n{table(measured).markdown()}"
    if options.write is None:
        print(text)
    else:
        options.write.write_text(replaced(options.write.read_text(), "accuracy", text))


if __name__ == "__main__":
    main()
