"""Leaves as real coordinates: the rows of blocks that a solver works on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, real_dtype

Rows = np.ndarray[Any, Any]


class CoordinateLayout:
    """How arrays of these types are written as rows of real coordinates.

    The first `lead` axes, which all types share, number the blocks. So `count` arrays of every type
    are rows of shape (count, blocks, size); a complex entry is two coordinates.
    """

    def __init__(self, types: Sequence[ArrayType], lead: int) -> None:
        self.types = tuple(types)
        self.lead = types[0].shape[:lead] if types else ()
        self.blocks = int(np.prod(self.lead, dtype=int))
        self.sizes = [
            int(np.prod(type_.shape[lead:], dtype=int)) * (2 if type_.dtype.kind == "c" else 1)
            for type_ in types
        ]
        self.size = sum(self.sizes)
        self.dtype = np.result_type(*(real_dtype(type_.dtype) for type_ in types))

    def encode(self, leaves: Sequence[Any]) -> Rows:
        """Arrays with an axis of their count in front, as rows."""
        parts = []
        for leaf, type_, size in zip(leaves, self.types, self.sizes, strict=True):
            array = np.ascontiguousarray(leaf, type_.dtype)
            count = array.shape[0]
            if type_.dtype.kind == "c":
                array = array.view(real_dtype(type_.dtype))
            parts.append(array.reshape(count, self.blocks, size))
        return np.concatenate(parts, axis=2).astype(self.dtype, copy=False)

    def decode(self, rows: Rows) -> list[Any]:
        """Rows as arrays with an axis of their count in front."""
        arrays, start = [], 0
        for type_, size in zip(self.types, self.sizes, strict=True):
            part = rows[..., start : start + size]
            array = np.ascontiguousarray(part, real_dtype(type_.dtype)).view(type_.dtype)
            arrays.append(array.reshape(len(rows), *type_.shape))
            start += size
        return arrays

    def vector(self, leaves: Sequence[Any]) -> Rows:
        """The coordinates of arrays, of which there is one of each type, in one block."""
        return self.encode([np.asarray(leaf)[None] for leaf in leaves]).ravel()

    def leaves(self, vector: Rows) -> list[Any]:
        """The arrays with these coordinates."""
        shaped = vector.reshape(1, self.blocks, self.size)
        return [leaf[0] for leaf in self.decode(shaped)]
