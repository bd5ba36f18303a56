"""What outlives a capture is NumPy's: traced values that code has stored are replaced by values.

A function may append its loss to a list, keep a buffer in an attribute, or fail half-way. Traced
values that can be reached afterwards, through the function, its arguments and what its code reads,
become the values that NumPy would have computed. Those that depend on an argument are remembered,
since a later call that uses one as a constant would lose a derivative (see `StaleValueWarning`).
"""

from __future__ import annotations

import collections
import functools
import sys
import types
import weakref
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from adjoint.capture.bytecode.code import reads_of
from adjoint.capture.clones.entering.users import is_users, is_users_kind, is_users_module
from adjoint.capture.clones.rebinding import Rebound
from adjoint.capture.facts.written import points_of_arrays, write_down
from adjoint.capture.recording.exits.escape import carries_derivative
from adjoint.capture.recording.tracing.applying import peek
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.trace import Trace
from adjoint.capture.recording.tracing.traced import Traced, is_cell, value_of

Point = tuple[Any, ...]
"""What tells the point of a call from others."""

_MOST: Final = 50_000  # objects that are looked through
_REMEMBERED: Final = 4096
_PYTHON: Final = {"f": float, "c": complex, "i": int, "b": bool}
_ATOMS: Final = frozenset({type(None), bool, int, float, complex, str, bytes, np.ndarray})


def give_values(roots: Iterable[Any], trace: Trace) -> int:
    """Replace traced values in what can be reached by NumPy's; how many there were."""
    search = Search(trace)
    search.waiting.extend(roots)
    search.run()
    return search.count


class Search:
    """Looks through what can be reached, and puts other things in the place of some."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.waiting: list[Any] = []
        self.seen: dict[int, Any] = {}
        self.values: dict[int, tuple[Any, Any]] = {}
        self.count = 0
        self.points: dict[int, tuple[Trace, Point]] = {}

    def run(self) -> None:
        """Look through all that is waiting, and what is found there."""
        while self.waiting and len(self.seen) < _MOST:
            value = self.waiting.pop()
            if type(value) in _ATOMS or id(value) in self.seen:
                continue
            self.seen[id(value)] = value
            self.look(value)

    def look(self, value: Any) -> None:
        """Look through one object."""
        kind = type(value)
        if kind is types.FunctionType:
            self._function(value)
        elif kind is types.MethodType:
            self.waiting += [value.__func__, value.__self__]
        elif isinstance(value, types.ModuleType):
            return
        elif isinstance(value, dict):
            self.mapping(value)
        elif isinstance(value, (list, collections.deque)):
            for place, entry in enumerate(list(value)):
                new = self._new(entry)
                if new is not entry:
                    value[place] = new
        elif isinstance(value, set):
            self.members(value)
        elif isinstance(value, (tuple, frozenset)):
            self.waiting += value
        elif isinstance(value, type) and is_users_kind(value):
            self._class(value)
        elif isinstance(value, BaseException):
            value.args = self._new(value.args)
            self.waiting += [value.__dict__, value.__cause__, value.__context__]
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
            bound = names.get(chain[0])
            if isinstance(bound, types.ModuleType) and is_users_module(bound):
                self._names(vars(bound), chain[1:2])

    def _names(self, names: dict[str, Any], wanted: Iterable[str]) -> None:
        for name in wanted:
            if name in names:
                content = names[name]
                new = self._new(content)
                if new is not content:
                    names[name] = new

    def mapping(self, value: dict[Any, Any]) -> None:
        """Look through keys and values."""
        keys = list(value)
        if any(type(key) is Traced or isinstance(key, tuple) for key in keys):
            names = [self._new(key) for key in keys]
            if any(map(_differ, names, keys)):
                items = list(zip(names, map(self._new, value.values()), strict=True))
                value.clear()
                value.update(items)
                return
        for key, content in list(value.items()):
            new = self._new(content)
            if new is not content:
                value[key] = new

    def members(self, value: set[Any]) -> None:
        """Look through a set."""
        new = [self._new(member) for member in value]
        if any(one is not other for one, other in zip(new, value, strict=True)):
            value.clear()
            value.update(new)

    def _class(self, kind: type) -> None:
        for base in kind.__mro__:
            if is_users_kind(base):
                for name, content in list(base.__dict__.items()):
                    new = self._new(content)
                    if new is not content:
                        setattr(base, name, new)

    def _object(self, value: Any) -> None:
        kind = type(value)
        inside = getattr(value, "__dict__", None)
        if type(inside) is dict:
            self.waiting.append(inside)
        for base in kind.__mro__:
            for name, member in base.__dict__.items():
                if type(member) is types.MemberDescriptorType and kind.__module__ != "builtins":
                    content = getattr(value, name, None)
                    new = self._new(content)
                    if new is not content:
                        _put(value, name, new)
        if is_users_kind(kind):
            self.waiting.append(kind)

    def _new(self, value: Any) -> Any:
        """What stands in the place of a value; itself, if no traced value is in it."""
        kind = type(value)
        if kind is Traced:
            return self._value(value)
        if kind in _ATOMS and kind is not np.ndarray:
            return value
        if kind is tuple:
            new = tuple([self._new(part) for part in value])
            return new if any(map(_differ, new, value)) else value
        if isinstance(value, tuple) and hasattr(kind, "_make"):
            parts = [self._new(part) for part in value]
            return kind._make(parts) if any(map(_differ, parts, value)) else value
        if kind is types.MethodType and type(value.__self__) is Traced:
            names = [name for name, x in vars(Traced).items() if x is value.__func__]
            return getattr(self._value(value.__self__), names[0]) if names else value
        if kind is np.ndarray and value.dtype.hasobject:
            for place, entry in enumerate(value.flat):
                value.flat[place] = self._new(entry)
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
            assert trace is not None
            remember(value, self._point(trace))
        return value

    def _point(self, trace: Trace) -> Point:
        known = self.points.get(id(trace))
        if known is None:
            known = self.points[id(trace)] = (trace, point_of(trace))
        return known[1]


class _Finding(Search):
    """Finds out whether there are traced values."""

    def _value(self, traced: Traced) -> Any:
        self.count += 1
        return traced


def reaches_traced(root: Any) -> bool:
    """Whether traced values can be reached from something."""
    search = _Finding(Trace((), {}, ()))
    search.waiting.append(root)
    search.run()
    return search.count > 0


def _is_of_the_library(kind: type) -> bool:
    """Whether a class is one of Python's library, as a queue's or a weak dictionary's."""
    if kind is types.SimpleNamespace:
        return True
    home = kind.__module__.partition(".")[0]
    return home != "builtins" and home in sys.stdlib_module_names


