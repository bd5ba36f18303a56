"""Arrays made outside of the function, into which it writes: `self.buffer[i] = x`.

While a function is captured, such an array is replaced by a traced one, where it is surely looked
up: in the attribute, list, dictionary or closure, or under the module's name, that alone refers to
it. At the end of the capture the array itself is there again, with the values that it has by then,
as in NumPy. Where something else refers to the array too (a view, another list), it is left alone,
and writing a traced value into it is an error.

An array that code which is not entered made in the function (`x0.copy()`, `2 * x0`, `rng.normal(
size=3)`) is a traced one from when it gets a name under which it is written into.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adjoint.capture.clones.entering.clone import Stand, content_of
from adjoint.capture.recording.tracing.applying import reapply
from adjoint.capture.recording.tracing.constants import same_memory
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.places import user_line
from adjoint.capture.recording.tracing.trace import Trace, current, is_guarded, outermost
from adjoint.capture.recording.tracing.traced import Traced, from_array, from_slot, is_known, unwrap


class Adopted(NamedTuple):
    """An array that stands aside.

    put: how something else is put where it is looked up. before: a copy, where it matters whether
    it is written into. line: the user's.
    """

    array: np.ndarray[Any, Any]
    traced: Traced
    put: Callable[[Any], Any]
    look: Callable[[], Any]
    before: np.ndarray[Any, Any] | None
    line: str

    @property
    def is_written(self) -> bool:
        """Whether it is not what it was."""
        if self.look() is not self.traced or not is_known(self.traced):
            return True
        same = unwrap(self.traced) is self.array and self.before is not None
        return not (same and same_memory(self.before, self.array))


_adopted: dict[int, tuple[Trace, list[Adopted]]] = {}


def adopt_attribute(owner: Any, name: str) -> None:
    """Let an attribute that is about to be written into be a traced array."""
    names = getattr(owner, "__dict__", None)
    trace = current()
    if trace is None or type(names) is not dict or type(names.get(name)) is not np.ndarray:
        return
    alone = sys.getrefcount(names[name]) == _ALONE
    if alone and _may_stand_aside(names[name], trace):
        _stand_aside(trace, names, name)


class _WrittenItem:
    """`WRITTEN_ITEM @ (container, key)` says that `container[key]` is about to be written into."""

    __slots__ = ()

    def __matmul__(self, item: tuple[Any, Any]) -> None:
        container, key = item
        trace = current()
        if trace is None or type(container) not in (list, dict) or type(key) not in (int, str):
            return
        if type(container) is list:
            if type(key) is str or not -len(container) <= key < len(container):
                return
            key %= len(container)
        elif type(container.get(key)) is not np.ndarray:
            return
        alone = sys.getrefcount(container[key]) == _ALONE
        if alone and type(container[key]) is np.ndarray and _may_stand_aside(container[key], trace):
            _stand_aside(trace, container, key)


class _WrittenCell:
    """`WRITTEN_CELL @ cell` says that what a closure holds is about to be written into."""

    __slots__ = ()

    def __matmul__(self, cell: Any) -> None:
        trace = current()
        if trace is None or type(content_of(cell)) is not np.ndarray:
            return
        alone = sys.getrefcount(cell.cell_contents) == _ALONE
        if not (alone and _may_stand_aside(cell.cell_contents, trace)):
            return
        array = cell.cell_contents
        traced = cell.cell_contents = from_array(array)

        def put(value: Any) -> None:
            cell.cell_contents = value

        _keep(trace, array, traced, put, lambda: content_of(cell))


def adopt_name(names: dict[str, Any], replaced: dict[str, Stand], name: str) -> None:
    """Let a module's name, whose array is about to be written into, be a traced array."""
    trace = current()
    if trace is None or type(names.get(name)) is not np.ndarray or name in replaced:
        return
    alone = sys.getrefcount(names[name]) == _ALONE
    if alone and _may_stand_aside(names[name], trace):
        array = names[name]
        traced = from_array(array)

        def put(value: Any) -> None:
            if value is array:
                replaced.pop(name, None)
                names[name] = array
            else:
                replaced[name] = Stand(array, value)

        def look() -> Any:
            return replaced[name].shown if name in replaced else None

        put(traced)
        _keep(trace, array, traced, put, look)


