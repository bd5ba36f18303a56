"""Whether a call under capture does what NumPy does, and its derivatives agree."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

import adjoint as ad
from adjoint.base import pytrees
from tests.capture.arguments.checking import STEPS, copied, derivative_of, outcome
from tests.capture.comparing import is_inexact, leaves, same_values
from tests.capture.shapes.grid import NAMES, Row
from tests.capture.shapes.specimens import SINGLES, TWO

OUTCOMES = ("same", "same error", "refused", "differs", "derivative")
_NUMBERS = (np.ndarray, np.generic, int, float, complex, bool)


@lru_cache(maxsize=64)
def function_of(call: str) -> Callable[..., Any]:
    """A call as a function of a, or of a and b."""
    letters = "a, b" if re.search(r"(?<![\w.])b(?![\w'(=])", call) else "a"
    return eval(f"lambda {letters}: {call}", dict(NAMES))  # type: ignore[no-any-return]


def arguments_of(row: Row) -> tuple[Any, ...]:
    """The arrays of a row, as many as its function takes."""
    found = SINGLES.get(row[1]) or TWO[row[1]]
    return found[: function_of(row[0]).__code__.co_argcount]


def check(row: Row) -> tuple[str, str]:
    """The outcome of a row, and what is to be said of it."""
    function, args = function_of(row[0]), arguments_of(row)
    expected = outcome(function, args)
    seen: list[Any] = []
    numbers = _numeric(expected)

    def looked(*some: Any) -> Any:
        seen.append(function(*some))
        return seen[0] if numbers else some[0] * 1

    found = outcome(ad.jit(looked), args)
    if isinstance(expected, Exception) or isinstance(found, Exception):
        return _of_errors(found, expected)
    said = _difference(seen[0], expected, args) or (
        _difference(found, expected, args) if numbers else ""
    )
    if said:
        return "differs", said
    said = _derivative(row, function, args, expected)
    return (_kind(said), said) if said else ("same", "")


def _numeric(tree: Any) -> bool:
    found = pytrees.leaves(tree)
    return bool(found) and all(isinstance(leaf, _NUMBERS) for leaf in found)


def _of_errors(found: Any, expected: Any) -> tuple[str, str]:
    if not isinstance(found, Exception):
        return "differs", f"NumPy raises {expected!r}, we give {found!r}"
    if isinstance(expected, Exception):
        if type(found) is type(expected):
            return "same error", ""
        if "read-only" in str(expected):  # an argument is never changed, and its copy can be
            return "same error", ""
        return "differs", f"NumPy raises {expected!r}, we raise {found!r}"
    said = f"NumPy gives {' '.join(repr(expected).split())[:80]}, we raise {found!r}"
    return ("refused" if isinstance(found, ad.errors.AdjointError) else "differs"), said


def _difference(found: Any, expected: Any, args: Any) -> str:
    if not _numeric(expected):
        one, other = repr(found), repr(expected)
        return "" if one == other or "object at" in other else f"{one} is not {other}"
    numbers = [np.asarray(each) for each in (*args, *pytrees.leaves(expected))]
    single = any(each.dtype.char in "efF" for each in numbers)
    try:
        same_values(found, expected, 1e-4 if single else 1e-10)
    except (AssertionError, TypeError, ValueError) as error:
        return f"VALUE {' '.join(str(error).split())[:200]}"
    for one, other in zip(pytrees.leaves(found), pytrees.leaves(expected), strict=True):
        if isinstance(one, np.ndarray) is not isinstance(other, np.ndarray):
            return f"TYPE {type(one).__name__} is not {type(other).__name__}"
    return ""


def _derivative(row: Row, function: Any, args: Any, expected: Any) -> str:
    if not _numeric(expected):
        return ""
    arrays = [each for each in args if is_inexact(each)]
    arrays += [each for each in leaves(expected) if is_inexact(each)]
    single = any(each.dtype.char in "efF" for each in arrays)
    flat = single or bool(STEPS.search(row[0])) or "broadcast" in row[1]  # equal entries
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return derivative_of(
                function, copied(args), expected, 1e-3 if single else 1e-9, 0.0 if flat else 1e-5
            )
        except Exception as error:
            return f"DERIVATIVE of neighbours raises {error!r}"


def _kind(said: str) -> str:
    return "refused" if said.startswith("UNSUPPORTED") or "MissingRule" in said else "derivative"
