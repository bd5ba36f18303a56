"""What is seen of one call, and whether two calls were seen alike."""

from __future__ import annotations

import enum
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.errors import AdjointError

CLOSE = 1e-12  # values may be added up in another order


class Outcome(enum.Enum):
    """What a way to run a program came to."""

    RIGHT = "right"
    REFUSED = "refused"
    WRONG = "wrong"


@dataclass
class Verdict:
    """An outcome, and why."""

    outcome: Outcome
    reason: str = ""


RIGHT = Verdict(Outcome.RIGHT)


def wrong(reason: str) -> Verdict:
    """Fails."""
    return Verdict(Outcome.WRONG, reason)


def refused(reason: str) -> Verdict:
    """Said, in the words of a type of ours."""
    return Verdict(Outcome.REFUSED, reason)


@dataclass
class Seen:
    """One call: what it gave, raised, warned of and left behind."""

    value: Any = None
    slope: Any = None
    error: BaseException | None = None
    warned: list[tuple[type, str]] = field(default_factory=list)
    state: Any = None
    kept: bool = True  # the arguments are what they were

    @property
    def says_so(self) -> bool:
        """Whether one of the warnings is ours."""
        return any(category.__module__.startswith("adjoint") for category, _ in self.warned)


def copied(tree: Any) -> Any:
    """A tree whose arrays are copies, in the same layout."""
    return pytrees.tree_map(
        lambda leaf: alike(leaf, leaf) if isinstance(leaf, np.ndarray) else leaf, tree
    )


def alike(array: Any, entries: Any) -> Any:
    """A new array that lies in memory as another does, with these entries."""
    low, high = np.lib.array_utils.byte_bounds(array)
    if type(array) is not np.ndarray or not array.size or 0 in array.strides:
        made = array.copy("K")
    else:
        start = array.__array_interface__["data"][0] - low
        memory = np.empty(high - low, np.uint8)
        made = np.ndarray(array.shape, array.dtype, memory, start, array.strides)
    np.copyto(made, entries)
    return made


def watched(call: Callable[[], Any], log: list[Any] | None = None) -> Seen:
    """Run, and write down what happened; `call` gives a value, or a value and a slope.

    log: the list that collects warnings already; without it, all of them are shown to a new one.
    """
    if log is None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            return watched(call, caught)
    seen, before = Seen(), len(log)
    try:
        seen.value = call()
    except Exception as error:
        seen.error = error
    seen.warned = [(each.category, str(each.message)) for each in log[before:]]
    return seen


def unchanged(args: Any, before: Any) -> bool:
    """Whether arguments have the entries that their copies have."""
    pairs = zip(pytrees.leaves(args), pytrees.leaves(before), strict=True)
    return all(
        one.dtype == other.dtype and one.tobytes() == other.tobytes()
        for one, other in pairs
        if isinstance(one, np.ndarray) and isinstance(other, np.ndarray)
    )


# --- judging --------------------------------------------------------------------------------------


def judged(wanted: Seen, found: Seen, *, differentiated: bool) -> Verdict:
    """Whether a call of ours is what NumPy's is; slopes are compared elsewhere.

    differentiated: the derivative of the program was computed as well, and may warn.
    """
    if found.error is not None and not (
        wanted.error is not None and isinstance(found.error, type(wanted.error))
    ):
        text = f"{type(found.error).__name__}: {str(found.error)[:300]}"
        if isinstance(found.error, AdjointError):
            return refused(text)
        return wrong(f"raises {text}; NumPy: {wanted.error!r}")
    reason = ""
    if not found.kept:
        reason = "an argument was changed"
    elif wanted.error is not None and found.error is None:
        reason = f"gives {found.value!r} where NumPy raises {wanted.error!r}"
    elif wanted.error is None:
        reason = different_values(wanted.value, found.value)
    reason = reason or _other_warnings(wanted, found, differentiated)
    reason = reason or different_things(wanted.state, found.state, "state")
    if not reason:
        return RIGHT
    return refused("said: " + reason) if found.says_so else wrong(reason)


