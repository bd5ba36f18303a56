"""Chunks on the cores of this machine, which is what happens if nobody says otherwise."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from typing import Any

from adjoint.calculus.rows.task import ChunkTask
from adjoint.calculus.rows.tree import Bounds, Results, in_tree


class ThreadsEngine:
    """Computes chunks on so many threads, while this one reads the next.

    Where reading takes memory, so many chunks and one more are held at a time.

    Args:
        workers: how many.
        run: what a thread does with what it is given of a chunk: a task, the number of rows, and
            what the program takes.
    """

    def __init__(
        self, workers: int, run: Callable[[ChunkTask, int, Any], Results] = ChunkTask.run
    ) -> None:
        self._workers = workers
        self._run = run

    def whole_call(self) -> AbstractContextManager[None]:
        """Nothing is around a call."""
        return nullcontext()

    def map(
        self, task: ChunkTask, bounds: Sequence[Bounds], advance: Callable[[], None]
    ) -> list[Results]:
        """The results of all chunks, in order."""
        return list(self._results(task, bounds, advance))

    def reduce(
        self, task: ChunkTask, bounds: Sequence[Bounds], advance: Callable[[], None]
    ) -> Results:
        """The results of all chunks, combined as the task says."""
        return in_tree(task.combined, self._results(task, bounds, advance))

    def _results(
        self, task: ChunkTask, bounds: Sequence[Bounds], advance: Callable[[], None]
    ) -> Iterator[Results]:
        if len(bounds) == 1 or (self._workers == 1 and not task.costs):
            for start, stop in bounds:
                yield self._run(task, stop - start, task.read(start, stop))
                advance()
            return
        ahead = self._workers if task.costs else 2 * self._workers
        waiting: deque[Future[Results]] = deque()
        pool = ThreadPoolExecutor(min(self._workers, len(bounds)), "adjoint rows")
        try:
            for start, stop in bounds:
                given = task.read(start, stop)
                if len(waiting) == ahead:
                    yield waiting.popleft().result()
                    advance()
                # Settings hold for a thread. A context can be entered by one at a time.
                within = copy_context().run
                waiting.append(pool.submit(within, self._run, task, stop - start, given))
                del given
            while waiting:
                yield waiting.popleft().result()
                advance()
        finally:  # after an error or an interrupt, what has begun comes to its end
            pool.shutdown(cancel_futures=True)
