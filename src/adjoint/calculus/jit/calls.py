"""The arguments of a call, taken apart: what of them is an input, and what tells programs apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from adjoint.base import pytrees
from adjoint.base.arrays import is_numeric
from adjoint.base.unpacking import is_flat, unpacking
from adjoint.capture import Traced, is_known, traced_type

Unpacked = Callable[[tuple[Any, ...], dict[str, Any]], Any]


class Call:
    """A call of a function.

    function: what the facts are about: the user's function, alone or with something else. places:
    the positional arguments whose arrays and numbers are inputs; None for all arguments. arrays:
    the inputs. types: theirs. traced: whether an outer capture traces some. treedef: the structure
    of what `places` names.
    """

    __slots__ = ("args", "arrays", "function", "kwargs", "leaves", "places", "traced", "treedef")

    def __init__(
        self,
        function: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        places: tuple[int, ...] | None = None,
    ) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.places = places
        whole = (args, kwargs) if places is None else tuple([args[place] for place in places])
        self.leaves, self.treedef = pytrees.flatten(whole)
        self.arrays = [leaf for leaf in self.leaves if _is_array(leaf)]
        self.traced = any(type(leaf) is Traced and not is_known(leaf) for leaf in self.arrays)

    @property
    def types(self) -> tuple[Any, ...]:
        """The types of the inputs."""
        return tuple([traced_type(leaf) for leaf in self.arrays])

    @property
    def key(self) -> tuple[Any, ...]:
        """The structure of the inputs, and their types: what is looked up fast."""
        return (self.treedef, self.types)

    def apply(self, target: Any, traced: Sequence[Any]) -> Any:
        """Call a function with traced values for the inputs."""
        waiting = iter(traced)
        whole = [next(waiting) if _is_array(leaf) else leaf for leaf in self.leaves]
        filled = pytrees.unflatten(self.treedef, whole)
        if self.places is None:
            args, kwargs = filled
            return target(*args, **kwargs)
        positional = list(self.args)
        for place, value in zip(self.places, filled, strict=True):
            positional[place] = value
        return target(*positional, **self.kwargs)

    @property
    def form(self) -> Form:
        """How the inputs lie in the arguments."""
        row = len(self.args) == 1 and pytrees.row(self.args[0]) is not None
        whole = len(self.arrays) == len(self.leaves)
        return Form(self.places, self.treedef, whole, len(self.args) == 1, row)


class Form(NamedTuple):
    """How the inputs of a call lie in its arguments.

    whole: whether nothing else is among them. single: whether there is one positional argument.
    row: whether that is a list or tuple of arrays.
    """

    places: tuple[int, ...] | None
    treedef: Any
    whole: bool
    single: bool
    row: bool

    def binding(self, call: Callable[..., Any]) -> tuple[bool, Callable[..., Any]] | None:
        """Machine code that takes the arguments as they come; None where some are no inputs.

        With whether it takes them one by one, and not as `(args, kwargs)`.
        """
        if not self.whole:
            return None
        if self.places is None:
            return (True, call) if is_flat(self.treedef) else (False, unpacking(call, self.treedef))
        if self.single and self.treedef.children()[0].is_leaf():
            return True, call
        if self.single and self.row:
            return False, lambda args, kwargs: call(*args[0])
        return False, _places(call, self.places, self.treedef)


def _places(call: Callable[..., Any], places: tuple[int, ...], treedef: Any) -> Unpacked:
    """Machine code that takes the arrays in some of the arguments."""
    if treedef is not None and all(child.is_leaf() for child in treedef.children()):
        return lambda args, kwargs: call(*[args[place] for place in places])

    def unpacked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        leaves, found = pytrees.flatten(tuple([args[place] for place in places]))
        return call(*leaves) if found == treedef else None

    return unpacked


def _is_array(leaf: Any) -> bool:
    return type(leaf) is Traced or is_numeric(leaf)
