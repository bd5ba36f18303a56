"""What a module of the tool consists of: functions of arrays, and how they are read and written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Input = Mapping[str, Any]  # as JSON says it
Reading = Callable[[Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Function:
    """A function that an eval asks for.

    read: the arguments from an input. compute: what is timed. write: the result as JSON has it.
    runs: whether the input says how often the function is to run.
    """

    read: Reading
    compute: Callable[..., Any]
    write: Callable[[Any], Any]
    runs: bool = True


Module = Mapping[str, Function]


def arrays(*names: str) -> Reading:
    """A reading of these entries as arrays of doubles."""
    return lambda given: tuple(np.array(given[name], dtype=float) for name in names)


def listed(value: Any) -> Any:
    """An array as nested lists."""
    return np.asarray(value).tolist()
