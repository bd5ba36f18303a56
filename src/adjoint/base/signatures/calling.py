"""How the functions of the calculus are called: what is said where a call does not fit them.

`ad.grad(f, argnum=1)` is told that the word is `argnums`, and `ad.hvp` without a direction what
else it takes.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, TypeVar, cast

from adjoint.base.errors import ArgumentTypeError

Function = TypeVar("Function", bound=Callable[..., Any])

# Words of other tools that are not spelled alike, and the words for the same here.
_SAME: Final = {
    "wrt": ("argnums",),
    "in_dims": ("in_axes",),
    "out_dims": ("out_axes",),
    "vector": ("direction", "tangents"),
    "v": ("direction", "tangents"),
    "p": ("direction",),
    "x0": ("initial", "primal", "x"),
    "x": ("primal", "initial"),
    "xs": ("scanned",),
    "tol": ("tolerance",),
    "tolerance": ("tol",),
    "backend": ("device",),
    "metric": ("space",),
    "inner_product": ("space",),
}
_CONSTANTS: Final = (
    "arrays and numbers are inputs, and text, objects and the rest are compared at each call"
)
_IN_PLACE: Final = "arrays stay as they are after a call"
# Words for which there is no argument, and why there need be none.
_NOT_NEEDED: Final = {
    "static_argnums": _CONSTANTS,
    "static_argnames": _CONSTANTS,
    "donate_argnums": _IN_PLACE,
    "donate_argnames": _IN_PLACE,
    "allow_int": "integers carry no derivative; leave them out of `argnums`",
    "holomorphic": "`ad.derivative(f, z)` is a complex linear map where f is holomorphic",
    "create_graph": "a derivative is a function, of which derivatives can be taken",
    "retain_graph": "a derivative is a function, which can be called again",
}
# How SciPy is given a derivative: the function that is made of the user's, not what makes it.
_FOR_SCIPY: Final = {
    "grad": "jac=ad.grad(f)",
    "jacobian": "jac=ad.jacobian(f)",
    "hessian": "hess=ad.hessian(f)",
    "hvp": "hessp=lambda x, u: ad.hvp(f, x, u)",
    "value_and_grad": "minimize(ad.value_and_grad(f), x, jac=True)",
}


def named(function: Function) -> Function:
    """A function of the calculus that answers for calls which do not fit its parameters.

    Such a call does not reach the function: the traceback of Python's error ends where it is made.
    Errors from within the function are passed on.
    """
    answer = misfit

    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            trace = error.__traceback__
            if trace is None or trace.tb_next is not None:
                raise
            refusal = answer(function, args, kwargs)
        raise refusal

    # doctest finds the functions of a module by their globals, so these are the function's own.
    own = types.FunctionType(called.__code__, function.__globals__, closure=called.__closure__)
    return cast("Function", functools.wraps(function)(own))


def misfit(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> ArgumentTypeError:
    """The error for a call whose arguments do not fit the parameters of a function, or of a class.

    function: the function itself, or `__init__` of the class.
    """
    signature = inspect.signature(function)
    parameters = [*signature.parameters.values()]
    name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    if function.__name__ == "__init__":
        del parameters[0]
    taken = [one.name for one in parameters if one.kind is not one.VAR_KEYWORD]
    for word in kwargs:
        if word not in taken:
            listed = ", ".join(map(_shown, parameters))
            return ArgumentTypeError(
                f"{name} has no argument {word!r}.{_advice(word, taken)} It takes {listed}."
            )
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        return ArgumentTypeError(f"{name}: {error}.{usage(name, parameters)}")
    raise AssertionError("the call fits")


def _shown(parameter: inspect.Parameter) -> str:
    """A parameter as it is written in a call: optional where `=` is behind it."""
    text = "*" * (parameter.kind is parameter.VAR_POSITIONAL) + parameter.name
    return text if parameter.default is parameter.empty else f"{text}="


def _advice(word: str, taken: list[str]) -> str:
    """What to write for a word that is no parameter."""
    if word in _NOT_NEEDED:
        return f" It is not needed: {_NOT_NEEDED[word]}."
    same = [name for name in _SAME.get(word, ()) if name in taken]
    for name in same or get_close_matches(word, taken, 1):
        return f" Write {name}."
    return ""


def usage(name: str, parameters: Sequence[inspect.Parameter]) -> str:
    """How to write a call: what it takes, or that the function it returns takes the point."""
    needed = [
        "*" * (one.kind is one.VAR_POSITIONAL) + ("f" if one.name == "function" else one.name)
        for one in parameters
        if one.name == "function" or (one.default is one.empty and one.kind is not one.VAR_KEYWORD)
    ]
    written = f"{name}({', '.join(needed)})"
    if needed == ["f"]:
        written += f"(x), not {name}(f(x))"
    scipys = f"; for SciPy, {_FOR_SCIPY[name]}" if name in _FOR_SCIPY else ""
    return f" Write {written}{scipys}."
