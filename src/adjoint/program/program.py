"""The program: a flat, typed, immutable list of equations in single-assignment form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType, type_of
from adjoint.program.operation import Operation
from adjoint.program.printer import program_text


class Variable:
    """A value of a program, assigned once: an input or a result. Compared by identity."""

    __slots__ = ("type",)

    def __init__(self, type: ArrayType) -> None:
        self.type = type

    def __repr__(self) -> str:
        return f"<variable {self.type}>"


class Literal:
    """A scalar constant written into a program by a rule. User data never becomes a literal."""

    __slots__ = ("type", "value")

    def __init__(self, value: bool | int | float | complex | np.generic) -> None:
        self.value = value
        self.type = type_of(value)

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for literals that are the same number of the same type (0.0 and -0.0 differ)."""
        return (self.type, repr(self.value))

    def __repr__(self) -> str:
        return repr(self.value)


Atom = Variable | Literal

# What `Equation.derived` is where the user wrote it, and it warns of nothing.
SILENT: Final = 2


class Equation:
    """`outputs = operation(inputs)`.

    `origin` is the number of the recorded operation that gave rise to it, through all transforms,
    so that an error can name the user's line; None where a rule stands for no single operation.
    `primitive` is that of the operation. `derived` marks what warns of nothing: True where a
    transform wrote it, which the user did not; `SILENT` where the user wrote it, and wants no
    warning (under `np.errstate`) or gets none (numbers of Python's own).
    """

    __slots__ = ("derived", "inputs", "operation", "origin", "outputs", "primitive")

    def __init__(
        self,
        operation: Operation,
        inputs: Sequence[Atom],
        outputs: Sequence[Variable],
        origin: int | None = None,
        derived: int = False,
    ) -> None:
        self.operation = operation
        self.primitive: Any = operation.primitive  # asked for more often than all else
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.origin = origin
        self.derived = derived

    @property
    def transformed(self) -> bool:
        """Whether a transform wrote it: it is exact up to rounding, and hard zeros win in it.

        What the user wrote is NumPy's to the last bit, silent or not.
        """
        return bool(self.derived) and self.derived != SILENT

    @property
    def params(self) -> dict[str, Any]:
        """Its parameters."""
        return self.operation.params


class Program:
    """An immutable program: `inputs`, `equations`, `outputs`.

    Programs are equal when they have the same structure, whatever their variables are called.
    `str(program)` is a stable text form.
    """

    __slots__ = ("_hash", "_key", "equations", "inputs", "outputs")

    def __init__(
        self,
        inputs: Iterable[Variable],
        equations: Iterable[Equation],
        outputs: Iterable[Atom],
    ) -> None:
        self.inputs = tuple(inputs)
        self.equations = tuple(equations)
        self.outputs = tuple(outputs)
        self._key: tuple[Any, ...] | None = None
        self._hash: int | None = None

    @property
    def input_types(self) -> tuple[ArrayType, ...]:
        """The types of the inputs."""
        return tuple(variable.type for variable in self.inputs)

    @property
    def output_types(self) -> tuple[ArrayType, ...]:
        """The types of the outputs."""
        return tuple(atom.type for atom in self.outputs)

    @property
    def key(self) -> tuple[Any, ...]:
        """The structure, hashable: equal when two programs compute the same thing the same way."""
        if self._key is None:
            numbers: dict[Variable, int] = {}
            for variable in self.inputs:
                numbers[variable] = len(numbers)

            def name(atom: Atom) -> Any:
                return numbers[atom] if isinstance(atom, Variable) else atom.key

            rows = []
            for equation in self.equations:
                # Derived equations run differently (silently, and hard zeros win).
                rows.append((equation.operation, equation.derived, *map(name, equation.inputs)))
                for variable in equation.outputs:
                    numbers[variable] = len(numbers)
            self._key = (self.input_types, tuple(rows), tuple(map(name, self.outputs)))
        return self._key

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Program) and hash(self) == hash(other) and self.key == other.key
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.key)
        return self._hash

    def __len__(self) -> int:
        return len(self.equations)

    def __str__(self) -> str:
        return program_text(self)

    def __repr__(self) -> str:
        return (
            f"<Program of {len(self.equations)} equations, "
            f"{len(self.inputs)} inputs, {len(self.outputs)} outputs>"
        )
