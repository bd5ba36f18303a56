"""Layered drawings of directed acyclic graphs, from left to right (Sugiyama, Tagawa, Toda, 1981).

Each box is put into a layer, to the right of all that it reads; an edge that passes a layer gets a
point in it; the order within the layers is chosen so that few edges cross; then each layer is given
heights as near to its neighbours as the boxes allow.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

SWEEPS = 12
BETWEEN_BOXES = 18.0
BETWEEN_LINES = 12.0
STRAIGHT = 3.0  # the weight of a straight line, against that of a box near its neighbours


@dataclass(eq=False)
class Box:
    """A box to be placed, or (with no size) the point in which an edge passes a layer.

    x, y: of its left upper corner, once placed.
    """

    width: float
    height: float
    layer: int = 0
    x: float = 0.0
    y: float = 0.0
    before: list[tuple[Box, float]] = field(default_factory=list, repr=False)
    after: list[tuple[Box, float]] = field(default_factory=list, repr=False)

    @property
    def middle(self) -> float:
        """The height of its middle."""
        return self.y + self.height / 2


@dataclass(eq=False)
class Edge:
    """From the right side of a box to the left side of another.

    leaves, enters: how far below the middle of the two boxes. path: the points in the layers that
    it passes, once placed; edges from one place share them.
    """

    source: Box
    target: Box
    leaves: float = 0.0
    enters: float = 0.0
    path: list[Box] = field(default_factory=list, repr=False)


def place(
    boxes: Sequence[Box], edges: Sequence[Edge], room: Callable[[Box], float]
) -> tuple[float, float]:
    """Give every box a place, and every edge its path; returns the width and height of it all.

    boxes: in an order in which each comes after all that it has edges from. room: the free width
    that a box needs on its left.
    """
    if not boxes:
        return 0.0, 0.0
    _choose_layers(boxes, edges)
    layers: list[list[Box]] = [[] for _ in range(1 + max(box.layer for box in boxes))]
    for box in boxes:
        layers[box.layer].append(box)
    _pass_layers(edges, layers)
    _order(layers)
    _choose_heights(layers)
    x = 0.0
    for number, layer in enumerate(layers):
        x += max(room(box) for box in layer) if number else 0.0
        width = max(box.width for box in layer)
        for box in layer:
            if box.width == 0:  # a line runs straight through the layer
                box.x, box.width = x, width
            else:
                box.x = x + (width - box.width) / 2
        x += width
    return x, max(box.y + box.height for layer in layers for box in layer)


def _choose_layers(boxes: Sequence[Box], edges: Sequence[Edge]) -> None:
    """The longest path from the inputs; what reads nothing stands next to its first reader."""
    arriving: dict[int, list[Box]] = {}
    leaving: dict[int, list[Box]] = {}
    for edge in edges:
        arriving.setdefault(id(edge.target), []).append(edge.source)
        leaving.setdefault(id(edge.source), []).append(edge.target)
    for box in boxes:
        box.layer = 1 + max(
            (neighbour.layer for neighbour in arriving.get(id(box), [])), default=-1
        )
    for box in boxes:
        if id(box) not in arriving and id(box) in leaving:
            box.layer = min(neighbour.layer for neighbour in leaving[id(box)]) - 1


def _pass_layers(edges: Sequence[Edge], layers: list[list[Box]]) -> None:
    """Points in the layers that edges pass; edges that leave from one place share them."""
    known: dict[tuple[int, float, int], Box] = {}
    for edge in edges:
        edge.path = []
        previous, leaves = edge.source, edge.leaves
        for layer in range(edge.source.layer + 1, edge.target.layer):
            key = (id(edge.source), edge.leaves, layer)
            point = known.get(key)
            if point is None:
                point = known[key] = Box(0.0, 0.0, layer)
                layers[layer].append(point)
                _join(previous, point, leaves, 0.0)
            edge.path.append(point)
            previous, leaves = point, 0.0
        _join(previous, edge.target, leaves, edge.enters)


def _join(source: Box, target: Box, leaves: float, enters: float) -> None:
    # Heights are wished for the middles, so that a straight line leads from port to port.
    source.after.append((target, enters - leaves))
    target.before.append((source, leaves - enters))


# --- the order within layers ----------------------------------------------------------------------


def _order(layers: list[list[Box]]) -> None:
    """Barycentre sweeps, to the right and back; the best order that was met is kept."""
    places = _places(layers)
    best, fewest = [list(layer) for layer in layers], _crossings(layers, places)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        rightwards = sweep % 2 == 0
        numbers = range(1, len(layers)) if rightwards else range(len(layers) - 2, -1, -1)
        for number in numbers:
            layer = layers[number]
            wishes = {id(box): _barycentre(box, places, rightwards) for box in layer}
            layer.sort(key=lambda box: wishes[id(box)])
            places.update((id(box), place) for place, box in enumerate(layer))
        crossings = _crossings(layers, places)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    layers[:] = best


def _places(layers: list[list[Box]]) -> dict[int, int]:
    return {id(box): place for layer in layers for place, box in enumerate(layer)}


def _barycentre(box: Box, places: dict[int, int], rightwards: bool) -> float:
    neighbours = box.before if rightwards else box.after
    if not neighbours:
        return float(places[id(box)])
    # The port decides between boxes that read the same one.
    return sum(places[id(neighbour)] + 1e-3 * shift for neighbour, shift in neighbours) / len(
        neighbours
    )


def _crossings(layers: list[list[Box]], places: dict[int, int]) -> int:
    """How many pairs of edges between neighbouring layers cross."""
    total = 0
    for layer in layers:
        ends: list[float] = []  # on the right, of the edges seen so far, sorted
        for box in layer:
            mine = [places[id(neighbour)] + 1e-3 * shift for neighbour, shift in box.after]
            for end in mine:
                total += len(ends) - bisect_right(ends, end)
            for end in mine:
                insort(ends, end)
    return total


# --- heights --------------------------------------------------------------------------------------


def _choose_heights(layers: list[list[Box]]) -> None:
    """From a plain stack to heights near those of the neighbours, first of one side, then both."""
    for layer in layers:
        _set_heights(layer, [0.0] * len(layer))
    forward, backward = layers[1:], layers[-2::-1]
    for sweep in range(SWEEPS):
        for layer in forward if sweep % 2 == 0 else backward:
            _set_heights(layer, [_wish(box, sweep) for box in layer])
    top = min(box.y for layer in layers for box in layer)
    for layer in layers:
        for box in layer:
            box.y -= top


def _wish(box: Box, sweep: int) -> float:
    """The mean height of the neighbours that this sweep comes from; at last of all of them."""
    neighbours = box.before if sweep % 2 == 0 else box.after
    if sweep >= SWEEPS - 4 or not neighbours:
        neighbours = box.before + box.after
    if not neighbours:
        return box.middle
    return sum(neighbour.middle + shift for neighbour, shift in neighbours) / len(neighbours)


def _set_heights(layer: list[Box], wishes: Sequence[float]) -> None:
    """The middles nearest to the wishes, in least squares, at which the boxes keep their distance.

    With the least distances subtracted, heights need only not fall: they are the means of pools of
    neighbouring wishes (pool adjacent violators). The points of long edges weigh more than boxes.
    """
    offsets = [0.0]
    for upper, lower in pairwise(layer):
        both_boxes = upper.height and lower.height
        space = BETWEEN_BOXES if both_boxes else BETWEEN_LINES
        offsets.append(offsets[-1] + (upper.height + lower.height) / 2 + space)
    pools: list[tuple[float, float, int]] = []  # weighted sum, weight, count
    for box, wish, offset in zip(layer, wishes, offsets, strict=True):
        weight, count = 1.0 if box.height else STRAIGHT, 1
        total = weight * (wish - offset)
        while pools and pools[-1][0] * weight >= total * pools[-1][1]:
            more, heavier, others = pools.pop()
            total, weight, count = total + more, weight + heavier, count + others
        pools.append((total, weight, count))
    heights = [total / weight for total, weight, count in pools for _ in range(count)]
    for box, height, offset in zip(layer, heights, offsets, strict=True):
        box.y = height + offset - box.height / 2
