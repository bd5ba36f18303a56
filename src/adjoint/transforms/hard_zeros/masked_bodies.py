"""Loops and branches with masks of hard zeros, which follow what is carried and returned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.program import Atom, Builder, Equation, Program, Variable, operation
from adjoint.transforms.hard_zeros.masks import Mask, whole_mask

MaskedResults = tuple[Sequence[Atom], list[Mask]]


def scan(work: Any, equation: Equation, operands: list[Atom], masks: list[Mask]) -> MaskedResults:
    """Rounds carry the masks of what they carry, and stack those of what they stack."""
    count, *rest = operands
    return _loop(work, equation, [count], rest, masks[1:])


def repeat(work: Any, equation: Equation, operands: list[Atom], masks: list[Mask]) -> MaskedResults:
    """`while`, whose test does not see masks."""
    return _loop(work, equation, [], operands, masks)


def _loop(
    work: Any, equation: Equation, first: list[Atom], operands: list[Atom], masks: list[Mask]
) -> MaskedResults:
    params = equation.params
    fixed, carried = params["constants"], params["carried"]
    marks = [mask is not None for mask in masks]
    while True:  # until what is carried has a mask wherever a round makes one
        body, masked = work.masked(equation, params["body"], tuple(marks))
        grown = [a or b for a, b in zip(marks[fixed:], masked[:carried], strict=False)]
        if grown == marks[fixed : fixed + carried]:
            break
        marks[fixed : fixed + carried] = grown
    kept = [*grown, *masked[carried:]]
    groups = (range(fixed), range(fixed, fixed + carried), range(fixed + carried, len(masks)))
    split = (range(carried), range(carried, len(masked)))
    body = _arranged(body, groups, marks, split, masked, kept)
    changed = {
        **params,
        "body": body,
        "constants": fixed + sum(marks[:fixed]),
        "carried": carried + sum(grown),
    }
    if "test" in params:
        changed["test"] = _blind(params["test"], groups[:2], marks, body)
    given = [*first, *_given(work, groups, operands, masks, marks)]
    results = work.builder.emit(operation(equation.primitive, **changed), given)
    head = len(equation.outputs) - len(masked)
    return _sorted(work, results, head, split, kept)


def _given(
    work: Any,
    groups: Sequence[range],
    operands: Sequence[Atom],
    masks: Sequence[Mask],
    marks: Sequence[bool],
) -> list[Atom]:
    """Operands, each group followed by the masks of those that have one."""
    given: list[Atom] = []
    for group in groups:
        given += [operands[n] for n in group]
        for n in group:
            if marks[n]:
                given.append(whole_mask(work.builder, masks[n], operands[n].type.shape).atom)
    return given


def _sorted(
    work: Any, results: Sequence[Atom], head: int, split: Sequence[range], kept: Sequence[bool]
) -> MaskedResults:
    """Results apart from masks, which follow each group of them."""
    rest = iter(results[head:])
    values, masks = list(results[:head]), [None] * (head + len(kept))
    for part in split:
        values += [next(rest) for _ in part]
        for n in part:
            if kept[n]:
                masks[head + n] = work.express(next(rest))
    return values, masks


def branches(
    work: Any, equation: Equation, operands: list[Atom], masks: list[Mask]
) -> MaskedResults:
    """Each branch with masks: of all results that have one in any. A checkpoint is one branch."""
    params, several = equation.params, "branches" in equation.params
    programs = params["branches"] if several else (params["body"],)
    first, rest, masks = operands[: int(several)], operands[int(several) :], masks[int(several) :]
    marks = tuple(mask is not None for mask in masks)
    bodies = [work.masked(equation, program, marks) for program in programs]
    kept = [any(flags) for flags in zip(*(masked for _, masked in bodies), strict=True)]
    groups, split = (range(len(rest)),), (range(len(kept)),)
    done = tuple(
        _arranged(program, groups, marks, split, masked, kept) for program, masked in bodies
    )
    changed = {**params, "branches": done} if several else {**params, "body": done[0]}
    given = [*first, *_given(work, groups, rest, masks, marks)]
    results = work.builder.emit(operation(equation.primitive, **changed), given)
    return _sorted(work, results, 0, split, kept)


def _arranged(
    program: Program,
    groups: Sequence[range],
    marks: Sequence[bool],
    split: Sequence[range],
    masked: Sequence[bool],
    kept: Sequence[bool],
) -> Program:
    """A program with masks, each group of inputs and outputs followed by its own.

    masked: which outputs have a mask; kept: which are to have one, of nothing if need be.
    """
    count, size = len(marks), len(masked)
    inputs = dict(zip([n for n in range(count) if marks[n]], program.inputs[count:], strict=True))
    masks = dict(zip([n for n in range(size) if masked[n]], program.outputs[size:], strict=True))
    builder = Builder()
    builder.equations.extend(program.equations)
    builder.derived = True
    order: list[Variable] = []
    for group in groups:
        order += [program.inputs[n] for n in group]
        order += [inputs[n] for n in group if marks[n]]
    outputs: list[Atom] = []
    for part in split:
        outputs += [program.outputs[n] for n in part]
        for n in part:
            if kept[n]:
                shape = program.outputs[n].type.shape
                outputs.append(masks[n] if n in masks else whole_mask(builder, None, shape).atom)
    return Program(order, builder.equations, outputs)


def _blind(test: Program, groups: Sequence[range], marks: Sequence[bool], body: Program) -> Program:
    """A loop's test, which is given masks as well."""
    given = list(body.inputs)
    inputs: list[Variable] = []
    for group in groups:
        inputs += [test.inputs[n] for n in group]
        extra = sum(marks[n] for n in group)
        place = len(inputs)
        inputs += [Variable(variable.type) for variable in given[place : place + extra]]
    return Program(inputs, test.equations, test.outputs)
