"""The arguments and results of custom functions: taken apart, put together, and run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType
from adjoint.base.errors import ArgumentTypeError, DroppedDerivativeError, DTypeError, ShapeError
from adjoint.capture import Traced, closes_over, is_known, sealed, traced_type, unwrap
from adjoint.transforms import tangent_type

OPERAND: Final = object()


class Arguments:
    """Arguments taken apart: the arrays that are operands, and the rest, which is static."""

    __slots__ = ("arity", "keywords", "statics", "treedef")

    def __init__(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        leaves, self.treedef = pytrees.flatten(args)
        self.statics = tuple(OPERAND if is_operand(leaf) else leaf for leaf in leaves)
        self.keywords = keywords
        self.arity = len(args)

    def join(self, operands: Sequence[Any]) -> Any:
        """The arguments with these operands in their places."""
        waiting = iter(operands)
        whole = [next(waiting) if leaf is OPERAND else leaf for leaf in self.statics]
        return pytrees.unflatten(self.treedef, whole)

    def join_moving(self, slopes: Sequence[Any], types: Sequence[ArrayType]) -> Any:
        """One tangent an argument: None for what is static or holds no floating-point numbers."""
        waiting, kinds = iter(slopes), iter(types)
        whole = [
            next(waiting) if leaf is OPERAND and next(kinds).inexact else None
            for leaf in self.statics
        ]
        return pytrees.unflatten(self.treedef, whole)

    def split(self, tree: Any, types: Sequence[ArrayType], name: str) -> list[Any]:
        """The cotangents of the inexact operands, from one an argument."""
        parts = matched(self.treedef, tree, name)
        operands = [part for part, leaf in zip(parts, self.statics, strict=True) if leaf is OPERAND]
        return [
            fitting(part, tangent_type(type_), name)
            for part, type_ in zip(operands, types, strict=True)
            if type_.inexact
        ]


def is_operand(leaf: Any) -> bool:
    """Whether a leaf of the arguments is an array or a floating-point number, and not static."""
    return isinstance(leaf, (Traced, np.ndarray, float, complex, np.inexact))


def run_function(
    name: str, function: Callable[..., Any], arguments: Arguments, operands: Sequence[Any]
) -> tuple[list[Any], Any]:
    """The leaves and the structure of the result on concrete operands.

    Arrays are copied on the way in and out: the function may write into its arguments or keep its
    result, and the program's memory is used again.
    """
    copies = [x.copy() if isinstance(x, np.ndarray) else x for x in operands]
    with sealed(f"The function {name}"):
        result = function(*arguments.join(copies), **arguments.keywords)
    leaves, treedef = pytrees.flatten(result)
    for leaf in leaves:
        if type(leaf) is Traced and not is_known(leaf):
            raise DroppedDerivativeError(closes_over(f"The function {name}", leaf))
    arrays = [np.array(unwrap(leaf)) for leaf in leaves]
    for array in arrays:
        if array.dtype.kind not in "biufc":
            raise ArgumentTypeError(
                f"{name} returned an object of dtype {array.dtype}. A function that capture does "
                "not enter returns arrays or numbers, in containers or alone."
            )
    return arrays, treedef


def require_closed(name: str, function: Any) -> None:
    """DroppedDerivativeError if a function closes over traced arrays.

    Where the function is not run, since only its derivative is wanted, nothing else would tell.
    """
    for cell in getattr(function, "__closure__", None) or ():
        try:
            content = cell.cell_contents
        except ValueError:  # not bound yet
            continue
        held = pytrees.leaves(content) if type(content) in (list, tuple, dict) else (content,)
        for leaf in held:
            if type(leaf) is Traced and not is_known(leaf):
                raise DroppedDerivativeError(closes_over(f"The function {name}", leaf))


def matched(treedef: Any, tree: Any, name: str) -> list[Any]:
    """The parts of a tree in the places of another's leaves; None is a part too."""
    if treedef is None:
        return [tree]
    try:
        return treedef.flatten_up_to(tree)  # type: ignore[no-any-return]
    except (ValueError, TypeError):
        leaves, structure = pytrees.flatten(tree)
        if pytrees.alike(structure, treedef):
            return leaves
        raise ArgumentTypeError(
            f"{name} has the structure {pytrees.structure_text(structure)}; "
            f"expected {pytrees.structure_text(treedef)}, as in what it belongs to."
        ) from None


def fitting(leaf: Any, wanted: ArrayType, name: str) -> Any:
    """A tangent or cotangent with the right shape and dtype; None stands for zero."""
    if leaf is None:
        return np.zeros(wanted.shape, wanted.dtype)
    try:
        given = traced_type(leaf)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"{name} holds a {type(leaf).__name__}; expected {wanted}."
        ) from None
    if given.shape != wanted.shape:
        raise ShapeError(f"{name} has shape {given.shape}; expected {wanted.shape}.")
    if given.dtype == wanted.dtype and not given.weak:
        return leaf
    if not np.can_cast(given.dtype, wanted.dtype, "same_kind"):
        raise DTypeError(
            f"{name} has dtype {given.dtype}; expected {wanted.dtype}. Take the real part, or "
            "convert it with .astype."
        )
    return leaf.astype(wanted.dtype) if type(leaf) is Traced else np.asarray(leaf, wanted.dtype)
