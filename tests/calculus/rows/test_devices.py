"""Chunks of rows on several devices of XLA's: the same bits on any number of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentError, ArgumentTypeError, XlaUnavailableError
from tests.calculus.rows.functions import KINDS, W, X, Y, close, embedded, log_sum_exp, squares
from tests.executors.xla.simulated import run_on_devices

jax = pytest.importorskip("jax", reason="XLA is not tested: jax is not installed (extra `xla`)")

SAME_BITS = """
import adjoint as ad
from itertools import islice
from adjoint.executors.xla.executable import XlaExecutable
from tests.calculus.rows.functions import close, same_bits
from tests.calculus.rows.test_engines import all_functions

ran, before = set(), XlaExecutable.run
XlaExecutable.run = lambda self, *given: (ran.add(self._device.id), before(self, *given))[1]
# Each device compiles for itself: on many of them, some functions do.
for function, given in islice(all_functions(60), 0, None, count // 2):
    with ad.config(engine="cpu:0"):
        expected = function(*given)
    close(expected, function(*given))  # on the cores, by other machine code
    for engine in ("cpu", [f"cpu:{n}" for n in range(1, count, 2)]):
        with ad.config(engine=engine):
            same_bits(function(*given), expected)
assert ran == set(range(count)), ran
"""


@pytest.mark.parametrize("count", [4, 8])
def test_any_number_of_devices_gives_the_same_bits(count: int) -> None:
    run_on_devices(SAME_BITS, count)


def test_one_device() -> None:
    given = ad.rows(X, chunk=64), ad.rows(Y, chunk=64)
    with ad.config(engine="cpu"):
        for function in (squares, log_sum_exp):
            close(ad.grad(function)(W, *given), ad.grad(function)(W, X, Y))


def test_an_error_in_the_middle_frees_its_device() -> None:
    class Broken:
        shape, dtype = X.shape, X.dtype

        def __getitem__(self, index: slice) -> Any:
            if index.start > 500:
                raise OSError("the disk is gone")
            return X[index]

    with ad.config(engine="cpu"):
        for _ in range(2):
            with pytest.raises(OSError, match="the disk is gone"):
                ad.grad(squares)(W, ad.rows(Broken(), chunk=64), ad.rows(Y))
        for _ in range(2):
            with pytest.raises(IndexError):
                ad.grad(embedded)(np.ones((2, 4)), ad.rows(KINDS, chunk=64), ad.rows(Y))
        close(ad.grad(squares)(W, ad.rows(X), ad.rows(Y)), ad.grad(squares)(W, X, Y))


@pytest.mark.parametrize(
    ("engine", "error", "words"),
    [
        ("threads", XlaUnavailableError, "no device 'threads'"),
        ("tpu", XlaUnavailableError, "JAX has found"),
        ("cpu:9", ArgumentError, "there are 1 of its kind"),
        (["cpu:0", "cpu:0"], ArgumentError, "names a device twice"),
        ([], ArgumentTypeError, "engine must name devices"),
        ([0], ArgumentTypeError, "engine must name devices"),
    ],
)
def test_what_names_no_devices(engine: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words), ad.config(engine=engine):
        pass
