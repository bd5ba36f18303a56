"""Stand-ins for NumPy's ufuncs, which understand traced arrays wherever they are handed over."""

from __future__ import annotations

from typing import Any

from adjoint.capture.numpy.operations.ufuncs import COMPOSED
from adjoint.capture.numpy.table import any_traced, as_operand
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.trace import current
from adjoint.capture.recording.tracing.traced import Traced, wrap
from adjoint.capture.recording.values.quick import one, two
from adjoint.primitives import UFUNCS

_METHODS = frozenset({"accumulate", "at", "outer", "reduce", "reduceat"})


def _arrays(args: Any) -> Any:
    """Arguments with lists that hold traced values as arrays, to which NumPy's dispatch goes."""
    return [as_operand(x) if isinstance(x, (list, tuple)) and any_traced(x) else x for x in args]


class ShadowUfunc:
    """A ufunc that spares traced arguments NumPy's dispatch.

    Its methods and attributes are the original's.
    """

    __slots__ = ("__wrapped__", "_one", "_two")

    def __init__(self, original: Any) -> None:
        self.__wrapped__ = original
        primitive = UFUNCS.get(original)
        self._one = self._two = None
        if primitive is None or primitive.multiple or original in COMPOSED:
            return

        def slowly(*operands: Any) -> Any:
            return hooks.ufunc(original, "__call__", operands, {})

        if original.nin == 1:
            self._one = one(primitive.bare, original, slowly)
        elif original.nin == 2:
            swapped = lambda x, other: slowly(other, x)  # noqa: E731  # beside `slowly`
            self._two = two(primitive.bare, original, slowly, swapped)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The ufunc, called."""
        if not kwargs:
            if self._one is not None:
                if len(args) == 1 and type(args[0]) is Traced and args[0]._trace is not None:
                    return self._one(args[0])
            elif self._two is not None and len(args) == 2:
                if type(args[0]) is Traced:
                    return self._two[0](*args)
                if type(args[1]) is Traced:
                    return self._two[1](args[1], args[0])
        args = _arrays(args)
        if kwargs and any_traced(kwargs.values()):  # to which NumPy does not look
            count = self.__wrapped__.nin
            if len(args) > count:
                kwargs["out"] = tuple(args[count:])
            return hooks.ufunc(self.__wrapped__, "__call__", args[:count], kwargs)
        result = self.__wrapped__(*args, **kwargs)
        return wrap(result) if current() is not None else result

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.__wrapped__, name)
        if name not in _METHODS:
            return attribute

        def method(*args: Any, **kwargs: Any) -> Any:
            first = 2 if name == "at" else 0  # an index is no array
            args = (*args[:first], *_arrays(args[first:]))
            if any_traced(kwargs.values()):  # to which NumPy does not look
                return hooks.ufunc(self.__wrapped__, name, args, kwargs)
            return attribute(*args, **kwargs)

        return method

    def __eq__(self, other: object) -> bool:
        return other is self or other is self.__wrapped__

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)
