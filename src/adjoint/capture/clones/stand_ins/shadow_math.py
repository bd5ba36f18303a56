"""Stand-ins for the functions of `math` and `cmath`, which understand traced numbers."""

from __future__ import annotations

import cmath
import functools
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.capture.clones.stand_ins.classes import as_number
from adjoint.capture.numpy.making import values as numpy_values
from adjoint.capture.numpy.operations.operators import python_number
from adjoint.capture.numpy.table import any_traced, unwrap_all
from adjoint.capture.recording.effects.value_errors import suppose_answered
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.capture.recording.values.quick import one
from adjoint.capture.recording.values.recipes import has_recipes
from adjoint.capture.recording.values.valued import beside
from adjoint.primitives import UFUNCS


def _traced_log(x: Any, base: Any = None) -> Any:
    return np.log(x) if base is None else np.log(x) / np.log(base)


def _hypot(*coordinates: Any) -> Any:
    """Pair by pair, since the squares of what is large overflow."""
    return functools.reduce(np.hypot, coordinates if len(coordinates) > 1 else (*coordinates, 0.0))


def _remainder(x: Any, y: Any) -> Any:
    """x less the multiple of y that is nearest, the even one of two: exact, as `fmod` is."""
    sign = np.copysign(1.0, x)
    x, y = sign * x, np.copysign(1.0, y) * y
    below = np.fmod(x, y)
    above = y - below
    tie = below - 2.0 * np.fmod(0.5 * (x - below), y)
    return sign * np.where(below < above, below, np.where(below > above, -above, tie))


def _special(name: str) -> Callable[..., Any]:
    def function(x: Any) -> Any:
        from scipy import special  # loaded when first needed: importing adjoint must stay quick

        return getattr(special, name)(x)

    return function


_MATH: dict[str, Any] = {
    **{
        name: getattr(np, name)
        for name in [
            "sin",
            "cos",
            "tan",
            "sinh",
            "cosh",
            "tanh",
            "exp",
            "expm1",
            "exp2",
            "log2",
            "log10",
            "log1p",
            "sqrt",
            "cbrt",
            "fabs",
        ]
    },
    **{
        name: getattr(np, name)
        for name in ["copysign", "fmod", "isnan", "isinf", "isfinite", "degrees", "radians"]
    },
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "pow": np.power,
    "log": _traced_log,
    "hypot": _hypot,
    "erf": _special("erf"),
    "erfc": _special("erfc"),
    "gamma": _special("gamma"),
    "lgamma": _special("gammaln"),
    "isclose": lambda *args, **kwargs: math.isclose(*map(concrete, args), **kwargs),
    "modf": np.modf,
    "frexp": np.frexp,
    "ldexp": lambda x, power: x * 2.0 ** concrete(power),
    "remainder": _remainder,
    "fsum": lambda values: numpy_values.asarray(list(values)).sum(),
    "dist": lambda p, q: np.linalg.norm(numpy_values.asarray(p) - numpy_values.asarray(q)),
}


def _python_result(value: Any) -> Any:
    """What math returns are Python's own floats."""
    if isinstance(value, tuple):
        return tuple(map(_python_result, value))
    return python_number(value) if type(value) is Traced and value.ndim == 0 else value


# Of those which a finite number may take to an error, not to a number.
_FAILING = frozenset(
    {
        *("acos", "acosh", "asin", "atanh", "cosh", "exp", "exp2", "expm1", "fmod", "gamma"),
        *("lgamma", "log", "log10", "log1p", "log2", "pow", "remainder", "sinh", "sqrt", "ldexp"),
    }
)


def _shadow(original: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    failing = original.__name__ in _FAILING
    protocols = ("__complex__", "__float__") if original.__module__ == "cmath" else ("__float__",)

    def recorded(*args: Any, **kwargs: Any) -> Any:
        return _python_result(ours(*args, **kwargs))

    has_recipes(recorded)

    def general(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], types.GeneratorType):
            args = (list(args[0]), *args[1:])
        args = tuple([as_number(argument, *protocols) for argument in args])
        if any_traced(args):
            return beside(original, recorded, args, kwargs)
        return original(*map(unwrap_all, args), **kwargs)

    primitive = UFUNCS.get(ours) if isinstance(ours, np.ufunc) and ours.nin == 1 else None
    quick = general if primitive is None else one(primitive.bare, original, general)

    def shadow(*args: Any, **kwargs: Any) -> Any:
        single = len(args) == 1 and not kwargs
        if len(args) == 2 and original is math.log:  # each of both may raise an error, as / may
            return shadow(args[0]) / shadow(args[1])
        result = quick(args[0]) if single else general(*args, **kwargs)
        if failing and type(result) is Traced and type(result._value) in (float, complex):
            suppose_answered(result, *args)
        return result

    shadow.__name__ = original.__name__
    return shadow


_COMPLEX: dict[str, Any] = {
    **{name: getattr(np, name) for name in ["sin", "cos", "tan", "sinh", "cosh", "tanh"]},
    **{name: getattr(np, name) for name in ["exp", "log10", "sqrt", "isfinite", "isnan", "isinf"]},
    **{"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh},
    **{"acosh": np.arccosh, "atanh": np.arctanh, "log": _traced_log},
}


def _complex_function(ours: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: ours(*(numpy_values.asarray(argument, complex) for argument in args))


def _polar(z: Any) -> Any:
    return (np.abs(z), np.arctan2(np.imag(z), np.real(z)))


_CMATH: dict[str, Any] = {
    **{name: _complex_function(ours) for name, ours in _COMPLEX.items()},
    "phase": lambda z: _polar(z)[1],
    "polar": _polar,
    "rect": lambda r, angle: r * (np.cos(angle) + 1j * np.sin(angle)),
    "isclose": lambda *args, **kwargs: cmath.isclose(*map(concrete, args), **kwargs),
}

LIBRARY: dict[Any, Any] = {
    getattr(module, name): _shadow(getattr(module, name), ours)
    for module, functions in ((math, _MATH), (cmath, _CMATH))
    for name, ours in functions.items()
    if hasattr(module, name)
}
