"""The steps of reductions: what two values make, and what to begin with."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.executors.native.elements.rules import RULES
from adjoint.executors.native.elements.writer import ElementWriter
from adjoint.executors.native.machine.module import Block, Value, constant, register_type


def combine(block: Block, kind: str, x: Value, y: Value) -> Value:
    """Two values made one: `sum`, `max` and `min` (which keep NaN), `all` and `any`."""
    writer = ElementWriter(block, [])
    letter = x.dtype.kind
    if kind == "sum":
        return RULES["add", letter].emit(writer, x, y)
    if kind in ("all", "any"):
        return writer.binary("and" if kind == "all" else "or", x, y)
    if letter != "f":
        return RULES["maximum" if kind == "max" else "minimum", letter].emit(writer, x, y)
    # One instruction of the processor, which NaN makes raise a flag: reductions wait for it.
    text = f"fcmp {'ogt' if kind == 'max' else 'olt'} "
    where = writer.block.op(f"{text}{register_type(x)} {x.text}, {y.text}")
    extreme = writer.select(Value((where,), np.dtype(bool), x.lanes), x, y)
    return writer.select(writer.is_nan(x), x, extreme)


def identity(kind: str, dtype: np.dtype[Any]) -> Value:
    """What changes nothing that it is combined with."""
    if kind == "sum":
        return constant(0, dtype)
    if kind in ("all", "any"):
        return constant(kind == "all", dtype)
    if dtype.kind == "b":
        return constant(kind == "min", dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return constant(limits.min if kind == "max" else limits.max, dtype)
    number = -np.inf if kind == "max" else np.inf
    return constant(complex(number, number) if dtype.kind == "c" else number, dtype)
