"""`jit(f, shard={...})`: arguments of a call that are divided among several devices."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import optree

from adjoint.base import pytrees
from adjoint.base.arrays import is_numeric
from adjoint.base.errors import ArgumentError, ArgumentTypeError, RowsError
from adjoint.base.settings import settings
from adjoint.calculus.rows import Rows
from adjoint.executors.xla.device_array import is_put, put_array
from adjoint.executors.xla.sharding import check_axis, mesh_of, sharding_along


class Shards:
    """Which arguments of a function are divided, along which axes, and among which devices.

    Args:
        function: the function, whose parameters are asked for their names.
        shard: by the names of arguments, or by their numbers, an axis; or a tree of axes and None
            for an argument that is a tree.
        device: see `mesh_of`. None for what the settings say at a call.
    """

    def __init__(self, function: Any, shard: Any, device: Any) -> None:
        if not isinstance(shard, Mapping) or not shard:
            raise ArgumentTypeError(
                "shard must be a dict of axes by the names of arguments, as shard={'x': 0}, got "
                f"{shard!r}."
            )
        names = _Names(function)
        self._device = device
        # By the number of an argument, and by its name; with what errors call it.
        self._axes: dict[int | str, tuple[Any, str]] = {}
        for key, axes in shard.items():
            _check_axes(axes)
            for known in names.of(key):
                if known in self._axes:
                    twice = self._axes[known][1]
                    raise ArgumentError(f"shard names {twice} once more, as {key!r}.")
                self._axes[known] = axes, f"argument {key!r}"

    def mesh(self) -> Any:
        """The devices that the arguments of a call are divided among."""
        return mesh_of(settings().device if self._device is None else self._device)

    def over(self, mesh: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The arguments of a call, those that are named divided among the devices of a mesh."""
        come = {*range(len(args)), *kwargs}
        for name in dict.fromkeys(name for _, name in self._axes.values()):
            ways = {way for way, (_, called) in self._axes.items() if called == name}
            if ways.isdisjoint(come):
                raise ArgumentError(
                    f"shard divides {name}, which this call does not give: a default is whole on "
                    "each device. Give it, or leave it out of shard."
                )
        given = tuple([self._divided(n, x, mesh) for n, x in enumerate(args)])
        return given, {name: self._divided(name, x, mesh) for name, x in kwargs.items()}

    def _divided(self, key: int | str, argument: Any, mesh: Any) -> Any:
        if key not in self._axes:
            return argument
        given, name = self._axes[key]
        leaves, treedef = pytrees.flatten(argument)
        axes = _axes_of(given, len(leaves), name)
        divided = []
        for leaf, axis, path in zip(leaves, axes, pytrees.paths(argument), strict=True):
            if isinstance(leaf, Rows):
                raise RowsError(
                    f"shard divides {name}{path}, of which some rows are read at a time. Leave "
                    "shard away: ad.config(engine=...) says where chunks are computed."
                )
            if axis is None or not (is_put(leaf) or is_numeric(leaf)):
                divided.append(leaf)
            else:
                where = sharding_along(axis, np.shape(leaf), mesh, name + path)
                divided.append(put_array(leaf, where))
        return pytrees.unflatten(treedef, divided)


class _Names:
    """The parameters of a function: by name those with a place, and all.

    any_keyword: whether it takes others by keyword, or does not tell what it takes.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._places: dict[str, int] = {}
        self._keywords: list[str] = []
        self._any_keyword = False
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):  # a function of C, say
            self._any_keyword, parameters = True, []
        for place, parameter in enumerate(parameters):
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                self._places[parameter.name] = place
            elif parameter.kind is parameter.KEYWORD_ONLY:
                self._keywords.append(parameter.name)
            self._any_keyword |= parameter.kind is parameter.VAR_KEYWORD

    def of(self, key: Any) -> list[int | str]:
        """How the argument that a key means may come: by its number, by its name, or both.

        Raises:
            ArgumentError: the function has no argument of that name.
            ArgumentTypeError: the key is no name and no number from 0 on.
        """
        if isinstance(key, int) and not isinstance(key, bool) and key >= 0:
            return [key, *[name for name, place in self._places.items() if place == key]]
        if not isinstance(key, str):
            raise ArgumentTypeError(
                f"shard names arguments by their names, or by numbers from 0 on, got {key!r}."
            )
        if key in self._places:
            return [key, self._places[key]]
        if key in self._keywords or self._any_keyword:
            return [key]
        known = ", ".join([*self._places, *self._keywords]) or "none with a name"
        called = getattr(self._function, "__qualname__", type(self._function).__name__)
        raise ArgumentError(
            f"shard names an argument {key!r}, and {called} has {known}. Arguments without a name "
            "are given by their numbers, as shard={0: 0}."
        )


def _axes_of(axes: Any, count: int, name: str) -> list[int | None]:
    """One axis, or None, for each leaf of an argument."""
    if axes is None or isinstance(axes, int):
        return [axes] * count
    inner: list[int | None] = optree.tree_leaves(
        axes, none_is_leaf=True, namespace=pytrees.NAMESPACE
    )
    if len(inner) != count:
        raise ArgumentError(
            f"shard={axes!r} does not fit the structure of {name}, which has {count} leaves. Give "
            "an axis, or None, for each."
        )
    return inner


def _check_axes(axes: Any) -> None:
    pytrees.flatten(axes)  # registers the dataclasses that are met
    for axis in optree.tree_leaves(axes, none_is_leaf=True, namespace=pytrees.NAMESPACE):
        if axis is not None:
            check_axis(axis)
