"""Sparsity patterns to look at: which numbers of a result depend on which of the arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from adjoint.base import pytrees
from adjoint.base.errors import ArgumentError
from adjoint.base.signatures.checked import check_flag, checked
from adjoint.calculus.inputs.arguments import Argnums, Chosen, check_argnums, check_callable
from adjoint.calculus.jacobians.planning import Mode, check_real
from adjoint.calculus.jacobians.sparsity.derivatives import (
    SparseDerivative,
    SparsityPattern,
    input_of,
    prepared,
    rows_of_blocks,
)
from adjoint.calculus.jit.captures import captured_at
from adjoint.calculus.second_order.products import check_scalar, gradient_program


@checked
def sparsity(
    function: Callable[..., Any],
    *args: Any,
    argnums: Argnums = 0,
    order: int = 1,
    local: bool = False,
    **kwargs: Any,
) -> Any:
    """Which entries of a Jacobian or Hessian may be other than zero: its sparsity pattern.

    Sets of indices are carried through the program of the derivative (as in CasADi and in
    SparseConnectivityTracer), so nothing is differentiated numerically, and no entry is missed. The
    pattern holds wherever the function takes the same branches of Python's `if`; both branches of
    `np.where` and `ad.cond` count. What the function reads by index arrays that follow from its
    arguments, as a sort does, counts as reading anything.

    Args:
        function: plain NumPy code on real arrays; arguments and result may be pytrees.
        args: its arguments; their values decide which branches are taken.
        argnums: with respect to which arguments.
        order: 1 for the Jacobian, 2 for the Hessian of a real function.
        local: whether only what may be other than zero at this very point counts: the branches
            taken, and factors that are not zero.
        kwargs: passed on as they are.

    Returns:
        A `scipy.sparse.csr_array` of Booleans of shape `(result.size, argument.size)`, or trees of
        them in the structures of the result and of the arguments; see `ad.jacobian`.

    Raises:
        NotDifferentiableError: an argument or the result is not of real floating-point numbers.
        ArgumentError: `order` is neither 1 nor 2, or `argnums` names an argument that the call does
            not have.
        ArgumentTypeError: what is given is no function, or `argnums` holds no integers.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> ad.sparsity(lambda x: x[1:] - x[:-1], np.ones(4)).toarray().astype(int)
        array([[1, 1, 0, 0],
               [0, 1, 1, 0],
               [0, 0, 1, 1]])
    """
    check_callable(function, "sparsity")
    check_argnums(argnums)
    check_flag(local, "local")
    if order not in (1, 2):
        raise ArgumentError(f"order must be 1 (Jacobian) or 2 (Hessian), got {order}.")
    chosen = Chosen(argnums, args, kwargs)
    captured = captured_at(function, chosen)
    tree, kept = captured.treedef, len(captured.outputs)
    gradient = None
    if order == 2:
        check_scalar(captured, False, "sparsity")
        gradient = gradient_program
    else:
        check_real(chosen.types, captured.output_types)
    derivative = prepared(chosen, captured, kept, Mode.AUTO, gradient, function)
    pattern = derivative.pattern(partial(input_of, chosen, captured), local)
    blocks = rows_of_blocks(_blocks(derivative, pattern), len(chosen.leaves))
    rows = [chosen.unflatten(row) for row in blocks]
    return chosen.unflatten(rows) if order == 2 else pytrees.unflatten(tree, rows)


def _blocks(derivative: SparseDerivative, pattern: SparsityPattern) -> list[Any]:
    """The parts of a pattern, for each result and in it for each argument."""
    blocks, top = [], 0
    for of in derivative.differentiated.output_types:
        left = 0
        for to in derivative.inputs:
            blocks.append(pattern.matrix[top : top + of.size, left : left + to.size])
            left += to.size
        top += of.size
    return blocks
