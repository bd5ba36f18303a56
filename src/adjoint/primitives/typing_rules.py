"""Type rules that several families share: broadcasting and NumPy's own dtype resolution."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, Shape, array_type
from adjoint.base.errors import DTypeError, ShapeError

_PYTHON_TYPES = {"f": float, "i": int, "c": complex, "b": bool}


def broadcast_shape(name: str, *shapes: Shape) -> Shape:
    """The shape that these broadcast to, or ShapeError with NumPy's wording."""
    try:
        return tuple(int(length) for length in np.broadcast_shapes(*shapes))
    except ValueError:
        listing = " ".join(str(shape).replace(" ", "") for shape in shapes)
        raise ShapeError(
            f"{name}: operands could not be broadcast together with shapes {listing}. "
            "Axes must agree, or be 1, counted from the last."
        ) from None


class LateUfunc:
    """A ufunc of a module that is imported when first needed, since SciPy is slow to import."""

    __slots__ = ("__name__", "_ufunc", "module")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.__name__ = name
        self._ufunc: Any = None

    def resolve(self) -> Any:
        """The ufunc itself."""
        if self._ufunc is None:
            self._ufunc = getattr(import_module(self.module), self.__name__)
        return self._ufunc

    def __call__(self, *operands: Any) -> Any:
        """Apply it."""
        return self.resolve()(*operands)


def resolve(ufunc: Any) -> Any:
    """The ufunc, imported now if it was to be imported late."""
    return ufunc.resolve() if isinstance(ufunc, LateUfunc) else ufunc


def ufunc_types(ufunc: np.ufunc, *types: ArrayType) -> tuple[ArrayType, ...]:
    """The types of the results of a ufunc, by NumPy's own resolution (NEP 50)."""
    given = tuple(_PYTHON_TYPES[t.dtype.kind] if t.weak else t.dtype for t in types)
    try:
        resolved = ufunc.resolve_dtypes((*given, *[None] * ufunc.nout))
    except TypeError as error:
        listing = ", ".join(map(str, types))
        raise DTypeError(f"{ufunc.__name__} is not defined for {listing}: {error}") from None
    shape = broadcast_shape(ufunc.__name__, *(t.shape for t in types))
    return tuple(array_type(shape, dtype) for dtype in resolved[ufunc.nin :])


def promoted(*types: ArrayType) -> np.dtype[Any]:
    """The dtype that NumPy gives to a combination of these types."""
    return np.result_type(*(_weak_example(t) if t.weak else t.dtype for t in types))


def _weak_example(type: ArrayType) -> Any:
    return _PYTHON_TYPES[type.dtype.kind](0)
