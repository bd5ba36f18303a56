"""The parameters of a space of the user's own, as something that can be compared and hashed."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final, final

import numpy as np

from adjoint.base.pytrees import flatten


@final
class SameObject:
    """A value that cannot be compared, which equals itself alone."""

    def __init__(self, value: Any) -> None:
        self.value: Final = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameObject) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def attributes(instance: Any, but: str) -> dict[str, Any]:
    """The attributes of an object, without one of them and without what it derived from others."""
    derived = {
        name
        for cls in type(instance).__mro__
        for name, value in vars(cls).items()
        if isinstance(value, cached_property)
    }
    return {
        name: value for name, value in vars(instance).items() if name != but and name not in derived
    }


def seal(instance: Any) -> None:
    """Put copies in the place of the arrays among the attributes, so that none changes any more.

    What is derived from them is kept, and would be wrong. Arrays become read-only; sparse matrices
    cannot, for SciPy sorts them in place.
    """
    for name, value in attributes(instance, but="").items():
        if isinstance(value, np.ndarray):
            copy = value.copy()
            copy.setflags(write=False)
            vars(instance)[name] = copy
        elif hasattr(value, "tocsc"):
            vars(instance)[name] = value.copy()


def comparable(value: Any) -> Any:
    """The value, with arrays and containers in it replaced by what compares their contents."""
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return SameObject(value)
        return "array", value.shape, value.dtype.str, value.tobytes()
    if hasattr(value, "tocsc"):
        matrix = value.tocsc()
        parts = (matrix.data, matrix.indices, matrix.indptr)
        return "sparse", matrix.shape, tuple(map(comparable, parts))
    if isinstance(value, (list, tuple)):
        return type(value), tuple(map(comparable, value))
    if isinstance(value, dict):
        return dict, tuple((key, comparable(entry)) for key, entry in value.items())
    try:
        hash(value)
    except TypeError:
        leaves, structure = flatten(value)  # of a dataclass, say
        if structure is not None:
            return structure, tuple(map(comparable, leaves))
        return SameObject(value)
    return value
