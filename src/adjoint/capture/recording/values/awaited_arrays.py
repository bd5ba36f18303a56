"""Objects in user code that are arrays only while a function is captured.

NumPy's protocols lead their operations to the traced array that stands for them; so does `beside`,
where a traced array meets one.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Final

import numpy as np

_OF_ARRAYS: Final = frozenset(name for name in dir(np.ndarray) if not name.startswith("_"))


class MeetsAwaited(Exception):
    """Among arguments is an object that a traced array stands for."""


class AwaitedArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An object that a traced array stands for."""

    @abstractmethod
    def traced(self) -> Any:
        """The traced array; an error where none stands for it."""

    __hash__ = object.__hash__

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        # NumPy asks for values, which are never there: the error, or that of a traced array.
        return np.asarray(self.traced(), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*stood_for(inputs), **stood_for(kwargs))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*stood_for(args), **stood_for(kwargs))

    def __getitem__(self, index: Any) -> Any:
        return self.traced()[stood_for(index)]

    def __iter__(self) -> Any:
        return iter(self.traced())

    def __getattr__(self, name: str) -> Any:
        if name not in _OF_ARRAYS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.traced(), name)


def stood_for(value: Any) -> Any:
    """Arguments with traced arrays in the places of what they stand for."""
    if isinstance(value, AwaitedArray):
        return value.traced()
    if type(value) in (list, tuple):
        return type(value)(map(stood_for, value))
    if type(value) is dict:
        return {name: stood_for(part) for name, part in value.items()}
    return value


def holds_awaited(value: Any) -> bool:
    """Whether there is such an object among arguments."""
    if type(value) in (list, tuple):
        return any(map(holds_awaited, value))
    if type(value) is dict:
        return any(map(holds_awaited, value.values()))
    return isinstance(value, AwaitedArray)
