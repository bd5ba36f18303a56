"""Which labels are written out, and have no loop."""

from __future__ import annotations

from math import prod
from typing import Final

from adjoint.executors.native.elements import cost
from adjoint.executors.native.graph.indices import Label
from adjoint.executors.native.graph.nodes import ArrayNode, Graph, Kind, nest_of
from adjoint.executors.native.schedule.order import instances

# Instances of a whole program that are written out without any loop: of more, loops are as quick,
# and compiled in a tenth of the time.
SMALL: Final = 128
MOST_INSTANCES: Final = 4096  # instances at most, unless the program itself is longer
LONGEST_UNROLLED: Final = 16
LONGEST_SUMMED: Final = 8  # of labels that are written out only because they are reduced
ELEMENTARY: Final = 20.0  # what functions cost that are no mere arithmetic


def choose_unrolled(graph: Graph, lanes: int, is_body: bool) -> None:
    """Decide which labels are written out: all of a small program, else the short ones.

    is_body: whether it is run many times, and so should have lanes however small it is.
    """
    labels = list(dict.fromkeys(label.find() for label in graph.labels))
    nodes = [node for node in graph.nodes if node.kind is not Kind.ROUTINE]
    pieced = {
        label.find() for node in nodes for label in node.reduced if label.extent <= LONGEST_SUMMED
    }
    for node in nodes:  # what is put together of pieces is known piece by piece when written out
        pieced |= {x for a in node.accesses for guard in a.guards for x in guard.term.labels()}
    count = sum(prod(label.extent for label in node.iteration()) for node in nodes)
    looped = any(node.kind is Kind.CONTROL for node in nodes)  # whose time is spent within
    small = count <= SMALL and not is_body and not looped
    if small and not any(_fills_vectors(node, lanes) for node in nodes):
        for label in labels:
            label.unrolled = True
        return
    orders = [nest_of(node).ordered for node in nodes]
    ordered = {label for order in orders if len(order) > 1 for label in order}
    users: dict[Label, list[ArrayNode]] = {}
    for node in nodes:
        for label in node.iteration():
            users.setdefault(label, []).append(node)
    most = max(MOST_INSTANCES, 12 * len(nodes))
    count = len(nodes)
    for label in sorted(labels, key=lambda label: label.extent):
        short = label.extent < lanes or label in pieced
        if label.extent > LONGEST_UNROLLED or not short or label not in users or label in ordered:
            continue
        more = sum(instances(node) for node in users[label]) * (label.extent - 1)
        if count + more > most:
            break
        label.unrolled = True
        count += more


def _fills_vectors(node: ArrayNode, lanes: int) -> bool:
    """Whether a function is computed of so many numbers that loops are better, however few.

    A vector of its values takes as long as one of them, and sums are over before they matter: of
    64 numbers, sin(x) x and its gradient take 0.36 us in a loop and 1.32 us written out (Zen 5).
    """
    longest = max((label.extent for label in node.iteration()), default=1)
    return longest >= max(lanes, 2) and cost(node.operation) >= ELEMENTARY
