"""What the calculus shares: choosing, flattening and capturing arguments, and checking them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import (
    ArrayType,
    array_type,
    class_name,
    conversion_of,
    is_numeric,
    is_table,
    numbers_of,
)
from adjoint.base.dlpack import from_dlpack, offers_dlpack
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    NotDifferentiableError,
    SpaceMismatchError,
)
from adjoint.base.signatures.calling import usage
from adjoint.base.trees.containers import container_advice
from adjoint.base.trees.held import hold
from adjoint.calculus.inputs.leaves import covector_in
from adjoint.capture import AwaitedArray, Captured, Traced, capture, traced_type
from adjoint.capture.recording.tracing.traced import value_of
from adjoint.spaces import Covector

Argnums = int | Sequence[int]


class Chosen:
    """The arguments with respect to which a function is differentiated, flattened.

    leaves: their arrays in order. types: of the leaves. call: calls a function with leaves in their
        places. converted: whether a leaf was an array of another library, or is held. single:
        whether one argument was named by a bare number, so that results are given for it alone.
        row: `list` or `tuple`, where the one chosen argument is such a row of arrays. holds:
        whether leaves within containers carry no derivative. They are given to the function as they
        are, and None stands for them in results.
    """

    __slots__ = (
        *("args", "converted", "holds", "kwargs", "leaves", "places", "row", "single", "treedefs"),
        *("forms", "types"),
    )

    def __init__(self, argnums: Argnums, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self.args = args
        self.kwargs = kwargs
        self.converted = self.holds = False
        self.single = not isinstance(argnums, (tuple, list))
        if argnums == 0 and args:
            self.places: tuple[int, ...] = (0,)
        else:
            self.places = _places(argnums, len(args))
        self.leaves: list[Any] = []
        self.treedefs: list[Any] = []
        self.forms: dict[int, Any] = {}  # of results, where leaves are held
        self.row: Any = None
        for place in self.places:
            value = args[place]
            kind = type(value)
            if kind is np.ndarray or kind is Traced:
                self.leaves.append(value)
                self.treedefs.append((None, 1))
                continue
            treedef = pytrees.row(value)
            if treedef is not None:
                leaves = value
                self.row = kind
                if any(leaf.dtype.kind not in "fc" for leaf in value):
                    self.row = None
                    leaves, treedef = self._held(leaves, treedef)
            else:
                leaves, treedef = pytrees.flatten(value)
                if treedef is not None:
                    covector = covector_in(treedef)
                    if covector is not None:
                        _refuse_covectors(place, covector)
                    if not all(map(_carries, leaves)):
                        leaves, treedef = self._held(leaves, treedef)
            self.leaves += leaves
            self.treedefs.append((treedef, len(leaves)))
        if len(self.places) != 1:
            self.row = None
        types: list[ArrayType] = []
        for leaf in self.leaves:
            if type(leaf) is np.ndarray and (dtype := leaf.dtype).kind in "fc":
                types.append(array_type(leaf.shape, dtype))
            else:
                types.append(self._type(len(types)))
        self.types = types

    def _held(self, leaves: Sequence[Any], treedef: Any) -> tuple[Sequence[Any], Any]:
        """The leaves of an argument that carry derivatives, if any do, and their structure."""
        if not any(map(_carries, leaves)):
            return leaves, treedef
        self.holds = self.converted = True
        nothing = [leaf if _carries(leaf) else None for leaf in leaves]
        self.forms[len(self.treedefs)] = pytrees.flatten(pytrees.unflatten(treedef, nothing))[1]
        return hold(leaves, treedef, [*map(_carries, leaves)])

    def _type(self, number: int) -> ArrayType:
        leaf = self.leaves[number]
        if type(leaf) is not Traced and not is_numeric(leaf):
            if offers_dlpack(leaf):
                leaf = from_dlpack(leaf)
            numbers = None if is_table(leaf) else numbers_of(leaf)
            if numbers is None:
                self._refuse(number)
            leaf = self.leaves[number] = numbers
            self.converted = True
        type_ = traced_type(leaf)
        if not type_.inexact:
            self._refuse(number)
        return type_

    def _refuse(self, number: int) -> NoReturn:
        leaf = self.leaves[number]
        value = value_of(leaf) if type(leaf) is Traced else leaf
        leaf = leaf if value is None else value
        where, kind = self.path(number), type(leaf)
        if type(leaf) is not Traced and not is_numeric(leaf):
            if isinstance(leaf, AwaitedArray):
                raise NotDifferentiableError(
                    f"{where} is rows that are read some at a time, with respect to which nothing "
                    "is differentiated here. Leave them to the closure: write "
                    "ad.vjp(lambda w: f(w, x, y), w), for x and y of ad.rows."
                )
            numpys = isinstance(leaf, (np.ndarray, np.generic))  # of text, say
            name = f"dtype {leaf.dtype}" if numpys else f"the type {class_name(kind)}"
            raise NotDifferentiableError(
                f"{where} has {name}. Only arrays and numbers carry "
                f"derivatives{'.' if numpys else _conversion(leaf)}"
            )
        array = hasattr(leaf, "dtype")
        type_text = f"dtype {leaf.dtype}" if array else f"the type {kind.__name__}"
        floating = "x.astype(float)" if array else f"{float(leaf)!r} for {leaf!r}"
        raise NotDifferentiableError(
            f"{where} has {type_text}. Integers and booleans carry no derivative: write "
            f"{floating}, or leave it out of argnums."
        )

    def path(self, number: int) -> str:
        """How a user would name a leaf: `argument 0['w']`."""
        counts = (count for _, count in self.treedefs)
        for entry, (place, count) in enumerate(zip(self.places, counts, strict=True)):
            if number < count:
                whole = self.args[place]
                paths = pytrees.paths(whole)
                if entry in self.forms:
                    leaves = zip(paths, pytrees.leaves(whole), strict=True)
                    paths = [path for path, leaf in leaves if _carries(leaf)]
                return f"argument {place}{paths[number]}"
            number -= count
        raise IndexError(number)

    def call(self, function: Any, traced: list[Traced]) -> Any:
        """Call a function with traced leaves in their places."""
        args = list(self.args)
        if self.row is not None:
            args[self.places[0]] = self.row(traced)
            return function(*args, **self.kwargs)
        start = 0
        for place, (treedef, count) in zip(self.places, self.treedefs, strict=True):
            if treedef is None:
                args[place] = traced[start]
            else:
                args[place] = pytrees.unflatten(treedef, traced[start : start + count])
            start += count
        return function(*args, **self.kwargs)

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        """Results for the leaves, in the structure of the arguments."""
        if self.single:
            if self.row is not None:
                return self.row(leaves)
            return pytrees.unflatten(self.forms.get(0, self.treedefs[0][0]), leaves)
        trees, start = [], 0
        for number, (treedef, count) in enumerate(self.treedefs):
            form = self.forms.get(number, treedef)
            trees.append(pytrees.unflatten(form, leaves[start : start + count]))
            start += count
        return tuple(trees)

    @property
    def point(self) -> Any:
        """The arguments themselves: one, or a tuple."""
        if self.converted:
            return self.unflatten(self.leaves)
        chosen = tuple(self.args[place] for place in self.places)
        return chosen[0] if self.single else chosen

    def capture(self, function: Any, **noting: Any) -> Captured:
        """The function captured at these arguments. noting: see `capture`."""
        active = (True,) * len(self.types)
        return capture(function, self.call, self.types, self.leaves, active, **noting)

    def recapture(self, function: Any) -> Captured:
        """The function captured once more, with the user's line of every operation."""
        return self.capture(function, lines=True)


