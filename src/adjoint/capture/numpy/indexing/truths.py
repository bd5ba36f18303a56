"""Truth values as indices: `x[True]`, `x[x.sum() > 0, 0]`."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.traced import Traced


def without_truths(index: Any) -> tuple[Any, Any] | None:
    """An index that holds truth values, as two; None where it holds none.

    The first makes an axis of length one for each of them, and the second takes one entry of that
    axis where it holds, or none.
    """
    kind = type(index)
    if kind is int or kind is slice:
        return None
    entries = index if kind is tuple else (index,)
    if not any([_is_truth(entry) for entry in entries]):
        return None
    first: list[Any] = []
    second: list[Any] = []
    for entry in entries:
        if _is_truth(entry):
            first.append(None)
            second.append(np.zeros(int(bool(concrete(entry))), np.intp))
            continue
        second.append(entry)
        if entry is Ellipsis:
            first.append(entry)
        elif entry is not None:
            first.extend([slice(None)] * _axes_of(entry))
    return tuple(first), tuple(second)


def _is_truth(entry: Any) -> bool:
    kind = type(entry)
    if kind is int or kind is slice or entry is None or entry is Ellipsis:
        return False
    if kind is bool or kind is np.bool_:
        return True
    return (kind is Traced or kind is np.ndarray) and entry.dtype.kind == "b" and not entry.ndim


def _axes_of(entry: Any) -> int:
    """How many axes an entry of an index stands for."""
    if isinstance(entry, list):
        entry = np.asarray(entry)
    mask = getattr(entry, "dtype", None) == np.bool_
    return int(entry.ndim) if mask else 1
