"""What this machine can do at best, measured: the limits that the tables are held against."""

from __future__ import annotations

import os
import platform
import sys
from functools import cache

import numpy as np

import adjoint as ad
from benchmarks.measure import quickest

# Seconds of one vectorised exp (sin, cos) and tanh in double precision: eight a register, one core.
_EXPONENTIAL, _TANGENT = 0.7e-9, 1.8e-9


@cache
def peak_flops(dtype: str) -> float:
    """Operations a second of products of matrices, the densest arithmetic there is.

    It is the better one of NumPy's product and of ours, of matrices that stay in a cache: BLAS may
    have no code for the widest vectors of a machine.
    """
    large = np.ones((768, 768), dtype)
    out = np.empty_like(large)
    by_numpy = 2 * 768**3 / quickest(lambda: np.matmul(large, large, out=out), seconds=0.3)
    small = np.ones((64, 128, 128), dtype)
    product = ad.jit(lambda a: a @ a)
    product(small)
    ours = 2 * 64 * 128**3 / quickest(lambda: product(small), seconds=0.3)
    return max(by_numpy, ours)


@cache
def bandwidth(size: int) -> float:
    """Bytes a second, read and written, of copying an array of that many bytes.

    Small arrays stay in a cache and move faster, so that a limit is measured at the size it is for.
    """
    source = np.ones(size // 8)
    target = np.empty_like(source)
    return 2 * source.nbytes / quickest(lambda: np.copyto(target, source), seconds=0.2)


def limit(
    flops: float = 0.0,
    moved: int = 0,
    exponentials: float = 0.0,
    tangents: float = 0.0,
    dtype: str = "f8",
) -> tuple[str, float]:
    """What bounds a computation from below on the cores in use, and the seconds that it takes.

    Args:
        flops: additions and multiplications.
        moved: bytes that must be read and written at least once.
        exponentials: how many exp, sin and cos.
        tangents: how many tanh.
        dtype: in which all that is done; vector functions of float32 count half.
    """
    vectors = _EXPONENTIAL * exponentials + _TANGENT * tangents
    bounds = {
        "arithmetic at peak": flops / peak_flops(dtype),
        "memory at its bandwidth": moved / bandwidth(max(moved // 2, 4096)) if moved else 0.0,
        "vector functions": vectors * np.dtype(dtype).itemsize / 8,
    }
    name = max(bounds, key=lambda key: bounds[key])
    return name, bounds[name]


def description() -> str:
    """The versions that were measured, and the peak that was found."""
    return (
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}, {_cores()}; peak {peak_flops('f4') / 1e9:.0f} Gflop/s (float32), "
        f"{peak_flops('f8') / 1e9:.0f} Gflop/s (float64), "
        f"memory {bandwidth(2**26) / 1e9:.0f} GB/s."
    )


def _cores() -> str:
    count = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count()
    return "1 core" if count == 1 else f"{count} cores"
