"""What goes on a tape, and what is computed again from it.

A row of the tape costs memory, and time to write and read; a sum or a product of what is there
costs next to nothing. So of all sets of values from which the others follow by cheap operations,
the smallest is kept: a minimal cut of the body's graph, found as the largest flow through it (Ford
and Fulkerson 1956; Edmonds and Karp 1972).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np

from adjoint.primitives.elementwise.arithmetic import (
    ADD,
    DIVIDE,
    MULTIPLY,
    NEGATIVE,
    SQUARE,
    SUBTRACT,
)
from adjoint.primitives.elementwise.conversion import (
    CAST,
    CONJUGATE,
    IMAG,
    PYTHON_NUMBER,
    REAL,
    STOP_GRADIENT,
)
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.elementwise.kinks import ABSOLUTE, SIGN
from adjoint.primitives.elementwise.selection import SELECT
from adjoint.primitives.elementwise.smooth import SQRT
from adjoint.primitives.structure.contraction import CONTRACT
from adjoint.primitives.structure.moving import BROADCAST, FILL, RESHAPE, SUM, TRANSPOSE
from adjoint.primitives.structure.slicing import CONCATENATE, SLICE, STACK
from adjoint.program import Equation, Variable

_CHEAP: Final = frozenset(
    [
        *(ADD, SUBTRACT, MULTIPLY, NEGATIVE, SCALE, SQUARE, DIVIDE, SQRT, ABSOLUTE, SIGN, SELECT),
        *(CONJUGATE, CAST, REAL, IMAG, PYTHON_NUMBER, RESHAPE, TRANSPOSE, BROADCAST, SLICE),
        *(CONCATENATE, STACK, FILL, STOP_GRADIENT),
    ]
)
_CHEAP_UFUNCS: Final = frozenset(
    [
        *(np.reciprocal, np.maximum, np.minimum, np.less, np.less_equal, np.greater),
        *(np.greater_equal, np.equal, np.not_equal, np.logical_and, np.logical_or, np.logical_not),
    ]
)
_ROUNDED: Final = frozenset([ADD, SUBTRACT, MULTIPLY, SCALE, SQUARE, DIVIDE, SQRT, SUM, CONTRACT])
_JUMPING: Final = frozenset(
    [np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal]
)
_SMALL: Final = (SUM, CONTRACT)  # cheap where little goes in
_FEW: Final = 16
_MOST: Final = 2000  # values beyond which no cut is looked for
_ENDLESS: Final = 1 << 62

Node = tuple[Variable, bool] | None  # a value before or behind its cost; None for all that is asked


def is_cheap(equation: Equation) -> bool:
    """Whether to compute it again costs less than to keep its result."""
    primitive = equation.primitive
    if primitive in _CHEAP or primitive.ufunc in _CHEAP_UFUNCS:
        return True
    return primitive in _SMALL and all(atom.type.size <= _FEW for atom in equation.inputs)


def fewest_bytes(
    equations: Sequence[Equation], wanted: Sequence[Variable], free: Callable[[Variable], bool]
) -> tuple[list[Variable], list[Equation]]:
    """The values to keep, and the equations by which the wanted ones follow from those.

    free: values that are there in any case. They are among those returned where they are needed.
    """
    makers = {variable: equation for equation in equations for variable in equation.outputs}
    jumps = _uncertain_jumps(equations, free)
    makers = {variable: maker for variable, maker in makers.items() if variable not in jumps}
    reached = _reached(wanted, makers, free)
    kept = (
        set(wanted) if len(reached) > _MOST else _MinimalCut(reached, wanted, makers, free).kept()
    )
    return _rest(equations, wanted, kept, makers, free)


def _uncertain_jumps(
    equations: Iterable[Equation], free: Callable[[Variable], bool]
) -> set[Variable]:
    """Comparisons and signs of numbers that may be rounded otherwise when they come again.

    Machine code may round once where it rounded twice before: then no entry is the largest any
    more, as it is in the derivative of a maximum.
    """
    rounded: set[Variable] = set()
    jumps: set[Variable] = set()
    for equation in equations:
        primitive, results = equation.primitive, [x for x in equation.outputs if not free(x)]
        uncertain = not rounded.isdisjoint(_operands(equation))
        if primitive is SIGN or primitive.ufunc in _JUMPING:
            jumps.update(results if uncertain else ())
        elif is_cheap(equation):
            rounds = primitive in _ROUNDED or primitive.ufunc is np.reciprocal
            rounded.update(x for x in results if x.type.inexact and (rounds or uncertain))
    return jumps


def _cheap_maker(
    variable: Variable, makers: dict[Variable, Equation], free: Callable[[Variable], bool]
) -> Equation | None:
    """The equation by which a value can be computed again."""
    maker = makers.get(variable)
    return None if maker is None or free(variable) or not is_cheap(maker) else maker


def _operands(equation: Equation) -> Iterable[Variable]:
    return (atom for atom in equation.inputs if isinstance(atom, Variable))


def _reached(
    wanted: Iterable[Variable],
    makers: dict[Variable, Equation],
    free: Callable[[Variable], bool],
) -> dict[Variable, None]:
    """All that the wanted values can be computed from by cheap operations."""
    reached: dict[Variable, None] = {}
    waiting = list(wanted)
    while waiting:
        variable = waiting.pop()
        if variable in reached or free(variable):
            continue
        reached[variable] = None
        maker = _cheap_maker(variable, makers, free)
        if maker is not None:
            waiting += _operands(maker)
    return reached


class _MinimalCut:
    """The minimal cut, by the largest flow from what cannot be computed again to what is asked."""

    def __init__(
        self,
        reached: Iterable[Variable],
        wanted: Iterable[Variable],
        makers: dict[Variable, Equation],
        free: Callable[[Variable], bool],
    ) -> None:
        self.room: dict[Node, dict[Node, int]] = {None: {}}
        self.sources: list[Node] = []
        self.reached = list(reached)
        for variable in self.reached:
            size = max(variable.type.size * variable.type.dtype.itemsize, 1)
            self._join((variable, False), (variable, True), size)
            maker = _cheap_maker(variable, makers, free)
            if maker is None:
                self.sources.append((variable, False))
                continue
            for operand in _operands(maker):
                if not free(operand):
                    self._join((operand, True), (variable, False), _ENDLESS)
        for variable in wanted:
            if not free(variable):
                self._join((variable, True), None, _ENDLESS)

    def _join(self, one: Node, other: Node, room: int) -> None:
        self.room.setdefault(one, {})[other] = room
        self.room.setdefault(other, {}).setdefault(one, 0)

    def kept(self) -> set[Variable]:
        """The values on the cut that is nearest to what is asked."""
        while self._augment():
            pass
        behind: set[Node] = {None}
        waiting: list[Node] = [None]
        while waiting:
            node = waiting.pop()
            for other in self.room[node]:
                if other not in behind and self.room[other].get(node, 0) > 0:
                    behind.add(other)
                    waiting.append(other)
        return {
            variable
            for variable in self.reached
            if (variable, True) in behind and (variable, False) not in behind
        }

    def _augment(self) -> bool:
        """Send more along a shortest way that has room; False if there is none."""
        before: dict[Node, Node] = dict.fromkeys(self.sources)
        waiting = deque(self.sources)
        while waiting:
            node = waiting.popleft()
            for other, room in self.room[node].items():
                if room <= 0 or other in before:
                    continue
                before[other] = node
                if other is None:
                    self._send(before)
                    return True
                waiting.append(other)
        return False

    def _send(self, before: dict[Node, Node]) -> None:
        path: list[tuple[Node, Node]] = []
        node: Node = None
        while True:
            previous = before[node]
            if previous is None:
                break
            path.append((previous, node))
            node = previous
        amount = min(self.room[one][other] for one, other in path)
        for one, other in path:
            self.room[one][other] -= amount
            self.room[other][one] += amount


def _rest(
    equations: Sequence[Equation],
    wanted: Sequence[Variable],
    kept: set[Variable],
    makers: dict[Variable, Equation],
    free: Callable[[Variable], bool],
) -> tuple[list[Variable], list[Equation]]:
    """What is needed of the kept and free values, in order, and the equations for the others."""
    again: set[Equation] = set()
    leaves: dict[Variable, None] = {}
    seen: set[Variable] = set()
    waiting = list(reversed(wanted))
    while waiting:
        variable = waiting.pop()
        if variable in seen:
            continue
        seen.add(variable)
        maker = None if variable in kept else _cheap_maker(variable, makers, free)
        if maker is None:
            leaves[variable] = None
        else:
            again.add(maker)
            waiting += reversed(list(_operands(maker)))
    return list(leaves), [equation for equation in equations if equation in again]
