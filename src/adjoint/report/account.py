"""What becomes of a function, fact by fact, in sentences with the user's lines."""

from __future__ import annotations

import linecache
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import adjoint as ad
from adjoint.base import pytrees
from adjoint.base.errors import AdjointError
from adjoint.report.plain import plain_value
from adjoint.report.tables import duration, size

# What is compared of names that stand for code, and not for data.
_OF_CODE: Final = ("code", "module", "member", "builtins")
_SHOWN: Final = 6  # kinds of operations, and kinks, that are told one by one


@dataclass(frozen=True)
class Statement:
    """A sentence, and the lines of code or names that it is about."""

    text: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """What there is to say about one question."""

    title: str
    statements: tuple[Statement, ...]


def account(function: Callable[..., Any], args: tuple[Any, ...]) -> list[Section]:
    """Whether a function is captured, replayed, compiled and differentiable at a point, and why.

    It is called several times, and its program and that of its derivative are compiled.

    Raises:
        Exception: what the function itself raises; refusals of `adjoint` are told in the account.
    """
    with np.errstate(all="ignore"):  # of NaNs and infinities the account tells itself
        return _sections(function, args)


def _sections(function: Callable[..., Any], args: tuple[Any, ...]) -> list[Section]:
    try:
        view = ad.program(function, *args)
    except AdjointError as refusal:
        return [Section("Captured", (_refusal("No.", refusal),))]
    explanation = ad.explain(function, *args)
    rolled = view.rolled()
    return [
        Section("Captured", (_captured(view),)),
        Section("Branches", (_branches(explanation),)),
        Section("Between calls", tuple(_kept(explanation))),
        Section("Loops", tuple(_loops(view))),
        Section("Derivatives", tuple(_derivatives(rolled))),
        Section("Machine code", tuple(_machine_code(rolled))),
        Section("At this point", tuple(_point(function, args))),
    ]


# --- capture and replay ---------------------------------------------------------------------------


def _captured(view: ad.ProgramView) -> Statement:
    counts = Counter(equation.primitive.name for equation in view.program.equations)
    kinds = [f"{count} {name}" for name, count in counts.most_common(_SHOWN)]
    more = ", ..." if len(counts) > _SHOWN else ""
    outside = len(view.program.inputs) - view.arguments
    taken = _count(outside, "number or array", "numbers and arrays")
    also = f" Inputs besides the arguments: {taken} that stand in it or outside." if outside else ""
    what = f"{_count(len(view), 'operation')} ({', '.join(kinds)}{more})" if kinds else "nothing"
    return Statement(f"Yes: the program is {what}.{also}")


def _branches(explanation: Any) -> Statement:
    if not explanation.questions:
        return Statement(
            "None: no `if`, `while`, `int()` or the like asks for a value that depends on the "
            "arguments. All calls with arguments of these types take the same way."
        )
    counted = Counter(explanation.questions)
    return Statement(
        "Here the way depends on values. The program answers these questions at each call; where "
        "an answer is another one, the function is captured anew:",
        tuple(
            f"{_line(line)} ({what}{f', {times} times' if times > 1 else ''})"
            for (what, line), times in counted.items()
        ),
    )


def _kept(explanation: Any) -> Iterable[Statement]:
    if not explanation.replayed:
        yield Statement(
            "The function is captured at every call, because",
            tuple(
                f"{text} ({_line(line)})" if line else text for text, line in explanation.reasons
            ),
        )
    else:
        data, code = _facts(explanation.facts)
        yield Statement(
            "The program is kept. Later calls with arguments of these types run it, and not the "
            "function, while what the function uses is as it was"
            + (":" if data or code else "; it uses nothing but its arguments."),
            (*data, *([f"code: {', '.join(code)}"] if code else [])),
        )
    if explanation.anew:
        yield Statement(
            "At each call it does anew what the function does besides:",
            tuple(_with_line(*effect) for effect in explanation.anew),
        )


def _facts(facts: Iterable[Any]) -> tuple[list[str], list[str]]:
    """Data that the function uses, with what is compared of them, and names of code."""
    data: dict[str, list[str]] = {}
    code: dict[str, None] = {}
    for where, what in facts:
        if where.startswith(("the arguments", "argument ")) or what == "value None":
            continue
        if where == "np.errstate":
            continue
        if what == "identity":
            data.setdefault(where, []).append("the same object")
        elif what.startswith(_OF_CODE):
            code[where] = None
        else:
            data.setdefault(where, []).append(what)
    return [f"{where}: {', '.join(data[where])}" for where in sorted(data)], sorted(code)


def _loops(view: ad.ProgramView) -> Iterable[Statement]:
    report = view.loops()
    for loop, line in report.rolled:
        yield Statement(
            f"A loop of {loop.rounds} rounds is one operation of the program, with a body of "
            f"{_count(loop.equations, 'operation')}:",
            (_line(line),) if line else (),
        )
    for rounds, line in report.left:
        yield Statement(
            f"{rounds.rounds} rounds stay {_count(rounds.equations, 'operation')}, each derived "
            f"and compiled for itself: {rounds.why}",
            (_line(line),) if line else (),
        )
    declared = sum(equation.primitive.name in _LOOPS for equation in view.program.equations)
    if declared:
        yield Statement(f"{_count(declared, 'loop')} of ad.scan, ad.while_loop or ad.fori_loop.")
    if not (report.rolled or report.left or declared):
        yield Statement("None that repeats its operations often enough to be one.")


