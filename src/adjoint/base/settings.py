"""Settings that change what derivatives mean or how they are checked.

They are per thread and per task (context variables); `with ad.config(debug=True): ...` restores
them on leaving. Those that change derivatives are part of every cache key; those that change
machine code alone tell apart what a program holds of it (see `adjoint.pipeline`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import lru_cache
from inspect import Parameter, Signature
from typing import Any, TypedDict, Unpack, cast

from adjoint.base.errors import ArgumentError, ArgumentTypeError
from adjoint.base.packages import PackageChoice, check_apart, choice_of, names_of, without
from adjoint.base.process.linear_algebra_threads import linear_algebra_on


class GivenEngine:
    """An engine as the user has given it, which need not be hashable. value: that."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GivenEngine) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)

    def __repr__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class Settings:
    """What can be set: see `config`."""

    kink: float = 0.5
    strong_zeros: bool = True
    debug: bool = False
    native: bool | None = None
    precise: bool = False
    threads: int | None = None
    replay: bool = True
    cache: bool | str | None = None
    executor: Any = None
    device: str | None = None
    engine: Any = None
    progress: bool | Callable[[int, int], Any] | None = None
    enter: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()
    choice: PackageChoice = field(init=False, repr=False, compare=False)  # of these names

    def __post_init__(self) -> None:
        if isinstance(self.kink, bool) or not isinstance(self.kink, (int, float)):
            raise ArgumentTypeError(f"kink must be a number between 0 and 1, got {self.kink!r}.")
        if not 0 <= self.kink <= 1:
            raise ArgumentError(
                f"kink must lie between 0 and 1 (a convex combination), got {self.kink!r}."
            )
        if self.native is not None and not isinstance(self.native, bool):
            raise ArgumentTypeError(
                f"native must be None (for what runs often), True or False, got {self.native!r}."
            )
        for name in ("strong_zeros", "debug", "precise", "replay"):
            if not isinstance(getattr(self, name), bool):
                choice = getattr(self, name)
                raise ArgumentTypeError(f"{name} must be True or False, got {choice!r}.")
        self._check_threads()
        self._check_executor()
        self._check_cache()
        self._check_rows()
        self._choose()

    def _choose(self) -> None:
        for name in ("enter", "leave"):
            object.__setattr__(self, name, names_of(name, getattr(self, name)))
        check_apart(self.enter, self.leave)
        object.__setattr__(self, "choice", choice_of(self.enter, self.leave))

    def _check_executor(self) -> None:
        if self.device is not None and not isinstance(self.device, str):
            raise ArgumentTypeError(
                f"device must be a name, as 'gpu' or 'gpu:1', or None, got {self.device!r}."
            )
        if isinstance(self.executor, str) or (self.device is not None and self.executor is None):
            name = self.executor or "xla"
            if name not in EXECUTORS:
                raise ArgumentError(
                    f"There is no executor {name!r}; by name there is {', '.join(EXECUTORS)}."
                )
            object.__setattr__(self, "executor", EXECUTORS[name](self.device))
        if self.executor is not None and not callable(getattr(self.executor, "compile", None)):
            raise ArgumentTypeError(
                "executor must be None, 'xla', or have a method compile(program, needs), as "
                f"adjoint.executors.Executor says, got {self.executor!r}."
            )
        try:
            hash(self.executor)
        except TypeError as error:
            raise ArgumentTypeError(
                "executor must be hashable, since programs are kept for it, got "
                f"{self.executor!r}: {error}. Of a dataclass, write @dataclass(eq=False)."
            ) from error

    def _check_cache(self) -> None:
        if isinstance(self.cache, os.PathLike):
            object.__setattr__(self, "cache", os.fspath(self.cache))
        if self.cache is not None and not isinstance(self.cache, (bool, str)):
            raise ArgumentTypeError(
                f"cache must be a folder, True, False or None, got {self.cache!r}."
            )
        if self.cache == "":
            raise ArgumentError(
                "cache must be a folder, True, False or None, got an empty name. Write '.' for "
                "the working directory."
            )

    def _check_rows(self) -> None:
        if self.engine is not None and not isinstance(self.engine, GivenEngine):
            for check in ENGINES:
                check(self.engine)
            object.__setattr__(self, "engine", GivenEngine(self.engine))
        if not (
            self.progress is None or isinstance(self.progress, bool) or callable(self.progress)
        ):
            raise ArgumentTypeError(
                "progress must be None, True, False or a function of how many chunks of rows are "
                f"done, and of how many, got {self.progress!r}."
            )

    def _check_threads(self) -> None:
        if self.threads is None:
            return
        if isinstance(self.threads, bool) or not isinstance(self.threads, int):
            raise ArgumentTypeError(
                f"threads must be a number of cores, or None for all, got {self.threads!r}."
            )
        if self.threads < 1:
            raise ArgumentError(f"threads must be 1 or more, got {self.threads!r}.")


# Executors by name, made for a device: the floor of executors says which there are.
EXECUTORS: dict[str, Callable[[str | None], Any]] = {}

# What refuses an engine that is none: who runs rows says so.
ENGINES: list[Callable[[Any], None]] = []

_current: ContextVar[Settings] = ContextVar("adjoint_settings", default=Settings())

settings = (
    _current.get
)  # the settings in force here; read so often that a call of our own would show


# Whether a function is being captured here: who captures says so.
UNDER_WAY: list[Callable[[], Any]] = []


class Changes(TypedDict, total=False):
    """The settings that `config` takes, with their types."""

    kink: float
    strong_zeros: bool
    debug: bool
    native: bool | None
    precise: bool
    threads: int | None
    replay: bool
    cache: bool | str | os.PathLike[str] | None
    executor: Any
    device: str | None
    engine: Any
    progress: bool | Callable[[int, int], Any] | None
    enter: str | Iterable[str]
    leave: str | Iterable[str]


