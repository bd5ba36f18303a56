"""The trace: what capture writes down while a user's function runs.

Nothing is computed. A record is a tuple `(operation, operand slots...)`; slots number the inputs,
the lifted constants and the results in the order in which they came, so the tuple of all records is
the structure of the function, and the key under which its compiled program is found. A constant is
recorded by its type alone: its value is an input of the program.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType, array_type, type_of
from adjoint.base.errors import DTypeError, ValueNeededError
from adjoint.capture import protocols
from adjoint.program import Builder, Operation, Program

_SMALL: Final = (
    1 << 15
)  # bytes up to which a lifted array is always copied, so that later writes to it cannot be seen
_SCALARS: Final = {
    float: array_type((), np.dtype(float), True),
    int: array_type((), np.dtype(int), True),
    complex: array_type((), np.dtype(complex), True),
    bool: array_type((), np.dtype(bool)),
}
_PACKAGE: Final = __file__.rpartition("capture")[0]
_state = threading.local()


class Trace:
    """One capture.

    types: of every slot. records: see the module. level: how many captures surround this one.
    values: what is known of slots, by slot; an input that stands for many (vmap) has none, and one
    may be traced by an outer capture. active: for each input, whether a derivative with respect to
    it was asked for. asked: whether a value was asked for, so that the records depend on values and
    not on types alone. starts and owners: which slots belong to which record, filled in as needed.
    quiet: the records, by number, that are not to warn.
    """

    __slots__ = (
        "active",
        "arrays",
        "asked",
        "constants",
        "input_count",
        "level",
        "lines",
        "numbers",
        "open",
        "owners",
        "quiet",
        "records",
        "starts",
        "types",
        "values",
        "writes",
    )

    def __init__(
        self, types: Sequence[ArrayType], values: dict[int, Any], active: Sequence[bool]
    ) -> None:
        self.types: list[ArrayType] = list(types)
        self.active = active
        self.records: list[tuple[Any, ...]] = []
        self.constants: list[Any] = []
        self.arrays: dict[int, tuple[Any, int]] = {}
        self.values: dict[int, Any] = values
        self.input_count = len(types)
        self.level = 0
        self.open = True
        self.asked = False
        # Python's numbers by what they are, where the program is kept: equal ones are one input,
        # so that what is computed from them is computed once.
        self.numbers: dict[tuple[type, str], int] | None = None
        self.writes = False
        self.owners: list[int] = [-1] * self.input_count
        self.starts: list[int] = []
        self.lines: list[str] | None = None
        self.quiet: set[int] = set()

    # --- recording
    # ---------------------------------------------------------------------------------

    def record(self, op: Operation, slots: tuple[int, ...]) -> int:
        """Append an operation; returns the slot of its (first) result."""
        types = self.types
        key = tuple([types[slot] for slot in slots])
        found = op._inferred.get(key) or op.infer(key)
        slot = len(types)
        types.extend(found)
        self.records.append((op, *slots))
        if self.lines is not None:
            self.lines.append(user_line())
        return slot

    def lift(self, value: Any) -> int:
        """The slot of a concrete array or scalar, which becomes an input of the program."""
        kind = type(value)
        if kind is np.ndarray:
            return self._lift_array(value)
        scalar = _SCALARS.get(kind)
        if scalar is not None:
            if self.numbers is None:
                return self.constant(value, scalar)
            key = (kind, repr(value))
            if key not in self.numbers:
                self.numbers[key] = self.constant(value, scalar)
            return self.numbers[key]
        if isinstance(value, np.generic):
            _check_numeric(value)
            return self.constant(value, type_of(value))
        if isinstance(value, (float, int, complex)):  # subclasses, which NumPy treats as scalars
            return self.constant(value, type_of(np.asarray(value)))
        if isinstance(value, (list, tuple)):  # of traced values, maybe
            return protocols.LIFT_LIST(self, value)
        if isinstance(value, np.ndarray):
            check_plain(value)
        return self._lift_array(np.asarray(value))

    def _lift_array(self, value: np.ndarray[Any, Any]) -> int:
        place = id(value)
        known = self.arrays.get(place)
        small = value.nbytes <= _SMALL
        if known is not None:
            # Code that capture does not see may have written into it since.
            if small:
                if self.values[known[1]].tobytes() == value.tobytes():
                    return known[1]
            elif not self.writes or same_bits(self.values[known[1]], value):
                return known[1]
        dtype = value.dtype
        if dtype.kind not in "biufc":
            _check_numeric(value)
        held = value.copy() if small or self.writes else value
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

    def expect_writes(self) -> None:
        """From here on, code may write to arrays that it did not make.

        Hold copies of all that were lifted.
        """
        if self.writes:
            return
        self.writes = True
        for number, value in enumerate(self.constants):
            if isinstance(value, np.ndarray):
                self.constants[number] = value.copy()
        self._find_owners()
        replaced = iter(self.constants)
        for number, record in enumerate(self.records):
            if isinstance(record[0], ArrayType):
                self.values[self.starts[number]] = next(replaced)

    # --- values
    # ------------------------------------------------------------------------------------

    def value(self, slot: int, apply: Callable[[Operation, list[Any]], Any]) -> Any:
        """The value of a slot, computing just what it depends on and has not been computed before.

        apply: how an operation is applied to values, which may be traced by an outer capture.
        """
        self._find_owners()
        for number in self._missing(slot):
            op, *operands = self.records[number]
            first = self.starts[number]
            results = apply(op, [self.values[operand] for operand in operands])
            if not op.primitive.multiple:
                results = (results,)
            for place, result in enumerate(results):
                self.values[first + place] = result
        return self.values[slot]

    def _find_owners(self) -> None:
        """Extend the table of which record made which slot."""
        known = self.owners
        while len(known) < len(self.types):
            number = len(self.starts)
            record = self.records[number]
            head = record[0]
            count = 1
            if isinstance(head, Operation):
                count = len(head.infer(tuple([self.types[slot] for slot in record[1:]])))
            self.starts.append(len(known))
            known.extend([number] * count)

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
                raise ValueNeededError(
                    "The value of an array was asked for (by `if`, `while`, int(), float() or an "
                    "index) where it "
                    "stands for a whole batch: inside vmap every example may differ. "
                    "Choose with np.where, which computes both sides."
                )
            if owner not in needed:
                needed.add(owner)
                stack.extend(self.records[owner][1:])
        return sorted(needed)

    # --- programs
    # ----------------------------------------------------------------------------------

    def program(self, outputs: Sequence[int]) -> Program:
        """The program: inputs, then constants, in the order in which they were lifted."""
        builder = Builder()
        names: list[Any] = [builder.input(type_) for type_ in self.types[: self.input_count]]
        constants = [
            builder.input(record[0])
            for record in self.records
            if not isinstance(record[0], Operation)
        ]
        waiting = iter(constants)
        for number, record in enumerate(self.records):
            head = record[0]
            if isinstance(head, Operation):
                builder.origin = number
                builder.derived = number in self.quiet
                names.extend(builder.emit(head, [names[slot] for slot in record[1:]]))
            else:
                names.append(next(waiting))
        return builder.build([names[slot] for slot in outputs])


def _check_numeric(value: Any) -> None:
    if value.dtype.kind not in "biufc":
        raise DTypeError(
            f"An array of dtype {value.dtype} was combined with a traced array; "
            "only booleans, integers, floats and complex numbers can be."
        )


def check_plain(value: Any) -> None:
    """Refuse subclasses of arrays with a meaning of their own: it would be lost."""
    kind = type(value)
    if isinstance(value, (np.matrix, np.ma.MaskedArray)) or (
        kind.__array_ufunc__ is not np.ndarray.__array_ufunc__
        or kind.__array_function__ is not np.ndarray.__array_function__
    ):
        raise DTypeError(
            f"A {kind.__module__}.{kind.__name__} has rules of its own, which traced arrays do not "
            "follow. Pass its plain numbers: np.asarray(x), or x.filled(0.0) and a mask."
        )


def same_bits(one: Any, other: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays hold the same values, NaNs included."""
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind in "fc"))


# --- the captures under way in this thread --------------------------------------------------------


def current() -> Trace | None:
    """The innermost capture under way, if any."""
    stack = getattr(_state, "stack", None)
    return stack[-1] if stack else None


def depth() -> int:
    """How many captures are under way."""
    return len(getattr(_state, "stack", ()))


def enter(trace: Trace) -> None:
    """Begin a capture."""
    stack = getattr(_state, "stack", None)
    if stack is None:
        stack = _state.stack = []
    trace.level = len(stack) + 1
    stack.append(trace)


def leave(trace: Trace) -> None:
    """End a capture."""
    trace.open = False
    _state.stack.pop()


def user_line() -> str:
    """Where the user's code stands: the innermost frame outside this package and NumPy."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")  # of clones there is none
        file = frame.f_code.co_filename
        if not (name.startswith(("adjoint.", "numpy.")) or file.startswith(_PACKAGE)):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
