"""Sample inputs for the generic checker: what each primitive is tried on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.base.arrays import Shape


@dataclass(frozen=True)
class Draw:
    """An operand drawn at random: uniform in [low, high), of a shape and dtype.

    For complex dtypes both parts are drawn; for integers and booleans the bounds are those of the
    integers. `python` makes it a Python float, which does not widen arrays.
    """

    shape: Shape = ()
    low: float = -2.0
    high: float = 2.0
    dtype: Any = float
    python: bool = False

    def array(self, generator: np.random.Generator) -> Any:
        """A concrete operand."""
        dtype = np.dtype(self.dtype)
        if dtype.kind == "b":
            return generator.random(self.shape) < 0.5
        if dtype.kind in "iu":
            return generator.integers(int(self.low), int(self.high), self.shape).astype(dtype)
        values = generator.uniform(self.low, self.high, self.shape)
        if self.python:
            return float(values)
        if dtype.kind == "c":
            values = values + 1j * generator.uniform(self.low, self.high, self.shape)
        return np.asarray(values, dtype)


@dataclass(frozen=True)
class DiagonalDraw(Draw):
    """Random square matrices whose diagonal is raised by 3: invertible, and well conditioned.

    Their lower triangle is that of a positive definite matrix when the bounds are small.
    """

    def array(self, generator: np.random.Generator) -> Any:
        """A concrete operand."""
        drawn = super().array(generator)
        return drawn + np.asarray(3 * np.eye(self.shape[-1]), drawn.dtype)


@dataclass(frozen=True)
class Fixed:
    """An operand with these very values (indices, masks, points of interest)."""

    values: Any

    def array(self, generator: np.random.Generator) -> Any:
        """A concrete operand."""
        return np.array(self.values)


@dataclass(frozen=True)
class Sample:
    """Operands and parameters on which a primitive is tried.

    order: up to which order derivatives exist here; all those that are checked by default: two
        compared with differences, and Taylor coefficients up to this order.
    constant: the operands, by place, that have no derivative: asking for one is an error.
    single: whether it is tried in single precision too; not where parameters fix the types.
    """

    operands: tuple[Draw | Fixed, ...]
    params: dict[str, Any] = field(default_factory=dict)
    order: int = 4
    constant: tuple[int, ...] = ()
    single: bool = True


def sample(
    *operands: Draw | Fixed,
    order: int = 4,
    constant: tuple[int, ...] = (),
    single: bool = True,
    **params: Any,
) -> Sample:
    """A sample, written briefly."""
    return Sample(operands, params, order, constant, single)


def draw(*shape: int, low: float = -2.0, high: float = 2.0, dtype: Any = float) -> Draw:
    """A random operand, written briefly."""
    return Draw(shape, low, high, dtype)


def python_float(low: float = -2.0, high: float = 2.0) -> Draw:
    """A random Python float."""
    return Draw((), low, high, python=True)


def square(*shape: int, dtype: Any = float) -> Draw:
    """Random well-conditioned square matrices, written briefly."""
    return DiagonalDraw(shape, -0.6, 0.6, dtype)
