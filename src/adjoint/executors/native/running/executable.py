"""A program that is one piece of machine code, and what lowering makes of it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from adjoint.base.arrays import ArrayType
from adjoint.base.errors import NativeUnavailableError
from adjoint.executors.arena import ARENA
from adjoint.executors.attempt import conforming
from adjoint.executors.interface import CompiledPiece, CompileReport, Needs
from adjoint.executors.native.entry.callable import bind
from adjoint.executors.native.lowering.lowered import Lowered
from adjoint.program import Equation, Program

Function = Callable[..., tuple[Any, ...] | None]


class NativeFunction(CompiledPiece, Protocol):
    """A program as one piece of machine code: what lowering makes.

    function: takes the inputs, then a `uint8` array of 64 bytes more than `workspace_bytes` unless
        that is zero, then arrays of the types `lent`; returns the results, or None.
    stack_bytes: scratch on the stack.
    """

    function: Function
    workspace_bytes: int
    stack_bytes: int
    lent: tuple[ArrayType, ...]


class Lowering(Protocol):
    """The module that lowers programs."""

    def lowerable(self, equation: Equation, precise: bool) -> bool:
        """Whether an equation can become machine code."""

    def programs_within(self, equation: Equation) -> tuple[Program, ...]:
        """The bodies, tests and branches of an equation."""

    def hindrance(self, equation: Equation, precise: bool) -> Equation | None:
        """The first equation within a loop or branch that cannot become machine code."""

    def lowered(self, program: Program, needs: Needs) -> Lowered | None:
        """The program as a text for LLVM."""

    def native(self, program: Program, needs: Needs) -> NativeFunction | None:
        """The program as machine code."""


def lowering() -> Lowering:
    """The module that lowers programs, which is loaded when it is first needed."""
    try:
        module: Any = importlib.import_module("adjoint.executors.native.lowering.lower")
    except ImportError as error:
        raise NativeUnavailableError(f"the compiler cannot be loaded: {error}") from error
    lower: Lowering = module
    return lower


def lowered(program: Program, needs: Needs) -> Lowered | None:
    """A program as a text for LLVM, by the module that lowers programs."""
    return lowering().lowered(program, needs)


class NativeExecutable:
    """A program that is one piece of machine code, which looks at its arguments itself.

    native: the code.
    """

    __slots__ = ("__weakref__", "native", "run", "types")

    guarded: Final = True
    pays: Final = True

    def __init__(self, program: Program, native: NativeFunction) -> None:
        self.types = program.input_types
        self.native = native
        self.run = _with_memory(native.function, native)

    def bind(self, constants: Sequence[Any]) -> Function:
        """The function without its last inputs, which are these."""
        if not constants:
            return self.run
        types = self.types[len(self.types) - len(constants) :]
        own = bind(self.native.function, conforming(types, constants) or constants)
        return _with_memory(own, self.native)

    def report(self) -> CompileReport:
        """The code, and the memory that it needs."""
        native = self.native
        return CompileReport(
            codes=(native,), workspace=native.workspace_bytes, stack=native.stack_bytes
        )


def _with_memory(function: Function, native: NativeFunction) -> Function:
    """The function with workspace and memory for large results handed out at each run."""
    size, lent = native.workspace_bytes, native.lent
    if not size:
        if not lent:
            return function

        def lending(*arguments: Any) -> tuple[Any, ...] | None:
            return function(*arguments, *ARENA.lend(lent))

        return lending

    def run(*arguments: Any) -> tuple[Any, ...] | None:
        scratch = ARENA.take_scratch(size)
        results = function(*arguments, scratch, *ARENA.lend(lent))
        ARENA.give_scratch(scratch)
        return results

    return run
