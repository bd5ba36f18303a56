"""Programs as functions of JAX's arrays, equation by equation.

NumPy decides the types: each result is given the dtype that the program has for it, and operands of
elementwise functions that of the loop that NumPy would run. What NumPy would refuse is a *fault*, a
condition that is computed along; a program with a fault has no results, and NumPy runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from importlib import import_module
from operator import or_
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.base.errors import ProgramError
from adjoint.executors.interface import LeftEquation
from adjoint.executors.xla.backend import jax
from adjoint.executors.xla.host import on_host, reason_for_host
from adjoint.executors.xla.rules import RULES, load_rules
from adjoint.program import Atom, Equation, Literal, Program, Variable, all_equations

_DTYPES: Final = frozenset(
    [
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    ]
)


FAULT: Final = 2  # the flag of a program that has met what NumPy would refuse


class XlaLowering:
    """Traces a program in JAX; what rules work with.

    watched: outputs, by number, of which a NaN is a fault. np, lax, special, linear_algebra: JAX's
    modules. faults: the conditions that were met so far in what is being traced. may_fail: whether
    the program that was traced last has any. left: the equations that go through the host.
    """

    def __init__(self, watched: Sequence[int] = ()) -> None:
        load_rules()
        self.watched = watched
        self.jax: Any = jax()
        self.np: Any = import_module("jax.numpy")
        self.lax: Any = import_module("jax.lax")
        self.special: Any = import_module("jax.scipy.special")
        self.linear_algebra: Any = import_module("jax.scipy.linalg")
        self.faults: list[Any] = []
        self.may_fail = False
        self.left: dict[Equation, LeftEquation] = {}

    # --- programs --------------------------------------------------------------------------------

    def flagged(self, program: Program, *operands: Any) -> tuple[Any, ...]:
        """A flag, and the results. The flag is 1 where a result is infinite or NaN, or `FAULT`."""
        with self.within() as faults:
            results = self.outputs(program, operands)
            faults += [self.np.isnan(results[place]) for place in self.watched]
            pairs = zip(results, program.output_types, strict=True)
            infinite = self.any_of([~self.np.isfinite(x) for x, type_ in pairs if type_.inexact])
            flag = self.np.where(self.any_of(faults), FAULT, infinite)
        return (self.cast(flag, np.dtype(np.uint8)), *results)

    def unflagged(self, program: Program, *operands: Any) -> tuple[Any, ...]:
        """The results, and before them whether there was a fault, if it `may_fail`."""
        with self.within() as faults:
            results = self.outputs(program, operands)
            self.may_fail = bool(faults)
            return (self.any_of(faults), *results) if faults else tuple(results)

    def outputs(self, program: Program, operands: Sequence[Any]) -> list[Any]:
        """The outputs of a program, whose faults are among those of what is being traced."""
        values: dict[Variable, Any] = dict(zip(program.inputs, operands, strict=True))
        for equation in program.equations:
            given = [self.value(atom, values) for atom in equation.inputs]
            results = self._results(equation, given)
            values.update(zip(equation.outputs, results, strict=True))
        return [self.value(atom, values) for atom in program.outputs]

    def value(self, atom: Atom, values: dict[Variable, Any]) -> Any:
        """The array of an operand."""
        if isinstance(atom, Literal):
            return self.np.asarray(np.asarray(atom.value, atom.type.dtype))
        return values[atom]

    def _results(self, equation: Equation, operands: Sequence[Any]) -> list[Any]:
        rule = RULES.get(equation.primitive.name)
        results = None if rule is None else rule(self, equation, *operands)
        if results is None:
            self.left[equation] = LeftEquation.of(equation, reason_for_host(equation))
            results = on_host(self, equation, operands)
        if not equation.primitive.multiple:
            results = (results,)
        types = [variable.type for variable in equation.outputs]
        return [self._checked(equation, *pair) for pair in zip(results, types, strict=True)]

    def _checked(self, equation: Equation, result: Any, type_: ArrayType) -> Any:
        result = self.cast(result, type_.dtype)
        if result.shape != type_.shape:
            raise ProgramError(f"On XLA, {equation} gives an array of shape {result.shape}.")
        return result

    # --- what rules use --------------------------------------------------------------------------

    def cast(self, x: Any, dtype: np.dtype[Any]) -> Any:
        """An array of another dtype, as `astype` gives it; of a complex number the real part."""
        x = self.np.asarray(x)
        if x.dtype == dtype:
            return x
        if x.dtype.kind == "c" and dtype.kind not in "cb":
            x = self.np.real(x)
        return x != 0 if dtype.kind == "b" else self.lax.convert_element_type(x, dtype)

    def any_of(self, conditions: Sequence[Any]) -> Any:
        """Whether any entry of any condition holds."""
        if not conditions:
            return self.np.asarray(False)
        return reduce(or_, [self.np.any(condition) for condition in conditions])

    def fault(self, condition: Any) -> None:
        """Note a condition under which NumPy is to run the program."""
        self.faults.append(condition)

    @contextmanager
    def within(self) -> Iterator[list[Any]]:
        """A program within, whose faults are its own until the block ends."""
        before, self.faults = self.faults, []
        try:
            yield self.faults
        finally:
            self.faults = before

    def inner(self, program: Program) -> Callable[..., tuple[Any, ...]]:
        """A program within an equation, as a function whose last result is whether it is faulty."""

        def run(*operands: Any) -> tuple[Any, ...]:
            with self.within() as faults:
                results = self.outputs(program, operands)
                return (*results, self.any_of(faults))

        return run


def is_known(program: Program) -> bool:
    """Whether XLA has all dtypes of a program."""
    atoms = {
        atom
        for equation in all_equations(program)
        for atom in (*equation.inputs, *equation.outputs)
    }
    types = [*program.input_types, *program.output_types, *(atom.type for atom in atoms)]
    return all(type_.dtype.name in _DTYPES and type_.dtype.isnative for type_ in types)
