"""Branches that are chosen, and functions that are computed again, when the program runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import is_numeric, type_of
from adjoint.base.errors import ArgumentError, ArgumentTypeError
from adjoint.base.signatures.calling import named
from adjoint.base.signatures.checked import check_whole
from adjoint.base.signatures.derived import Parameters, Result, core, derived
from adjoint.calculus.control_flow.bodies import (
    Body,
    among,
    capture_body,
    check_same_structure,
    common_type,
    perform,
    strong,
    take_apart,
    with_types,
)
from adjoint.calculus.inputs.arguments import check_callable
from adjoint.capture import Traced, capture, is_known, traced_type, unwrap
from adjoint.loops.declared import CHECKPOINT, SWITCH
from adjoint.program import operation


@named
def cond(
    predicate: Any,
    if_true: Callable[..., Result],
    if_false: Callable[..., Result],
    *operands: Any,
) -> Result:
    """`if_true(*operands)` if the predicate holds, else `if_false(*operands)`; only one is run.

    Under `vmap`, where the predicate differs between examples, both are. What a branch computes of
    values of its closure alone, and not of its operands, is computed in any case, with the errors
    and warnings of that: give it as operands.

    Args:
        predicate: a boolean, or a number, which holds unless it is zero.
        if_true: a function of the operands, which is captured, and cannot ask for values.
        if_false: another, with results of the same structure and shapes.
        operands: pytrees of arrays and numbers.

    Returns:
        What the function that was run returned.

    Raises:
        ShapeError, ArgumentTypeError: the results differ in shape or structure.
        ValueNeededError: a branch asked for a value.
        ArgumentTypeError: the predicate is no single boolean or number.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> def f(x):
        ...     return ad.cond(x > 0, np.sqrt, np.square, x)
        >>> float(ad.grad(f)(4.0)), float(ad.grad(f)(-3.0))
        (0.25, -6.0)
    """
    check_callable(if_true, "cond")
    check_callable(if_false, "cond")
    result: Result = _choose(_truth(predicate), [if_false, if_true], operands)
    return result


@named
def switch(index: Any, branches: Sequence[Callable[..., Result]], *operands: Any) -> Result:
    """`branches[index](*operands)`, of which only that one is run.

    Args:
        index: an integer, which may be known only when the program runs. One beyond the branches
            means the nearest of them.
        branches: functions as in `cond`.
        operands: pytrees of arrays and numbers.

    Returns:
        What the branch that was run returned.

    Raises:
        ArgumentTypeError: the index is no integer.
        ArgumentError: there are no branches.
        Others: as for `cond`.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> def f(x, kind):
        ...     return ad.switch(kind, [np.sin, np.cos, np.exp], x)
        >>> [float(ad.grad(f)(0.0, kind)) for kind in range(3)]
        [1.0, -0.0, 1.0]
    """
    if not isinstance(branches, (list, tuple)):
        raise ArgumentTypeError(
            f"switch takes a list or tuple of functions as its branches, got {branches!r}."
        )
    if not branches:
        raise ArgumentError("switch needs a branch at least.")
    for branch in branches:
        check_callable(branch, "switch")
    value = unwrap(index) if is_known(index) else index
    type_ = traced_type(value) if type(value) is Traced else type_of(value)
    if type_.ndim or type_.dtype.kind not in "iu":
        raise ArgumentTypeError(f"index must be an integer, got {type_}.")
    if type(value) is int:
        check_whole(value, "index")
    number = value.astype(np.int64) if type(value) is Traced else np.int64(value)
    result: Result = _choose(number, branches, operands)
    return result


def _truth(predicate: Any) -> Any:
    """The number of the branch: 1 where the predicate holds."""
    value = unwrap(predicate) if is_known(predicate) else predicate
    type_ = traced_type(value) if type(value) is Traced else type_of(value)
    if type_.ndim or type_.dtype.kind not in "biufc":
        raise ArgumentTypeError(f"predicate must be a single boolean, got {type_}.")
    if type(value) is Traced:
        holds: Any = value if type_.dtype.kind == "b" else np.not_equal(value, 0)
        return holds.astype(np.int64)
    return np.int64(bool(value))


def _choose(number: Any, functions: Sequence[Callable[..., Any]], operands: Sequence[Any]) -> Any:
    given = take_apart(tuple(operands), "operands")
    bodies = [
        capture_body(
            function,
            lambda target, traced: target(*pytrees.unflatten(given.treedef, traced)),
            given.types,
        )
        for function in functions
    ]
    first = bodies[0]
    for place, body in enumerate(bodies[1:], 1):
        what = f"what branch {place} returns"
        check_same_structure(body.treedef, first.treedef, what, "branch 0 returns")
    types = [
        strong(
            reduce(lambda a, b: common_type(a, b, "A result of a branch", "that of another"), row)
        )
        for row in zip(*(body.types for body in bodies), strict=True)
    ]
    whole = [Body(with_types(body.program, types), body.constants, None, types) for body in bodies]
    branches = tuple(
        among(body, whole[:place], whole[place + 1 :]) for place, body in enumerate(whole)
    )
    constants = [value for body in whole for value in body.constants]
    results = perform(operation(SWITCH, branches=branches), [number, *constants, *given.leaves])
    return pytrees.unflatten(first.treedef, results)


@named
def checkpoint(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The function, of which reverse mode keeps the arguments alone, and computes the rest again.

    Memory is traded for time: what happens inside is not kept for the derivative.

    Args:
        function: plain NumPy code, of pytrees of arrays and numbers; what else it is given is
            passed on.

    Returns:
        A function of the same arguments, with the same values and derivatives.

    Raises:
        ArgumentTypeError: the argument is no function.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> f = ad.checkpoint(lambda x: np.sum(np.sin(np.sin(x))))
        >>> ad.grad(f)(np.array([0.0, 1.0]))
        array([1.        , 0.36003949])
    """
    check_callable(function, "checkpoint")

    origin, function = function, core(function)

    def again(*args: Any, **kwargs: Any) -> Any:
        leaves, treedef = pytrees.flatten((args, kwargs))
        marks = [type(leaf) is Traced or is_numeric(leaf) for leaf in leaves]
        operands = [leaf for leaf, mark in zip(leaves, marks, strict=True) if mark]

        def call(target: Any, traced: list[Traced]) -> Any:
            waiting = iter(traced)
            whole = [
                next(waiting) if mark else leaf for leaf, mark in zip(leaves, marks, strict=True)
            ]
            arguments, named = pytrees.unflatten(treedef, whole)
            return target(*arguments, **named)

        types = [traced_type(operand) for operand in operands]
        captured = capture(function, call, types, operands, (True,) * len(types))
        program = captured.program()
        body = with_types(program, [strong(type_) for type_ in program.output_types])
        results = perform(
            operation(CHECKPOINT, body=body, schedule=None),
            [*operands, *captured.constants],
        )
        return pytrees.unflatten(captured.treedef, results)

    return derived(again, checkpoint, origin, {})