@contextmanager
def config(**changes: Unpack[Changes]) -> Iterator[Settings]:
    """Change settings within a `with` block.

    Args:
        kink: the weight of the right-hand derivative at a kink (|x| at 0, a tie of max), between 0
            and 1; the left-hand one has the rest.
        strong_zeros: where no path leads (a branch not taken, an entry not indexed, a zero of a
            seed) a derivative is zero, also against an infinite or undefined factor; else it is NaN
            there.
        debug: check every program after every pass, and every replay against a capture.
        native: whether programs become machine code: None for those that come by often, and at once
            under `ad.jit`; True for all at once; False for none.
        precise: elementary functions (exp, sin, ...) of machine code are NumPy's own, to the last
            bit; else they are within 4 units in the last place.
        threads: the cores that long loops of machine code run on; None for all that there are. A
            number is also that of the threads of BLAS and LAPACK, in all of the process while the
            block lasts.
        cache: where compiled code is kept for the next process: a folder; True for the platform's
            own; False for nowhere; None for what the environment variable ADJOINT_CACHE says (a
            folder or `off`), else the platform's. A folder that others may write to is not used.
        executor: what compiles programs in the place of the native executor: "xla" (needs the
            extra `xla`), or one of your own (see `adjoint.executors`, and the page on writing one);
            None for the native executor.
        device: where programs run: `cpu`, `gpu`, `tpu`, or with a number, as `gpu:1`. By itself it
            chooses XLA; None for the first device that XLA has.
        engine: where chunks of rows are computed (see `ad.rows`): all devices of a kind, as "gpu",
            or a list of some, as ["gpu:0", "gpu:2"]; a `dask.distributed.Client`; a communicator of
            mpi4py's; or None for the cores of this machine.
        progress: a bar on stderr while rows are read: None for one after some seconds, if stderr is
            a terminal and the package `rich` is installed; True for one at once; False for none; or
            a function of how many chunks are done, and of how many.
        replay: whether a call that is proven to give the same program as an earlier one runs that
            program, and not the function.
        enter: names of packages or modules whose code is entered, although it is not by itself.
        leave: names of packages or modules whose code is not entered, although it is by itself. Of
            a package and a module in it, the longer name decides.

    Returns:
        A context manager; `as` gives the settings in force within the block.

    Raises:
        ArgumentError: a setting that there is not, a value out of range, a package that is not
            there or cannot be entered, or `enter` and `leave` inside of a captured function.
        ArgumentTypeError: a value of another type.
        XlaUnavailableError: XLA, or the device, is not there.

    Example:
        >>> import adjoint as ad
        >>> with ad.config(kink=1.0):
        ...     float(ad.grad(abs)(0.0))
        1.0
    """
    unknown = sorted(set(changes) - _NAMES.keys())
    if unknown:
        raise ArgumentError(f"config has no setting {unknown[0]!r}; it has {', '.join(_NAMES)}.")
    chosen = _changed(_current.get(), cast("dict[str, Any]", changes))
    threads = changes.get("threads")
    with nullcontext() if threads is None else linear_algebra_on(threads):
        token = _current.set(chosen)
        try:
            yield chosen
        finally:
            _current.reset(token)


class running_on:  # a context manager, as `config` is
    """Programs run on a device while this holds.

    The settings are the same ones each time, so that what was kept under them is found again.
    """

    def __init__(self, device: str) -> None:
        self.device = device

    def __enter__(self) -> None:
        self._token = _current.set(_on(_current.get(), self.device))

    def __exit__(self, *_: Any) -> None:
        _current.reset(self._token)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that runs there: as with a `with` around each call, in less time."""
        device, before = self.device, _current.get()
        latest = before, _on(before, device)

        def on_device(*args: Any, **kwargs: Any) -> Any:
            nonlocal latest
            before, chosen = latest
            now = _current.get()
            if now is not before:
                chosen = _on(now, device)
                latest = now, chosen
            token = _current.set(chosen)
            try:
                return function(*args, **kwargs)
            finally:
                _current.reset(token)

        return on_device


@lru_cache(maxsize=256)
def _on(before: Settings, device: str) -> Settings:
    return _changed(before, {"device": device})


_NAMES = {name: None for name, of in Settings.__dataclass_fields__.items() if of.init}


def _parameter(name: str, kind: Any) -> Parameter:
    default = getattr(Settings(), name)
    annotation = getattr(kind, "__forward_arg__", kind)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


# What `help` and editors show: the settings by name, with what holds unless they are changed.
config.__signature__ = Signature(  # type: ignore[attr-defined]
    [_parameter(name, kind) for name, kind in Changes.__annotations__.items()]
)


def _changed(before: Settings, changes: dict[str, Any]) -> Settings:
    """Settings with changes, whose types they check themselves."""
    chosen = [name for name in ("enter", "leave") if name in changes]
    for name in chosen:
        changes[name] = names_of(name, changes[name])
        if any(asks() is not None for asks in UNDER_WAY):
            raise ArgumentError(
                f"{name} says which code is entered by a capture, and cannot change within one. "
                "Write `with ad.config(...)` around the call that differentiates."
            )
    if "executor" in changes and "device" not in changes:
        changes["device"] = None
    elif "device" in changes and "executor" not in changes:
        changes["executor"] = None
    if len(chosen) == 1:  # what is named now counts, and not what was said of it around
        other = "leave" if chosen == ["enter"] else "enter"
        changes[other] = without(getattr(before, other), changes[chosen[0]])
    return replace(before, **changes)
