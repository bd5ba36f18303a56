"""Arrays made before a call, into which it has written what it derived from its arguments.

A cache kept by hand may live in such: `self.value[:] = g(x)`. The arrays are the same afterwards,
so what is kept in mind is their contents, with the points of the calls. What has another content by
now was written since, as a workspace is.
"""

from __future__ import annotations

import weakref
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.capture.recording.exits.entries import Places

_BYTES: Final = 1 << 24  # of arrays whose contents are kept
_MOST: Final = 256  # points of one array


class Written(NamedTuple):
    """values: what the array held, unless that is too much to keep. points: of the calls."""

    array: weakref.ref[Any]
    values: np.ndarray[Any, Any] | None
    points: dict[Any, None]


_written: dict[int, Written] = {}


def write_down(array: np.ndarray[Any, Any], point: Any) -> None:
    """Keep in mind that a call at a point has left in an array what it holds now."""
    key = id(array)
    known = _written.get(key)
    points = {} if known is None or known.array() is not array else known.points
    points.pop(point, None)
    points[point] = None
    if len(points) > _MOST:
        del points[next(iter(points))]
    held = array.copy() if array.nbytes <= _BYTES else None
    _written[key] = Written(weakref.ref(array, lambda _: _written.pop(key, None)), held, points)


def written_at(array: Any, point: Any) -> Places | None:
    """The places of an array that may hold what a call at this point has left; None for none."""
    known = _written.get(id(array))
    if known is None or id(known.array()) != id(array) or point not in known.points:
        return None
    held = known.values
    if held is None or held.shape != array.shape:
        return np.ones(array.shape, bool)
    places: Places = np.asarray((held == array) | (array != array))
    return places if places.any() else None


def points_of_arrays() -> list[Any]:
    """All points at which arrays were written into."""
    return [point for written in list(_written.values()) for point in written.points]
