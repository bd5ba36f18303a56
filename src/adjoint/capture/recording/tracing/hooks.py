"""The one object that joins what must not import each other.

A traced array must know what to do on `x @ y` or `x[i]`, and the functions that do it must know its
class. So its class asks `hooks`, which is filled once, when all is imported (`capture/joints.py`);
in which order files are imported does not matter.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, Final

import numpy as np


class Hooks:
    """What the files of `recording` and `clones` call in rooms above theirs.

    run_rounds: makes a loop of the program of what is proven to be one, if there is something that
    does. products: the operations of `x @ y` by the numbers of axes. stale: values that earlier
    captures derived from their arguments, by identity. methods: of traced arrays, by name, of other
    libraries' arrays.
    """

    ufunc: Callable[..., Any]
    function: Callable[..., Any]
    escape: Callable[..., Any]
    show: Callable[..., str]
    unseen: Callable[..., str]
    attribute: Callable[..., Any]
    get: Callable[..., Any]
    set: Callable[..., None]
    origins: Callable[..., Any]
    overwrite: Callable[..., Any]
    lift_list: Callable[..., int]
    as_operand: Callable[..., Any]
    alias: Callable[..., Any]
    power: Callable[..., Any]
    matmul: Callable[..., Any]
    noted_modes: Callable[[], tuple[Any, ...] | None]
    speaker: Callable[..., Any]
    users_place: Callable[[], tuple[Any, Any]]
    star: Callable[..., Any]
    left_at: Callable[[Any], tuple[Any, ...] | None]
    left_in: Callable[[Any, Any], None]
    entries: Callable[..., Any]
    is_sparse: Callable[[Any], bool]
    sparse_operand: Callable[[Any], Any]
    sparse_product: Callable[[Any], Any]
    defers: Callable[[Any], bool]
    settled: Callable[..., None]
    set_shape: Callable[..., None]
    reaches_traced: Callable[[Any], bool]
    rebind: Callable[[Any], Any]
    called: Callable[[Any], Any]
    clone: Callable[[Any], Any]
    rewritten: Callable[..., Any]
    is_excused: Callable[[str, str], bool]
    is_users_file: Callable[[str], bool]
    is_users_kind: Callable[[type], bool]
    truth_in_rounds: Callable[[Any, Any], bool | None]

    def __init__(self) -> None:
        self.run_rounds: Callable[..., tuple[int, Any]] | None = None
        self.products: dict[tuple[int, int], Any] = {}
        self.stale: dict[int, tuple[Any, tuple[int, ...]]] = {}
        self.methods: dict[str, Callable[..., Any]] = {}

    def fill(self, **given: Any) -> None:
        """Fill in all hooks, once."""
        wanted = {name for name in Hooks.__annotations__ if not hasattr(self, name)}
        if wanted != set(given):
            raise TypeError(f"hooks that are missing, or not wanted: {sorted(wanted ^ set(given))}")
        for name, hook in given.items():
            setattr(self, name, hook)


hooks = Hooks()


def handed(value: Any) -> Any:
    """An argument as a function of a library takes it, which will call it: functions are clones."""
    kind = type(value)
    if kind in _FUNCTIONS or kind.__module__.startswith("numba."):
        return hooks.rebind(value)
    if (kind is list or kind is tuple) and not _FUNCTIONS.isdisjoint(map(type, value)):
        return kind(map(handed, value))
    return value


_FUNCTIONS: Final = frozenset(
    {
        *(types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial),
        *(type(functools.lru_cache(lambda: None)), np.ufunc, type(np.sum)),
    }
)
