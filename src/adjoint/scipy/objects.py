"""Objects that SciPy has made, such as splines: what stands for them in captured code."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, ClassVar

from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.numpy.table import unwrap_all
from adjoint.capture.recording.values.valued import refuse
from adjoint.capture.scipy.table import SCIPY_OBJECTS, is_traced


class InPlaceOf:
    """Ours in the place of an object of SciPy's, of whose methods it has those with derivatives.

    names: SciPy's classes in scipy.interpolate, whose other methods are refused by name.
    """

    names: ClassVar[tuple[str, ...]] = ()

    def __getattr__(self, name: str) -> Any:
        home = import_module("scipy.interpolate")  # here already, and slow to import
        known = [kind for kind in self.names if hasattr(getattr(home, kind), name)]
        if name.startswith("_") or not known:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        error = UnsupportedFunctionError(
            f"scipy.interpolate.{known[0]}.{name} was given traced values, or belongs to an object "
            "that is made of them, and has no derivative here. Call it on an object of constant "
            "numbers, at constant places."
        )
        refuse(error)
        raise error


class StandIn:
    """Stands in for an object of SciPy's: ours is asked where a traced point comes.

    `derivative()` and the like of it stand in for what SciPy makes in turn.
    """

    def __init__(self, original: Any, ours: Callable[[Any], Any]) -> None:
        self._original, self._ours = original, ours

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Its value: SciPy's, or ours at traced points."""
        if is_traced(*args, *kwargs.values()):
            return self._ours(self._original)(*args, **kwargs)
        plain = {name: unwrap_all(argument) for name, argument in kwargs.items()}
        return self._original(*map(unwrap_all, args), **plain)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._original, name)
        if not callable(value):
            return value

        def method(*args: Any, **kwargs: Any) -> Any:
            if is_traced(*args, *kwargs.values()):
                return getattr(self._ours(self._original), name)(*args, **kwargs)
            result = value(*args, **kwargs)
            makers = [SCIPY_OBJECTS.get(kind.__name__) for kind in type(result).__mro__]
            return next((maker(result) for maker in makers if maker is not None), result)

        return method


def stands_in(ours: Callable[[Any], Any], *names: str) -> None:
    """Declare what of ours an object of such a class of SciPy's is, at traced points."""
    for name in names:
        SCIPY_OBJECTS[name] = lambda value: StandIn(value, ours)
