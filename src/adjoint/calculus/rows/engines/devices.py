"""Chunks on several devices of XLA's, each chunk on one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from queue import SimpleQueue
from typing import Any

from adjoint.base.errors import ArgumentError, ArgumentTypeError
from adjoint.base.settings import running_on
from adjoint.calculus.rows.engines.threads import ThreadsEngine
from adjoint.calculus.rows.task import ChunkTask
from adjoint.calculus.rows.tree import Bounds, Results
from adjoint.executors.xla.backend import device_of, jax


class DevicesEngine:
    """Hands each chunk to a device that is free.

    Partial results are combined on the host, along the tree of their numbers. So they have the same
    bits on any number of devices of one kind, which an exchange between devices (`psum`) does not
    promise.

    Args:
        devices: a kind, for all of them that this process has, or names.

    Raises:
        XlaUnavailableError: JAX or a device is not there.
        ArgumentError: there is no such device, or one is named twice.
        ArgumentTypeError: it is no name.
    """

    def __init__(self, devices: Any) -> None:
        names = _names(devices if isinstance(devices, str) else tuple(devices))
        self._free: SimpleQueue[str] = SimpleQueue()
        for name in names:
            self._free.put(name)
        self._threads = ThreadsEngine(len(names), self._run)

    def whole_call(self) -> AbstractContextManager[None]:
        """Nothing is around a call."""
        return nullcontext()

    def map(
        self, task: ChunkTask, bounds: Sequence[Bounds], advance: Callable[[], None]
    ) -> list[Results]:
        """The results of all chunks, in order."""
        return self._threads.map(task, bounds, advance)

    def reduce(
        self, task: ChunkTask, bounds: Sequence[Bounds], advance: Callable[[], None]
    ) -> Results:
        """The results of all chunks, combined as the task says."""
        return self._threads.reduce(task, bounds, advance)

    def _run(self, task: ChunkTask, size: int, given: Sequence[Any]) -> Results:
        name = self._free.get()  # there are as many threads as devices
        try:
            with running_on(name):
                return task.run(size, given)
        finally:
            self._free.put(name)


@cache
def _names(devices: str | tuple[Any, ...]) -> tuple[str, ...]:
    """Devices by their names, each with its number."""
    if isinstance(devices, str) and ":" not in devices:
        platform = device_of(devices).platform  # which says what is missing
        count = len(jax().local_devices(backend=platform))
        return tuple(f"{platform}:{number}" for number in range(count))
    names = (devices,) if isinstance(devices, str) else devices
    if not names or not all(isinstance(name, str) for name in names):
        raise ArgumentTypeError(
            f"engine must name devices, as 'gpu' or ['gpu:0', 'gpu:2'], got {list(names)}."
        )
    if len({device_of(name) for name in names}) < len(names):
        raise ArgumentError(f"engine names a device twice: {list(names)}.")
    return names
