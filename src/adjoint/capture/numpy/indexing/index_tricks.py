"""`np.r_[a, 1.0, b]`, `np.c_[a, b]` and `np.mgrid[a:b]`, with what is traced in the brackets."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from adjoint.capture.numpy.making.values import array
from adjoint.capture.numpy.table import any_traced
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.traced import Traced


class Joined:
    """Stands in for `np.r_` or `np.c_`.

    What their brackets mean is written in Python; where parts are traced, that runs as a clone.
    """

    def __init__(self, original: Any) -> None:
        self.__wrapped__ = original

    def __getitem__(self, key: Any) -> Any:
        original = self.__wrapped__
        parts = key if isinstance(key, tuple) else (key,)
        numbers = [n for p in parts if isinstance(p, slice) for n in (p.start, p.stop, p.step)]
        if not any_traced((*parts, *numbers)):
            return array(original[key])
        return hooks.clone(type(original).__getitem__)(original, key)

    def __len__(self) -> int:
        return 0


GRIDS: Final = frozenset({type(np.mgrid), type(np.ogrid)})


def with_counts(key: Any) -> Any:
    """What is between the brackets of `np.mgrid`, where traced counts (`n * 1j`) are known."""
    if isinstance(key, tuple):
        return tuple(map(with_counts, key))
    step = key.step if isinstance(key, slice) else None
    if type(step) is Traced and step.dtype.kind == "c":
        return slice(key.start, key.stop, hooks.escape(step, "complex"))
    return key
