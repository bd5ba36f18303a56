"""Equations that machine code is made of by way of others."""

from __future__ import annotations

import numpy as np

from adjoint.base.arrays import array_type
from adjoint.primitives.declaration import UFUNCS
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.structure.gathering import GATHER, GATHER_SET, IOTA
from adjoint.primitives.structure.moving import reshape, zeros
from adjoint.program import Builder, Equation


def last_write(equation: Equation) -> list[Equation]:
    """Which of the writes at some indices are the last there: each place notes its last writer."""
    builder = Builder()
    indices = [Expression(builder, atom) for atom in equation.inputs]
    count = int(np.prod(indices[0].shape))
    numbers = reshape(bind(IOTA, builder=builder, length=count), indices[0].shape)
    places = zeros(builder, array_type(equation.params["shape"], numbers.dtype))
    owners = bind(GATHER_SET, places, numbers, *indices)
    bind(UFUNCS[np.equal], bind(GATHER, owners, *indices), numbers)
    *first, last = builder.equations
    same = Equation(last.operation, last.inputs, equation.outputs, derived=equation.derived)
    return [*first, same]
