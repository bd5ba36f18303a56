"""Chunks on the workers of a cluster, by the user's own `dask.distributed.Client`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any, Final

from adjoint.base.errors import ArgumentError
from adjoint.calculus.rows.sources import ArrayParts
from adjoint.calculus.rows.task import ChunkInput, ChunkTask, SourceRows
from adjoint.calculus.rows.tree import Bounds, Results, in_tree

_SPLIT_EVERY: Final = 8  # results that one task combines: a power of two, so that the tree stays
_RETRIES: Final = 3  # of a chunk whose reading or computing has failed
_ATTEMPTS: Final = 3  # of a pass all copies of whose task were lost with the workers
_AHEAD: Final = 2  # chunks under way for each thread of the cluster


class ClientEngine:
    """Sends a task to all workers once, and then which chunk each is to do.

    Files are opened by the workers, under the same name as here, and blocks of Dask arrays are made
    there; rows that only this process has are sent. What a worker was about when it was killed is
    done again by another.
    """

    def __init__(self, client: Any) -> None:
        if client.asynchronous:
            raise ArgumentError(
                "engine must be a client that waits for results, and this one is asynchronous. "
                "Give a Client that was made without asynchronous=True."
            )
        self._client = client

    def whole_call(self) -> AbstractContextManager[None]:
        """Nothing is around a call."""
        return nullcontext()

    def map(
        self, task: ChunkTask, bounds: Sequence[Bounds], advance: Callable[[], None]
    ) -> list[Results]:
        """The results of all chunks, in order."""
        return list(self._attempted(lambda: self._gathered(task, bounds, advance)))

    def reduce(
        self, task: ChunkTask, bounds: Sequence[Bounds], advance: Callable[[], None]
    ) -> Results:
        """The results of all chunks, combined as the task says, on the workers."""
        return tuple(self._attempted(lambda: self._reduced(task, bounds, advance)))

    def _attempted(self, attempt: Callable[[], Any]) -> Any:
        """What an attempt gives, made again where workers took the last copy of something along."""
        client = import_module("distributed.client")
        lost = client.FutureCancelledError, client.FuturesCancelledError
        for _ in range(_ATTEMPTS - 1):
            try:
                return attempt()
            except lost:
                continue
        return attempt()

    def _gathered(
        self, task: ChunkTask, bounds: Sequence[Bounds], advance: Callable[[], None]
    ) -> Any:
        return self._client.gather(list(self._chunks(task, bounds, advance)))

    def _reduced(
        self, task: ChunkTask, bounds: Sequence[Bounds], advance: Callable[[], None]
    ) -> Any:
        levels: list[list[Any]] = [[]]
        for chunk in self._chunks(task, bounds, advance):
            total, level = chunk, 0
            levels[level].append(total)
            while len(levels[level]) == _SPLIT_EVERY:
                total, levels[level] = self._combined(task, levels[level]), []
                level += 1
                if level == len(levels):
                    levels.append([])
                levels[level].append(total)
        rest: list[Any] = []
        for nodes in levels:
            nodes += rest
            rest = [self._combined(task, nodes)] if len(nodes) > 1 else nodes
        return rest[0].result()

    def _combined(self, task: ChunkTask, futures: Sequence[Any]) -> Any:
        return self._client.submit(combine_rows, task.combined, list(futures), pure=False)

    def _chunks(
        self, task: ChunkTask, bounds: Sequence[Bounds], advance: Callable[[], None]
    ) -> Iterator[Any]:
        """The futures of all chunks, in order: the next once enough of those before are done."""
        wait = import_module("distributed").wait
        sent = {n: x for n, x in enumerate(task.inputs) if not x.travels}
        everywhere = self._client.scatter(task.without(sent), broadcast=True, hash=False)
        most = _AHEAD * max(1, sum(self._client.nthreads().values()))
        under_way: set[Any] = set()
        for start, stop in bounds:
            values = {n: self._sent(x, start, stop) for n, x in sent.items()}
            chunk = self._client.submit(
                compute_rows, everywhere, start, stop, values, pure=False, retries=_RETRIES
            )
            under_way.add(chunk)
            yield chunk
            while len(under_way) >= most or (stop == bounds[-1][1] and under_way):
                done, under_way = wait(under_way, return_when="FIRST_COMPLETED")
                for future in done:
                    if future.status != "finished":
                        future.result()  # raises
                    advance()

    def _sent(self, chunk_input: ChunkInput, start: int, stop: int) -> Any:
        """Rows of this process; or of Dask arrays, which the workers make."""
        if isinstance(chunk_input, SourceRows) and isinstance(chunk_input.source, ArrayParts):
            source = chunk_input.source
            parts = source.slices(start, stop)
            if all(hasattr(part, "__dask_graph__") for part in parts):
                whole = [part.astype(source.dtype) for part in parts]
                return [self._client.compute(part, retries=_RETRIES) for part in whole]
        return [chunk_input.read(start, stop)]


def compute_rows(task: ChunkTask, start: int, stop: int, sent: dict[int, Any]) -> Results:
    """The results for a chunk, on a worker. The function's name is what the dashboard shows."""
    return task.run_elsewhere(start, stop, sent)


def combine_rows(combined: Sequence[str], results: Sequence[Results]) -> Results:
    """The results for several chunks as one, on a worker."""
    return in_tree(combined, results)
