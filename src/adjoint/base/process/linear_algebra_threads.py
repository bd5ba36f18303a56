"""How many threads the libraries of linear algebra use: BLAS and LAPACK behind NumPy and SciPy."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from typing import Any


def linear_algebra_on(threads: int) -> AbstractContextManager[Any]:
    """A block in which BLAS and LAPACK use so many threads.

    Their number belongs to the process, and to one Python thread at a time: the one that has first
    set it, as long as that lives (`threadpoolctl`). Blocks of other threads change nothing.
    """
    limits: AbstractContextManager[Any] = _libraries().limit(limits=threads, user_api="blas")
    return limits


@cache
def _libraries() -> Any:
    """All libraries that NumPy, SciPy and machine code call, looked for once."""
    import_module("scipy.linalg.cython_blas")  # which loads one of SciPy's own
    return import_module("threadpoolctl").ThreadpoolController()
