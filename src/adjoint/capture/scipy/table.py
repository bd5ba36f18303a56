"""The table of SciPy's functions that are no ufuncs, and work on traced arrays.

It is filled by `adjoint.scipy`. A function is known by its part of SciPy and its name, so that
nothing of SciPy is imported before a user does.
"""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.errors import AdjointError, DroppedDerivativeError, UnsupportedFunctionError
from adjoint.capture.numpy.table import any_traced, unwrap_all, wrap_list
from adjoint.capture.recording.exits.escape import carries_derivative
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.hooks import handed
from adjoint.capture.recording.tracing.trace import current, inside
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.capture.recording.values.valued import beside, raises, refuse
from adjoint.capture.scipy.operators import TracedOperator
from adjoint.capture.scipy.sparse_matrix import SparseTraced
from adjoint.capture.scipy.sparse_methods import known_matrix

_INNER = "scipy.sparse.linalg"

SCIPY_FUNCTIONS: dict[tuple[str, str], Callable[..., Any]] = {}
SCIPY_OBJECTS: dict[str, Callable[[Any], Any]] = {}
REFUSED: dict[tuple[str, str], str] = {}
# Functions whose results are whole numbers or made of sizes, names and values alone.
CONSTANT: set[tuple[str, str]] = set()
# Functions that write into an array that they are given: ours do both, value and record.
WRITERS: set[tuple[str, str]] = set()
# Those that are ours in captured code though nothing is traced that they are given, if so it says
# of that: it calls functions, which may hold what is.
ALWAYS: dict[tuple[str, str], Callable[[Any], bool]] = {}
_WRITING: set[str] = set()  # the modules that these are in
# Objects that stand for ones of SciPy's, and the classes of these.
_MADE_AS: weakref.WeakKeyDictionary[Any, type] = weakref.WeakKeyDictionary()
# What runs in the place of functions in modules of SciPy that are entered, by module and name.
REPLACED: dict[tuple[str, str], Callable[..., Any]] = {}