def _stand_aside(trace: Trace, container: Any, key: Any) -> None:
    array = container[key]
    traced = container[key] = from_array(array)

    def put(value: Any) -> None:
        container[key] = value

    def look() -> Any:
        try:
            return container[key]
        except LookupError:  # the function has taken it out
            return None

    _keep(trace, array, traced, put, look)


class _Named:
    """`NAMED @ value` is what a local name is bound to, which is written into later.

    A plain array that nothing else refers to, as it was just made, becomes a known one.
    """

    __slots__ = ("alone",)

    def __init__(self) -> None:
        self.alone = -1  # until it is known how many references there are to a new array
        references = self @ np.zeros(1)
        self.alone = references

    def __matmul__(self, value: Any) -> Any:
        if type(value) is not np.ndarray:
            return value
        if self.alone < 0:
            return sys.getrefcount(value)
        new = sys.getrefcount(value) == self.alone and value.dtype.kind in "biufc"
        if new and value.flags.writeable and _is_alone(value.base) and current() is not None:
            return from_array(value)
        return value


def _is_alone(base: Any) -> bool:
    """Whether the memory of an array is its own, or that of one that it alone refers to."""
    if base is None:
        return True
    return type(base) is np.ndarray and base.base is None and sys.getrefcount(base) == _VIEWED


def _keep(
    trace: Trace,
    array: np.ndarray[Any, Any],
    traced: Traced,
    put: Callable[[Any], Any],
    look: Callable[[], Any],
) -> None:
    before = array.copy() if is_guarded() else None
    adopted = Adopted(array, traced, put, look, before, user_line())
    _adopted.setdefault(id(trace), (trace, []))[1].append(adopted)


def _may_stand_aside(array: np.ndarray[Any, Any], trace: Trace) -> bool:
    known = all(slot in trace.values for slot in range(trace.input_count))  # not one of a batch
    return known and array.base is None and array.flags.writeable and array.dtype.kind in "fc"


def give_back() -> None:
    """At the end of a capture: put the arrays back, with the values that were written."""
    for place, (trace, arrays) in list(_adopted.items()):
        if not trace.open:
            del _adopted[place]
            trace.arrays.clear()  # no more is lifted, and values that are kept would refer to them
            for adopted in arrays:
                if adopted.is_written:
                    outer = outermost() or trace
                    outer.effects.append(
                        ("it writes into an array that was made outside", adopted.line)
                    )
                try:
                    _restore(adopted)
                except Exception:  # its values fail to be computed, as the program will
                    adopted.put(adopted.array)


def _restore(adopted: Adopted) -> None:
    array, traced, put, look, *_ = adopted
    if look() is not traced:
        return  # the function has put something else there
    value = unwrap(traced) if is_known(traced) else _value_of(traced)
    if type(value) is Traced:  # of a capture that goes on
        outer = value._trace
        assert outer is not None
        again = from_slot(outer, value._slot)
        put(again)
        _keep(outer, array, again, put, look)
        return
    if value is not array:
        np.copyto(array, value)
    hooks.left_in(array, traced)
    put(array)


def _value_of(traced: Traced) -> Any:
    trace = traced._trace
    assert trace is not None
    if traced._value is not None and not trace.nested and not trace.witness:
        return traced._value
    with np.errstate(all="ignore"):  # the program will warn when it runs
        value = trace.value(traced._slot, reapply)
    return value if type(value) is Traced and not is_known(value) else unwrap(value)


def _references() -> int:
    """How many references getrefcount sees to what a dictionary alone refers to."""
    names = {"array": np.zeros(1)}
    return sys.getrefcount(names["array"])


def _references_of_base() -> int:
    """How many references `_is_alone` sees to what a view alone refers to."""
    seen = []

    def look(base: Any) -> None:
        seen.append(sys.getrefcount(base))

    view = np.zeros(2)[:1]
    look(view.base)
    return seen[0]


_ALONE = _references()
_VIEWED = _references_of_base()
NAMED = _Named()
WRITTEN_ITEM, WRITTEN_CELL = _WrittenItem(), _WrittenCell()
