"""Random generators given traced arrays: what is drawn does not depend on them.

What a generator draws when it shuffles depends on the shape alone. So it shuffles the numbers of
the places, and these say where each entry goes. What it draws around a place and in a width, both
of which may be traced, is place + width * a draw around 0 in the width 1, and so NumPy computes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.capture.numpy.operations.operators import python_number
from adjoint.capture.numpy.table import any_traced, unwrap_all
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.traced import Traced, is_known


def for_traced(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A method of a random generator, for traced arrays too."""
    special = _SPECIAL.get(name)

    def draw(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out")
        if type(out) is Traced and not is_known(out):
            kwargs["out"] = np.empty(out.shape, out.dtype)
            out[...] = draw(*args, **kwargs)
            return out
        first = _FIRST.get(name)
        if first in kwargs and not args:
            args = (kwargs.pop(first),)
        if name == "shuffle" and args and type(args[0]) is not Traced:
            return method(*args, **kwargs)  # which moves objects about, whatever they are
        plain = [unwrap_all(argument) for argument in args]
        named = {name: unwrap_all(argument) for name, argument in kwargs.items()}
        if special is not None and plain and type(plain[0]) is Traced:
            return special(method, *plain, **named)
        if name in _PLACED and any_traced((*plain, *named.values())):
            return _placed(method, name, *plain, **named)
        result = method(*plain, **named)
        return out if out is not None else result

    return draw


def _places(x: Traced) -> Any:
    """The number of each entry, in an array of the same shape."""
    return np.arange(x.size).reshape(x.shape)


def _shuffle(method: Callable[..., Any], x: Traced, *args: Any, **kwargs: Any) -> None:
    places = _places(x)
    method(places, *args, **kwargs)
    x[...] = x.flatten()[places]


def _permuted(method: Callable[..., Any], x: Traced, *args: Any, **kwargs: Any) -> Any:
    return x.flatten()[method(_places(x), *args, **kwargs)]


def _permutation(method: Callable[..., Any], x: Traced, axis: int = 0) -> Any:
    return x.take(method(x.shape[axis]), axis=axis)


def _choice(method: Callable[..., Any], x: Traced, *args: Any, axis: int = 0, **kwargs: Any) -> Any:
    return x.take(method(x.shape[axis], *args, **kwargs), axis=axis)


def _placed(method: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
    """A draw around a place, in a width."""
    first, second = _PLACED[name]
    names = [argument for argument in (first, second, "size") if argument]
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    if len(given) < len(args) + len(kwargs) or not given.keys() <= {*names}:
        method(*map(concrete, args), **{n: concrete(x) for n, x in kwargs.items()})  # which raises
    place, width, size = given.get(first, 0.0), given.get(second, 1.0), given.get("size")
    if name == "uniform":
        width = width - place
    shape = np.broadcast_shapes(np.shape(place), np.shape(width))
    if not np.all(np.isfinite(width) & ~np.signbit(width)):  # NumPy's errors; nothing is drawn
        method(**{**{n: concrete(x) for n, x in given.items()}, "size": (0, *shape)})
    if size is not None:
        wanted = (size,) if np.ndim(size) == 0 else tuple(size)
        if not _goes_into(shape, wanted):
            method(**{n: concrete(x) for n, x in given.items()})  # which raises
        shape = wanted
    known = {first: 0.0, second: 1.0, "size": shape if shape or size is not None else None}
    draw = method(**{argument: known[argument] for argument in names})
    result = place + width * draw if first else width * draw
    return python_number(result) if size is None and not shape else result


def _goes_into(shape: Any, wanted: Any) -> bool:
    try:
        np.broadcast_to(np.broadcast_to(0, shape), wanted)
    except ValueError:
        return False
    return True


# What a draw calls its place and its width; for `uniform`, its two ends.
_PLACED: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("normal", "laplace", "logistic", "gumbel"), ("loc", "scale")),
    "uniform": ("low", "high"),
    **dict.fromkeys(("exponential", "rayleigh"), ("", "scale")),
}

_SPECIAL: dict[str, Callable[..., Any]] = {
    "choice": _choice,
    "permutation": _permutation,
    "permuted": _permuted,
    "shuffle": _shuffle,
}
_FIRST = {"choice": "a", "permutation": "x", "permuted": "x", "shuffle": "x"}
