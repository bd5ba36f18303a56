"""`np.r_[a, 1.0, b]` and `np.c_[a, b]`, with traced arrays and numbers between the brackets."""

from __future__ import annotations

from typing import Any

from adjoint.capture.numpy.making.values import array
from adjoint.capture.numpy.table import any_traced
from adjoint.capture.recording.hooks import hooks


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
