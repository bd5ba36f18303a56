"""Whether one row of the sweep is what NumPy has: value, dtype, shape, error, derivatives."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad
from adjoint.base import pytrees
from tests.capture.arguments.inputs import ARGUMENTS
from tests.capture.comparing import direction, is_inexact, leaves, pair, same_values

BUILTINS = (
    IndexError,
    ValueError,
    TypeError,
    AttributeError,
    ZeroDivisionError,
    NotImplementedError,
)
REFUSALS = (
    ad.errors.UnsupportedFunctionError,
    ad.errors.DroppedDerivativeError,
    ad.errors.DTypeError,
    ad.errors.AliasingError,
)
# Piecewise constant, or a cut: nothing that differences could see.
STEPS = re.compile(
    r"round|around|fix|rint|floor|ceil|trunc|sign|divmod|remainder|fmod|modf|mod\(|"
    r"heaviside|signbit|copysign|float32|complex64|argsort"
)


class Disagreement(Exception):
    """What a row gives is not what NumPy gives."""


def made(row: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A row as a function of the arguments that it names, and their values."""
    names = [name for name in ARGUMENTS if re.search(rf"(?<![\w.\"']){name}(?![\w\"'(=])", row)]
    function = eval(f"lambda {', '.join(names)}: {row}", {"np": np})
    return function, tuple(ARGUMENTS[name] for name in names)


def copied(tree: Any) -> Any:
    """Copies that lie in memory as their originals do."""

    def copy(leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray) or not leaf.flags.writeable:
            return leaf
        wide = np.empty_like(leaf if leaf.base is None else leaf.base)
        if wide.shape != leaf.shape:
            return leaf.copy(order="K")
        wide[...] = leaf
        return wide

    return pytrees.tree_map(copy, tree)


def outcome(function: Callable[..., Any], args: Any) -> Any:
    """The value of a call, or the error that it raised."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*copied(args))
        except Exception as error:
            return error


def builtin_of(error: Exception) -> type[Exception]:
    """The builtin that an error is of."""
    return next((each for each in inspect.getmro(type(error)) if each in BUILTINS), Exception)


def compare(found: Any, expected: Any, single: bool = False) -> str:
    """How an outcome differs from NumPy's: an empty text if it does not.

    single: whether something was computed in single precision on the way.
    """
    if isinstance(found, REFUSALS):
        if isinstance(expected, TypeError):
            return ""
        return "" if isinstance(expected, Exception) else f"UNSUPPORTED {found}"
    if isinstance(expected, Exception):
        if "read-only" in str(expected):  # an argument of ours is never changed, and can be read
            return ""
        if not isinstance(found, Exception):
            return f"NumPy raises {expected!r}, we give {found!r}"
        if isinstance(found, builtin_of(expected)):
            return ""
        return f"NumPy raises {expected!r}, we raise {found!r}"
    if isinstance(found, Exception):
        return f"NumPy gives a value, we raise {found!r}"
    try:
        same_values(found, expected, 1e-6 if single else 1e-11)
    except (AssertionError, TypeError) as error:
        return f"VALUE {' '.join(str(error).split())[:300]}"
    return ""


def is_single(row: str, args: Any) -> bool:
    """Whether single precision (or half) takes part in a row."""
    texts = ("float32", "float16", "f4", "complex64", "c8")
    return any(np.asarray(a).dtype.char in "fFe" for a in args) or any(t in row for t in texts)


def check_value(row: str) -> tuple[str, Any]:
    """The captured value of a row against NumPy's; what differs, and NumPy's outcome."""
    function, args = made(row)
    expected = outcome(function, args)
    found = outcome(lambda *some: ad.jit(function)(*some), args)
    return compare(found, expected, is_single(row, args)), expected


def check_known(row: str) -> str:
    """The same of arrays made inside of the function."""
    function, args = made(row)
    expected = outcome(function, args)

    def inside(anchor: Any) -> Any:
        own = [np.array(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
        return function(*own), anchor * 1.0

    found = outcome(ad.jit(inside), (1.0,))
    value = found if isinstance(found, Exception) else found[0]
    return compare(value, expected, is_single(row, args))


def alone(row: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The inexact results of a row as a function of its inexact arguments."""
    return inexact_part(*made(row))


