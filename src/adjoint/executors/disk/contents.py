"""What a program is, as bytes: the same in each process, and others for each other program.

They tell all that matters: of each equation the primitive, every parameter, the types and the
operands, by exact bits, and of arrays that the program holds their numbers. Only values of known
types have a content: a program with another one in it has none, and is not guessed at. Variables
are numbered in order, so that their names do not count. Machine code is found by a digest of it, in
which where an equation came from in the user's function does not count either; what is to be read
again (see `reading.py`) is written as a whole, with that.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from enum import Enum
from hashlib import sha256
from itertools import chain
from struct import Struct
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.primitives.calls.custom import Constant
from adjoint.primitives.declaration import PRIMITIVES, Primitive
from adjoint.primitives.elementwise.accuracy.formulas import Formula
from adjoint.program import Atom, Literal, Operation, Program, Variable

_NUMBERS: Final = frozenset("?bBhHiIlLqQefdFD")  # the dtypes, as NumPy's letters
HOME: Final = "adjoint."


class UnknownContentError(Exception):
    """There is something of which the content would not tell all."""


def program_digest(program: Program) -> bytes | None:
    """The digest of what a program does, or None."""
    try:
        return _Digests().digest(program)
    except UnknownContentError:
        return None


def value_content(value: Any) -> bytes:
    """Bytes that tell a value of a known type from every other; a program by its digest.

    Raises:
        UnknownContentError: the type is not known.
    """
    return _Digests().content(value)


def whole_content(value: Any) -> bytes:
    """Bytes from which `reading.read` has a value again, and whole programs.

    Raises:
        UnknownContentError: the type is not known.
    """
    return _Contents().content(value)


# --- values ---------------------------------------------------------------------------------------


def _integer(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)


# By the very type, as a bool is an int, and a number of NumPy's a float. Floats are their bits.
_REAL, _COMPLEX, _LENGTH = Struct("<d"), Struct("<dd"), Struct("<Q")
_PLAIN: Final[dict[type, tuple[bytes, Callable[[Any], bytes]]]] = {
    type(None): (b"n", lambda value: b""),
    bool: (b"b", lambda value: b"\1" if value else b"\0"),
    int: (b"i", _integer),
    float: (b"f", _REAL.pack),
    complex: (b"c", lambda value: _COMPLEX.pack(value.real, value.imag)),
    str: (b"s", lambda value: value.encode("utf-8", "surrogatepass")),
}


def _dtype(dtype: np.dtype[Any]) -> bytes:
    if dtype.char not in _NUMBERS or dtype.metadata is not None:
        raise UnknownContentError(f"numbers of dtype {dtype}")
    return f"{dtype.char}{dtype.str}".encode()  # of equal dtypes, C may have several


def _numbers(numbers: np.ndarray[Any, Any]) -> bytes:
    return np.ascontiguousarray(numbers).tobytes()


def _framed(tag: bytes, content: bytes) -> bytes:
    """So that what follows cannot be taken for a part of it."""
    return b"".join((tag, _LENGTH.pack(len(content)), content))


class _Contents:
    """Contents of values, and of the programs that they hold.

    Of programs that are held in several places, the work is done once.
    """

    def __init__(self) -> None:
        self._known: dict[int, bytes] = {}  # by identity: the outermost program keeps them all

    def content(self, value: Any) -> bytes:
        kind = type(value)
        plain = _PLAIN.get(kind)
        if plain is not None:
            return _framed(plain[0], plain[1](value))
        if kind is tuple:
            return _framed(b"t", b"".join(map(self.content, value)))
        if kind is Program:
            return _framed(b"p", self._once(value))
        if kind is Constant:
            return _framed(b"a", self._array(value.value))
        if kind is ArrayType:
            return _framed(b"y", self.content((value.shape, value.dtype, value.weak)))
        if isinstance(value, np.dtype):
            return _framed(b"d", _dtype(value))
        if isinstance(value, np.generic) and kind is value.dtype.type:
            return _framed(b"g", _framed(b"d", _dtype(value.dtype)) + value.tobytes())
        if isinstance(value, Enum) and kind.__module__.startswith(HOME):
            return _framed(b"e", self.content((kind.__module__, kind.__qualname__, value.name)))
        raise UnknownContentError(f"a value of type {kind.__qualname__}")

    def _array(self, value: np.ndarray[Any, Any]) -> bytes:
        if type(value) is not np.ndarray:
            raise UnknownContentError(f"an array of type {type(value).__qualname__}")
        return self.content((value.dtype, value.shape)) + _numbers(value)

    def _operation(self, operation: Operation) -> bytes:
        primitive = operation.primitive
        if not self._means_the_same(primitive):
            raise UnknownContentError(f"{primitive} is declared elsewhere")
        return self.content((primitive.name, *chain.from_iterable(operation.params.items())))

    def _means_the_same(self, primitive: Any) -> bool:
        """Whether the package's sources say all of a primitive, its derivative too."""
        return _is_of_the_package(primitive) and primitive.declared_in.startswith(HOME)

    def _once(self, program: Program) -> bytes:
        known = self._known.get(id(program))
        return (
            self._known.setdefault(id(program), self._program(program)) if known is None else known
        )

    def _program(self, program: Program) -> bytes:
        """Where its equations come from, and what they do."""
        origins = [
            -1 if equation.origin is None else equation.origin for equation in program.equations
        ]
        return _framed(b"r", array("q", origins).tobytes()) + self._work(program)

    def _work(self, program: Program) -> bytes:
        """Rows of numbers, and tables that these refer to."""
        rows = _NumberedProgram(program)
        tables = (
            b"".join(map(self.content, rows.types)),
            b"".join([_framed(b"o", self._operation(operation)) for operation in rows.operations]),
            b"".join(rows.literals),
        )
        frames = [_framed(b"t", table) for table in tables]
        return b"".join((_framed(b"w", rows.words.tobytes()), *frames))


