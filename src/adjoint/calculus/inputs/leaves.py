"""Tangents and cotangents as users give them, checked against what they belong to."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import is_numeric
from adjoint.base.errors import ArgumentTypeError, DTypeError, ShapeError, SpaceMismatchError
from adjoint.capture import Traced, traced_type
from adjoint.spaces import Covector
from adjoint.transforms import tangent_type


def matching_leaves(model: Any, value: Any, name: str) -> list[Any]:
    """The leaves of a tangent or cotangent, each of the shape and dtype of the model's.

    Raises:
        SpaceMismatchError: a covector was given. ShapeError, DTypeError, ArgumentTypeError: it does
            not match.
    """
    expected, treedef = pytrees.flatten(model)
    given, structure = pytrees.flatten(value)
    if not pytrees.alike(structure, treedef):
        _refuse_covectors(value, name)
        raise ArgumentTypeError(
            f"{name} has the structure {pytrees.structure_text(structure)}; expected "
            f"{pytrees.structure_text(treedef)}, as in what it belongs to."
        )
    if all(map(_fits, expected, given)):
        return given
    return [
        other if _fits(one, other) else _matching(one, other, name, model, place)
        for place, (one, other) in enumerate(zip(expected, given, strict=True))
    ]


@lru_cache(maxsize=1024)
def covector_in(treedef: Any) -> Any:
    """The first covector in a structure (its components are placeholders), or None."""
    return pytrees.find(pytrees.unflatten(treedef, range(treedef.num_leaves)), Covector)


def refuse_covector_results(treedef: Any, name: str) -> None:
    """SpaceMismatchError if a function returns covectors where arrays are to be stacked."""
    covector = None if treedef is None else covector_in(treedef)
    if covector is not None:
        raise SpaceMismatchError(
            f"{name} was asked of a function that returns a covector on {covector.space!r}. Its "
            "results are arrays of many at once: return covector.components, or "
            "space.represent(covector)."
        )


def _refuse_covectors(value: Any, name: str) -> None:
    covector = pytrees.find(value, Covector)
    if covector is not None:
        raise SpaceMismatchError(
            f"{name} is, or holds, a covector on {covector.space!r}, where arrays are taken. Use "
            "space.represent(covector) for "
            "the vector that represents it, or covector.components."
        )


_SCALARS = frozenset({np.float64, np.float32, np.complex128, np.complex64})


def _fits(model: Any, leaf: Any) -> bool:
    """Whether there is nothing to do: both are concrete arrays, or NumPy's numbers, of one type."""
    kind = type(leaf)
    if kind is not type(model):
        return False
    if kind is not np.ndarray:
        return kind in _SCALARS
    return bool(leaf.shape == model.shape and leaf.dtype == model.dtype and leaf.dtype.kind in "fc")


def _matching(model: Any, leaf: Any, name: str, whole: Any, place: int) -> Any:
    """The leaf at a place of a whole, of the type of the model's."""
    wanted = tangent_type(traced_type(model))
    if type(leaf) is not Traced and not is_numeric(leaf):
        name += pytrees.paths(whole)[place]
        raise ArgumentTypeError(f"{name} is a {type(leaf).__name__}; expected an array {wanted}.")
    given = traced_type(leaf)
    if given.shape != wanted.shape:
        name += pytrees.paths(whole)[place]
        raise ShapeError(f"{name} has shape {given.shape}; expected {wanted.shape}.")
    if given.dtype == wanted.dtype and not given.weak:
        return leaf
    if not wanted.inexact or not np.can_cast(given.dtype, wanted.dtype, "same_kind"):
        name += pytrees.paths(whole)[place]
        raise DTypeError(f"{name} has dtype {given.dtype}; expected {wanted.dtype}.")
    return leaf.astype(wanted.dtype) if hasattr(leaf, "astype") else wanted.dtype.type(leaf)
