"""Guards: the values that a captured function asked for, and what it was answered.

A program that is kept for other values is right for those at which every question has the same
answer. A question is weaker than the value where Python's own is: `if x > 0` asks for a truth
value, `int(x)` for a whole number, and `x[mask]` for all of the mask.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

WHOLE: Final = "value"  # the question for a value, to the last bit
TEXT: Final = "text"  # to be shown; a value that is shown is seldom the same again
DONE: Final = "done"  # whether the value can be computed, and no error comes of it
FAILS: Final = "fails"  # the same question, where an error of that class came
_QUESTIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "bool": bool,
    "int": int,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
}


class Guard(NamedTuple):
    """One question and its answer.

    place: how many records there were when it was asked. slot: of the value. kind: of the question.
    answer: hashable (see `answer_to`). value: what a program compares with; None for truth values.
    line: the user's, as file:line.
    """

    place: int
    slot: int
    kind: str
    answer: Any
    value: Any
    line: str

    @property
    def question(self) -> tuple[int, int, str]:
        """What was asked, whatever the answer."""
        if self.kind in (DONE, FAILS):
            return -1, -1, DONE
        return self.place, self.slot, self.kind


class Inquiry(NamedTuple):
    """One question of many, in the order in which they were asked.

    place: how many records there were. slot: of the value; -1 where it is one of another capture.
    kind: of the question. answer: for truth values alone. direct: whether it was asked of this
    capture's value, and not of what another capture makes of it.
    """

    place: int
    slot: int
    kind: str
    answer: bool
    direct: bool = True

    @property
    def is_truth(self) -> bool:
        """Whether the truth of a value of this capture was asked for."""
        return self.kind == "bool" and self.slot >= 0


def answer_to(kind: str, value: Any) -> Any:
    """The answer to a question at a value: hashable, and equal for values with the same answer."""
    if kind == DONE:
        return True
    if kind == FAILS:
        return np.linalg.LinAlgError if value else True
    if kind != WHOLE:
        return _QUESTIONS[kind](value)
    if isinstance(value, int):
        return value
    return np.asarray(value).tobytes()


def guard_of(place: int, slot: int, kind: str, value: Any, line: str) -> Guard:
    """The guard for a value.

    Whole numbers are asked of real numbers, and truth of single ones; a question of anything else,
    and one without an answer (int of NaN), is one for the value.
    """
    if kind in (DONE, FAILS):
        return Guard(place, slot, kind, answer_to(kind, value), None, line)
    array = np.asarray(value)
    if kind == "bool" and array.size == 1:
        return Guard(place, slot, kind, bool(value), None, line)
    if kind in _QUESTIONS and kind != "bool" and not array.ndim and array.dtype.kind == "f":
        try:
            answer = answer_to(kind, value)
        except (ValueError, OverflowError):
            pass
        else:
            return Guard(place, slot, kind, answer, float(answer), line)
    held = value.copy() if isinstance(value, np.ndarray) else value
    return Guard(place, slot, WHOLE, answer_to(WHOLE, value), held, line)
