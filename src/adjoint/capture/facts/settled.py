"""SciPy's own code: entered as the user's is, but nobody changes what it is made of.

A density of `scipy.stats` reaches thousands of functions, classes and names of SciPy's. As facts
they would take longer to compare than the capture takes. What the user can give to such code are
arguments, the callbacks among them, and the attributes of an object: these are facts as ever.
"""

from __future__ import annotations

import abc
import linecache
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any, Final, Generic

import numpy as np

from adjoint.capture.clones.entering.users import (
    file_of,
    is_settled_file,
    is_users_class,
    is_users_module,
)
from adjoint.capture.facts.functions import same_attributes
from adjoint.capture.facts.surveying import Surveying

_BARE: Final = frozenset({object, abc.ABC, Generic})


def settled(survey: Surveying, value: types.FunctionType, name: str, where: str) -> bool:
    """Whether a function is one of SciPy's that is not made of anything of the user's."""
    if not is_settled_file(value.__code__.co_filename):
        return False
    if value.__closure__ and not _is_member(value):  # it may close over what it was given
        return False
    survey.whole = True  # it may ask the objects that it is given for any attribute
    survey.writer.demand(f"{name} is not {survey.writer.constant(value)}", where, "function")
    code = survey.writer.constant(value.__code__)
    survey.writer.demand(f"{name}.__code__ is not {code}", where, "code")
    return True


def _is_member(value: types.FunctionType) -> bool:
    """Whether a function is what its module, or a class of it, has under the function's name."""
    module, place = sys.modules.get(value.__module__), value.__qualname__.split(".")
    member: Any = module
    for name in place:
        member = getattr(member, "__dict__", {}).get(name)
    return member is value


# What SciPy's code asks, by the module that asks, with answers that follow from what is compared.
#
# Of the modules that are imported, these only tell whether an array is one of JAX, PyTorch or Dask:
# its type says so already, and types of arguments are compared. The parameters of a function are
# those of one of SciPy's that is wrapped, or of one that is closed over, which is compared, or of a
# method of a distribution, whose class is. That NumPy's generator is handed on says nothing of what
# it holds: that is noted when it is asked, or drawn from. A distribution reads how Python was
# started, documents itself, and makes methods of text that it holds as an attribute.
_EXCUSED: Final = {
    "scipy._lib.array_api_compat.common._helpers": ("it uses sys,",),
    "scipy._external.array_api_compat.common._helpers": ("it uses sys,",),
    "scipy.stats._axis_nan_policy": ("it uses inspect", "it uses a inspect."),
    "scipy.stats._distn_infrastructure": (
        *("it calls exec", "it uses sys,", "it uses a sys.flags,", "it uses keyword"),
        "it uses scipy._lib.doccer",
    ),
    "scipy._lib._util": ("it uses inspect", "it uses a inspect.", "it uses numpy.random.mtrand,"),
}
# Lines that say nothing for later calls, wherever they stand: no warning of small samples comes of
# what is replayed, whose samples are as large as before.
_EXCUSED_LINES: Final = {
    "with warnings.catch_warnings():",
    'warnings.simplefilter("ignore", SmallSampleWarning)',
    "warnings.simplefilter('ignore', SmallSampleWarning)",
}
# Methods that a distribution makes of text for itself, by the names of its shapes.
_OF_RESULTS: Final = ("__new__", "__init__", "__setattr__")
_MADE_OF_TEXT: Final = ("_parse_args", "_parse_args_stats", "_parse_args_rvs")


def is_excused(effect: str, line: str) -> bool:
    """Whether what is noted of a line of SciPy's does not keep a program from being replayed.

    effect: as it is noted. line: where, with the file first.
    """
    for module, beginnings in _EXCUSED.items():
        if effect.startswith(beginnings):
            file = file_of(sys.modules.get(module))
            if file is not None and line.startswith(f"{file}:"):
                return True
    file, _, number = line.rpartition(":")
    if not effect.startswith("it uses warnings") or not is_settled_file(file):
        return False
    return linecache.getline(file, int(number)).strip() in _EXCUSED_LINES


