"""Random generators given traced arrays: what is drawn are places.

The entries keep their derivatives. What a generator draws when it shuffles depends on the shape
alone. So it shuffles the numbers of the places, and these say where each entry goes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.capture.numpy.table import unwrap_all
from adjoint.capture.recording.traced import Traced, is_known


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
        plain = [unwrap_all(each) for each in args]
        named = {name: unwrap_all(each) for name, each in kwargs.items()}
        if special is not None and plain and type(plain[0]) is Traced:
            return special(method, *plain, **named)
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


_SPECIAL: dict[str, Callable[..., Any]] = {
    "choice": _choice,
    "permutation": _permutation,
    "permuted": _permuted,
    "shuffle": _shuffle,
}
_FIRST = {"choice": "a", "permutation": "x", "permuted": "x", "shuffle": "x"}
