"""Running a function over rows: captured once with the shape of all, run on some at a time."""

from __future__ import annotations

import linecache
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import is_numeric, type_of
from adjoint.base.dlpack import arrived
from adjoint.base.errors import ArgumentError, RowsError, TapeOverflowError
from adjoint.base.process.forking import hold_over_forks
from adjoint.base.settings import Changes, config
from adjoint.calculus.rows.engines import Engine, engine_in_force
from adjoint.calculus.rows.progress import passes_shown
from adjoint.calculus.rows.source import STANDING, Rows, RowsMetError, Standing, rows
from adjoint.calculus.rows.task import (
    ChunkInput,
    ChunkPrograms,
    ChunkTask,
    ConstantRows,
    RowNumbers,
    SourceRows,
    WholeInput,
    compiled_at_once,
)
from adjoint.capture import Captured, Traced, capture, current, unwrap
from adjoint.executors.xla.device_array import has_device_arrays, to_host
from adjoint.optimise import is_tape_length, lengthened
from adjoint.pipeline import CLEARED_TOO, Compiled, prepare, run, watch_all
from adjoint.program import Program, Variable
from adjoint.transforms.by_rows import (
    ZERO,
    RowMark,
    RowPass,
    RowPasses,
    is_count,
    marked,
    staged,
)

_SMALL: Final = 1024  # entries of constants of which it is asked whether they are zero
_LIMIT: Final = 64  # functions whose programs are held
_MEANING: Final = (
    "follows from rows, of which some are read at a time, so that no values are there while the "
    "function is captured. Choose with np.where, and not with `if`"
)


def has_rows(tree: Any) -> bool:
    """Whether there are rows among the leaves of a tree."""
    return Rows.exist and any(isinstance(leaf, Rows) for leaf in pytrees.leaves(tree))


