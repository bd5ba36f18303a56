"""What is done with each chunk of a pass: some rows of each input are read, and a program is run.

A task can be pickled, and then compiles its programs where it arrives, once in each process.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from functools import cached_property
from hashlib import sha256
from typing import Any, Final
from uuid import uuid4

import numpy as np

from adjoint.base.errors import ArgumentError
from adjoint.base.process.forking import hold_over_forks
from adjoint.base.settings import config, settings
from adjoint.calculus.rows.sources import RowSource
from adjoint.calculus.rows.tree import Results
from adjoint.pipeline import CLEARED_TOO, Compiled, compile_program, watch_all
from adjoint.program import Program

_LIMIT: Final = 256  # programs that came from other processes, and are held compiled
_AS_BLAS_WANTS: Final = ("C_CONTIGUOUS", "ALIGNED")  # other arrays NumPy multiplies otherwise
# What counts for programs that are compiled elsewhere. Each chunk is computed on one core.
_SENT: Final = ("strong_zeros", "native", "precise", "executor")


class ChunkInput(ABC):
    """An input of a pass.

    costs: whether reading takes time or memory of its own. travels: whether it can be pickled.
    """

    costs: bool = False
    travels: bool = True

    @abstractmethod
    def read(self, start: int, stop: int) -> Any:
        """What the program is given for these rows."""


class WholeInput(ChunkInput):
    """An input that is the same for all chunks.

    is_argument: whether it is the user's, and not the result of an earlier pass.
    """

    def __init__(self, value: Any, is_argument: bool = True) -> None:
        self._value = value
        self.is_argument = is_argument

    def read(self, start: int, stop: int) -> Any:
        """The value."""
        return self._value


class RowNumbers(ChunkInput):
    """The numbers of the rows."""

    def read(self, start: int, stop: int) -> Any:
        """The numbers from one to before another."""
        return np.arange(start, stop)


class ConstantRows(ChunkInput):
    """An array of a closure with as many entries along an axis as there are rows."""

    travels = False

    def __init__(self, value: Any, axis: int) -> None:
        self._value = value
        self._axis = axis

    def read(self, start: int, stop: int) -> Any:
        """The entries of these rows."""
        index = (slice(None),) * self._axis + (slice(start, stop),)
        return np.ascontiguousarray(self._value[index])


class SourceRows(ChunkInput):
    """The rows of a source, in one pass."""

    def __init__(self, source: RowSource) -> None:
        self.source = source
        self.costs = source.costs
        self.travels = source.travels
        self._reader = source.reader()

    def __reduce__(self) -> tuple[Any, ...]:
        return SourceRows, (self.source,)

    def read(self, start: int, stop: int) -> Any:
        """The rows from one number to before another."""
        return _checked(self._reader.read(start, stop), start, stop, self.source.shape[1:])


def _checked(value: Any, start: int, stop: int, row: tuple[int, ...]) -> Any:
    """An array of rows of this shape.

    Raises:
        ArgumentError: there are more or fewer, or they have another shape.
    """
    expected = (stop - start, *row)
    if value.shape != expected:
        raise ArgumentError(
            f"rows {start} to {stop} were to have the shape {expected}, and have {value.shape}: "
            "the source has changed, or is not what its shape says."
        )
    return np.require(value, requirements=_AS_BLAS_WANTS)


class SentRows(ChunkInput):
    """In another process: rows that come with each chunk, as arrays behind one another."""

    def __init__(self, of: ChunkInput) -> None:
        self._row = of.source.shape[1:] if isinstance(of, SourceRows) else None

    def read(self, start: int, stop: int) -> Any:
        """Nothing can be read."""
        raise ArgumentError("these rows come with a chunk, and are not read.")

    def joined(self, arrays: Sequence[Any], start: int, stop: int) -> Any:
        """The rows that have come."""
        value = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
        return value if self._row is None else _checked(value, start, stop, self._row)


class ChunkPrograms:
    """The programs of a pass, compiled, by how many rows they take."""

    def __init__(self, compiled: Mapping[int, Compiled]) -> None:
        self._compiled = compiled
        self._name = uuid4().hex  # by which other processes know them

    def __getitem__(self, size: int) -> Compiled:
        return self._compiled[size]

    @cached_property
    def text(self) -> str:
        """The programs, as they are printed."""
        return "\n".join(f"{size}: {x.program}" for size, x in sorted(self._compiled.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        programs = {size: (x.program, x.watched) for size, x in self._compiled.items()}
        return _arrived, (self._name, programs)


_held: dict[str, ChunkPrograms] = {}
_lock = threading.RLock()
hold_over_forks(_lock)
CLEARED_TOO.append(_held.clear)


def compiled_at_once(program: Program) -> Compiled:
    """A program of a pass, which becomes machine code at its first run."""
    compiled = compile_program(program, watch_all(program))
    compiled.compile_at_once()
    return compiled


def _arrived(name: str, programs: Mapping[int, tuple[Program, tuple[int, ...]]]) -> ChunkPrograms:
    """The programs of another process, compiled as they are when they first come here.

    They have been simplified: a second time, they might be rounded otherwise.
    """
    with _lock:
        if name not in _held:
            if len(_held) >= _LIMIT:
                _held.clear()
            compiled = {size: Compiled(*parts, None) for size, parts in programs.items()}
            for program in compiled.values():
                program.compile_at_once()
            _held[name] = ChunkPrograms(compiled)
        return _held[name]


def _weighted_sums(array: np.ndarray[Any, Any]) -> list[float]:
    """Two sums of the entries, with weights that tell them from each other."""
    with np.errstate(all="ignore"):  # of infinities that a user has given, nobody is to hear here
        numbers = np.ravel(array).astype(complex)
        weights = 1 + np.cos(np.arange(numbers.size))
        totals = (numbers @ weights, np.abs(numbers) @ weights)
    return [float(part) for total in totals for part in (total.real, total.imag)]


class ChunkTask:
    """A pass over rows, to be done chunk by chunk.

    programs: of the sizes of chunks. inputs: what they take. combined: how partial results of
    chunks become those of all (see `RowMark`); empty if results have rows.
    """

    def __init__(
        self, programs: ChunkPrograms, inputs: Sequence[ChunkInput], combined: tuple[str, ...]
    ) -> None:
        self._programs = programs
        self._settings = {name: getattr(settings(), name) for name in _SENT}
        self.inputs: tuple[ChunkInput, ...] = tuple(inputs)
        self.combined = combined

    def signature(self, bounds: Sequence[Any]) -> tuple[str, list[float]]:
        """What tells it from other tasks, in any process: all but numbers, and some of these.

        Two sums of each argument that is the same for all chunks: another processor may have
        rounded it otherwise. What earlier passes gave follows from those, and the rows of a tape
        beyond the last round may be anything.
        """
        texts, sums = [self._programs.text, repr(list(bounds))], []
        for given in dict.fromkeys(self.inputs):
            if not isinstance(given, WholeInput):
                texts.append(type(given).__name__)
                continue
            array = np.asarray(given.read(0, 0))
            texts.append(f"{array.dtype} {array.shape}")
            sums += _weighted_sums(array) if given.is_argument else []
        return sha256("\n".join(texts).encode()).hexdigest(), sums

    @property
    def costs(self) -> bool:
        """Whether reading a chunk takes time or memory of its own."""
        return any(chunk_input.costs for chunk_input in self.inputs)

    def read(self, start: int, stop: int) -> list[Any]:
        """What the program is given for these rows. Chunks are read in order."""
        once = {x: x.read(start, stop) for x in dict.fromkeys(self.inputs)}
        return [once[x] for x in self.inputs]

    def run(self, size: int, given: Sequence[Any]) -> Results:
        """What the program of so many rows gives."""
        return self._programs[size](given)

    def without(self, numbers: Collection[int]) -> ChunkTask:
        """The task for another process, to which these inputs will be sent with each chunk."""
        task = copy(self)
        task.inputs = tuple([SentRows(x) if n in numbers else x for n, x in enumerate(self.inputs)])
        return task

    def run_elsewhere(self, start: int, stop: int, sent: Mapping[int, Sequence[Any]]) -> Results:
        """The results for a chunk in a process to which the task has been sent.

        sent: for inputs by their numbers, arrays of rows behind one another.
        """
        given = [
            x.joined(sent[n], start, stop) if isinstance(x, SentRows) else x.read(start, stop)
            for n, x in enumerate(self.inputs)
        ]
        given = [np.require(x, requirements="A") if isinstance(x, np.ndarray) else x for x in given]
        with config(**self._settings, threads=1):
            return self.run(stop - start, given)
