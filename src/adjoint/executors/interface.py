"""What an executor is: it compiles a program into something that runs on arrays.

`docs/executors.md` tells how to write one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from adjoint.program import Equation, Program, Variable, held_programs
from adjoint.program.operation import parameter_text


class Needs(NamedTuple):
    """What is asked of a compiled program, besides its values.

    watched: outputs, by number, that are derivatives. A guarded executable has no results where one
        of them is NaN.
    hard: whether hard zeros win over infinite and undefined factors, for which masks are computed
        beside derivatives; without it a zero times an infinity is NaN.
    still: with `hard`, whether the arguments are data, of which infinities do not move.
    precise: whether elementary functions are NumPy's own to the last bit.
    threads: how many cores long loops may run on; None for all that the process may use.
    timed: whether each region of the code notes the time that it takes.
    """

    watched: tuple[int, ...] = ()
    hard: bool = False
    still: bool = False
    precise: bool = False
    threads: int | None = None
    timed: bool = False


PLAIN: Final = Needs()


class CodeRegion(Protocol):
    """A loop nest or a product of compiled code."""

    @property
    def name(self) -> str:
        """What it is."""

    @property
    def equations(self) -> int:
        """How many equations it is of."""

    @property
    def flops(self) -> float:
        """Its operations on numbers."""

    @property
    def bytes(self) -> int:
        """The bytes of the arrays that it reads and writes."""

    @property
    def results(self) -> Sequence[Variable]:
        """The variables that it computes: of the program, and of what lowering made of it."""


class CompiledPiece(Protocol):
    """Compiled code of a program, or of a part of one."""

    @property
    def regions(self) -> Sequence[CodeRegion]:
        """Its regions in the order in which they run."""

    def ir(self) -> str:
        """The code in the compiler's own language."""

    def assembly(self) -> str:
        """The code of the machine."""

    def cycles(self) -> list[int]:
        """What each region has taken so far, in ticks of a counter, if it is timed."""


class LeftEquation(NamedTuple):
    """An equation that NumPy runs, and why. results: its variables."""

    equation: str
    reason: str
    results: tuple[Variable, ...] = ()

    @classmethod
    def of(cls, equation: Equation, reason: str) -> LeftEquation:
        """An equation in a few words: its primitive, its parameters, the types of its operands."""
        operands = ", ".join(str(atom.type) for atom in equation.inputs)
        held = held_programs(equation.operation)
        parameters = "" if held else parameter_text(equation.params)
        text = f"{equation.primitive.name}{parameters} of {operands or 'nothing'}"
        return cls(text, reason, equation.outputs)


@dataclass(frozen=True)
class CompileReport:
    """What became of a program.

    source: what is run, as Python source; empty where none is. codes: the compiled code. left: the
    equations that are left to NumPy. workspace, stack, between: bytes of scratch memory, of scratch
    on the stack, and of arrays that pieces of code hand to one another, at their most.
    """

    source: str = ""
    codes: tuple[CompiledPiece, ...] = ()
    left: tuple[LeftEquation, ...] = ()
    workspace: int = 0
    stack: int = 0
    between: int = 0


class Executable(Protocol):
    """A compiled program."""

    @property
    def run(self) -> Callable[..., tuple[Any, ...] | None]:
        """Takes the inputs, and returns the tuple of outputs, of which it gives memory away.

        Outputs are arrays, and NumPy scalars where there are no axes. It raises what NumPy raises.
        """

    @property
    def guarded(self) -> bool:
        """Whether `run` looks at everything itself.

        Then it takes whatever it is given, and returns None where that is not of the types that it
        was compiled for, where a floating-point error occurs that a user must hear of, and where a
        watched output is NaN: whoever calls it runs the program otherwise. If it is not guarded,
        `run` is given what it was compiled for, and always has results.
        """

    @property
    def pays(self) -> bool:
        """Whether it is any better than NumPy."""

    def report(self) -> CompileReport:
        """What became of the program, to be read."""


class GuardedExecutable(Executable, Protocol):
    """A compiled program of which `guarded` is True, so that it can be called without any check."""

    def bind(self, constants: Sequence[Any]) -> Callable[..., tuple[Any, ...] | None]:
        """`run` without its last inputs, which are these."""


class Executor(Protocol):
    """Compiles programs."""

    def compile(self, program: Program, needs: Needs = PLAIN) -> Executable:
        """The program, ready to run."""
