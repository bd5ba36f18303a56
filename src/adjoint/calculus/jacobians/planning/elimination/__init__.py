"""Jacobians by the elimination of vertices from the graph of a program."""

from adjoint.calculus.jacobians.planning.elimination.eliminated import (
    Eliminated,
    with_lanes,
    with_numbers,
)
from adjoint.calculus.jacobians.planning.elimination.execution import EliminationBuilder
from adjoint.calculus.jacobians.planning.elimination.graph import EliminationGraph, OperationCount
from adjoint.calculus.jacobians.planning.elimination.linear_graph import LinearGraph
from adjoint.calculus.jacobians.planning.elimination.orders import markowitz, rules, searched

__all__ = [
    "Eliminated",
    "EliminationBuilder",
    "EliminationGraph",
    "LinearGraph",
    "OperationCount",
    "markowitz",
    "rules",
    "searched",
    "with_lanes",
    "with_numbers",
]