def maybe_over_rows(
    call: Callable[[], Any],
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """What a call gives; or, where it has to do with rows, what a function does over them.

    call: the function with these arguments, as if there were no rows.
    """
    if has_rows((args, kwargs)) and current() is None:
        return over_rows(function, args, kwargs)
    try:
        return call()
    except RowsMetError as error:
        if current() is not None:  # the capture around it knows what stands for them
            raise
        return over_rows(function, args, kwargs, [error.rows])


def rows_like(value: Any, met: Sequence[Rows]) -> Any:
    """An array with as many entries along its first axis as there are rows, as rows."""
    if np.ndim(value) and len(value) == len(met[0]):
        return rows(np.asarray(value), min(x.chunk for x in met))
    return value


class _RowPrograms(NamedTuple):
    """The passes of a captured function, by how many rows they take, and what comes after.

    whole: the program that was cut. programs: of a pass, by its number and the sizes of the chunks.
    """

    whole: Program
    stages: RowPasses
    final: Compiled
    passes: dict[int, list[tuple[RowPass, Compiled]]]
    programs: dict[tuple[int, tuple[int, ...]], ChunkPrograms]


_held: dict[Any, _RowPrograms] = {}
_lock = threading.RLock()
hold_over_forks(_lock)
CLEARED_TOO.append(_held.clear)


def over_rows(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    met: list[Rows] | None = None,
) -> Any:
    """What a function gives for arguments of which some are rows, or that uses others.

    met: those others that are known already, to which the rest is added.

    Raises:
        RowsError: it needs all rows at once.
        ArgumentError: rows of different numbers.
        ValueNeededError: it asks for the value of a row.
    """
    met = [] if met is None else met
    engine = engine_in_force()
    args, kwargs = _in_memory((args, kwargs))
    with engine.whole_call():
        while True:  # until all are known that the function uses
            try:
                return _over_rows(engine, function, tuple(met), args, kwargs)
            except RowsMetError as error:
                if any(error.rows is rows for rows in met):
                    raise
                if met and id(met[-1]) not in error.others:
                    raise RowsError(
                        "the function makes rows each time it runs, so that none of them are known "
                        "before. Call ad.rows outside of it."
                    ) from None
                met.append(error.rows)


def _in_memory(tree: Any) -> Any:
    """Arguments with NumPy's arrays for those on devices: each engine has places of its own."""
    tree = arrived(tree)
    return to_host(tree) if has_device_arrays(tree) else tree


def _over_rows(
    engine: Engine,
    function: Callable[..., Any],
    met: tuple[Rows, ...],
    args: tuple[Any, ...],
    kwargs: Any,
) -> Any:
    """What a function gives. met: rows that it uses, besides those among its arguments."""
    leaves, treedef = pytrees.flatten((met, args, kwargs))
    given = [leaf for leaf in leaves if isinstance(leaf, Rows) or is_numeric(leaf)]
    sources = [leaf for leaf in given if isinstance(leaf, Rows)]
    count, chunk = _sizes(sources)
    captured = _captured(function, leaves, treedef, given, met)
    constants = [unwrap(constant) for constant in captured.constants]
    arguments = [*given, *constants]
    if count == 1:  # any axis of length 1 may be that of the rows
        return pytrees.unflatten(captured.treedef, _of_one_row(captured, arguments))
    marks = _marks(given, constants, count)
    held = _prepared(captured, marks, count)
    while True:  # until all tapes are long enough
        try:
            results = _results(engine, held, arguments, count, chunk)
        except TapeOverflowError as error:
            if not is_tape_length(error.length):
                raise
            held = _prepared(captured, marks, count, lengthened(held.whole, error.length))
        else:
            return pytrees.unflatten(captured.treedef, results)


def _of_one_row(captured: Captured, arguments: Sequence[Any]) -> Sequence[Any]:
    """The results for a single row, which is an array as others are."""

    def derive(program: Program, _: Any) -> tuple[Program, tuple[int, ...], None]:
        return program, watch_all(program), None

    arrays = [SourceRows(x.source).read(0, 1) if isinstance(x, Rows) else x for x in arguments]
    return run(prepare(("one row",), captured, derive), arrays)


def _results(
    engine: Engine, held: _RowPrograms, arguments: Sequence[Any], count: int, chunk: int
) -> list[Any]:
    """The results of all passes and of what comes after them."""
    program = held.stages.marks.program
    values = dict(zip(program.inputs, arguments, strict=True))
    for equation in program.equations:
        if is_count(held.stages.marks, equation):
            values[equation.outputs[0]] = RowNumbers()
    row_results = _run_passes(engine, held, values, count, chunk)
    rest = iter(held.final([values[v] for v in held.stages.final_inputs]))
    return [row_results[atom] if atom in row_results else next(rest) for atom in program.outputs]


def _sizes(sources: Sequence[Rows]) -> tuple[int, int]:
    counts = sorted({len(source) for source in sources})
    if len(counts) > 1:
        raise ArgumentError(
            f"All arguments of rows must have as many, got {' and '.join(map(str, counts))}."
        )
    return counts[0], min(source.chunk for source in sources)


def _captured(
    function: Callable[..., Any],
    leaves: Sequence[Any],
    treedef: Any,
    given: Sequence[Any],
    met: Sequence[Rows],
) -> Captured:
    def call(target: Any, traced: list[Traced]) -> Any:
        waiting = iter(traced)
        whole = [
            next(waiting) if isinstance(leaf, Rows) or is_numeric(leaf) else leaf for leaf in leaves
        ]
        arrays, args, kwargs = pytrees.unflatten(treedef, whole)
        standing = {id(rows): array for rows, array in zip(met, arrays, strict=True)}
        token = STANDING.set(Standing(standing))
        try:
            return target(*args, **kwargs)
        finally:
            STANDING.reset(token)

    types = [leaf.whole_type if isinstance(leaf, Rows) else type_of(leaf) for leaf in given]
    known = {n: leaf for n, leaf in enumerate(given) if not isinstance(leaf, Rows)}
    active = [type_.inexact for type_ in types]
    return capture(function, call, types, known, active, lines=True, meaning=_MEANING)


def _marks(given: Sequence[Any], constants: Sequence[Any], count: int) -> list[RowMark]:
    """The marks of the inputs. Constants have rows along the axis that is as long."""
    marks = [RowMark(0) if isinstance(leaf, Rows) else RowMark() for leaf in given]
    for constant in constants:
        places = [n for n, length in enumerate(np.shape(constant)) if length == count]
        axis = places[0] if len(places) == 1 else None
        if axis is None:
            zero = np.size(constant) <= _SMALL and not np.any(constant)
            marks.append(ZERO if zero else RowMark())
        else:
            marks.append(RowMark(axis, counted=_counts(constant, count)))
    return marks


def _counts(constant: Any, count: int) -> bool:
    """Whether a constant is the numbers of all rows."""
    numbers = np.asarray(constant)
    whole = numbers.dtype.kind in "iu" and numbers.size == count
    return whole and bool(np.array_equal(numbers.reshape(-1), np.arange(count)))


def _prepared(
    captured: Captured, marks: Sequence[RowMark], count: int, longer: Program | None = None
) -> _RowPrograms:
    """The passes of a captured function, derived only if they are new.

    longer: its program, with longer tapes than it is held with.
    """
    key = (captured.key, tuple(marks), count)
    held = _held.get(key) if longer is None else None
    if held is None:
        whole = captured.program() if longer is None else longer
        try:
            stages = staged(marked(whole, marks, count))
        except RowsError as error:
            _point_at_line(error, captured)
            raise
        final = compiled_at_once(stages.final)  # so that the first call has the bits of all
        with _lock:
            if len(_held) >= _LIMIT:
                _held.clear()
            held = _RowPrograms(whole, stages, final, {}, {})
            if longer is None:
                held = _held.setdefault(key, held)
            else:
                _held[key] = held
    return held


def _point_at_line(error: RowsError, captured: Captured) -> None:
    lines = captured.trace.lines or []
    if error.origin is not None and error.origin < len(lines) and lines[error.origin]:
        path, _, number = lines[error.origin].rpartition(":")
        text = linecache.getline(path, int(number)).strip()
        error.add_note(f"At {lines[error.origin]}{': ' if text else ''}{text}")


def _passes_of(held: _RowPrograms, size: int) -> list[tuple[RowPass, Compiled]]:
    """The passes with programs of so many rows, compiled when they are first wanted."""
    passes = held.passes.get(size)
    if passes is None:
        passes = [(stage, compiled_at_once(stage.program)) for stage in held.stages.passes(size)]
        with _lock:
            passes = held.passes.setdefault(size, passes)
    return passes


def _run_passes(
    engine: Engine, held: _RowPrograms, values: dict[Variable, Any], count: int, chunk: int
) -> dict[Any, Any]:
    """Run all passes: partial results come to be among the values; what has rows is returned."""
    row_results: dict[Any, Any] = {}
    bounds = [(start, min(start + chunk, count)) for start in range(0, count, chunk)]
    stages = [stage for stage, _ in _passes_of(held, min(chunk, count))]
    with _chunk_settings(held, len(bounds)), passes_shown(len(stages) * len(bounds)) as advance:
        for number, stage in enumerate(stages):
            task = _task(held, number, stage, values, bounds)
            if stage.combined:
                sums = engine.reduce(task, bounds, advance)
                values.update(zip(stage.outputs, sums, strict=True))
            else:
                columns = zip(*engine.map(task, bounds, advance), strict=True)
                joined = [np.concatenate(column) for column in columns]
                row_results.update(zip(stage.outputs, joined, strict=True))
    return row_results


def _chunk_settings(held: _RowPrograms, count: int) -> AbstractContextManager[Any]:
    """How chunks are computed: several at a time, each on one core.

    Machine code rounds an operation by what stands around it, NumPy the same way each time.
    """
    changes: Changes = {"native": False} if held.stages.repeats_exactly else {}
    if count > 1:
        changes["threads"] = 1
    return config(**changes) if changes else nullcontext()


def _task(
    held: _RowPrograms,
    number: int,
    stage: RowPass,
    values: dict[Variable, Any],
    bounds: Sequence[tuple[int, int]],
) -> ChunkTask:
    """What a pass does with each chunk."""
    sizes = tuple(sorted({stop - start for start, stop in bounds}))
    programs = held.programs.get((number, sizes))
    if programs is None:
        compiled = {size: _passes_of(held, size)[number][1] for size in sizes}
        with _lock:
            programs = held.programs.setdefault((number, sizes), ChunkPrograms(compiled))
    readers: dict[int, ChunkInput] = {}
    inputs: list[ChunkInput] = []
    arguments = set(held.stages.marks.program.inputs)
    for variable in stage.inputs:
        value, axis = values[variable], held.stages.marks.of[variable].axis
        if isinstance(value, Rows):  # what is given twice is read once
            inputs.append(readers.setdefault(id(value), SourceRows(value.source)))
        elif isinstance(value, RowNumbers):
            inputs.append(value)
        elif axis is None:
            inputs.append(WholeInput(value, variable in arguments))
        else:
            inputs.append(ConstantRows(value, axis))
    return ChunkTask(programs, inputs, stage.combined)
