"""Loops whose number of rounds is known only when the program runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType, type_of
from adjoint.base.errors import ArgumentError, ArgumentTypeError, ShapeError
from adjoint.base.signatures.calling import named
from adjoint.base.signatures.checked import check_flag, check_whole
from adjoint.calculus.control_flow.bodies import (
    Body,
    TakenApart,
    among,
    capture_body,
    check_not_narrower,
    check_same_structure,
    common_type,
    perform,
    strong,
    take_apart,
    with_types,
)
from adjoint.calculus.inputs.arguments import check_callable
from adjoint.capture import Traced, apply, is_known, traced_type, unwrap
from adjoint.loops.declared import CHECKPOINT, SCAN, WHILE
from adjoint.loops.rules import row_type
from adjoint.loops.tapes import bound
from adjoint.primitives.elementwise.conversion import PYTHON_NUMBER
from adjoint.program import Builder, Operation, operation

Schedule = str | int | None
_MOST_CAPTURES = 8  # types grow along NumPy's promotion, which is a short ladder
_INDEX = type_of(np.int64(0))


# --- bodies ---------------------------------------------------------------------------------------


class _Rounds(NamedTuple):
    """A body, the types of what it carries, and the structure of the rows that it makes."""

    body: Body
    carried: list[ArrayType]
    rows: Any


def _carrying(
    name: str,
    initial: TakenApart,
    step: Callable[[Any, list[Any], list[Any]], tuple[Any, Any]],
    function: Callable[..., Any],
    scanned: Sequence[ArrayType] = (),
) -> _Rounds:
    """Capture a body at the types that it keeps.

    step: `(function, carried leaves, row leaves)` -> (carried tree, tree of new rows).
    """
    count = len(initial.leaves)
    types = initial.types
    structures: list[Any] = [None, None]

    def call(target: Any, traced: list[Traced]) -> Any:
        carried, row_tree = step(target, list(traced[:count]), list(traced[count:]))
        leaves, structures[0] = pytrees.flatten(carried)
        rows, structures[1] = pytrees.flatten(row_tree)
        return [*leaves, *rows]

    for _ in range(_MOST_CAPTURES):
        body = capture_body(function, call, [*types, *scanned])
        check_same_structure(structures[0], initial.treedef, f"what {name} returns", "initial has")
        paths = initial.paths
        wider = [
            common_type(returned, type_, f"What {name} returns{path}", "it was given")
            for returned, type_, path in zip(body.types, types, paths, strict=False)
        ]
        if wider == types:
            if not any(type_.weak for type_ in types):
                break
            wider = list(map(strong, types))
        types = wider
    for returned, type_, path in zip(body.types, types, paths, strict=False):
        check_not_narrower(returned, type_, f"What {name} carries{path}")
    rows = list(map(strong, body.types[count:]))
    program = with_types(body.program, [*types, *rows])
    return _Rounds(Body(program, body.constants, None, [*types, *rows]), types, structures[1])


def _as_types(leaves: Sequence[Any], types: Sequence[ArrayType]) -> list[Any]:
    """The values at the beginning, in the types that are carried."""
    return [
        leaf
        if traced_type(leaf) is type_
        else leaf.astype(type_.dtype)
        if isinstance(leaf, (np.ndarray, np.generic, Traced))
        else type_.dtype.type(leaf)
        for leaf, type_ in zip(leaves, types, strict=True)
    ]


def _check_schedule(checkpoint: Any) -> None:
    if isinstance(checkpoint, int) and not isinstance(checkpoint, bool) and checkpoint >= 1:
        return
    if not (checkpoint is None or (isinstance(checkpoint, str) and checkpoint in ("sqrt", "log"))):
        raise ArgumentError(
            "checkpoint must be None, 'sqrt', 'log', or how many states are kept, 1 or more, got "
            f"{checkpoint!r}."
        )


def _perform(op: Operation, operands: Sequence[Any], schedule: Schedule) -> list[Any]:
    """Perform a loop, so that its derivative computes it again if there is a schedule."""
    if schedule is None:
        return perform(op, operands)
    builder = Builder()
    inputs = [builder.input(traced_type(operand)) for operand in operands]
    body = builder.build(builder.emit(op, inputs))
    return perform(operation(CHECKPOINT, body=body, schedule=schedule), operands)


# --- while ----------------------------------------------------------------------------------------


@named
def while_loop(
    test: Callable[[Any], Any],
    body: Callable[[Any], Any],
    initial: Any,
    checkpoint: Schedule = None,
) -> Any:
    """What is left of `initial` after `while test(x): x = body(x)`.

    Differentiable in every mode; reverse mode keeps what it needs of each round. The functions are
    captured, once or a few times, and not run: they cannot ask for values.

    Args:
        test: of what is carried -> a boolean.
        body: of what is carried -> the same structure, with the same shapes. Dtypes grow as NumPy's
            do; a Python number becomes an array.
        initial: a pytree of arrays and numbers.
        checkpoint: None: reverse mode keeps a tape of all rounds. "sqrt", "log": it keeps few
            states, and computes the rounds in between again; or so many as a number says.

    Returns:
        What is carried at the end, in the structure of `initial`.

    Raises:
        ValueNeededError: a function asked for a value (`if x > 0`).
        ShapeError, DTypeError, ArgumentTypeError: the body changes a shape, a dtype or the
            structure, or the test gives no boolean.
        ArgumentError: `checkpoint` is none of these.

    Example:
        >>> import adjoint as ad
        >>> def root(a):  # Newton's method
        ...     return ad.while_loop(
        ...         lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a
        ...     )
        >>> float(root(2.0)), float(ad.grad(root)(2.0))
        (1.414213562373095, 0.35355339059327373)
    """
    check_callable(test, "while_loop")
    check_callable(body, "while_loop")
    _check_schedule(checkpoint)
    begun = take_apart(initial, "initial")

    def step(target: Any, carried: list[Any], _: list[Any]) -> tuple[Any, Any]:
        return target(pytrees.unflatten(begun.treedef, carried)), ()

    rounds = _carrying("the body", begun, step, body)
    goes_on = _captured_test(test, begun.treedef, rounds.carried)
    op = operation(
        WHILE,
        test=among(goes_on, [rounds.body], []),
        body=among(rounds.body, [], [goes_on]),
        constants=rounds.body.fixed + goes_on.fixed,
        carried=len(rounds.carried),
        length=None,
    )
    operands = [
        *rounds.body.constants,
        *goes_on.constants,
        *_as_types(begun.leaves, rounds.carried),
    ]
    results = _perform(op, operands, checkpoint)
    return pytrees.unflatten(begun.treedef, results[1:])


def _captured_test(test: Callable[[Any], Any], treedef: Any, types: Sequence[ArrayType]) -> Body:
    body = capture_body(
        test, lambda target, traced: target(pytrees.unflatten(treedef, traced)), types
    )
    if body.treedef is not None or body.types[0].ndim or body.types[0].dtype.kind != "b":
        what = ", ".join(map(str, body.types)) or "nothing"
        raise ArgumentTypeError(f"The test must return one boolean, and returned {what}.")
    return body


# --- counted --------------------------------------------------------------------------------------


@named
def fori_loop(
    lower: Any,
    upper: Any,
    body: Callable[[Any, Any], Any],
    initial: Any,
    checkpoint: Schedule = None,
) -> Any:
    """What is left of `initial` after `for i in range(lower, upper): x = body(i, x)`.

    As `while_loop`, but counted.

    Args:
        lower: an integer, which may be known only when the program runs.
        upper: another; the first index beyond the loop.
        body: `(i, x)` -> x, with the same structure and shapes; `i` is one of Python's integers, as
            in a `for` loop.
        initial: a pytree of arrays and numbers.
        checkpoint: as in `while_loop`.

    Returns:
        What is carried at the end, in the structure of `initial`.

    Raises:
        ArgumentTypeError: a bound is no integer; and as `while_loop`.
        ArgumentError: `checkpoint` is none of its values.
        DTypeError: what is carried is no number, or would be narrowed in a round.
        ValueNeededError: the body asked for a value.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> a = np.array([2.0, 3.0, 4.0])
        >>> def product(a):
        ...     return ad.fori_loop(0, len(a), lambda i, x: x * a[i], 1.0)
        >>> ad.grad(product)(a)
        array([12.,  8.,  6.])
    """
    check_callable(body, "fori_loop")
    _check_schedule(checkpoint)
    begun = take_apart(initial, "initial")
    first, count, length = _range(lower, upper)
    if type(count) is not Traced and not count:  # nothing of a round that never runs is to be seen
        return pytrees.unflatten(begun.treedef, list(map(_copied, begun.leaves)))
    # The index is carried, and comes first.
    structure = pytrees.flatten((0, [0.0] * len(begun.leaves)))[1]
    whole = TakenApart([first, *begun.leaves], structure, ["", *begun.paths])

    def step(target: Any, carried: list[Any], _: list[Any]) -> tuple[Any, Any]:
        index, *leaves = carried
        after = target(_as_python(index), pytrees.unflatten(begun.treedef, leaves))
        returned, treedef = pytrees.flatten(after)
        check_same_structure(treedef, begun.treedef, "what the body returns", "initial has")
        return (index + 1, returned), ()

    rounds = _carrying("the body", whole, step, body)
    op = operation(
        SCAN,
        body=rounds.body.program,
        constants=rounds.body.fixed,
        carried=len(rounds.carried),
        length=length,
        reverse=False,
    )
    operands = [count, *rounds.body.constants, *_as_types(whole.leaves, rounds.carried)]
    results = _perform(op, operands, checkpoint)
    return pytrees.unflatten(begun.treedef, results[1:])


def _copied(leaf: Any) -> Any:
    """A value that shares no memory with the one at the beginning, as that after a round."""
    return leaf.copy() if isinstance(leaf, (np.ndarray, Traced)) else leaf


def _as_python(index: Traced) -> Any:
    """An index as `range` gives it: one of Python's integers."""
    return index if index.type.weak else apply(PYTHON_NUMBER.bare, (index,))


