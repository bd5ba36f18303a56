"""The series of a value, and what computes its coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.base.arrays import ArrayType
from adjoint.primitives.declaration import Primitive
from adjoint.primitives.expression import Expression
from adjoint.primitives.structure.moving import zeros
from adjoint.program import Atom, Literal, Program, Variable, operation
from adjoint.transforms.jvp import tangent_type
from adjoint.transforms.taylor_mode.coefficients import Coefficients
from adjoint.transforms.taylor_mode.derived_rule import Marks


class Series:
    """The series of one value; its coefficients are computed when they are first asked for.

    work: the run of the transform. known: those computed so far. node: what computes the others;
    None for inputs.
    """

    __slots__ = ("known", "node", "place", "type", "work")

    def __init__(
        self,
        work: Any,
        type: ArrayType,
        known: list[Atom | None],
        node: Source | None = None,
        place: int = 0,
    ) -> None:
        self.work = work
        self.type = type
        self.known = known
        self.node = node
        self.place = place

    @property
    def constant(self) -> bool:
        """Whether all coefficients but the first are structurally zero."""
        if self.node is None or len(self.known) > self.work.order:
            return all(atom is None for atom in self.known[1:])
        return self.node.constant[self.place]

    def __getitem__(self, k: int) -> Expression | None:
        if k >= len(self.known) and self.node is not None:
            self.node.extend(k)
        atom = self.known[k] if k < len(self.known) else None
        return None if atom is None else Expression(self.work.builder, atom)

    @property
    def example(self) -> Atom:
        """An atom of its type: itself where it is a literal."""
        first = self.known[0] if self.node is None else None
        return first if isinstance(first, Literal) else Variable(self.type)

    def atom(self, k: int) -> Atom | None:
        """The coefficient as an atom of the program."""
        coefficient = self[k]
        return None if coefficient is None else coefficient.atom

    def apply(self, primitive: Primitive, **params: Any) -> Series:
        """The series of a primitive applied to this one."""
        result: Series = self.work.node(operation(primitive, **params), (self,)).results[0]
        return result

    def run(self, program: Program, operands: Sequence[Any], k: int) -> Coefficients:
        """Coefficient k of a program's results on series, and on expressions that stand still."""
        coefficient: Coefficients = self.work.run(program, operands, k)
        return coefficient


class Source:
    """What computes the coefficients of series."""

    __slots__ = ("constant", "results")

    constant: Marks
    results: tuple[Series, ...]

    def extend(self, k: int) -> None:
        """Compute the coefficients up to k."""
        raise NotImplementedError


class TimeDerivative(Source):
    """The derivative dx/dt of a series: coefficient j is (j + 1) x_{j+1}.

    The first is written out where it is zero, so that the first coefficient of any series is there.
    """

    __slots__ = ("of",)

    def __init__(self, of: Series) -> None:
        self.of = of
        # That of a line x_0 + x_1 t is known to be constant once the line is.
        line = len(of.known) > of.work.order and all(atom is None for atom in of.known[2:])
        self.constant = (line,)
        self.results = (Series(of.work, tangent_type(of.type), [], self),)

    def extend(self, k: int) -> None:
        """Compute the coefficients up to k, from those of the series one further."""
        known, type_ = self.results[0].known, self.results[0].type
        for j in range(len(known), k + 1):
            higher = self.of[j + 1]
            if higher is None:
                known.append(None if j else zeros(self.of.work.builder, type_).atom)
            else:
                known.append((higher * (j + 1) if j else higher).atom)
