"""What this machine can do at best, measured: the limits that the tables are held against."""

from __future__ import annotations

import platform
from functools import cache

import numpy as np

from benchmarks.measure import medians


@cache
def peak_flops(dtype: str, size: int = 768) -> float:
    """Operations a second of a square matrix product, the densest arithmetic that NumPy has."""
    a = np.ones((size, size), dtype)
    out = np.empty_like(a)
    taken = medians({"matmul": lambda: np.matmul(a, a, out=out)}, seconds=0.3)
    return 2 * size**3 / taken["matmul"]


@cache
def bandwidth(size: int) -> float:
    """Bytes a second, read and written, of copying an array of that many bytes.

    Small arrays stay in a cache and move faster, so that a limit is measured at the size it is for.
    """
    source = np.ones(size // 8)
    target = np.empty_like(source)
    taken = medians({"copy": lambda: np.copyto(target, source)}, seconds=0.2)
    return 2 * source.nbytes / taken["copy"]


def description() -> str:
    """The versions that were measured, and the peak that was found."""
    return (
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}; peak {peak_flops('f4') / 1e9:.0f} Gflop/s (float32), "
        f"{peak_flops('f8') / 1e9:.0f} Gflop/s (float64), "
        f"memory {bandwidth(2**26) / 1e9:.0f} GB/s."
    )
