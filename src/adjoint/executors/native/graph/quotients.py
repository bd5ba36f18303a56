"""Quotients that are products with a reciprocal: those of derivatives with a divisor in common.

A division takes the processor as long as ten products. Derivatives are exact up to rounding only,
so that their quotients may round twice. So may one of the program itself where a derivative
divides by the same and nothing but sums and products of derivatives come of it: `x / r` in the
gradient of `x / r`. What is returned, what is compared, and what a function takes that has an end
(the square root of `1 - (x / r)**2`), is NumPy's quotient.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from adjoint.executors.native.graph.nodes import ArrayNode, Graph, Kind
from adjoint.primitives.elementwise.arithmetic import (
    ADD,
    DIVIDE,
    MULTIPLY,
    NEGATIVE,
    SQUARE,
    SUBTRACT,
)
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.program import Variable

POLYNOMIAL: Final = frozenset({ADD, SUBTRACT, MULTIPLY, NEGATIVE, SQUARE, SCALE})


def shared_divisors(graph: Graph) -> frozenset[int]:
    """The quotients, by number, of which several have a divisor in common and may round twice."""
    quotients = [node for node in graph.nodes if is_quotient(node)]
    divisors = {node.accesses[1] for node in quotients if node.derived}
    if not divisors:
        return frozenset()
    exact = _exact(graph)
    chosen = [
        node
        for node in quotients
        if node.accesses[1] in divisors and (node.derived or node.output not in exact)
    ]
    count = Counter(node.accesses[1] for node in chosen)
    return frozenset(node.number for node in chosen if count[node.accesses[1]] > 1)


def is_quotient(node: ArrayNode) -> bool:
    """Whether a node divides real numbers of one dtype by some that are computed."""
    equation = node.equation
    if equation is None or equation.primitive is not DIVIDE:
        return False
    dtype = node.output.type.dtype
    divisor = equation.inputs[1]
    return dtype.kind == "f" and divisor.type.dtype == dtype and isinstance(divisor, Variable)


def _exact(graph: Graph) -> set[Any]:
    """What is returned as the value of something, or goes into anything but a polynomial.

    And whatever that is made of.
    """
    outputs = set(graph.outputs)
    exact: set[Any] = set()
    for node in reversed(graph.nodes):
        if not node.derived:
            exact.update(outputs.intersection(node.outputs))
        if not _is_polynomial(node) or not exact.isdisjoint(node.outputs):
            exact.update(access.source for access in node.reads())
    return exact


def _is_polynomial(node: ArrayNode) -> bool:
    return (
        node.kind is Kind.POINTWISE
        and node.equation is not None
        and node.equation.primitive in POLYNOMIAL
    )
