"""What the next round of a loop reads is asked for in this one, where rows lie in many pages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.executors.native.emission.fetching import bytes_ahead
from adjoint.executors.native.graph.indices import Label, SortedTerm, label_term, sort_term, total

CENTRES, COUNT, WIDTH = 40, 500, 64  # 10 MB, in rows of 512 bytes


def _place(*factors: int) -> tuple[SortedTerm, list[Label | None]]:
    """The place where each loop, from the outermost, steps so many numbers on."""
    labels = [Label(extent, number) for number, extent in enumerate((COUNT, CENTRES, WIDTH))]
    where = total((label_term(label), n) for label, n in zip(labels, factors, strict=True))
    return sort_term(where), [None, *labels]


@pytest.mark.parametrize(
    ("factors", "expected"),
    [
        ((WIDTH, COUNT * WIDTH, 1), 8 * WIDTH),  # points outside, centres within
        ((-WIDTH, COUNT * WIDTH, 1), -8 * WIDTH),  # the same, from the last point on
        ((CENTRES * WIDTH, WIDTH, 1), 0),  # rows one after the other
        ((COUNT * WIDTH, WIDTH, 1), 0),  # pages far apart, in the outer loop alone
        ((0, COUNT * WIDTH, 1), 0),  # the next round reads the same
    ],
)
def test_how_far_ahead(factors: tuple[int, int, int], expected: int) -> None:
    where, labels = _place(*factors)
    assert bytes_ahead(where, labels, 8, CENTRES * COUNT * WIDTH) == expected
    assert bytes_ahead(where, labels, 8, 1000) == 0  # in the caches


def shares(values: Any, offsets: Any) -> Any:
    """The shares that rows have in all rows of their column, times the rows."""
    squares = np.sum((values - offsets) ** 2, 2)
    weights = np.exp(squares - np.max(squares, 0))
    return (weights / np.sum(weights, 0))[..., None] * (values - offsets)


@pytest.mark.parametrize("count", [COUNT, 20])
def test_rows_in_many_pages(count: int) -> None:
    random = np.random.default_rng(0)
    values = random.normal(size=(CENTRES, count, WIDTH))
    offsets = random.normal(size=WIDTH)
    with ad.config(cache=False):
        text = ad.program(shares, values, offsets).native().ir()
        assert ("call void @llvm.prefetch" in text) == (count == COUNT)
        with ad.config(native=False):
            expected = shares(values, offsets)
        np.testing.assert_allclose(ad.jit(shares)(values, offsets), expected, rtol=1e-12)
