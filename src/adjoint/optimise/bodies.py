"""Loops and branches made thinner: shorter bodies, and nothing carried that nobody wants."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from adjoint.loops.declared import SCAN, SWITCH, WHILE
from adjoint.loops.tapes import LENGTHS
from adjoint.optimise.influences import influences, together
from adjoint.program import (
    Atom,
    Equation,
    Operation,
    Program,
    Variable,
    held_programs,
    operation,
)

Pass = Callable[[Program], Program]


def in_bodies(simplify: Pass) -> Pass:
    """The pass that simplifies the programs that equations hold."""

    def shortened(value: Any) -> Any:
        if isinstance(value, Program):
            return shortened_body(simplify, value)
        if isinstance(value, tuple) and value and isinstance(value[0], Program):
            return tuple(map(shortened, value))
        return value

    def passed(program: Program) -> Program:
        if not any(map(holds_programs, program.equations)):
            return program
        equations = [
            _shortened(equation, shortened) if holds_programs(equation) else equation
            for equation in program.equations
        ]
        pairs = zip(equations, program.equations, strict=True)
        if all(one.operation is other.operation for one, other in pairs):
            return program
        return Program(program.inputs, equations, program.outputs)

    return passed


def _shortened(equation: Equation, shortened: Callable[[Any], Any]) -> Equation:
    params = {name: shortened(value) for name, value in equation.params.items()}
    op = operation(equation.primitive, **params)
    return Equation(op, equation.inputs, equation.outputs, equation.origin, equation.derived)


def shortened_body(simplify: Pass, body: Program) -> Program:
    """A body simplified, where that changes no type."""
    short = simplify(body)
    # A literal is a Python number, of another type than an array that is carried.
    return short if short.output_types == body.output_types else body


def holds_programs(equation: Equation) -> bool:
    """Whether it is a loop, a branch or the like."""
    return bool(held_programs(equation.operation))


class _Narrow(NamedTuple):
    """A loop or branch of fewer results: which of the operands and results of before it has."""

    operation: Operation
    inputs: Sequence[int]
    outputs: Sequence[int]


def thinned(equation: Equation, live: Collection[Variable]) -> Equation:
    """The equation without what only results that nobody needs take."""
    if equation.primitive not in _THIN:
        return equation
    wanted = tuple([place for place, output in enumerate(equation.outputs) if output in live])
    narrow = _narrow(equation.operation, wanted)
    if narrow is None:
        return equation
    inputs = [equation.inputs[place] for place in narrow.inputs]
    outputs = [equation.outputs[place] for place in narrow.outputs]
    return Equation(narrow.operation, inputs, outputs, equation.origin, equation.derived)


# What holds loops is thinned once for each pass over what is around it, at every depth.
@lru_cache(maxsize=512)
def _narrow(op: Operation, wanted: tuple[int, ...]) -> _Narrow | None:
    """The operation with what some of its results need; None where that is all of it."""
    return _THIN[op.primitive](op, wanted)


def forget_narrow() -> None:
    """Let go of all loops and branches that were made thinner."""
    _narrow.cache_clear()


def _thin_scan(op: Operation, places: tuple[int, ...]) -> _Narrow | None:
    params = op.params
    constants, carried = params["constants"], params["carried"]
    body: Program = params["body"]
    kept_rows = [place for place in places if place >= carried]
    wanted = {place for place in places if place < carried}
    wanted = _needed(body, constants, carried, wanted, kept_rows)
    kept = [*sorted(wanted), *kept_rows]
    given = [*range(constants), *(constants + place for place in sorted(wanted))]
    given += range(constants + carried, len(body.inputs))
    short, used = _narrowed(body, kept, given, lambda n: constants <= n < constants + carried)
    if len(kept) == len(body.outputs) and len(used) == len(body.inputs):
        return None
    rows = kept_rows or any(n >= constants + carried for n in used)
    changed = {
        **params,
        "body": short,
        "constants": sum(n < constants for n in used),
        "carried": len(wanted),
        # A length that was guessed for a tape is no bound of the rounds, once there is no tape.
        "length": None if not rows and params["length"] in LENGTHS else params["length"],
    }
    return _Narrow(operation(op.primitive, **changed), [0, *(1 + n for n in used)], kept)


def _thin_while(op: Operation, places: tuple[int, ...]) -> _Narrow | None:
    params = op.params
    constants, carried = params["constants"], params["carried"]
    body: Program = params["body"]
    test: Program = params["test"]
    # The first result says how many rounds there were.
    kept_rows = [place - 1 for place in places if place > carried]
    wanted = {place - 1 for place in places if 0 < place <= carried}
    (asked,) = influences(test)
    wanted |= {place for place in range(carried) if asked >> (constants + place) & 1}
    wanted = _needed(body, constants, carried, wanted, kept_rows)
    kept = [*sorted(wanted), *kept_rows]
    equations, read = _live_part(body, kept)
    asking, read_by_test = _live_part(test, [0])
    # What only is handed on is not read, as `influences` has it too.
    used = [n for n in range(constants) if body.inputs[n] in read or test.inputs[n] in read_by_test]
    if len(kept) == len(body.outputs) and len(used) == constants:
        return None
    given = [*used, *(constants + place for place in sorted(wanted))]
    outputs = [body.outputs[n] for n in kept]
    changed = {
        **params,
        "test": Program([test.inputs[n] for n in given], asking, test.outputs),
        "body": Program([body.inputs[n] for n in given], equations, outputs),
        "constants": len(used),
        "carried": len(wanted),
        "length": params["length"] if kept_rows else None,
    }
    results = [0, *(1 + place for place in kept)]
    return _Narrow(operation(op.primitive, **changed), given, results)


def _thin_switch(op: Operation, places: tuple[int, ...]) -> _Narrow | None:
    branches: tuple[Program, ...] = op.params["branches"]
    parts = [_live_part(branch, places) for branch in branches]
    used = [
        n
        for n in range(len(branches[0].inputs))
        if any(branch.inputs[n] in read for branch, (_, read) in zip(branches, parts, strict=True))
    ]
    if len(places) == len(branches[0].outputs) and len(used) == len(branches[0].inputs):
        return None
    narrow = tuple(
        Program([branch.inputs[n] for n in used], equations, [branch.outputs[n] for n in places])
        for branch, (equations, _) in zip(branches, parts, strict=True)
    )
    thin = operation(op.primitive, **{**op.params, "branches": narrow})
    return _Narrow(thin, [0, *(1 + n for n in used)], places)


def _needed(
    body: Program, constants: int, carried: int, wanted: set[int], rows: Sequence[int]
) -> set[int]:
    """What must be carried for some of what is carried, and for some rows."""
    needs = influences(body)
    while True:
        read = together(needs[place] for place in (*wanted, *rows)) >> constants
        grown = wanted | {place for place in range(carried) if read >> place & 1}
        if grown == wanted:
            return wanted
        wanted = grown


def _live_part(program: Program, kept: Iterable[int]) -> tuple[list[Equation], set[Atom]]:
    """The equations that some outputs need, thinned, and all atoms that these read."""
    reached: set[Any] = {program.outputs[n] for n in kept}
    equations = []
    for equation in reversed(program.equations):
        if not reached.isdisjoint(equation.outputs):
            equation = thinned(equation, reached)
            reached.update(equation.inputs)
            equations.append(equation)
    return equations[::-1], reached


def _narrowed(
    body: Program, kept: Sequence[int], given: Iterable[int], always: Callable[[int], bool]
) -> tuple[Program, list[int]]:
    """The body with some of its outputs, and the inputs that it then reads, by number."""
    outputs = [body.outputs[n] for n in kept]
    equations, read = _live_part(body, kept)
    used = [n for n in given if always(n) or body.inputs[n] in read]
    return Program([body.inputs[n] for n in used], equations, outputs), used


_THIN: dict[Any, Callable[[Operation, tuple[int, ...]], _Narrow | None]] = {
    SCAN: _thin_scan,
    WHILE: _thin_while,
    SWITCH: _thin_switch,
}
