"""JAX, as far as it is needed here: imported late, looked at once, in double precision.

Double precision is a switch of JAX's, which is turned on around each use and left as it was: what
the user does with JAX itself is not touched.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, Final, cast

from adjoint.base.errors import ArgumentError, XlaUnavailableError

# They compute wrong numbers on processors (jax #39103, #39257).
_WRONG: Final = ("0.10.2", "0.11.0")
_OLDEST: Final = (0, 4, 30)
_INSTALL: Final = "Install one that is right: pip install 'adjoint[xla]'."


class Forked:
    """Whether this process is a child of one in which XLA had been started.

    XLA's threads are not in the child, which would wait for them for ever.
    """

    here = False


def _note_fork() -> None:
    Forked.here = Forked.here or _loaded.cache_info().currsize > 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def jax() -> ModuleType:
    """The module.

    Raises:
        XlaUnavailableError: JAX is not there, is too old, or is of a version that is wrong; or this
            process was forked from one that uses it.
    """
    if Forked.here:
        raise XlaUnavailableError(
            "XLA was started before this process was forked, and cannot be used in it. Start "
            "processes by 'spawn' or 'forkserver': multiprocessing.get_context('spawn')."
        )
    return _loaded()


@cache
def _loaded() -> ModuleType:
    try:
        module = import_module("jax")
    except ImportError as error:
        raise XlaUnavailableError(
            f"XLA is reached by way of JAX, which cannot be imported: {error}. {_INSTALL}"
        ) from error
    check_version(module.__version__)
    return module


def check_version(version: str) -> None:
    """Refuse a version of JAX that computes wrong numbers, or lacks what is needed."""
    if version in _WRONG:
        raise XlaUnavailableError(
            f"jax {version} computes wrong numbers on processors (jax #39103, #39257). {_INSTALL}"
        )
    parts = version.split(".")[:3]
    if all(part.isdigit() for part in parts) and tuple(map(int, parts)) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise XlaUnavailableError(f"jax {version} is older than {oldest}. {_INSTALL}")


def in_double_precision() -> AbstractContextManager[Any]:
    """While this holds, JAX has numbers of 64 bits in this thread."""
    if Forked.here:
        jax()  # which says why not
    return double_precision()(True)


@cache
def double_precision() -> Callable[[bool], AbstractContextManager[Any]]:
    """JAX's own switch, which makes a context manager."""
    switch = getattr(jax(), "enable_x64", None)  # of newer versions
    if switch is None:
        switch = import_module("jax.experimental").enable_x64
    return cast("Callable[[bool], AbstractContextManager[Any]]", switch)


@cache
def device_of(name: str | None) -> Any:
    """A device by name: `cpu`, `gpu`, `tpu`, or with a number, `gpu:1`; None for JAX's first one.

    Raises:
        XlaUnavailableError: there are none of that kind.
        ArgumentError: the name is none, or there are not so many.
    """
    if name is None:
        return jax().local_devices()[0]
    platform, _, number = name.partition(":")
    if number and not number.isdigit():
        raise ArgumentError(
            f"device must be a platform, maybe with a number, as 'gpu' or 'gpu:1', got {name!r}."
        )
    try:
        devices = jax().local_devices(backend=platform)
    except RuntimeError as error:
        present = ", ".join(sorted({device.platform for device in jax().devices()}))
        raise XlaUnavailableError(
            f"There is no device {name!r}: JAX has found {present} here. On a machine with a GPU, "
            "install JAX with its driver's extra, for instance pip install 'jax[cuda12]'."
        ) from error
    place = int(number or 0)
    if place >= len(devices):
        raise ArgumentError(f"There is no device {name!r}: there are {len(devices)} of its kind.")
    return devices[place]
