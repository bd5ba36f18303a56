"""What functions and classes say of themselves, what modules have not, and names as text."""

from __future__ import annotations

import numpy as np

from tests.capture.battery.registry import sequence

X = np.array([0.7, 1.3])


@sequence
def a_function_that_is_documented_anew():
    def helper(v: "a" = 1.0):  # noqa: F821, UP037
        "doc"
        return v * 2

    def loss(x):
        return helper(x).sum() * len(helper.__doc__) * len(helper.__annotations__)

    def named(x):
        return helper(x).sum() * len(helper.__name__) + x[0] * len(helper.__qualname__)

    for text in ("doc", "doc", "doc", "longer", "longer", "doc"):
        helper.__doc__ = text
        yield loss, X
    for name in ("helper", "helper", "helper", "other", "other", "helper"):
        helper.__name__ = name
        yield named, X
    helper.__qualname__ = "of.a.module"
    yield named, X
    helper.__annotations__["more"] = 1
    yield loss, X


@sequence
def a_class_that_is_named_anew():
    class Model:
        """A model."""

    model = Model()

    def loss(x):
        return x.sum() * len(type(model).__name__) + x[0] * len(Model.__qualname__)

    def documented(x):
        return x.sum() * len(model.__doc__) + x[0] * len(Model.__module__)

    for name in ("Model", "Model", "Model", "Other", "Model"):
        Model.__name__ = name
        yield loss, X
    Model.__qualname__ = "Short"
    yield loss, X
    for text in ("A model.", "A model.", "A model.", "More", "A model."):
        Model.__doc__ = text
        yield documented, X
    Model.__module__ = "elsewhere"
    yield documented, X


@sequence
def what_numpy_has_not_yet():
    def loss(x):
        return x.sum() * (2.0 if hasattr(np, "a_name_of_mine") else 1.0)

    def given(x):
        return x.sum() * getattr(np, "a_name_of_mine", 1.0)

    def tried(x):
        try:
            return x.sum() * np.a_name_of_mine
        except AttributeError:
            return x.sum()

    def deeper(x):
        try:
            return x.sum() * np.linalg.a_name_of_mine
        except AttributeError:
            return x.sum()

    for _ in range(4):
        for each in (loss, given, tried, deeper):
            yield each, X
    np.a_name_of_mine = np.linalg.a_name_of_mine = 5.0
    try:
        for _ in range(2):
            for each in (loss, given, tried, deeper):
                yield each, X
    finally:
        del np.a_name_of_mine, np.linalg.a_name_of_mine
    for each in (loss, given, tried, deeper):
        yield each, X


@sequence
def names_of_the_module_as_text():
    names = globals()

    def loss(x):
        return x.sum() * globals().get("_GAIN", 1.0)

    def member(x):
        return x.sum() * (_GAIN if "_GAIN" in globals() else 3.0)  # noqa: F821

    for _ in range(3):
        yield loss, X
        yield member, X
    for gain in (2.0, 2.0, 4.0):
        names["_GAIN"] = gain
        yield loss, X
        yield member, X
    del names["_GAIN"]
    yield loss, X
    yield member, X
