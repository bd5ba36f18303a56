"""Globals that change between calls, and the names of modules."""

from __future__ import annotations

import builtins
import types

import numpy as np

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
def a_float():
    global SCALE
    for SCALE in (1.0, 1.0, 2.0, 1.0, -3.0, 2.0):
        yield (lambda x: np.sum(SCALE * x**2)), ROW


@sequence
def a_float_in_one_function():
    global SCALE

    def f(x):
        return np.sum(SCALE * x**2)

    for SCALE in (1.0, 1.0, 1.0, 2.0, 2.0, 1.0, -3.0):
        yield f, ROW
    SCALE = 1.0


@sequence
def a_float_of_a_helper():
    global SCALE

    def helper(v):
        return SCALE * v

    def f(x):
        return np.sum(helper(x) * helper(x))

    for SCALE in (1.0, 1.0, 2.0, 5.0, 1.0):
        yield f, ROW
    SCALE = 1.0


@sequence
def an_exponent():
    global ORDER

    def f(x):
        return np.sum(x**ORDER)

    for ORDER in (2, 2, 3, 2, 0.5, 2.0, 1, 0, True):
        yield f, ROW
    ORDER = 2


@sequence
def a_flag():
    global FLAG

    def f(x):
        return np.sum(x**2) if FLAG else np.sum(np.sin(x))

    for FLAG in (True, True, False, True, False, 0, 1, "", "yes", None, [], [0]):
        yield f, ROW
    FLAG = True


@sequence
def a_word():
    global MODE

    def f(x):
        match MODE:
            case "square":
                return np.sum(x**2)
            case "cube":
                return np.sum(x**3)
        return np.sum(x)

    for MODE in ("square", "square", "cube", "other", "square"):
        yield f, ROW
    MODE = "square"


@sequence
def an_entry_of_a_dictionary():
    def f(x):
        return np.sum(x**2) * TABLE["rate"]

    for rate in (1.0, 1.0, 2.0, 1.0, 0.1):
        TABLE["rate"] = rate
        yield f, ROW
    TABLE["rate"] = 1.0


@sequence
def a_dictionary_bound_anew():
    global TABLE
    kept = TABLE

    def f(x):
        return np.sum(x ** TABLE["order"])

    for order in (2, 2, 3, 2):
        TABLE = {"rate": 1.0, "order": order}
        yield f, ROW
    TABLE = kept


@sequence
def an_array_bound_anew():
    global WEIGHTS

    def f(x):
        return np.sum(WEIGHTS * x**2)

    for WEIGHTS in (np.ones(2), np.ones(2), np.array([1.0, 3.0]), np.ones(()), np.ones((2, 2))):
        yield f, ROW
    WEIGHTS = np.array([1.0, 2.0])


@sequence
def an_array_written_in_place():
    def f(x):
        return np.sum(WEIGHTS * x**2)

    for value in (1.0, 1.0, 4.0, 2.0):
        WEIGHTS[0] = value
        yield f, ROW
    WEIGHTS[:] = [1.0, 2.0]


@sequence
def dtypes_of_a_global_array():
    global WEIGHTS

    def f(x):
        return np.sum(WEIGHTS * x**2)

    for dtype in (float, float, int, np.float32, bool, np.int8, float):
        WEIGHTS = np.array([1, 2]).astype(dtype)
        yield f, ROW
    WEIGHTS = np.array([1.0, 2.0])


@sequence
def a_function_bound_anew():
    global activation
    kept = activation

    def f(x):
        return np.sum(activation(x))

    for activation in (kept, kept, np.sin, kept, lambda v: v**2, np.exp):
        yield f, ROW
    activation = kept


@sequence
def a_class_attribute():
    def f(x):
        return np.sum(x**2) * Constants.gravity

    for Constants.gravity in (9.81, 9.81, 1.62, 9.81):
        yield f, ROW


@sequence
def a_nested_name_space():
    def f(x):
        return np.sum(x**2) * Constants.nested.depth.value

    for value in (1.0, 1.0, 2.0, 1.0):
        Constants.nested.depth.value = value
        yield f, ROW
    for value in (4.0, 4.0, 1.0):
        Constants.nested.depth = types.SimpleNamespace(value=value)
        yield f, ROW


@sequence
def a_list_that_grows():
    def f(x):
        return np.sum(x) * (1 + len(HISTORY)) + sum(HISTORY) * x[0]

    HISTORY.clear()
    for value in (1.0, 2.0, 3.0):
        yield f, ROW
        yield f, ROW
        HISTORY.append(value)
    HISTORY.clear()
    yield f, ROW


@sequence
def a_tuple():
    global PAIR

    def f(x):
        a, b = PAIR
        return a * x[0] ** 2 + b * x[1] ** 2

    for PAIR in ((1.0, 2.0), (1.0, 2.0), (2.0, 1.0), (1, 2), [1.0, 2.0], np.array([3.0, 1.0])):
        yield f, ROW
    PAIR = (1.0, 2.0)


@sequence
def everything_by_turns():
    global SCALE, FLAG, ORDER, WEIGHTS
    changes = [
        ("SCALE", 2.0), ("FLAG", False), ("FLAG", True), ("ORDER", 3), ("SCALE", 1.0),
        ("WEIGHTS", np.array([0.0, 5.0])), ("ORDER", 2), ("WEIGHTS", np.array([1.0, 2.0])),
    ]  # fmt: skip
    yield uses_everything, ROW
    for name, value in changes:
        globals()[name] = value
        yield uses_everything, ROW
        yield uses_everything, ROW


@sequence
def a_global_that_is_deleted():
    space = {"np": np, "scale": 2.0}
    exec("def f(x):\n    return np.sum(scale * x**2)", space)
    yield space["f"], ROW
    del space["scale"]
    yield space["f"], ROW
    space["scale"] = 3.0
    yield space["f"], ROW


@sequence
def a_global_that_hides_a_builtin():
    space = {"np": np}
    exec("def f(x):\n    return abs(np.sum(x)) * x[0]", space)
    yield space["f"], ROW
    yield space["f"], -ROW
    space["abs"] = lambda v: v * 3
    yield space["f"], -ROW
    del space["abs"]
    yield space["f"], -ROW


@sequence
def a_builtin_that_is_replaced():
    kept = builtins.abs

    def f(x):
        return abs(x[0]) * x[1]

    yield f, ROW
    yield f, -ROW
    try:
        builtins.abs = lambda v: 5 * v
        yield f, -ROW
    finally:
        builtins.abs = kept
    yield f, -ROW
