"""One function at one point: its value against NumPy's, its gradient against differences."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import adjoint as ad

SECONDS = 20.0
_STEP = 1e-5  # relative
_NEAR = 1e-4
_ROUNDING = 1e3 * np.finfo(float).eps
_TINY = 1e-100  # of 1/V for a V beyond 1e154 the slope, -1/V^2, is no double any more
Point = tuple[Any, ...]


@dataclass(frozen=True)
class Verdict:
    """What came of a function, and what there is to say.

    It is right, refused, late, a crash or wrong; or some slopes are NaN, as where a formula that
    is smooth goes through arccos(-1): no number is claimed, and none is missing in silence.
    """

    name: str
    outcome: str
    detail: str = ""


class _Late(Exception):
    """It took too long."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise where a block takes longer, in the main thread."""

    def late(*_: Any) -> None:
        raise _Late

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def total(result: Any) -> Any:
    """One number of a result: a sum of its numbers with weights that differ."""
    leaves = _leaves(result)
    return sum(
        np.sum(leaf * np.cos(np.arange(1.0, np.size(leaf) + 1)).reshape(np.shape(leaf)))
        for leaf in leaves
    )


def _leaves(result: Any) -> list[Any]:
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in _leaves(part)]
    if isinstance(result, (float, np.floating)):
        return [result]
    if isinstance(result, np.ndarray) and result.dtype.kind == "f":
        return [result]
    if isinstance(result, (int, str, bool, np.generic, type(None))):
        return []
    raise TypeError(f"a result of type {type(result).__name__}")


def suited(function: Callable[..., Any], points: Iterator[Point]) -> Any:
    """The first point at which a function is smooth, its value, and differences; None if none is.

    Smooth is where central differences with two steps agree.
    """
    start = time.monotonic()
    for point in points:
        if time.monotonic() > start + SECONDS:
            break
        try:
            with limited(5.0), np.errstate(all="ignore"):
                value = total(function(*_copies(point)))
                if not isinstance(value, np.floating) or not _TINY < abs(value) < np.inf:
                    continue
                differences = _differences(function, point, float(value))
        except Exception:  # whatever it does not take
            continue
        if differences is not None and np.any(differences):
            return point, float(value), differences
    return None


def _differences(
    function: Callable[..., Any], point: Point, value: float, step: float = _STEP
) -> Any:
    slopes = []
    for number, argument in enumerate(point):
        for place in np.ndindex(np.shape(argument)):
            size = max(abs(float(np.asarray(argument)[place])), 1e-3) * step
            coarse, fine = (
                (
                    total(function(*_moved(point, number, place, h)))
                    - total(function(*_moved(point, number, place, -h)))
                )
                / (2 * h)
                for h in (size, size / 2)
            )
            noise = _ROUNDING * abs(value) / size
            if not np.isfinite(coarse) or abs(coarse - fine) > _NEAR * abs(fine) + noise:
                return None
            slopes.append((float(fine), float(noise)))
    return np.array(slopes)


def _moved(point: Point, number: int, place: tuple[int, ...], step: float) -> list[Any]:
    moved = _copies(point)
    if place:
        moved[number][place] += step
    else:
        moved[number] += step
    return moved


def _copies(point: Point) -> list[Any]:
    return [x.copy() if isinstance(x, np.ndarray) else x for x in point]


def judged(name: str, function: Callable[..., Any], points: Iterator[Point]) -> Verdict | None:
    """The verdict on a function; None where no point suits it."""
    found_at = suited(function, points)
    if found_at is None:
        return None
    point, value, differences = found_at
    try:
        with limited(SECONDS), np.errstate(all="ignore"):
            derivative = ad.value_and_grad(
                lambda *x: total(function(*x)), argnums=tuple(range(len(point)))
            )
            got, gradients = derivative(*point)
    except ad.errors.AdjointError as error:
        return Verdict(name, "refused", f"{type(error).__name__}: {error}")
    except _Late:
        return Verdict(name, "late")
    except Exception as error:
        return Verdict(name, "crash", f"{type(error).__name__}: {error}")
    return _compared(name, function, (got, gradients), (value, differences), point)


def _near(flat: Any, differences: Any) -> Any:
    slopes, noise = differences.T
    return np.abs(flat - slopes) <= 10 * (_NEAR * np.maximum(abs(flat), abs(slopes)) + noise)


def _compared(
    name: str, function: Callable[..., Any], ours: Any, theirs: Any, point: Sequence[Any]
) -> Verdict:
    (got, gradients), (value, differences) = ours, theirs
    flat = np.concatenate([np.ravel(gradient) for gradient in gradients])
    near = _near(flat, differences)
    if not near.all():  # which may be the rounding within the function: longer steps have less
        with limited(5.0), np.errstate(all="ignore"):
            longer = _differences(function, tuple(point), value, _STEP * 30)
        near |= _near(flat, longer) if longer is not None else False
    if abs(got - value) <= 1e-9 * abs(value) + 1e-300 and near.all():
        return Verdict(name, "right")
    slopes = differences[:, 0]
    unknown = abs(got - value) <= 1e-9 * abs(value) and np.isnan(flat[~near]).all()
    outcome = "nan" if unknown else "wrong"
    return Verdict(name, outcome, f"at {point}: {got}, {flat}; NumPy {value}, differences {slopes}")
