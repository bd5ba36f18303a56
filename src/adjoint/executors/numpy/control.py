"""Loops and branches as Python writes them: functions with a loop around a body's statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from adjoint.base.errors import TapeOverflowError
from adjoint.executors.numpy.writer import (
    BodyWriter,
    Control,
    ModuleText,
    function_lines,
    name_inputs,
)
from adjoint.loops import CHECKPOINT, LOOPS, SCAN, SWITCH, WHILE
from adjoint.optimise import is_tape_length, reaches_all_rows
from adjoint.primitives import Primitive
from adjoint.program import Atom, Equation, Program, Variable


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


class _LoopText:
    """The parts that `scan` and `while` have in common: a function of the loop's operands."""

    def __init__(self, equation: Equation, text: ModuleText, quiet: bool) -> None:
        params = equation.params
        self.body: Program = params["body"]
        self.length: int | None = params["length"]
        self.space = text.space
        first, stop = params["constants"], params["constants"] + params["carried"]
        self.carried = self.body.inputs[first:stop]
        self.writer = BodyWriter(self.body, text, quiet=quiet, owned=self.carried)
        names = name_inputs(self.writer)
        self.constants, self.state, self.rows = names[:first], names[first:stop], names[stop:]
        self.scanned = [f"s{place}" for place in range(len(self.rows))]
        self.row_types = self.body.output_types[len(self.carried) :]
        self.tapes = [f"t{place}" for place in range(len(self.row_types))]

    @property
    def _array(self) -> str:
        return self.space.name("array", np.array)

    def _arrays(self) -> list[str]:
        return [
            name
            for name, variable in zip(self.state, self.carried, strict=True)
            if variable.type.ndim
        ]

    @property
    def _overwrites(self) -> bool:
        """Whether the body writes into the memory of what it carries."""
        return not self.writer.owned.isdisjoint(self.writer.plan.takes.values())

    def before(self) -> list[str]:
        """What stands before the loop: memory of its own, and NumPy's scalars."""
        lines = [f"{name} = {self._array}({name})" for name in self._arrays() if self._overwrites]
        for name, variable in zip(self.state, self.carried, strict=True):
            if variable.type.ndim == 0:
                dtype = variable.type.dtype
                lines.append(f"{name} = {self.space.name(dtype.name, dtype)}.type({name})")
        for name, type_ in zip(self.tapes, self.row_types, strict=True):
            dtype = self.space.name(type_.dtype.name, type_.dtype)
            shape = (self.length, *type_.shape)
            lines.append(f"{name} = {self.space.name('empty', np.empty)}({shape}, {dtype})")
        return lines

    def round(self) -> list[str]:
        """One round, number k."""
        lines = [f"{row} = {whole}[k]" for row, whole in zip(self.rows, self.scanned, strict=True)]
        lines += self.writer.statements()
        outputs = self.writer.outputs()
        count = len(self.carried)
        producers = {
            variable: equation for equation in self.body.equations for variable in equation.outputs
        }
        for tape, atom in zip(self.tapes, self.body.outputs[count:], strict=True):
            lines.append(self._stack(tape, atom, producers))
        moved = [
            (name, output)
            for name, output in zip(self.state, outputs[:count], strict=True)
            if name != output
        ]
        if moved:
            targets, values = zip(*moved, strict=True)
            lines.append(f"{', '.join(targets)} = {', '.join(values)}")
        return lines

    def _stack(self, tape: str, atom: Atom, producers: dict[Variable, Equation]) -> str:
        """Write a row. Of a tape that an inner loop has made, only what it has reached."""
        name = self.writer.name(atom)
        source = producers.get(atom) if isinstance(atom, Variable) else None
        if source is not None and _is_tape(source, atom):
            rounds = source.outputs[0] if source.primitive is WHILE else source.inputs[0]
            most = self.space.name("max", max)  # a reduction may have that name
            reached = f":{most}({self.writer.name(rounds)}, 0)"
            return f"{tape}[k, {reached}] = {name}[{reached}]"
        return f"{tape}[k] = {name}"

    def unreached(self, rounds: str) -> list[str]:
        """Rows that no round has reached are zero."""
        return [f"{tape}[{rounds}:] = 0" for tape in self.tapes]

    def after(self, rounds: str) -> list[str]:
        """What stands after the loop: results have memory of their own.

        An array that a round hands on as it came, to whichever place, may be the caller's, or two
        of the results.
        """
        arrays = self._arrays()
        outputs = self.body.outputs[: len(self.state)]
        handed = {*self.body.inputs, *(atom for atom, n in Counter(outputs).items() if n > 1)}
        if self._overwrites:  # then what is carried has been copied before
            handed -= {*self.carried}
        kept = [
            name
            for name, atom in zip(self.state, outputs, strict=True)
            if name in arrays and atom in handed
        ]
        lines = [f"{name} = {self._array}({name})" for name in kept]
        begun = [name for name in arrays if name not in kept]
        if begun and not self._overwrites:
            lines.append(f"if {rounds} < 1:")
            lines += [f"    {name} = {self._array}({name})" for name in begun]
        return lines

    def overflow(self, condition: str) -> list[str]:
        """Raise where there are no rows left."""
        error = self.space.name("TapeOverflowError", TapeOverflowError)
        return [f"if {condition}:", f"    raise {error}({self.length})"]


