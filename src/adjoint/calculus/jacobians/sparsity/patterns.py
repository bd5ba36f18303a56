"""Sparsity patterns and colourings to look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
from adjoint.capture import Captured


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
    check_flag(local, "local")
    chosen, captured, derivative = _derived(function, args, kwargs, argnums, order, "sparsity")
    pattern = derivative.pattern(partial(input_of, chosen, captured), local)
    blocks = rows_of_blocks(_blocks(derivative, pattern), len(chosen.leaves))
    rows = [chosen.unflatten(row) for row in blocks]
    return chosen.unflatten(rows) if order == 2 else pytrees.unflatten(captured.treedef, rows)


@dataclass(frozen=True, eq=False)
class ColouringReport:
    """By which products a sparse derivative is computed; `print` shows how many.

    Attributes:
        kind: "columns", "rows", or "both" of a Jacobian; "star" or "acyclic" of a Hessian.
        products: how many there are: of one colour each.
        entries: how many entries may be other than zero.
        columns: the colour of each number of the arguments, -1 for none; None if none has one.
        rows: the colour of each number of the results, likewise.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> ad.colouring(lambda x: x[1:] - x[:-1], np.ones(5)).columns
        array([0, 1, 0, 1, 0])
    """

    kind: str
    products: int
    entries: int
    columns: Any
    rows: Any

    def __str__(self) -> str:
        products = f"{self.products} product{'s' * (self.products != 1)}"
        return f"{self.kind}: {products} for {self.entries:,} entries"

    def __repr__(self) -> str:
        return f"<ColouringReport: {self}>"


@checked
def colouring(
    function: Callable[..., Any],
    *args: Any,
    argnums: Argnums = 0,
    order: int = 1,
    **kwargs: Any,
) -> ColouringReport:
    """How `ad.jacobian(f, sparse=True)` or `ad.hessian(f, sparse=True)` combines columns and rows.

    Columns that have no row in common are computed by one product, and have one colour. Those of a
    Hessian are coloured such that each entry stands alone in the row or the column of a product
    ("star"), or follows by substitution along trees ("acyclic"), where that saves enough products.

    Args:
        function: plain NumPy code on real arrays; arguments and result may be pytrees.
        args: its arguments; their values decide which branches are taken.
        argnums: with respect to which arguments.
        order: 1 for the Jacobian, 2 for the Hessian of a real function.
        kwargs: passed on as they are.

    Returns:
        A `ColouringReport`.

    Raises:
        NotDifferentiableError: an argument or the result is not of real floating-point numbers.
        ArgumentError: `order` is neither 1 nor 2, or `argnums` names an argument that the call does
            not have.
        ArgumentTypeError: what is given is no function, or `argnums` holds no integers.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> f = lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2)
        >>> ad.colouring(f, np.ones(50), order=2)
        <ColouringReport: star: 3 products for 148 entries>
    """
    check_callable(function, "colouring")
    chosen, captured, derivative = _derived(function, args, kwargs, argnums, order, "colouring")
    compression = derivative.compression(partial(input_of, chosen, captured))
    products, substitution = compression.products, compression.substitution
    columns, rows = (
        None if colours is None else colours.colours.copy()
        for colours in (products.columns, products.rows)
    )
    kind = "both" if columns is not None and rows is not None else "rows"
    kind = "columns" if rows is None else kind
    kind = "star" if derivative.symmetric else kind
    count = products.count
    if substitution is not None:
        kind, count = "acyclic", substitution.sizes.colours
        columns = substitution.colours.copy()
    entries = sum(layout.count for layout in compression.layouts)
    return ColouringReport(kind, count, entries, columns, rows)


def _derived(
    function: Any, args: Any, kwargs: Any, argnums: Argnums, order: int, name: str
) -> tuple[Chosen, Captured, SparseDerivative]:
    """A function captured, and its Jacobian or Hessian."""
    check_argnums(argnums)
    if order not in (1, 2):
        raise ArgumentError(f"order must be 1 (Jacobian) or 2 (Hessian), got {order}.")
    chosen = Chosen(argnums, args, kwargs)
    captured = captured_at(function, chosen)
    gradient = None
    if order == 2:
        check_scalar(captured, False, name)
        gradient = gradient_program
    else:
        check_real(chosen.types, captured.output_types)
    kept = len(captured.outputs)
    derivative = prepared(chosen, captured, kept, Mode.AUTO, gradient, function)
    return chosen, captured, derivative


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
