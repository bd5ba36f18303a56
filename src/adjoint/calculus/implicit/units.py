"""In which units f(y, x) is measured, so that tolerances mean the same in all units of f and y."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from adjoint.calculus.implicit.layout import CoordinateLayout, Rows

Map = Callable[[Rows], Rows]


@dataclass(frozen=True)
class Units:
    """How large each equation is where it does not hold.

    solution, values: how y and f are written in coordinates. residual: y -> f. moved: y -> f where
    all else that f reads is moved by `step` of its size.
    """

    solution: CoordinateLayout
    values: CoordinateLayout
    residual: Map
    moved: Map
    step: float

    @cached_property
    def homogeneous(self) -> Rows:
        """The equations that y = 0 solves, as (blocks, size)."""
        zero = np.zeros(self.solution.blocks * self.solution.size, self.solution.dtype)
        solved = moduli(self.values, self.residual(zero)) == 0
        return np.asarray(solved.reshape(self.solution.blocks, -1))

    @cached_property
    def _signs(self) -> Rows:
        """Two draws of random numbers of either sign, the same at every run."""
        shape = (2, self.solution.blocks, self.solution.size)
        generator = np.random.default_rng(0)
        return generator.choice([-1.0, 1.0], shape) * generator.uniform(0.5, 1.5, shape)

    def at(self, z: Rows, residual: Rows, times: Map) -> Rows:
        """For each equation, how much f changes where y, or what else it reads, moves by its size.

        An equation that y = 0 solves says nothing of the size of y: there that of the largest
        entry is taken, and at least 1 where all equations are so.

        z: the coordinates of y. residual: f there. times: u -> ∂_y f[u].
        """
        sizes = moduli(self.solution, z).reshape(self.solution.blocks, -1)
        change = moduli(self.values, self.moved(z) - residual) / self.step
        units = np.nan_to_num(change, posinf=0.0) + self._probed(sizes, times)
        same = self.homogeneous
        if np.any(same):
            largest = np.max(sizes, axis=1, initial=0.0, keepdims=True)
            least = np.where(same.all(axis=1, keepdims=True), np.maximum(1.0, largest), largest)
            wider = self._probed(np.maximum(sizes, least), times)
            units = np.where(same.ravel(), np.maximum(units, wider), units)
        return np.asarray(units)

    def _probed(self, sizes: Rows, times: Map) -> Rows:
        """|∂_y f[v]| for two random v with entries of these sizes, added."""
        probes = [(sizes * signs).ravel().astype(self.solution.dtype) for signs in self._signs]
        one, two = (moduli(self.values, times(probe)) for probe in probes)
        return one + two

    def relative(self, residual: Rows, units: Rows) -> float:
        """|f| in these units, in the equation where it is largest."""
        return largest_share(moduli(self.values, residual), units)


def moduli(layout: CoordinateLayout, vector: Rows) -> Rows:
    """The absolute value for each coordinate; that of the number for both of a complex one."""
    if not any(type_.dtype.kind == "c" for type_ in layout.types):
        return np.abs(vector)
    leaves = [np.asarray(np.abs(leaf)) for leaf in layout.leaves(vector)]
    pairs = zip(leaves, layout.types, strict=True)
    whole = [x + 1j * x if type_.dtype.kind == "c" else x for x, type_ in pairs]
    return layout.vector(whole)


def moved(operands: Sequence[Any], step: float) -> list[Any]:
    """Operands whose floating-point numbers are moved by about `step` of their size."""
    generator = np.random.default_rng(1)
    return [_moved(x, step, generator) for x in operands]


def _moved(x: Any, step: float, generator: np.random.Generator) -> Any:
    array = np.asarray(x)
    if not np.issubdtype(array.dtype, np.inexact):
        return x
    shares = 1 + step * generator.uniform(0.5, 1.5, array.shape)
    moved = (array * shares).astype(array.dtype)
    return moved.item() if type(x) in (float, complex) else moved


def largest_share(sizes: Rows, wholes: Rows) -> float:
    """The largest of these quotients; 0 / 0 is 0, and others over 0 are infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(sizes == 0, 0.0, sizes / wholes)
    return float(np.max(shares, initial=0.0))
