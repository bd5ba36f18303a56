"""What NumPy has warned of in a capture, and what it may yet warn of."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from weakref import ref

import numpy as np

_module: Any = warnings
# By what warnings are shown: `catch_warnings(record=True)` puts a list in the place of the second.
_SHOWING: Final = [n for n in ("showwarning", "_showwarnmsg_impl") if hasattr(warnings, n)]
_HELD: Final = 4  # large arrays that may be there for what waits alone


class Said(set[str]):
    """The texts of the warnings; true if there are any, or may be.

    waiting: values that are not computed yet (`values/postponed.py`), in the order in which the
    user's code asked for them; those of captures within one are its own. around: whether it is one
    of these. filters, before, shown: what becomes of warnings, as it was at the beginning. ignored:
    what NumPy did not warn of then. apart: how many `np.errstate` there are around the user's code.
    computed: large values that have been computed meanwhile, by weak references.
    """

    __slots__ = ("apart", "around", "before", "computed", "filters", "ignored", "shown", "waiting")

    def __init__(self) -> None:
        super().__init__()
        self.waiting: dict[Any, None] = {}
        self.computed: list[ref[Any]] = []
        self.apart = 0
        self.around = False

    def note_listeners(self) -> None:
        """Note what becomes of warnings now, at the beginning of a capture in which some wait."""
        self.filters = warnings.filters
        self.before = list(warnings.filters)
        self.shown = _shown()
        self.ignored = _ignored()

    def __bool__(self) -> bool:
        return bool(len(self) or self.waiting)

    @property
    def are_heard_as_before(self) -> bool:
        """Whether nobody has changed since the beginning what becomes of warnings."""
        same = warnings.filters is self.filters and self.filters == self.before
        return same and _shown() == self.shown

    @property
    def warns_as_before_or_not(self) -> bool:
        """Whether NumPy warns of nothing here, or of the same as at the beginning.

        Not so within `np.errstate(divide="ignore")`, say. What is recorded there will warn of
        nothing when the program runs, so that NumPy has to warn of the rest.
        """
        ignored = _ignored()
        return all(ignored) or (not self.apart and ignored == self.ignored)

    @contextmanager
    def heard_as_before(self) -> Iterator[None]:
        """Let what is said be heard as at the beginning, since the user asked for it then.

        Example: the sum of `np.log(x)` is asked for where warnings are ignored, and `np.log` not.
        """
        if self.are_heard_as_before:
            yield
            return
        with warnings.catch_warnings():
            _module.filters[:] = self.before
            warnings.simplefilter("default", append=True)  # which makes Python see the others too
            for name, shown in zip(_SHOWING, self.shown, strict=True):
                setattr(warnings, name, shown)
            yield

    def belong_to(self, outer: Said) -> None:
        """Be what is said in a capture within another one."""
        self.around = True
        self.waiting = outer.waiting

    def hear(self) -> set[str]:
        """All texts, after what was postponed has said its own, line by line."""
        texts = set(self)
        while self.waiting:
            value = next(iter(self.waiting))
            value.settle()
            texts |= value.said
        return texts

    def keep_memory_low(self) -> None:
        """Compute what waits, where it holds several large arrays to be computed of.

        NumPy would have let go of them. Example: a loop that looks at large distances in each
        round, and adds up their sums, which nobody looks at before the end.
        """
        living = [value.size for value in [held() for held in self.computed] if value is not None]
        if len(living) < len(self.computed):
            self.computed = [held for held in self.computed if held() is not None]
        if sum(living) > _HELD * max(living, default=0):
            self.hear()
            self.computed.clear()

    def forget(self) -> None:
        """Let what is not computed by now be silent; but not what a capture around it waits for."""
        if not self.around:
            self.waiting.clear()
            self.computed.clear()


def _shown() -> list[Any]:
    return [getattr(warnings, name) for name in _SHOWING]


def _ignored() -> list[bool]:
    """Of what NumPy does not warn: divisions by zero, and so on."""
    return [mode == "ignore" for mode in np.geterr().values()]
