"""The arguments of a call, taken apart: what of them is an input, and what tells programs apart."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple

from adjoint.base import pytrees
from adjoint.base.arrays import is_numeric
from adjoint.base.trees.unpacking import is_flat, unpacking
from adjoint.capture import Traced, is_known, traced_type
from adjoint.capture.facts.places import Place, filled
from adjoint.capture.facts.survey import With

Unpacked = Callable[[tuple[Any, ...], dict[str, Any]], Any]


class Call:
    """A call of a function.

    function: what the facts are about: the user's function, alone or with something else. places:
    the positional arguments whose arrays and numbers are inputs; None for all arguments. arrays:
    the inputs. types: theirs. traced: whether an outer capture traces some. treedef: the structure
    of what `places` and `cells` name. cells: names of the function's closure whose contents are
    inputs too. data: places of data that are inputs as well, the last.
    """

    __slots__ = (
        *("args", "arrays", "cells", "data", "function", "kwargs", "leaves", "places", "traced"),
        "treedef",
    )

    def __init__(
        self,
        function: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        places: tuple[int, ...] | None = None,
        cells: tuple[str, ...] = (),
    ) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.places = places
        self.cells = cells
        self.data: Sequence[Place] = ()
        whole: tuple[Any, ...] = (args, kwargs)
        if places is not None:
            whole = tuple([args[place] for place in places])
        if cells:
            whole = (*whole, *contents(self.inner, cells))
        self.leaves, self.treedef = pytrees.flatten(whole)
        self.arrays = [leaf for leaf in self.leaves if _is_array(leaf)]
        self.traced = any(type(leaf) is Traced and not is_known(leaf) for leaf in self.arrays)

    def widened(self, data: Sequence[Place], values: Sequence[Any]) -> Call:
        """The call with data that lie elsewhere for inputs."""
        wider = copy(self)
        wider.data = data
        wider.arrays = [*self.arrays, *values]
        return wider

    @property
    def types(self) -> tuple[Any, ...]:
        """The types of the inputs."""
        return tuple([traced_type(leaf) for leaf in self.arrays])

    @property
    def key(self) -> tuple[Any, ...]:
        """The structure of the inputs, and their types: what is looked up fast."""
        return (self.treedef, self.types)

    @property
    def inner(self) -> Any:
        """The user's function."""
        return self.function.function if type(self.function) is With else self.function

    def apply(self, target: Any, traced: Sequence[Any]) -> Any:
        """Call a function with traced values for the inputs.

        Where only some arguments are inputs, the function is one that does something with the
        user's, which it takes first.
        """
        if self.data:
            count = len(self.arrays) - len(self.data)
            with filled(self.data, traced[count:]):
                return self._applied(target, traced[:count])
        return self._applied(target, traced)

    def _applied(self, target: Any, traced: Sequence[Any]) -> Any:
        waiting = iter(traced)
        whole = [next(waiting) if _is_array(leaf) else leaf for leaf in self.leaves]
        filled = pytrees.unflatten(self.treedef, whole)
        if self.places is None:
            args, kwargs = filled
            return target(*args, **kwargs)
        positional = list(self.args)
        for place, value in zip(self.places, filled, strict=False):
            positional[place] = value
        inner = self.inner
        if self.cells:
            inner = with_contents(inner, self.cells, filled[len(self.places) :])
        return target(inner, *positional, **self.kwargs)

    @property
    def form(self) -> Form:
        """How the inputs lie in the arguments."""
        row = len(self.args) == 1 and pytrees.row(self.args[0]) is not None
        whole = len(self.arrays) == len(self.leaves) and not self.data
        single = len(self.args) == 1 and not self.cells
        return Form(self.places, self.cells, self.treedef, whole, single, row)


class Form(NamedTuple):
    """How the inputs of a call lie in its arguments.

    whole: whether nothing else is among them. single: whether there is one positional argument.
    row: whether that is a list or tuple of arrays.
    """

    places: tuple[int, ...] | None
    cells: tuple[str, ...]
    treedef: Any
    whole: bool
    single: bool
    row: bool

    def binding(self, call: Callable[..., Any]) -> tuple[bool, Callable[..., Any]] | None:
        """Machine code that takes the arguments as they come; None where some are no inputs.

        With whether it takes them one by one, and not as `(args, kwargs)`; where there are cells,
        the function comes third.
        """
        if not self.whole:
            return None
        if self.cells:
            return False, _cells(call, self.places or (), self.cells, self.treedef)
        if self.places is None:
            return (True, call) if is_flat(self.treedef) else (False, unpacking(call, self.treedef))
        if self.single and self.treedef.children()[0].is_leaf():
            return True, call
        if self.single and self.row:
            return False, lambda args, kwargs: call(*args[0])
        return False, _places(call, self.places, self.treedef)


def contents(function: Any, names: tuple[str, ...]) -> list[Any]:
    """What some names of a function's closure are bound to."""
    free = function.__code__.co_freevars
    return [function.__closure__[free.index(name)].cell_contents for name in names]


def with_contents(function: Any, names: tuple[str, ...], values: Sequence[Any]) -> Any:
    """A function with other values in its closure."""
    cells = list(function.__closure__)
    for name, value in zip(names, values, strict=True):
        cells[function.__code__.co_freevars.index(name)] = types.CellType(value)
    code, names_, defaults = function.__code__, function.__globals__, function.__defaults__
    rebound = types.FunctionType(code, names_, function.__name__, defaults, tuple(cells))
    rebound.__kwdefaults__ = function.__kwdefaults__
    rebound.__qualname__, rebound.__module__ = function.__qualname__, function.__module__
    rebound.__dict__ = function.__dict__
    return rebound


def _cells(
    call: Callable[..., Any], places: tuple[int, ...], cells: tuple[str, ...], treedef: Any
) -> Callable[..., Any]:
    """Machine code that takes the arrays in some of the arguments, and in a function's closure."""

    def unpacked(args: tuple[Any, ...], kwargs: dict[str, Any], function: Any) -> Any:
        whole = [*(args[place] for place in places), *contents(function, cells)]
        leaves, structure = pytrees.flatten(tuple(whole))
        return call(*leaves) if structure == treedef else None

    return unpacked


def _places(call: Callable[..., Any], places: tuple[int, ...], treedef: Any) -> Unpacked:
    """Machine code that takes the arrays in some of the arguments."""
    if treedef is not None and all(child.is_leaf() for child in treedef.children()):
        return lambda args, kwargs: call(*[args[place] for place in places])

    def unpacked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        leaves, structure = pytrees.flatten(tuple([args[place] for place in places]))
        return call(*leaves) if structure == treedef else None

    return unpacked


def _is_array(leaf: Any) -> bool:
    return type(leaf) is Traced or is_numeric(leaf)
