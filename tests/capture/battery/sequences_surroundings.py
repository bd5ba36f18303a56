"""Files, clocks, threads and contexts that change between calls, and settings of ours."""

from __future__ import annotations

import contextvars
import decimal
import io
import locale
import os
import pathlib
import tempfile
import threading
import time

import numpy as np

import adjoint as ad
from tests.capture.battery.registry import sequence

ROW = np.array([0.7, 1.3])
MIXED = np.array([0.7, -1.3])


@sequence
def a_table_read_as_text():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "table.csv")

        def f(x):
            with open(path) as file:
                rows = [line.split(",") for line in file]
            return sum(float(a) * x[0] + float(b) * x[1] for a, b in rows)

        for text in ("1,2\n", "1,2\n", "1,2\n3,4\n"):
            pathlib.Path(path).write_text(text)
            yield f, ROW


@sequence
def a_file_that_goes():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "flag")

        def f(x):
            return np.sum(x**2) if path.exists() else np.sum(x)

        yield f, ROW
        path.touch()
        yield f, ROW
        path.unlink()
        yield f, ROW


@sequence
def a_stream_that_is_read_on():
    stream = io.StringIO("1.0\n2.0\n3.0\n4.0\n")

    def f(x):
        return np.sum(x**2) * float(stream.readline() or "10.0")

    for _ in range(5):
        yield f, ROW


@sequence
def the_folder_of_work():
    here = os.getcwd()

    def f(x):
        return np.sum(x**2) if os.getcwd() == here else np.sum(x)

    try:
        yield f, ROW
        yield f, ROW
        os.chdir(os.path.sep)
        yield f, ROW
    finally:
        os.chdir(here)
    yield f, ROW


@sequence
def a_clock_that_is_patched():
    kept = time.time
    now = 1.0

    def f(x):
        return np.sum(x**2) * time.time()

    try:
        time.time = lambda: now
        for now in (1.0, 1.0, 2.0, 3.0):
            yield f, ROW
    finally:
        time.time = kept


@sequence
def a_clock_of_ones_own():
    ticks = 0

    def clock():
        nonlocal ticks
        ticks += 1
        return ticks

    def f(x):
        start = clock()
        y = np.sum(x**2)
        return y * (clock() - start) + clock() * x[0]

    for _ in range(3):
        yield f, ROW


@sequence
def context_variables():
    scale = contextvars.ContextVar("scale", default=1.0)

    def f(x):
        return np.sum(x**2) * scale.get()

    yield f, ROW
    yield f, ROW
    token = scale.set(4.0)
    yield f, ROW
    scale.reset(token)
    yield f, ROW


@sequence
def thread_locals():
    local = threading.local()
    local.scale = 1.0

    def f(x):
        return np.sum(x**2) * local.scale

    for local.scale in (1.0, 1.0, 2.0):
        yield f, ROW


@sequence
def a_decimal_context():
    def f(x):
        third = decimal.Decimal(1) / decimal.Decimal(3)
        return np.sum(x**2) * float(third)

    for digits in (28, 28, 3, 28):
        with decimal.localcontext() as context:
            context.prec = digits
            yield f, ROW


@sequence
def print_options():
    def f(x):
        return np.sum(x**2) * len(str(np.array([1 / 3])))

    for digits in (8, 8, 3, 8):
        with np.printoptions(precision=digits):
            yield f, ROW


@sequence(smooth=False)
def formatting_of_the_point():
    def f(x):
        return np.sum(x**2) * len(str(x))

    for digits, point in ((8, ROW), (8, ROW), (3, ROW / 3), (8, ROW / 3), (8, ROW)):
        with np.printoptions(precision=digits):
            yield f, point


@sequence
def the_locale():
    def f(x):
        return np.sum(x**2) * len(locale.localeconv()["decimal_point"])

    yield f, ROW
    yield f, ROW


@sequence
def the_size_of_buffers():
    kept = np.getbufsize()

    def f(x):
        return np.sum(x**2) * np.getbufsize()

    try:
        for size in (8192, 8192, 16384):
            np.setbufsize(size)
            yield f, ROW
    finally:
        np.setbufsize(kept)


@sequence
def strong_zeros_of_ours():
    def f(x):
        return np.sum(np.where(x > 0, np.log(np.abs(x)), 0.0))

    for strong in (True, False, True):
        with ad.config(strong_zeros=strong):
            yield f, ROW


@sequence
def kinks_of_ours():
    def f(x):
        return np.sum(np.abs(x)) + np.max(x)

    for kink in (0.5, 0.5, 1.0, 0.0):
        with ad.config(kink=kink):
            yield f, ROW


@sequence
def checks_of_ours():
    def f(x):
        return np.sum(np.sin(x) ** 2)

    for debug in (True, False, True, False, False):
        with ad.config(debug=debug):
            yield f, ROW
            yield f, ROW * 2


@sequence
def caches_of_ours_cleared():
    scale = 1.0

    def f(x):
        return np.sum(scale * x**2)

    for scale in (1.0, 1.0, 2.0, 1.0):
        ad.cache_clear()
        yield f, ROW
        yield f, ROW


@sequence
def functions_in_threads():
    scale = 1.0
    results = []

    def f(x):
        return np.sum(scale * x**2)

    for scale in (1.0, 2.0, 1.0):
        thread = threading.Thread(target=lambda: results.append(float(f(ROW))))
        thread.start()
        thread.join()
        yield f, ROW


@sequence
def the_limit_of_recursion():
    def depth(n):
        return 0 if n == 0 else 1 + depth(n - 1)

    def f(x):
        return np.sum(x**2) * depth(n)

    for n in (3, 3, 10, 3):
        yield f, ROW
