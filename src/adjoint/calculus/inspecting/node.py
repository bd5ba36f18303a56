"""Nodes of a program at a point, and the sequence of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, overload

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.base.errors import ArgumentError, NotDifferentiableError
from adjoint.base.signatures.checked import check_whole
from adjoint.maps import LinearMap
from adjoint.spaces import Covector, Product, Space


class NodeOperand(NamedTuple):
    """What a node reads: a result of another node, or a number that a rule wrote (node None)."""

    node: Node | None
    result: int
    value: Any


@dataclass(frozen=True, eq=False)
class Node:
    """An equation of a program, or an input of it, at a point.

    Attributes:
        name: what `print(ad.program(f, ...))` calls its result ("c"; "c, d" of two).
        operation: "multiply", "sum[axes=(0,)]"; "argument" or "constant" for an input.
        line, text: the user's line that recorded it, `file:number`, and what stands there.
        operands: what it reads, in order.
        types: of its results.
        value: its value; a tuple where it has several results.
        space: the inner-product space of its value, a product where it has several results; None
            for integers and booleans.
        varies: whether it depends on a floating-point argument of the function.
        tangent: ∂node[u], where tangents were given; None where it does not vary.
        covector: the derivative of the seeded output with respect to this value, where cotangents
            were given; None where it does not vary.
        contributions: for each operand, the covector that this node sends to it (E.1.65), or None.

    Example:
        >>> import adjoint as ad
        >>> node = ad.nodes(lambda x: x * x, 3.0, cotangents=1.0)["b"]
        >>> (
        ...     node.operation,
        ...     float(node.value),
        ...     [float(c.components) for c in node.contributions],
        ... )
        ('multiply', 9.0, [3.0, 3.0])
    """

    name: str
    operation: str
    line: str
    text: str
    operands: tuple[NodeOperand, ...]
    types: tuple[ArrayType, ...]
    value: Any
    space: Space | None
    varies: bool
    tangent: Any = None
    covector: Any = None
    contributions: tuple[Any, ...] = ()
    _partial: Callable[[int], LinearMap] | None = field(default=None, repr=False)

    @property
    def adjoint(self) -> Any:
        """The adjoint vector: the one that represents the covector in the space of the node.

        At an argument of a real function with the seed 1 it is the gradient (E.1.37).
        """
        if self.covector is None or self.space is None:
            return None
        return self.space.represent(self.covector)

    def partial(self, place: int) -> LinearMap:
        """∂_i of the node in its operand number `place`, the others held fixed (E.1.65).

        A map from the space of the operand to that of the node, with `.T`, `.H`, `.matrix()`.

        Args:
            place: from 0; which of `operands`.

        Returns:
            A `LinearMap` from the space of the operand to that of the node.

        Raises:
            ArgumentError: there is no such operand.
            NotDifferentiableError: the node, or the operand, carries no derivative.
        """
        if not 0 <= place < len(self.operands):
            raise ArgumentError(
                f"Node {self.name!r} ({self.operation}) has {len(self.operands)} operands. "
                f"Got place {place!r}; places count from 0."
            )
        if self._partial is None:
            raise NotDifferentiableError(
                f"Node {self.name!r} ({self.operation}) carries no derivative: its value is "
                f"{', '.join(map(str, self.types))}."
            )
        return self._partial(place)

    @property
    def derivative(self) -> LinearMap:
        """The local derivative in all operands that vary: from their product, if several."""
        places = [
            n for n, operand in enumerate(self.operands) if operand.node and operand.node.varies
        ]
        maps = [self.partial(place) for place in places]
        if not maps:
            raise NotDifferentiableError(
                f"Node {self.name!r} ({self.operation}) does not depend on an argument that varies."
            )
        return maps[0] if len(maps) == 1 else _joined(maps, self.operation)


def _joined(maps: list[LinearMap], name: str) -> LinearMap:
    """(u_1, ..., u_n) -> sum of maps[i](u_i)."""
    codomain = maps[0].codomain

    def apply(tangents: Any) -> Any:
        total = maps[0]._apply(tangents[0])
        for partial, tangent in zip(maps[1:], tangents[1:], strict=True):
            total = codomain._add(total, partial._apply(tangent))
        return total

    def pull(components: Any) -> Any:
        return tuple(partial._require_transpose()(components) for partial in maps)

    domain = Product(tuple(partial.domain for partial in maps))
    return LinearMap(domain, codomain, apply, pull, name=f"∂{name}")


class Nodes(Sequence[Node]):
    """The nodes of a program: its inputs, then its equations in the order in which they ran.

    `nodes[3]`, or `nodes["d"]` by name. `print(nodes)` shows them as a table.

    value: what the function returned. results: for each array in it, which node it is a result of.
    seeds: for each of these the covector it was seeded with, or None.

    Args:
        nodes: inputs first.
        inputs: how many of them are inputs.
        value: as above.
        results: as above.
        seeds: as above.

    Example:
        >>> import adjoint as ad
        >>> import numpy as np
        >>> x = np.float64(3)
        >>> nodes = ad.nodes(lambda x: x + x**2, x, tangents=1.0, cotangents=1.0)
        >>> [(node.name, node.operation, float(node.value)) for node in nodes]
        [('a', 'argument', 3.0), ('b', 'square', 9.0), ('c', 'add', 12.0)]
        >>> [float(nodes.cut(number)) for number in (0, 1, 2)]
        [7.0, 7.0, 7.0]
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        inputs: int,
        value: Any,
        results: Sequence[NodeOperand],
        seeds: Sequence[Any],
    ) -> None:
        self._nodes = tuple(nodes)
        self._inputs = inputs
        self.value = value
        self.results = tuple(results)
        self.seeds = tuple(seeds)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The arguments, then the constants."""
        return self._nodes[: self._inputs]

    @property
    def equations(self) -> tuple[Node, ...]:
        """The nodes that are not inputs."""
        return self._nodes[self._inputs :]

    def __len__(self) -> int:
        return len(self._nodes)

    @overload
    def __getitem__(self, index: int | str) -> Node: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Node, ...]: ...
    def __getitem__(self, index: int | str | slice) -> Node | tuple[Node, ...]:
        if not isinstance(index, str):
            return self._nodes[index]
        for node in self._nodes:
            if node.name == index:
                return node
        raise ArgumentError(
            f"There is no node {index!r}. Got names {', '.join(node.name for node in self._nodes)}."
        )

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes)

    def cut(self, number: int) -> Any:
        """sum <tangent, covector> over the edges that leave the inputs and the first equations.

        It is the same at every cut, before the first equation (0) up to after the last: the
        derivative of the seeded output in the direction of the tangents.

        Args:
            number: of the equations before the cut.

        Returns:
            A real scalar, equal at every cut but for rounding.

        Raises:
            ArgumentError: there are fewer equations, or no tangents or no cotangents were given.
            ArgumentTypeError: the number is no whole number.
        """
        check_whole(number, "number")
        if not 0 <= number <= len(self.equations):
            raise ArgumentError(
                f"A cut lies after 0 to {len(self.equations)} equations. Got {number!r}."
            )
        if all(n.tangent is None for n in self.inputs) or all(w is None for w in self.seeds):
            raise ArgumentError(
                "A cut pairs tangents with covectors. Got nodes without both: call "
                "ad.nodes(f, ..., tangents=u, cotangents=v)."
            )
        before = set(map(id, self._nodes[: self._inputs + number]))
        edges = [
            (operand, covector)
            for node in self.equations[number:]
            for operand, covector in zip(node.operands, node.contributions, strict=True)
        ]
        edges += zip(self.results, self.seeds, strict=True)
        total: Any = 0.0
        for operand, covector in edges:
            if covector is not None and operand.node is not None and id(operand.node) in before:
                total = total + _paired(covector, _tangent_of(operand))
        return total

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = []
        rows.append(("node", "operation", "value", "tangent", "covector", "line"))
        for node in self._nodes:
            reads = " ".join(_operand_text(operand) for operand in node.operands)
            components = None if node.covector is None else node.covector.components
            texts = [_number_text(quantity) for quantity in (node.value, node.tangent, components)]
            place = node.line.replace("\\", "/").rpartition("/")[2]
            rows.append((node.name, f"{node.operation} {reads}".strip(), *texts, place))
        used = [n for n in range(6) if any(row[n] for row in rows[1:])]
        widths = {n: max(len(row[n]) for row in rows) for n in used}
        return "\n".join("  ".join(row[n].ljust(widths[n]) for n in used).rstrip() for row in rows)


def _paired(covector: Covector, tangent: Any) -> Any:
    """w(u). Which zeros are hard is known to programs alone: a zero times infinity is NaN here."""
    covector.space.check(tangent, "the tangent")
    with np.errstate(all="ignore"):
        return np.real(np.sum(np.conj(covector.components) * np.asarray(tangent)))


def _operand_text(operand: NodeOperand) -> str:
    if operand.node is None:
        return repr(operand.value)
    return operand.node.name.split(", ")[operand.result]


def _number_text(value: Any) -> str:
    """A number, a short row of numbers, or what it is."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_number_text, value)) + ")"
    array = np.asarray(value)
    if array.ndim > 1 or array.size > 4:
        return f"{array.dtype.kind}{array.dtype.itemsize}{list(array.shape)}"
    return " ".join(np.array2string(array, precision=4).split())


def _tangent_of(operand: NodeOperand) -> Any:
    """The tangent of the result that an operand reads; those of integers are left out."""
    assert operand.node is not None
    types, tangent = operand.node.types, operand.node.tangent
    if len(types) == 1:
        return tangent
    return tangent[sum(type_.inexact for type_ in types[: operand.result])]
