"""The trace: what capture writes down while a user's function runs.

Nothing is computed. A record is a tuple `(operation, operand slots...)`; slots number the inputs,
the lifted constants and the results in the order in which they came, so the tuple of all records is
the structure of the function, and the key under which its compiled program is found. A constant is
recorded by its type alone: its value is an input of the program.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final
from weakref import ref

import numpy as np

from adjoint.base.arrays import ArrayType, array_type, type_of
from adjoint.base.errors import ValueNeededError
from adjoint.capture.recording.tracing.constants import (
    LiftedConstant,
    RecordedLiteral,
    as_float,
    check_numeric,
    check_plain,
    same_memory,
)
from adjoint.capture.recording.tracing.guards import TEXT, WHOLE, Guard, Inquiry, guard_of
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.places import literal_places, user_line, user_place
from adjoint.capture.recording.tracing.said import Said
from adjoint.capture.recording.tracing.stale import Stale
from adjoint.program import Literal, Operation

_EFFECTS: Final = 16  # as many are kept of a capture
_SCALARS: Final = {
    float: array_type((), np.dtype(float), True),
    int: array_type((), np.dtype(int), True),
    complex: array_type((), np.dtype(complex), True),
    bool: array_type((), np.dtype(bool)),
}
_WIDEST: Final = 1 << 63  # integers from here on are no int64
_RECORDING: Final = __file__.rpartition("tracing")[0]
_state = threading.local()


_OF_A_BATCH: Final = (
    "stands for a whole batch: inside vmap every example may differ. Choose with np.where, which "
    "computes both sides, or with ad.cond."
)


class Trace:
    """One capture.

    types: of every slot. records: see the module. level: how many captures surround this one.
    values: what is known of slots, by slot; an input that stands for many (vmap) has none, and one
    may be traced by an outer capture. active: for each input, whether a derivative with respect to
    it was asked for. asked: whether a value was asked for, so that the records depend on values and
    not on types alone. guards: where the program is to be kept for other values, what was asked
    for, by slot and kind of question (`asked` then says that something was that no guard can tell).
    starts and owners: which slots belong to which record, filled in as needed. quiet: the records,
    by number, that are not to warn. meaning: what an input without a value stands for, as an error
    puts it. failed: those of a function that raised an error, which the user's code caught: they
    are no part of the program. valued: whether all inputs have values, so that NumPy computes each
    result beside its record. witness: whether some of these are examples of many, which answer no
    questions. nested: whether it depends on values that an outer capture traces. inside: whether a
    function of NumPy's is being recorded, and it is this package that computes. late: whether
    values of large arrays are postponed (`values/postponed.py`). calls: the arguments of such
    functions. supposed: the guards that no user asked for. copies: of arrays that captures within
    this one lift, by identity, each array (weakly, since it matters who refers to it) with its
    copy. inlined: the compiled program that was recorded last as a whole, of values of this trace
    and known ones (see `pipeline.py`). at_once: whether it is to be machine code. refusal: the
    first error of ours that the user's code met. said: what NumPy has warned of. questions: the
    slots whose values were asked for, with the code that asked, and where in it. inquiries: all
    that was asked, in order. sites: where truth was asked, by frame and instruction (see
    `capture/rounds`); looping: of these, by frame, the one that loops; loops: by code and
    instruction, in this capture and those within it; longest: the most rounds that one has made.
    effects: why the capture cannot stand for a later call, each with the user's line. entered: the
    code that was entered through objects. script: what is drawn and printed, where that is written
    down (`script.py`). survivors: whether traced values outlived a capture within this one. past:
    of values that an earlier call has left, the point of that call (see `facts/past.py`). stale:
    the slots of such values that have come into this capture. remembered: the calls of recursive
    functions, by function (`clones/remembering/remembered.py`).
    """

    __slots__ = (
        "active",
        "arrays",
        "asked",
        "at_once",
        "calls",
        "constants",
        "copies",
        "effects",
        "entered",
        "failed",
        "guards",
        "inlined",
        "input_count",
        "inquiries",
        "inside",
        "late",
        "level",
        "lines",
        "literals",
        "longest",
        "looping",
        "loops",
        "meaning",
        "nested",
        "numbers",
        "open",
        "owners",
        "past",
        "placed",
        "questions",
        "quiet",
        "ran",
        "records",
        "refusal",
        "remembered",
        "said",
        "script",
        "sites",
        "stale",
        "starts",
        "supposed",
        "survivors",
        "types",
        "valued",
        "values",
        "witness",
    )

    def __init__(
        self, types: Sequence[ArrayType], values: dict[int, Any], active: Sequence[bool]
    ) -> None:
        self.types: list[ArrayType] = list(types)
        self.active = active
        self.records: list[tuple[Any, ...]] = []
        self.constants: list[Any] = []
        self.arrays: dict[int, tuple[Any, int]] = {}
        self.copies: dict[int, tuple[Any, Any]] = {}
        self.values: dict[int, Any] = values
        self.input_count = len(types)
        self.valued = False
        self.witness = False
        self.nested = False
        self.inside = False
        self.late = False
        self.calls: list[Any] = []
        self.refusal: Exception | None = None
        self.remembered: dict[Any, Any] = {}
        self.said = Said()
        self.ran: list[Any] = []
        self.questions: dict[int, Any] = {}
        self.inquiries: list[Inquiry] = []
        self.sites: dict[tuple[int, Any], Any] = {}
        self.loops: dict[tuple[int, Any], Any] = {}
        self.looping: dict[int, Any] = {}
        self.longest = 1
        self.level = 0
        self.open = True
        self.asked = False
        self.guards: dict[tuple[int, str], Guard] | None = None
        # Python's numbers by what they are, where the program is kept: equal ones are one input,
        # so that what is computed from them is computed once.
        self.numbers: dict[tuple[type, str], int] | None = None
        # else, by the instructions that use them; integers in the code itself likewise
        self.placed: dict[Any, list[LiftedConstant]] = {}
        self.literals: dict[tuple[int, int], tuple[int, int]] = {}
        self.effects: list[tuple[str, str]] = []
        self.entered: dict[int, Any] = {}
        self.supposed: set[tuple[int, str]] = set()
        self.inlined: Any = None
        self.at_once = False
        self.survivors = False
        self.past: Any = None
        self.stale: dict[int, Stale] = {}
        self.script: Any = None
        self.owners: list[int] = [-1] * self.input_count
        self.starts: list[int] = []
        self.lines: list[str] | None = None
        self.meaning = _OF_A_BATCH
        self.quiet: dict[int, int] = {}
        self.failed: set[int] = set()

    # --- recording --------------------------------------------------------------------------------

    def record(self, op: Operation, slots: tuple[int, ...]) -> int:
        """Append an operation; returns the slot of its (first) result."""
        types = self.types
        key = tuple([types[slot] for slot in slots])
        result_types = op._inferred.get(key) or op.infer(key)
        slot = len(types)
        types.extend(result_types)
        self.records.append((op, *slots))
        if self.lines is not None:
            self.lines.append(user_line())
        return slot

    def lift(self, value: Any) -> int:
        """The slot of a concrete array or scalar, which becomes an input of the program."""
        slot = self._lift(value)
        if hooks.stale and id(value) in hooks.stale:
            point = hooks.left_at(value)
            if point is not None:
                self.stale[slot] = Stale(point, user_line())
        return slot

    def places_of_stale(self, slot: int) -> Any:
        """The entries of a slot that an earlier call has left; None for none."""
        stale = self.stale.get(slot)
        if stale is None or stale.places is not None:
            return None if stale is None else stale.places
        return np.ones(self.types[slot].shape, bool)

    def _lift(self, value: Any) -> int:
        kind = type(value)
        if kind is np.ndarray:
            return self._lift_array(value)
        scalar = _SCALARS.get(kind)
        if scalar is not None:
            if kind is int and not -_WIDEST <= value < _WIDEST:
                return self.lift(as_float(value))
            if self.numbers is None:
                return self._lift_number(value, scalar)
            key = (kind, repr(value))
            if key not in self.numbers:
                self.numbers[key] = self.constant(value, scalar)
            return self.numbers[key]
        if kind is Literal:
            return self._written(value)
        if isinstance(value, np.generic):
            check_numeric(value)
            return self.constant(value, type_of(value))
        if isinstance(value, (float, int, complex)):  # subclasses, which NumPy treats as scalars
            plain = np.asarray(value)[()]
            return self.constant(plain, type_of(plain))
        if isinstance(value, (list, tuple)):  # of traced values, maybe
            return hooks.lift_list(self, value)
        if isinstance(value, np.ndarray):
            check_plain(value)
        return self._lift_array(np.asarray(value))

    def _lift_number(self, value: Any, type: ArrayType) -> int:
        """The slot of a Python number. One object is one input; others: see `building.py`."""
        single = type.dtype.kind == "f"  # equal integers are one object anyway
        if single:
            known = self.arrays.get(id(value))
            if known is not None:
                return known[1]
        frame, place = user_place()
        slot = self.constant(value, type)
        if single:
            self.arrays[id(value)] = (value, slot)
        elif frame is not None and place[1] in literal_places(frame.f_code):
            self.literals[place] = (value, slot)
            return slot
        self._place(place, slot)
        return slot

    def _place(self, place: Any, slot: int) -> None:
        """Note the constant that was lifted last, by the instruction that used it."""
        lifted = LiftedConstant(slot, len(self.records) - 1, len(self.constants) - 1)
        self.placed.setdefault(place, []).append(lifted)

    def lift_made(self, value: Any) -> int:
        """The slot of a known array, which was made in this capture or an outer one."""
        count = len(self.types)
        slot = self.lift(value)
        if slot == count and type(value) is np.ndarray:
            self._place(user_place()[1], slot)
        return slot

    def _lift_array(self, value: np.ndarray[Any, Any]) -> int:
        place = id(value)
        known = self.arrays.get(place)
        if known is not None and same_memory(self.values[known[1]], value):
            return known[1]  # nobody has written into it since
        dtype = value.dtype
        if dtype.kind not in "biufc":
            check_numeric(value)
        outer = outermost()
        held = value.copy() if outer is None or outer is self else outer._copy_of(value)
        type_ = array_type(value.shape, dtype)
        # As `constant` does, without the call: every array of a closure comes by here.
        types = self.types
        slot = len(types)
        types.append(type_)
        self.records.append((type_,))
        self.constants.append(held)
        self.values[slot] = held
        self.arrays[place] = (value, slot)
        if self.lines is not None:
            self.lines.append("")
        return slot

    def _copy_of(self, value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The copy of an array that captures within this one lift.

        It is the same one until somebody writes into the array, and so one constant of this trace.
        """
        known = self.copies.get(id(value))
        if known is None or known[0]() is not value or not same_memory(known[1], value):
            known = self.copies[id(value)] = (ref(value), value.copy())
        return known[1]

    def _written(self, value: Literal) -> int:
        """The slot of a number that a rule wrote into a program that is recorded here."""
        slot = len(self.types)
        self.types.append(value.type)
        self.records.append((RecordedLiteral(value),))
        self.values[slot] = value.value
        if self.lines is not None:
            self.lines.append("")
        return slot

    def constant(self, value: Any, type: ArrayType) -> int:
        """A new slot for a constant."""
        types = self.types
        slot = len(types)
        types.append(type)
        self.records.append((type,))
        self.constants.append(value)
        self.values[slot] = value
        if self.lines is not None:
            self.lines.append("")
        return slot

    # --- values -----------------------------------------------------------------------------------

    def guard(self, place: int, slot: int, kind: str, value: Any) -> None:
        """Note that the value of a slot was asked for, after so many records."""
        assert self.guards is not None
        if kind == TEXT and self.script is not None:
            self.script.prints = True
        elif kind == TEXT or (kind == WHOLE and np.asarray(value).dtype.kind == "c"):
            self.asked = True
        elif (slot, kind) not in self.guards and (slot, WHOLE) not in self.guards:
            self.guards[slot, kind] = guard_of(place, slot, kind, value, user_line())

    def value(self, slot: int, apply: Callable[[Operation, list[Any], int], Any]) -> Any:
        """The value of a slot, computing just what it depends on and has not been computed before.

        apply: how an operation, marked so, is applied to values, which an outer capture may trace.
        """
        self.find_owners()
        for number in self._missing(slot):
            op, *operands = self.records[number]
            first = self.starts[number]
            given = [self.values[operand] for operand in operands]
            results = apply(op, given, self.quiet.get(number, False))
            for place, result in enumerate(results if op.primitive.multiple else (results,)):
                self.values[first + place] = result
        return self.values[slot]

    def find_owners(self) -> None:
        """Extend the table of which record made which slot."""
        known, starts, records, types = self.owners, self.starts, self.records, self.types
        following, total = len(known), len(types)
        for number in range(len(starts), len(records)):
            if following >= total:
                break
            starts.append(following)
            head, count = records[number][0], 1
            if type(head) is Operation and head.multiple:
                count = len(head.infer(tuple([types[slot] for slot in records[number][1:]])))
            known += [number] * count
            following += count

    def start(self, number: int) -> int:
        """The slot of the (first) result of a record."""
        self.find_owners()
        return self.starts[number]

    def needed(self, slots: Iterable[int]) -> set[int]:
        """The records, by number, that slots depend on."""
        self.find_owners()
        needed: set[int] = set()
        stack = [self.owners[slot] for slot in slots]
        while stack:
            number = stack.pop()
            if number >= 0 and number not in needed:
                needed.add(number)
                if isinstance(self.records[number][0], Operation):
                    stack += [self.owners[slot] for slot in self.records[number][1:]]
        return needed

    def _missing(self, slot: int) -> list[int]:
        """The records to run, in order, for a slot to have a value."""
        needed: set[int] = set()
        stack = [slot]
        while stack:
            current = stack.pop()
            if current in self.values:
                continue
            owner = self.owners[current]
            if owner < 0:
                raise _unanswered(self.meaning)
            if owner not in needed:
                needed.add(owner)
                stack.extend(self.records[owner][1:])
        return sorted(needed)


