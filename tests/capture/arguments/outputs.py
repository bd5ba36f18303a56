"""Rows of functions that put their result where `out=` says: new, traced, views, other dtypes."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np

from tests.capture.arguments.checking import made
from tests.capture.arguments.grid import GRID, METHOD_OUTS, function_of, method_rows, rows_of

PLACES = (
    "[o := np.zeros({shape}, '{dtype}'), {call}, o]",
    "[o := np.zeros({shape}, '{dtype}') + 0 * x[0, 0].astype('{dtype}'), {call}, o * 1]",
    "[o := np.zeros({double}, '{dtype}'), o := o[::2], {call}, o]",
    "[a := np.ones({double}, '{dtype}'), o := a[1::2], {call}, a * x[0, 0]]",
    "[o := np.zeros({turned}, '{dtype}').T, {call}, o]",
    "[o := np.zeros({shape}, np.float32), {call}, o]",
    "[o := np.zeros({shape}, complex), {call}, o]",
    "[o := np.zeros({shape}, int), {call}, o]",
    "[o := np.zeros({shape}, '{dtype}'), a := x[0, 0] * o, {call}, a, o]",
    "[o := 1.0, {call}]",
)
# Refused, or with rules of NumPy's own about the dtype and the shape of an output.
NOT_TRIED = (
    "np.nanargmax",
    "np.nanargmin",
    "np.linalg.multi_dot",
    "np.quantile",
    "np.percentile",
)


def rows(each: int, seed: int = 0) -> list[str]:
    """For every function and method that takes `out`, some calls and all places."""
    calls: list[str] = []
    for name in GRID:
        if name in NOT_TRIED:
            continue
        if "out" in inspect.signature(function_of(name)).parameters:
            calls += _plain(rows_of(name, 6 * each, seed), each)
    for name in sorted(METHOD_OUTS):
        calls += _plain(method_rows(name, 6 * each, seed), each)
    return [row for call in calls for row in _placed(call)]


def _plain(rows: list[str], count: int) -> list[str]:
    """Calls that give one array, and no view or copy of theirs."""
    found = [row for row in rows if isinstance(_result(row), (np.ndarray, np.generic))]
    return found[:count]


def _result(row: str) -> Any:
    function, args = made(row)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args)
        except Exception as error:
            return error


def _placed(row: str) -> list[str]:
    result = _result(row)
    shape = tuple(result.shape)
    words = {
        "call": f"{row[:-1]}{'' if row.endswith('()') else ', '}out=o)",
        "shape": shape,
        "dtype": result.dtype.str,
        "double": (2 * shape[0], *shape[1:]) if shape else (2,),
        "turned": shape[::-1],
    }
    return [place.format(**words) for place in PLACES]
