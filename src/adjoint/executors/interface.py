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

    strong_zeros: whether products of a partial derivative and a tangent keep exact zeros, at the
        cost of a look at every entry; without it a zero times an infinite partial derivative is
        NaN.
    """

    name: str

    def compile(self, program: Program, hard: bool) -> Executable | None:
        """The program as a callable; None where this executor has nothing to offer for it."""
