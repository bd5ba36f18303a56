"""Taylor mode: the coefficients of a function along a curve (end of section 1.4.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.errors import ArgumentError, ArgumentTypeError
from adjoint.base.signatures.calling import named
from adjoint.base.signatures.checked import check_whole
from adjoint.base.signatures.derived import Result
from adjoint.calculus.inputs.arguments import Chosen, check_callable
from adjoint.calculus.inputs.leaves import matching_leaves
from adjoint.calculus.jit.captures import captured_at
from adjoint.pipeline import prepare, run
from adjoint.program import Program
from adjoint.transforms import taylor as taylor_program


@named
def taylor(
    function: Callable[[Any], Result], x: Any, directions: Any, order: int
) -> tuple[Result, ...]:
    """The Taylor coefficients (f_0, ..., f_K) of f(x + x_1 t + x_2 t^2 + ...) up to order K.

    f_k is the factor of t^k, so k! f_k is the k-th derivative along the curve, and for one
    direction u, k! f_k = d^k f(x)[u, ..., u]. The function is captured once, and the cost grows
    with the square of the order: nested derivatives take twice as long with every order.

    Args:
        function: plain NumPy code of one argument. One of several arguments takes them as a tuple:
            `lambda args: f(*args)`.
        x: the point, an array, a number or a pytree.
        directions: a list or tuple of the coefficients x_1, x_2, ..., each with the structure and
            shapes of x, or None where it is zero; those that are missing are zero. Anything that is
            neither list nor tuple (an array, a number, a dict) is x_1 alone.
        order: K, at least 0. Coefficients of the curve beyond it do not matter.

    Returns:
        K + 1 coefficients, each in the structure of the function's value. Those of integer and
        boolean results are zero after the first.

    Raises:
        ArgumentError: the order is negative. ArgumentTypeError: it is no integer, or a direction
            has another structure than x. ShapeError, DTypeError: another shape, or dtype.
        NotDifferentiableError: x holds integers or booleans.

    Example:
        >>> import adjoint as ad
        >>> import numpy as np
        >>> [round(float(c), 6) for c in ad.taylor(np.exp, 0.0, 1.0, 4)]
        [1.0, 1.0, 0.5, 0.166667, 0.041667]

    Source: Griewank and Walther, Evaluating Derivatives, 2nd edition, 2008, chapter 13.
    """
    check_callable(function, "taylor")
    check_order(order, "taylor", 0)
    chosen = Chosen(0, (x,), {})
    rows = _rows(x, directions)[:order]
    captured = captured_at(function, chosen)
    count = len(chosen.leaves)
    given = tuple(row is not None for row in rows)

    def derive(program: Program, _: Any) -> tuple[Program, tuple[int, ...], Any]:
        marks = [given if n < count else () for n in range(len(program.inputs))]
        whole = taylor_program(program, order, marks)
        return whole, tuple(range(len(program.outputs), len(whole.outputs))), None

    compiled = prepare(
        ("taylor", count, order, given), captured, derive, chosen.recapture, function
    )
    curve = [leaf for column in zip(*filter(None, rows), strict=True) for leaf in column]
    results = run(compiled, [*chosen.leaves, *captured.constants, *curve])
    types = captured.output_types
    coefficients, rest = [list(results[: len(types)])], iter(results[len(types) :])
    for _ in range(order):
        coefficients.append(
            [next(rest) if t.inexact else np.zeros(t.shape, t.dtype)[()] for t in types]
        )
    return tuple(pytrees.unflatten(captured.treedef, row) for row in coefficients)


def check_order(order: Any, name: str, least: int) -> None:
    """ArgumentTypeError or ArgumentError unless the order is an integer, and large enough."""
    if isinstance(order, bool) or not isinstance(order, (int, np.integer)):
        raise ArgumentTypeError(f"{name} takes its order as an integer, got {order!r}.")
    check_whole(order, "order")
    if order < least:
        raise ArgumentError(f"{name} takes an order of at least {least}, got {order}.")


def _rows(x: Any, directions: Any) -> list[Sequence[Any] | None]:
    """The leaves of each coefficient of the curve; None where it is zero."""
    if not isinstance(directions, (list, tuple)):
        return [matching_leaves(x, directions, "directions")]
    return [
        None if direction is None else matching_leaves(x, direction, f"directions[{place}]")
        for place, direction in enumerate(directions)
    ]
