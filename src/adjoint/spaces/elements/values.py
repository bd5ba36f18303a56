"""What a value is: words for it in error messages, and whether it is a scalar."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from adjoint.base.pytrees import leaves

_PYTHON_NUMBERS: Final = (bool, int, float, complex)


def describe(value: Any) -> str:
    """Type, shape and dtype of a value, as an error message says what was found.

    Example:
        >>> import numpy as np
        >>> describe(np.ones(2))
        'an array of shape (2,) and dtype float64'
    """
    own_words = getattr(type(value), "_summary", None)
    if own_words is not None:
        return str(own_words(value))
    if type(value) in _PYTHON_NUMBERS:
        return f"the Python {type(value).__name__} {value!r}"
    if isinstance(value, np.generic):
        return f"the NumPy scalar {value!r}"
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is not None and dtype is not None:
        kind = "an array" if isinstance(value, np.ndarray) else f"an array ({_type_name(value)})"
        return f"{kind} of shape {shape} and dtype {dtype}"
    if isinstance(value, (list, tuple, dict)):
        return f"a {type(value).__name__} of length {len(value)}"
    return f"an object of type {_type_name(value)}"


def _type_name(value: Any) -> str:
    return type(value).__qualname__


def is_real_scalar(value: Any) -> bool:
    """Whether the value is one real number: Python, NumPy, or a zero-dimensional (traced) array."""
    if type(value) in _PYTHON_NUMBERS:
        return type(value) in (int, float)
    dtype = getattr(value, "dtype", None)
    return dtype is not None and getattr(value, "shape", None) == () and dtype.kind in "iuf"


def is_complex_scalar(value: Any) -> bool:
    """Whether the value is one complex number."""
    if type(value) is complex:
        return True
    dtype = getattr(value, "dtype", None)
    return dtype is not None and getattr(value, "shape", None) == () and dtype.kind == "c"


def weak_scalar(value: Any) -> Any:
    """The scalar as a Python number, which does not widen the arrays it multiplies (NEP 50)."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.item()
    return value


def copied(tree_leaf: Any, writeable: bool) -> Any:
    """A copy of a concrete array, so that later writes to the original do not reach it."""
    if not isinstance(tree_leaf, np.ndarray):
        return tree_leaf
    copy = np.array(tree_leaf)
    copy.setflags(write=writeable)
    return copy


def is_concrete(tree: Any) -> bool:
    """Whether all leaves of a tree are numbers and arrays of NumPy, and none is traced."""
    kinds = (np.ndarray, np.generic, *_PYTHON_NUMBERS)
    return all(isinstance(leaf, kinds) for leaf in leaves(tree))
