"""The table of all that SciPy has, held against the SciPy that is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from scipy import linalg, ndimage, signal

import adjoint as ad
from adjoint.scipy.coverage import PARTS, State, as_markdown, public, state_of

RNG = np.random.default_rng(0)
ROW, MATRIX = RNG.uniform(0.2, 0.8, 8), RNG.uniform(0.1, 0.5, (4, 4)) + 3 * np.eye(4)
# What may be a call of a function of which nothing is known.
CALLS: tuple[tuple[Any, ...], ...] = (
    *((ROW,), (MATRIX,), (0.37,), (ROW, ROW[::-1]), (MATRIX, MATRIX.T), (3, ROW), (ROW, 3)),
    *((MATRIX, ROW[:4]), (2, 0.37), (2, 1, 0.37), (MATRIX, MATRIX, MATRIX, MATRIX)),
)
# Which draw at random, run for long, or mean the backend and no numbers.
NOT_CALLED = {
    *("clarkson_woodruff_transform", "bootstrap", "monte_carlo_test", "permutation_test", "power"),
    *("goodness_of_fit", "fit", "multiscale_graphcorr", "bws_test", "dunnett", "sobol_indices"),
    *("funm_multiply_krylov", "onenormest", "lobpcg", "quadratic_assignment", "make_distribution"),
}


def in_state(state: State) -> list[tuple[str, str]]:
    return [
        (part, name)
        for part in PARTS
        for name, value in public(part)
        if state_of(part, name, value) is state
    ]


def test_the_page_shows_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "scipy.md").read_text(encoding="utf-8")
    if f"Of SciPy {scipy.__version__}:" in page:  # of others the table has other names
        assert page.endswith(as_markdown())


def test_every_part_has_functions_in_each_state() -> None:
    assert {state: len(in_state(state)) > 50 for state in State} == dict.fromkeys(State, True)


def test_what_stands_nowhere_is_refused() -> None:
    assert state_of("linalg", "new_in_scipy", len) is State.REFUSED
    assert state_of("linalg", "ldl", linalg.ldl) is State.REFUSED
    with pytest.raises(ad.errors.UnsupportedFunctionError, match=r"scipy\.linalg\.ldl was given"):
        ad.grad(lambda x: linalg.ldl(x)[0].sum())(MATRIX)


def results(function: Any, args: tuple[Any, ...]) -> list[Any] | None:
    """The real numbers that a function of SciPy's gives; None where this is no call of it."""
    try:
        with np.errstate(all="ignore"):
            return list(inexact(function(*args)))
    except Exception:
        return None


def inexact(result: Any) -> Iterator[Any]:
    if isinstance(result, (tuple, list)):
        for part in result:
            yield from inexact(part)
    elif getattr(result, "dtype", np.dtype(type(result))).kind in "fc":
        yield result


def is_varying(function: Any, args: tuple[Any, ...], places: list[int]) -> bool:
    moved = list(args)
    for place in places:
        moved[place] = args[place] * (1 + 1e-3)
    one, other = results(function, args), results(function, tuple(moved))
    if not one or not other:
        return False
    return any(
        np.shape(a) == np.shape(b) and not np.array_equal(a, b, equal_nan=True)
        for a, b in zip(one, other, strict=False)
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", [part for part in PARTS if "sparse" not in part])
def test_what_is_refused_says_so(part: str) -> None:
    """No function in that state gives a value that varies, without an error of ours."""
    silent = []
    for name, function in public(part):
        refused = state_of(part, name, function) is State.REFUSED
        if not refused or isinstance(function, type) or name in NOT_CALLED:
            continue
        for args in CALLS:
            places = [n for n, arg in enumerate(args) if np.asarray(arg).dtype.kind == "f"]
            if not is_varying(function, args, places):
                continue

            def call(point: Any, f: Any = function, args: Any = args, places: Any = places) -> Any:
                whole = list(args)
                for place, x in zip(places, point, strict=True):
                    whole[place] = x
                return tuple(inexact(f(*whole)))

            try:
                with np.errstate(all="ignore"):
                    ad.vjp(call, tuple(args[place] for place in places))
            except ad.errors.AdjointError:
                continue
            silent.append((name, args))
    assert silent == []


def test_what_is_whole_is_asked_with_values() -> None:
    x = np.sin(np.arange(20.0))

    def sum_of_peaks(x: Any) -> Any:
        peaks, _ = signal.find_peaks(x)
        return np.sum(x[peaks] ** 2)

    peaks = signal.find_peaks(x)[0]
    gradient = ad.grad(sum_of_peaks)(x)
    assert np.array_equal(np.flatnonzero(gradient), peaks)
    compiled = ad.jit(sum_of_peaks)
    assert compiled(x) == sum_of_peaks(x)
    assert compiled(-x) == sum_of_peaks(-x)
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="find_peaks"):
        ad.grad(lambda x: signal.find_peaks(x, height=0.1)[1]["peak_heights"].sum())(x)
    image = np.outer(x, x)
    labels, count = ndimage.label(image > 0.1)
    slope = ad.grad(lambda y: np.sum(y * (ndimage.label(y > 0.1)[0] == 1)))(image)
    assert count > 1
    assert np.array_equal(slope, labels == 1)
