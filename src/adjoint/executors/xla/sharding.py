"""How an axis of an array is divided among several devices."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from adjoint.base.errors import ArgumentError, ArgumentTypeError, XlaUnavailableError
from adjoint.executors.xla.backend import device_of, jax

_AXIS: Final = "shard"  # what the only axis of our own meshes is called
_FEWER_ROWS: Final = "leave some rows for a call of their own, or fill up with rows of weight 0."


def mesh_of(device: Any) -> Any:
    """The devices that arrays are divided among, as a mesh of JAX's with one axis.

    Args:
        device: a platform, for all of its devices; names, for these; or such a mesh itself. None
            for all devices of the first platform that JAX has.

    Raises:
        ArgumentError: there are no such devices, or it is one device alone, or a mesh of more axes.
        ArgumentTypeError: it is nothing of these.
    """
    if isinstance(device, jax().sharding.Mesh):
        if device.devices.ndim != 1:
            raise ArgumentError(
                f"device is a mesh with {device.devices.ndim} axes, and rows are divided along "
                "one. Give Mesh(mesh.devices.ravel(), ('rows',))."
            )
        return device
    if device is None or isinstance(device, str):
        if device is not None and ":" in device:
            raise ArgumentError(
                f"shard divides arrays among several devices, and device={device!r} is one. Write "
                f"device={device.partition(':')[0]!r} for all of its kind, or a list of names."
            )
        return _whole_mesh(device)
    if not isinstance(device, (list, tuple)) or not all(isinstance(x, str) for x in device):
        raise ArgumentTypeError(
            "With shard, device must be a name as 'gpu', a list of names as ['gpu:0', 'gpu:1'], or "
            f"a jax.sharding.Mesh, got {device!r}."
        )
    return _mesh(tuple(device))


@cache
def _whole_mesh(platform: str | None) -> Any:
    place = device_of(platform)  # which says what is missing
    return _mesh_over(jax().devices(place.platform))


@cache
def _mesh(names: tuple[str, ...]) -> Any:
    devices = [device_of(name) for name in names]
    if not devices or len(set(devices)) < len(devices):
        raise ArgumentError(f"device must name one device or more, each once, got {list(names)}.")
    return _mesh_over(devices)


def _mesh_over(devices: list[Any]) -> Any:
    return jax().sharding.Mesh(np.array(devices), (_AXIS,))


def device_within(mesh: Any) -> str:
    """The name of the first device of a mesh that this process has.

    Raises:
        XlaUnavailableError: it has none of them.
    """
    for device in mesh.devices:
        local = jax().local_devices(backend=device.platform)
        if device in local:
            return f"{device.platform}:{local.index(device)}"
    raise XlaUnavailableError(
        f"None of the devices {list(mesh.devices)} belongs to this process. Give a mesh in which "
        "each process has a part."
    )


def sharding_along(axis: int, shape: tuple[int, ...], mesh: Any, what: str) -> Any:
    """How an array lies on the devices of a mesh if one of its axes is divided among them.

    what: the array, as an error says it.

    Raises:
        ArgumentError: it has no such axis, or its length is no multiple of the number of devices.
    """
    if not -len(shape) <= axis < len(shape):
        raise ArgumentError(
            f"shard={axis} is no axis of {what} of shape {shape}. Give None, or leave it away, for "
            "what all devices have whole."
        )
    axis %= len(shape)
    count = mesh.devices.size
    if shape[axis] % count:
        raise ArgumentError(
            f"An axis of length {shape[axis]}, of {what}, cannot be divided among {count} devices: "
            f"{_FEWER_ROWS}"
        )
    parts: list[Any] = [None] * len(shape)
    (parts[axis],) = mesh.axis_names
    module = jax().sharding
    return module.NamedSharding(mesh, module.PartitionSpec(*parts))


def check_axis(axis: Any) -> None:
    """Refuse what is not the number of an axis."""
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise ArgumentTypeError(f"shard must be the number of an axis, got {axis!r}.")
