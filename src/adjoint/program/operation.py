"""Operations: a primitive with its parameters, interned, and the types it has inferred so far."""

from __future__ import annotations

from typing import Any, Final, Protocol
from weakref import WeakValueDictionary

import numpy as np

from adjoint.base.arrays import ArrayType

_INFERENCE_LIMIT: Final = 2048


class PrimitiveProtocol(Protocol):
    """What a program needs to know of a primitive.

    Its name, whether it has several results, its type rule, and where it is linear.
    """

    name: str
    multiple: bool

    def infer(self, *types: ArrayType, **params: Any) -> tuple[ArrayType, ...]:
        """The types of the results, or a typed error."""

    def is_linear(self, linear: tuple[bool, ...], params: dict[str, Any]) -> bool:
        """Whether the primitive is jointly linear in the operands marked, the others held fixed."""


class Operation:
    """A primitive with its parameters. Built by `operation`: equal ones are the same object.

    held: the programs among its parameters, as `held_programs` has found them; None before.
    """

    __slots__ = ("__weakref__", "_inferred", "held", "multiple", "params", "primitive")

    def __init__(self, primitive: Any, params: dict[str, Any]) -> None:
        self.primitive = primitive
        self.params = params
        self.multiple: bool = primitive.multiple
        self.held: tuple[Any, ...] | None = None
        self._inferred: dict[tuple[ArrayType, ...], tuple[ArrayType, ...]] = {}

    def infer(self, types: tuple[ArrayType, ...]) -> tuple[ArrayType, ...]:
        """The types of the results for these operand types; inferred once for each combination."""
        inferred = self._inferred.get(types)
        if inferred is None:
            inferred = self.primitive.infer(*types, **self.params)
            if len(self._inferred) >= _INFERENCE_LIMIT:
                self._inferred.clear()
            self._inferred[types] = inferred
        return inferred

    def __repr__(self) -> str:
        return f"{self.primitive.name}{parameter_text(self.params)}"


_SIGNED_ZEROS = (float, complex, np.inexact)
_living: WeakValueDictionary[Any, Operation] = WeakValueDictionary()


def operation(primitive: Any, **params: Any) -> Operation:
    """The one `Operation` of a primitive with these (hashable) parameters."""
    # Zeros of both signs are equal, and are not the same.
    signs = [repr(value) for value in params.values() if isinstance(value, _SIGNED_ZEROS)]
    key = (primitive, *params.items(), *signs)
    interned = _living.get(key)
    if interned is None:
        interned = _living.setdefault(key, Operation(primitive, params))
    return interned


def parameter_text(params: dict[str, Any]) -> str:
    """Parameters as programs print them: `[axes=(0,)]`, or nothing."""
    if not params:
        return ""
    return "[" + ", ".join(f"{name}={_text(value)}" for name, value in params.items()) + "]"


def _text(value: Any) -> str:
    if isinstance(value, tuple) and value and hasattr(value[0], "equations"):
        return f"({', '.join(map(_text, value))})"
    if hasattr(value, "equations"):  # a program that a loop or a branch holds
        count = len(value.equations)
        return f"<{count} equation{'' if count == 1 else 's'}>"
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) else str(value)
