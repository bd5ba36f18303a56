"""Primitives of one's own that raise, warn, count and keep state."""

from __future__ import annotations

import warnings

import numpy as np

import adjoint as ad
from tests.capture.battery.registry import fresh

ROW = np.array([0.7, 1.3])


def cubed(check):
    """A primitive, v**3, that does something first."""

    @ad.primitive
    def cube(v):
        check(v)
        return v**3

    @cube.jvp
    def rule(primals, tangents):
        (v,), (u,) = primals, tangents
        return cube(v), 3 * v**2 * u

    return cube


def too_large(v):
    if np.any(np.asarray(v) > 0.5):
        raise RuntimeError("too large")


@fresh(0.7)
def that_works():
    cube = cubed(lambda v: None)
    return lambda x: cube(x) * x


@fresh(0.7)
def that_raises():
    cube = cubed(too_large)
    return lambda x: np.sum(cube(x)) * 2


@fresh(0.7)
def that_raises_and_is_caught():
    cube = cubed(too_large)

    def f(x):
        try:
            return np.sum(cube(x))
        except RuntimeError:
            return x * 3

    return f


@fresh(0.3)
def that_might_raise_and_does_not():
    cube = cubed(too_large)

    def f(x):
        try:
            return np.sum(cube(x))
        except RuntimeError:
            return x * 3

    return f


@fresh(0.7)
def that_raises_after_it_worked():
    cube = cubed(too_large)

    def f(x):
        first = cube(x * 0.5)
        try:
            return first + cube(x)
        except RuntimeError as error:
            return first * len(str(error))

    return f


@fresh(0.7)
def that_raises_before_it_works():
    cube = cubed(too_large)

    def f(x):
        scale = 1.0
        while True:
            try:
                return cube(x * scale)
            except RuntimeError:
                scale *= 0.7

    return f


@fresh(0.7)
def that_raises_a_type_error():
    def check(v):
        raise TypeError("not of that kind")

    cube = cubed(check)

    def f(x):
        try:
            return cube(x)
        except TypeError:
            return x**2

    return f


@fresh(0.7)
def that_raises_unless_finite():
    def check(v):
        if not np.all(np.isfinite(v)):
            raise FloatingPointError("not finite")

    cube = cubed(check)

    def f(x):
        with np.errstate(all="ignore"):
            try:
                return cube(np.log(x - 1.0))
            except FloatingPointError:
                return cube(x)

    return f


@fresh(0.7)
def that_warns():
    cube = cubed(lambda v: warnings.warn("a primitive", UserWarning, stacklevel=1))
    return lambda x: cube(x) * 2


@fresh(0.7)
def whose_warning_is_an_error():
    cube = cubed(lambda v: warnings.warn("a primitive", UserWarning, stacklevel=1))

    def f(x):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                return cube(x) * 2
            except UserWarning:
                return x * 5

    return f


@fresh(ROW)
def that_asks_for_the_shape():
    def check(v):
        if np.shape(v) != (2,):
            raise ValueError("two are needed")

    cube = cubed(check)

    def f(x):
        try:
            return np.sum(cube(x[:1]))
        except ValueError:
            return np.sum(cube(x))

    return f


@fresh(ROW)
def in_a_loop_with_an_exit():
    cube = cubed(too_large)

    def f(x):
        total = 0.0
        for k in range(5):
            try:
                total = total + cube(x[0] * 0.3 * k)
            except RuntimeError:
                break
        return total + x[1]

    return f


@fresh(ROW)
def in_finally():
    cube = cubed(too_large)
    log = []

    def f(x):
        try:
            return np.sum(cube(x))
        finally:
            log.append("done")

    return f, lambda: log


@fresh(ROW)
def with_a_plain_argument():
    cube = cubed(too_large)

    def f(x):
        try:
            weight = cube(0.9)
        except RuntimeError:
            weight = cube(0.2)
        return np.sum(x) * weight

    return f
