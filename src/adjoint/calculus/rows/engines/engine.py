"""What an engine is: it does the chunks of a pass somewhere, and puts their results together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from adjoint.base.errors import ArgumentTypeError
from adjoint.base.settings import ENGINES, settings
from adjoint.calculus.rows.engines.communicator import CommunicatorEngine
from adjoint.calculus.rows.engines.dask_client import ClientEngine
from adjoint.calculus.rows.engines.devices import DevicesEngine
from adjoint.calculus.rows.engines.threads import ThreadsEngine
from adjoint.calculus.rows.task import ChunkTask
from adjoint.calculus.rows.tree import Bounds, Results
from adjoint.executors.native.machine.llvm import cores


class Engine(Protocol):
    """Does chunks. `advance` is called after each."""

    def whole_call(self) -> AbstractContextManager[None]:
        """What is around a call, from the capture of its function to its result."""

    def map(
        self, task: ChunkTask, bounds: Sequence[Bounds], advance: Callable[[], None]
    ) -> list[Results]:
        """The results of all chunks, in order."""

    def reduce(
        self, task: ChunkTask, bounds: Sequence[Bounds], advance: Callable[[], None]
    ) -> Results:
        """The results of all chunks, combined as the task says, and in the order of `tree`."""


def engine_in_force() -> Engine:
    """What `ad.config(engine=...)` says, or threads on all cores that may be used."""
    given, threads = settings().engine, settings().threads
    if given is None:
        return ThreadsEngine(threads or cores())
    if _names_devices(given.value):
        return DevicesEngine(given.value)
    if _is_client(given.value):
        return ClientEngine(given.value)
    return CommunicatorEngine(given.value, threads or 1)


def _is_client(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("submit", "scatter", "gather"))


def _names_devices(value: Any) -> bool:
    return isinstance(value, (str, list, tuple))


def _check_engine(value: Any) -> None:
    """Refuse what is no engine, where it is set."""
    if _names_devices(value):
        DevicesEngine(value)
    elif _is_client(value):
        ClientEngine(value)
    elif not all(hasattr(value, name) for name in ("Get_rank", "Get_size", "bcast")):
        raise ArgumentTypeError(
            "engine must be None, for threads, a name of devices as 'gpu', or a list of names, a "
            f"dask.distributed.Client or a communicator of mpi4py's, got {type(value).__name__}."
        )


ENGINES.append(_check_engine)
