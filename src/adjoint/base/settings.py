"""Settings that change what derivatives mean or how they are checked.

They are per thread and per task (context variables); `with ad.config(debug=True): ...` restores
them on leaving. Those that change derivatives are part of every cache key; those that change
machine code alone tell apart what a program holds of it (see `adjoint.pipeline`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

from adjoint.base.errors import ArgumentError, ArgumentTypeError


@dataclass(frozen=True)
class Settings:
    """What can be set.

    kink: the weight of the right-hand derivative at a kink (|x| at 0, a tie of max), between 0 and
        1; the left-hand one has the rest.
    strong_zeros: where no path leads (a branch not taken, an entry not indexed, a zero of a seed) a
        derivative is zero, also against an infinite or undefined factor; else it is NaN there.
    debug: check every program after every pass, and every replay against a capture.
    native: whether programs become machine code: None for those that come by often, and at once
        under `ad.jit`; True for all at once; False for none.
    precise: elementary functions (exp, sin, ...) of machine code are NumPy's own, to the last bit;
        else they are within 4 units in the last place.
    threads: the cores that long loops of machine code run on; None for all that there are.
    replay: whether a call that is proven to give the same program as an earlier one runs that
        program, and not the function.
    """

    kink: float = 0.5
    strong_zeros: bool = True
    debug: bool = False
    native: bool | None = None
    precise: bool = False
    threads: int | None = None
    replay: bool = True

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
        for name in ("precise", "replay"):
            if not isinstance(getattr(self, name), bool):
                choice = getattr(self, name)
                raise ArgumentTypeError(f"{name} must be True or False, got {choice!r}.")
        self._check_threads()

    def _check_threads(self) -> None:
        if self.threads is None:
            return
        if isinstance(self.threads, bool) or not isinstance(self.threads, int):
            raise ArgumentTypeError(
                f"threads must be a number of cores, or None for all, got {self.threads!r}."
            )
        if self.threads < 1:
            raise ArgumentError(f"threads must be 1 or more, got {self.threads!r}.")


_current: ContextVar[Settings] = ContextVar("adjoint_settings", default=Settings())

settings = (
    _current.get
)  # the settings in force here; read so often that a call of our own would show


@contextmanager
def config(**changes: float | bool | None) -> Iterator[Settings]:
    """Change settings within a `with` block.

    Example:
        >>> import adjoint as ad
        >>> with ad.config(kink=1.0):
        ...     float(ad.grad(abs)(0.0))
        1.0
    """
    unknown = sorted(set(changes) - set(Settings.__dataclass_fields__))
    if unknown:
        known = ", ".join(Settings.__dataclass_fields__)
        raise ArgumentError(f"config has no setting {unknown[0]!r}; it has {known}.")
    # Settings checks the types itself.
    token = _current.set(replace(_current.get(), **changes))  # type: ignore[arg-type]
    try:
        yield _current.get()
    finally:
        _current.reset(token)
