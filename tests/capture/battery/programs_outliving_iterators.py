"""What goes on after the call that made it: iterators, partial functions, methods, exceptions."""

from __future__ import annotations

import functools
import types

import numpy as np

from tests.capture.battery.registry import fresh

ROW = np.array([0.7, 1.3])


def _kind_and_value(value):
    return type(value).__name__, np.asarray(value).tolist()


@fresh(ROW)
def iterators_that_go_on():
    kept = []

    def loss(x):
        y = x * 2
        kept.clear()
        kept.extend([iter(y), (v for v in y), zip(y, y, strict=True), enumerate(y)])
        kept.append(v * w for v in y for w in (1.0, 3.0))
        kept.append(map(lambda v: v + 1, y))
        return np.sum(y) + next(kept[0]) + next(kept[4])

    def rest():
        first, second, pairs, counted, products, mapped = kept
        found = [*first, *second, *(v for pair in pairs for v in pair), *(v for _, v in counted)]
        return [_kind_and_value(v) for v in (*found, *products, *mapped)]

    def state():
        if len(kept) == 6:
            kept[:] = [rest()]
        return kept

    return loss, state


@fresh(ROW)
def a_partial_function_and_methods():
    kept = types.SimpleNamespace()

    def loss(x):
        y = x * 2
        kept.add = functools.partial(np.add, y, out=None)
        kept.total, kept.plus = y.sum, y.__add__
        return kept.total() + kept.add(1.0)[0] + kept.plus(2.0)[1]

    def state():
        if not hasattr(kept, "add"):
            return None
        return [_kind_and_value(v) for v in (kept.add(1.0), kept.total(), kept.plus(1.0))]

    return loss, state


@fresh(ROW)
def an_exception_of_pythons_that_is_kept():
    kept = []

    def loss(x):
        y = x * 2
        try:
            try:
                raise ValueError(y, "first")
            except ValueError as error:
                raise KeyError(y.sum()) from error
        except KeyError as error:
            error.point = y[0]
            kept.append(error.with_traceback(None))
        return np.sum(y) * len(kept)

    def state():
        return [
            [_kind_and_value(v) for v in (e.args[0], e.__cause__.args[0], e.point)] for e in kept
        ]

    return loss, state
