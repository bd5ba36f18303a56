"""What outlives a capture is NumPy's: traced values that code has stored are replaced by values.

A function may append its loss to a list, keep a buffer in an attribute, or fail half-way. Traced
values that can be reached afterwards, through the function, its arguments and what its code reads,
become the values that NumPy would have computed. Those that depend on an argument are remembered,
since a later call that uses one as a constant would lose a derivative (see `StaleValueWarning`).
"""

from __future__ import annotations

import collections
import sys
import types
import warnings
import weakref
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from adjoint.base.errors import DroppedDerivativeError, StaleValueWarning
from adjoint.capture.bytecode.code import reads_of
from adjoint.capture.clones.reaching import is_users_kind
from adjoint.capture.clones.rebinding import Rebound, is_users, is_users_module
from adjoint.capture.recording.applying import peek
from adjoint.capture.recording.escape import carries_derivative
from adjoint.capture.recording.hooks import hooks
from adjoint.capture.recording.places import user_line
from adjoint.capture.recording.trace import Trace, outermost
from adjoint.capture.recording.traced import Traced, is_cell, unwrap

_MOST: Final = 50_000  # objects that are looked through
_REMEMBERED: Final = 4096
_PYTHON: Final = {"f": float, "c": complex, "i": int, "b": bool}
_ATOMS: Final = frozenset({type(None), bool, int, float, complex, str, bytes, np.ndarray})


def give_values(roots: Iterable[Any], trace: Trace) -> int:
    """Replace traced values in what can be reached by NumPy's; how many there were."""
    search = _Search(trace)
    search.waiting.extend(roots)
    search.run()
    return search.count


class _Search:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.waiting: list[Any] = []
        self.seen: dict[int, Any] = {}
        self.values: dict[int, tuple[Any, Any]] = {}
        self.count = 0
        self.point: tuple[int, ...] | None = None

    def run(self) -> None:
        """Look through all that is waiting, and what is found there."""
        while self.waiting and len(self.seen) < _MOST:
            value = self.waiting.pop()
            if type(value) in _ATOMS or id(value) in self.seen:
                continue
            self.seen[id(value)] = value
            self._look(value)

    def _look(self, value: Any) -> None:
        kind = type(value)
        if kind is types.FunctionType:
            self._function(value)
        elif kind is types.MethodType:
            self.waiting += [value.__func__, value.__self__]
        elif isinstance(value, types.ModuleType):
            return
        elif isinstance(value, dict):
            self._mapping(value)
        elif isinstance(value, (list, collections.deque)):
            for place, each in enumerate(list(value)):
                new = self._new(each)
                if new is not each:
                    value[place] = new
        elif isinstance(value, set):
            self._set(value)
        elif isinstance(value, (tuple, frozenset)):
            self.waiting += value
        elif isinstance(value, type) and is_users_kind(value):
            self._class(value)
        if is_users_kind(kind) or _is_of_the_library(kind):
            self._object(value)

    def _function(self, value: Any) -> None:
        for cell in value.__closure__ or ():
            try:
                content = cell.cell_contents
            except ValueError:
                continue
            new = self._new(content)
            if new is not content:
                cell.cell_contents = new
        names: Any = value.__globals__
        if not (is_users(value) or type(names) is Rebound):
            return
        self.waiting += [value.__dict__, value.__defaults__, value.__kwdefaults__]
        names = names.original if type(names) is Rebound else names
        reads = reads_of(value.__code__)
        self._names(names, reads.names)
        for chain in reads.chains:
            found = names.get(chain[0])
            if isinstance(found, types.ModuleType) and is_users_module(found):
                self._names(vars(found), chain[1:2])

    def _names(self, names: dict[str, Any], wanted: Iterable[str]) -> None:
        for name in wanted:
            if name in names:
                content = names[name]
                new = self._new(content)
                if new is not content:
                    names[name] = new

    def _mapping(self, value: dict[Any, Any]) -> None:
        keys = list(value)
        if any(type(key) is Traced or isinstance(key, tuple) for key in keys):
            names = [self._new(key) for key in keys]
            if any(map(_differ, names, keys)):
                items = list(zip(names, map(self._new, value.values()), strict=True))
                value.clear()
                value.update(items)
                return
        for key, each in list(value.items()):
            new = self._new(each)
            if new is not each:
                value[key] = new

    def _set(self, value: set[Any]) -> None:
        new = [self._new(each) for each in value]
        if any(one is not other for one, other in zip(new, value, strict=True)):
            value.clear()
            value.update(new)

    def _class(self, kind: type) -> None:
        for each in kind.__mro__:
            if is_users_kind(each):
                for name, content in list(each.__dict__.items()):
                    new = self._new(content)
                    if new is not content:
                        setattr(each, name, new)

    def _object(self, value: Any) -> None:
        kind = type(value)
        inside = getattr(value, "__dict__", None)
        if type(inside) is dict:
            self.waiting.append(inside)
        for each in kind.__mro__:
            for name, member in each.__dict__.items():
                if type(member) is types.MemberDescriptorType and kind.__module__ != "builtins":
                    content = getattr(value, name, None)
                    new = self._new(content)
                    if new is not content:
                        object.__setattr__(value, name, new)
        if is_users_kind(kind):
            self.waiting.append(kind)

    def _new(self, value: Any) -> Any:
        """What stands in the place of a value; itself, if no traced value is in it."""
        kind = type(value)
        if kind is Traced:
            return self._value(value)
        if kind is tuple and any(type(each) in (Traced, tuple) for each in value):
            new = tuple([self._new(each) for each in value])
            return new if any(map(_differ, new, value)) else value
        if isinstance(value, tuple) and hasattr(kind, "_make"):
            parts = [self._new(each) for each in value]
            return kind._make(parts) if any(map(_differ, parts, value)) else value
        if kind is np.ndarray and value.dtype.hasobject:
            for place, each in enumerate(value.flat):
                value.flat[place] = self._new(each)
        else:
            self.waiting.append(value)
        return value

    def _value(self, traced: Traced) -> Any:
        known = self.values.get(id(traced))
        if known is not None:
            return known[1]
        active = carries_derivative(traced) and not _is_input(traced)
        trace = traced._trace
        value = None if trace is not None and trace.witness else traced._value
        given: Any = traced
        while type(given) is Traced and _is_input(given):
            given = given._trace.values.get(given._slot)  # type: ignore[union-attr]
        if type(given) is not Traced and given is not None:
            value = given  # the very array of the caller's
        if value is None:
            value = _computed(traced)
            if value is None:
                return traced
        self.values[id(traced)] = (traced, value)
        self.count += 1
        if active:
            if self.point is None:
                self.point = point_of(self.trace)
            remember(value, self.point)
        return value


