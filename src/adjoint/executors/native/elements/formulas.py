"""Formulas (`primitives.elementwise.formulas`) as instructions: they run on numbers that write."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from adjoint.base.errors import NativeUnavailableError
from adjoint.executors.native.elements.inner_loops import emit_loop, has_loop
from adjoint.executors.native.elements.rules import RULES, Rule
from adjoint.executors.native.elements.writer import DOUBLE, SINGLE, ElementWriter
from adjoint.executors.native.machine.module import Block, Module, Value
from adjoint.primitives.declaration import PRIMITIVES, Primitive
from adjoint.primitives.elementwise.accuracy.formulas import Formula
from adjoint.primitives.special.declaring import find_special


class FormulaNumber(NDArrayOperatorsMixin):
    """A value in registers, under NumPy's operators and functions, which write instructions.

    real: the dtype of the formula, which its numbers take. used: the names of all that was written.
    """

    __slots__ = ("real", "used", "value", "writer")

    def __init__(
        self,
        writer: ElementWriter,
        value: Value,
        used: list[str],
        real: np.dtype[Any] | None = None,
    ) -> None:
        self.writer = writer
        self.value = value
        self.used = used
        self.real = real or value.dtype

    @property
    def dtype(self) -> np.dtype[Any]:
        """Its dtype."""
        return self.value.dtype

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        name = ufunc.__name__
        values = [self._of(x) for x in inputs]
        rule = RULES.get((name, values[0].dtype.kind))
        if method != "__call__" or kwargs:
            raise NativeUnavailableError(f"there are no instructions for {name} by {method}")
        self.used.append(name)
        if rule is not None:
            return self._number(rule.emit(self.writer, *values))
        return self._number(self._by_loop(find_special(ufunc), values))

    def _by_loop(self, primitive: Primitive | None, values: list[Value]) -> Value:
        """A function of SciPy, by the inner loop of its ufunc."""
        loop = [value.dtype for value in values] + [self.real]
        if primitive is None or not has_loop(primitive.name, loop):
            raise NativeUnavailableError("there are no instructions for a function of a formula")
        return emit_loop(self.writer, primitive.name, loop, values)

    def _number(self, value: Value) -> FormulaNumber:
        return FormulaNumber(self.writer, value, self.used, self.real)

    def _of(self, x: Any) -> Value:
        if isinstance(x, FormulaNumber):
            return x.value
        return self.writer.constant_of(x, self.real, self.value.lanes)

    def choose(self, x: Any, y: Any) -> FormulaNumber:
        """x where this mask holds, y elsewhere."""
        return self._number(self.writer.select(self.value, self._of(x), self._of(y)))

    def squared(self) -> tuple[FormulaNumber, FormulaNumber]:
        """The square, rounded, and what was lost."""
        x = self.value
        square = self.writer.multiply(x, x)
        lost = self.writer.intrinsic("fma", x, x, self.writer.negative(square))
        self.used += ["multiply", "multiply"]
        return self._number(square), self._number(lost)


@dataclass(frozen=True, slots=True)
class WrittenFormula:
    """How a formula is written, and about how many additions it takes as long as."""

    rule: Rule
    names: tuple[str, ...]


@cache
def written(name: str) -> WrittenFormula | None:
    """The rule of a primitive that is a formula of what has instructions; None for all others."""
    primitive = PRIMITIVES.get(name)
    ufunc = None if primitive is None else primitive.ufunc
    if not isinstance(ufunc, Formula):
        return None

    def emit(writer: ElementWriter, *operands: Value) -> Value:
        return _written(ufunc, writer, operands, [])

    names: list[str] = []
    trial = ElementWriter(Block(Module()), [])
    try:
        _written(ufunc, trial, [trial.constant(1.5, Value(("0",), DOUBLE))] * ufunc.nin, names)
    except NativeUnavailableError:
        return None
    exact = all((rule := RULES.get((used, "f"))) is not None and rule.exact for used in names)
    return WrittenFormula(Rule(emit, exact and not ufunc.wide), tuple(names))


def _written(formula: Formula, writer: ElementWriter, operands: Any, used: list[str]) -> Value:
    narrow = formula.wide and operands[0].dtype == SINGLE
    if narrow:
        operands = [writer.change("fpext", operand, DOUBLE) for operand in operands]
    value: Value = formula.rule(
        *(FormulaNumber(writer, operand, used) for operand in operands)
    ).value
    return writer.change("fptrunc", value, SINGLE) if narrow else value
