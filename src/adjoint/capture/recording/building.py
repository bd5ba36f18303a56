"""From a trace to a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from adjoint.base.arrays import ArrayType
from adjoint.capture.recording.constants import SAME_AS, RecordedLiteral
from adjoint.capture.recording.trace import Trace
from adjoint.program import Builder, Literal, Operation, Program

# Records from which equal ones are merged before anything is derived: what a recursion computes
# again and again would be derived as often.
_LONG: Final = 200_000


def program_of(trace: Trace, outputs: Sequence[int]) -> Program:
    """The program: inputs, then constants, in the order in which they were lifted."""
    builder = Builder()
    names: list[Any] = [builder.input(type_) for type_ in trace.types[: trace.input_count]]
    constants = [
        builder.input(record[0]) for record in trace.records if isinstance(record[0], ArrayType)
    ]
    waiting = iter(constants)
    repeats = len(trace.records) > _LONG
    known: dict[Any, Any] = {}
    literals: dict[Any, Literal] = {}
    failed = _without_use(trace, outputs)
    for number, record in enumerate(trace.records):
        head = record[0]
        if number in failed:
            types = [trace.types[slot] for slot in record[1:]]
            names.extend([None] * len(head.infer(tuple(types))))
        elif isinstance(head, Operation):
            operands = [names[slot] for slot in record[1:]]
            # Python's own numbers raise errors, or warn of nothing.
            quiet = number in trace.quiet or _is_pythons(trace, number, len(names))
            key = (head, quiet, *operands) if repeats else number
            results = known.get(key)
            if results is None:
                builder.origin, builder.derived = number, quiet
                results = builder.emit(head, operands)
                if repeats:
                    known[key] = results
            names.extend(results)
        elif head is SAME_AS:
            names.append(names[record[1]])
        else:
            literal = head.literal if isinstance(head, RecordedLiteral) else None
            names.append(literals.setdefault(head, literal) if literal else next(waiting))
    return builder.build([names[slot] for slot in outputs])


def _without_use(trace: Trace, outputs: Sequence[int]) -> set[int]:
    """The records of what has failed, but for those that others follow from.

    What an outer capture computes for a function within it when a value is asked for first, is kept
    for it whatever becomes of what has asked.
    """
    failed = set(trace.failed)
    if not failed:
        return failed
    trace._find_owners()
    stack = list(outputs)
    for number, (head, *operands) in enumerate(trace.records):
        if number not in failed and isinstance(head, Operation):
            stack.extend(operands)
    while stack:
        owner = trace.owners[stack.pop()]
        if owner in failed:
            failed.discard(owner)
            stack.extend(trace.records[owner][1:])
    return failed


def _is_pythons(trace: Trace, number: int, slot: int) -> bool:
    """Whether a record is arithmetic of Python's own numbers: the result becomes one."""
    types, records = trace.types, trace.records
    if number + 1 == len(records) or not all([types[n].weak for n in records[number][1:]]):
        return False
    head, *others = records[number + 1]
    return others == [slot] and types[slot + 1].weak and isinstance(head, Operation)
