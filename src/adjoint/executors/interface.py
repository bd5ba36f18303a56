"""What an executor is: it compiles a program into a callable on arrays."""

from __future__ import annotations

from typing import Any, Protocol

from adjoint.program import Program


class Executable(Protocol):
    """A compiled program: arrays in, a tuple of arrays out; scalars are NumPy scalars."""

    def __call__(self, *arguments: Any) -> tuple[Any, ...] | None:
        """Run it.

        None where something unusual came up, which the reference executor is to treat from the
        start: that one always has results, or raises.
        """

    def source(self) -> str:
        """What it runs, to be read."""


class Executor(Protocol):
    """Compiles programs.

    hard: whether hard zeros win over infinite and undefined factors, for which masks are computed
        beside derivatives; without it a zero times an infinity is NaN.
    """

    name: str

    def compile(self, program: Program, hard: bool) -> Executable | None:
        """The program as a callable; None where this executor has nothing to offer for it."""
