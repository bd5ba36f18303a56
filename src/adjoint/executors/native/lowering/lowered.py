"""What lowering makes of a program: a text for LLVM, and then machine code."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from adjoint.base.arrays import ArrayType
from adjoint.base.errors import ProgramError
from adjoint.executors.interface import CodeRegion
from adjoint.executors.native.entry.callable import make_callable
from adjoint.executors.native.machine.llvm import Code, machine
from adjoint.program import Program


@dataclass(frozen=True)
class Calling:
    """What whoever calls machine code must know of it.

    workspace_bytes: of the workspace that it is given; 0 for none. stack_bytes: scratch on the
    stack. lent: the outputs, by number, that are written into arrays of the caller's.
    """

    workspace_bytes: int
    stack_bytes: int
    lent: tuple[int, ...]


@dataclass(frozen=True)
class Lowered:
    """A program as a text for LLVM, with what is known of the code that comes of it."""

    text: str
    calling: Calling
    regions: tuple[CodeRegion, ...]


class LoweredFunction:
    """A program as machine code.

    function: takes the inputs, then the workspace if there is one, then the lent results; returns
    the tuple of results, or None where the program has to be run otherwise.
    """

    def __init__(
        self, program: Program, code: Code, calling: Calling, lower: Callable[[], Lowered | None]
    ) -> None:
        self.function: Callable[..., Any] = make_callable(code, "program")
        self.code = code
        self.calling = calling
        self.workspace_bytes = calling.workspace_bytes
        self.stack_bytes = calling.stack_bytes
        self.lent: tuple[ArrayType, ...] = tuple(
            [program.outputs[number].type for number in calling.lent]
        )
        self._lower = lower

    @cached_property
    def lowered(self) -> Lowered:
        """The text that the code is of; lowered once more where an earlier process has done it."""
        lowered = self._lower()
        if lowered is None:
            raise ProgramError("what was lowered once cannot be lowered again")
        return lowered

    @property
    def regions(self) -> Sequence[CodeRegion]:
        """Its loops and products."""
        return self.lowered.regions

    def ir(self) -> str:
        """The optimised code of LLVM."""
        return machine().optimised(self.lowered.text)

    def assembly(self) -> str:
        """The machine code, as text."""
        return machine().assembly(self.lowered.text)

    def cycles(self) -> list[int]:
        """What each region has taken so far, in ticks of a counter, if it is timed."""
        times = ctypes.c_int64 * len(self.regions)
        return list(times.from_address(self.code.address("times")))
