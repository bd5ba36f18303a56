"""The rules of operations, made when they are first asked for, and written into the program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.primitives.expression import Expression
from adjoint.program import Atom, Builder, Literal, Operation, Program
from adjoint.transforms.collapsed.curved_rule import CurvedRule, Partials, curved_rule, partials


class CollapsedRules:
    """The derivative rules that one run of the transform uses.

    curved: whether second derivatives are wanted, or slopes alone.
    """

    def __init__(self, builder: Builder, curved: bool) -> None:
        self.builder = builder
        self.curved = curved
        self._rules: dict[Any, CurvedRule] = {}
        self._partials: dict[Any, Partials] = {}

    def rule(self, op: Operation, operands: Sequence[Atom], marks: tuple[bool, ...]) -> CurvedRule:
        """The derivatives of an operation at operands like these, in those that are marked."""
        key = (op, *_types(operands), marks)
        if key not in self._rules:
            self._rules[key] = curved_rule(op, operands, marks, self.builder.origin, self.curved)
        return self._rules[key]

    def partials(
        self, op: Operation, operands: Sequence[Atom], marks: tuple[bool, ...]
    ) -> Partials:
        """The partial derivatives of an operation at operands like these."""
        key = (op, *_types(operands), marks)
        if key not in self._partials:
            self._partials[key] = partials(op, operands, marks)
        return self._partials[key]

    def inline(self, program: Program, arguments: Sequence[Atom]) -> list[Expression]:
        """Append what a transform wrote."""
        origin = self.builder.origin
        results = self.builder.inline(program, arguments)
        self.builder.derived, self.builder.origin = True, origin
        return [Expression(self.builder, atom) for atom in results]


def _types(operands: Sequence[Atom]) -> list[Any]:
    return [x.key if isinstance(x, Literal) else x.type for x in operands]
