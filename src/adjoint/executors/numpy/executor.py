"""Compiles a program into Python source over NumPy, and that into a function."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from itertools import count, groupby
from typing import Any
from weakref import finalize

import numpy as np

from adjoint.executors.arena import ARENA
from adjoint.executors.numpy.templates import (
    Namespace,
    complete_statements,
    empty_text,
    expression,
    takes_memory,
    write_statements,
)
from adjoint.optimise import Plan, Workspace, completed_fills, plan, workspace
from adjoint.program import Atom, Equation, Literal, Program, Variable

_WRITES = frozenset({"update", "increment", "gather_set", "gather_add"})
_LARGE = 1 << 15  # bytes from which a dead array is let go at once, not at the end
_PYTHON = {"f": "float", "c": "complex", "i": "int"}
_numbers = count()


class NumpyExecutable:
    """A program compiled to Python; call it with arrays."""

    __slots__ = ("__weakref__", "_function", "_text")

    def __init__(
        self, function: Callable[..., tuple[Any, ...]], text: str, space: Workspace
    ) -> None:
        self._function = _with_workspace(function, space) if space.slots or space.lent else function
        self._text = text

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """Run it."""
        return self._function(*arguments)

    @property
    def function(self) -> Callable[..., tuple[Any, ...]]:
        """The generated function itself."""
        return self._function

    def source(self) -> str:
        """The generated source."""
        return self._text


class NumpyExecutor:
    """The reference executor."""

    name = "numpy"

    def compile(self, program: Program, strong_zeros: bool) -> NumpyExecutable:
        """The program as a Python function over NumPy."""
        space = Namespace()
        writer = _Writer(program, space, strong_zeros)
        text = writer.source()
        filename = f"<adjoint program {next(_numbers)}>"
        names = dict(space.objects)
        exec(compile(text, filename, "exec"), names)  # our own text, made from the program alone
        # So that a traceback through generated code shows its lines.
        linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
        made = NumpyExecutable(names["program"], text, writer.workspace)
        finalize(made, linecache.cache.pop, filename, None)
        return made


def _with_workspace(
    function: Callable[..., tuple[Any, ...]], space: Workspace
) -> Callable[..., tuple[Any, ...]]:
    """The function with its workspace handed out for each run; after an error it is let go."""
    slots, lent = space.slots, space.lent

    def run(*arguments: Any) -> tuple[Any, ...]:
        arrays = ARENA.take(slots)
        results = function(*arguments, *arrays, *ARENA.lend(lent))
        ARENA.give(slots, arrays)
        return results

    return run


def _planned(program: Program, strong: bool) -> tuple[Plan, Workspace]:
    """The plan, in the order that needs less memory where there is much of it."""
    first = plan(program)
    if strong:  # for rare runs, whose products choose their own memory
        return first, Workspace()
    space = workspace(program, first, takes_memory)
    if space.slots:
        other = plan(program, as_written=True)
        other_space = workspace(program, other, takes_memory)
        if other_space.size < space.size:
            return other, other_space
    return first, space


class _Writer:
    """Writes one program."""

    def __init__(self, program: Program, space: Namespace, strong: bool) -> None:
        self.program = program
        self.space = space
        self.strong = strong
        self.names: dict[Variable, str] = {}
        self.plan, self.workspace = _planned(program, strong)
        self.completed = completed_fills(program, self.plan)
        self.completing = frozenset(self.completed.values())

    def source(self) -> str:
        """The whole function."""
        arguments = []
        used = {atom for equation in self.program.equations for atom in equation.inputs}
        for number, variable in enumerate(self.program.inputs):
            self.names[variable] = f"x{number}"
            arguments.append(f"x{number}")
        arrays = [f"w{number}" for number in range(len(self.workspace.slots))]
        arrays += [f"r{number}" for number in range(len(self.workspace.lent))]
        lines = [f"def program({', '.join([*arguments, *arrays])}):"]
        for name, variable in zip(arguments, self.program.inputs, strict=True):
            if variable.type.weak and variable in used:
                # What one program returns to another (a residual) has become a NumPy scalar.
                lines.append(f"    {name} = {_PYTHON[variable.type.dtype.kind]}({name})")
        numbered = enumerate(self.plan.equations)
        for derived, group in groupby(numbered, key=lambda each: each[1].derived):
            indent = "    "
            if derived:  # the user did not write these operations: they warn of nothing
                quiet = self.space.name("errstate", np.errstate)
                lines.append(f"    with {quiet}(all='ignore'):")
                indent = "        "
            for number, equation in group:
                lines += [indent + line for line in self._statements(number, equation)]
        outputs = [self._output(number, atom) for number, atom in enumerate(self.program.outputs)]
        lines.append(f"    return ({''.join(output + ', ' for output in outputs).rstrip()})")
        return "\n".join(lines) + "\n"

    def _name(self, atom: Atom) -> str:
        if isinstance(atom, Variable):
            return self.names[atom]
        return self.space.number(atom.value)

    def _statements(self, number: int, equation: Equation) -> list[str]:
        operands = [self._name(atom) for atom in equation.inputs]
        taken = self.plan.takes.get(number)
        for variable in equation.outputs:
            self.names[variable] = f"v{len(self.names) - len(self.program.inputs)}"
        results = [self.names[variable] for variable in equation.outputs]
        if equation.primitive.name in _WRITES:
            write = complete_statements if number in self.completing else write_statements
            lines = write(equation, results[0], operands, self.space, taken is not None)
        else:
            out = None
            if number in self.workspace.places:
                out = f"w{self.workspace.places[number]}"
            elif number in self.workspace.lent_places:
                out = f"r{self.workspace.lent_places[number]}"
            elif taken is not None and not self.strong:
                out = self.names[taken]
            if number in self.completed:
                right = out or empty_text(equation, self.space)
            else:
                right = expression(equation, operands, self.space, out, self.strong)
            if equation.outputs[0] in self.plan.detached:
                right += ".copy()"
            comma = "," if equation.primitive.multiple else ""
            lines = [f"{', '.join(results)}{comma} = {right}"]
            fills = equation.primitive.name == "fill" and number not in self.completed
            if out is not None and fills:
                lines.append(f"{out}.fill({self.space.number(equation.params['value'])})")
        dead = [
            self.names[variable]
            for variable in self.plan.dies.get(number, ())
            if self._bytes(variable) >= _LARGE
        ]
        return [*lines, *([f"del {', '.join(dead)}"] if dead else [])]

    def _bytes(self, variable: Variable) -> int:
        memory = self.plan.roots[variable].type
        return memory.size * memory.dtype.itemsize

    def _output(self, number: int, atom: Atom) -> str:
        name = self._name(atom)
        if atom.type.ndim == 0:
            # Python's own scalars, given or written, become NumPy's; 1j * np.float64(2) is one too.
            given = isinstance(atom, Literal) or atom.type.weak or atom in self.program.inputs
            if given or atom.type.dtype.kind == "c":
                return f"{self.space.name(atom.type.dtype.name, atom.type.dtype)}.type({name})"
            return f"{name}[()]"
        if number in self.plan.copied:
            return f"{self.space.name('array', np.array)}({name})"
        return name
