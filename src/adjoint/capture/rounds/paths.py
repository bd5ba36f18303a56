"""What a round of a loop has recorded, whatever its slots, and all paths of rounds as a tree.

A round does the same as another until one of its questions has another answer. So the rounds that
capture has met are paths in a tree that forks at questions:

    records, question -- yes --> records, results
                      -- no  --> records, question -- yes --> records, results

What a record refers to is named by where it comes from: `(VARIABLE, 2)` is the third thing that
the function goes on with at the beginning of a round, `(LOCAL, 5)` the sixth result in the round,
`(CONSTANT, 0)` the first of the constants that the tree has met.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from adjoint.base.arrays import ArrayType
from adjoint.capture.bytecode.arithmetic import GREATEST_COUNT
from adjoint.capture.recording.tracing.constants import SAME_AS, RecordedLiteral, same_constant
from adjoint.capture.recording.tracing.guards import Inquiry
from adjoint.capture.recording.tracing.trace import Trace, captures
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.capture.rounds.moments import Lead, Moment
from adjoint.primitives.calls.custom import is_users_code
from adjoint.program import SILENT, Operation

VARIABLE: Final = 0
LOCAL: Final = 1
CONSTANT: Final = 2
_MOST_PATHS: Final = 64
_MOST_QUESTIONS: Final = 24  # of a round
_MOST_STEPS: Final = 4096
_ONE_OPERAND: Final = frozenset({"absolute", "cast", "negative", "positive", "python_number"})

Reference = tuple[int, int]


class RoundStep(NamedTuple):
    """One record: an operation, or a literal. quiet: whether it is not to warn."""

    head: Any
    operands: tuple[Reference, ...]
    results: int
    quiet: int


class QuestionAsked(NamedTuple):
    """A truth value that is asked for, and the answer."""

    asked: Reference
    answer: bool


class RoundPath(NamedTuple):
    """One round. results: what each variable is after it; the last is what is asked for.

    lead: what becomes of objects in it.
    """

    steps: tuple[RoundStep | QuestionAsked, ...]
    results: tuple[Reference, ...]
    lead: Lead


class RoundPart:
    """A part of a round without questions. It ends with one, or with results.

    first: how many results the round has before it.
    """

    __slots__ = ("asked", "branches", "first", "results", "steps")

    def __init__(self, first: int) -> None:
        self.first = first
        self.steps: list[RoundStep] = []
        self.asked: Reference | None = None
        self.branches: dict[bool, RoundPart] = {}
        self.results: tuple[Reference, ...] | None = None

    def needed(self) -> dict[Reference, None]:
        """What the round refers to from here on, on whatever path, that is there before."""
        references: dict[Reference, None] = {}
        for step in self.steps:
            references.update(dict.fromkeys(step.operands))
        if self.asked is not None:
            references[self.asked] = None
        for number, result in enumerate(self.results or ()):
            if result != (VARIABLE, number):  # else it stays what it is
                references[result] = None
        for branch in self.branches.values():
            references.update(branch.needed())
        return {x: None for x in references if x[0] != LOCAL or x[1] < self.first}

    def results_of_all(self) -> Iterator[tuple[Reference, ...]]:
        """The results of each path."""
        if self.results is not None:
            yield self.results
        for branch in self.branches.values():
            yield from branch.results_of_all()

    def is_open(self) -> bool:
        """Whether a question has an answer that no round has had."""
        if self.asked is None:
            return False
        return len(self.branches) < 2 or any(branch.is_open() for branch in self.branches.values())


class RoundTree:
    """The rounds of a loop that have been met, and the constants in them.

    rebound: the variables that are other objects after some round. untouched: whether no round
    writes into an object and gives it up.
    """

    def __init__(self) -> None:
        self.root: RoundPart | None = None
        self.paths = 0
        self.constants: list[tuple[ArrayType, Any]] = []
        self.rebound: frozenset[int] = frozenset()
        self.untouched = True

    def constant(self, type: ArrayType, value: Any) -> int:
        """The number of a constant."""
        for number, (other, known) in enumerate(self.constants):
            if other == type and same_constant(known, value):
                return number
        self.constants.append((type, value))
        return len(self.constants) - 1

    def add(self, path: RoundPath) -> bool:
        """Add a round; False where it cannot be of this loop, or there are too many."""
        if not self._grow(path):
            return False
        self.rebound |= path.lead.rebound
        self.untouched = self.untouched and path.lead.untouched
        return True

    def _grow(self, path: RoundPath) -> bool:
        if self.root is None:
            self.root = _grown(path.steps, path.results, 0)
            self.paths = 1
            return True
        node, place = self.root, 0
        while True:
            end = place + len(node.steps)
            if tuple(node.steps) != path.steps[place:end]:
                return False
            if node.results is not None:
                return end == len(path.steps) and node.results == path.results
            question = path.steps[end] if end < len(path.steps) else None
            if type(question) is not QuestionAsked or question.asked != node.asked:
                return False
            place = end + 1
            if question.answer not in node.branches:
                break
            node = node.branches[question.answer]
        if self.paths == _MOST_PATHS:
            return False
        self.paths += 1
        first = node.first + sum(step.results for step in node.steps)
        node.branches[question.answer] = _grown(path.steps[place:], path.results, first)
        return True


def _grown(
    steps: tuple[RoundStep | QuestionAsked, ...], results: tuple[Reference, ...], first: int
) -> RoundPart:
    """The nodes of the rest of a path."""
    node = top = RoundPart(first)
    for step in steps:
        if isinstance(step, RoundStep):
            node.steps.append(step)
            first += step.results
            continue
        node.asked = step.asked
        node.branches[step.answer] = node = RoundPart(first)
    node.results = results
    return top


class TreeConstants:
    """Which slots of a capture are which constants of a tree."""

    def __init__(self, trace: Trace, tree: RoundTree) -> None:
        self.trace = trace
        self.tree = tree
        self._numbers: dict[int, int] = {}
        self._slots: dict[int, int] = {}

    def number(self, slot: int) -> int | None:
        """Which constant a slot is; None where it is none, or one of an outer capture."""
        number = self._numbers.get(slot)
        if number is None:
            value = constant_in(self.trace, slot)
            if value is None or type(value) is Traced:
                return None
            number = self.tree.constant(self.trace.types[slot], value)
            self._numbers[slot] = number
            self._slots.setdefault(number, slot)
        return number

    def slot(self, number: int) -> int:
        """A slot of this capture that is the constant."""
        if number not in self._slots:
            type_, value = self.tree.constants[number]
            self._slots[number] = self.trace.constant(value, type_)
        return self._slots[number]


def constant_in(trace: Trace, slot: int) -> Any:
    """The value of a slot that is a constant; None for another."""
    trace.find_owners()
    owner = trace.owners[slot]
    return trace.values[slot] if owner >= 0 and type(trace.records[owner][0]) is ArrayType else None


# --- a round, as it was recorded ------------------------------------------------------------------


def path_between(
    constants: TreeConstants, moments: tuple[Moment, Moment], lead: Lead, answer: bool, noted: bool
) -> RoundPath | None:
    """The round from one moment to another; None where it is none that a loop can make.

    answer: to what is asked at the first one. noted: whether that is among the inquiries.
    """
    before, after = moments
    trace = constants.trace
    inquiries = trace.inquiries[before.inquiries[-1] + noted : after.inquiries[-1]]
    if len(inquiries) > _MOST_QUESTIONS or after.records - before.records > _MOST_STEPS:
        return None
    if any(not inquiry.is_truth for inquiry in inquiries):
        return None
    for capture, count in zip(captures(), before.guards, strict=True):
        guards = (capture.guards or {}).values()
        if any(guard.kind != "bool" for guard in islice(guards, count, None)):
            return None
    reading = _Reading(constants, before, after).path(inquiries, answer)
    return None if reading is None else RoundPath(*reading, lead)


class _Reading:
    """Reads the records of a round."""

    def __init__(self, constants: TreeConstants, before: Moment, after: Moment) -> None:
        self.trace = trace = constants.trace
        self.constants = constants
        self.before = before
        self.after = after
        self.names: dict[int, Reference | None] = {}
        self.outer: dict[tuple[int, int], Reference | None] = {}
        for number, value in enumerate(before.values):
            # Of two variables that are one slot now, it could be meant either.
            variable = (VARIABLE, number)
            if value.trace == id(trace):
                self.names[value.slot] = None if value.slot in self.names else variable
            elif value.trace:
                key = (value.trace, value.slot)
                self.outer[key] = None if key in self.outer else variable
        self.asked: Reference = (VARIABLE, len(before.values))
        self.names.setdefault(before.asked, self.asked)
        self.count = 0
        trace.find_owners()

    def path(
        self, inquiries: list[Inquiry], answer: bool
    ) -> tuple[tuple[RoundStep | QuestionAsked, ...], tuple[Reference, ...]] | None:
        """The round; None where it refers to what is neither its own nor known."""
        before, after = self.before, self.after
        steps: list[RoundStep | QuestionAsked] = [QuestionAsked(self.asked, answer)]
        needed = self._needed([inquiry.slot for inquiry in inquiries])
        number = before.records
        for inquiry in inquiries:
            if not self._read(range(number, inquiry.place), needed, steps):
                return None
            reference = self._reference(inquiry.slot)
            if reference is None or self.trace.types[inquiry.slot].size != 1:
                return None
            steps.append(QuestionAsked(reference, inquiry.answer))
            number = inquiry.place
        if not self._read(range(number, after.records), needed, steps):
            return None
        results = [self._result(n) for n in range(len(after.values))]
        results.append(self._reference(after.asked))
        if None in results:
            return None
        return tuple(steps), tuple(results)  # type: ignore[arg-type]

    def _needed(self, asked: list[int]) -> set[int]:
        """The records of the round that its questions and results depend on."""
        trace, first = self.trace, self.before.records
        values = [value.slot for value in self.after.values if value.trace == id(trace)]
        waiting = [trace.owners[slot] for slot in (*asked, *values, self.after.asked) if slot >= 0]
        needed: set[int] = set()
        while waiting:
            number = waiting.pop()
            if number >= first and number not in needed:
                needed.add(number)
                waiting += [trace.owners[slot] for slot in trace.records[number][1:]]
        return needed

    def _read(
        self, numbers: range, needed: set[int], steps: list[RoundStep | QuestionAsked]
    ) -> bool:
        """Append records; False where one of them cannot be part of a loop."""
        trace = self.trace
        for number in numbers:
            head, *slots = trace.records[number]
            if type(head) is Operation and is_users_code(head.primitive):
                return False
            if number not in needed or type(head) is ArrayType:
                continue
            first = trace.starts[number]
            operands = [self._reference(slot) for slot in slots]
            if None in operands:
                return False
            if head == SAME_AS:
                self.names[first] = operands[0]
                continue
            if type(head) not in (Operation, RecordedLiteral):
                return False
            last = number + 1 < len(trace.starts)
            count = (trace.starts[number + 1] if last else len(trace.types)) - first
            if not self._stays_small(head, slots, first):
                return False
            # Python's numbers warn of nothing.
            quiet = trace.quiet.get(number, False)
            if not quiet and all(trace.types[slot].weak for slot in slots):
                quiet = SILENT
            steps.append(RoundStep(head, tuple(operands), count, quiet))  # type: ignore[arg-type]
            for place in range(count):
                self.names[first + place] = (LOCAL, self.count + place)
            self.count += count
        return True

    def _stays_small(self, head: Any, slots: list[int], result: int) -> bool:
        """Whether whole numbers of Python's stay within int64, for as many rounds as one can wait.

        Python's own have no end. So they may be counted up and down, but not multiplied.
        """
        trace = self.trace
        types = [trace.types[slot] for slot in slots]
        if type(head) is not Operation or trace.types[result].dtype.kind not in "iu":
            return True
        if not types or not all(type_.weak for type_ in types):
            return True
        name = head.primitive.name
        if name in _ONE_OPERAND:
            return True
        known = [constant_in(trace, slot) for slot in slots]
        if name in ("add", "subtract"):
            return any(number is not None and abs(number) < GREATEST_COUNT for number in known)
        return name in ("remainder", "floor_divide") and bool(known[-1])

    def _reference(self, slot: int) -> Reference | None:
        if slot < 0:
            return None
        if slot not in self.names:
            self.names[slot] = self._outside(slot)
        return self.names[slot]

    def _outside(self, slot: int) -> Reference | None:
        """What was there before the round, and is none of the variables of this capture."""
        value = constant_in(self.trace, slot)
        if type(value) is Traced:
            return self.outer.get((id(value._trace), value._slot))
        number = self.constants.number(slot)
        return None if number is None else (CONSTANT, number)

    def _result(self, number: int) -> Reference | None:
        """What a variable is after the round."""
        one, other = self.before.values[number], self.after.values[number]
        if one.trace != id(self.trace) or one.slot == other.slot:
            return VARIABLE, number
        return self._reference(other.slot)
