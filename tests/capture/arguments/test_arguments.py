"""The sweep, sampled: `python -m tests.capture.arguments` is the whole of it.

ADJOINT_SWEEP=400 in the environment takes that many rows a function here, too.
"""

from __future__ import annotations

import inspect
import os
import warnings

import numpy as np
import pytest

import adjoint as ad
from tests.capture.arguments import indexing, outputs, ufuncs
from tests.capture.arguments.checking import (
    alone,
    check_derivative,
    check_known,
    check_second,
    check_value,
    compare,
    made,
    outcome,
)
from tests.capture.arguments.grid import GRID, LEFT, METHODS, function_of, method_rows, rows_of
from tests.capture.arguments.refusals import REFUSED, is_expected
from tests.capture.comparing import refuses

COUNT = int(os.environ.get("ADJOINT_SWEEP", "6"))
CHUNK = 50


@pytest.fixture(autouse=True)
def plain_programs() -> object:
    """Programs are checked after every pass elsewhere; here there are thousands."""
    with ad.config(debug=False, native=False):
        yield


def said_of(rows: list[str], known_each: int = 3) -> list[str]:
    """What is wrong with rows: their values, their derivatives, and those of known arrays."""
    found = []
    for number, row in enumerate(rows):
        said, expected = check_value(row)
        if not said and not isinstance(expected, Exception):
            said = check_derivative(row, expected)
            if not said and number % known_each == 0:
                said = check_known(row)
        if said and not is_expected(said):
            found.append(f"{row}: {said}")
    return found


@pytest.mark.parametrize("name", GRID)
def test_functions(name: str) -> None:
    assert not said_of(rows_of(name, COUNT))


@pytest.mark.parametrize("name", METHODS)
def test_methods(name: str) -> None:
    assert not said_of(method_rows(name, COUNT))


@pytest.mark.parametrize("name", GRID)
def test_every_argument_of_numpys_signature_is_tried(name: str) -> None:
    parameters = set(inspect.signature(function_of(name)).parameters)
    assert parameters - set(GRID[name]) <= LEFT


UFUNC_ROWS = ufuncs.sampled(100 * COUNT)
INDEX_ROWS = indexing.rows()[:: max(1, 40 // COUNT)]
OUTPUT_ROWS = outputs.rows(1)[:: max(1, 24 // COUNT)]


@pytest.mark.parametrize("start", range(0, len(UFUNC_ROWS), CHUNK))
def test_ufuncs(start: int) -> None:
    assert not said_of(UFUNC_ROWS[start : start + CHUNK])


@pytest.mark.parametrize("start", range(0, len(OUTPUT_ROWS), CHUNK))
def test_outputs(start: int) -> None:
    assert not said_of(OUTPUT_ROWS[start : start + CHUNK], 1)


@pytest.mark.parametrize("start", range(0, len(INDEX_ROWS), CHUNK))
def test_indices(start: int) -> None:
    assert not said_of(INDEX_ROWS[start : start + CHUNK])


# --- twice, and in machine code -------------------------------------------------------------------

SMOOTH = [
    "np.sum(x, axis=0, where=b, initial=s)",
    "np.prod(x, axis=1, where=b, initial=2.5, keepdims=True)",
    "np.mean(z, axis=1, dtype=complex, where=[True, False, True])",
    "np.var(x, axis=0, ddof=1, where=b)",
    "np.std(x, axis=1, mean=np.mean(x, axis=1, keepdims=True), correction=1)",
    "np.cumprod(x, axis=1)",
    "np.diff(x, n=2, axis=0, prepend=v[None], append=s)",
    "np.gradient(v, np.cumsum(v * v + 1), edge_order=2)",
    "np.trapezoid(x, x=np.cumsum(v * v), axis=-1)",
    "np.average(x, axis=1, weights=v * v + 1)",
    "np.cov(x, aweights=v * v + 1)",
    "np.corrcoef(x, y)",
    "np.interp(s, np.cumsum(w * w), w, period=2.5 + s)",
    "np.geomspace(s, 2.0 + s, 5)",
    "np.pad(x, 2, mode='mean', stat_length=2)",
    "np.pad(v, 5, mode='reflect', reflect_type='odd')",
    "np.pad(x, 1, mode='linear_ramp', end_values=s)",
    "np.cross(w, m, axisc=0)",
    "np.einsum(x, [0, 1], v, [1], [0])",
    "np.insert(x, [0, 2], v, axis=0)",
    "np.take(x, [5, -7], axis=1, mode='wrap')",
    "np.quantile(x, 0.3, axis=0, method='weibull')",
    "np.nan_to_num(np.where(b, x, np.nan), nan=s)",
    "np.subtract.reduce(x, axis=1, initial=s)",
    "np.logaddexp.accumulate(x, axis=0)",
    "np.multiply.reduceat(x, [0, 2, 1])",
    "np.hypot.outer(v, w)",
    "[o := x * 1, np.multiply.at(o, [0, 0, 2], v), o]",
    "np.log(p, out=np.zeros((2, 3)), where=p > 1)",
    "np.matmul(x, y, axes=[(1, 0), (0, 1), (0, 1)])",
    "np.vecdot(z, z, axis=0, keepdims=True)",
]


@pytest.mark.parametrize("row", SMOOTH)
def test_second_order_in_every_composition(row: str) -> None:
    assert not check_second(row)


@pytest.mark.parametrize("row", SMOOTH)
def test_many_at_once(row: str) -> None:
    function, args = alone(row)
    others = tuple(each * 1.125 for each in args)
    stacks = [np.stack([one, two]) for one, two in zip(args, others, strict=True)]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first example says what it says alone
        found = ad.vmap(function)(*stacks)
    expected = outcome(function, args), outcome(function, others)
    for together, one, two in zip(found, *expected, strict=True):
        np.testing.assert_allclose(together, np.stack([one, two]), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("row", SMOOTH[::2])
def test_in_machine_code(row: str) -> None:
    function, args = made(row)
    expected = outcome(function, args)
    with ad.config(native=True):
        assert not compare(outcome(ad.jit(function), args), expected)
        assert not check_derivative(row, expected)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("row", REFUSED)
def test_what_is_not_supported_is_named(row: str) -> None:
    function, args = made(row)
    refuses(ad.jit, function, args, *REFUSED[row])


def test_lists_of_axes_are_refused_as_numpy_does() -> None:
    x = np.ones((2, 3))
    for name in ("sum", "mean", "prod", "max", "var", "any", "squeeze"):
        with pytest.raises(TypeError):
            ad.jit(lambda a, name=name: getattr(np, name)(a, axis=[0]))(x)


def test_a_wrong_row_is_noticed() -> None:
    """The sweep itself: a value, a dtype, a shape, an error and a derivative that are wrong."""
    assert compare(np.float64(1.0), np.float64(1.1))
    assert compare(np.float32(1.0), np.float64(1.0))
    assert compare(np.ones(1), np.ones(()))
    assert compare(ValueError(), TypeError())
    assert compare(np.float64(1.0), TypeError())
    assert compare(ValueError(), np.float64(1.0))
    assert check_derivative("np.trunc(x)", np.ones(3)) == ""
    assert check_derivative("1e-7 * (1e7 * x // 1)", np.ones(3)).startswith("DIFFERENCES")
