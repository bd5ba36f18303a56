"""How much time LLVM is to spend on a text."""

from __future__ import annotations

import re
from enum import Enum
from itertools import pairwise

# A text of more characters than this is compiled with `Effort.LIGHT`: what is hot in it stands in
# functions of their own, and the rest runs about as fast as with more effort (79 programs: 0.6 %
# slower in the median, 8 % at most).
_SHORT_TEXT = 50_000
# But what gathers the numbers of a vector from many places is worth to be moved out of a loop:
# sums along both axes of x @ y.T, of 130 rows, took 7 times as long.
_GATHER = re.compile(r"call [^@\n]*@llvm\.masked\.gather\.")
# LLVM's scheduler and register allocator take more than linear time on long straight-line code: a
# block of more characters than this, in a long text, is compiled with `Effort.QUICK` (8,000
# instructions: 17 ms instead of 150).
_LONG_BLOCK = 250_000
_LONG_TEXT = 500_000
# The scheduler of what has its registers takes half of the time on blocks that are longer than
# this, and processors that reorder instructions themselves run the result no faster.
_LONG_TO_SCHEDULE = 100_000
_LABEL = re.compile(r"^(?:define |[\w.$-]+:)", re.MULTILINE)
_GLOBAL = re.compile(r"^@.*$", re.MULTILINE)


class Effort(Enum):
    """How much time is spent on better code.

    QUICK is a single sweep, in time proportional to the text; straight-line code loses nothing by
    it but the fusing of products with sums. LIGHT cleans up and allocates registers well. NORMAL
    also moves what a loop repeats out of it, and takes the most time per instruction.
    """

    QUICK = "quick"
    LIGHT = "light"
    NORMAL = "normal"


def effort_for(text: str) -> Effort:
    """The effort that a text is worth, if nobody says it: tables of numbers are no work."""
    text = _GLOBAL.sub("", text)
    if len(text) <= (_LONG_TEXT if _GATHER.search(text) else _SHORT_TEXT):
        return Effort.NORMAL
    long = len(text) > _LONG_TEXT and _longest_block(text) > _LONG_BLOCK
    return Effort.QUICK if long else Effort.LIGHT


def code_level(text: str, effort: Effort) -> int:
    """The level, as LLVM counts them, at which instructions are chosen and get registers."""
    if effort is not Effort.NORMAL:
        return 0 if effort is Effort.QUICK else 1
    long = len(text) > _LONG_TO_SCHEDULE
    return 1 if long and _longest_block(_GLOBAL.sub("", text)) > _LONG_TO_SCHEDULE else 2


def _longest_block(text: str) -> int:
    starts = [0, *(match.start() for match in _LABEL.finditer(text)), len(text)]
    return max(end - start for start, end in pairwise(starts))