def _other_warnings(wanted: Seen, found: Seen, differentiated: bool) -> str:
    """How warnings differ: equal work is done once, and warns once."""
    theirs = [_said(each) for each in wanted.warned]
    ours = [_said(each) for each in found.warned if not each[0].__module__.startswith("adjoint")]
    missing = [each for each in theirs if each not in ours]
    if missing:
        return f"does not warn {missing[0]}"
    extra = [each for each in ours if each not in theirs]
    if differentiated:
        extra = [each for each in extra if each[0] is not RuntimeWarning]
    if extra:
        return f"warns {extra[0]}"
    if not differentiated and len(ours) > len(theirs):
        return f"warns {len(ours)} times, NumPy {len(theirs)} times"
    return ""


def _said(warning: tuple[type, str]) -> tuple[type, str]:
    """What is warned of, whatever the ufunc: a square root may be computed for a power."""
    category, text = warning
    return category, text.partition(" encountered in ")[0] if category is RuntimeWarning else text


def different_values(wanted: Any, found: Any, close: float = CLOSE) -> str:
    """How two results differ, or nothing."""
    if pytrees.flatten(wanted)[1] != pytrees.flatten(found)[1]:
        return f"gives {found!r}, NumPy {wanted!r}"
    for one, other in zip(pytrees.leaves(wanted), pytrees.leaves(found), strict=True):
        reason = _kinds(one, other) or different_numbers(one, other, close)
        if reason:
            return reason
    return ""


def _kinds(wanted: Any, found: Any) -> str:
    """Scalar, 0-d array or array; a Python number may come back as NumPy's."""
    numbers = (bool, int, float, complex)
    if isinstance(wanted, numbers) and not isinstance(wanted, np.generic):
        same = isinstance(found, (*numbers, np.generic))
        same = same and np.asarray(found).dtype == np.asarray(wanted).dtype
    elif isinstance(wanted, np.ndarray):
        same = isinstance(found, np.ndarray)
    else:
        same = type(wanted) is type(found)
    return "" if same else f"gives {found!r} ({type(found).__name__}), NumPy {wanted!r}"


def different_numbers(wanted: Any, found: Any, close: float) -> str:
    """How two arrays differ in shape, dtype or entries, or nothing."""
    one, other = np.asarray(wanted), np.asarray(found)
    if one.shape != other.shape or one.dtype != other.dtype:
        return f"gives {other.dtype}{other.shape}, NumPy {one.dtype}{one.shape}"
    if one.dtype.kind in "fc":
        wide = max(close, 40 * float(np.finfo(one.dtype).eps))
        scale = max([1.0, *np.abs(one[np.isfinite(one)]).flat])
        same = np.allclose(other, one, rtol=wide, atol=wide * scale, equal_nan=True)
    else:
        same = np.array_equal(one, other)
    return "" if same else f"gives {found!r}, NumPy {wanted!r}"


def different_things(wanted: Any, found: Any, where: str) -> str:
    """How two objects of Python differ, in types and contents, or nothing.

    A float may be NumPy's, which is one of Python's too.
    """
    alike = type(wanted) is type(found) or (type(wanted) is float and type(found) is np.float64)
    if not alike:
        return f"{where} is {found!r} ({type(found).__name__}), NumPy: {wanted!r}"
    if isinstance(wanted, dict):
        one, other = list(wanted), list(found)
        reason = different_things(one, other, f"keys of {where}")
        return reason or different_things([*wanted.values()], [*found.values()], where)
    if isinstance(wanted, (list, tuple)):
        if len(wanted) != len(found):
            return f"{where} has {len(found)} entries {found!r}, NumPy {len(wanted)}"
        for k, (one, other) in enumerate(zip(wanted, found, strict=True)):
            if reason := different_things(one, other, f"{where}[{k}]"):
                return reason
        return ""
    if isinstance(wanted, (np.ndarray, np.number, float, complex)):
        reason = different_numbers(wanted, found, CLOSE)
        return f"{where}: {reason}" if reason else ""
    if isinstance(wanted, (set, frozenset)):
        return different_things(sorted(wanted), sorted(found), where)
    return "" if wanted == found else f"{where} is {found!r}, NumPy: {wanted!r}"
