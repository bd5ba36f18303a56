"""What functions and classes say of themselves, what modules have not, and NumPy's settings.

All but the settings matters to code alone that asks: for `f.__doc__`, say, or with `hasattr`.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from adjoint.capture.facts.places import Holder
from adjoint.capture.facts.surveying import Surveying

_OF_FUNCTIONS: Final = ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__")
_OF_CLASSES: Final = ("__name__", "__qualname__")  # the others are attributes as others are
_ASKING: Final = frozenset({"hasattr", "getattr"})


def said_facts(
    survey: Surveying, holders: Iterable[Holder], attributes: set[str], builtins: set[str]
) -> None:
    """Note what code may ask for by these attributes, and with these builtins.

    holders: the classes and modules that it may ask.
    """
    writer = survey.writer
    for value, name in list(survey.seen.values()):
        if type(value) is types.FunctionType:
            for attribute in attributes.intersection(_OF_FUNCTIONS):
                said: Any = getattr(value, attribute)
                said = dict(said) if type(said) is dict else said
                writer.demand(
                    f"{name}.{attribute} != {writer.constant(said)}", value.__name__, attribute
                )
    for holder in holders:
        if isinstance(holder.value, type):
            for attribute in attributes.intersection(_OF_CLASSES):
                said = getattr(holder.value, attribute)
                unlike = f"{writer.constant(holder.value)}.{attribute} != {said!r}"
                writer.demand(unlike, holder.where, attribute)
        elif isinstance(holder.value, types.ModuleType) and not builtins.isdisjoint(_ASKING):
            absent_facts(survey, holder.inside, attributes - holder.inside.keys(), holder.where)


def absent_facts(survey: Surveying, inside: Any, names: Iterable[str], where: str) -> None:
    """Note that a module has nothing under these names."""
    writer = survey.writer
    unlike = f"not {writer.constant(inside)}.keys().isdisjoint({writer.constant(frozenset(names))})"
    writer.demand(unlike, where, "what it has not")


def settings_facts(survey: Surveying, texts: bool) -> None:
    """Note what NumPy does about errors; how it writes arrays as text, where there are `texts`."""
    writer = survey.writer
    current, errors = writer.constant(_FLOATING_POINT), writer.constant(_FLOATING_POINT())
    unlike = f"{current}() is not {errors} and geterr() != {writer.constant(np.geterr())}"
    writer.values["geterr"] = np.geterr
    writer.demand(unlike, "np.errstate", "what is done about floating-point errors")
    if texts:
        current, shown = writer.constant(np.get_printoptions), np.get_printoptions()
        unlike = f"{current}() != {writer.constant(shown)}"
        writer.demand(unlike, "np.printoptions", "how arrays are shown")


# What NumPy keeps the settings in, where that can be had in less time than `np.geterr` takes.
_umath: Any = sys.modules.get("numpy._core.umath")
_FLOATING_POINT: Final[Any] = getattr(getattr(_umath, "_extobj_contextvar", None), "get", np.geterr)
