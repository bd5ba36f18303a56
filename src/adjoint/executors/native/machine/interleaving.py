"""Two rounds of a short loop, instruction by instruction, so that neither waits for the other.

A round over 14 numbers of a recurrence is two vectors, each of which goes through all of the
functions of a step. One after the other they are hundreds of instructions apart, which is more than
a processor looks ahead.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

_NAME: Final = re.compile(r"%[\w.]+")
_TAG: Final = re.compile(r"!tbaa (![0-9]+)")
_STACK: Final = re.compile(r", ptr (%s[0-9]+)\b")  # not a pointer that is written somewhere
_ORDERED: Final = re.compile(r"  (%[\w.]+ = )?(load|store) (volatile|atomic) ")
_CALLED: Final = re.compile(r"@([\w.]+)")
_READS: Final = ("llvm.masked.load", "llvm.masked.gather")
# These compute with numbers, or touch no memory that anybody reads.
_PURE: Final = re.compile(
    r"llvm\.(fmuladd|fma|sqrt|fabs|copysign|floor|ceil|trunc|rint|nearbyint|roundeven|maxnum|minnum"
    r"|maximum|minimum|ctpop|ctlz|cttz|abs|smax|smin|umax|umin|vector\.reduce|is\.fpclass|prefetch"
    r"|ldexp|experimental\.constrained|x86\.(avx|sse)(?!.*(gather|scatter|load|store|mxcsr)))"
)
_PLAIN: Final = re.compile(
    r"  (%[\w.]+ = )?(f?add|f?sub|f?mul|[fsu]div|[fsu]rem|shl|[al]shr|and|or|xor|fneg|[if]cmp"
    r"|select|bitcast|[sz]ext|trunc|fpext|fptrunc|[su]itofp|fpto[su]i|getelementptr|ptrtoint"
    r"|inttoptr|insertelement|extractelement|shufflevector|freeze|load|store|call|tail call) "
)


class MemoryAccess(NamedTuple):
    """What an instruction reads or writes. place: empty where it is not known."""

    place: str
    writes: bool


class _Waiting:
    """What the first run of instructions has still to do: results, and accesses to memory."""

    def __init__(self, lines: Sequence[str], accesses: Sequence[MemoryAccess | None]) -> None:
        self.results = {name for line in lines if (name := _result(line))}
        self.reads = Counter[str]()
        self.writes = Counter[str]()
        for access in accesses:
            if access is not None:
                (self.writes if access.writes else self.reads)[access.place] += 1

    def done(self, line: str, access: MemoryAccess | None) -> None:
        """An instruction of the first run has been written."""
        self.results.discard(_result(line))
        if access is not None:
            (self.writes if access.writes else self.reads)[access.place] -= 1

    def holds_up(self, line: str, access: MemoryAccess | None) -> bool:
        """Whether an instruction of the second run must wait."""
        if not self.results.isdisjoint(_NAME.findall(line)):
            return True
        if access is None:
            return False
        before = [self.writes, self.reads] if access.writes else [self.writes]
        if not access.place:
            return any(count.total() for count in before)
        return any(count[access.place] or count[""] for count in before)


def side_by_side(first: Sequence[str], second: Sequence[str]) -> list[str] | None:
    """The instructions of both runs in turns; None where they have branches or odd calls.

    Those that may touch the same memory, of which one writes, stay in their order.
    """
    if not all(map(_is_known, first)) or not all(map(_is_known, second)):
        return None
    ours, theirs = list(map(access_of, first)), list(map(access_of, second))
    waiting = _Waiting(first, ours)
    lines: list[str] = []
    taken = 0
    for number, (line, access) in enumerate(zip(first, ours, strict=True), 1):
        lines.append(line)
        waiting.done(line, access)
        while taken * len(first) < number * len(second):
            if waiting.holds_up(second[taken], theirs[taken]):
                break
            lines.append(second[taken])
            taken += 1
    return [*lines, *second[taken:]]


def access_of(line: str) -> MemoryAccess | None:
    """What an instruction does to memory that is written somewhere; None for nothing."""
    text = line.split(" = ", 1)[-1].lstrip()
    called = _CALLED.search(text) if "call " in text else None
    reads = text.startswith("load ") or (called and called[1].startswith(_READS))
    writes = text.startswith("store ") or (called and not reads and not _PURE.match(called[1]))
    if not (reads or writes) or "!invariant.load" in text:
        return None
    place = _TAG.search(text) or (None if called else _STACK.search(text))
    return MemoryAccess(place[1] if place else "", bool(writes))


def _is_known(line: str) -> bool:
    if not _PLAIN.match(line):
        return False
    if "call " not in line:
        return not _ORDERED.match(line)
    called = _CALLED.search(line)
    if called is None or " asm " in line:
        return False
    return bool(_PURE.match(called[1])) or called[1].startswith(("llvm.masked.",))


def _result(line: str) -> str:
    name, equals, _ = line.lstrip().partition(" = ")
    return name if equals else ""