def inexact_part(
    function: Callable[..., Any], args: tuple[Any, ...]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The inexact results of a function as one of its inexact arguments."""
    places = [n for n, arg in enumerate(args) if is_inexact(arg)]

    def some(*chosen: Any) -> Any:
        whole = list(args)
        for place, arg in zip(places, chosen, strict=True):
            whole[place] = arg
        kept = pytrees.leaves(function(*whole))
        return [each for each in kept if np.result_type(each).kind in "fc"]

    return some, tuple(args[n] for n in places)


def moved(args: Any, tangents: Any, step: float) -> Any:
    """Arguments a step further; what was an array stays one."""

    def further(x: Any, u: Any) -> Any:
        there = x + step * u
        return np.asarray(there) if isinstance(x, np.ndarray) else type(x)(there)

    return pytrees.tree_map(further, args, tangents)


def check_derivative(row: str, expected: Any, step: float = 1e-5) -> str:
    """What is wrong with the derivatives of a row whose value NumPy has given."""
    function, args = made(row)
    results = [leaf for leaf in leaves(expected) if is_inexact(leaf)]
    places = [arg for arg in args if is_inexact(arg)]
    single = is_single(row, (*places, *results))
    coarse = 2e-2 if "float16" in row else 1e-3 if single else 1e-10
    flat = single or bool(STEPS.search(row))
    return derivative_of(function, args, expected, coarse, 0.0 if flat else step)


def derivative_of(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    expected: Any,
    tolerance: float,
    step: float,
) -> str:
    """Reverse mode against forward mode, and that against differences where there is a step."""
    results = [leaf for leaf in leaves(expected) if is_inexact(leaf)]
    if not results or not all(np.isfinite(leaf).all() for leaf in results):
        return ""
    function, args = inexact_part(function, args)
    if not args:
        return ""
    tangents = direction(args, 3)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value, image = ad.jvp(function, copied(args), tangents)
            _, pullback = ad.vjp(function, *copied(args))
            weights = direction(value, 7)
            back = pullback(weights)
        except (ad.errors.UnsupportedFunctionError, ad.errors.DroppedDerivativeError) as error:
            return f"UNSUPPORTED {error}"
        except ad.errors.NotDifferentiableError:
            return ""
        except Exception as error:
            return f"DERIVATIVE raises {error!r}"
        for leaf, tangent in zip(leaves(value), leaves(image), strict=True):
            if leaf.shape != tangent.shape or leaf.dtype != tangent.dtype:
                return f"TANGENT {tangent.dtype}{tangent.shape} of {leaf.dtype}{leaf.shape}"
        one, other = pair(back, tangents), pair(weights, image)
        size = max(1.0, *(float(np.max(np.abs(a), initial=0)) for a in leaves(image)), 1.0)
        wide = size * max(1, sum(a.size for a in leaves(image)))
        if not abs(one - other) <= tolerance * wide:
            return f"REVERSE {one} against forward {other}"
        if not step:
            return ""
        ahead = leaves(function(*moved(args, tangents, step)))
        behind = leaves(function(*moved(args, tangents, -step)))
    for found, plus, minus in zip(leaves(image), ahead, behind, strict=True):
        wanted = (plus - minus) / (2 * step)
        if not np.allclose(found, wanted, rtol=1e-5, atol=1e-5 * size):
            return f"DIFFERENCES {found!r} against {wanted!r}"
    return ""


def check_second(row: str) -> str:
    """The derivative of a gradient, in the four compositions, against differences of it."""
    function, args = alone(row)
    tangents, others = direction(args, 3), direction(args, 5)

    def scalar(*some: Any) -> Any:
        return sum(np.sum((np.sin(each) * np.cos(1.0 + each)).real) for each in function(*some))

    def along(*some: Any) -> Any:
        return ad.jvp(scalar, some, tangents)[1]

    def slope(*some: Any) -> Any:
        return pair_of(ad.grad(scalar, tuple(range(len(some))))(*some), tangents)

    step = 1e-5
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forward = ad.jvp(along, args, others)[1]
        mixed = ad.jvp(slope, args, others)[1]
        places = tuple(range(len(args)))
        reverse = pair(ad.grad(along, places)(*args), others)
        twice = pair(ad.grad(slope, places)(*args), others)
        plus = along(*moved(args, others, step))
        minus = along(*moved(args, others, -step))
    wanted = (plus - minus) / (2 * step)
    for name, found in (("ff", forward), ("fr", mixed), ("rf", reverse), ("rr", twice)):
        unknown = np.isnan(wanted) and np.isnan(found)  # as the value is
        if not unknown and not abs(found - wanted) <= 1e-4 * max(1.0, abs(wanted)):
            return f"SECOND {name} {found} against {wanted}"
    return ""


def pair_of(one: Any, other: Any) -> Any:
    """Re <a, b>, differentiable."""
    return sum(
        np.sum((np.conj(b) * a).real)
        for a, b in zip(pytrees.leaves(one), pytrees.leaves(other), strict=True)
    )