def _is_of_the_library(kind: type) -> bool:
    """Whether a class is one of Python's library, as a queue's or a weak dictionary's."""
    if kind is types.SimpleNamespace:
        return True
    home = kind.__module__.partition(".")[0]
    return home != "builtins" and home in sys.stdlib_module_names


def _computed(traced: Traced) -> Any:
    """The value of a traced array that had none; None for one that stands for many, or fails."""
    try:
        value = peek(traced)
    except Exception:
        return None
    type_ = traced.type
    if type_.weak:
        return _PYTHON[type_.dtype.kind](value)
    scalar = type(value) is np.ndarray and not value.ndim and not is_cell(traced)
    return value[()] if scalar else value


def _differ(one: Any, other: Any) -> bool:
    return one is not other


def _is_input(traced: Traced) -> bool:
    trace: Any = traced._trace
    return trace is not None and traced._slot < trace.input_count


# --- values of earlier calls ----------------------------------------------------------------------


def remember(value: Any, point: tuple[int, ...]) -> None:
    """Keep in mind that a value was derived from the arguments of a call, which are `point`."""
    stale = hooks.stale
    if len(stale) >= _REMEMBERED:
        stale.clear()
    key = id(value)
    if isinstance(value, np.ndarray):  # which is not kept alive
        stale[key] = (weakref.ref(value, lambda _: stale.pop(key, None)), point)
    else:
        stale[key] = (value, point)


def point_of(trace: Trace) -> tuple[int, ...]:
    """What tells the arguments of a call from others."""
    found = [trace.values.get(slot) for slot in range(trace.input_count)]
    return tuple(
        [0 if each is None else hash(np.asarray(unwrap(each)).tobytes()) for each in found]
    )


def warn_of_stale(value: Any) -> None:
    """Say that a value which an earlier call derived from its arguments is used as a constant."""
    trace = outermost()
    kept, point = hooks.stale.get(id(value), (None, ()))
    kept = kept() if isinstance(kept, weakref.ref) else kept
    if kept is not value or trace is None:
        return
    what = "A value that an earlier call derived from its arguments is used as a constant"
    if point_of(trace) == point:
        raise DroppedDerivativeError(
            f"{what}, at the same point, so that its derivative would be lost. If it is kept to "
            "save work, keep it within one call (functools.cache does, under capture), or write "
            "ad.stop_gradient(x) if the derivative is not wanted."
        )
    line = user_line()
    warnings.warn(
        f"{what}, and has no derivative ({line}). That is right for a first guess; for the "
        "solution of an equation use ad.implicit.root. Copy the value to say so: np.array(x).",
        StaleValueWarning,
        stacklevel=2,
    )
