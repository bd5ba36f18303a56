"""Compiling at once: `jit` keeps the programs of a function for each signature."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, Final, Protocol, overload

import numpy as np

from adjoint.base.dlpack import arrived, offers_dlpack
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    NotReplayableError,
    TapeOverflowError,
)
from adjoint.base.settings import running_on, settings
from adjoint.base.signatures.calling import named
from adjoint.base.signatures.checked import check_flag
from adjoint.base.signatures.derived import Derived, Parameters, Result, core, derived
from adjoint.calculus.inputs.arguments import check_callable
from adjoint.calculus.jit.calls import Call
from adjoint.calculus.jit.capturing import capture_call
from adjoint.calculus.jit.kept import Bucket, Quick
from adjoint.calculus.jit.sharding import Shards
from adjoint.calculus.rows.passes import maybe_over_rows
from adjoint.capture.facts.kinds import PARTS
from adjoint.capture.facts.writing import with_text
from adjoint.capture.recording.tracing.constants import check_plain
from adjoint.capture.recording.tracing.trace import current
from adjoint.executors.xla.device_array import (
    DeviceArray,
    device_in,
    device_put,
    has_device_arrays,
    is_any_divided,
    to_host,
)
from adjoint.executors.xla.sharding import device_within


class Decorator(Protocol):
    """What makes a function another one with the same parameters and result."""

    def __call__(self, function: Callable[Parameters, Result], /) -> Callable[Parameters, Result]:
        """The other function."""


_PATHS: Final = 64
_LIMIT: Final = 256
_COMPILED_AT_ONCE: Final = 4  # signatures; others wait until they come again


@overload
def jit(
    function: Callable[Parameters, Result],
    *,
    paths: int = ...,
    strict: bool = ...,
    device: Any = ...,
    shard: Mapping[Any, Any] | None = ...,
) -> Callable[Parameters, Result]: ...


@overload
def jit(
    *,
    paths: int = ...,
    strict: bool = ...,
    device: Any = ...,
    shard: Mapping[Any, Any] | None = ...,
) -> Decorator: ...


@named
def jit(
    function: Any = None,
    *,
    paths: int = _PATHS,
    strict: bool = False,
    device: Any = None,
    shard: Mapping[Any, Any] | None = None,
) -> Any:
    """A function whose programs are kept and compiled at once.

    Without it, functions are replayed as well, and become machine code once they have come by a few
    times. Under `jit` all arrays and numbers among the arguments are inputs of the program, and the
    first call compiles. There is one program for each signature (shapes, dtypes, structure). After
    the first four, another signature is compiled at its second call: a function that meets a new
    length at every call costs no more than without `jit`.

    What the function reads besides its arguments (globals, closures, attributes) is compared at
    each call: where something has changed, the function is captured again. Random numbers are drawn
    anew at each call, and what is printed is printed anew. A function that does more than that is
    captured at every call; see `explain`.

    Where the function asks for a value (`if x > 0`, `while error > tolerance`, `int(n)`, an index),
    the program is right for the same answers, and checks them at each run. For other answers the
    function is captured again: so a tree of paths grows, each of which is captured once.

    Args:
        function: plain NumPy code. Without it, what is returned takes it: `@ad.jit(paths=8)`.
        paths: how many paths are kept for a signature. With more, a `ManyPathsWarning` names the
            line, and the function is captured at every call, as without jit.
        strict: whether a function that would be captured at every call is refused.
        device: where it runs, by XLA: `cpu`, `gpu`, `tpu`, or with a number, as `gpu:1`. Arrays of
            `device_put` are taken where they lie, and results stay there. None: what `ad.config`
            says.
        shard: by the names of arguments (or their numbers), an axis that is divided among all
            devices of `device`, which may also be a list of names or a `jax.sharding.Mesh` here.
            For an argument that is a tree, the axis of all its arrays, or a tree of axes and None.
            Results are NumPy's, unless an argument lies on a device already.

    Returns:
        A function of the same arguments, with the same values.

    Raises:
        NotReplayableError: `strict`, and the function cannot be replayed; the message says why.
        ArgumentError: `paths` is not a whole number of 1 or more, there is no such device, or
            `shard` names no argument, no axis, or one whose length cannot be divided.
        ArgumentTypeError: what is given is no function, or an option is not what it should be.
        XlaUnavailableError: `device`, and XLA or that device is not there.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> f = ad.jit(ad.grad(lambda x: np.sum(np.sin(x))))
        >>> f(np.zeros(2))
        array([1., 1.])
        >>> absolute = ad.jit(lambda x: x if x > 0 else -x)
        >>> absolute(2.0), absolute(-3.0)
        (np.float64(2.0), np.float64(3.0))
    """
    _check_paths(paths)
    check_flag(strict, "strict")
    if function is None:
        return partial(jit, paths=paths, strict=strict, device=device, shard=shard)
    check_callable(function, "jit")
    origin, function = function, core(function)
    kept = Kept(origin, paths, strict)
    latest: Quick | None = None

    def jitted(*args: Any, **kwargs: Any) -> Any:
        nonlocal latest
        quick = latest
        reached, held = -1, None
        while quick is not None:
            chosen, check, flat, call, attempt, treedef, guards, place, _, entry = quick
            if chosen is not settings() or check(function, args, kwargs) is not None:
                quick = None
                break
            entry.useful = True
            try:
                results = (None if kwargs else call(*args)) if flat else call(args, kwargs)
            except TapeOverflowError:  # the long way makes the tape longer
                results = None
            if results is None:
                break
            if attempt.misses:
                attempt.misses -= 1
            if not guards:
                return results[0] if treedef is None else treedef.unflatten(results)
            if results[place] == guards:
                return results[0] if treedef is None else treedef.unflatten(results[:place])
            held = int(results[place])
            following = quick.after(held) if held > reached else None
            if following is None:
                break
            latest = quick = following
            reached, held = held, None
        results, latest = kept.call(args, kwargs, quick, held)
        return results

    called = jitted
    options: dict[str, Any] = {"paths": paths, "strict": strict}
    if shard is not None:
        called = _divided(jitted, Shards(origin, shard, device))
        options |= {"device": device, "shard": shard}
    elif device is not None:
        called = _on_device(jitted, device)
        options |= {"device": device}
    return derived(called, jit, origin, options)


def _on_device(jitted: Callable[..., Any], device: Any) -> Callable[..., Any]:
    """A function that runs on one device."""
    if not isinstance(device, str):
        raise ArgumentTypeError(
            f"device must be a name, as 'gpu' or 'gpu:1', got {device!r}. Several devices are for "
            "jit(f, shard={...}), which says what is divided among them."
        )
    return running_on(device)(jitted)  # which refuses what there is not


def _divided(jitted: Callable[..., Any], shards: Shards) -> Callable[..., Any]:
    """A function some of whose arguments are divided among several devices."""
    shards.mesh()  # which refuses what there is not

    def on_devices(*args: Any, **kwargs: Any) -> Any:
        mesh = shards.mesh()
        with running_on(device_within(mesh)):
            if current() is not None:  # a part of what is captured runs where that does
                return jitted(*args, **kwargs)
            stay = has_device_arrays((args, kwargs))
            args, kwargs = shards.over(mesh, args, kwargs)
            results = jitted(*args, **kwargs)
            return results if stay else to_host(results)

    return on_devices


def _where_they_lie(
    quick: Quick, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any] | None:
    """The results of a call that was captured on the host, on the devices of its arguments.

    A sum over several devices has other bits than on one: so the first call has those of all. None
    where the answers to its questions are others there.
    """
    if quick.check(function, args, kwargs) is not None or (quick.flat and kwargs):
        return None
    try:
        results = quick.call(*args) if quick.flat else quick.call(args, kwargs)
    except TapeOverflowError:
        return None
    if results is None or (quick.guards and results[quick.place] != quick.guards):
        return None
    if quick.guards:
        results = results[: quick.place]
    return (results[0] if quick.treedef is None else quick.treedef.unflatten(results),)


class Kept:
    """The signatures of one function."""

    def __init__(self, origin: Any, most: int, strict: bool) -> None:
        self._origin = origin
        self.function = core(origin)
        self.derives = type(origin) is Derived
        self.most = most
        self.strict = strict
        self._buckets: dict[Any, Bucket] = {}
        self._on_devices: dict[str, Callable[..., Any]] = {}
        self._lock = threading.RLock()  # a signal handler may come by within

    def call(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        missed: Quick | None,
        held: int | None,
    ) -> tuple[Any, Quick | None]:
        """The results of a call, and the short way for the next one.

        missed: the short way that was tried. held: how many guards held there, if it said so.
        """
        quick = None

        def call() -> Any:
            nonlocal quick
            results, quick = self._call(args, kwargs, missed, held)
            return results

        return maybe_over_rows(call, self.function, args, kwargs), quick

    def _call(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        missed: Quick | None,
        held: int | None,
    ) -> tuple[Any, Quick | None]:
        """The same where there are no rows."""
        if has_device_arrays((args, kwargs)):
            device = device_in((args, kwargs))
            if settings().executor is None:
                with running_on(device):
                    return self._there(device)(*args, **kwargs), None
            hosted, named = to_host((args, kwargs))
            results, quick = self.call(hosted, named, None, None)
            there = None
            if quick is not None and is_any_divided((args, kwargs)):
                there = _where_they_lie(quick, self.function, args, kwargs)
            return device_put(results, device) if there is None else there[0], quick
        call = Call(self.function, args, kwargs)
        if len(call.arrays) < len(call.leaves) and any(map(offers_dlpack, call.leaves)):
            args, kwargs = arrived((args, kwargs))
            return self._call(args, kwargs, missed, held)
        if call.traced:  # the outer capture records it, and asks its own questions
            return capture_call(self.function, call, keep=False, at_once=False).results, None
        bucket = self._bucket(call.key)
        entry = bucket.find(call.function, args, kwargs)
        if entry is not None:
            for leaf in call.arrays:
                if type(leaf) is not np.ndarray and isinstance(leaf, np.ndarray):
                    check_plain(leaf)  # as at the first call: its own meaning would be lost
            return entry.call(self.function, call, missed, held), entry.quick()
        if self.strict or bucket.is_due():
            results, entry = bucket.capture(self.function, call)
            if self.strict and entry is None and bucket.hindrances:
                raise _refusal(self.function, bucket)
            return results, None if entry is None else entry.quick()
        return capture_call(self.function, call, keep=False, at_once=False).results, None

    def _there(self, device: str) -> Callable[..., Any]:
        """The function jitted for arguments that lie on a device, although none was chosen."""
        jitted = self._on_devices.get(device)
        if jitted is None:
            again: Any = jit(self._origin, paths=self.most, strict=self.strict)
            jitted = self._on_devices.setdefault(device, again.func)
        return jitted

    def _bucket(self, key: Any) -> Bucket:
        bucket = self._buckets.get(key)
        if bucket is None:
            with self._lock:
                if len(self._buckets) >= _LIMIT:
                    self._buckets.clear()
                wait = int(len(self._buckets) >= _COMPILED_AT_ONCE)
                new = Bucket(self.most, True, self.derives, wait)
                bucket = self._buckets.setdefault(key, new)
        return bucket


PARTS[Kept] = ("function",)


@lru_cache(maxsize=512)
def _jitted(function: Callable[..., Any]) -> Callable[..., Any]:
    return jit(function)


def _applied(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A function of NumPy's, of arrays that lie on a device."""
    with running_on(device_in((args, kwargs))):
        return _jitted(function)(*args, **kwargs)


DeviceArray._apply = staticmethod(_applied)


def _refusal(function: Any, bucket: Bucket) -> NotReplayableError:
    name = getattr(function, "__qualname__", None) or type(function).__name__
    reasons = "; ".join(
        f"{hindrance.text} ({with_text(hindrance.line)})" if hindrance.line else hindrance.text
        for hindrance in bucket.hindrances
    )
    return NotReplayableError(
        f"jit(strict=True) was asked of {name}, which would be captured at every call: {reasons}. "
        "Take that out of the function, or leave strict away."
    )


def _check_paths(paths: Any) -> None:
    if isinstance(paths, bool) or not isinstance(paths, int):
        raise ArgumentTypeError(f"paths must be a whole number, got {paths!r}.")
    if paths < 1:
        raise ArgumentError(f"paths must be 1 or more, got {paths!r}.")
