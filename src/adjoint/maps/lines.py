"""Matrices of linear maps, line by line: by the map on a basis, or the transpose on a dual one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.spaces.elements.basis import unit


def column_of(linear_map: Any, index: int) -> Any:
    """The coordinates of what a map makes of a basis vector of its domain."""
    domain, codomain = linear_map.domain, linear_map.codomain
    image = linear_map._apply(domain._from_coordinates(unit(domain, index)))
    return codomain._coordinates(image)


def row_of(linear_map: Any, pull: Callable[[Any], Any], index: int) -> Any:
    """The coordinates of what its transpose, `pull`, makes of a dual basis covector."""
    domain, codomain = linear_map.domain, linear_map.codomain
    components = codomain._components_from_coordinates(unit(codomain, index))
    return domain._component_coordinates(pull(components))


def stacked_lines(line: Callable[[int], Any], count: int, length: int, by_columns: bool) -> Any:
    """A `scipy.sparse.csr_array` of columns or rows, of which no more than one is held dense.

    line: gives a column or a row by its number. length: how many numbers each has.
    """
    from scipy import sparse

    entries, places, starts = [], [], [0]
    for number in range(count):
        values = np.asarray(line(number))
        kept = np.flatnonzero(values)
        entries.append(values[kept])
        places.append(kept)
        starts.append(starts[-1] + len(kept))
    whole = (
        np.concatenate(entries) if entries else np.zeros(0),
        np.concatenate(places) if places else np.zeros(0, int),
        np.array(starts),
    )
    if by_columns:
        return sparse.csr_array(sparse.csc_array(whole, shape=(length, count)))
    return sparse.csr_array(whole, shape=(count, length))
