"""The index sets of loops and branches: round by round while these are few, else all rounds alike.

A loop of few rounds is followed as it runs, so that what is read in round k, and where it is
written, is known. One of many rounds, or of an unknown number, is taken to do in any round what it
does in some round: its sets grow until they stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from adjoint.calculus.jacobians.sparsity.index_sets import (
    Sets,
    joined,
    numbered,
    reduced,
    taken,
    union,
)
from adjoint.calculus.jacobians.sparsity.rules import NotToBeAskedError, dense
from adjoint.program import Equation, Program

_FOLLOWED: Final = 50_000  # equations of all rounds of a loop that is followed round by round


def _scan(walk: Any, equation: Equation, operands: list[Sets]) -> list[Sets]:
    params, body = equation.params, equation.params["body"]
    try:
        count = max(int(walk.value(equation.inputs[0])), 0)
    except NotToBeAskedError:
        count = None
    if count is not None and count * (1 + len(body.equations)) <= _FOLLOWED:
        return _LoopSets(walk, equation, operands).followed(count)
    if params["length"] == 0 or count == 0:
        return _LoopSets(walk, equation, operands).followed(0)
    return _LoopSets(walk, equation, operands).alike()


class _LoopSets:
    """The rounds of a loop: of constants, carried values, and rows of scanned arrays."""

    def __init__(self, walk: Any, equation: Equation, operands: list[Sets]) -> None:
        params = equation.params
        self.walk = walk
        self.body: Program = params["body"]
        self.length = params["length"] or 0
        self.reverse = params["reverse"]
        self.constants, self.carried = params["constants"], params["carried"]
        fixed = self.constants + self.carried
        self.atoms = equation.inputs[1:]
        self.sets = operands[1:]
        self.scanned = list(zip(self.atoms[fixed:], self.sets[fixed:], strict=True))
        self.outputs = equation.outputs

    def followed(self, count: int) -> list[Sets]:
        """The sets after so many rounds, one after another."""
        walk, first = self.walk, self.constants
        state = list(self.sets[first : first + self.carried])
        values: list[Any] = [
            self._source(atom, sets)
            for atom, sets in zip(self.atoms[first:][: self.carried], state, strict=True)
        ]
        rows: dict[int, list[Sets]] = {}
        fixed = [self._source(a, s) for a, s in zip(self.atoms[:first], self.sets, strict=False)]
        for k in reversed(range(count)) if self.reverse else range(count):
            parts = [self._row(atom, sets, k) for atom, sets in self.scanned]
            sources = [self._row_source(atom, sets, k) for atom, sets in self.scanned]
            inner = walk.inner(
                self.body,
                [*self.sets[:first], *state, *parts],
                [*fixed, *values, *sources],
            )
            results = inner.results()
            state = results[: self.carried]
            values = [
                _settled(inner, atom, sets)
                for atom, sets in zip(self.body.outputs, state, strict=False)
            ]
            rows[k] = results[self.carried :]
        return [*state, *self._stacked(rows)]

    def _source(self, atom: Any, sets: Sets) -> Any:
        return None if sets is not None else lambda: self.walk.value(atom)

    def _row_source(self, atom: Any, sets: Sets, k: int) -> Any:
        return None if sets is not None else lambda: self.walk.value(atom)[k]

    def _row(self, atom: Any, sets: Sets, k: int) -> Sets:
        return None if sets is None else taken(sets, numbered(atom.type.shape)[k])

    def _stacked(self, rows: dict[int, list[Sets]]) -> list[Sets]:
        """The sets of rows in one array; of those not reached, empty ones."""
        results = []
        for number, variable in enumerate(self.outputs[self.carried :]):
            size = variable.type.size // max(self.length, 1)
            several = [(rows[k][number] if k in rows else None, size) for k in range(self.length)]
            results.append(joined(several, self.walk.width))
        return results

    def alike(self) -> list[Sets]:
        """The sets where any round may do what some round does."""
        first = self.constants
        state = list(self.sets[first : first + self.carried])
        parts = [self._any_row(atom, sets) for atom, sets in self.scanned]
        while True:
            sources = [
                self._source(atom, sets)
                for atom, sets in zip(self.atoms[:first], self.sets, strict=False)
            ]
            # What is carried, and rows, differ from round to round: not to be asked.
            sources += [None] * (self.carried + len(parts))
            inner = self.walk.inner(self.body, [*self.sets[:first], *state, *parts], sources)
            results = inner.results()
            grown = [
                union([before, after])
                for before, after in zip(state, results[: self.carried], strict=True)
            ]
            if all(_same(one, other) for one, other in zip(grown, state, strict=True)):
                break
            state = grown
        stacked = []
        for variable, sets in zip(
            self.outputs[self.carried :], results[self.carried :], strict=True
        ):
            size = variable.type.size // max(self.length, 1)
            places = np.tile(np.arange(size), self.length)
            stacked.append(taken(sets, places))
        return [*state, *stacked]

    def _any_row(self, atom: Any, sets: Sets) -> Sets:
        """For each entry of a row, what it follows from in any round."""
        if sets is None:
            return None
        size = atom.type.size // max(atom.type.shape[0], 1)
        return reduced(sets, np.arange(atom.type.size) % max(size, 1), size)


def _settled(inner: Any, atom: Any, sets: Sets) -> Any:
    """What gives a carried value in the next round; worked out at once where that is cheap."""
    if sets is not None:
        return None
    if atom.type.dtype.kind in "biu":  # counters and places, of which there are long chains
        try:
            value = inner.value(atom)
        except NotToBeAskedError:
            return _unknown
        return lambda: value
    return lambda: inner.value(atom)


def _unknown() -> Any:
    raise NotToBeAskedError


def _same(one: Sets, other: Sets) -> bool:
    if one is None or other is None:
        return one is other
    return bool(one.nnz == other.nnz)  # one holds the other


def _while(walk: Any, equation: Equation, operands: list[Sets]) -> list[Sets]:
    """A loop of an unknown number of rounds that stacks nothing."""
    params = equation.params
    body, first, carried = params["body"], params["constants"], params["carried"]
    if len(equation.outputs) > 1 + carried:
        return dense(walk, equation, operands)
    state = list(operands[first:])
    while True:
        sources = [
            None if sets is not None else (lambda atom=atom: walk.value(atom))
            for atom, sets in zip(equation.inputs[:first], operands, strict=False)
        ]
        inner = walk.inner(body, [*operands[:first], *state], [*sources, *[None] * carried])
        results = inner.results()
        grown = [union(pair) for pair in zip(state, results[:carried], strict=True)]
        if all(_same(one, other) for one, other in zip(grown, state, strict=True)):
            return [None, *state]
        state = grown


def _switch(walk: Any, equation: Equation, operands: list[Sets]) -> list[Sets]:
    """The branch that is taken, where that is known; else all of them."""
    branches: Sequence[Program] = equation.params["branches"]
    try:
        number = int(walk.value(equation.inputs[0]))
        branches = [branches[min(max(number, 0), len(branches) - 1)]]
    except NotToBeAskedError:
        pass
    atoms = equation.inputs[1:]
    outcomes = [_held(walk, branch, atoms, operands[1:]) for branch in branches]
    return [union(several) for several in zip(*outcomes, strict=True)]


def _checkpoint(walk: Any, equation: Equation, operands: list[Sets]) -> list[Sets]:
    return _held(walk, equation.params["body"], equation.inputs, operands)


def _held(walk: Any, body: Program, atoms: Sequence[Any], operands: list[Sets]) -> list[Sets]:
    sources = [
        None if sets is not None else (lambda atom=atom: walk.value(atom))
        for atom, sets in zip(atoms, operands, strict=True)
    ]
    results: list[Sets] = walk.inner(body, operands, sources).results()
    return results


PROGRAMS: Final = {"scan": _scan, "while": _while, "switch": _switch, "checkpoint": _checkpoint}