def _carries(leaf: Any) -> bool:
    """Whether a leaf of a container carries a derivative, or holds numbers that should be."""
    kind = type(leaf)
    if kind is float or kind is complex:
        return True
    if kind is Traced or is_numeric(leaf):
        return traced_type(leaf).inexact
    if isinstance(leaf, (np.ndarray, np.generic)):
        return False
    numbers = numbers_of(leaf)
    return conversion_of(leaf) is not None if numbers is None else numbers.dtype.kind in "fc"


def _conversion(value: Any) -> str:
    """How to make numbers of an object, where its library has a way."""
    way = conversion_of(value)
    return f".{container_advice(value)}" if way is None else f": pass its numbers, {way}."


def _refuse_covectors(place: int, covector: Covector) -> None:
    raise SpaceMismatchError(
        f"argument {place} is, or holds, a covector on {covector.space!r}; functions are "
        "differentiated at vectors. Use space.represent(covector), or write the function of "
        "covector.components."
    )


def check_argnums(argnums: Any) -> None:
    """ArgumentTypeError unless arguments are named by their numbers."""
    rows = isinstance(argnums, (tuple, list))
    for number in argnums if rows else (argnums,):
        _check_number(number)


def _check_number(number: Any) -> None:
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
        raise ArgumentTypeError(
            f"argnums must be an integer, or a tuple or list of integers, got {number!r}."
        )


def _places(argnums: Argnums, count: int) -> tuple[int, ...]:
    places = tuple(argnums) if isinstance(argnums, (tuple, list)) else (argnums,)
    normalised = tuple(_place(place, count) for place in places)
    if len(set(normalised)) != len(normalised):
        raise ArgumentError(f"argnums names an argument twice: {argnums!r}.")
    return normalised


def _place(number: int, count: int) -> int:
    _check_number(number)
    if not -count <= number < count:
        raise ArgumentError(
            f"argnums names argument {number}, but the function was called with {count} positional "
            "arguments."
        )
    return int(number) % count


def check_callable(function: Any, name: str) -> None:
    """ArgumentTypeError unless the function can be called.

    name: of what takes it, as users of `adjoint` write it.
    """
    if not callable(function):
        raise ArgumentTypeError(
            f"{name} takes a function first, got a {type(function).__name__}.{_usage(name)}"
        )


def _usage(name: str) -> str:
    """How to write the call: what else it takes, or that its result takes the point."""
    taker = getattr(sys.modules.get("adjoint"), name, None)
    if taker is None:
        return ""
    return usage(name, [*inspect.signature(taker).parameters.values()])


def refuse_gradient(type: ArrayType, name: str) -> NoReturn:
    """NotDifferentiableError for a function whose value is not a real scalar."""
    if not type.inexact:
        advice = "An integer or boolean result has no derivative."
    elif type.ndim == 0:
        advice = (
            "A gradient needs a real value: take the real part or abs(...), or use ad.derivative."
        )
    else:
        advice = (
            "A gradient needs a single number: sum it, or use ad.jacobian, ad.vjp or ad.derivative."
        )
    raise NotDifferentiableError(
        f"{name} was asked of a function whose value is {type}, not a real scalar. {advice}"
    )