def implements_scipy(part: str, *names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare what a function or class of `scipy.part` does on traced arrays."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names or (function.__name__.strip("_"),):
            SCIPY_FUNCTIONS[part, name] = function
        return function

    return declare


def writes_scipy(part: str, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare what a function that writes into one of its arguments does on traced arrays."""
    WRITERS.add((part, name))
    _WRITING.add(part)
    return implements_scipy(part, name)


def replaces(module: str, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare what runs where a function of such a module's would be entered.

    It is given that function, and its arguments.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        REPLACED[module, name] = function
        return function

    return declare


def replacement(function: types.FunctionType) -> Callable[..., Any] | None:
    """What runs in the place of a function that would be entered; None for most."""
    module = function.__module__ or ""
    if not module.startswith("scipy."):
        return None
    known = REPLACED.get((module, function.__qualname__))
    if known is not None or not is_ruled(function):
        return known
    stand_in = scipy_stand_in(function)
    return lambda _, *args, **kwargs: stand_in(*args, **kwargs)  # type: ignore[misc]


def is_ruled(function: Any) -> bool:
    """Whether a function has a rule or a refusal of its own, and is not entered therefore."""
    place = scipy_place(function)
    return place in SCIPY_FUNCTIONS or place in REFUSED or place in CONSTANT


def refuses_scipy(part: str, reason: str, *names: str) -> None:
    """Say why functions of `scipy.part` have no derivative here."""
    REFUSED.update({(part, name): reason for name in names})


def constant_scipy(part: str, *names: str) -> None:
    """Declare functions of `scipy.part` whose results have no derivative.

    They are asked with the values at hand, unless they give real numbers for these.
    """
    CONSTANT.update((part, name) for name in names)


def scipy_object(value: Any) -> Any:
    """The stand-in of an object that SciPy made, such as a spline; None for others.

    An object of a class of the user's that inherits from SciPy's is itself, and `scipy_part` of it
    what it inherits.
    """
    if type(value) is types.BuiltinMethodType:  # as `factorized` gives the `solve` of factors
        owner = value.__self__
        stand_in = scipy_object(owner) if type(owner).__name__ == "SuperLU" else None
        return stand_in if stand_in is None else getattr(stand_in, value.__name__)
    return scipy_part(value) if _is_theirs(type(value)) else None


def scipy_part(value: Any) -> Any:
    """What stands for an object by the class of SciPy's that it is of, or inherits from."""
    for kind in type(value).__mro__[:-1]:
        stand_in_class = SCIPY_OBJECTS.get(kind.__name__) if _is_theirs(kind) else None
        if stand_in_class is not None:
            return _made_as(type(value), stand_in_class(value))
    return None


def _is_theirs(kind: type) -> bool:
    # What SuperLU makes says that it is of `builtins`, as compiled classes may.
    home = kind.__module__
    return home.startswith("scipy.") or (home, kind.__name__) == ("builtins", "SuperLU")


def _made_as(kind: type, value: Any) -> Any:
    _MADE_AS[value] = kind
    return value


def class_in_scipy(value: Any) -> type | None:
    """The class of SciPy's object that a value stands for; None where it stands for none."""
    if type(value) is SparseTraced:
        return value.scipy_class
    try:
        return _MADE_AS.get(value)
    except TypeError:  # unhashable, or without weak references: none of ours
        return None


def is_scipy_module(module: types.ModuleType) -> bool:
    """Whether functions of it may have stand-ins: scipy itself, its public parts, and writers'."""
    first, _, part = module.__name__.partition(".")
    if first != "scipy":
        return False
    return not any(name.startswith("_") for name in part.split(".")) or part in _WRITING


def scipy_place(value: Any) -> tuple[str, str] | None:
    """The part of SciPy and the name of a public function or class, or None."""
    if hasattr(type(value), "__getattr__"):  # it may answer to any name, or fail
        return None
    names = (getattr(value, "__module__", None) or "").split(".")
    name = getattr(value, "__name__", None)
    if names[0] != "scipy" or len(names) < 2 or not isinstance(name, str):
        return None
    part = "sparse.linalg" if value.__module__.startswith(_INNER) else names[1]
    for public in (part, ".".join(names[1:])):
        member = getattr(sys.modules.get(f"scipy.{public}"), name, None)
        if member is value or (
            type(member) is types.FunctionType and below_backends(member) is value
        ):
            return public, name
    return None


def scipy_stand_in(value: Any) -> Callable[..., Any] | None:
    """The stand-in of a function of SciPy's, or of a class that is understood; None for others."""
    place = scipy_place(value)
    if place is None:
        return None
    ours = SCIPY_FUNCTIONS.get(place)
    if ours is None and place in CONSTANT:
        return _stand_in(value, _counting(value, place), place, True)
    is_function = isinstance(value, types.FunctionType) or place in REFUSED
    if ours is None and not (is_function or _is_known_class(value)):
        return None
    return _stand_in(value, ours, place, place in WRITERS)


def _is_known_class(value: Any) -> bool:
    """Whether objects of a class have stand-ins, or there is a reason why they have none."""
    if not isinstance(value, type):
        return False
    known = any(kind.__name__ in SCIPY_OBJECTS for kind in value.__mro__)
    return known or scipy_place(value) in REFUSED


def below_backends(function: types.FunctionType) -> types.FunctionType:
    """The function that SciPy calls for NumPy's arrays; itself for most."""
    inner = getattr(function, "__wrapped__", None)
    choosing = function.__code__.co_filename.endswith("_support_alternative_backends.py")
    return inner if choosing and isinstance(inner, types.FunctionType) else function


def rebind_scipys(function: types.FunctionType, clone: Callable[[Any], Any]) -> Any:
    """What is called in the place of a function of SciPy's that is entered, or wraps one.

    Where nothing that it is given is traced, a public one runs as it is. clone: of a function.
    """
    known = _ENTERED.get(function)
    if known is not None:
        return known
    inner, place = below_backends(function), scipy_place(function)
    if place is None or any(part.startswith("_") for part in place[0].split(".")):
        return clone(inner).call
    if is_ruled(function):
        stand_in: Any = scipy_stand_in(function)
    else:
        stand_in = _stand_in(
            function, _entering(function, place, lambda: clone(inner)), place, True
        )
    _ENTERED[function] = stand_in
    return stand_in


# The stand-ins of functions that are entered, which stay as SciPy does.
_ENTERED: dict[types.FunctionType, Any] = {}


def _entering(
    function: Any, place: tuple[str, str], clone: Callable[[], Any]
) -> Callable[..., Any]:
    """A function's clone; what only the clone fails at is refused."""

    def enter(*args: Any, **kwargs: Any) -> Any:
        try:
            return clone().call(*args, **kwargs)
        except Exception as error:
            own = isinstance(error, (AdjointError, Warning))  # which filters make errors of
            if not isinstance(error, DroppedDerivativeError) and (
                own or raises(function, args, kwargs)
            ):
                raise
            refusal = _refusal(place, error)
            refuse(refusal)
            raise refusal from error

    return enter


def _stand_in(
    original: Callable[..., Any],
    ours: Callable[..., Any] | None,
    place: tuple[str, str],
    as_users: bool,
) -> Callable[..., Any]:
    """as_users: whether ours is run as code of the user's is, and computes values itself."""

    def of_class(result: Any) -> Any:
        return _made_as(original, result) if isinstance(original, type) else result

    def stand_in(*args: Any, **kwargs: Any) -> Any:
        if current() is not None:
            args, kwargs = tuple(map(handed, args)), {n: handed(x) for n, x in kwargs.items()}
        calls = ALWAYS.get(place) if current() is not None else None
        always = calls is not None and calls((*args, *kwargs.values()))
        if ours is not None and (always or is_traced(*args, *kwargs.values())):
            called = any(map(callable, (*args, *kwargs.values())))
            if inside() or called or as_users or place[0].startswith("sparse"):
                # What calls the user's code does so once, and our sparse matrices are not SciPy's.
                return of_class(_called(ours, place, args, kwargs))

            def recorded(*args: Any, **kwargs: Any) -> Any:
                return _called(ours, place, args, kwargs)

            return of_class(beside(original, recorded, args, kwargs))
        watch = _Watch()
        try:
            result = original(
                *map(watch.over, args),
                **{name: watch.over(argument) for name, argument in kwargs.items()},
            )
        except (Exception, _TracedFound) as error:
            traced = is_traced(*args, *kwargs.values())
            if not (watch.saw_traced or traced or isinstance(error, DroppedDerivativeError)):
                raise
            if ours is None:
                refusal = _refusal(place, error)
                refuse(refusal)
                raise refusal from error
            watch.saw_traced = True
        if watch.saw_traced and ours is not None:
            return of_class(_called(ours, place, args, kwargs))
        if current() is None:
            return result
        counterpart = scipy_object(result)
        return wrap_list(result) if counterpart is None else counterpart

    stand_in.__name__ = place[1]
    stand_in.__doc__ = original.__doc__
    stand_in.__wrapped__ = original  # type: ignore[attr-defined]
    if isinstance(original, type):  # what is asked of the class: BSpline.basis_element
        public = [name for name in dir(original) if not name.startswith("_")]
        stand_in.__dict__.update({name: getattr(original, name) for name in public})
    return stand_in


def _counting(original: Any, place: tuple[str, str]) -> Callable[..., Any]:
    """A function whose results are whole numbers, which are those for the values at hand."""

    def count(*args: Any, **kwargs: Any) -> Any:
        named = {name: _asked(x) for name, x in kwargs.items()}
        result = original(*map(_asked, args), **named)
        for part in result if isinstance(result, (tuple, list)) else (result,):
            if part != {} if isinstance(part, dict) else np.asarray(part).dtype.kind in "fc":
                raise _refusal(place, DroppedDerivativeError("Some results are real numbers."))
        return result

    return count


def _asked(argument: Any) -> Any:
    """An argument at hand, which is asked for."""
    if isinstance(argument, SparseTraced):
        return known_matrix(argument)
    return concrete(argument) if type(argument) is Traced else argument


class _TracedFound(BaseException):
    """Leaves SciPy, which cannot go on with a traced value."""


class _Watch:
    """Whether functions that SciPy is given return traced values, from their closures."""

    def __init__(self) -> None:
        self.saw_traced = False

    def over(self, value: Any) -> Any:
        """An argument as SciPy takes it: known arrays are NumPy's, and functions are watched."""
        if isinstance(value, SparseTraced) and not carries_derivative(value.entries):
            return known_matrix(value)
        if not isinstance(value, (types.FunctionType, types.MethodType)) or current() is None:
            return unwrap_all(value)

        def watched(*args: Any, **kwargs: Any) -> Any:
            result = value(*args, **kwargs)
            if any_traced((result,)):
                self.saw_traced = True
                raise _TracedFound
            return unwrap_all(result)

        return watched


def _called(
    ours: Callable[..., Any], place: tuple[str, str], args: Any, kwargs: dict[str, Any]
) -> Any:
    try:
        return ours(*args, **kwargs)
    except TypeError as error:
        if "unexpected keyword argument" in str(error) and ours.__name__ in str(error):
            argument = str(error).rsplit(" ", 1)[-1]
            raise UnsupportedFunctionError(
                f"scipy.{'.'.join(place)} on traced arrays does not support its argument "
                f"{argument}."
            ) from None
        raise


def _refusal(place: tuple[str, str], error: BaseException) -> UnsupportedFunctionError:
    name = ".".join(("scipy", *place))
    reason = REFUSED.get(place, "it is not among the functions of adjoint.scipy")
    ours = isinstance(error, AdjointError)  # which says what went wrong inside of SciPy
    detail = f" ({error})" if str(error) and not ours else ""
    return UnsupportedFunctionError(
        f"{name} was given traced values, and has no derivative here: {reason}. Write it with "
        f"functions that have one, give its derivative with ad.primitive, or cut it off with "
        f"ad.stop_gradient.{detail}"
    )


def is_traced(*values: Any) -> bool:
    """Whether one of these is traced, or holds what is (lists, matrices with traced entries)."""
    return any_traced(values) or _any_matrix(values)


def _any_matrix(values: Any) -> bool:
    return any(
        isinstance(value, (SparseTraced, TracedOperator))
        or (isinstance(value, (list, tuple)) and _any_matrix(value))
        or (type(value) is np.ndarray and value.dtype == object and _any_matrix(value.ravel()))
        for value in values
    )
