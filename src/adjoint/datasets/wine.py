"""The wine data of the UCI Machine Learning Repository (see WINE.md), a sample a column."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_MIDDLE_CLASS = 2


@dataclass(frozen=True, eq=False)
class Wine:
    """178 wines: 13 measurements of each, and the cultivar it was made from.

    Attributes:
        features: The measurements, of shape (13, 178): a sample a column.
        targets: The class of each sample: 1, 2 or 3.
        feature_names: What the 13 rows measure.

    Example:
        >>> from adjoint.datasets import load_wine
        >>> wine = load_wine()
        >>> wine.features.shape, wine.feature_names[0]
        ((13, 178), 'alcohol')
    """

    features: NDArray[np.float64]
    targets: NDArray[np.int64]
    feature_names: tuple[str, ...]

    def network_data(self, dtype: DTypeLike = np.float32) -> tuple[NDArray[Any], NDArray[Any]]:
        """The normalised measurements, and the classes as the numbers -1, 0 and 1 in one row.

        Example:
            >>> X, y = load_wine().network_data()
            >>> X.shape, y.shape, X.dtype
            ((13, 178), (1, 178), dtype('float32'))
        """
        inputs = normalise(self.features).astype(dtype)
        outputs = (self.targets - _MIDDLE_CLASS).astype(dtype)[None, :]
        return inputs, outputs


def load_wine() -> Wine:
    """The wine data as measured.

    Example:
        >>> sorted(set(load_wine().targets.tolist()))
        [1, 2, 3]
    """
    text = (files("adjoint.datasets") / "wine.csv").read_text(encoding="utf-8")
    header, *rows = text.splitlines()
    table = np.array([row.split(",") for row in rows], dtype=np.float64)  # (178, 1 + 13)
    return Wine(
        features=np.ascontiguousarray(table[:, 1:].T),
        targets=table[:, 0].astype(np.int64),
        feature_names=tuple(header.split(",")[1:]),
    )


def normalise(x: NDArray[Any]) -> NDArray[Any]:
    """Shift and scale each row to mean 0 and sample standard deviation 1 (with n - 1 below).

    Example:
        >>> import numpy as np
        >>> normalise(np.array([[1.0, 2.0, 3.0]]))
        array([[-1.,  0.,  1.]])
    """
    mean = np.mean(x, axis=1, keepdims=True)
    deviation = np.std(x, axis=1, ddof=1, keepdims=True)
    result: NDArray[Any] = (x - mean) / deviation
    return result