def _put(value: Any, name: str, content: Any) -> None:
    """Put something into a slot of an object."""
    if not isinstance(value, functools.partial):
        object.__setattr__(value, name, content)
        return
    parts = {"func": value.func, "args": value.args, "keywords": value.keywords, name: content}
    partial: Any = value
    partial.__setstate__((*map(parts.get, ("func", "args", "keywords")), value.__dict__))


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


def remember(value: Any, point: Point) -> None:
    """Keep in mind that a value was derived from the arguments of a call, which are `point`."""
    stale = hooks.stale
    if len(stale) >= _REMEMBERED:
        for key in list(stale)[: _REMEMBERED // 8]:  # the oldest
            stale.pop(key, None)
    if len(_points) > 2 * len(stale) + _FEW:
        left = [where for _, where in list(stale.values())]
        _points.intersection_update([*left, *points_of_arrays()])
    _points.add(point)
    key = id(value)
    if isinstance(value, np.ndarray):  # which is not kept alive
        stale[key] = (weakref.ref(value, lambda _: stale.pop(key, None)), point)
    else:
        stale[key] = (value, point)


_points: set[Point] = set()  # of the values that are remembered, and of some that are gone
_FEW: Final = 64


def is_anything_left() -> bool:
    """Whether there are points at which a call may have left values behind."""
    return bool(_points)


def is_left_at(point: Point) -> bool:
    """Whether a call at a point may have left values behind."""
    return point in _points


def point_of(trace: Trace) -> Point:
    """What tells a point from others: the values of what is differentiated, and of nothing else.

    Forward mode may be captured with its tangents, and a loss with another batch, at one point.
    """
    if trace.past is not None:
        return trace.past  # type: ignore[no-any-return]
    differentiated = [
        trace.values.get(slot) for slot in range(trace.input_count) if trace.active[slot]
    ]
    return tuple(
        [_told(value_of(value) if type(value) is Traced else value) for value in differentiated]
    )


def _told(value: Any) -> Any:
    """What tells a value from others; no two are the same that stand for many."""
    return object() if value is None else hash(np.asarray(value).tobytes())


def left_in(array: Any, traced: Traced) -> None:
    """Keep in mind that an array holds what was derived from the arguments of a call."""
    if carries_derivative(traced):
        assert traced._trace is not None
        point = point_of(traced._trace)
        _points.add(point)
        write_down(array, point)


def left_at(value: Any) -> Point | None:
    """The point of the call that has left a value behind, if one has."""
    kept, point = hooks.stale.get(id(value), (None, None))
    kept = kept() if isinstance(kept, weakref.ref) else kept
    return point if kept is value else None
