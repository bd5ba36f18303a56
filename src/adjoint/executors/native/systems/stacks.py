"""Stacks of matrices: which of their axes has lanes, and where each matrix begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, Final

import numpy as np

from adjoint.executors.native.machine.module import Module, Value
from adjoint.executors.native.systems.arrays import ArrayWriter
from adjoint.executors.native.systems.plan import SquareSystem, Strides
from adjoint.executors.native.systems.registers import INDEX, Rows

_FEWEST: Final = 4  # matrices of which several are computed at once


class StackWriter(ArrayWriter):
    """Writes one routine on a stack of matrices.

    lanes: how many matrices are computed at once, 0 for one. places: for each operand, where the
    present matrix begins; targets: for each result.
    """

    def __init__(self, module: Module, system: SquareSystem, lanes: int) -> None:
        super().__init__(module, system.dtype)
        self.system = system
        axis = max(range(len(system.batch)), key=lambda a: system.batch[a], default=-1)
        wide = axis >= 0 and system.batch[axis] >= _FEWEST and lanes > 1
        self.axis = axis if wide else -1
        self.lanes = fitting(lanes, system.batch[axis]) if wide else 0
        self.places: list[str] = []
        self.targets: list[str] = []

    @property
    def results(self) -> tuple[tuple[np.dtype[Any], int], ...]:
        """The dtype of each result, and how many numbers it has for one matrix."""
        system, size = self.system, self.system.size
        if system.operation == "lu_factors":
            return (system.dtype, size * size), (INDEX, size)
        if system.operation == "slogdet":
            return (system.dtype, 1), (self.numbers.part, 1)
        if system.operation == "det":
            return ((system.dtype, 1),)
        return ((system.dtype, size * (system.columns or size)),)

    def dtype_of(self, place: int) -> np.dtype[Any]:
        """The dtype of an operand: pivots are integers."""
        return INDEX if self.system.factored and place == 1 else self.system.dtype

    @contextmanager
    def matrices(self) -> Iterator[None]:
        """The body for each matrix, or for as many as there are lanes."""
        self.places = [f"%o{number}" for number in range(len(self.system.operands))]
        self.targets = [f"%r{number}" for number in range(len(self.results))]
        with self._axes(0):
            yield
            self.flush()

    @contextmanager
    def _axes(self, axis: int) -> Iterator[None]:
        batch = self.system.batch
        if axis == len(batch):
            yield
            return
        with self.pieces(batch[axis], self.lanes if axis == self.axis else 0) as index:
            for place, strides in enumerate(self.system.operands):
                offset = self.times(index, strides.batch[axis])
                self.places[place] = self.at(self.places[place], self.dtype_of(place), offset)
            rest = prod(batch[axis + 1 :])
            for place, (dtype, count) in enumerate(self.results):
                offset = self.times(index, rest * count)
                self.targets[place] = self.at(self.targets[place], dtype, offset)
            with self._axes(axis + 1):
                yield

    def _step(self, strides: Strides) -> int:
        return strides.batch[self.axis] if self.lanes else 0

    def result_step(self, place: int) -> int:
        """How far apart in memory the results of neighbouring lanes are."""
        rest = prod(self.system.batch[self.axis + 1 :]) if self.lanes else 0
        return rest * self.results[place][1]

    # --- operands and results in registers -------------------------------------------------------

    def matrix(self, place: int, columns: int) -> Rows:
        """A matrix among the operands."""
        strides, dtype = self.system.operands[place], self.dtype_of(place)
        step = self._step(strides)
        rows: Rows = []
        for i in range(self.system.size):
            offsets = [i * strides.row + j * strides.column for j in range(columns)]
            pointers = [self.at(self.places[place], dtype, offset) for offset in offsets]
            rows.append([self.load(pointer, dtype, self.lanes, step) for pointer in pointers])
        return rows

    def column(self, place: int, index: str) -> Rows:
        """One column of an operand, as rows of one number."""
        strides, dtype = self.system.operands[place], self.dtype_of(place)
        step, rows = self._step(strides), []
        start = self.at(self.places[place], dtype, self.times(index, strides.column))
        for i in range(self.system.size):
            pointer = self.at(start, dtype, i * strides.row)
            rows.append([self.load(pointer, dtype, self.lanes, step)])
        return rows

    def write(self, place: int, values: Sequence[Sequence[Value]]) -> None:
        """Write all of a result."""
        dtype, _ = self.results[place]
        step = self.result_step(place)
        for number, value in enumerate(value for row in values for value in row):
            self.store(value, self.at(self.targets[place], dtype, number), self.lanes, step)


def fitting(lanes: int, count: int) -> int:
    """So many lanes that there are numbers for all; 0 where there is one."""
    while lanes > count:
        lanes //= 2
    return lanes if lanes > 1 else 0
