"""Random stencils: arrays are joined to others along one axis, and then along another one."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import type_of
from adjoint.primitives import PRIMITIVES
from adjoint.program import Atom, Builder, Program, Variable, operation


def random_stencil(seed: int) -> tuple[Program, list[Any]]:
    """Some steps, each of which moves an array and adds what it was before, and the arguments."""
    generator = np.random.default_rng(seed)
    shape = tuple(int(n) for n in generator.integers(3, 40, int(generator.integers(1, 4))))
    arguments = [generator.normal(size=shape) for _ in range(2)]
    builder = Builder()
    values: list[Atom] = [builder.input(type_of(x)) for x in arguments]
    for _ in range(int(generator.integers(2, 7))):
        one, other = (values[int(n)] for n in generator.integers(len(values), size=2))
        for _ in range(int(generator.integers(1, 4))):
            one = _moved(builder, one, other, generator)
        values.append(builder.emit(operation(PRIMITIVES["add"]), [one, other])[0])
    return builder.build(values[-2:]), arguments


def _moved(builder: Builder, one: Atom, other: Atom, generator: np.random.Generator) -> Variable:
    """An array some places further on, or back, and rows of another one in what is left."""
    shape = one.type.shape
    axis = int(generator.integers(len(shape)))
    count, length = int(generator.integers(1, shape[axis])), shape[axis]
    pieces = [(other, 0, count), (one, 0, length - count)]
    if generator.random() < 0.5:
        pieces = [(one, count, length), (other, 0, count)]
    parts: list[Variable] = []
    for source, start, stop in pieces:
        index = tuple((start, stop, 1) if k == axis else (0, n, 1) for k, n in enumerate(shape))
        parts += builder.emit(operation(PRIMITIVES["slice"], index=index), [source])
    return builder.emit(operation(PRIMITIVES["concatenate"], axis=axis), parts)[0]
