"""Which packages' code is entered, by name: the choice of a user, and what is kept under it."""

from __future__ import annotations

import functools
import importlib.util
import sys
import types
from typing import Any, Final

from adjoint.base.errors import ArgumentError, ArgumentTypeError

_RULED: Final = ("numpy", "scipy")
_KEPT: Final = 64  # choices whose clones are kept


class PackageChoice:
    """The names that are entered and those that are left, beyond what holds by itself.

    files, foreign, users, rebound, clones, codes: what capture has decided and made under it; each
    file that knows of them says what they are. The same object for the same names, while it is
    kept.
    """

    __slots__ = ("clones", "codes", "enter", "files", "foreign", "leave", "rebound", "users")

    def __init__(self, enter: tuple[str, ...], leave: tuple[str, ...]) -> None:
        self.enter, self.leave = enter, leave
        self.files: dict[str, bool] = {}
        self.foreign: set[type] = set()
        self.users: dict[int, Any] = {}
        self.rebound: Any = None
        self.clones: dict[int, Any] = {}
        self.codes: dict[int, Any] = {}

    def entered(self, name: str, default: bool) -> bool:
        """Whether a module of a name is entered: the longest name that it begins with decides."""
        chosen = [(len(x), x in self.enter) for x in (*self.enter, *self.leave) if _within(name, x)]
        return max(chosen)[1] if chosen else default


@functools.lru_cache(maxsize=_KEPT)
def choice_of(enter: tuple[str, ...], leave: tuple[str, ...]) -> PackageChoice:
    """The choice of these names."""
    return PackageChoice(enter, leave)


def names_of(argument: str, given: Any) -> tuple[str, ...]:
    """Names of packages and modules, checked and in order.

    argument: what they were given as, `enter` or `leave`.
    """
    names = (given,) if isinstance(given, (str, types.ModuleType)) else given
    if not isinstance(names, (tuple, list, set, frozenset)):
        raise ArgumentTypeError(
            f"{argument} must be the name of a package or module, or a tuple of names, got "
            f"{given!r}."
        )
    for name in names:
        _check(argument, name)
    return tuple(sorted(set(names)))


def check_apart(enter: tuple[str, ...], leave: tuple[str, ...]) -> None:
    """Refuse a name that is to be entered and left."""
    for name in enter:
        if name in leave:
            raise ArgumentError(f"enter and leave both name {name!r}; give it to one of them.")


def without(names: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    """Names, but for those that are named anew elsewhere."""
    return tuple([name for name in names if name not in others])


def _check(argument: str, name: Any) -> None:
    if isinstance(name, types.ModuleType):
        raise ArgumentTypeError(
            f"{argument} takes names, got a module; give its name: {argument}={name.__name__!r}."
        )
    if not isinstance(name, str):
        raise ArgumentTypeError(
            f"{argument} must be the name of a package or module, or a tuple of names, got one of "
            f"type {type(name).__name__}."
        )
    if not name or not all(map(str.isidentifier, name.split("."))):
        raise ArgumentError(f"{argument} must name a package or module, got {name!r}.")
    if argument == "enter":
        _check_enterable(name)
    if not _exists(name):
        raise ArgumentError(
            f"{argument} names {name!r}, and no package or module of that name can be imported."
        )


def _check_enterable(name: str) -> None:
    first = name.partition(".")[0]
    if first == "adjoint":
        raise ArgumentError(f"enter cannot name {name!r}: this package is not captured by itself.")
    if first in _RULED:
        raise ArgumentError(
            f"enter cannot name {name!r}: functions of {first} have rules here, which entering "
            "their code would pass by. Where one has no rule, give its derivative with "
            "ad.primitive."
        )
    if first in sys.stdlib_module_names and first != "__main__":
        raise ArgumentError(
            f"enter cannot name {name!r}: Python's own library is not entered, since its functions "
            "are understood as a whole, or not at all. Copy what you need of it into your code."
        )


def _exists(name: str) -> bool:
    """Whether a module is there; none is imported that is not yet."""
    if name in sys.modules:
        return True
    above = name.rpartition(".")[0]
    if above and above not in sys.modules:
        return _exists(above)
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return False


def _within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")