def _range(lower: Any, upper: Any) -> tuple[Any, Any, int | None]:
    """The first index, how many there are, and a bound of that if it is known."""
    first, last = _integer(lower, "lower"), _integer(upper, "upper")
    count = last - first
    if type(count) is Traced:
        return first, count, None
    rounds = max(int(count), 0)
    return first, np.int64(rounds), bound(rounds)


def _integer(value: Any, name: str) -> Any:
    value = unwrap(value) if is_known(value) else value
    type_ = traced_type(value) if type(value) is Traced else type_of(value)
    if type_.ndim or type_.dtype.kind not in "iu":
        raise ArgumentTypeError(f"{name} must be an integer, got {type_}.")
    if type(value) is int:
        check_whole(value, name)
    return value.astype(np.int64) if type(value) is Traced else np.int64(value)


# --- scans ----------------------------------------------------------------------------------------


@named
def scan(
    body: Callable[[Any, Any], Any],
    initial: Any,
    scanned: Any = None,
    length: int | None = None,
    reverse: bool = False,
    checkpoint: Schedule = None,
) -> tuple[Any, Any]:
    """A loop over the rows of arrays, which stacks new rows: `x, y[k] = body(x, a[k])`.

    Args:
        body: `(x, row)` -> `(x, new row)`; x keeps its structure and shapes.
        initial: a pytree of arrays and numbers.
        scanned: a pytree of arrays whose first axes are equally long; None for none.
        length: the number of rounds; needed where nothing is scanned.
        reverse: whether to go through the rows from the last to the first. New rows stand where
            their old ones do.
        checkpoint: as in `while_loop`.

    Returns:
        What is carried in the end, and the new rows as arrays.

    Raises:
        ShapeError: first axes of different lengths. ArgumentError: no length. And as `while_loop`.
        ArgumentTypeError: the body is no function, or does not return a pair; or `length` is no
            whole number.
        DTypeError: what is carried is no number, or would be narrowed in a round.
        ValueNeededError: the body asked for a value.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> ad.scan(lambda x, a: (x + a, x * a), 0.0, np.array([1.0, 2.0, 3.0]))
        (np.float64(6.0), array([0., 2., 9.]))
    """
    check_callable(body, "scan")
    check_flag(reverse, "reverse")
    _check_schedule(checkpoint)
    begun, over = take_apart(initial, "initial"), take_apart(scanned, "scanned")
    rows = _length(over, length)

    def step(target: Any, carried: list[Any], row: list[Any]) -> tuple[Any, Any]:
        arguments = pytrees.unflatten(begun.treedef, carried), pytrees.unflatten(over.treedef, row)
        pair = target(*arguments)
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ArgumentTypeError(
                "The body of a scan must return a pair: what is carried, and the new row (None "
                f"for none); it returned a {type(pair).__name__}."
            )
        return pair

    rounds = _carrying("the body", begun, step, body, [row_type(type_) for type_ in over.types])
    op = operation(
        SCAN,
        body=rounds.body.program,
        constants=rounds.body.fixed,
        carried=len(rounds.carried),
        length=rows,
        reverse=bool(reverse),
    )
    beginning = _as_types(begun.leaves, rounds.carried)
    operands = [np.int64(rows), *rounds.body.constants, *beginning, *over.leaves]
    results = _perform(op, operands, checkpoint)
    count = len(begun.leaves)
    carried = pytrees.unflatten(begun.treedef, results[:count])
    return carried, pytrees.unflatten(rounds.rows, results[count:])


def _length(scanned: TakenApart, length: Any) -> int:
    if length is not None and (
        isinstance(length, bool) or not isinstance(length, (int, np.integer)) or length < 0
    ):
        raise ArgumentTypeError(f"length must be a non-negative integer or None, got {length!r}.")
    if any(not type_.ndim for type_ in scanned.types):
        raise ShapeError("scan goes through rows of arrays, and was given a number to scan.")
    lengths = {type_.shape[0] for type_ in scanned.types}
    if length is not None:
        lengths.add(int(length))
    if not lengths:
        raise ArgumentError("scan needs a length where nothing is scanned.")
    if len(lengths) > 1:
        raise ShapeError(f"scan was given rows of different numbers: {sorted(lengths)}.")
    return lengths.pop()
