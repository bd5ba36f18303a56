"""`np.r_[a, 1.0, b]`, `np.c_[a, b]` and `np.mgrid[a:b]`, with what is traced in the brackets."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.numpy.making.making import arange
from adjoint.capture.numpy.making.values import array, astype
from adjoint.capture.numpy.table import any_traced, promoting
from adjoint.capture.recording.applying import concrete
from adjoint.capture.recording.hooks import hooks
from adjoint.capture.recording.traced import Traced


class Joined:
    """Stands in for `np.r_` (columns: `np.c_`): parts joined along the first (last) axis."""

    def __init__(self, original: Any, columns: bool) -> None:
        self.__wrapped__ = original
        self.columns = columns

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        numbers = [n for p in parts if isinstance(p, slice) for n in (p.start, p.stop, p.step)]
        if not any_traced((*parts, *numbers)):
            return array(self.__wrapped__[key])
        if isinstance(parts[0], str):
            raise UnsupportedFunctionError(
                f"A string in np.{'c' if self.columns else 'r'}_[{parts[0]!r}, ...] is not "
                "understood where parts are traced; write np.concatenate with an axis."
            )
        arrays = [_range(each) if isinstance(each, slice) else array(each) for each in parts]
        # Numbers of Python's have no say in the dtype, unless there is nothing else.
        pairs = zip(parts, arrays, strict=True)
        kinds = [found.dtype if found.ndim else promoting(part) for part, found in pairs]
        dtype = np.result_type(*kinds)
        arrays = [astype(each, dtype) for each in arrays]
        if not self.columns:
            return np.concatenate([np.atleast_1d(each) for each in arrays])
        tall = [each.reshape(-1, 1) if each.ndim < 2 else each for each in arrays]
        return np.concatenate(tall, axis=-1)

    def __len__(self) -> int:
        return 0


def _range(part: slice) -> Any:
    """What `start:stop:step` makes: `step` numbers with both ends where it is imaginary."""
    step = 1 if part.step is None else part.step
    start = 0 if part.start is None else part.start
    if isinstance(step, complex):
        return np.linspace(start, part.stop, int(abs(concrete(step))))
    return arange(start, part.stop, step)


GRIDS: Final = frozenset({type(np.mgrid), type(np.ogrid)})


def with_counts(key: Any) -> Any:
    """What is between the brackets of `np.mgrid`, where traced counts (`n * 1j`) are known."""
    if isinstance(key, tuple):
        return tuple(map(with_counts, key))
    step = key.step if isinstance(key, slice) else None
    if type(step) is Traced and step.dtype.kind == "c":
        return slice(key.start, key.stop, hooks.escape(step, "complex"))
    return key
