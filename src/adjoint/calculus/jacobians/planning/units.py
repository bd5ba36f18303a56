"""Products with unit vectors: the columns of the identity pick numbers out, which needs no sums.

In forward mode the columns that go through a program are those of the identity. What is linear in
them first often multiplies them and adds up, as `A @ x` and the derivative `2 x . dx` of `x @ x`
do: `sum_k x[c, k] * unit[d, k]` is `x[c, d]`. The zeros of units are hard, so that nothing else
goes into it, be it infinite.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from adjoint.primitives.declaration import PRIMITIVES
from adjoint.primitives.elementwise.conversion import CAST
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.expression import Expression
from adjoint.primitives.hardness import HARD
from adjoint.primitives.structure.contraction import CONTRACT, split_spec
from adjoint.primitives.structure.gathering import IOTA
from adjoint.primitives.structure.moving import (
    BROADCAST,
    RESHAPE,
    SUM,
    broadcast_to,
    permute,
    reshape,
)
from adjoint.primitives.structure.slicing import SLICE
from adjoint.program import Atom, Builder, Equation, Program, Variable

_EQUAL: Final = PRIMITIVES["equal"]


class Unit(NamedTuple):
    """Where an array has the axes of an identity; along all others it only repeats itself."""

    axes: tuple[int, int]
    ndim: int


def without_units(program: Program) -> Program:
    """The program with reads of numbers in the place of sums of their products with units."""
    pass_ = _Pass(program)
    return pass_.run() if pass_.units else program


class _Pass:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.makers: dict[Atom, Equation] = {
            x: equation for equation in program.equations for x in equation.outputs
        }
        self.units: dict[Atom, Unit] = {}
        for equation in program.equations:
            unit = self._unit(equation)
            if unit is not None:
                self.units[equation.outputs[0]] = unit

    def run(self) -> Program:
        """The program written anew."""
        builder = Builder()
        builder.inputs = list(self.program.inputs)
        names: dict[Atom, Atom] = {}
        for equation in self.program.equations:
            builder.origin, builder.derived = equation.origin, equation.derived
            inputs = [names.get(atom, atom) for atom in equation.inputs]
            picked = self._picked(builder, equation, names)
            if picked is not None and picked.type is equation.outputs[0].type:
                names[equation.outputs[0]] = picked
            elif inputs == list(equation.inputs):
                builder.equations.append(equation)
            else:
                results = builder.emit(equation.operation, inputs)
                names.update(zip(equation.outputs, results, strict=True))
        return builder.build([names.get(atom, atom) for atom in self.program.outputs])

    # --- units -----------------------------------------------------------------------------------

    def _unit(self, equation: Equation) -> Unit | None:
        if equation.primitive is HARD:
            return Unit((0, 1), 2) if self._is_identity(equation.inputs[0]) else None
        unit = self.units.get(equation.inputs[0]) if equation.inputs else None
        if unit is not None and equation.primitive is BROADCAST:
            ndim = len(equation.params["shape"])
            first, second = (axis + ndim - unit.ndim for axis in unit.axes)
            return Unit((first, second), ndim)
        if unit is None or equation.primitive is not RESHAPE:
            return None
        before, after = equation.inputs[0].type.shape, equation.params["shape"]
        (size, other) = (n for n in after if n != 1) if len(after) - after.count(1) == 2 else (0, 1)
        if size != other or [n for n in before if n != 1] != [size, other]:
            return None
        places = [axis for axis, length in enumerate(after) if length != 1]
        return Unit((places[0], places[1]), len(after))

    def _is_identity(self, atom: Atom) -> bool:
        """Whether it is made as `standard_basis` makes the basis of a space of more numbers."""
        cast = self.makers.get(atom)
        equal = cast and cast.primitive is CAST and self.makers.get(cast.inputs[0])
        if not equal or equal.primitive is not _EQUAL or len(set(atom.type.shape)) != 1:
            return False
        numbers, columns = (self.makers.get(x) for x in equal.inputs)
        if numbers is None or columns is None:
            return False
        places = [self.makers.get(x.inputs[0]) for x in (numbers, columns)]
        return (
            numbers.primitive is RESHAPE
            and columns.primitive is SLICE
            and all(x is not None and x.primitive is IOTA for x in places)
            and numbers.outputs[0].type.shape == (atom.type.shape[0], 1)
            and columns.params["index"] == ((0, atom.type.shape[0], 1),)
        )

    # --- products with them ----------------------------------------------------------------------

    def _picked(self, builder: Builder, equation: Equation, names: dict[Atom, Atom]) -> Atom | None:
        if equation.primitive is CONTRACT and len(equation.inputs) == 2:
            return self._of_contraction(builder, equation, names)
        if equation.primitive is not SUM or len(equation.params["axes"]) != 1:
            return None
        product = self.makers.get(equation.inputs[0])
        if product is None or product.primitive is not SCALE:
            return None
        for x, unit in (product.inputs, product.inputs[::-1]):
            if unit in self.units and isinstance(x, Variable) and x not in self.units:
                return self._of_sum(builder, equation, names.get(x, x), self.units[unit])
        return None

    def _of_sum(self, builder: Builder, equation: Equation, x: Atom, unit: Unit) -> Atom | None:
        (summed,) = equation.params["axes"]
        ndim = equation.inputs[0].type.ndim
        axes = [axis + ndim - unit.ndim for axis in unit.axes]
        shape = [1] * (ndim - x.type.ndim) + list(x.type.shape)
        if summed not in axes:
            return None
        stays = axes[0] if summed == axes[1] else axes[1]
        if shape[stays] != 1 or shape[summed] != equation.inputs[0].type.shape[summed]:
            return None
        order = list(range(ndim))
        order[stays], order[summed] = summed, stays
        turned = permute(reshape(Expression(builder, x), tuple(shape)), tuple(order))
        column = tuple(n for axis, n in enumerate(turned.shape) if axis != summed)
        return broadcast_to(reshape(turned, column), equation.outputs[0].type.shape).atom

    def _of_contraction(
        self, builder: Builder, equation: Equation, names: dict[Atom, Atom]
    ) -> Atom | None:
        *operands, result = split_spec(equation.params["spec"])
        for place in (0, 1):
            unit, x = equation.inputs[place], equation.inputs[1 - place]
            letters, others = operands[place], operands[1 - place]
            if unit not in self.units or len(letters) != 2 or not isinstance(x, Variable):
                continue
            for stays, summed in ((letters[0], letters[1]), (letters[1], letters[0])):
                if summed in others and summed not in result and stays not in others:
                    renamed = others.replace(summed, stays)
                    if sorted(renamed) == sorted(result):
                        order = tuple(renamed.index(letter) for letter in result)
                        return permute(Expression(builder, names.get(x, x)), order).atom
        return None
