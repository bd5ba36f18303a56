"""Compiles a program into Python source over NumPy, and that into a function."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import count
from typing import Any, Final
from weakref import finalize

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.base.errors import AdjointError
from adjoint.base.process.collection import collector_at_rest
from adjoint.executors.arena import ARENA
from adjoint.executors.interface import PLAIN, CompileReport, Needs
from adjoint.executors.numpy.control import CONTROL
from adjoint.executors.numpy.writer import BodyWriter, ModuleText, program_lines
from adjoint.loops import bodies
from adjoint.optimise import Workspace, bare, peak_bytes, simplify
from adjoint.optimise.simplify import eliminate_dead_code
from adjoint.program import Builder, Equation, Operation, Program, Variable
from adjoint.program.nested import held_programs
from adjoint.transforms.hard_zeros.hardness import hardened

_numbers = count()


class NumpyExecutable:
    """A program compiled to Python; `run` is the generated function."""

    __slots__ = ("__weakref__", "_text", "run")

    guarded: Final = False
    pays: Final = False

    def __init__(
        self, function: Callable[..., tuple[Any, ...]], text: str, space: Workspace
    ) -> None:
        self.run = _with_workspace(function, space) if space.slots or space.lent else function
        self._text = text

    def report(self) -> CompileReport:
        """The generated source."""
        return CompileReport(source=self._text)


class NumpyExecutor:
    """The reference executor."""

    name = "numpy"

    def compile(self, program: Program, needs: Needs = PLAIN) -> NumpyExecutable:
        """The program as a Python function over NumPy."""
        with collector_at_rest():
            if not needs.hard:
                return self._compile(bare(program))
            return self._compile(eliminate_dead_code(hardened(program, needs.still)))

    def peak_bytes(self, program: Program) -> int:
        """The most bytes that a run of a program holds, besides what it is given."""
        return _peak_bytes(bare(program), roomy=True)

    def _compile(self, program: Program) -> NumpyExecutable:
        module = ModuleText(CONTROL)
        writer = BodyWriter(program, module, roomy=True)
        whole = "\n".join(program_lines("program", writer)) + "\n"
        text = "\n\n".join([*module.functions, whole])
        filename = f"<adjoint program {next(_numbers)}>"
        names = dict(module.space.objects)
        exec(compile(text, filename, "exec"), names)  # our own text, made from the program alone
        # So that a traceback through generated code shows its lines.
        linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
        executable = NumpyExecutable(names["program"], text, writer.workspace)
        finalize(executable, linecache.cache.pop, filename, None)
        return executable


def _peak_bytes(program: Program, roomy: bool, owned: Sequence[Variable] = ()) -> int:
    writer = BodyWriter(program, ModuleText(CONTROL), roomy=roomy, owned=owned)
    return peak_bytes(program, writer.plan, writer.workspace, _bytes_within)


def _bytes_within(equation: Equation) -> int:
    """What the largest of the programs in an equation holds while it runs, besides its results."""
    params = equation.params
    first = params.get("constants", 0)
    carried = params.get("carried", 0)
    held = [
        _peak_bytes(body, False, body.inputs[first : first + carried])
        for body in held_programs(equation.operation)
    ]
    # A branch gives its results as they are, and a round takes the place of the one before it.
    own = 0 if carried else sum(x.type.size * x.type.dtype.itemsize for x in equation.outputs)
    return max(0, max(held, default=0) - own)


def has_infinities(arguments: Sequence[Any]) -> bool:
    """Whether there are infinities among real arrays and numbers."""
    return any(map(_is_infinite, arguments))


def _is_infinite(x: Any) -> bool:
    if not isinstance(x, (float, np.ndarray, np.floating)) or np.asarray(x).dtype.kind != "f":
        return False
    total = np.vdot(x, x)  # one pass without a temporary
    return not np.isfinite(total) and bool(np.isinf(x).any())


@lru_cache(maxsize=256)
def _alone(op: Operation, types: tuple[ArrayType, ...]) -> Callable[..., Any] | None:
    """An operation on arrays of these types, compiled; None where it does not take those."""
    builder = Builder()
    inputs = [builder.input(type_) for type_ in types]
    try:
        results = builder.emit(op, inputs)
    except AdjointError:
        return None
    program = simplify(builder.build(results))
    fast = NumpyExecutor().compile(program)
    hard: list[NumpyExecutable] = []

    def run(*operands: Any) -> tuple[Any, ...]:
        outputs = fast.run(*operands)
        if any(output.dtype.kind in "fc" and np.isnan(output).any() for output in outputs):
            if not hard:  # a hard zero times an infinite partial derivative, maybe
                hard.append(NumpyExecutor().compile(program, Needs(hard=True)))
            with np.errstate(all="ignore"):
                return hard[0].run(*operands)
        return outputs

    return run


bodies.COMPILE = _alone


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
