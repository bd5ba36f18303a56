"""Values and programs read again from their contents, as `contents.whole_content` writes them.

What is read comes from the user's own folder, and bears an authentication code (see
`object_cache.py`); nothing in it is executed. It may still be what an earlier version has written,
or name a primitive that this process does not have: then there is an `UnreadableError`, and the
program is derived.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from enum import Enum
from importlib import import_module
from struct import Struct
from struct import error as StructError
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.executors.disk.contents import HOME
from adjoint.primitives.calls.custom import Constant
from adjoint.primitives.declaration import PRIMITIVES
from adjoint.program import Atom, Equation, Literal, Operation, Program, Variable, operation

_HEAD: Final = Struct("<cQ")  # a tag, and the length of what follows


_FAULTS: Final = (
    ArithmeticError,
    AttributeError,
    ImportError,
    LookupError,
    RecursionError,
    StructError,
    TypeError,
    ValueError,
)


class UnreadableError(Exception):
    """The content is not one that this version writes."""


def read(content: bytes) -> Any:
    """The value of a content.

    Raises:
        UnreadableError: it is none, or names what this process does not have.
    """
    try:
        (value,) = _values(content)
    except _FAULTS as error:
        raise UnreadableError(str(error)) from error
    return value


def _frames(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = 0
    while place < len(content):
        tag, length = _HEAD.unpack_from(content, place)
        place += _HEAD.size
        if length > len(content) - place:
            raise ValueError("it was cut short")
        yield tag, content[place : place + length]
        place += length


def _values(content: bytes) -> list[Any]:
    return [_READERS[tag](part) for tag, part in _frames(content)]


def _dtype(content: bytes) -> np.dtype[Any]:
    """A dtype by its letter, and by its text, which tells the order of bytes."""
    text = content.decode()
    dtype = np.dtype(text[0])
    return dtype if dtype.str == text[1:] else dtype.newbyteorder()


def _scalar(content: bytes) -> Any:
    (_, dtype), rest = _first(content)
    (number,) = np.frombuffer(rest, _dtype(dtype))
    return number


def _constant(content: bytes) -> Constant:
    (_, kind), numbers = _first(content)
    dtype, shape = _values(kind)
    # A copy, which may be written to as any other array is.
    return Constant(np.frombuffer(numbers, dtype).reshape(shape).copy())


def _first(content: bytes) -> tuple[tuple[bytes, bytes], bytes]:
    """The first frame, and what follows it."""
    frame = next(_frames(content), None)
    if frame is None:
        raise ValueError("it is empty")
    return frame, content[_HEAD.size + len(frame[1]) :]


def _type(content: bytes) -> ArrayType:
    (parts,) = _values(content)
    shape, dtype, weak = parts
    return array_type(shape, dtype, weak)


def _member(content: bytes) -> Enum:
    ((module, name, member),) = _values(content)
    if not module.startswith(HOME):
        raise LookupError(f"{module} is another package")
    kind = import_module(module)
    for part in name.split("."):
        kind = getattr(kind, part)
    if not (isinstance(kind, type) and issubclass(kind, Enum)):
        raise LookupError(f"{name} has no members")
    return kind[member]


def _operation(content: bytes) -> Operation:
    ((name, *parameters),) = _values(content)
    names, values = parameters[::2], parameters[1::2]
    return operation(PRIMITIVES[name], **dict(zip(names, values, strict=True)))


def _program(content: bytes) -> Program:
    (_, origins), (_, words), *tables = _frames(content)
    types, operations, literals = (_values(table) for _, table in tables)
    return _ProgramReader(_integers(words), types, operations, literals).program(_integers(origins))


def _integers(content: bytes) -> array[int]:
    numbers: array[int] = array("q")
    numbers.frombytes(content)
    return numbers


class _ProgramReader:
    """The structure of a program, as whole numbers (see `contents.py`), turned into equations."""

    def __init__(
        self,
        words: array[int],
        types: list[ArrayType],
        operations: list[Operation],
        literals: list[Any],
    ) -> None:
        self.words = words
        self.types = types
        self.operations = operations
        self.literals = [Literal(value) for value in literals]
        self.variables: list[Variable] = []

    def program(self, origins: array[int]) -> Program:
        words = self.words
        inputs, equations, outputs = words[:3]
        place = 3 + inputs
        arguments = self._assigned(words[3:place])
        rows: list[Equation] = []
        for number in range(equations):
            applied = self.operations[words[place]]
            count, derived = divmod(words[place + 1], 3)
            place += 2
            operands = self._atoms(words[place : place + count])
            place += count + 1
            results = self._assigned(words[place : place + words[place - 1]])
            place += len(results)
            origin = None if origins[number] < 0 else origins[number]
            rows.append(Equation(applied, operands, results, origin, _MARKS[derived]))
        if len(words) != place + outputs or len(origins) != equations:
            raise ValueError("it has other lengths than it says")
        return Program(arguments, rows, self._atoms(words[place:]))

    def _assigned(self, types: array[int]) -> list[Variable]:
        new = [Variable(self.types[number]) for number in types]
        self.variables += new
        return new

    def _atoms(self, places: array[int]) -> list[Atom]:
        variables, literals = self.variables, self.literals
        return [variables[n] if n >= 0 else literals[-1 - n] for n in places]


_MARKS: Final = (False, True, 2)
_REAL, _COMPLEX = Struct("<d"), Struct("<dd")
_READERS: Final[dict[bytes, Callable[[bytes], Any]]] = {
    b"n": lambda content: None,
    b"b": lambda content: content == b"\1",
    b"i": lambda content: int.from_bytes(content, "little", signed=True),
    b"f": lambda content: _REAL.unpack(content)[0],
    b"c": lambda content: complex(*_COMPLEX.unpack(content)),
    b"s": lambda content: content.decode("utf-8", "surrogatepass"),
    b"t": lambda content: tuple(_values(content)),
    b"y": _type,
    b"d": _dtype,
    b"g": _scalar,
    b"e": _member,
    b"a": _constant,
    b"o": _operation,
    b"p": _program,
}
