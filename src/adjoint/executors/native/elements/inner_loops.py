"""Primitives that are ufuncs without a rule of their own: by the ufunc's own inner loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.executors.native.elements.writer import ElementWriter
from adjoint.executors.native.functions import inner_loops
from adjoint.executors.native.machine.module import Value
from adjoint.executors.native.machine.ufuncs import (
    inner_loop,
    number_function,
    result_of,
    truncated,
)

_KINDS = frozenset("iufc")
_LARGEST = 2.0**31  # of the integers that SciPy cuts numbers to


def has_loop(name: str, loop: Sequence[np.dtype[Any]]) -> bool:
    """Whether a primitive has an inner loop of these dtypes that machine code can call."""
    return all(dtype.kind in _KINDS for dtype in loop) and inner_loop(name, loop) is not None


def emit_loop(
    writer: ElementWriter,
    name: str,
    loop: Sequence[np.dtype[Any]],
    operands: Sequence[Value],
    part: int = 0,
) -> Value:
    """Write the call of it; part: which of several results."""
    symbol = inner_loop(name, loop)
    assert symbol is not None  # else it is not supported
    given = list(operands)
    for place in truncated(name):
        if given[place].dtype.kind == "f":
            given[place] = _whole(writer, given[place])
    function = number_function(name, loop)
    if function is not None:
        return inner_loops.call_for_each(writer.block, function, given)
    results = inner_loops.call(writer.block, symbol, given, loop[len(given) :])
    return results[result_of(name, part)]


def _whole(writer: ElementWriter, x: Value) -> Value:
    """An order that must be an integer; where it is none, NumPy runs, since SciPy warns."""
    cut = writer.intrinsic("trunc", x)
    size = writer.constant(_LARGEST, x)
    fits = writer.compare("olt", writer.absolute(x), size)
    whole = writer.both(fits, writer.compare("oeq", cut, x))
    writer.fault(writer.invert(whole))
    return writer.select(whole, x, writer.constant(1, x))
