"""Random programs of sorting, Fourier transforms, filters and correlations."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import type_of
from adjoint.primitives import PRIMITIVES
from adjoint.program import Builder, Program, operation

_NORMS = ("backward", "ortho", "forward")
_SORTED = ("i1", "u2", "i4", "f4", "f8", "c16")


def random_rows(seed: int) -> tuple[Program, list[Any]]:
    """A function along one axis of an array that is transposed before, and its arguments."""
    generator = np.random.default_rng(seed)
    ndim = int(generator.integers(1, 4))
    shape = tuple(int(n) for n in generator.integers(1, 9, ndim))
    axis = int(generator.integers(ndim))
    name = ("argsort", "fft", "rfft", "irfft", "recurrence", "correlation")[seed % 6]
    dtype = {"argsort": _SORTED[seed // 6 % 6], "fft": "c16", "irfft": "c16"}.get(name, "f8")
    x = (generator.normal(size=shape) * 9).astype(dtype)
    more, params = _rest(name, shape, axis, generator)
    builder = Builder()
    inputs: list[Any] = [builder.input(type_of(y)) for y in (x, *more)]
    order = tuple(int(n) for n in generator.permutation(ndim))
    turned = [builder.emit(operation(PRIMITIVES["transpose"], axes=order), inputs[:1])[0]]
    back = np.argsort(order)
    if "axis" in params:
        params["axis"] = int(back[axis])
    if name == "correlation":  # the window lies as the array does
        turned += builder.emit(operation(PRIMITIVES["transpose"], axes=order), inputs[1:])
    elif name == "recurrence":
        turned.insert(0, inputs[1])
    return builder.build(builder.emit(operation(PRIMITIVES[name], **params), turned)), [x, *more]


def _rest(
    name: str, shape: tuple[int, ...], axis: int, generator: np.random.Generator
) -> tuple[list[Any], dict[str, Any]]:
    """Further operands, and parameters."""
    norm, inner = _NORMS[int(generator.integers(3))], float(generator.choice([0.5, 1.0, 2.0]))
    if name == "argsort":
        return [], {"axis": axis, "given": (("kind", "stable"),) * int(generator.integers(2))}
    if name == "fft":
        return [], {"axis": axis, "norm": norm, "inverse": bool(generator.integers(2))}
    if name == "rfft":
        return [], {"axis": axis, "norm": norm, "inner": inner}
    if name == "irfft":
        n = max(2 * shape[axis] - 1 - int(generator.integers(2)), 1)
        return [], {"n": n, "axis": axis, "norm": norm, "inner": inner}
    if name == "recurrence":
        count = int(generator.integers(1, 5))
        return [np.concatenate([[1.5], generator.uniform(-0.2, 0.2, count - 1)])], {}
    window = tuple(int(generator.integers(1, n + 1)) for n in shape)
    return [generator.normal(size=window)], {}
