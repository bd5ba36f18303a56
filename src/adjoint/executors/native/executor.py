"""Programs as machine code, as far as they can be lowered; what cannot is handed to NumPy.

Machine code treats what is usual. What is not (a floating-point error, an index out of bounds, a
NaN in a derivative) it answers by None, and NumPy runs the same thing again: a program that is one
piece of machine code is run again by whoever called it; in others each piece has NumPy to fall back
on, so that no function of the user's is called twice.
"""

from __future__ import annotations

import importlib
import linecache
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any, Final, Protocol
from weakref import finalize

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.base.errors import NativeUnavailableError
from adjoint.executors.arena import ARENA
from adjoint.executors.native.callable import bind
from adjoint.executors.native.conforming import PYTHON, conforming
from adjoint.executors.native.partition import Segment, deaths, partition
from adjoint.executors.numpy import NumpyExecutable, NumpyExecutor
from adjoint.optimise import bare
from adjoint.program import Equation, Literal, Program, Variable

PATIENCE: Final = 8  # misses beyond the hits after which machine code is given up
_numbers = count()
Function = Callable[..., tuple[Any, ...] | None]


class NativeFunction(Protocol):
    """A program as one piece of machine code: what lowering makes.

    function: takes the inputs, then a `uint8` array of 64 bytes more than `workspace_bytes` unless
        that is zero, then arrays of the types `lent`; returns the results, or None.
    stack_bytes: scratch on the stack. regions: its loops, each with a name, the number of its
        equations, flops and bytes.
    """

    function: Function
    workspace_bytes: int
    stack_bytes: int
    lent: tuple[ArrayType, ...]
    regions: tuple[Any, ...]

    def ir(self) -> str:
        """The code of LLVM's virtual machine."""

    def assembly(self) -> str:
        """The code of the machine."""

    def cycles(self) -> list[int]:
        """What each region has taken so far, in ticks of a counter, if it is timed."""


class Lowering(Protocol):
    """The module that lowers programs."""

    def lowerable(self, equation: Equation, precise: bool) -> bool:
        """Whether an equation can become machine code."""

    def programs_within(self, equation: Equation) -> tuple[Program, ...]:
        """The bodies, tests and branches of an equation."""

    def hindrance(self, equation: Equation, precise: bool) -> Equation | None:
        """The first equation within a loop or branch that cannot become machine code."""

    def native(self, program: Program, options: Any) -> NativeFunction | None:
        """The program as machine code."""

    def Options(
        self, watched: tuple[int, ...], precise: bool, threads: int | None, timed: bool
    ) -> Any:
        """How it is to be lowered."""


def lowering() -> Lowering:
    """The module that lowers programs, which is loaded when it is first needed."""
    try:
        module: Any = importlib.import_module("adjoint.executors.native.lower")
    except ImportError as error:
        raise NativeUnavailableError(f"the compiler cannot be loaded: {error}") from error
    lower: Lowering = module
    return lower


class Piece:
    """A program, or a part of one, that is one piece of machine code.

    misses: how much more often it returned None than not, lately.
    """

    __slots__ = ("function", "misses", "native", "types")

    def __init__(self, program: Program, native: NativeFunction) -> None:
        self.types = program.input_types
        self.native = native
        self.function = _with_memory(native.function, native)
        self.misses = 0

    def run_conforming(self, arguments: Sequence[Any]) -> tuple[Any, ...] | None:
        """After a miss: once more with the arguments as they were compiled for."""
        changed = conforming(self.types, arguments)
        results = self.function(*changed) if changed is not None else None
        if results is None:
            self.misses += 1
        return results

    @property
    def fails_often(self) -> bool:
        """Whether it has missed so often that it is not worth the attempt."""
        return self.misses >= PATIENCE

    def bound(self, constants: Sequence[Any]) -> Function:
        """The function without its last inputs, which are these."""
        if not constants:
            return self.function
        types = self.types[len(self.types) - len(constants) :]
        own = bind(self.native.function, conforming(types, constants) or constants)
        return _with_memory(own, self.native)


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


class NativeExecutable:
    """A compiled program. `piece` is the program when it is one piece of machine code, else None.

    function: what runs, without a look at the arguments.
    """

    __slots__ = ("__weakref__", "_text", "function", "piece", "precise", "segments")

    def __init__(
        self,
        function: Function,
        segments: Sequence[tuple[Segment, NativeFunction | None]],
        text: str,
        precise: bool,
        piece: Piece | None = None,
    ) -> None:
        self.function = function
        self.segments = tuple(segments)
        self.precise = precise
        self.piece = piece
        self._text = text

    def __call__(self, *arguments: Any) -> tuple[Any, ...] | None:
        """Run it; None where a program that is one piece of machine code met something unusual."""
        results = self.function(*arguments)
        if results is None and self.piece is not None:
            return self.piece.run_conforming(arguments)
        return results

    def source(self) -> str:
        """The source that calls the pieces, if there are several, and their code."""
        codes = [native.ir() for _, native in self.segments if native is not None]
        return "\n".join([self._text, *codes] if self._text else codes)


class NativeExecutor:
    """Makes machine code.

    precise: elementary functions are NumPy's own. threads: how many cores long loops run on; None
        for all that the process may use. timed:
    whether each region counts the time that it takes.
    """

    name = "native"

    def __init__(
        self, precise: bool = False, threads: int | None = None, timed: bool = False
    ) -> None:
        self.precise = precise
        self.threads = threads
        self.timed = timed

    def compile(
        self, program: Program, hard: bool = False, watched: tuple[int, ...] = ()
    ) -> NativeExecutable | None:
        """The program, as far as it can be lowered; None if nothing is gained.

        watched: outputs in which a NaN is unusual, if the program is one piece of machine code.
        """
        if hard:
            return None  # for rare runs, which NumPy does
        program = bare(program)
        lower = lowering()
        options = partial(
            lower.Options, precise=self.precise, threads=self.threads, timed=self.timed
        )
        segments = partition(program, partial(lower.lowerable, precise=self.precise))
        if len(segments) == 1:
            (segment,) = segments
            native = lower.native(program, options(watched=watched)) if segment.native else None
            if native is None:
                return None
            piece = Piece(program, native)
            return NativeExecutable(piece.function, [(segment, native)], "", self.precise, piece)
        compiled = [
            (
                segment,
                lower.native(segment.program, options(watched=())) if segment.native else None,
            )
            for segment in segments
        ]
        if all(native is None for _, native in compiled):
            return None
        function, text = _Driver(program, compiled).function()
        return NativeExecutable(function, compiled, text, self.precise)


# --- programs of several pieces -------------------------------------------------------------------


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

    __slots__ = ("numpy", "piece", "program")

    def __init__(self, program: Program, native: NativeFunction | None) -> None:
        self.program = program
        self.piece = None if native is None else Piece(program, native)
        self.numpy: NumpyExecutable | None = None

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        piece = self.piece
        if piece is not None:
            results = piece.function(*arguments)
            if results is not None:
                if piece.misses:
                    piece.misses -= 1
                return results
            results = piece.run_conforming(arguments)
            if results is not None:
                return results
            if piece.fails_often:
                self.piece = None
        if self.numpy is None:
            self.numpy = NumpyExecutor().compile(self.program, hard=False)
        return self.numpy.function(*arguments)


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

    def function(self) -> tuple[Function, str]:
        """The function, and its source."""
        text = "\n".join(self._lines()) + "\n"
        filename = f"<adjoint native program {next(_numbers)}>"
        names = dict(self.objects)
        exec(compile(text, filename, "exec"), names)  # our own text, made from the program alone
        linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
        function: Function = names["program"]
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
