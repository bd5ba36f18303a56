"""How tests write programs: a function of `Expression`s, and the types of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type, type_of
from adjoint.executors import Needs, NumpyExecutor
from adjoint.optimise import simplify
from adjoint.primitives import Expression
from adjoint.program import Builder, Program, check_program


def f8(*shape: int) -> ArrayType:
    """The type of a double-precision array."""
    return array_type(shape, np.dtype(float))


def program_of(function: Callable[..., Any], *types: ArrayType) -> Program:
    """The program of a function written on expressions, which returns one or a tuple of them."""
    builder = Builder()
    results = function(*(Expression(builder, builder.input(type_)) for type_ in types))
    results = results if isinstance(results, tuple) else (results,)
    return check_program(builder.build(result.atom for result in results))


def program_at(function: Callable[..., Any], *values: Any) -> Program:
    """The same, with the types of these arguments."""
    return program_of(function, *map(type_of, values))


def run(program: Program, *arguments: Any, strong: bool = False) -> Any:
    """The results of a program, checked and simplified, on NumPy; alone if there is one."""
    simple = check_program(simplify(check_program(program)))
    results = NumpyExecutor().compile(simple, Needs(hard=strong)).run(*arguments)
    return results[0] if len(results) == 1 else results


def names(program: Program) -> list[str]:
    """What the equations of a program apply, in order."""
    return [equation.primitive.name for equation in program.equations]