def is_settled_class(kind: type) -> bool:
    """Whether a class is one of SciPy's, written in Python in a module that is entered."""
    module = sys.modules.get(kind.__module__) if type(kind.__module__) is str else None
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and file.endswith(".py") and is_settled_file(file)


def is_settled_object(value: Any) -> bool:
    """Whether an object is of such a class, and has all that it holds in its attributes.

    Of a compiled class that it inherits from, such as that of trees, nothing is known.
    """
    kind = type(value)
    return (
        is_settled_class(kind)
        and type(getattr(value, "__dict__", None)) is dict
        and all(base in _BARE or is_settled_class(base) for base in kind.__mro__)
        and not any(base.__dict__.get("__slots__") for base in kind.__mro__)
    )


def may_change(kind: type) -> bool:
    """Whether a class itself is the user's, in the sense that what it defines are facts."""
    return is_users_class(kind) and not is_settled_class(kind)


def module_may_change(module: types.ModuleType) -> bool:
    """Whether a module is the user's, in the same sense."""
    return is_users_module(module) and not is_settled_file(file_of(module) or "")


def asked_by_scipy(kind: type) -> set[str]:
    """What classes of the user's define that SciPy's methods, which they inherit, may ask for."""
    if not any(map(is_settled_class, kind.__mro__)):
        return set()
    return {name for base in kind.__mro__ if may_change(base) for name in base.__dict__}


def _results() -> Iterator[type]:
    """The classes of what functions of `scipy.stats` return: tuples with further attributes."""
    for name, module in [*sys.modules.items()]:
        if name.startswith("scipy.stats."):
            for value in [*vars(module).values()]:
                if isinstance(value, type) and "_extra_fields" in value.__dict__:
                    yield value


def _of_stats() -> Iterable[Any]:
    """What `scipy.stats` has: its distributions change by what is put into them."""
    return vars(sys.modules.get("scipy.stats", types)).values()


def is_of_text(code: types.CodeType) -> bool:
    """Whether code is that of methods which SciPy makes of text: of distributions and results.

    A distribution that is made while a function is captured makes them anew, of the same text.
    """
    if code.co_name in _OF_RESULTS:
        return any(
            getattr(getattr(kind, code.co_name), "__code__", None) is code for kind in _results()
        )
    if code.co_name not in _MADE_OF_TEXT:
        return False
    methods = (getattr(member, code.co_name, None) for member in _of_stats())
    return any(
        type(method) is types.MethodType and method.__func__.__code__ == code for method in methods
    )


def settled_object(survey: Surveying, value: Any, expression: str, where: str) -> None:
    """A settled object: which attributes it has, and what they hold.

    Its own methods and generators among them are what they are; what is drawn from a generator is
    told when it is.
    """
    name = survey.once(value, expression, where, changing=True)
    if name is None:
        return
    kind, inside = type(value), value.__dict__
    survey.whole = True  # so may its methods
    writer = survey.writer
    writer.demand(f"type({name}) is not {writer.constant(kind)}", where, f"a {kind.__name__}")
    if any(value is member for member in _of_stats()):
        writer.values["same_attributes"] = same_attributes
        kept = writer.constant([*inside.items()])
        writer.demand(f"not same_attributes({name}, {kept})", where, "its attributes")
        return
    attributes = writer.let(f"{name}.__dict__")
    keys = writer.constant(frozenset(inside))
    writer.demand(f"{attributes}.keys() != {keys}", where, "which attributes there are")
    for attribute, content in inside.items():
        place, told = f"{attributes}[{attribute!r}]", f"{where}.{attribute}"
        if isinstance(content, np.random.RandomState) or getattr(content, "__self__", 0) is value:
            survey.exactly(content, place, told)
        else:
            survey.place(content, place, told, inside, attribute)