def _is_tape(equation: Equation, atom: Atom) -> bool:
    """Whether a result of a loop is stacked rows, whose number was guessed."""
    if equation.primitive not in LOOPS:
        return False
    if not is_tape_length(equation.params["length"]):
        return False
    first = equation.params["carried"] + (equation.primitive is WHILE)
    return atom in equation.outputs[first:]


def _returned(names: Sequence[str]) -> str:
    return f"return ({', '.join(names)},)" if names else "return ()"


def _scan(equation: Equation, operands: Sequence[str], text: ModuleText, quiet: bool) -> str:
    def write(name: str) -> list[str]:
        loop = _LoopText(equation, text, quiet)
        arguments = ["count", *loop.constants, *loop.state, *loop.scanned]
        lines = ["count = int(count)"]
        if loop.length is not None:
            lines += loop.overflow(f"count > {loop.length}")
        lines += loop.before()
        backwards = "range(count - 1, -1, -1)" if equation.params["reverse"] else "range(count)"
        lines += [f"for k in {backwards}:", *_indented(loop.round() or ["pass"])]
        if not all_reached:
            lines += loop.unreached(f"{text.space.name('max', max)}(count, 0)")
        lines += [*loop.after("count"), _returned([*loop.state, *loop.tapes])]
        return [f"def {name}({', '.join(arguments)}):", *_indented(lines)]

    all_reached = reaches_all_rows(equation)
    key = (equation.operation, all_reached, quiet)
    return f"{text.function(key, 'scan', write)}({', '.join(operands)})"


def _while(equation: Equation, operands: Sequence[str], text: ModuleText, quiet: bool) -> str:
    def write(name: str) -> list[str]:
        loop = _LoopText(equation, text, quiet)
        arguments = [*loop.constants, *loop.state]
        test = BodyWriter(equation.params["test"], text, "u", quiet)
        test.names.update(zip(test.program.inputs, arguments, strict=True))
        inner = [*test.statements(), f"if not {test.name(test.program.outputs[0])}:", "    break"]
        if loop.length is not None:
            inner += loop.overflow(f"k == {loop.length}")
        inner += [*loop.round(), "k += 1"]
        integer = text.space.name("int64", np.dtype(np.int64))
        lines = [*loop.before(), "k = 0", "while True:", *_indented(inner), *loop.after("k")]
        if not reaches_all_rows(equation):
            lines += loop.unreached("k")
        lines += [_returned([f"{integer}.type(k)", *loop.state, *loop.tapes])]
        return [f"def {name}({', '.join(arguments)}):", *_indented(lines)]

    return f"{text.function((equation.operation, quiet), 'loop', write)}({', '.join(operands)})"


def _function(program: Program, name: str, text: ModuleText, quiet: bool) -> str:
    def write(unique: str) -> list[str]:
        writer = BodyWriter(program, text, quiet=quiet)
        return function_lines(unique, writer, name_inputs(writer))

    return text.function((name, program, quiet), name, write)


def _switch(equation: Equation, operands: Sequence[str], text: ModuleText, quiet: bool) -> str:
    branches = equation.params["branches"]
    names = [_function(branch, "branch", text, quiet) for branch in branches]
    index, *rest = operands
    least, most = text.space.name("min", min), text.space.name("max", max)
    chosen = f"({', '.join(names)},)[{least}({most}(int({index}), 0), {len(names) - 1})]"
    return f"{chosen}({', '.join(rest)})"


def _checkpoint(equation: Equation, operands: Sequence[str], text: ModuleText, quiet: bool) -> str:
    name = _function(equation.params["body"], "again", text, quiet)
    return f"{name}({', '.join(operands)})"


CONTROL: Final[dict[Primitive, Control]] = {
    SCAN: _scan,
    WHILE: _while,
    SWITCH: _switch,
    CHECKPOINT: _checkpoint,
}
