"""Stand-ins for numpy, math and a few builtins, which a captured function's names are bound to.

A stand-in does what the original does; in a capture, arrays that it makes are known arrays, into
which traced values can be written, and traced arguments are understood where the original would ask
for plain numbers.
"""

from __future__ import annotations

import builtins
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.errors import DroppedDerivativeError
from adjoint.capture import numpy_values
from adjoint.capture.escape import carries_derivative
from adjoint.capture.numpy_calculus import SCIPY
from adjoint.capture.operators import python_number
from adjoint.capture.table import FUNCTIONS, any_traced, call, unwrap_all
from adjoint.capture.trace import current
from adjoint.capture.traced import Traced, apply, apply_one, concrete, from_array, wrap
from adjoint.capture.ufuncs import COMPOSED
from adjoint.capture.views import copy_of
from adjoint.primitives import UFUNCS
from adjoint.spaces.polynomials.series import SERIES

# --- numpy ----------------------------------------------------------------------------------------


class ShadowUfunc:
    """A ufunc that spares traced arguments NumPy's dispatch.

    Its methods and attributes are the original's.
    """

    __slots__ = ("__wrapped__", "_bare")

    def __init__(self, original: Any) -> None:
        self.__wrapped__ = original
        primitive = UFUNCS.get(original)
        self._bare = None if primitive is None or original in COMPOSED else primitive.bare

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The ufunc, called."""
        bare = self._bare
        if bare is not None and not kwargs:
            if len(args) == 1:
                (operand,) = args
                if type(operand) is Traced:
                    return apply_one(bare, operand)
            elif len(args) == 2 and (type(args[0]) is Traced or type(args[1]) is Traced):
                return apply(bare, args)
        result = self.__wrapped__(*args, **kwargs)
        return wrap(result) if current() is not None else result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


def made(result: Any, args: Any) -> Any:
    """What NumPy made in a capture, as known arrays; but no views of arrays made elsewhere.

    Those stay NumPy's, so that writing a traced value into one is an error: the array that it
    looks into would not change.
    """
    if current() is None:
        return result
    if type(result) is np.ndarray:
        if result.base is None and not any(result is each for each in args):
            return from_array(result)
        for each in args:
            if isinstance(each, np.ndarray) and np.may_share_memory(result, each):
                return result
        return from_array(result)
    if type(result) in (list, tuple):
        return type(result)([made(each, args) for each in result])
    return result


def _order(order: Any) -> dict[str, Any]:
    return {} if order is None else {"order": order}


def _shadow_function(original: Callable[..., Any]) -> Callable[..., Any]:
    ours = FUNCTIONS.get(original)

    def shadow(*args: Any, **kwargs: Any) -> Any:
        for each in args:
            if type(each) is Traced:
                if each._state is None and ours is not None and not kwargs:
                    return ours(*args)
                return call(original, args, kwargs)
        if (kwargs and any_traced(kwargs.values())) or any_traced(args):
            return call(original, args, kwargs)
        result = original(*map(unwrap_all, args), **kwargs)
        return made(result, args)

    shadow.__name__ = getattr(original, "__name__", "function")
    shadow.__wrapped__ = original  # type: ignore[attr-defined]
    return shadow


def _maker(original: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """np.array and its like.

    Ours where traced values are among the arguments, NumPy's otherwise.
    """

    def shadow(*args: Any, **kwargs: Any) -> Any:
        if any_traced(args) or any_traced(kwargs.values()):
            return ours(*args, **kwargs)
        plain = {name: unwrap_all(value) for name, value in kwargs.items()}
        return made(original(*map(unwrap_all, args), **plain), args)

    shadow.__name__ = original.__name__
    shadow.__wrapped__ = original  # type: ignore[attr-defined]
    return shadow


def _alias(original: Callable[..., Any]) -> Callable[..., Any]:
    """np.asarray of an array is that array.

    A known array must stay the same object, so that writes are seen.
    """
    contiguous = original is np.ascontiguousarray

    def shadow(a: Any, dtype: Any = None, order: Any = None, **kwargs: Any) -> Any:
        ordered = contiguous or order in ("C", "F")
        if any_traced((a,)) or type(a) is Traced:
            result = numpy_values.asarray(a, dtype)
            if type(result) is not Traced or result is not a:
                return result
            if kwargs.pop("copy", None):
                return copy_of(a)
            return numpy_values.laid_out(a) if ordered else a
        return made(original(unwrap_all(a), dtype, **_order(order), **kwargs), (a,))

    shadow.__name__ = original.__name__
    shadow.__wrapped__ = original  # type: ignore[attr-defined]
    return shadow


def _numbers(original: Callable[..., Any]) -> Callable[..., Any]:
    """np.arange: its arguments decide a shape, so traced ones are asked for their values."""

    def shadow(*args: Any, **kwargs: Any) -> Any:
        if any(carries_derivative(each) for each in (*args, *kwargs.values())):
            raise DroppedDerivativeError(
                f"numpy.{original.__name__} of a traced number would lose its derivative. "
                "Write start + step * np.arange(n) instead."
            )
        plain = {name: concrete(value) for name, value in kwargs.items()}
        return made(original(*map(concrete, args), **plain), ())

    return shadow


def _from_iterator(iterable: Any, dtype: Any, count: int = -1, **kwargs: Any) -> Any:
    return numpy_values.array(list(iterable), dtype)


_MAKERS: dict[Any, Callable[..., Any]] = {
    np.array: _maker(np.array, numpy_values.array),
    np.full: _maker(np.full, numpy_values.full),
    np.asarray: _alias(np.asarray),
    np.asanyarray: _alias(np.asanyarray),
    np.ascontiguousarray: _alias(np.ascontiguousarray),
    np.arange: _numbers(np.arange),
    np.fromiter: _maker(np.fromiter, _from_iterator),
}


class ShadowErrstate(np.errstate):
    """np.errstate.

    What is recorded while some warning is to be ignored will warn of nothing when it runs.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._ignores = "ignore" in kwargs.values()
        self._trace: Any = None
        self._first = 0

    def __enter__(self) -> None:
        super().__enter__()
        self._trace = current()
        self._first = 0 if self._trace is None else len(self._trace.records)

    def __exit__(self, *error: Any) -> None:
        if self._trace is not None and self._ignores:
            self._trace.quiet.update(range(self._first, len(self._trace.records)))
        super().__exit__(*error)


