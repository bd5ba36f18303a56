"""Results that depend on an argument through questions alone.

Bisection written by hand halves an interval as `f(middle) > 0` says. The middle is made of the ends
of the interval, and the argument decides which half is next, but no number that comes of it is in
the result: its derivative along the branch that was taken is zero, and seldom what was meant.
"""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Sequence
from types import CodeType
from typing import Any

from adjoint.base.errors import QuestionsAloneWarning
from adjoint.capture.recording.exits.escape import carries_derivative
from adjoint.capture.recording.tracing.trace import Trace, note_effect
from adjoint.program import Operation, Program


def questions_alone(trace: Trace, outputs: Sequence[int]) -> list[int]:
    """The slots that were asked for, if they depend on active inputs and no result does."""
    results = [slot for slot in outputs if trace.types[slot].inexact]
    if not trace.questions or not results or not any(trace.active):
        return []
    if _follow(trace, results):
        return []
    depends = _depending_on_active(trace)
    if any(depends[slot] for slot in results):
        return []
    return [slot for slot in trace.questions if depends[slot]]


def line_of(code: CodeType, instruction: int) -> tuple[str, int, str]:
    """The file, the line, and its text."""
    lines = (line for start, end, line in code.co_lines() if start <= instruction < end)
    number = next(lines, None) or 0
    return code.co_filename, number, linecache.getline(code.co_filename, number).strip()


def warn_of_questions_alone(trace: Trace, outputs: Sequence[int]) -> None:
    """Warn if questions that depend on active inputs decide results that do not."""
    slots = questions_alone(trace, outputs)
    if not slots:
        return
    file, line, text = line_of(*trace.questions[slots[-1]])
    message = (
        "The result depends on what is differentiated through questions alone (`if`, `while`, "
        f"int(), an index), the last at {file}:{line}{': ' if text else ''}{text}. Its derivative "
        "along the branch that was taken is zero. For the solution of an equation use "
        "ad.implicit.root, or end with a step of Newton's method; if zero is meant, write "
        "ad.stop_gradient(x)."
    )
    note_effect(
        "its result depends on an argument through questions alone, which is said each time"
    )
    warnings.warn_explicit(message, QuestionsAloneWarning, file, line, registry=_shown)


_shown: dict[Any, Any] = {}  # so that a line is named once, as Python does by itself


def _follow(trace: Trace, results: Sequence[int]) -> bool:
    """Whether a result surely follows from an active input: found from behind, and mostly soon.

    The oldest operands are looked at first: what is differentiated comes before all else.
    """
    count, records = trace.input_count, trace.records
    if len(trace.types) != count + len(records):
        return False  # some record has several results
    waiting, seen = list(results), set()
    while waiting:
        slot = waiting.pop()
        if slot < count:
            if trace.active[slot]:
                return True
        elif slot not in seen:
            seen.add(slot)
            waiting.extend(sorted(records[slot - count][1:], reverse=True))
    return False


def _after_rounds(params: dict[str, Any], depends: list[bool]) -> list[bool]:
    """For each result of a `while`, whether it follows from marked operands, but by the test."""
    constants, body = params["constants"], params["body"]
    fixed, carried = depends[:constants], depends[constants:]
    while True:
        results = _flow(body, [*fixed, *carried])
        more = [a or b for a, b in zip(carried, results, strict=False)]
        if more == carried:
            return [False, *carried, *results[len(carried) :]]
        carried = more


def _flow(program: Program, depends: list[bool]) -> list[bool]:
    """For each result of a program, whether it follows from marked inputs, but by questions."""
    marked: dict[Any, bool] = dict(zip(program.inputs, depends, strict=True))
    for equation in program.equations:
        operands = [marked.get(atom, False) for atom in equation.inputs]
        params = equation.params
        if "test" in params:
            results = _after_rounds(params, operands)
        elif "branches" in params:
            flows = [_flow(branch, operands[1:]) for branch in params["branches"]]
            results = [any(row) for row in zip(*flows, strict=True)]
        else:
            results = [any(operands)] * len(equation.outputs)
        marked.update(zip(equation.outputs, results, strict=True))
    return [marked.get(atom, False) for atom in program.outputs]


def _depending_on_active(trace: Trace) -> list[bool]:
    """For each slot, whether it follows from an active input, by whatever operations."""
    depends = list(trace.active)
    for head, *slots in trace.records:
        moved = any(depends[slot] for slot in slots)
        count = 1
        if isinstance(head, Operation):
            count = len(head.infer(tuple([trace.types[slot] for slot in slots])))
            if "test" in head.params:
                depends.extend(_after_rounds(head.params, [depends[slot] for slot in slots]))
                continue
        elif not slots:  # a constant: maybe of an outer capture, which knows of its own
            moved = carries_derivative(trace.values.get(len(depends)))
        depends.extend([moved] * count)
    return depends
