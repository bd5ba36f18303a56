"""Settings of NumPy, of warnings, of the environment and of ours; random numbers; files."""

from __future__ import annotations

import os
import pathlib
import random
import tempfile
import warnings

import numpy as np

from tests.capture.battery.registry import sequence

ROW = np.array([0.7, 1.3])
MIXED = np.array([0.7, -1.3])


@sequence(smooth=False)
def errstate_around_the_call():
    def f(x):
        return np.nansum(np.log(x))

    for mode in ("warn", "ignore", "raise", "warn", "ignore", "raise"):
        with np.errstate(invalid=mode):
            yield f, MIXED


@sequence
def errstate_that_is_caught():
    def f(x):
        try:
            return np.sum(np.log(x))
        except FloatingPointError:
            return np.sum(x**2)

    for point in (ROW, MIXED, ROW, MIXED):
        with np.errstate(all="raise"):
            yield f, point
    yield f, ROW


@sequence
def errstate_that_is_asked_for():
    def f(x):
        return np.sum(x**2) if np.geterr()["divide"] == "warn" else np.sum(x)

    for mode in ("warn", "warn", "ignore", "warn", "raise"):
        with np.errstate(divide=mode):
            yield f, ROW


@sequence
def seterr_by_the_function():
    def f(x):
        np.seterr(divide="ignore" if x[0] > 0.5 else "warn")
        return np.sum(x**2)

    def g(x):
        return np.sum(x**2) if np.geterr()["divide"] == "warn" else np.sum(x)

    with np.errstate():
        yield f, ROW
        yield g, ROW
        yield f, ROW * 0.1
        yield g, ROW
        yield f, ROW
        yield g, ROW


@sequence
def an_errstate_in_a_cell():
    def f(x):
        with np.errstate(divide=mode):
            try:
                return np.sum(x**2) + float(np.float64(1.0) / np.float64(zero) > 0)
            except FloatingPointError:
                return np.sum(x)

    zero = 0.0
    for mode in ("ignore", "raise", "ignore", "raise"):
        yield f, ROW


@sequence(smooth=False)
def warning_filters():
    def f(x):
        return np.nansum(np.log(x))

    for action in ("always", "ignore", "error", "always", "ignore", "error"):
        warnings.simplefilter(action)
        yield f, MIXED
    warnings.simplefilter("always")


@sequence
def warnings_of_ones_own():
    def f(x):
        warnings.warn("mind this", UserWarning, stacklevel=1)
        return np.sum(x**2)

    for action in ("always", "ignore", "error", "always", "always"):
        warnings.simplefilter(action)
        yield f, ROW
    warnings.simplefilter("always")


@sequence
def warnings_that_are_caught_as_errors():
    def f(x):
        try:
            warnings.warn("mind this", UserWarning, stacklevel=1)
        except UserWarning:
            return np.sum(x)
        return np.sum(x**2)

    for action in ("always", "error", "ignore", "error"):
        warnings.simplefilter(action)
        yield f, ROW
    warnings.simplefilter("always")


@sequence
def random_numbers_of_one_seed():
    def f(x):
        return np.sum(np.random.rand(2) * x)

    for seed in (0, 0, 1, 0):
        np.random.seed(seed)
        yield f, ROW
        yield f, ROW


@sequence
def a_generator_that_goes_on():
    generator = np.random.default_rng(0)

    def f(x):
        return np.sum(generator.normal(size=2) * x**2)

    for _ in range(4):
        yield f, ROW


@sequence
def a_generator_made_inside():
    def f(x):
        generator = np.random.default_rng(seed)
        return np.sum(generator.normal(size=2) * x**2)

    for seed in (0, 0, 1, 0):
        yield f, ROW


@sequence
def a_generator_bound_anew():
    def f(x):
        return np.sum(generator.uniform(size=2) * x**2)

    for seed in (0, 0, 1):
        generator = np.random.default_rng(seed)
        yield f, ROW
        yield f, ROW


@sequence
def a_generator_set_back():
    generator = np.random.default_rng(3)
    state = generator.bit_generator.state

    def f(x):
        return np.sum(generator.uniform(size=2) * x**2)

    yield f, ROW
    yield f, ROW
    generator.bit_generator.state = state
    yield f, ROW


@sequence
def minibatches():
    generator, data = np.random.default_rng(0), np.arange(20.0).reshape(10, 2) / 10

    def loss(x):
        rows = generator.choice(10, size=3, replace=False)
        return np.mean((data[rows] @ x - 1) ** 2)

    for _ in range(5):
        yield loss, ROW


@sequence
def a_shuffled_order():
    generator = np.random.default_rng(0)

    def f(x):
        return np.sum(x[generator.permutation(2)] * [1.0, 10.0])

    for _ in range(5):
        yield f, ROW


@sequence
def dropout():
    generator = np.random.default_rng(1)

    def f(x):
        keep = generator.random(2) < 0.5
        return np.sum(np.where(keep, x, 0.0) ** 2) + x[0]

    for _ in range(6):
        yield f, ROW


@sequence
def samples_of_a_reparameterised_normal():
    generator = np.random.default_rng(1)

    def f(x):
        return np.mean(np.cos(x[0] + x[1] * generator.standard_normal(5)))

    for _ in range(3):
        yield f, ROW


@sequence
def the_module_random():
    def f(x):
        return np.sum(x**2) * random.random() + random.choice([1.0, 2.0]) * x[0]

    for seed in (0, 0, 1):
        random.seed(seed)
        yield f, ROW
        yield f, ROW


@sequence
def a_random_walk_with_questions():
    generator = np.random.default_rng(2)

    def f(x):
        while generator.random() < 0.6:
            x = x * 1.1
        return np.sum(x)

    for _ in range(5):
        yield f, ROW


@sequence
def environment_variables():
    def f(x):
        return np.sum(x**2) * float(os.environ.get("BATTERY_SCALE", "1.0"))

    try:
        yield f, ROW
        for scale in ("2.0", "2.0", "3.0"):
            os.environ["BATTERY_SCALE"] = scale
            yield f, ROW
    finally:
        os.environ.pop("BATTERY_SCALE", None)
    yield f, ROW


@sequence
def the_contents_of_a_file():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "weights.txt")

        def f(x):
            return np.sum(np.array([float(w) for w in path.read_text().split()]) * x)

        for text in ("1.0 2.0", "1.0 2.0", "3.0 4.0", "1.0 2.0"):
            path.write_text(text)
            yield f, ROW


@sequence
def a_saved_array():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "weights.npy")

        def f(x):
            return np.sum(np.load(path) * x)

        for value in (1.0, 1.0, 2.0):
            np.save(path, np.full(2, value))
            yield f, ROW