class ShadowModule(types.ModuleType):
    """Stands in for numpy or one of its parts; attributes are wrapped when first asked for."""

    def __init__(self, original: types.ModuleType) -> None:
        super().__init__(original.__name__)
        self.__dict__["__wrapped__"] = original

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.__wrapped__, name)
        shadow = shadow_of(value)
        found = value if shadow is None else shadow
        self.__dict__[name] = found
        return found


_shadows: dict[Any, Any] = {}
_shadows[np.errstate] = ShadowErrstate
_shadows.update(SERIES)
_PARTS = (
    "numpy",
    "numpy.linalg",
    "numpy.fft",
    "numpy.polynomial",
    "numpy.polynomial.polynomial",
    "numpy.polynomial.legendre",
    "numpy.polynomial.chebyshev",
    "scipy.special",
)


def shadow_of(value: Any) -> Any:
    """The stand-in of a module or function of NumPy's or math's, or None."""
    try:
        found = _shadows.get(value)
    except TypeError:  # unhashable: no function or module
        return None
    if found is not None:
        return found
    if isinstance(value, types.ModuleType):
        made: Any = ShadowModule(value) if value.__name__ in _PARTS else None
    elif value in _MAKERS:
        made = _MAKERS[value]
    elif isinstance(value, np.ufunc):
        made = ShadowUfunc(value) if value in UFUNCS or value in COMPOSED else None
    elif _is_scipys(value) or _is_numpys_function(value):
        made = _shadow_function(value)
    else:
        made = None
    if made is not None:
        _shadows[value] = made
    return made