class _Digests(_Contents):
    """Contents that hold of a program no more than a digest of what it does."""

    def _means_the_same(self, primitive: Any) -> bool:
        return _is_of_the_package(primitive)

    def _program(self, program: Program) -> bytes:
        return sha256(self._work(program)).digest()

    def digest(self, program: Program) -> bytes:
        """The digest of a program."""
        return self._once(program)


class _NumberedProgram:
    """The structure of a program as whole numbers.

    A variable is its place among all of them, a literal -1, -2, ... by its place in a table.
    """

    def __init__(self, program: Program) -> None:
        self.types: dict[ArrayType, int] = {}
        self.operations: dict[Operation, int] = {}
        self.literals: dict[bytes, int] = {}
        self._places: dict[Atom, int] = {}
        self.words = array("q")
        self._write(program)

    def _write(self, program: Program) -> None:
        words, places, operations = self.words, self._places, self.operations
        words.extend((len(program.inputs), len(program.equations), len(program.outputs)))
        words.extend(map(self._assigned, program.inputs))
        for equation in program.equations:
            inputs = equation.inputs
            row = [operations.setdefault(equation.operation, len(operations))]
            row.append(3 * len(inputs) + int(equation.derived))
            for atom in inputs:
                place = places.get(atom)
                row.append(self._literal(atom) if place is None else place)
            row.append(len(equation.outputs))
            for variable in equation.outputs:
                row.append(self._assigned(variable))
            words.extend(row)
        for atom in program.outputs:
            place = places.get(atom)
            words.append(self._literal(atom) if place is None else place)

    def _assigned(self, variable: Variable) -> int:
        """A new variable's type, as a number."""
        places, types = self._places, self.types
        number = len(places)
        places[variable] = number
        if len(places) == number:
            raise UnknownContentError("a variable is assigned twice")
        return types.setdefault(variable.type, len(types))

    def _literal(self, atom: Atom) -> int:
        if type(atom) is not Literal:
            raise UnknownContentError(f"{atom!r} is assigned nowhere")
        content = value_content(atom.value)
        return -1 - self.literals.setdefault(content, len(self.literals))


def _is_of_the_package(primitive: Any) -> bool:
    """Whether the package's sources say what a primitive is, and not what a user has declared."""
    if type(primitive) is not Primitive or PRIMITIVES.get(primitive.name) is not primitive:
        return False
    rules = [primitive.infer_rule]
    if isinstance(primitive.ufunc, Formula):
        rules.append(primitive.ufunc.rule)
    return all(str(getattr(rule, "__module__", "")).startswith(HOME) for rule in rules)
