"""What `ad.grad(f)` and its like return: a function that remembers what it was made of.

It shows f's name, documentation and signature, and is pickled as the call that made it, so that it
can be sent to other processes. Called, it costs no more than a `functools.partial`.
"""

from __future__ import annotations

import functools
import importlib
import operator
import types
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

# How the results of transforms are typed: by the first argument of a function, which is
# differentiated, and its others; by what it returns, alone or with something else.
Parameters = ParamSpec("Parameters")
First = TypeVar("First", bound=Any)  # of which a lambda may do anything
Result = TypeVar("Result")
Auxiliary = TypeVar("Auxiliary")


class _Documentation:
    """The docstring of the class, and of an instance that of the function it was derived from."""

    def __get__(self, derived: Any, kind: type) -> Any:
        return __doc__ if derived is None else getattr(derived.__wrapped__, "__doc__", None)


class Derived(functools.partial):  # type: ignore[type-arg]  # of no arguments: see `func`
    """A function that another was made into.

    func: what is called. transform, options: what made it, with which keyword arguments. origin:
    the function that it was made of.
    """

    __slots__ = ("options", "origin", "transform")

    transform: Callable[..., Any]
    origin: Callable[..., Any]
    options: dict[str, Any]

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return self.origin

    @property
    def __name__(self) -> str:
        return getattr(self.origin, "__name__", type(self.origin).__name__)

    def __getattr__(self, name: str) -> Any:
        if name == "__qualname__":  # that of the class cannot be a property
            return getattr(self.origin, name, self.__name__)
        raise AttributeError(f"a derived function has no attribute {name!r}")

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        """A method, where a class has it as an attribute."""
        return self if owner is None else types.MethodType(self, owner)

    def __repr__(self) -> str:
        return f"<{self.transform.__name__} of {self.__qualname__}>"

    def __reduce__(self) -> Any:
        home, name = getattr(self.origin, "__module__", None), self.__qualname__
        if home is not None and _named(home, name, self) is self:  # it decorates its function
            return _named, (home, name)
        return _made_again, (self.transform, self.origin, self.options)

    def __copy__(self) -> Derived:
        return self

    def __deepcopy__(self, memo: Any) -> Derived:
        return self


setattr(Derived, "__doc__", _Documentation())  # noqa: B010  # mypy takes it for a string


def derived(
    called: Callable[..., Any], transform: Callable[..., Any], origin: Any, options: dict[str, Any]
) -> Derived:
    """`transform(origin, **options)`, which is what `called` does."""
    result = Derived(called)
    result.transform, result.origin, result.options = transform, origin, options
    return result


def core(function: Any) -> Any:
    """The plain function within a derived one; others are themselves."""
    return function.func if type(function) is Derived else function


def _made_again(transform: Any, origin: Any, options: dict[str, Any]) -> Any:
    return transform(origin, **options)


def _named(home: str, name: str, default: Any = None) -> Any:
    """What a module calls by a name, dots and all."""
    try:
        return operator.attrgetter(name)(importlib.import_module(home))
    except (ImportError, AttributeError):
        if default is None:
            raise
        return None