def _unanswered(meaning: str) -> ValueNeededError:
    """The error for a question without an answer: a refusal, where the user's code has asked."""
    error = ValueNeededError(
        "The value of an array was asked for (by `if`, `while`, int(), float() or an index) where "
        f"it {meaning}"
    )
    frame: Any = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_RECORDING):
        frame = frame.f_back
    if hooks.is_users_file(frame.f_code.co_filename):
        for trace in captures():
            trace.refusal = trace.refusal or error
    return error


# --- the captures under way in this thread --------------------------------------------------------


def current() -> Trace | None:
    """The innermost capture under way, if any."""
    stack = getattr(_state, "stack", None)
    return stack[-1] if stack else None


def captures() -> list[Trace]:
    """The captures under way, the innermost last."""
    return getattr(_state, "stack", _NONE)


_NONE: list[Trace] = []


def outermost() -> Trace | None:
    """The outermost capture under way, if any."""
    stack = getattr(_state, "stack", None)
    return stack[0] if stack else None


def inside() -> bool:
    """Whether it is this package that calls NumPy's functions, and not the user's code."""
    stack = captures()
    return bool(stack) and stack[-1].inside


def note_effect(effect: str) -> None:
    """Say why the captures under way in this thread cannot stand for later calls."""
    whole, line = outermost(), user_line()
    if whole is not None and len(whole.effects) < _EFFECTS and not hooks.is_excused(effect, line):
        whole.effects.append((effect, line))


def is_guarded() -> bool:
    """Whether the outermost capture keeps a program, for which questions are guards."""
    trace = outermost()
    return trace is not None and trace.guards is not None


def note_entered(code: Any) -> None:
    """Note that code is entered that was found through an object."""
    stack = getattr(_state, "stack", None)
    if stack:
        stack[0].entered[id(code)] = code


def enter(trace: Trace) -> None:
    """Begin a capture."""
    stack = getattr(_state, "stack", None)
    if stack is None:
        stack = _state.stack = []
    trace.level = len(stack) + 1
    stack.append(trace)


@contextmanager
def alone(trace: Trace | None = None) -> Iterator[None]:
    """A capture, or none, of which those under way are not to know."""
    before, _state.stack = captures(), [] if trace is None else [trace]
    try:
        yield
    finally:
        if trace is not None:
            trace.open = False
        _state.stack = before


def leave(trace: Trace) -> None:
    """End a capture."""
    trace.open = False
    trace.remembered = {}
    _state.stack.pop()
