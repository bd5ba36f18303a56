"""Replay: a call that is proven to give the same trace runs its program, and not the function.

`ad.grad(f)(x)` is captured when it first comes. When the same code comes again, its facts are noted
as well (see `kept.py`); from then on, while all facts hold, the program runs. It becomes machine
code like any other, once it has come by a few times.

What is kept is found by what is asked (a gradient, with respect to which arguments) and by the code
of the function, so that `ad.grad(loss)` may be made anew at every call, and so may `loss`.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import is_numeric, type_of
from adjoint.base.dlpack import arrived
from adjoint.base.errors import TapeOverflowError
from adjoint.base.process.forking import hold_over_forks
from adjoint.base.settings import running_on, settings
from adjoint.calculus.jit.calls import Call
from adjoint.calculus.jit.kept import STRAYED, Bucket, Quick
from adjoint.calculus.rows.passes import maybe_over_rows
from adjoint.capture.bytecode.code import facts_of, reads_of
from adjoint.capture.clones.entering.users import is_ours
from adjoint.capture.facts.survey import With
from adjoint.capture.facts.surveying import content_of
from adjoint.capture.recording.tracing.trace import current
from adjoint.executors.xla.device_array import (
    device_in,
    device_put,
    has_device_arrays,
    to_host,
)
from adjoint.pipeline import CLEARED_TOO
from adjoint.spaces import Space

FEWEST_CALLS: Final = 2  # calls of the same code that are captured, and nothing kept of
_LIMIT: Final = 512
_PATHS: Final = 64


class ReplayWay:
    """What is done with functions: a gradient with respect to some arguments, say.

    argnums: which positional arguments are inputs. shelves: by what functions are known by.
    """

    __slots__ = ("__weakref__", "argnums", "shelves")

    def __init__(self, argnums: Any) -> None:
        self.argnums = argnums
        self.shelves: dict[Any, Shelf] = {}


class Shelf:
    """What is kept of one function, done one way.

    keeper: what the function is known by, which must not be freed. count: of calls that were
    captured before anything was kept. latest: the short way that was taken last.
    """

    __slots__ = ("bucket", "count", "keeper", "latest")

    def __init__(self, keeper: Any) -> None:
        self.keeper = keeper
        self.count = 0
        self.bucket = Bucket(_PATHS, False)
        self.latest: Quick | None = None


_ways: dict[Any, ReplayWay] = {}
_shelves: list[tuple[ReplayWay, Any]] = []
_lock = threading.RLock()  # a signal handler may come by within
hold_over_forks(_lock)


def way_of(name: str, argnums: Any, *facts: Any) -> ReplayWay | None:
    """The way of doing something; None where it is not one that can be kept."""
    if isinstance(argnums, list):
        argnums = tuple(argnums)
    key = (name, argnums, facts)
    try:
        way = _ways.get(key)
    except TypeError:  # argnums that cannot be hashed, which will be an error
        return None
    if way is None:
        with _lock:
            if len(_ways) >= _LIMIT:
                _ways.clear()
            way = _ways.setdefault(key, ReplayWay(argnums))
    return way


def replay(
    way: ReplayWay | None,
    function: Any,
    compute: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    extra: Any = None,
) -> Any:
    """What `compute(function, *args, **kwargs)` gives; not run where that is proven to be right.

    extra: what it depends on besides, such as a space.
    """
    chosen = settings()
    if way is None or not chosen.replay or current() is not None:
        args, kwargs = arrived((args, kwargs))
        if current() is not None:
            return compute(function, *args, **kwargs)
        whole = partial(_once, partial(compute, function))
        if has_device_arrays((args, kwargs)):
            return _through_host(whole, args, kwargs)
        return whole(*args, **kwargs)
    shelf = shelf_of(way, function)
    root = function if extra is None else With(function, extra)
    quick: Quick | None = shelf.latest
    held = None
    if quick is not None:
        if quick.chosen is chosen and quick.check(root, args, kwargs) is None:
            results = _run(quick, function, args, kwargs)
            if results is not None:
                treedef, guards = quick.treedef, quick.guards
                quick.entry.useful = True
                if not guards:
                    return results[0] if treedef is None else treedef.unflatten(results)
                held = int(results[quick.place])
                if held == guards:
                    results = results[: quick.place]
                    return results[0] if treedef is None else treedef.unflatten(results)
        else:
            quick = None
    args, kwargs = arrived((args, kwargs))
    if chosen.executor is None and has_device_arrays((args, kwargs)):
        with running_on(device_in((args, kwargs))):
            return replay(way, function, compute, args, kwargs, extra)
    call = partial(_slowly, shelf, way, compute, root, args, kwargs, quick, held)
    return maybe_over_rows(call, partial(compute, function), args, kwargs)


def _once(compute: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a call gives, which nothing is kept of."""
    return maybe_over_rows(partial(compute, *args, **kwargs), compute, args, kwargs)


