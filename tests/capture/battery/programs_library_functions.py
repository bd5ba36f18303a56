"""NumPy's, math's and Python's functions as keys, in containers, compared, and called."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from math import exp as power_of_e
from math import hypot

import numpy as np
import scipy.special
from numpy import maximum as greater
from numpy import tanh

from tests.capture.battery.registry import fresh, program

ROW = np.array([0.7, 1.3])

SLOPES = {np.sin: np.cos, np.exp: np.exp, np.tanh: lambda v: 1 - np.tanh(v) ** 2}
WEIGHTS = {np.sum: 2.0, np.mean: 3.0, np.linalg.norm: 5.0, math.sin: 7.0, math.hypot: 11.0}
OPERATORS = {"+": operator.add, "*": operator.mul, "max": np.maximum, "min": min}
NAMES = {max: "max", min: "min", abs: "abs", sum: "sum", len: "len"}
UNITS = [np.sqrt, np.exp, math.sin, scipy.special.expit]
RANKS = {scipy.special.expit: 2.0, scipy.special.erf: 3.0}
KINDS = {float: 2.0, int: 3.0, np.float64: 5.0, np.ndarray: 7.0, bool: 11.0}
ACTIVATION = np.tanh
EVERY = frozenset({np.sin, np.cos, math.sin, max})


@program(ROW)
def slopes_by_their_functions(x):
    return (np.sin(x) * SLOPES[np.sin](x) + SLOPES.get(np.exp, np.sqrt)(x)).sum()


@program(ROW)
def weights_of_functions(x):
    total = np.sum(x) * WEIGHTS.get(np.sum, 100.0) + np.mean(x) * WEIGHTS[np.mean]
    return total + np.linalg.norm(x) * WEIGHTS.get(np.linalg.norm, 100.0)


@program(ROW)
def functions_of_math_as_keys(x):
    first = math.sin(x[0]) * WEIGHTS.get(math.sin, 100.0)
    return first + hypot(x[0], x[1]) * WEIGHTS.get(hypot, 100.0)


@program(ROW)
def names_of_builtins(x):
    pick = {max: 2.0}.get(max, 100.0)
    assert NAMES.get(max) == "max" and NAMES.get(abs) == "abs"
    return max(x[0], x[1]) * pick * len(NAMES[min]) + sum(x) * len(NAMES.get(sum, ""))


@program(ROW)
def called_from_a_table(x):
    total = OPERATORS["+"](x, x[::-1]) * 2
    total = OPERATORS["*"](total, x)
    return OPERATORS["max"](total, x).sum() + OPERATORS["min"](x[0], x[1])


@program(ROW)
def called_from_a_list(x):
    total = 0.0
    for function in UNITS:
        total = total + np.sum(function(x[0] if function is math.sin else x))
    return total * (2 if np.sqrt in UNITS else 3) * (5 if UNITS.index(np.exp) == 1 else 7)


@program(ROW)
def identity_of_what_was_imported(x):
    total = tanh(x).sum() * (2 if tanh is np.tanh else 3) * (5 if ACTIVATION is np.tanh else 7)
    total = total * (2 if greater is np.maximum else 3)
    return total * power_of_e(x[0]) * (11 if power_of_e is math.exp else 13)


@program(ROW)
def members_of_a_set(x):
    weight = 2.0 if np.sin in EVERY else 3.0
    weight *= 5.0 if math.sin in EVERY and math.cos not in EVERY else 7.0
    return weight * np.sin(x).sum() * (1 if max in EVERY and min not in EVERY else 11)


@program(ROW)
def functions_of_scipy_as_keys(x):
    special = scipy.special
    return sum(RANKS.get(f, 100.0) * f(x).sum() for f in (special.expit, special.erf))


@program(ROW)
def classes_as_keys(x):
    total = x.sum() * KINDS[type(x)] * KINDS[float] * KINDS.get(np.float64, 100.0)
    return total * KINDS[type(float(x[0]) > 5)] * KINDS.get(type(x[0]), 100.0)


@program(ROW)
def handed_to_what_calls(x):
    total = sum(map(math.sin, x)) + functools.reduce(np.add, [x, x, x]).sum()
    total = total + sum(itertools.starmap(math.hypot, [(x[0], 1.0), (x[1], 2.0)]))
    rows = np.apply_along_axis(np.sum, 0, np.stack([x, x * x]))
    total = total + rows @ rows + functools.partial(np.sum, axis=0)(x)
    return total + sorted(x, key=math.cos)[0] + max(x, key=math.sin) + min(x, key=abs)


@program(ROW)
def vectorised_and_accumulated(x):
    total = np.vectorize(math.sin)(x).sum() + list(itertools.accumulate(x, np.multiply))[-1]
    return total + np.frompyfunc(math.exp, 1, 1)(x).sum() + functools.reduce(operator.mul, x)


class Layer:
    activation = np.tanh

    def __init__(self, function):
        self.function = function

    def __call__(self, v):
        kind = {np.tanh: 2.0, np.sin: 3.0}[self.function]
        return kind * self.function(v) + self.activation(v) * (
            5 if self.activation is np.tanh else 7
        )


LAYERS = [Layer(np.tanh), Layer(np.sin)]


@program(ROW)
def activations_of_objects(x):
    for layer in LAYERS:
        x = layer(x)
    return x.sum()


def apply(function, v, *rest, kind=np.sum):
    weight = {np.sum: 2.0, np.prod: 3.0, np.max: 5.0}
    return weight[kind] * kind(function(v, *rest))


@program(ROW)
def as_arguments_and_defaults(x):
    total = apply(np.sin, x) + apply(np.exp, x, kind=np.prod) + apply(np.add, x, x, kind=np.max)
    return total + apply(kind=np.prod, *(np.multiply, x, x))


@program(ROW)
def with_starred_arguments(x):
    args, options = (x, x), {"axis": 0}
    return np.add(*args).sum() + np.sum(*args[:1], **options) + math.hypot(*x)


@program(ROW)
def chosen_by_a_condition(x):
    function = np.sin if x[0] < 1 else np.cos
    other = (math.exp if x[1] < 1 else math.sqrt)(x[1])
    return function(x).sum() * other * (2 if function is np.sin else 3)


@program(ROW)
def by_name_with_getattr(x):
    functions = {name: getattr(np, name) for name in ("sin", "cos", "sum")}
    weight = 2.0 if functions["sin"] is np.sin else 3.0
    return weight * functions["sum"](functions["sin"](x) * getattr(math, "exp")(x[0]))  # noqa: B009


@program(ROW)
def what_functions_say_of_themselves(x):
    weight = len(np.sum.__name__) + np.add.nin + len(math.sin.__name__) + len(max.__name__)
    return weight * x.sum() * (2 if callable(np.sum) and isinstance(np.add, np.ufunc) else 3)


@program(ROW)
def methods_of_ufuncs(x):
    reduce = np.add.reduce
    outer = np.multiply.outer
    return (
        reduce(x) + outer(x, x).sum() + np.maximum.accumulate(x).sum() + OPERATORS["max"].reduce(x)
    )


@fresh(ROW)
def kept_for_later():
    kept = []
    counts = {np.sin: 0}

    def f(x):
        kept.append(np.exp)
        counts[np.sin] += 1
        counts.setdefault(np.cos, 0)
        return np.exp(x).sum() * len(counts)

    def state():
        known = [each is np.exp for each in kept]
        del kept[1:]
        return all(known), set(counts) == {np.sin, np.cos}

    return f, state


@fresh(ROW)
def made_in_a_closure():
    table, chosen, reduction = {np.sin: 2.0, math.exp: 3.0}, np.sin, max

    def f(x):
        total = chosen(x).sum() * table[chosen] * table.get(np.sin, 50.0)
        return total * reduction(x[0], x[1]) * (2 if reduction is max else 3) * table[math.exp]

    return f