_LOOPS: Final = ("scan", "while")


# --- derivatives and machine code -----------------------------------------------------------------


def _derivatives(view: ad.ProgramView) -> Iterable[Statement]:
    for title, make in (("Forward mode", view.jvp), ("Reverse mode", view.vjp)):
        try:
            derived = make()
        except AdjointError as error:
            yield _refusal(f"{title}: no.", error)
            return
        yield Statement(
            f"{title}: yes, {_count(len(derived), 'operation')} with those of the value."
        )
    memory = view.peak_memory()
    yield Statement(
        f"Memory, results included: {size(memory.value)} for the value, {size(memory.forward)} in "
        f"forward mode, {size(memory.reverse)} in reverse mode, which keeps what it needs on the "
        "way back."
    )


def _machine_code(view: ad.ProgramView) -> Iterable[Statement]:
    with ad.config(cache=False):
        ad.program(np.tanh, 1.0).native()  # loads LLVM, which is no part of what is measured
    yield from _native("The value", view)
    try:
        derived = view.vjp()
    except AdjointError:
        return
    yield from _native("Reverse mode", derived)


def _native(title: str, view: ad.ProgramView) -> Iterable[Statement]:
    before, start = ad.cache_info(), time.perf_counter()
    code = view.native()
    taken, after = time.perf_counter() - start, ad.cache_info()
    how = (
        f"compiled in {duration(taken)}"
        if after.compiled > before.compiled
        else f"loaded in {duration(taken)} from what an earlier process has left on disk"
        if after.loaded > before.loaded
        else f"made in {duration(taken)}"
    )
    places = code.places()
    reasons = [place for place in places if isinstance(place, str)]
    if len(reasons) == len(places):
        yield Statement(f"{title}: all of it runs on NumPy.", tuple(_left(code)))
        return
    regions = len({place for place in places if isinstance(place, int)})
    rest = f"NumPy or SciPy computes {len(reasons)}:" if reasons else "nothing is left to NumPy."
    yield Statement(
        f"{title}: {how}. {_count(len(places), 'operation')} in {_count(regions, 'region')}, each "
        f"a loop, a product or a few numbers; {rest}",
        tuple(_left(code)),
    )


def _left(code: Any) -> Iterable[str]:
    """The equations that NumPy computes, with the user's lines and the reasons."""
    told = zip(code.program.equations, code.places(), code.lines(), strict=True)
    texts = Counter(
        f"{f'{_line(line)}: ' if line else ''}{equation.primitive.name}, as {reason}"
        for equation, reason, line in told
        if isinstance(reason, str)
    )
    for text, times in texts.items():
        yield f"{text} ({times} times)" if times > 1 else text


# --- the point ------------------------------------------------------------------------------------


def _point(function: Callable[..., Any], args: tuple[Any, ...]) -> Iterable[Statement]:
    value = plain_value(function, args)
    leaves = [leaf for leaf in pytrees.leaves(value) if np.asarray(leaf).dtype.kind in "fc"]
    finite = all(np.all(np.isfinite(leaf)) for leaf in leaves)
    yield Statement("The value is finite." if finite else "The value is NaN or infinite.")
    try:
        report = ad.explain_nan(function, *args)
        kinks = ad.kinks(function, *args)
    except AdjointError as error:
        yield _refusal("Nothing of it can be differentiated.", error)
        return
    if report is not None:
        yield Statement("A NaN comes about here:", tuple(str(report).splitlines()))
    if not kinks:
        yield Statement("No operation is at a point where it has no derivative.")
        return
    yield Statement(
        f"{_count(len(kinks), 'operation')} met a point without derivative:",
        tuple(line for kink in kinks[:_SHOWN] for line in kink_lines(kink)),
    )


def kink_lines(kink: ad.Kink) -> list[str]:
    """A kink as text, with the name of the file in the place of its path."""
    text = str(kink)
    return text.replace(kink.line, Path(kink.line).name, 1).splitlines() if kink.line else [text]


# --- words ----------------------------------------------------------------------------------------


def _refusal(verdict: str, error: AdjointError) -> Statement:
    notes = tuple(getattr(error, "__notes__", ()))
    return Statement(f"{verdict} {type(error).__name__}: {' '.join(str(error).split())}", notes)


def _count(number: int, singular: str, plural: str = "") -> str:
    return f"{number} {singular}" if number == 1 else f"{number} {plural or f'{singular}s'}"


def _with_line(what: str, line: str) -> str:
    return f"{what} ({_line(line)})" if line else what


def _line(line: str) -> str:
    """`model.py:12: y = np.sin(x)` of a line that is told as `path:12`."""
    path, _, number = line.rpartition(":")
    if not number.isdigit():
        return line
    text = linecache.getline(path, int(number)).strip()
    return f"{Path(path).name}:{number}{': ' if text else ''}{text}"
