"""Collapsed Taylor mode: of every primitive, against the sums of its second derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import given as drawn
from hypothesis import strategies as st

from adjoint.base.arrays import array_type
from adjoint.primitives import PRIMITIVES, EmptySlot
from adjoint.primitives.expression import Expression
from adjoint.primitives.structure.moving import zeros
from adjoint.program import Builder, Program
from adjoint.transforms import jvp, tangent_type
from adjoint.transforms.collapsed import Directions, DirectionSet, Moving, collapse, joined
from adjoint.transforms.collapsed.directions import count_all, standard_directions
from tests.building import f8
from tests.cases import Case, cases, close, run
from tests.transforms.test_random_programs import INDEX, N, programs
from tests.transforms.test_random_programs import run as run_all
from tests.vectors import distance, random_like

COUNT = 3
TOLERANCE = {8: 1e-10, 4: 2e-3}

CASES = [
    case
    for primitive in PRIMITIVES.values()
    if not isinstance(primitive.samples, EmptySlot)
    for case in cases(primitive)
    if case.differentiable and case.sample.order >= 2
]
REAL = [
    case
    for case in CASES
    if case.bytes == 8
    and not any(t.dtype.kind == "c" for t in case.program.input_types)
    and all(t.size for t in case.program.input_types)
]


def collapsed(program: Program, marks: Sequence[bool], given: bool) -> Program:
    """(inputs, directions) -> (outputs, their slopes, set by set, and their curves).

    given: whether directions are inputs, and for each a first curve; else they are the standard
    basis of each input that is marked.
    """
    builder = Builder()
    values = [builder.input(variable.type) for variable in program.inputs]
    sets: list[DirectionSet] = [DirectionSet((COUNT,))] if given else []
    moving = []
    for variable, mark in zip(program.inputs, marks, strict=True):
        type_ = tangent_type(variable.type)
        if not mark:
            moving.append(Moving({}))
        elif given:
            rows = builder.input(array_type((COUNT, *type_.shape), type_.dtype))
            moved = Directions(Expression(builder, rows), (None,))
            moving.append(Moving({0: [moved]}, Expression(builder, builder.input(type_))))
        else:
            moved = standard_directions(builder, type_.shape, type_.dtype)
            moving.append(Moving({len(sets): [moved]}))
            sets.append(DirectionSet(type_.shape))
    outputs, states = collapse(builder, program, values, moving, sets)
    found = []
    for atom, state in zip(outputs, states, strict=True):
        type_ = tangent_type(atom.type)
        if type_.inexact:
            for number, set_ in enumerate(sets):
                moved = state.sets.get(number)
                wide = array_type((int(np.prod(set_.lengths)), *type_.shape), type_.dtype)
                rows = (
                    zeros(builder, wide)
                    if moved is None
                    else count_all(joined(moved, set_.lengths), set_.lengths).rows
                )
                found.append(rows.atom)
            curve = zeros(builder, type_) if state.curve is None else state.curve
            found.append(curve.atom)
    return builder.build([*outputs, *found])


def expected(case: Case, sets: Sequence[Sequence[Any]], curves: Sequence[Any]) -> list[Any]:
    """The same by forward mode on forward mode, one direction after another."""
    marks, count = case.active, len(case.program.outputs)
    pushed = jvp(case.program, marks)
    twice = jvp(pushed, (*marks, *(False,) * sum(marks)))
    results = [type_ for type_ in case.program.output_types if type_.inexact]
    totals: list[Any] = [0] * len(results)
    slopes: list[list[Any]] = [[] for _ in results]
    for directions in sets:
        rows: list[list[Any]] = [[] for _ in results]
        for direction in directions:
            moved = run(case, "collapsed", twice, (*case.operands, *direction, *direction))[count:]
            for place in range(len(results)):
                rows[place].append(moved[place])
                totals[place] = totals[place] + moved[2 * len(results) + place]
        for own, row in zip(slopes, rows, strict=True):
            own.append(np.stack(row))
    if curves:
        moved = run(case, "collapsed", pushed, (*case.operands, *curves))[count:]
        totals = [total + slope for total, slope in zip(totals, moved, strict=True)]
    return [x for own, total in zip(slopes, totals, strict=True) for x in (*own, total)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_primitive_along_given_directions(case: Case) -> None:
    types = [t for t, mark in zip(case.program.input_types, case.active, strict=True) if mark]
    directions = [random_like(case.generator("direction", r), types) for r in range(COUNT)]
    curves = random_like(case.generator("curve"), types)
    stacked = [np.stack(column) for column in zip(*directions, strict=True)]
    arguments = [x for pair in zip(stacked, curves, strict=True) for x in pair]
    program = collapsed(case.program, case.active, True)
    found = run(case, "collapsed", program, (*case.operands, *arguments))
    count = len(case.program.outputs)
    wanted = expected(case, [directions], curves)
    close(case, "collapsed", found[count:], wanted, TOLERANCE[case.bytes])


@pytest.mark.parametrize("case", REAL, ids=lambda case: case.name)
def test_every_primitive_along_the_standard_basis(case: Case) -> None:
    types = [t for t, mark in zip(case.program.input_types, case.active, strict=True) if mark]
    sets = []
    for place, type_ in enumerate(types):
        units = np.eye(type_.size, dtype=type_.dtype).reshape(type_.size, *type_.shape)
        still = [np.zeros(t.shape, t.dtype) for t in types]
        sets.append([[*still[:place], unit, *still[place + 1 :]] for unit in units])
    found = run(case, "collapsed", collapsed(case.program, case.active, False), case.operands)
    count = len(case.program.outputs)
    close(case, "collapsed", found[count:], expected(case, sets, []), TOLERANCE[case.bytes])


# --- random programs ------------------------------------------------------------------------------


def unit_matrices(turned: bool) -> list[Any]:
    """The standard basis of matrices, or of their transposes."""
    units = np.eye(N * N).reshape(N, N, N, N)
    return list(np.swapaxes(units, 2, 3).reshape(-1, N, N) if turned else units.reshape(-1, N, N))


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@drawn(
    programs(),
    st.lists(st.sampled_from([None, False, True]), min_size=2, max_size=2),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_random_programs(
    program: Program, turned: list[bool | None], alone: bool, seed: int
) -> None:
    """Matrices that move with their own entries, or with those of their transposes, or not at all.

    All axes are as long, so that one in the place of another goes unnoticed by shapes. alone:
    whether each matrix has a set of its own.
    """
    builder = Builder()
    values = [builder.input(variable.type) for variable in program.inputs]
    moving = []
    for place, turn in enumerate(turned):
        rows = standard_directions(builder, (N, N), np.dtype(float)).rows
        moved = Directions(rows, (1, 0) if turn else (0, 1))
        moving.append(Moving({} if turn is None else {place * alone: [moved]}))
    sets = [DirectionSet((N, N)), DirectionSet((N, N), -1)]
    outputs, states = collapse(builder, program, values, [*moving, Moving({})], sets)
    results: list[Any] = []
    for state in states:
        for number in (0, 1):
            parts = state.sets.get(number)
            wide = zeros(builder, f8(N * N, N, N))
            results.append(count_all(joined(parts, (N, N)), (N, N)).rows if parts else wide)
        results.append(zeros(builder, f8(N, N)) if state.curve is None else state.curve)
    whole = builder.build([*outputs, *(result.atom for result in results)])

    point = [*np.random.default_rng(seed).uniform(-1, 1, (2, N, N)), INDEX]
    found = run_all(whole, *point)[len(outputs) :]
    pushed = jvp(program, (True, True, False))
    twice = jvp(pushed, (True, True, False, False, False))
    count = len(outputs)
    wanted = [[np.zeros((N * N, N, N)), np.zeros((N * N, N, N)), 0.0] for _ in outputs]
    for number in (0, 1):
        mine = [turn is not None and place * alone == number for place, turn in enumerate(turned)]
        bases = [
            unit_matrices(bool(turn)) if own else [np.zeros((N, N))] * (N * N)
            for turn, own in zip(turned, mine, strict=True)
        ]
        for row, direction in enumerate(zip(*bases, strict=True)):
            moved_results = run_all(twice, *point, *direction, *direction)[count:]
            for place in range(count):
                wanted[place][number][row] = moved_results[place]
                curve = moved_results[2 * count + place]
                wanted[place][2] = wanted[place][2] + sets[number].sign * curve
    assert distance(found, [x for own in wanted for x in own]) <= 1e-12
