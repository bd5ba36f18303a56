"""The same by hand in C++, compiled when it is asked for and called through ctypes."""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Thunk

SCALAR, FAST = "C++ by hand", "C++, -ffast-math"
_FLAGS = {SCALAR: (), FAST: ("-ffast-math",)}
_SOURCES = Path(__file__).parent / "cpp"


@cache
def compiler() -> str | None:
    """The C++ compiler of this machine: what CXX names, or g++."""
    return shutil.which(os.environ.get("CXX", "g++"))


def say_whether_it_compiles() -> None:
    """Tell on stderr where there is no compiler."""
    if compiler() is None:
        print("skipped: C++ by hand, there is no g++ (CXX names another)", file=sys.stderr)


def by_hand(
    name: str,
    inputs: list[Any],
    shapes: Sequence[tuple[int, ...]],
    fast: bool = False,
    function: str = "",
) -> dict[str, Thunk]:
    """What `cpp/NAME.cpp` defines, called with these arrays and whole numbers.

    The results are written into arrays that are allocated once: C++ at its best.

    Args:
        name: of the file.
        inputs: arrays of float64 or int64, C-contiguous, and whole numbers.
        shapes: of the arrays of float64 that the function fills.
        fast: also with -ffast-math.
        function: its name, if not that of the file.
    """
    if compiler() is None:
        return {}
    names = (SCALAR, FAST) if fast else (SCALAR,)
    symbol = function or name
    return {key: _thunk(getattr(_library(name, key), symbol), inputs, shapes) for key in names}


def _thunk(function: Any, inputs: list[Any], shapes: Sequence[tuple[int, ...]]) -> Thunk:
    outputs = [np.full(shape, np.nan) for shape in shapes]
    given = [_argument(each) for each in [*inputs, *outputs]]
    function.restype = None
    function.argtypes = [type(each) for each in given]

    def call(kept: object = inputs) -> object:  # as long as this lives, so do the arrays
        function(*given)
        return outputs

    return call


def _argument(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return ctypes.c_int64(value)
    if not value.flags.c_contiguous or value.dtype not in (np.float64, np.int64):
        raise TypeError(f"C++ takes contiguous float64 and int64, not {value.dtype}")
    return ctypes.c_void_p(value.ctypes.data)


@cache
def _folder() -> Path:
    path = Path(tempfile.mkdtemp(prefix="adjoint-benchmarks-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@cache
def _library(name: str, key: str) -> ctypes.CDLL:
    stem = _folder() / f"{name}{len(_FLAGS[key])}"
    command = [str(compiler()), "-std=c++17", "-O3", "-march=native", *_FLAGS[key], "-fPIC"]
    subprocess.run([*command, "-c", str(_SOURCES / f"{name}.cpp"), "-o", f"{stem}.o"], check=True)
    # Linked without -ffast-math, which would flush subnormal numbers in all of this process.
    subprocess.run([str(compiler()), "-shared", f"{stem}.o", "-o", f"{stem}.so", "-lm"], check=True)
    return ctypes.CDLL(f"{stem}.so")
