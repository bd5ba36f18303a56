"""How much time LLVM is to spend on a text."""

from __future__ import annotations

import re
from enum import Enum

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
# And a text of more than this is, whatever its blocks: of 2,500,000 characters, 0.2 s instead of
# 0.85 (13,500 operations on numbers, which then take 12.7 µs and not 7.2).
_LONGEST_TEXT = 1_500_000
# The scheduler of what has its registers takes half of the time on blocks that are longer than
# this, and processors that reorder instructions themselves run the result no faster.
_LONG_TO_SCHEDULE = 100_000


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
    """The effort that a text is worth, if nobody says it."""
    text = _functions_of(text)
    if len(text) <= (_LONG_TEXT if _GATHER.search(text) else _SHORT_TEXT):
        return Effort.NORMAL
    if len(text) > _LONGEST_TEXT:
        return Effort.QUICK
    long = len(text) > _LONG_TEXT and _longest_block(text) > _LONG_BLOCK
    return Effort.QUICK if long else Effort.LIGHT


def code_level(text: str, effort: Effort) -> int:
    """The level, as LLVM counts them, at which instructions are chosen and get registers."""
    if effort is not Effort.NORMAL:
        return 0 if effort is Effort.QUICK else 1
    long = len(text) > _LONG_TO_SCHEDULE
    return 1 if long and _longest_block(_functions_of(text)) > _LONG_TO_SCHEDULE else 2


def _functions_of(text: str) -> str:
    """The text without tables of numbers, and without the metadata at its end: they are no work."""
    code, _, _ = f"\n{text}".partition("\n!")
    first, *others = code.split("\n@")
    return first + "".join([part[part.find("\n") :] for part in others if "\n" in part])


def _longest_block(text: str) -> int:
    """How many characters there are at most from one label, or head of a function, to the next."""
    functions = text.split("\ndefine ")
    return max([len(block) for function in functions for block in function.split(":\n")])
