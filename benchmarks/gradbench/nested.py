"""The evals particle and saddle: derivatives within derivatives, in all four orders of modes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import adjoint as ad
from benchmarks.descents import MODES, particle_plainly, saddle_plainly
from benchmarks.gradbench.functions import Function, Module, Reading, arrays, listed


def _module(function: Callable[..., Any], read: Reading, write: Callable[[Any], Any]) -> Module:
    return {modes: Function(read, ad.jit(partial(function, modes=modes)), write) for modes in MODES}


PARTICLE: Module = _module(
    particle_plainly, lambda given: (np.array(given["w"], dtype=float),), float
)
SADDLE: Module = _module(saddle_plainly, arrays("start"), listed)
