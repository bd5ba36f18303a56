"""Names of modules and builtins that change between calls, and globals of code in strings."""

from __future__ import annotations

import builtins
import math
import sys
import types

import numpy as np
import scipy.special

from tests.capture.battery.registry import sequence

ROW = np.array([0.7, 1.3])
SCALE = 1.0
TABLE = {"rate": 1.0, "order": 2}
WEIGHTS = np.array([1.0, 2.0])
HISTORY: list[float] = []
MODE = "square"
FLAG = True
ORDER = 2
PAIR = (1.0, 2.0)


def activation(v):
    return np.tanh(v)


class Constants:
    """A name space of settings."""

    gravity = 9.81
    nested = types.SimpleNamespace(depth=types.SimpleNamespace(value=1.0))


def uses_everything(x):
    if FLAG:
        return np.sum(SCALE * activation(x) ** ORDER) + TABLE["rate"] * np.sum(WEIGHTS * x)
    return np.sum(x)


@sequence
def a_sum_that_is_replaced():
    kept = builtins.sum

    def f(x):
        return sum(x) * x[0]

    yield f, ROW
    yield f, ROW
    try:
        builtins.sum = lambda values, start=0: kept((v * v for v in values), start)
        yield f, ROW
    finally:
        builtins.sum = kept
    yield f, ROW


@sequence
def a_constant_of_math():
    kept = math.tau

    def f(x):
        return np.sum(math.tau * x**2)

    yield f, ROW
    yield f, ROW
    try:
        math.tau = 1.0
        yield f, ROW
    finally:
        math.tau = kept
    yield f, ROW


@sequence
def a_function_of_math_that_is_patched():
    kept = math.erf

    def f(x):
        return math.erf(x) * x

    yield f, 0.7
    yield f, 0.7
    try:
        math.erf = lambda v: v**2
        yield f, 0.7
    finally:
        math.erf = kept
    yield f, 0.7


@sequence
def a_function_of_numpy_that_is_patched():
    kept = np.sinc

    def f(x):
        return np.sum(np.sinc(x))

    yield f, ROW
    yield f, ROW
    try:
        np.sinc = np.sin
        yield f, ROW
    finally:
        np.sinc = kept
    yield f, ROW


@sequence
def a_function_added_to_numpy():
    def f(x):
        return np.sum(np.our_own_function(x))

    yield f, ROW
    try:
        np.our_own_function = np.exp
        yield f, ROW
        np.our_own_function = np.sin
        yield f, ROW
    finally:
        del np.our_own_function
    yield f, ROW


@sequence
def a_special_function_that_is_patched():
    kept = scipy.special.expit

    def f(x):
        return np.sum(scipy.special.expit(x))

    yield f, ROW
    yield f, ROW
    try:
        scipy.special.expit = np.sin
        yield f, ROW
    finally:
        scipy.special.expit = kept
    yield f, ROW


@sequence
def a_module_made_by_hand():
    module = types.ModuleType("physical_constants")
    sys.modules["physical_constants"] = module
    module.speed = 2.0

    def f(x):
        import physical_constants

        return np.sum(x**2) * physical_constants.speed

    yield f, ROW
    yield f, ROW
    module.speed = 3.0
    yield f, ROW
    try:
        sys.modules["physical_constants"] = types.SimpleNamespace(speed=5.0)
        yield f, ROW
    finally:
        del sys.modules["physical_constants"]
    yield f, ROW


@sequence
def a_module_whose_function_changes():
    module = types.ModuleType("transforms")
    exec("import numpy as np\nrate = 1.0\ndef g(v):\n    return np.sin(rate * v)", module.__dict__)

    def f(x):
        return np.sum(module.g(x))

    yield f, ROW
    yield f, ROW
    module.rate = 2.0
    yield f, ROW
    exec("def g(v):\n    return np.cos(rate * v)", module.__dict__)
    yield f, ROW
    module.rate = 1.0
    yield f, ROW


@sequence
def a_module_that_runs_again():
    module = types.ModuleType("reloaded")
    source = "import numpy as np\nSCALE = {}\ndef g(v):\n    return SCALE * v**2"

    def f(x):
        return np.sum(module.g(x))

    for scale in (1.0, 1.0, 3.0, 1.0):
        exec(source.format(scale), module.__dict__)
        yield f, ROW
        yield f, ROW


@sequence
def another_meaning_of_np():
    space = {"np": np}
    exec("def f(x):\n    return np.sum(x**2)", space)
    yield space["f"], ROW
    yield space["f"], ROW
    space["np"] = types.SimpleNamespace(sum=lambda v: np.sum(np.sin(v)))
    yield space["f"], ROW
    space["np"] = np
    yield space["f"], ROW


@sequence
def a_global_generator_of_numbers():
    space = {"np": np, "rows": None}
    exec("def f(x):\n    return sum(r * x[0] for r in rows) + x[1]", space)
    for rows in (range(3), range(3), range(5), (1.0, 2.0), {1.0: 2}, {3.0}):
        space["rows"] = rows
        yield space["f"], ROW


@sequence
def a_global_that_the_function_changes():
    space = {"np": np, "count": 0}
    exec("def f(x):\n    global count\n    count += 1\n    return np.sum(x) * count", space)
    for _ in range(6):
        yield space["f"], ROW
    space["count"] = 10
    yield space["f"], ROW


@sequence
def a_global_that_a_helper_changes():
    space = {"np": np, "log": []}
    exec("def g(v):\n    log.append(1)\n    return v\ndef f(x):\n    return g(x) * len(log)", space)
    for point in (0.7, 0.7, 0.8, 0.7):
        yield space["f"], point
    space["log"] = []
    yield space["f"], 0.7


@sequence
def infinities_and_nans():
    space = {"np": np, "bound": 1.0}
    exec("def f(x):\n    return np.sum(np.minimum(x**2, bound))", space)
    for bound in (1.0, np.inf, 0.1, np.inf, 1.0):
        space["bound"] = bound
        yield space["f"], ROW


@sequence
def zeros_of_both_signs():
    space = {"np": np, "zero": 0.0}
    exec("def f(x):\n    return x * (2.0 if np.copysign(1.0, zero) > 0 else 3.0)", space)
    for zero in (0.0, -0.0, 0.0, -0.0, 0, -0.0):
        space["zero"] = zero
        yield space["f"], 0.7


@sequence
def types_of_equal_numbers():
    space = {"np": np, "n": 1}
    exec("def f(x):\n    return x * {int: 2, bool: 3, float: 4}.get(type(n), 5)", space)
    for n in (1, True, 1.0, np.float64(1.0), np.int64(1), 1, True, 1 + 0j):
        space["n"] = n
        yield space["f"], 0.7


@sequence(single=True)
def promotion_by_a_global_number():
    space = {"np": np, "n": 1}
    exec("def f(x):\n    return np.sum(x * n)", space)
    single = np.array([0.7, 1.3], np.float32)
    for n in (1, np.int64(1), 1.0, np.float32(1.0), np.float64(1.0), 1):
        space["n"] = n
        yield space["f"], ROW
        yield (lambda x: np.float64(space["f"](x)) + space["f"](x).itemsize), single
