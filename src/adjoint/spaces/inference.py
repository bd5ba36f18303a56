"""The space of a value."""

from __future__ import annotations

from typing import Any

import numpy as np
import optree

from adjoint.base.errors import ArgumentTypeError, NotDifferentiableError
from adjoint.base.pytrees import NAMESPACE, flatten, unflatten
from adjoint.base.trees.containers import container_advice
from adjoint.spaces.elements.covector import Covector
from adjoint.spaces.elements.values import describe
from adjoint.spaces.euclidean import Euclidean
from adjoint.spaces.polynomials.bases import KINDS
from adjoint.spaces.polynomials.polynomials import space_of_polynomial
from adjoint.spaces.product import Product
from adjoint.spaces.space import Space


def infer(value: Any) -> Space:
    """The Euclidean space that an array lives in, or the product of such for a tree.

    A Python float is an element of Euclidean(()); a covector one of the dual of its space, and a
    polynomial of `numpy.polynomial` one of the Euclidean space of its coefficients.

    Args:
        value: an array, a number, or a pytree of such.

    Returns:
        A `Euclidean` space, a `Product` of such in the structure of the value, or the dual of the
        space of a covector.

    Raises:
        NotDifferentiableError: a leaf is an integer or a boolean, or an array of them.
        ArgumentTypeError: a leaf is neither an array nor a number.

    Example:
        >>> import numpy as np
        >>> infer({"b": 1.0, "w": np.ones((2, 3))})
        Product({'b': Euclidean(()), 'w': Euclidean((2, 3))})
    """
    if isinstance(value, np.ndarray):
        return _leaf_space(value, "")
    flatten(value)  # registers the dataclasses that are met
    leaves, treedef = optree.tree_flatten(value, is_leaf=_is_element, namespace=NAMESPACE)
    if treedef.is_leaf():
        return _leaf_space(value, "")
    paths = [accessor.codify("") for accessor in treedef.accessors()]
    spaces = [_leaf_space(leaf, path) for leaf, path in zip(leaves, paths, strict=True)]
    return Product(unflatten(treedef, spaces))


def _is_element(value: Any) -> bool:
    return isinstance(value, (Covector, *KINDS))


def _leaf_space(leaf: Any, path: str) -> Space:
    if isinstance(leaf, Covector):
        space: Space = leaf.space
        return space.dual
    if isinstance(leaf, KINDS):
        return space_of_polynomial(leaf)
    if type(leaf) in (float, complex):
        return Euclidean((), type(leaf))
    dtype, shape = getattr(leaf, "dtype", None), getattr(leaf, "shape", None)
    if type(leaf) in (int, bool) or (shape is not None and getattr(dtype, "kind", "") in "biu"):
        raise NotDifferentiableError(
            f"The space of value{path} was asked for. Got {describe(leaf)}, and integers and "
            f"booleans "
            "form no vector space. Convert it to floating point, or keep it out of the tree."
        )
    if shape is None or dtype is None or dtype.kind not in "fc":
        turned = "Turn it into an array with np.asarray."
        if isinstance(leaf, (str, bytes)):
            turned = "Keep it out of the tree: a function may close over it."
        raise ArgumentTypeError(
            f"The space of value{path} was asked for. Got {describe(leaf)}, which is neither a "
            f"number nor an array of numbers. {turned}"
            f"{container_advice(leaf)}"
        )
    return Euclidean(tuple(shape), dtype)
