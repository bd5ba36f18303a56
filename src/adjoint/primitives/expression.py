"""Expressions, in which rules are written: operations on them append equations to a builder."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from adjoint.base.arrays import ArrayType, Shape
from adjoint.base.errors import MissingRuleError
from adjoint.primitives.declaration import UFUNCS, Primitive
from adjoint.program import Atom, Builder, Literal, operation


class Expression(NDArrayOperatorsMixin):
    """An atom of a program under construction, under NumPy's operators and known ufuncs."""

    __slots__ = ("atom", "builder")

    def __init__(self, builder: Builder, atom: Atom) -> None:
        self.builder = builder
        self.atom = atom

    @property
    def type(self) -> ArrayType:
        """Its type."""
        return self.atom.type

    @property
    def shape(self) -> Shape:
        """Its shape."""
        return self.atom.type.shape

    @property
    def ndim(self) -> int:
        """Its number of axes."""
        return self.atom.type.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        """Its dtype."""
        return self.atom.type.dtype

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        primitive = UFUNCS.get(ufunc)
        if primitive is None or method != "__call__" or kwargs:
            raise MissingRuleError(f"A rule calls {ufunc!r}, which is not a primitive.")
        return bind(primitive, *inputs)

    def __repr__(self) -> str:
        return f"<expression {self.atom.type}>"


def bind(
    primitive: Primitive, *operands: Any, builder: Builder | None = None, **params: Any
) -> Any:
    """Apply a primitive to expressions and scalars. Multiple results come as a tuple."""
    if builder is None:
        builder = next(x.builder for x in operands if isinstance(x, Expression))
    atoms = [x.atom if isinstance(x, Expression) else Literal(x) for x in operands]
    op = operation(primitive, **params) if params else primitive.bare
    results = builder.emit(op, atoms)
    if primitive.multiple:
        return tuple([Expression(builder, result) for result in results])
    return Expression(builder, results[0])
