"""Programs of several pieces: machine code, and what NumPy runs between them.

Each piece of machine code has NumPy to fall back on, so that no function of the user's is called
twice: such a program always has results.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import count
from typing import Any, Final
from weakref import finalize

import numpy as np

from adjoint.executors.attempt import PYTHON, Attempt
from adjoint.executors.interface import CompileReport, LeftEquation
from adjoint.executors.native.preparation.partition import Segment, deaths
from adjoint.executors.native.running.executable import NativeExecutable, NativeFunction
from adjoint.executors.native.running.left import reason_for
from adjoint.executors.numpy import NumpyExecutable, NumpyExecutor
from adjoint.program import Literal, Program, Variable

_numbers = count()
_Function = Callable[..., tuple[Any, ...]]


class MixedExecutable:
    """A program in segments, some of which are machine code.

    segments: each with its code; None for what NumPy runs. pays: whether there is any code.
    """

    guarded: Final = False

    def __init__(
        self,
        program: Program,
        segments: Sequence[tuple[Segment, NativeFunction | None]],
        precise: bool,
    ) -> None:
        self.program = program
        self.segments = tuple(segments)
        self.pays = any(native is not None for _, native in segments)
        self._precise = precise

    @cached_property
    def run(self) -> _Function:
        """The function that runs the segments in order."""
        return self._written[0]

    @cached_property
    def _written(self) -> tuple[_Function, str]:
        return _Driver(self.program, self.segments).function()

    def report(self) -> CompileReport:
        """The pieces, and the equations that are left to NumPy."""
        codes = tuple(native for _, native in self.segments if native is not None)
        return CompileReport(
            source=self._written[1],
            codes=codes,
            left=tuple(
                LeftEquation.of(equation, reason_for(equation, self._precise))
                for segment, native in self.segments
                if native is None
                for equation in segment.program.equations
            ),
            workspace=max((native.workspace_bytes for native in codes), default=0),
            stack=max((native.stack_bytes for native in codes), default=0),
            between=crossing_bytes(self.program, [segment for segment, _ in self.segments]),
        )


def crossing_bytes(program: Program, segments: Sequence[Segment]) -> int:
    """The most bytes of arrays that segments hand to one another at any time."""
    kept = {atom for atom in program.outputs if isinstance(atom, Variable)}
    alive = most = 0
    given = {*kept, *program.inputs}
    for segment, dead in zip(segments, deaths(segments, given), strict=True):
        alive += sum(_bytes(variable) for variable in segment.outputs if variable not in given)
        most = max(most, alive)
        alive -= sum(map(_bytes, dead))
    return most


def _bytes(variable: Variable) -> int:
    return variable.type.size * variable.type.dtype.itemsize


class _SegmentRunner:
    """A segment that always has results: from NumPy where machine code has none."""

    __slots__ = ("attempt", "numpy", "program")

    def __init__(self, program: Program, native: NativeFunction | None) -> None:
        self.program = program
        self.attempt: Attempt | None = None
        if native is not None:
            self.attempt = Attempt(program.input_types, NativeExecutable(program, native))
        self.numpy: NumpyExecutable | None = None

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        attempt = self.attempt
        if attempt is not None:
            results = attempt.run(*arguments)
            if results is not None:
                if attempt.misses:
                    attempt.misses -= 1
                return results
            results = attempt.run_conforming(arguments)
            if results is not None:
                return results
            if attempt.fails_often:
                self.attempt = None
        if self.numpy is None:
            self.numpy = NumpyExecutor().compile(self.program)
        return self.numpy.run(*arguments)


class _Driver:
    """Writes the function that runs the segments in order."""

    def __init__(
        self, program: Program, compiled: Sequence[tuple[Segment, NativeFunction | None]]
    ) -> None:
        self.program = program
        self.names: dict[Variable, str] = {}
        self.objects: dict[str, Any] = {"array": np.array}
        self.segments = [segment for segment, _ in compiled]
        for number, (segment, native) in enumerate(compiled):
            self.objects[f"stage{number}"] = _SegmentRunner(segment.program, native)

    def function(self) -> tuple[_Function, str]:
        """The function, and its source."""
        text = "\n".join(self._lines()) + "\n"
        filename = f"<adjoint native program {next(_numbers)}>"
        names = dict(self.objects)
        exec(compile(text, filename, "exec"), names)  # our own text, made from the program alone
        linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
        function: _Function = names["program"]
        finalize(function, linecache.cache.pop, filename, None)
        return function, text

    def _lines(self) -> Iterator[str]:
        arguments = [self._name(variable, "x") for variable in self.program.inputs]
        yield f"def program({', '.join(arguments)}):"
        yield from self._numbers(self.program.inputs)
        kept = {atom for atom in self.program.outputs if isinstance(atom, Variable)}
        dying = deaths(self.segments, kept)
        for number, (segment, dead) in enumerate(zip(self.segments, dying, strict=True)):
            operands = ", ".join(self.names[variable] for variable in segment.program.inputs)
            results = "".join(self._name(variable, "v") + ", " for variable in segment.outputs)
            yield f"    {results}{'= ' * bool(results)}stage{number}({operands})"
            yield from self._numbers(segment.outputs)
            if dead:
                yield f"    del {', '.join(self.names[variable] for variable in dead)}"
        yield f"    return ({''.join(part + ', ' for part in self._outputs()).rstrip()})"

    def _name(self, variable: Variable, letter: str) -> str:
        return self.names.setdefault(variable, f"{letter}{len(self.names)}")

    def _numbers(self, variables: Sequence[Variable]) -> Iterator[str]:
        """Python's numbers become such again: in the results of a program they are NumPy's."""
        for variable in variables:
            if variable.type.weak:
                name = self.names[variable]
                yield f"    {name} = {PYTHON[variable.type.dtype.kind].__name__}({name})"

    def _outputs(self) -> Iterator[str]:
        """Results that share memory with no argument, and not with one another."""
        seen: set[Variable] = set(self.program.inputs)
        for number, atom in enumerate(self.program.outputs):
            if isinstance(atom, Literal):
                self.objects[f"literal{number}"] = atom.type.dtype.type(atom.value)
                yield f"literal{number}"
                continue
            name = self.names[atom]
            if not atom.type.ndim:
                self.objects[atom.type.dtype.name] = atom.type.dtype.type
                yield f"{atom.type.dtype.name}({name})"
            else:
                yield f"array({name})" if atom in seen else name
            seen.add(atom)
