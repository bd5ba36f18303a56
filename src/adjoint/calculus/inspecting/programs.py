"""Looking at programs: the text of a function, of its derivatives, and what runs for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import cache
from typing import Any, NamedTuple

from adjoint.base import pytrees
from adjoint.base.arrays import is_numeric
from adjoint.base.errors import ArgumentTypeError, NotDifferentiableError
from adjoint.base.signatures.calling import named
from adjoint.calculus.inputs.arguments import check_callable
from adjoint.calculus.inspecting.loops import LoopsReport, equation_lines, loops_report
from adjoint.calculus.inspecting.machine_code import MemoryReport, NativeView
from adjoint.capture import Captured, Traced, capture, traced_type
from adjoint.executors import NumpyExecutor
from adjoint.optimise import bare, roll, simplify
from adjoint.pipeline import compile_program
from adjoint.program import Program
from adjoint.transforms import jvp, linearize, transpose, vjp, vmap


class Role(Enum):
    """What an input or output of a program is an element of, for pictures."""

    ARGUMENT = "the space of the arguments: an argument, its tangent or its cotangent"
    RESULT = "the space of the results: a result, its tangent or its cotangent"
    CONSTANT = "neither: a constant of the function, or a residual"


class PeakMemory(NamedTuple):
    """The most bytes held at any time by the value, by a JVP and by a VJP of a program."""

    value: int
    forward: int
    reverse: int


class ProgramView:
    """A captured program with its transforms, to look at. `print(view)` shows the program.

    Inputs come in the order: arguments (`arguments` of them), then the constants that were lifted
        out of the function. The transforms are with respect to the arguments that are inexact.

    Args:
        program: the program to look at.
        arguments: how many of its inputs are arguments.
        values: of the inputs, where they are known.
        roles: what the inputs and the outputs are (an argument, a result, a tangent, ...).
        lines: gives the user's line of each equation.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> print(ad.program(lambda x: np.sum(x**2), np.ones(3)))
        program(a: f8[3]) {
          b: f8[3] = square a
          c: f8[] = sum[axes=(0,)] b
          return c
        }
    """

    def __init__(
        self,
        program: Program,
        arguments: int,
        values: list[Any] | None = None,
        roles: tuple[list[Role], list[Role]] | None = None,
        lines: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self.program = program
        self.arguments = arguments
        self._values = values  # of the inputs, where they are known
        self._lines = lines  # the user's, by the origin of an equation
        constants = len(program.inputs) - arguments
        self.roles = roles or (
            [Role.ARGUMENT] * arguments + [Role.CONSTANT] * constants,
            [Role.RESULT] * len(program.outputs),
        )

    @property
    def values(self) -> tuple[Any, ...] | None:
        """The values of the inputs, as far as they are those that it was captured with."""
        return None if self._values is None else tuple(self._values)

    @property
    def active(self) -> list[bool]:
        """Which inputs the transforms differentiate with respect to."""
        return [
            number < self.arguments and variable.type.inexact
            for number, variable in enumerate(self.program.inputs)
        ]

    def _moving(self) -> list[bool]:
        """The active inputs, if there is anything to differentiate."""
        if not self.program.outputs:
            raise NotDifferentiableError(
                "A derivative was asked of a function that returns nothing. Return the value whose "
                "derivative is wanted."
            )
        if not any(atom.type.inexact for atom in self.program.outputs):
            types = ", ".join(str(atom.type) for atom in self.program.outputs)
            raise NotDifferentiableError(
                f"A derivative was asked of a program whose results are {types}. Integers and "
                "booleans carry no derivative."
            )
        if not any(self.active):
            raise NotDifferentiableError(
                "A derivative was asked of a program without a floating-point argument. Integers "
                "and booleans carry no derivative: pass floats."
            )
        return self.active

    def jvp(self) -> ProgramView:
        """(inputs, tangents) -> (outputs, tangents of the outputs).

        Returns:
            A view of the joined program of values and tangents.

        Raises:
            NotDifferentiableError: no argument, or no result, holds floating-point numbers.
        """
        forward = simplify(bare(jvp(self.program, self._moving())))
        return self._extended(forward, Role.ARGUMENT, Role.RESULT)

    def vjp(self) -> ProgramView:
        """(inputs, cotangents of the outputs) -> (outputs, cotangents of the arguments).

        Returns:
            A view of the program of reverse mode, the value first.

        Raises:
            NotDifferentiableError: no argument, or no result, holds floating-point numbers.
        """
        backward = simplify(bare(vjp(self.program, self._moving())))
        return self._extended(backward, Role.RESULT, Role.ARGUMENT)

    def _extended(self, extended: Program, taken: Role, given: Role) -> ProgramView:
        """A view of a program with inputs and outputs of these roles besides its own."""
        inputs, outputs = self.roles
        roles = (
            [*inputs, *[taken] * (len(extended.inputs) - len(inputs))],
            [*outputs, *[given] * (len(extended.outputs) - len(outputs))],
        )
        return ProgramView(extended, self.arguments, None, roles, self._lines)

    def linearize(self) -> ProgramView:
        """(residuals, tangents) -> tangents of the outputs: the linear half alone.

        Returns:
            A view of the program that is linear in its last inputs, the tangents.

        Raises:
            NotDifferentiableError: no argument, or no result, holds floating-point numbers.
        """
        split = linearize(self.program, self._moving())
        linear = simplify(bare(split.linear))
        return _linear_view(linear, split.residuals, Role.ARGUMENT, Role.RESULT)

    def transpose(self) -> ProgramView:
        """(residuals, cotangents) -> cotangents of the arguments: the linear half, transposed.

        Returns:
            A view of the program that is linear in its last inputs, the cotangents.

        Raises:
            NotDifferentiableError: no argument, or no result, holds floating-point numbers.
        """
        split = linearize(self.program, self._moving())
        transposed = simplify(bare(transpose(split.linear, split.residuals)))
        return _linear_view(transposed, split.residuals, Role.RESULT, Role.ARGUMENT)

    def vmap(self, size: int) -> ProgramView:
        """The program over a batch of the arguments.

        Args:
            size: how many examples the batch has, along its first axis.

        Returns:
            A view of the program whose inputs and outputs have an axis of this size in front.
        """
        marks = [number < self.arguments for number in range(len(self.program.inputs))]
        batched = simplify(bare(vmap(self.program, marks, size)))
        return ProgramView(batched, self.arguments, None, self.roles, self._lines)

    def simplified(self) -> ProgramView:
        """The program as it is executed.

        Returns:
            A view of the program after all rewrites that the executors are given.
        """
        return self._with(simplify(bare(self.program)))

    def rolled(self) -> ProgramView:
        """The program with loops in the place of repeated rounds: what is derived, and runs.

        Returns:
            A view of the program with its loops.

        Example:
            >>> import numpy as np
            >>> import adjoint as ad
            >>> def relaxed(x):
            ...     for _ in range(50):
            ...         x = x - 0.1 * np.sin(x)
            ...     return x
            >>> view = ad.program(relaxed, np.ones(2))
            >>> len(view), len(view.rolled())
            (150, 1)
        """
        return self._with(roll(self.program))

    def _with(self, program: Program) -> ProgramView:
        """Another program of the same inputs and outputs."""
        return ProgramView(program, self.arguments, self._values, self.roles, self._lines)

    def lines(self) -> tuple[str, ...]:
        """For each equation the user's line that it comes from, as `file:number`, or "".

        The function runs once more to find them.

        Returns:
            As many texts as there are equations.

        Example:
            >>> import numpy as np
            >>> import adjoint as ad
            >>> view = ad.program(lambda x: np.sum(x**2), np.ones(3))
            >>> len(view), len(view.lines())
            (2, 2)
        """
        return equation_lines(self.program, self._lines())

    def loops(self) -> LoopsReport:
        """Which of Python's loops become loops, before anything is derived or compiled.

        Of long ones that do not it says which round differs from which, and in what: their rounds
        are derived and compiled one by one.

        Returns:
            A `LoopsReport`: `print` shows each loop of the source with what became of it.

        Example:
            >>> import numpy as np
            >>> import adjoint as ad
            >>> def relaxed(x):
            ...     for _ in range(50):
            ...         x = x - 0.1 * np.sin(x)
            ...     return x
            >>> ((loop, line),) = ad.program(relaxed, np.ones(2)).loops().rolled
            >>> loop.rounds, loop.equations
            (50, 3)
        """
        return loops_report(self.program, self._lines())

    def source(self) -> str:
        """The source that the NumPy executor runs.

        Returns:
            Python source as text.
        """
        return compile_program(self.program).source()

    def native(self) -> NativeView:
        """The machine code that it becomes: `.ir()`, `.assembly()`, `.regions()`, `.left()`.

        Returns:
            A `NativeView`; `.ir()` and `.assembly()` are text.

        Example:
            >>> import numpy as np
            >>> import adjoint as ad
            >>> code = ad.program(np.tanh, np.ones(3)).native()
            >>> print(code)
            one piece of machine code
            >>> [region.name for region in code.regions()]
            ['tanh']
        """
        return NativeView(compile_program(self.program).program, self._values, self._lines)

    def memory(self) -> MemoryReport:
        """The bytes of arguments and results, and of the memory that machine code needs.

        Returns:
            A `MemoryReport`, whose fields are numbers of bytes.

        Example:
            >>> import numpy as np
            >>> import adjoint as ad
            >>> print(ad.program(np.tanh, np.ones(1000)).memory())
            inputs     8000
            outputs    8000
            workspace     0
            stack         0
            between       0
        """
        return self.native().memory()

    def peak_memory(self) -> PeakMemory:
        """The most bytes that the value and its derivatives take while NumPy computes them.

        Known before anything runs: from shapes, and from what each result may overwrite. Results
        are counted, arguments are not; nor is what LAPACK, sorting and the like need for
        themselves. For machine code see `memory()`, of `.jvp()` and `.vjp()` too.

        Returns:
            A `PeakMemory`, whose fields are numbers of bytes.

        Raises:
            NotDifferentiableError: the function has no floating-point argument or result.

        Example:
            >>> import numpy as np
            >>> import adjoint as ad
            >>> def f(x):
            ...     return np.sum(np.tanh(np.sin(x) * x))
            >>> ad.program(f, np.ones(100_000)).peak_memory()
            PeakMemory(value=800008, forward=2400016, reverse=2400008)
        """
        programs = (self.program, self.jvp().program, self.vjp().program)
        executor = NumpyExecutor()
        return PeakMemory(*(executor.peak_bytes(compile_program(x).program) for x in programs))

    def __len__(self) -> int:
        return len(self.program)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProgramView) and self.program == other.program

    def __hash__(self) -> int:
        return hash(self.program)

    def __str__(self) -> str:
        return str(self.program)

    def __repr__(self) -> str:
        return repr(self.program)


def _linear_view(linear: Program, residuals: int, taken: Role, given: Role) -> ProgramView:
    moving = len(linear.inputs) - residuals
    roles = ([Role.CONSTANT] * residuals + [taken] * moving, [given] * len(linear.outputs))
    return ProgramView(linear, residuals, None, roles)


@named
def program(function: Callable[..., Any], *args: Any, **kwargs: Any) -> ProgramView:
    """The program of a function at these arguments, to look at.

    Args:
        function: plain NumPy code.
        args: all arrays and numbers in them become inputs of the program; anything else is passed
            on as it is.
        kwargs: passed on as they are.

    Returns:
        A `ProgramView`: print it, or ask for its `.jvp()`, `.vjp()`, `.linearize()`,
        `.transpose()`, `.vmap(n)`, `.loops()`, `.source()`, `.native()`, `.memory()`.

    Raises:
        ArgumentTypeError: there is no array or number among the arguments.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> print(ad.program(np.tanh, np.ones(2)).source())
        def program(x0):
            v0 = tanh(x0)
            return (v0,)
        <BLANKLINE>
    """
    captured = capture_whole(function, args, kwargs)
    count = captured.trace.input_count
    values = [*(captured.trace.values[slot] for slot in range(count)), *captured.constants]
    known = all(type(value) is not Traced for value in values)

    @cache
    def lines() -> Sequence[str]:
        return capture_whole(function, args, kwargs, lines=True).trace.lines or ()

    return ProgramView(captured.program(), count, values if known else None, None, lines)


def capture_whole(
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: str = "program",
    lines: bool = False,
) -> Captured:
    """Capture a function with every array and number among its arguments traced.

    name: of the function that was asked, for errors. lines: whether to note the user's lines.
    """
    check_callable(function, name)
    leaves, treedef = pytrees.flatten(args)
    arrays = [leaf for leaf in leaves if type(leaf) is Traced or is_numeric(leaf)]
    if not arrays:
        raise ArgumentTypeError(f"{name} needs at least one array or number among the arguments.")

    def call(target: Any, traced: list[Any]) -> Any:
        waiting = iter(traced)
        whole = [
            next(waiting) if type(leaf) is Traced or is_numeric(leaf) else leaf for leaf in leaves
        ]
        return target(*pytrees.unflatten(treedef, whole), **kwargs)

    types = [traced_type(leaf) for leaf in arrays]
    active = [type_.inexact for type_ in types]
    return capture(function, call, types, arrays, active, lines=lines)