def _run(quick: Quick, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        if quick.entry.cells:
            results = quick.call(args, kwargs, function)
        else:
            results = quick.call(*args) if quick.flat else quick.call(args, kwargs)
    except TapeOverflowError:  # the long way makes the tape longer
        return None
    if results is not None and quick.attempt.misses:
        quick.attempt.misses -= 1
    return results


def _through_host(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call with copies of arrays on devices, where it is captured; its results lie there."""
    device = device_in((args, kwargs))
    args, kwargs = to_host((args, kwargs))
    if settings().executor is not None:
        return device_put(call(*args, **kwargs), device)
    with running_on(device):
        return device_put(call(*args, **kwargs), device)


def _slowly(
    shelf: Shelf,
    way: ReplayWay,
    compute: Callable[..., Any],
    root: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    missed: Quick | None,
    held: int | None,
) -> Any:
    if has_device_arrays((args, kwargs)):

        def slowly(*args: Any, **kwargs: Any) -> Any:
            return _slowly(shelf, way, compute, root, args, kwargs, None, None)

        return _through_host(slowly, args, kwargs)
    function = root.function if type(root) is With else root
    if shelf.count < FEWEST_CALLS:
        shelf.count += 1
        return compute(function, *args, **kwargs)
    bucket = shelf.bucket
    if bucket.rests():  # soon, for what is captured at every call
        return compute(function, *args, **kwargs)
    call = _call(way, root, args, kwargs)
    if call is None or call.traced:
        return compute(function, *args, **kwargs)
    entry = bucket.find(call.function, args, kwargs)
    if entry is not None:
        if entry.places != call.places or entry.cells:
            call = Call(root, args, kwargs, entry.places, entry.cells)
        results = entry.call(compute, call, missed, held)
        if results is STRAYED:
            shelf.latest = None
            return compute(function, *args, **kwargs)
    elif bucket.is_due():
        call = _widened(bucket, call)
        results, entry = bucket.capture(compute, call)
    else:
        return compute(function, *args, **kwargs)
    shelf.latest = None if entry is None else entry.quick()
    return results


def _call(way: ReplayWay, root: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
    """The call with the arguments that are inputs; None where they are not what they should be."""
    argnums = way.argnums if isinstance(way.argnums, tuple) else (way.argnums,)
    count = len(args)
    places = []
    for place in argnums:
        if type(place) is not int or not -count <= place < count:
            return None
        places.append(place % count)
    if len(set(places)) < len(places):
        return None
    call = Call(root, args, kwargs, tuple(places))
    if not call.leaves or not all(map(is_numeric, call.leaves)):
        return None
    # Counts beside what is differentiated, in one container, are no inputs.
    mixed = len(call.leaves) > len(places) and not all(type_of(x).inexact for x in call.leaves)
    return None if mixed else call


def _widened(bucket: Bucket, call: Call) -> Call:
    """The call with more inputs, where data among the arguments or in the closure have changed."""
    inner = call.inner
    asks = type(inner) is types.FunctionType and reads_of(inner.__code__).identities
    if not bucket.entries or asks:  # whether two are one, inputs do not tell
        return call
    own = call.places or ()
    places = [n for n, value in enumerate(call.args) if n in own or _holds_data(value)]
    return Call(call.function, call.args, call.kwargs, tuple(places), _data_cells(inner))


_DATA: Final = frozenset({np.ndarray, float, complex, np.float64, np.float32})


def _data_cells(function: Any) -> tuple[str, ...]:
    """The names in the closure of the user's function that are bound to data."""
    if type(function) is not types.FunctionType or is_ours(function):
        return ()
    stored = facts_of(function.__code__).stored_cells
    return tuple(
        name
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        )
        if name not in stored and _holds_data(content_of(cell))
    )


def _holds_data(value: Any) -> bool:
    """Whether something is floating-point numbers, alone or in tuples."""
    if type(value) is tuple:
        return bool(value) and all(map(_holds_data, value))
    if type(value) not in _DATA:
        return False
    return not isinstance(value, np.ndarray) or value.dtype.kind in "fc"


# --- what functions are known by ------------------------------------------------------------------


def shelf_of(way: ReplayWay, function: Any) -> Shelf:
    """What is kept of a function; found by its code, in the usual case."""
    code = function.__code__ if type(function) is types.FunctionType else None
    shelf = way.shelves.get(id(code))
    if shelf is None:
        identity, keeper = _identity(function)
        shelf = way.shelves.get(identity) or _new_shelf(way, identity, keeper)
    return shelf


def _identity(function: Any) -> tuple[Any, Any]:
    """What a function is known by, and what must live as long as that is used."""
    kind = type(function)
    if kind is types.FunctionType:
        code = function.__code__
        if not is_ours(function):
            return id(code), code
        names = code.co_freevars
        if "function" in names:  # one of this package's, that does something with another
            try:
                inner = function.__closure__[names.index("function")].cell_contents
            except ValueError:
                return (id(code), None), code
            identity, keeper = _identity(inner)
            return (id(code), identity), (code, keeper)
        return (id(code), id(function)), (code, function)
    if kind is types.MethodType:
        identity, keeper = _identity(function.__func__)
        return ("method", identity), keeper
    if type(getattr(kind, "__call__", None)) is types.FunctionType:  # noqa: B004  # the method
        return id(kind), kind
    return id(function), function


def _new_shelf(way: ReplayWay, identity: Any, keeper: Any) -> Shelf:
    with _lock:
        shelf = way.shelves.setdefault(identity, Shelf(keeper))
        _shelves.append((way, identity))
        if len(_shelves) > _LIMIT:
            for old, name in _shelves[: _LIMIT // 4]:
                old.shelves.pop(name, None)
            del _shelves[: _LIMIT // 4]
    return shelf


def forget_all() -> None:
    """Let go of all that is kept."""
    with _lock:
        for way, identity in _shelves:
            way.shelves.pop(identity, None)
        _shelves.clear()


CLEARED_TOO.append(forget_all)


def replays(space: Any) -> bool:
    """Whether what depends on a space can be kept: not where it is another at each point."""
    return space is None or isinstance(space, Space)
