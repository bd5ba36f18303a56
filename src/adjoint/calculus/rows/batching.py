"""Vectorisation over a batch axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import optree

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
from adjoint.base.dlpack import arrived
from adjoint.base.errors import ArgumentError, ArgumentTypeError, ShapeError
from adjoint.base.signatures.calling import named
from adjoint.base.signatures.derived import core, derived
from adjoint.base.trees.containers import container_advice
from adjoint.calculus.inputs.arguments import check_callable
from adjoint.calculus.inputs.leaves import refuse_covector_results
from adjoint.calculus.jit.captures import captured as captured_for
from adjoint.calculus.rows import Rows, rows
from adjoint.calculus.rows.passes import maybe_over_rows
from adjoint.capture import AwaitedArray, Captured, Traced, capture, current, traced_type
from adjoint.capture.recording.tracing.constants import check_plain
from adjoint.capture.recording.tracing.traced import value_of
from adjoint.executors.xla.placement import Placement, placed
from adjoint.pipeline import prepare, run, watch_all
from adjoint.program import Program
from adjoint.transforms import vmap as vmap_program

Axes = int | None | tuple[Any, ...] | list[Any] | dict[Any, Any]


@named
def vmap(
    function: Callable[..., Any], in_axes: Axes = 0, out_axes: int = 0, chunk: int | None = None
) -> Callable[..., Any]:
    """A function of one example as a function of a batch, without a loop.

    Args:
        function: plain NumPy code of one example. It cannot ask for values that differ between
            examples (`if x > 0`): use np.where.
        in_axes: the batch axis of the arguments: an integer for all; or one entry an argument: an
            integer, None for an argument that all examples share, or a tree of such for a pytree
            argument.
        out_axes: where the batch axis goes in the results.
        chunk: how many examples are computed at a time, so that memory holds what is between
            arguments and results for so many; None for all. Batch axes must be the first ones, and
            `ad.rows` may stand for arguments.

    Returns:
        A function of the batch, whose results have the batch axis at `out_axes`.

    Raises:
        ShapeError: batch axes of different lengths.
        ValueNeededError: the function asked for a value.
        RowsError: with `chunk`, or for rows, results have the batch axis elsewhere.
        ArgumentError: an axis that an argument or a result does not have, no argument with a batch
            axis, or an `in_axes` with more or fewer entries than there are arguments.
        ArgumentTypeError: what is given is no function, an axis no integer, or an argument with a
            batch axis no array.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> ad.vmap(np.dot, in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0]))
        array([3., 4.])
    """
    check_callable(function, "vmap")
    _check_axes(in_axes)
    if isinstance(out_axes, bool) or not isinstance(out_axes, int):
        raise ArgumentTypeError(f"out_axes must be an integer, got {out_axes!r}.")

    origin, function = function, core(function)

    def batched(*args: Any, **kwargs: Any) -> Any:
        if chunk is not None and current() is None:
            args = _in_chunks(args, in_axes, chunk)
        return maybe_over_rows(partial(at_once, *args, **kwargs), at_once, args, kwargs)

    def at_once(*args: Any, **kwargs: Any) -> Any:
        (args, kwargs), placement = placed((args, kwargs), current() is not None)
        args, kwargs = arrived((args, kwargs))
        every, treedef = pytrees.flatten(args)
        axes = _axes(in_axes, args)
        every = [
            leaf if axis is None else _numbers(leaf) for leaf, axis in zip(every, axes, strict=True)
        ]
        # What is neither an array nor a number is passed on as it is.
        fixed = [
            axis is None and not _is_array(leaf) for leaf, axis in zip(every, axes, strict=True)
        ]

        def call(target: Any, traced: list[Any]) -> Any:
            waiting = iter(traced)
            whole = [
                leaf if mark else next(waiting) for leaf, mark in zip(every, fixed, strict=True)
            ]
            return target(*pytrees.unflatten(treedef, whole), **kwargs)

        leaves = [leaf for leaf, mark in zip(every, fixed, strict=True) if not mark]
        batch = _Batch(leaves, [axis for axis, mark in zip(axes, fixed, strict=True) if not mark])
        captured = _captured(function, args, kwargs, batch, call)
        refuse_covector_results(captured.treedef, "vmap")
        results = batch.run(captured, placement)
        if out_axes:
            results = [_move_out(result, out_axes) for result in results]
        return pytrees.unflatten(captured.treedef, results)

    options = {"in_axes": in_axes, "out_axes": out_axes, "chunk": chunk}
    return derived(batched, vmap, origin, options)


def _in_chunks(args: tuple[Any, ...], in_axes: Axes, chunk: int) -> tuple[Any, ...]:
    """The arguments with rows in the place of what has a batch axis."""
    leaves, treedef = pytrees.flatten(args)
    axes = _axes(in_axes, args)
    if any(axes):
        raise ArgumentError(
            "With chunk, the batch axis of all arguments must be their first, or None. Write "
            "np.moveaxis(x, axis, 0)."
        )
    parts = [
        leaf if axis is None or isinstance(leaf, Rows) else rows(np.asarray(leaf), chunk)
        for leaf, axis in zip(leaves, axes, strict=True)
    ]
    whole: tuple[Any, ...] = pytrees.unflatten(treedef, parts)
    return whole


class _Batch:
    """The arrays of a batch, whose axis comes first; `axes` has None for what examples share."""

    def __init__(self, leaves: list[Any], axes: list[int | None]) -> None:
        self.size = _size(leaves, axes)
        self.axes = axes
        self.moved = [
            leaf if axis is None else _move(leaf, axis, 0)
            for leaf, axis in zip(leaves, axes, strict=True)
        ]

    @property
    def types(self) -> list[ArrayType]:
        """The types of one example."""
        return [
            type_ if axis is None else array_type(type_.shape[1:], type_.dtype)
            for type_, axis in zip(map(traced_type, self.moved), self.axes, strict=True)
        ]

    @property
    def examples(self) -> list[Any]:
        """The first example; None where its values are not there."""
        return [
            leaf if axis is None else _example(leaf) if self.size else None
            for leaf, axis in zip(self.moved, self.axes, strict=True)
        ]

    def run(self, captured: Captured, placement: Placement | None) -> Sequence[Any]:
        """The results of a function for all examples. placement: where these lie."""
        marks = tuple(axis is not None for axis in self.axes)

        def derive(program: Program, _: Any) -> tuple[Program, tuple[int, ...], Any]:
            whole = [*marks, *(False for _ in captured.constants)]
            mapped = vmap_program(program, whole, self.size)
            return mapped, watch_all(mapped), None

        compiled = prepare(("vmap", marks, self.size), captured, derive)
        arguments = [*self.moved, *captured.constants]
        return run(compiled, arguments) if placement is None else placement.run(compiled, arguments)


def _captured(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], batch: _Batch, call: Any
) -> Captured:
    """The function of one example, captured at the first."""
    axes, examples = batch.axes, batch.examples
    known = {n: leaf for n, leaf in enumerate(batch.moved) if axes[n] is None}
    witness = {n: x for n, x in enumerate(examples) if n not in known and x is not None}
    active = tuple(
        type(leaf) is Traced or axis is not None
        for leaf, axis in zip(batch.moved, axes, strict=True)
    )

    def once(**noting: Any) -> Captured:
        return capture(function, call, batch.types, known, active, witness=witness, **noting)

    if not batch.size:
        return once()
    places = tuple(range(len(args)))
    return captured_for(function, args, kwargs, places, examples, once, tuple(axes))


def _example(leaf: Any) -> Any:
    """The first of a batch; None where its values are not there."""
    value = value_of(leaf) if type(leaf) is Traced else leaf
    return None if value is None else value[0]


def _move(leaf: Any, source: int, destination: int) -> Any:
    return leaf if source == destination else np.moveaxis(leaf, source, destination)


def _move_out(result: Any, out_axes: int) -> Any:
    if not -result.ndim <= out_axes < result.ndim:
        raise ArgumentError(
            f"out_axes names axis {out_axes} of a result that has {result.ndim} axes with that of "
            "the batch."
        )
    return np.moveaxis(result, 0, out_axes)


def _is_array(leaf: Any) -> bool:
    return type(leaf) is Traced or is_numeric(leaf)


def _check_axes(in_axes: Any) -> None:
    """ArgumentTypeError unless axes are named by numbers, or by None."""
    pytrees.flatten(in_axes)  # registers the dataclasses that are met
    for axis in optree.tree_leaves(in_axes, none_is_leaf=True, namespace=pytrees.NAMESPACE):
        if axis is not None and (isinstance(axis, bool) or not isinstance(axis, int)):
            raise ArgumentTypeError(
                "in_axes must be an integer or None, or one of them for each argument, in a tuple "
                f"or a list, got {in_axes!r}."
            )


def _axes(in_axes: Axes, args: tuple[Any, ...]) -> list[int | None]:
    """One batch axis, or None, for each leaf of the arguments."""
    if isinstance(in_axes, (tuple, list)):
        if len(in_axes) != len(args):
            raise ArgumentError(
                f"in_axes has {len(in_axes)} entries, but vmap's function was called with "
                f"{len(args)} arguments."
            )
        per_argument = list(in_axes)
    else:
        per_argument = [in_axes] * len(args)
    axes: list[int | None] = []
    for axis, arg in zip(per_argument, args, strict=True):
        leaves, _ = pytrees.flatten(arg)
        if axis is None or isinstance(axis, int):
            axes += [_normal(axis, leaf) for leaf in leaves]
        else:
            inner = optree.tree_leaves(axis, none_is_leaf=True, namespace=pytrees.NAMESPACE)
            if len(inner) != len(leaves):
                raise ArgumentError(f"in_axes {axis!r} does not fit the structure of its argument.")
            axes += [_normal(a, leaf) for a, leaf in zip(inner, leaves, strict=True)]
    return axes


def _numbers(leaf: Any) -> Any:
    """An array of another library by its numbers; others as they are."""
    if _is_array(leaf) or is_table(leaf):
        return leaf
    numbers = numbers_of(leaf)
    return leaf if numbers is None else numbers


def _normal(axis: int | None, leaf: Any) -> int | None:
    if axis is None:
        return None
    leaf = _numbers(leaf)
    if not _is_array(leaf) and not isinstance(leaf, AwaitedArray):
        way = conversion_of(leaf)
        numbers = "" if way is None else f"pass its numbers, {way}; "
        raise ArgumentTypeError(
            f"vmap takes arrays, got a {class_name(type(leaf))}; {numbers}in_axes=None passes it "
            f"on to all examples.{container_advice(leaf)}"
        )
    if isinstance(leaf, np.ndarray):
        check_plain(leaf)
    ndim = len(leaf.shape) if isinstance(leaf, AwaitedArray) else traced_type(leaf).ndim
    if not -ndim <= axis < ndim:
        raise ArgumentError(
            f"in_axes names axis {axis} of an argument with {ndim} axes; pass None for what all "
            "examples share."
        )
    return axis % ndim


def _size(leaves: list[Any], axes: list[int | None]) -> int:
    sizes = {
        traced_type(leaf).shape[axis]
        for leaf, axis in zip(leaves, axes, strict=True)
        if axis is not None
    }
    if not sizes:
        raise ArgumentError("vmap needs at least one argument with a batch axis.")
    if len(sizes) > 1:
        raise ShapeError(f"vmap's arguments have batch axes of different lengths: {sorted(sizes)}.")
    return sizes.pop()
