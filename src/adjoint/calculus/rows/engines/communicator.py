"""Chunks on the processes of an MPI communicator, in each of which the same script runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.base.errors import RowsError, TapeOverflowError
from adjoint.calculus.rows.engines.interrupts import Interrupts, held_interrupts
from adjoint.calculus.rows.engines.threads import ThreadsEngine
from adjoint.calculus.rows.task import ChunkTask
from adjoint.calculus.rows.tree import Bounds, Results, first_half, together

_ROUNDED: Final = 1e-6  # by which the arguments of two processes may differ


class CommunicatorEngine:
    """Each process does the chunks of a part of the rows, and all of them have the results.

    Partial results go from process to process along the tree in which they are combined, so that
    they have the same bits with any number of processes.

    Before a process waits for others to send something, all tell each other whether they have
    failed, and once more at the end of a call: one that has failed, or was interrupted, takes the
    others along, which would wait for it. Where it fails between two passes, it tells so where the
    others tell of the next. They also tell what they compute: one that has failed before, and went
    on to something else, would add what does not belong together.
    """

    def __init__(self, communicator: Any, workers: int) -> None:
        self._communicator = communicator
        self._rank: int = communicator.Get_rank()
        self._size: int = communicator.Get_size()
        self._own = ThreadsEngine(workers)
        self._interrupts = Interrupts()
        self._told: BaseException | None = None  # an error that all others know of

    @contextmanager
    def whole_call(self) -> Iterator[None]:
        """A call from its first line to its last, none of whose errors leaves others waiting."""
        with held_interrupts() as self._interrupts:
            try:
                with self._interrupts.let_in():
                    yield
            except BaseException as error:
                if error is not self._told:
                    self._communicator.allgather((_Failure.of(error, ends_all=True), None))
                raise
            self._agreed(self._interrupts.raise_late)

    def map(
        self, task: ChunkTask, bounds: Sequence[Bounds], advance: Callable[[], None]
    ) -> list[Results]:
        """The results of all chunks, in order."""
        own = [n for n in range(len(bounds)) if self._owner(n, len(bounds)) == self._rank]
        chunks = [bounds[n] for n in own]
        with self._interrupts.kept_out():
            results = self._agreed(
                lambda: self._own.map(task, chunks, advance) if chunks else [],
                lambda: task.signature(bounds),
            )
            with self._exchange():
                parts = self._communicator.allgather(results)
        return [result for part in parts for result in part]

    def reduce(
        self, task: ChunkTask, bounds: Sequence[Bounds], advance: Callable[[], None]
    ) -> Results:
        """The results of all chunks, combined as the task says."""
        count = len(bounds)
        nodes: dict[Bounds, Results] = {}

        def compute() -> None:
            for first, last in self._own_nodes(0, count, count):
                nodes[first, last] = self._own.reduce(task, bounds[first:last], advance)

        with self._interrupts.kept_out():
            self._agreed(compute, lambda: task.signature(bounds))
            with self._exchange():
                total = self._combined(task.combined, nodes, 0, count, count)
                results: Results = self._communicator.bcast(total, root=0)
        return results

    def _owner(self, chunk: int, count: int) -> int:
        return chunk * self._size // count

    def _is_one_process(self, first: int, last: int, count: int) -> bool:
        return self._owner(first, count) == self._owner(last - 1, count)

    def _own_nodes(self, first: int, last: int, count: int) -> list[Bounds]:
        """The largest parts of the tree all of whose chunks this process does."""
        if self._is_one_process(first, last, count):
            return [(first, last)] if self._owner(first, count) == self._rank else []
        middle = first + first_half(last - first)
        return self._own_nodes(first, middle, count) + self._own_nodes(middle, last, count)

    def _combined(
        self,
        combined: Sequence[str],
        nodes: dict[Bounds, Results],
        first: int,
        last: int,
        count: int,
    ) -> Results | None:
        """The results of a part of the tree, in the process that has its first chunk."""
        if self._is_one_process(first, last, count):
            return nodes.get((first, last))
        middle = first + first_half(last - first)
        one = self._combined(combined, nodes, first, middle, count)
        other = self._combined(combined, nodes, middle, last, count)
        here, there = self._owner(first, count), self._owner(middle, count)
        if here != there and self._rank == there:
            self._communicator.send(other, dest=here)
        if self._rank != here or one is None:
            return None
        if here != there:
            other = self._communicator.recv(source=there)
        assert other is not None
        return together(combined, one, other)

    @contextmanager
    def _exchange(self) -> Iterator[None]:
        """Within it, nobody listens to what has failed: that can be the communicator alone."""
        try:
            yield
        except BaseException as error:
            self._told = error
            raise

    def _agreed(
        self, compute: Callable[[], Any], signature: Callable[[], Any] = lambda: None
    ) -> Any:
        """What a process computes, if no other has failed: else all end, and none waits for it.

        signature: what it is that the process computes, if that is to be compared.
        """
        result, own_signature, error = None, None, None
        try:
            with self._interrupts.let_in():
                own_signature = signature()
                result = compute()
        except BaseException as failure:  # an interrupt, too, ends all
            error = failure
        own = None if error is None else _Failure.of(error)
        gathered = self._communicator.allgather((own, own_signature))
        self._told = _common_error(gathered, error)
        if self._told is not None:
            raise self._told
        return result


def _common_error(
    gathered: Sequence[tuple[_Failure | None, Any]], error: BaseException | None
) -> BaseException | None:
    """What a process raises after all have told of their errors and of what they compute.

    error: its own.
    """
    if error is not None and not isinstance(error, TapeOverflowError):
        return error
    longer = None
    for rank, (told, _) in enumerate(gathered):
        if told is not None and told.length is None:
            return RowsError(f"process {rank} of the communicator has failed: {told.text}")
        longer = longer or told
    for rank, (_, other) in enumerate(gathered):
        if not _agree(gathered[0][1], other):
            return RowsError(
                f"process {rank} of the communicator computes something else than process 0: "
                "another function, other values of the arguments, or other rows. All processes "
                "are to run the same script on the same numbers, and one that has caught an "
                "error in a call is a call ahead of the others."
            )
    if longer is not None and longer.length is not None:  # all go on with the same tape
        return TapeOverflowError(longer.length)
    return None


def _agree(one: Any, other: Any) -> bool:
    """Whether two processes compute the same, up to how processors round."""
    if one is None or other is None:
        return one is other
    sums, others = np.array(one[1]), np.array(other[1])
    return one[0] == other[0] and np.allclose(sums, others, rtol=_ROUNDED, equal_nan=True)


class _Failure(NamedTuple):
    """What a process tells of its error. length: of a tape that was too short, if it is that."""

    text: str
    length: int | None

    @staticmethod
    def of(error: BaseException, ends_all: bool = False) -> _Failure:
        """What there is to tell of an error. ends_all: though it be of a tape."""
        length = error.length if isinstance(error, TapeOverflowError) and not ends_all else None
        return _Failure(f"{type(error).__name__}: {error}".removesuffix(": "), length)
