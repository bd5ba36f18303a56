"""Loops, branches and checkpoints as XLA's own control flow.

A round's faults are carried along. Where a loop makes more rounds than its tape has rows, that is a
fault as well, and NumPy, which runs the program then, says how long the tape was.
"""

from __future__ import annotations

from typing import Any

from adjoint.executors.xla.rules.table import rule
from adjoint.program import Equation, Program


def _tapes(work: Any, program: Program, carried: int, length: int | None) -> tuple[Any, ...]:
    types = program.output_types[carried:]
    return tuple(work.np.zeros((length, *type_.shape), type_.dtype) for type_ in types)


def _row(work: Any, array: Any, place: Any) -> Any:
    return work.lax.dynamic_index_in_dim(array, place, 0, keepdims=False)


def _with_row(work: Any, tape: Any, row: Any, place: Any) -> Any:
    return work.lax.dynamic_update_index_in_dim(tape, row, place, 0)


@rule("scan")
def _scan(work: Any, equation: Equation, count: Any, *operands: Any) -> tuple[Any, ...]:
    params = equation.params
    body, length = params["body"], params["length"]
    first, carried = params["constants"], params["carried"]
    constants, state = operands[:first], operands[first : first + carried]
    scanned = operands[first + carried :]
    run = work.inner(body)
    count = work.np.maximum(work.cast(count, work.np.dtype("int64")), 0)
    if length is not None:
        work.fault(count > length)
        count = work.np.minimum(count, length)

    def one(k: Any, carry: Any) -> Any:
        state, tapes, fault = carry
        place = count - 1 - k if params["reverse"] else k
        rows = [_row(work, array, place) for array in scanned]
        *results, faulty = run(*constants, *state, *rows)
        stacked = zip(tapes, results[carried:], strict=True)
        tapes = tuple(_with_row(work, tape, row, place) for tape, row in stacked)
        return tuple(results[:carried]), tapes, fault | faulty

    begin = (tuple(state), _tapes(work, body, carried, length), work.np.asarray(False))
    state, tapes, fault = work.lax.fori_loop(0, count, one, begin)
    work.fault(fault)
    return (*state, *tapes)


@rule("while")
def _while(work: Any, equation: Equation, *operands: Any) -> tuple[Any, ...]:
    params = equation.params
    body, length, first = params["body"], params["length"], params["constants"]
    carried = params["carried"]
    constants = operands[:first]
    goes_on, run = work.inner(params["test"]), work.inner(body)

    def holds(carry: Any) -> Any:
        rounds, state, _, fault = carry
        answer, _ = goes_on(*constants, *state)
        room = True if length is None else rounds < length
        return answer & room & ~fault

    def one(carry: Any) -> Any:
        rounds, state, tapes, fault = carry
        _, unsure = goes_on(*constants, *state)
        *results, faulty = run(*constants, *state)
        stacked = zip(tapes, results[carried:], strict=True) if length is not None else ()
        tapes = tuple(_with_row(work, tape, row, rounds) for tape, row in stacked)
        return rounds + 1, tuple(results[:carried]), tapes, fault | faulty | unsure

    tapes = () if length is None else _tapes(work, body, carried, length)
    begin = (work.np.asarray(0, "int64"), tuple(operands[first:]), tapes, work.np.asarray(False))
    rounds, state, tapes, fault = work.lax.while_loop(holds, one, begin)
    more, unsure = goes_on(*constants, *state)
    work.fault(fault | unsure)
    if length is not None:
        work.fault(more)
    return (rounds, *state, *tapes)


@rule("switch")
def _switch(work: Any, equation: Equation, index: Any, *operands: Any) -> tuple[Any, ...]:
    branches = equation.params["branches"]
    index = work.np.clip(index, 0, len(branches) - 1).astype("int32")
    *results, fault = work.lax.switch(index, [work.inner(b) for b in branches], *operands)
    work.fault(fault)
    return tuple(results)


@rule("checkpoint")
def _checkpoint(work: Any, equation: Equation, *operands: Any) -> tuple[Any, ...]:
    return tuple(work.outputs(equation.params["body"], operands))
