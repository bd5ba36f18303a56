"""Writes programs as Python functions over NumPy; see `control.py` for loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from adjoint.executors.numpy.templates import (
    Namespace,
    complete_statements,
    empty_text,
    expression,
    takes_memory,
    write_statements,
)
from adjoint.optimise import Plan, Workspace, completed_fills, plan, workspace
from adjoint.primitives import Primitive
from adjoint.primitives.structure.gathering import GATHER_ADD, GATHER_SET
from adjoint.primitives.structure.moving import FILL
from adjoint.primitives.structure.slicing import INCREMENT, STACK, UPDATE
from adjoint.program import Atom, Equation, Literal, Program, Variable

_WRITES = frozenset({UPDATE, INCREMENT, GATHER_SET, GATHER_ADD})
_LARGE = 1 << 15  # bytes from which a dead array is let go at once, not at the end
_MOST_ARGUMENTS = 500  # beyond which they are entries of one: long signatures take long to compile
_PYTHON = {"f": "float", "c": "complex", "i": "int"}

# (equation, names of its operands, the text, whether warnings are off) -> a call that gives its
# results as a tuple
Control = Callable[[Equation, Sequence[str], "ModuleText", bool], str]


class ModuleText:
    """The text of one module: functions that call one another, and the names that they use."""

    def __init__(self, control: dict[Primitive, Control]) -> None:
        self.space = Namespace()
        self.control = control
        self.functions: list[str] = []
        self.known: dict[Any, str] = {}

    def function(self, key: Any, name: str, write: Callable[[str], list[str]]) -> str:
        """The name of a function; written once for each key, by `write(name)`."""
        if key not in self.known:
            self.known[key] = unique = f"{name}_{len(self.known) + 1}"
            self.functions.append("\n".join(write(unique)) + "\n")
        return self.known[key]


class BodyWriter:
    """Writes the equations of one program as statements.

    prefix: that of the names of results. quiet: whether warnings are off where the statements
    stand. owned: inputs whose memory may be written to. roomy: whether to lay out a workspace.
    """

    def __init__(
        self,
        program: Program,
        text: ModuleText,
        prefix: str = "v",
        quiet: bool = False,
        owned: Sequence[Variable] = (),
        roomy: bool = False,
    ) -> None:
        self.program = program
        self.text = text
        self.space = text.space
        self.prefix = prefix
        self.quiet = quiet
        self.owned = frozenset(owned)
        self.names: dict[Variable, str] = {}
        self.plan, self.workspace = _planned(program, roomy, owned)
        self.completed = completed_fills(program, self.plan)
        self.completing = frozenset(self.completed.values())

    def statements(self) -> Iterator[str]:
        """The equations, in the order of the plan."""
        numbered = enumerate(self.plan.equations)
        for derived, group in groupby(numbered, key=lambda pair: bool(pair[1].derived)):
            indent = ""
            if derived and not self.quiet:
                # The user did not write these operations: they warn of nothing.
                yield f"with {self.space.name('errstate', np.errstate)}(all='ignore'):"
                indent = "    "
            for number, equation in group:
                for line in self._statements(number, equation):
                    yield indent + line

    def name(self, atom: Atom) -> str:
        """What an atom is called."""
        if isinstance(atom, Variable):
            return self.names[atom]
        return self.space.number(atom.value)

    def _statements(self, number: int, equation: Equation) -> list[str]:
        operands = [self.name(atom) for atom in equation.inputs]
        taken = self.plan.takes.get(number)
        for variable in equation.outputs:
            self.names[variable] = f"{self.prefix}{len(self.names) - len(self.program.inputs)}"
        results = [self.names[variable] for variable in equation.outputs]
        control = self.text.control.get(equation.primitive)
        if control is not None:
            call = control(equation, operands, self.text, self.quiet or bool(equation.derived))
            lines = [f"{', '.join(results)}, = {call}" if results else call]
        elif equation.primitive in _WRITES:
            write = complete_statements if number in self.completing else write_statements
            lines = write(equation, results[0], operands, self.space, taken is not None)
        else:
            lines = self._simple(number, equation, operands, results, taken)
        dead = [
            self.names[variable]
            for variable in self.plan.dies.get(number, ())
            if self._bytes(variable) >= _LARGE
        ]
        return [*lines, *([f"del {', '.join(dead)}"] if dead else [])]

    def _simple(
        self,
        number: int,
        equation: Equation,
        operands: Sequence[str],
        results: Sequence[str],
        taken: Variable | None,
    ) -> list[str]:
        out = None
        if number in self.workspace.places:
            out = f"w{self.workspace.places[number]}"
        elif number in self.workspace.lent_places:
            out = f"r{self.workspace.lent_places[number]}"
        elif taken is not None:
            out = self.names[taken]
        if number in self.completed:
            right = out or empty_text(equation, self.space)
        else:
            right = expression(equation, operands, self.space, out)
        if equation.outputs[0] in self.plan.detached:
            right += ".copy()"
        comma = "," if equation.primitive.multiple else ""
        lines = [f"{', '.join(results)}{comma} = {right}"]
        fills = equation.primitive is FILL and number not in self.completed
        if out is not None and fills:
            lines.append(f"{out}.fill({self.space.number(equation.params['value'])})")
        return lines

    def _bytes(self, variable: Variable) -> int:
        memory = self.plan.roots[variable].type
        return memory.size * memory.dtype.itemsize

    def outputs(self) -> list[str]:
        """The outputs: NumPy's scalars, and arrays with memory of their own."""
        return [self._output(number, atom) for number, atom in enumerate(self.program.outputs)]

    def _output(self, number: int, atom: Atom) -> str:
        name = self.name(atom)
        if atom.type.ndim == 0:
            if atom in self.owned:
                return name
            # Python's own scalars, given or written, become NumPy's; 1j * np.float64(2) is one too.
            given = isinstance(atom, Literal) or atom.type.weak or atom in self.program.inputs
            if given or atom.type.dtype.kind == "c":
                return f"{self.space.name(atom.type.dtype.name, atom.type.dtype)}.type({name})"
            return f"{name}[()]"
        if number in self.plan.copied:
            return f"{self.space.name('array', np.array)}({name})"
        return name


