"""What the rows of the sweep are about: arrays of every kind, by one-letter names.

x, y matrices (3, 4), t a cube (2, 3, 2), v a vector of 4, w one of 3, p positive (2, 3), s a Python
float, q a 0-d array, u a NumPy scalar, z complex (2, 3), c complex64 of 4, n integers (2, 3), i
small integers of 4, b booleans (3, 4), f float32 (3, 4), e empty (0, 3), k integers of 3 that
index, F a matrix in Fortran order, R one with gaps and negative strides, O one that is read-only,
m a square matrix (3, 3).
"""

from __future__ import annotations

from typing import Any

import numpy as np

RNG = np.random.default_rng(23)


def _read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array


ARGUMENTS: dict[str, Any] = {
    "x": RNG.normal(size=(3, 4)),
    "y": RNG.normal(size=(3, 4)),
    "t": RNG.normal(size=(2, 3, 2)),
    "v": RNG.normal(size=4),
    "w": RNG.normal(size=3),
    "p": RNG.uniform(0.5, 2, (2, 3)),
    "s": 0.7,
    "q": np.array(0.4),
    "u": np.float64(1.3),
    "z": RNG.normal(size=(2, 3)) + 1j * RNG.normal(size=(2, 3)),
    "c": (RNG.normal(size=4) + 1j * RNG.normal(size=4)).astype(np.complex64),
    "n": np.array([[2, -1, 3], [1, 0, -2]]),
    "i": np.array([3, 1, 2, 5], np.int8),
    "b": RNG.normal(size=(3, 4)) > 0,
    "f": RNG.normal(size=(3, 4)).astype(np.float32),
    "e": np.zeros((0, 3)),
    "k": np.array([2, 0, 2]),
    "F": np.asfortranarray(RNG.normal(size=(3, 4))),
    "R": RNG.normal(size=(6, 8))[::-2, ::2],
    "O": _read_only(RNG.normal(size=(3, 4))),
    "m": RNG.normal(size=(3, 3)),
}
