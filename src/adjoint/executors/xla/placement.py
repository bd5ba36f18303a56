"""Arguments that lie on a device: captured by their values on the host, computed where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.base import pytrees
from adjoint.base.settings import running_on
from adjoint.executors.xla.device_array import (
    DeviceArray,
    device_in,
    device_put,
    has_device_arrays,
    to_host,
)


class Placement:
    """Where the arrays of a call lie, and which copies on the host stand for them.

    Args:
        tree: arguments, with arrays on devices among them.
    """

    def __init__(self, tree: Any) -> None:
        self.device = device_in(tree)
        # By identity; both are held, so that no other array takes the place of one.
        self._pairs: dict[int, tuple[Any, DeviceArray]] = {}

    def copied(self, tree: Any) -> Any:
        """A tree with copies on the host in the place of arrays on devices."""

        def copy(leaf: Any) -> Any:
            if not isinstance(leaf, DeviceArray):
                return leaf
            on_host = np.asarray(leaf)
            self._pairs[id(on_host)] = on_host, leaf
            return on_host

        return pytrees.tree_map(copy, tree)

    def placed(self, tree: Any) -> Any:
        """A tree with the arrays on devices that copies in it stand for."""
        return pytrees.tree_map(self._original, tree)

    def _original(self, leaf: Any) -> Any:
        pair = self._pairs.get(id(leaf))
        return leaf if pair is None else pair[1]

    def run(self, compiled: Any, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The results of a program, on the device; those without axes are NumPy's numbers."""
        with running_on(self.device):
            compiled.compile_at_once()
            results = compiled([self._placed(argument) for argument in arguments])
        return tuple([self._placed(result) for result in results])

    def _placed(self, argument: Any) -> Any:
        if not isinstance(argument, np.ndarray) or not argument.ndim:
            return argument
        original = self._original(argument)
        return device_put(argument, self.device) if original is argument else original


class Placed(NamedTuple):
    """Arguments as they are captured, and where they lie; None for the host."""

    arguments: Any
    placement: Placement | None


def placed(tree: Any, traced: bool) -> Placed:
    """The arguments of a call, taken off the devices that they lie on.

    traced: whether a capture is under way, to which arrays on devices are constants.
    """
    if not has_device_arrays(tree):
        return Placed(tree, None)
    if traced:
        return Placed(to_host(tree), None)
    placement = Placement(tree)
    return Placed(placement.copied(tree), placement)
