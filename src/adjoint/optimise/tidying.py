"""Loops and branches tidied: each operand once, numbers written into bodies, nothing idle carried.

All of it is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from adjoint.loops.declared import CHECKPOINT, SCAN, SWITCH, WHILE
from adjoint.optimise.bodies import holds_programs
from adjoint.primitives.declaration import Primitive
from adjoint.program import Atom, Equation, Literal, Program, Variable, operation
from adjoint.program.builder import lookup


class _Tidy(NamedTuple):
    """An equation in another form, and what results that it no longer has are called."""

    equation: Equation
    renamed: dict[Variable, Atom]


def tidy(program: Program) -> Program:
    """The program with its loops and branches tidied; itself where they are tidy."""
    if not any(map(holds_programs, program.equations)):
        return program
    names: dict[Variable, Atom] = {}
    kept = []
    for equation in program.equations:
        inputs = [names.get(x, x) if isinstance(x, Variable) else x for x in equation.inputs]
        same = tuple(inputs) == equation.inputs
        tidied = equation if same else _with(equation, equation.params, inputs, equation.outputs)
        rule = _RULES.get(equation.primitive)
        if rule is not None:
            tidied, renamed = rule(tidied)
            names.update(renamed)
        kept.append(tidied)
    if all(one is other for one, other in zip(kept, program.equations, strict=True)):
        return program
    outputs = [names.get(x, x) if isinstance(x, Variable) else x for x in program.outputs]
    return Program(program.inputs, kept, outputs)


def _with(
    equation: Equation,
    params: dict[str, Any],
    inputs: Sequence[Atom],
    outputs: Sequence[Variable],
) -> Equation:
    op = operation(equation.primitive, **params)
    return Equation(op, inputs, outputs, equation.origin, equation.derived)


def _substituted(
    program: Program, names: dict[Variable, Atom], inputs: Sequence[Variable], places: Sequence[int]
) -> Program:
    """The program with some inputs called otherwise; places: of the outputs that are kept."""
    known: dict[Variable, Atom] = {variable: variable for variable in program.inputs}
    known.update(names)
    equations = []
    for equation in program.equations:
        atoms = [lookup(known, atom) for atom in equation.inputs]
        equations.append(_with(equation, equation.params, atoms, equation.outputs))
        known.update(zip(equation.outputs, equation.outputs, strict=True))
    outputs = [lookup(known, program.outputs[place]) for place in places]
    return Program(inputs, equations, outputs)


def _read(programs: Sequence[Program]) -> list[set[Atom]]:
    return [
        {*program.outputs, *(atom for equation in program.equations for atom in equation.inputs)}
        for program in programs
    ]


def _shared_operands(
    operands: Sequence[Atom], programs: Sequence[Program], places: Sequence[int]
) -> tuple[list[dict[Variable, Atom]], list[int]]:
    """Which of the operands at some places are needed.

    Those that are read, and each once; of the others, what the inputs of each program are called:
    a number, or the input of the same operand.
    """
    names: list[dict[Variable, Atom]] = [{} for _ in programs]
    first: dict[Atom, int] = {}
    kept = []
    read = _read(programs)
    for place in places:
        atom = operands[place]
        inputs = [program.inputs[place] for program in programs]
        if isinstance(atom, Literal):
            for known, variable in zip(names, inputs, strict=True):
                known[variable] = atom
        elif atom in first:
            for known, program, variable in zip(names, programs, inputs, strict=True):
                known[variable] = program.inputs[first[atom]]
        elif any(variable in atoms_read for variable, atoms_read in zip(inputs, read, strict=True)):
            first[atom] = place
            kept.append(place)
    return names, kept


# --- loops ----------------------------------------------------------------------------------------


def _loop(equation: Equation, before: int, programs: Sequence[str]) -> _Tidy:
    """A scan or while. before: how many operands, or results, come before those of the body."""
    params = equation.params
    constants, carried = params["constants"], params["carried"]
    scan = equation.primitive is SCAN
    lead = list(equation.inputs[: 1 if scan else 0])
    operands = list(equation.inputs[len(lead) :])
    results = list(equation.outputs[before:])
    held: list[Program] = [params[name] for name in programs]
    body = held[-1]
    states = range(constants, constants + carried)
    idle = [place for place in states if body.outputs[place - constants] is body.inputs[place]]
    moving = [place for place in states if place not in idle]
    renamed: dict[Variable, Atom] = {results[place - constants]: operands[place] for place in idle}
    fixed = [*range(constants), *idle]
    names, used = _shared_operands(operands, held, fixed)
    rows = range(constants + carried, len(body.inputs))
    more, read = _shared_operands(operands, [body], rows)
    names[-1].update(more[0])
    stacked = _stacked(body, carried, results, renamed)
    if len(used) == constants and len(read) == len(rows) and not renamed:
        return _Tidy(equation, {})
    kept = [*used, *moving, *read]
    outputs = [*(place - constants for place in moving), *stacked]
    short = [
        _substituted(
            program,
            known,
            [program.inputs[place] for place in kept if place < len(program.inputs)],
            outputs if program is body else range(len(program.outputs)),
        )
        for program, known in zip(held, names, strict=True)
    ]
    changed = {
        **params,
        **dict(zip(programs, short, strict=True)),
        "constants": len(used),
        "carried": len(moving),
    }
    inputs = [*lead, *(operands[place] for place in kept)]
    kept_results = [*equation.outputs[:before], *(results[place] for place in outputs)]
    return _Tidy(_with(equation, changed, inputs, kept_results), renamed)


def _stacked(
    body: Program, carried: int, results: Sequence[Variable], renamed: dict[Variable, Atom]
) -> list[int]:
    """The rows that are stacked, each once."""
    first: dict[Atom, int] = {}
    kept = []
    for place in range(carried, len(body.outputs)):
        atom = body.outputs[place]
        if isinstance(atom, Variable) and atom in first:
            renamed[results[place]] = results[first[atom]]
            continue
        if isinstance(atom, Variable):
            first[atom] = place
        kept.append(place)
    return kept


# --- branches -------------------------------------------------------------------------------------


def _switch(equation: Equation) -> _Tidy:
    branches: tuple[Program, ...] = equation.params["branches"]
    index, *operands = equation.inputs
    names, used = _shared_operands(operands, branches, range(len(operands)))
    if len(used) == len(operands):
        return _Tidy(equation, {})
    short = tuple(
        _substituted(
            branch,
            known,
            [branch.inputs[place] for place in used],
            range(len(branch.outputs)),
        )
        for branch, known in zip(branches, names, strict=True)
    )
    inputs = [index, *(operands[place] for place in used)]
    changed = {**equation.params, "branches": short}
    return _Tidy(_with(equation, changed, inputs, equation.outputs), {})


def _checkpoint(equation: Equation) -> _Tidy:
    body: Program = equation.params["body"]
    (names,), used = _shared_operands(equation.inputs, [body], range(len(equation.inputs)))
    if len(used) == len(equation.inputs):
        return _Tidy(equation, {})
    inputs = [body.inputs[place] for place in used]
    short = _substituted(body, names, inputs, range(len(body.outputs)))
    operands = [equation.inputs[place] for place in used]
    return _Tidy(
        _with(equation, {**equation.params, "body": short}, operands, equation.outputs), {}
    )


_RULES: dict[Primitive, Callable[[Equation], _Tidy]] = {
    SCAN: lambda equation: _loop(equation, 0, ["body"]),
    WHILE: lambda equation: _loop(equation, 1, ["test", "body"]),
    SWITCH: _switch,
    CHECKPOINT: _checkpoint,
}
