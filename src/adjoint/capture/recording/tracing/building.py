"""From a trace to a program."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, compress
from typing import Any, Final, NamedTuple

from adjoint.base.arrays import ArrayType
from adjoint.capture.recording.tracing.constants import SAME_AS, RecordedLiteral, same_constant
from adjoint.capture.recording.tracing.trace import Trace
from adjoint.program import SILENT, Builder, Equation, Literal, Operation, Program, Variable

# Records from which equal ones are merged before anything is derived: what a recursion computes
# again and again would be derived as often.
_LONG: Final = 200_000
# Traces for which it is known what outputs need, and records in them, at most.
_TRACES: Final = 1024
_RECORDS: Final = 1_000_000
_MANY: Final = 1000  # records that are not hashed one by one
_LOOKED_AT: Final = 100  # of those, about
_known: dict[Any, Needed] = {}


def merge_constants(trace: Trace) -> None:
    """Let what is equal in all rounds of a loop be one, and so the rounds alike.

    That is, where one instruction of the user's code was given the same number each time, or
    an array that was newly made, such as `np.zeros(n)` that is written into. Which of several
    are equal does not matter: data would change the program. The others are no constants any
    more, and so no inputs of the program, which are looked at and passed at each call.
    """
    dropped: list[int] = []
    for first, *others in trace.placed.values():
        number = trace.values[first.slot]
        if others and all(same_constant(trace.values[x.slot], number) for x in others):
            for merged in others:
                trace.records[merged.record] = (SAME_AS, first.slot)
            dropped += [merged.constant for merged in others]
    if not dropped:
        return
    gone = set(dropped)
    kept = [place for place in range(len(trace.constants)) if place not in gone]
    trace.constants = [trace.constants[place] for place in kept]
    if trace.script is not None:
        moved = {place: number for number, place in enumerate(kept)}
        trace.script.places = [moved[place] for place in trace.script.places]


class Needed(NamedTuple):
    """What some outputs need of a trace (a slice of the program, in the sense of Weiser 1984).

    records: of operations, by number. constants: of `Trace.constants`, by number, as they are used
    first; but all in their order where some are drawn, since the script knows them by their place.
    quiet: the records that are not to warn, with their marks (`Equation.derived`). key: equal for
    captures with the same program.
    """

    records: list[int]
    constants: list[int]
    quiet: dict[int, int]
    key: tuple[Any, ...]


class _ManyRecords:
    """Records that are told apart by some of them first: hashing all would take long."""

    __slots__ = ("records",)

    def __init__(self, records: tuple[Any, ...]) -> None:
        self.records = records

    def __len__(self) -> int:
        return len(self.records)

    def __hash__(self) -> int:
        count = len(self.records)
        return hash((count, self.records[:: count // _LOOKED_AT]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ManyRecords) and self.records == other.records


def needed_by(trace: Trace, outputs: tuple[int, ...]) -> Needed:
    """What outputs need of a trace.

    What else was recorded, and when constants came up, does not tell two programs apart. So a
    capture whose questions are noted, or within another, has the same program as any other.
    """
    types = tuple(trace.types[: trace.input_count])
    records: Any = tuple(trace.records)
    if len(records) > _MANY:
        records = _ManyRecords(records)
    whole = (types, records, outputs, frozenset(trace.quiet.items()), _draws(trace))
    needed = _known.get(whole)
    if needed is None:
        known = list(_known)
        if len(known) >= _TRACES or sum([len(records) for _, records, *_ in known]) > _RECORDS:
            _known.clear()
        trace.find_owners()
        needed = _known[whole] = _sliced(trace, outputs)
    return needed


def all_of(trace: Trace, outputs: Sequence[int]) -> Needed:
    """All that was recorded, as the user wrote it, but for what has failed to no purpose.

    What an outer capture computes for a function within it when a value is asked for first, is kept
    for it whatever becomes of what has asked.
    """
    operations = [n for n, (head, *_) in enumerate(trace.records) if type(head) is Operation]
    went_on = [number for number in operations if number not in trace.failed]
    operands = chain.from_iterable([trace.records[number][1:] for number in went_on])
    needed = trace.needed([*outputs, *operands])
    numbers = [n for n in operations if n not in trace.failed or n in needed]
    constants = list(range(len(trace.constants)))
    return Needed(numbers, constants, _quiet(trace, numbers), ())


def forget_needed() -> None:
    """Forget what outputs need of the traces that came up."""
    _known.clear()


def _sliced(trace: Trace, outputs: tuple[int, ...]) -> Needed:
    records, types, live = trace.records, trace.types, _live(trace, outputs)
    numbers = [number for number in live if type(records[number][0]) is Operation]
    kept = [records[number] for number in numbers]
    operands = list(chain.from_iterable([record[1:] for record in kept]))
    lifted, merged = _lifted(trace), _merged(trace, live)
    named = lifted.keys() | merged.keys()  # of many operands, few
    used = lifted if _draws(trace) else [x for x in (*operands, *outputs) if x in named]
    slots = [slot for slot in dict.fromkeys(merged.get(x, x) for x in used) if slot in lifted]
    names = _names(trace, live, slots)
    quiet = _quiet(trace, numbers)
    key = (
        *(tuple(types[: trace.input_count]), tuple([types[slot] for slot in slots])),
        *(tuple([record[0] for record in kept]), tuple(map(len, kept))),
        tuple([names[slot] for slot in operands]),
        tuple([(place, quiet[n]) for place, n in enumerate(numbers) if n in quiet]),
        tuple([names[slot] for slot in outputs]),
    )
    return Needed(numbers, [lifted[slot] for slot in slots], quiet, key)


def _draws(trace: Trace) -> bool:
    return trace.script is not None and bool(trace.script.places)


def _lifted(trace: Trace) -> dict[int, int]:
    """The slots of constants, with their places among them."""
    records, starts = trace.records, trace.starts
    numbers = [number for number in range(len(records)) if type(records[number][0]) is ArrayType]
    return {starts[number]: place for place, number in enumerate(numbers)}


def _merged(trace: Trace, live: list[int]) -> dict[int, int]:
    """The slots that are other names of earlier ones, with these."""
    records, starts = trace.records, trace.starts
    return {starts[n]: records[n][1] for n in live if records[n][0] is SAME_AS}


def _names(trace: Trace, live: list[int], constants: list[int]) -> list[Any]:
    """The names of slots in a structure: numbers, in an order that depends on nothing else.

    Inputs come first, then constants as they are used, then results; literals are themselves.
    """
    records, starts = trace.records, [*trace.starts, len(trace.types)]
    names: list[Any] = list(range(len(trace.types)))
    following = trace.input_count
    for slot in constants:
        names[slot] = following
        following += 1
    for number in live:
        head, start = records[number][0], starts[number]
        if type(head) is Operation:
            for slot in range(start, starts[number + 1]):
                names[slot] = following
                following += 1
        elif type(head) is RecordedLiteral:
            names[start] = head
        elif head is SAME_AS:
            names[start] = names[records[number][1]]
    return names


def _quiet(trace: Trace, numbers: list[int]) -> dict[int, int]:
    """Which of these records are not to warn.

    Those of derivatives, and arithmetic of Python's own numbers, which become one in the next
    record: such numbers raise errors, or warn of nothing.
    """
    records, types, starts = trace.records, trace.types, trace.starts
    quiet = {number: trace.quiet[number] for number in numbers if number in trace.quiet}
    for number in numbers:
        slot = starts[number]
        if types[slot].weak and records[number][1:] == (slot - 1,) and number:
            head, *operands = records[number - 1]
            if type(head) is Operation and all([types[operand].weak for operand in operands]):
                quiet.setdefault(number - 1, SILENT)
    return quiet


def _live(trace: Trace, outputs: Sequence[int]) -> list[int]:
    """The records that outputs follow from, in order."""
    records, owners = trace.records, trace.owners
    live = bytearray(len(records) + 1)  # the owner of an input is -1
    for slot in outputs:
        live[owners[slot]] = 1
    for number, record in zip(range(len(records) - 1, -1, -1), reversed(records), strict=True):
        if live[number]:
            for slot in record[1:]:
                live[owners[slot]] = 1
    return list(compress(range(len(records)), live))


class _Atoms(dict[int, Any]):
    """The atoms of slots; literals and other names of slots come when they are asked for."""

    def __init__(self, trace: Trace) -> None:
        super().__init__()
        self.trace = trace
        self.literals: dict[RecordedLiteral, Literal] = {}

    def __missing__(self, slot: int) -> Any:
        head, *same = self.trace.records[self.trace.owners[slot]]
        atom = self[same[0]] if same else self.literals.setdefault(head, head.literal)
        self[slot] = atom
        return atom


def program_of(trace: Trace, outputs: Sequence[int], needed: Needed) -> Program:
    """The program: inputs, then constants."""
    trace.find_owners()
    builder = Builder()
    atoms = _Atoms(trace)
    lifted = list(_lifted(trace))
    for slot in (*range(trace.input_count), *[lifted[place] for place in needed.constants]):
        atoms[slot] = builder.input(trace.types[slot])
    repeats = len(needed.records) > _LONG
    known: dict[Any, tuple[Variable, ...]] = {}
    records, types, starts = trace.records, trace.types, [*trace.starts, len(trace.types)]
    append, atom_of = builder.equations.append, atoms.__getitem__
    quiet = needed.quiet
    for number in needed.records:
        head, *slots = records[number]
        operands = tuple(map(atom_of, slots))
        mark = quiet.get(number, False)
        first, single = starts[number], not head.multiple
        results = known.get((head, mark, operands)) if repeats else None
        if results is None:
            results = (
                (Variable(types[first]),)
                if single  # as most are
                else tuple(map(Variable, types[first : starts[number + 1]]))
            )
            append(Equation(head, operands, results, number, mark))
            if repeats:
                known[head, mark, operands] = results
        if single:
            atoms[first] = results[0]
        else:
            atoms.update(enumerate(results, first))
    return builder.build([atoms[slot] for slot in outputs])