def _is_scipys(value: Any) -> bool:
    """Whether it is one of the functions of scipy.special that are no ufuncs and yet understood."""
    ours = SCIPY.get(getattr(value, "__name__", ""))
    if ours is None or not getattr(value, "__module__", "").startswith("scipy.special"):
        return False
    FUNCTIONS.update({value: ours})
    return True


def _is_numpys_function(value: Any) -> bool:
    if isinstance(value, type) or not callable(value):
        return False
    module = getattr(value, "__module__", None)
    if module not in _PARTS:
        return False
    home: Any = np
    for part in module.split(".")[1:]:
        home = getattr(home, part)
    return getattr(home, getattr(value, "__name__", ""), None) is value


# --- math -----------------------------------------------------------------------------------------


def _traced_log(x: Any, base: Any = None) -> Any:
    return np.log(x) if base is None else np.log(x) / np.log(base)


def _hypot(*coordinates: Any) -> Any:
    return np.linalg.norm(numpy_values.asarray(list(coordinates)))


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
    "ldexp": lambda x, power: x * 2.0 ** concrete(power),
    "remainder": lambda x, y: x - y * np.rint(x / y),
    "fsum": lambda values: numpy_values.asarray(list(values)).sum(),
    "dist": lambda p, q: np.linalg.norm(numpy_values.asarray(p) - numpy_values.asarray(q)),
}


def _python_result(value: Any) -> Any:
    """What math returns are Python's own floats."""
    if isinstance(value, tuple):
        return tuple(map(_python_result, value))
    return python_number(value) if type(value) is Traced and value.ndim == 0 else value


def _shadow_math(original: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    def shadow(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], types.GeneratorType):
            args = (list(args[0]), *args[1:])
        if any_traced(args):
            return _python_result(ours(*args, **kwargs))
        return original(*map(unwrap_all, args), **kwargs)

    shadow.__name__ = original.__name__
    return shadow


_math = types.ModuleType("math")
vars(_math).update(vars(math))
for _name, _ours in _MATH.items():
    _original = getattr(math, _name, None)
    if _original is not None:
        _shadows[_original] = _shadow_math(_original, _ours)
        setattr(_math, _name, _shadows[_original])
_shadows[math] = _math

# --- builtins and types that are called -----------------------------------------------------------


class _Number(type):
    """The type of stand-ins for float and its like.

    Calls keep traced values, everything else is the original's.
    """

    original: type

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and type(args[0]) is Traced:
            value = args[0]
            if value.size != 1:
                raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
            dtype = np.dtype(cls.original)
            value = value.reshape(()) if value.ndim else value
            value = value if value.dtype == dtype else numpy_values.astype(value, dtype)
            return value if issubclass(cls.original, np.generic) else python_number(value)
        return cls.original(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return _is_instance(instance, cls.original)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(original_type(subclass), cls.original)

    def __eq__(cls, other: object) -> bool:
        return original_type(other) is cls.original

    def __hash__(cls) -> int:
        return hash(cls.original)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.original, name)

    def __repr__(cls) -> str:
        return repr(cls.original)


def original_type(kind: Any) -> Any:
    """The type that a stand-in stands for."""
    return kind.original if type(kind) is _Number else kind


def _stand_in(original: Any) -> Any:
    # NumPy takes a class with a `dtype` for that dtype, so the stand-in can be used as one.
    return _Number(original.__name__, (), {"original": original, "dtype": np.dtype(original)})


def _is_instance(value: Any, kinds: Any) -> bool:
    if isinstance(kinds, tuple):
        return any(_is_instance(value, kind) for kind in kinds)
    kind = original_type(kinds)
    if type(value) is Traced and isinstance(kind, type):
        state = value._state
        scalar = value.ndim == 0 and not (state is not None and state.cell)
        return issubclass(value.dtype.type if scalar else np.ndarray, kind)
    return isinstance(value, kind)


BUILTINS: dict[str, Any] = {
    "float": _stand_in(builtins.float),
    "complex": _stand_in(builtins.complex),
    "isinstance": _is_instance,
}
for _kind in (np.float64, np.float32, np.complex128, np.complex64):
    _shadows[_kind] = _stand_in(_kind)
