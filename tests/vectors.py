"""What the checker computes with: vectors of arrays, extended precision, differences.

A vector is a tuple of arrays; complex ones have the real inner product Re sum conj(a) b.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.primitives import Primitive
from adjoint.program import Literal, Program, Variable

LADDER = tuple(2.0**-power for power in range(6, 11))  # steps of the differences

Arrays = tuple[Any, ...]


def random_like(generator: np.random.Generator, types: Sequence[Any]) -> Arrays:
    """Random arrays of these types, each entry (each part of one) in [-1, 1]."""
    found = []
    for type_ in types:
        values = generator.uniform(-1, 1, type_.shape)
        if type_.dtype.kind == "c":
            values = values + 1j * generator.uniform(-1, 1, type_.shape)
        values = np.asarray(values, type_.dtype)
        found.append(values if type_.ndim else values[()])
    return tuple(found)


def coordinates(vectors: Sequence[Any]) -> Any:
    """All real coordinates in a row: real parts, and imaginary ones of complex arrays."""
    parts: list[Any] = [np.zeros(0)]
    for vector in vectors:
        vector = np.asarray(vector)
        parts.append(np.ravel(vector.real))
        if vector.dtype.kind == "c":
            parts.append(np.ravel(vector.imag))
    return np.concatenate(parts)


def from_coordinates(row: Any, like: Sequence[Any]) -> Arrays:
    """The arrays with these coordinates."""
    found, start = [], 0
    for example in map(np.asarray, like):
        part = row[start : start + example.size].reshape(example.shape)
        start += example.size
        if example.dtype.kind == "c":
            part = part + 1j * row[start : start + example.size].reshape(example.shape)
            start += example.size
        part = part.astype(example.dtype)
        found.append(part if part.ndim else part[()])
    return tuple(found)


def pairing(one: Sequence[Any], other: Sequence[Any]) -> float:
    """Re sum conj(a) b."""
    return float(coordinates(one).astype(float) @ coordinates(other).astype(float))


def distance(one: Sequence[Any], other: Sequence[Any]) -> float:
    """The largest difference of coordinates, relative to the largest coordinate."""
    a, b = coordinates(one), coordinates(other)
    if a.shape != b.shape:
        return float("inf")
    if a.size == 0:
        return 0.0
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return 0.0
    with np.errstate(all="ignore"):
        gap = np.max(np.abs(np.where(same, 0, a - b)))
        size = np.max(np.abs(np.where(same & ~np.isfinite(a), 0, b)))
        error = float(gap / size) if size else float("inf")
    return error if np.isfinite(error) else float("inf")


# --- extended precision --------------------------------------------------------------------------

_WIDE = {"f": np.dtype(np.longdouble), "c": np.dtype(np.clongdouble)}


def widened(value: Any) -> Any:
    """A value in extended precision, where it is of floating point."""
    array = np.asarray(value)
    return array.astype(_WIDE[array.dtype.kind]) if array.dtype.kind in _WIDE else value


def run_wide(program: Program, arguments: Sequence[Any]) -> Arrays:
    """Interpret a program in extended precision, or in double where NumPy has no more."""
    values: dict[Variable, Any] = dict(zip(program.inputs, map(widened, arguments), strict=True))
    for equation in program.equations:
        params = {
            name: _WIDE.get(value.kind, value) if isinstance(value, np.dtype) else value
            for name, value in equation.params.items()
        }
        operands = [a.value if isinstance(a, Literal) else values[a] for a in equation.inputs]
        with np.errstate(all="ignore"):
            results = _evaluate_wide(equation.primitive, operands, params)
        values.update(zip(equation.outputs, map(widened, results), strict=True))
    return tuple(a.value if isinstance(a, Literal) else values[a] for a in program.outputs)


def _evaluate_wide(primitive: Primitive, operands: list[Any], params: dict[str, Any]) -> Any:
    try:
        found = primitive.evaluate(*operands, **params)
    except TypeError:  # SciPy has few functions in extended precision
        found = primitive.evaluate(*map(_narrowed, operands), **params)
    return found if primitive.multiple else (found,)


def _narrowed(value: Any) -> Any:
    kind = np.asarray(value).dtype.kind
    return np.asarray(value, {"f": float, "c": complex}[kind]) if kind in _WIDE else value


# --- differences ---------------------------------------------------------------------------------


def differences(function: Callable[[float], Arrays]) -> tuple[list[Arrays], Arrays]:
    """Central differences on a ladder of steps, and their Richardson extrapolation."""
    steps = [np.longdouble(step) for step in LADDER]
    forward, backward = [function(h) for h in steps], [function(-h) for h in steps]
    first = [
        tuple((a - b) / (2 * h) for a, b in zip(up, down, strict=True))
        for up, down, h in zip(forward, backward, steps, strict=True)
    ]
    table, weight = list(first), 1
    while len(table) > 1:  # the error is a series in h^2: each column removes one power
        weight *= 4
        table = [
            tuple((weight * b - a) / (weight - 1) for a, b in zip(rough, fine, strict=True))
            for rough, fine in itertools.pairwise(table)
        ]
    return first, table[0]
