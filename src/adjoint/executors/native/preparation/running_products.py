"""Running products, which are recorded as log n steps of doubling, found again as one pass.

NumPy needs few equations; machine code needs few operations, and multiplies as `np.cumprod` does.
Where the steps themselves are read, as derivatives read them, they stay.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from adjoint.primitives.declaration import UFUNCS
from adjoint.primitives.structure.slicing import CONCATENATE, SLICE
from adjoint.program import Atom, Equation, Program, Variable

_MULTIPLY = UFUNCS[np.multiply]


class RunningProduct(NamedTuple):
    """What stands for an equation: the products of the terms up to each, along an axis."""

    terms: Variable
    axis: int


class _Doubling(NamedTuple):
    """Each entry the product of twice as many terms as before: of an array that held `reach`."""

    before: Variable
    axis: int
    reach: int


def running_products(program: Program) -> dict[Variable, RunningProduct]:
    """The variables of a program that are running products, if no step on the way is read."""
    if sum(equation.primitive is CONCATENATE for equation in program.equations) < 2:
        return {}
    search = _DoublingSearch(program)
    running: dict[Variable, RunningProduct] = {}
    for equation in program.equations:
        step = search.step(equation)
        if step is not None and 2 * step.reach >= step.before.type.shape[step.axis]:
            terms = search.terms(step)
            if terms is not None and step.reach > 1:
                running[equation.outputs[0]] = RunningProduct(terms, step.axis)
    return running


class _DoublingSearch:
    def __init__(self, program: Program) -> None:
        self._producers = {v: equation for equation in program.equations for v in equation.outputs}
        read = [atom for equation in program.equations for atom in equation.inputs]
        self._uses = Counter(
            atom for atom in (*read, *program.outputs) if isinstance(atom, Variable)
        )

    def terms(self, step: _Doubling) -> Variable | None:
        """What the steps began with."""
        while step.reach > 1:
            if self._uses[step.before] != 3 or step.before not in self._producers:
                return None
            earlier = self.step(self._producers[step.before])
            if earlier is None or (earlier.axis, 2 * earlier.reach) != (step.axis, step.reach):
                return None
            step = earlier
        return step.before

    def step(self, equation: Equation) -> _Doubling | None:
        """An equation as the last of a step: the first entries, then products of two."""
        if equation.primitive is not CONCATENATE or len(equation.inputs) != 2:
            return None
        if equation.outputs[0].type.dtype.kind == "c":  # in which 1 times infinity is undefined
            return None
        axis = equation.params["axis"]
        head, products = map(self._single, equation.inputs)
        if head is None or products is None or products.primitive is not _MULTIPLY:
            return None
        later, former = map(self._single, products.inputs)
        parts = [self._part(part, axis) for part in (head, later, former)]
        if None in parts or len({part[0] for part in parts if part}) != 1:
            return None
        (before, first), (_, second), (_, third) = parts  # type: ignore[misc]
        count, reach = before.type.shape[axis], first[1]
        wanted = ((0, reach, 1), (reach, count, 1), (0, count - reach, 1))
        return _Doubling(before, axis, reach) if (first, second, third) == wanted else None

    def _single(self, atom: Atom) -> Equation | None:
        """The equation that computes a variable for one reader alone."""
        if not isinstance(atom, Variable) or self._uses[atom] != 1:
            return None
        return self._producers.get(atom)

    def _part(
        self, equation: Equation | None, axis: int
    ) -> tuple[Variable, tuple[int, int, int]] | None:
        """The array of which it takes a part along an axis, and which part."""
        if equation is None or equation.primitive is not SLICE:
            return None
        (array,), index = equation.inputs, equation.params["index"]
        if not isinstance(array, Variable) or len(index) != array.type.ndim:
            return None
        whole = [(0, size, 1) for size in array.type.shape]
        rest = [tuple(one) if isinstance(one, tuple) else one for one in index]
        place = rest[axis]
        rest[axis] = whole[axis]
        return (array, place) if rest == whole else None
