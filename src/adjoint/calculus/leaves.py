"""Tangents and cotangents as users give them, checked against what they belong to."""

from __future__ import annotations

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
        SpaceMismatchError: a covector was given. ShapeError, DTypeError, ArgumentTypeError: it does not match.
    """
    if isinstance(value, Covector):
        raise SpaceMismatchError(
            f"{name} is a covector of {value.space!r}, and arrays are taken here. Use space.represent(covector) for the vector "
            "that represents it, or covector.components."
        )
    expected, treedef = pytrees.flatten(model)
    given, structure = pytrees.flatten(value)
    if structure != treedef:
        raise ArgumentTypeError(
            f"{name} has the structure {pytrees.structure_text(structure)}; expected "
            f"{pytrees.structure_text(treedef)}, as in what it belongs to."
        )
    paths = pytrees.paths(model) if treedef is not None else [""]
    return [
        _matching(one, other, name + path)
        for one, other, path in zip(expected, given, paths, strict=True)
    ]


def _matching(model: Any, leaf: Any, name: str) -> Any:
    wanted = tangent_type(traced_type(model))
    if type(leaf) is not Traced and not is_numeric(leaf):
        raise ArgumentTypeError(f"{name} is a {type(leaf).__name__}; expected an array {wanted}.")
    found = traced_type(leaf)
    if found.shape != wanted.shape:
        raise ShapeError(f"{name} has shape {found.shape}; expected {wanted.shape}.")
    if found.dtype == wanted.dtype and not found.weak:
        return leaf
    if not wanted.inexact or not np.can_cast(found.dtype, wanted.dtype, "same_kind"):
        raise DTypeError(f"{name} has dtype {found.dtype}; expected {wanted.dtype}.")
    return leaf.astype(wanted.dtype) if hasattr(leaf, "astype") else wanted.dtype.type(leaf)
