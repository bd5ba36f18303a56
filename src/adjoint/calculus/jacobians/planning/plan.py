"""Plans to look at: what each order of products costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adjoint.base.errors import ArgumentError
from adjoint.base.process.files import save
from adjoint.base.signatures.checked import checked
from adjoint.calculus.inputs.arguments import Argnums, Chosen, check_argnums, check_callable
from adjoint.calculus.jacobians.planning.chain import Order
from adjoint.calculus.jacobians.planning.elimination import Eliminated
from adjoint.calculus.jacobians.planning.jacobians import Differentiated, check_real
from adjoint.calculus.jacobians.planning.mode import Mode, ModeName, as_mode
from adjoint.calculus.jacobians.planning.picture import picture
from adjoint.calculus.jacobians.planning.sparse_candidate import SparseCandidate, sparse_candidate
from adjoint.calculus.jacobians.sparsity.dense import few_products
from adjoint.calculus.jit.captures import captured_at


@dataclass(frozen=True)
class Candidate:
    """One way to compute a Jacobian.

    operations: multiply-adds and other operations on numbers, on top of those of the function and
    its partial derivatives; infinitely many where a derivative rule is missing. memory: the most
    numbers of partial products held at once.
    """

    mode: Mode
    order: Order | Eliminated
    operations: float
    memory: int


@dataclass(frozen=True)
class JacobianPlan:
    """What each order of products costs for a Jacobian J_n ... J_1; `print` shows a table.

    Equal brackets may cost differently: columns may be pushed through the last map of a product, or
    rows pulled through its first; the picture says which.

    Attributes:
        sizes: d_0, ..., d_n, how many numbers cross at each cut of the function's program.
        maps: for each J_i, the primitives that it consists of.
        candidates: what each mode costs; the elimination of vertices is one of them where it takes
            fewer operations than all others.
        chosen: the mode that `Mode.AUTO` takes among these.
        sparse: what `sparse=True` does, if it takes fewer products; else None.
        by_colours: whether `ad.jacobian` takes the products of `sparse` for its dense array, too,
            where it is given no mode: they go before the mode that is chosen.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> A, B = np.ones((1, 100)), np.ones((100, 1))
        >>> print(ad.plan(lambda x: B @ np.tanh(A @ x), np.ones(100)))
        d = 100, 1, 1, 100
        mode     operations  relative  memory  order
        forward      10,100      1.00  10,100  J3 (J2 J1)
        reverse      10,100      1.00  10,100  (J3 J2) J1
        middle       10,100      1.00  10,200  (J3 J2) J1
        optimal      10,100      1.00  10,100  J3 (J2 J1)
    """

    sizes: tuple[int, ...]
    maps: tuple[tuple[str, ...], ...]
    candidates: tuple[Candidate, ...]
    chosen: Mode
    sparse: SparseCandidate | None = None
    by_colours: bool = False

    def __getitem__(self, mode: Mode | ModeName) -> Candidate:
        """The candidate of a mode; for AUTO that of the one chosen."""
        wanted = as_mode(mode)
        wanted = self.chosen if wanted is Mode.AUTO else wanted
        for candidate in self.candidates:
            if candidate.mode is wanted:
                return candidate
        raise ArgumentError(
            "The elimination of vertices is no candidate here: the program is no graph of few "
            "numbers, or another order takes as few operations. Ask for one of "
            f"{', '.join(candidate.mode.value for candidate in self.candidates)}."
        )

    def __str__(self) -> str:
        least = max(min(candidate.operations for candidate in self.candidates), 1)
        rows = [("mode", "operations", "relative", "memory", "order")]
        named: list[tuple[str, Any, str]] = [
            (candidate.mode.value, candidate, str(candidate.order)) for candidate in self.candidates
        ]
        if self.sparse is not None:
            named.append(("sparse", self.sparse, str(self.sparse)))
        rows += [
            (
                name,
                f"{candidate.operations:,}",
                f"{candidate.operations / least:.2f}",
                f"{candidate.memory:,}",
                order,
            )
            for name, candidate, order in named
        ]
        taken = (
            "\nThe dense Jacobian, too, is computed as the sparse one." if self.by_colours else ""
        )
        return f"d = {', '.join(map(str, self.sizes))}\n{_table(rows)}{taken}"

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self.sizes))
        way = f"{self.chosen.value}: {self[self.chosen].order}"
        return (
            f"<JacobianPlan: d = {sizes}; {f'sparse: {self.sparse}' if self.by_colours else way}>"
        )

    def svg(self, mode: Mode | ModeName = Mode.AUTO) -> str:
        """A picture of the order of a mode: the sizes, and below them the products as brackets.

        Args:
            mode: whose order is drawn; if AUTO, that of the mode chosen, or the cheapest order of
                products where vertices are eliminated.

        Returns:
            SVG text.

        Raises:
            ArgumentError: the mode is the elimination of vertices, which is no order of products.
        """
        wanted = as_mode(mode)
        if wanted is Mode.AUTO and self.chosen is Mode.ELIMINATION:
            wanted = Mode.OPTIMAL
        order = self[wanted].order
        if not isinstance(order, Order):
            raise ArgumentError(
                "A picture shows an order of products, and an elimination is none; draw that of "
                "another mode, as `plan.svg('optimal')`."
            )
        return picture(self.sizes, order)

    def save(self, path: str | Path, mode: Mode | ModeName = Mode.AUTO) -> None:
        """Write the picture to a file, whose name ends in .svg; it is complete or not there.

        Args:
            path: the name of the file; one that is there is replaced.
            mode: whose order is drawn, as in `svg`.

        Raises:
            ArgumentError: it does not; or the mode is the elimination of vertices.
            OSError: the directory does not exist, or the file cannot be written.
        """
        target = Path(path)
        if target.suffix.lower() != ".svg":
            raise ArgumentError(f"A plan is saved as a picture in SVG; name it .svg, got {path!s}.")
        save(target, self.svg(mode))


@checked
def plan(
    function: Callable[..., Any], *args: Any, argnums: Argnums = 0, **kwargs: Any
) -> JacobianPlan:
    """What `ad.jacobian(function, argnums)(*args)` would cost in each order of products.

    The program of the derivative is cut where few numbers cross, which makes it a chain of linear
    maps; each mode is an order in which to multiply them (lecture, "Product of Jacobians"). Where
    the program is a graph of few numbers, or of few vectors of which each has a number for each of
    many points, its vertices may be eliminated one by one instead, in an order that a search finds.

    Args:
        function: plain NumPy code on real arrays; arguments and result may be pytrees.
        args: its arguments; their values do not matter beyond which branches are taken.
        argnums: with respect to which arguments.
        kwargs: passed on as they are.

    Returns:
        A `JacobianPlan`: `print` shows a table, and `plan[mode]` what a mode costs.

    Raises:
        NotDifferentiableError: arguments or results that are not real floating-point arrays.
        ArgumentError: `argnums` names an argument that the call does not have.
        ArgumentTypeError: what is given is no function, or `argnums` holds no integers.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> A, B = np.ones((2, 50)), np.ones((50, 2))
        >>> ad.plan(lambda x: B @ (A @ (B @ (A @ x))), np.ones(50))
        <JacobianPlan: d = 50, 2, 50, 2, 50; optimal: J4 ((J3 J2) J1)>
        >>> ad.plan(lambda x: (x[1:] - x[:-1]) ** 2, np.ones(100))
        <JacobianPlan: d = 100, 99; sparse: 2 columns for 198 entries>
    """
    check_callable(function, "plan")
    check_argnums(argnums)
    chosen = Chosen(argnums, args, kwargs)
    captured = captured_at(function, chosen)
    check_real(chosen.types, captured.output_types)
    differentiated = Differentiated(captured.program(), len(chosen.leaves), len(captured.outputs))
    cut = differentiated.cut
    orders: dict[Mode, Order | Eliminated] = {**differentiated.orders()}
    if differentiated.elimination_pays:
        assert differentiated.eliminated is not None
        orders[Mode.ELIMINATION] = differentiated.eliminated
    candidates = tuple(
        Candidate(mode, order, order.operations, order.memory) for mode, order in orders.items()
    )
    maps = tuple(
        tuple(equation.primitive.name for equation in segment.program.equations)
        for segment in cut.segments
    )
    mode = differentiated.choose(Mode.AUTO)
    given = [*chosen.leaves, *captured.constants]
    sparse = sparse_candidate(differentiated, len(chosen.leaves), given.__getitem__)
    few = few_products(chosen, captured, len(captured.outputs), function)
    by_colours = sparse is not None and few is not None
    return JacobianPlan(cut.chain.sizes, maps, candidates, mode, sparse, by_colours)


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Names to the left, numbers to the right, orders to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if 0 < number < len(row) - 1 else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
