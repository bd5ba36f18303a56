"""Stand-ins for NumPy's ufuncs, which understand traced arrays wherever they are handed over."""

from __future__ import annotations

from typing import Any

from adjoint.capture.numpy.table import any_traced, as_operand
from adjoint.capture.numpy.ufuncs import COMPOSED
from adjoint.capture.recording import protocols
from adjoint.capture.recording.applying import apply_one
from adjoint.capture.recording.trace import current, inside
from adjoint.capture.recording.traced import Traced, wrap
from adjoint.capture.recording.valued import agreed
from adjoint.primitives import UFUNCS

_METHODS = frozenset({"accumulate", "at", "outer", "reduce", "reduceat"})


def _arrays(args: Any) -> Any:
    """Arguments with lists that hold traced values as arrays, to which NumPy's dispatch goes."""
    return [as_operand(x) if isinstance(x, (list, tuple)) and any_traced(x) else x for x in args]


class ShadowUfunc:
    """A ufunc that spares traced arguments NumPy's dispatch.

    Its methods and attributes are the original's.
    """

    __slots__ = ("__wrapped__", "_bare")

    def __init__(self, original: Any) -> None:
        self.__wrapped__ = original
        primitive = UFUNCS.get(original)
        plain = primitive is not None and not primitive.multiple and original not in COMPOSED
        self._bare = primitive.bare if primitive is not None and plain else None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The ufunc, called."""
        bare = self._bare
        if bare is not None and not kwargs and len(args) == self.__wrapped__.nin:
            if len(args) == 1:
                (operand,) = args
                if type(operand) is Traced and operand._trace is not None:
                    return self._of_one(operand)
            elif len(args) == 2 and (type(args[0]) is Traced or type(args[1]) is Traced):
                return protocols.UFUNC(self.__wrapped__, "__call__", args, {})
        args = _arrays(args)
        if kwargs and any_traced(kwargs.values()):  # to which NumPy does not look
            count = self.__wrapped__.nin
            if len(args) > count:
                kwargs["out"] = tuple(args[count:])
            return protocols.UFUNC(self.__wrapped__, "__call__", args[:count], kwargs)
        result = self.__wrapped__(*args, **kwargs)
        return wrap(result) if current() is not None else result

    def _of_one(self, operand: Traced) -> Any:
        if operand._state is not None or operand._value is None or inside():
            return protocols.UFUNC(self.__wrapped__, "__call__", (operand,), {})
        value = self.__wrapped__(operand._value)
        assert self._bare is not None  # else it would not be asked
        result = apply_one(self._bare, operand)
        return agreed(value, result, ())

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.__wrapped__, name)
        if name not in _METHODS:
            return found

        def method(*args: Any, **kwargs: Any) -> Any:
            first = 2 if name == "at" else 0  # an index is no array
            args = (*args[:first], *_arrays(args[first:]))
            if any_traced(kwargs.values()):  # to which NumPy does not look
                return protocols.UFUNC(self.__wrapped__, name, args, kwargs)
            return found(*args, **kwargs)

        return method

    def __eq__(self, other: object) -> bool:
        return other is self or other is self.__wrapped__

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)
