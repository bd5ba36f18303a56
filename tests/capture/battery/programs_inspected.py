"""Functions that are looked at, the frame that runs, and generators' methods as values."""

from __future__ import annotations

import inspect
import math
import random
import sys

import numpy as np

from tests.capture.battery.registry import program

ROW = np.array([0.7, 1.3])
DRAWING = [random.random, np.random.normal]


def own(v):
    return v * 2


@program(ROW)
def kinds_of_functions(x):
    found = 0
    for function in (own, np.sin, np.sum, math.sin, max, np.linalg.norm):
        is_one = (inspect.isfunction(function), inspect.isbuiltin(function))
        has = (hasattr(function, "__wrapped__"), hasattr(function, "reduce"))
        for truth in (*is_one, *has, inspect.isroutine(function)):
            found = 2 * found + truth
    return x.sum() * (found % 100_003)


@program(ROW)
def the_frame_that_runs(x):
    name = inspect.currentframe().f_code.co_name
    first = sys._getframe().f_code.co_varnames[0]
    return x.sum() * len(name) + x[0] * len(inspect.stack()[0].function) + x[1] * len(first)


@program(ROW)
def methods_of_generators_compared(x):
    weights = {random.random: 2.0, np.random.normal: 3.0}
    found = weights[random.random] + (random.random in DRAWING) + 5 * (DRAWING[0] == random.random)
    return x.sum() * found * (1 + DRAWING.index(np.random.normal)) * (np.random.normal in weights)
