"""Layered layouts: order, distance, few crossings, straight lines."""

from __future__ import annotations

import numpy as np
import pytest

from adjoint.drawing.layout import (
    BETWEEN_BOXES,
    BETWEEN_LINES,
    STRAIGHT,
    Box,
    Edge,
    _set_heights,
    place,
)


def graph(count, arrows, size=(40.0, 20.0)):
    boxes = [Box(*size) for _ in range(count)]
    return boxes, [Edge(boxes[a], boxes[b]) for a, b in arrows]


def placed(count, arrows):
    boxes, edges = graph(count, arrows)
    place(boxes, edges, lambda box: 30.0)
    return boxes, edges


def overlapping(boxes):
    return [
        (a, b)
        for a in boxes
        for b in boxes
        if a is not b
        and a.layer == b.layer
        and a.y < b.y + b.height + 1e-9
        and b.y < a.y + a.height + 1e-9
    ]


def test_a_chain_is_a_straight_line():
    boxes, _ = placed(4, [(0, 1), (1, 2), (2, 3)])
    assert [box.layer for box in boxes] == [0, 1, 2, 3]
    np.testing.assert_allclose([box.middle for box in boxes], boxes[0].middle)
    assert [box.x for box in boxes] == [0, 70, 140, 210]


def test_layers_follow_the_longest_path_and_inputs_stand_by_their_readers():
    boxes, edges = placed(6, [(0, 1), (1, 2), (0, 2), (3, 4), (2, 4), (4, 5)])
    assert [box.layer for box in boxes] == [0, 1, 2, 2, 3, 4]
    for edge in edges:
        assert edge.source.layer < edge.target.layer
        assert edge.source.x + edge.source.width < edge.target.x


def test_a_long_edge_passes_every_layer_between_and_is_shared():
    _, edges = placed(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 3), (0, 4)])
    paths = {len(edge.path): edge.path for edge in edges if edge.path}
    assert sorted(paths) == [2, 3]
    assert paths[3][:2] == paths[2]


def test_crossings_that_need_not_be_are_undone():
    boxes, _ = placed(6, [(0, 5), (1, 4), (2, 3)])
    heights = [boxes[n].middle for n in (0, 1, 2)]
    assert heights == [boxes[n].middle for n in (5, 4, 3)]


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs_have_no_overlaps(seed):
    generator = np.random.default_rng(seed)
    count = int(generator.integers(5, 60))
    arrows = [(int(generator.integers(0, n)), n) for n in range(1, count) for _ in range(n % 3)]
    boxes, edges = placed(count, arrows)
    points = {id(point): point for edge in edges for point in edge.path}.values()
    assert overlapping(boxes) == []
    assert overlapping([*boxes, *points]) == []
    assert min(box.y for box in [*boxes, *points]) == 0


def test_heights_are_the_nearest_that_keep_the_distance():
    """The least-squares solution, against a direct search."""
    layer = [Box(10, 20), Box(0, 0), Box(10, 30)]
    wishes = [10.0, 4.0, 0.0]
    _set_heights(layer, wishes)
    middles = [box.middle for box in layer]
    distances = [10 + BETWEEN_LINES, 15 + BETWEEN_LINES]
    np.testing.assert_allclose(np.diff(middles), distances)
    # All are pushed together, so the wishes are met on (weighted) average.
    weights = [1, STRAIGHT, 1]
    assert np.dot(weights, middles) == pytest.approx(np.dot(weights, wishes))
    _set_heights(layer[::2], [0.0, 500.0])
    assert [box.middle for box in layer[::2]] == [0.0, 500.0]
    _set_heights(layer[::2], [0.0, 0.0])
    assert layer[2].y - (layer[0].y + layer[0].height) == pytest.approx(BETWEEN_BOXES)


def test_nothing_to_place():
    assert place([], [], lambda box: 0.0) == (0.0, 0.0)