def _planned(program: Program, roomy: bool, owned: Sequence[Variable]) -> tuple[Plan, Workspace]:
    """The plan, in the order that needs less memory where there is much of it."""
    first = plan(program, owned=owned)
    if not roomy:
        return first, Workspace()
    space = workspace(program, first, takes_memory)
    if space.slots:
        other = plan(program, as_written=True)
        other_space = workspace(program, other, takes_memory)
        if other_space.size < space.size:
            return other, other_space
    return first, space


def function_lines(
    name: str, writer: BodyWriter, arguments: Sequence[str], first: Sequence[str] = ()
) -> list[str]:
    """A program as a function of these arguments; `first` stands before its equations."""
    lines = [f"def {name}({', '.join(arguments)}):"]
    lines += [f"    {line}" for line in (*first, *writer.statements())]
    outputs = "".join(output + ", " for output in writer.outputs())
    return [*lines, f"    return ({outputs.rstrip()})"]


def program_lines(name: str, writer: BodyWriter) -> list[str]:
    """A whole program as a function, with the arrays of its workspace as further arguments."""
    program = writer.program
    # A stack of numbers is the same whether they are Python's own or not.
    readers = (equation for equation in program.equations if equation.primitive is not STACK)
    used = {atom for equation in readers for atom in equation.inputs}
    arguments = name_inputs(writer)
    arrays = [f"w{number}" for number in range(len(writer.workspace.slots))]
    arrays += [f"r{number}" for number in range(len(writer.workspace.lent))]
    first = []
    if len(arguments) > _MOST_ARGUMENTS:
        given = [f"x[{number}]" for number in range(len(arguments) + len(arrays))]
        first = [f"{array} = {x}" for array, x in zip(arrays, given[len(arguments) :], strict=True)]
    else:
        given = arguments
    for number, variable in enumerate(program.inputs):
        if variable.type.weak and variable in used:
            # What one program returns to another (a residual) has become a NumPy scalar.
            python = _PYTHON[variable.type.dtype.kind]
            first.append(f"{arguments[number]} = {python}({given[number]})")
        else:
            writer.names[variable] = given[number]
    if given is not arguments:
        return function_lines(name, writer, ["*x"], first)
    return function_lines(name, writer, [*arguments, *arrays], first)


def name_inputs(writer: BodyWriter, start: str = "x") -> list[str]:
    """Name the inputs of a program, and return the names."""
    arguments = [f"{start}{number}" for number in range(len(writer.program.inputs))]
    writer.names.update(zip(writer.program.inputs, arguments, strict=True))
    return arguments
