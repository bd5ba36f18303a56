"""Derivatives inside of functions, whose surroundings change; NumPy's answer is written by hand."""

from __future__ import annotations

import numpy as np

import adjoint as ad
from tests.capture.battery.registry import sequence

ROW = np.array([0.7, 1.3])


@sequence
def a_gradient_of_a_closure():
    def inner(v):
        return np.sum(scale * v**3)

    def f(x):
        return np.sum(ad.grad(inner)(x))

    f.by_hand = lambda x: np.sum(3 * scale * x**2)
    for scale in (1.0, 1.0, 2.0, 1.0):
        yield f, ROW


@sequence
def a_gradient_made_once():
    def inner(v):
        return np.sum(scale * v**3)

    gradient = ad.grad(inner)

    def f(x):
        return np.sum(gradient(x)) + scale

    f.by_hand = lambda x: np.sum(3 * scale * x**2) + scale
    for scale in (1.0, 1.0, 2.0, 1.0):
        yield f, ROW


@sequence
def a_gradient_of_an_array_in_place():
    data = np.array([1.0, 2.0])

    def f(x):
        return np.sum(ad.grad(lambda v: np.sum(data * v**3))(x))

    f.by_hand = lambda x: np.sum(3 * data * x**2)
    for data[0] in (1.0, 1.0, 4.0, 1.0):
        yield f, ROW


@sequence
def a_jvp_of_a_closure():
    def inner(v):
        return np.sin(scale * v)

    def f(x):
        return np.sum(ad.jvp(inner, (x,), (np.ones(2),))[1])

    f.by_hand = lambda x: np.sum(scale * np.cos(scale * x))
    for scale in (1.0, 1.0, 2.0):
        yield f, ROW


@sequence
def a_pullback_of_a_closure():
    def f(x):
        value, pullback = ad.vjp(lambda v: scale * v**2, x)
        return np.sum(value) + np.sum(pullback(np.ones(2))[0])

    f.by_hand = lambda x: np.sum(scale * x**2) + np.sum(2 * scale * x)
    for scale in (1.0, 1.0, 2.0):
        yield f, ROW


@sequence
def a_batch_of_a_closure():
    def f(x):
        return np.sum(ad.vmap(lambda v: np.sin(scale * v))(x))

    f.by_hand = lambda x: np.sum(np.sin(scale * x))
    for scale in (1.0, 1.0, 2.0):
        yield f, ROW


@sequence
def a_jitted_helper():
    @ad.jit
    def helper(v):
        return scale * v**2

    def f(x):
        return np.sum(helper(x))

    f.by_hand = lambda x: np.sum(scale * x**2)
    for scale in (1.0, 1.0, 2.0, 1.0):
        yield f, ROW


@sequence
def a_hessian_of_a_closure():
    def f(x):
        return np.trace(ad.hessian(lambda v: np.sum(scale * v**4))(x))

    f.by_hand = lambda x: np.sum(12 * scale * x**2)
    for scale in (1.0, 1.0, 2.0):
        yield f, ROW


@sequence
def newtons_method_with_inner_derivatives():
    def f(x):
        y = np.ones(2)
        for _ in range(8):
            value, slope = ad.jvp(lambda v: v**power - x, (y,), (np.ones(2),))
            y = y - value / slope
        return np.sum(y)

    f.by_hand = lambda x: np.sum(x ** (1 / power))
    for power in (2, 2, 3, 2):
        yield f, ROW


@sequence
def gradient_descent_with_inner_gradients():
    rate = 0.1

    def f(x):
        y = np.zeros(2)
        for _ in range(3):
            y = y - rate * ad.grad(lambda v: np.sum((v - x) ** 2))(y)
        return np.sum(y**2)

    f.by_hand = lambda x: np.sum((x * (1 - (1 - 2 * rate) ** 3)) ** 2)
    for rate in (0.1, 0.1, 0.2, 0.1):
        yield f, ROW


@sequence
def an_inner_loss_that_counts():
    calls = []

    def inner(v):
        calls.append(1)
        return np.sum(v**2) * len(calls)

    def f(x):
        return np.sum(ad.grad(inner)(x))

    def by_hand(x):
        calls.append(1)
        return np.sum(2 * x * len(calls))

    f.by_hand = by_hand
    for _ in range(4):
        yield f, ROW


@sequence
def an_inner_history():
    history = []

    def inner(v):
        y = np.sum(v**2)
        history.append(float(y))
        return y

    def f(x):
        slope = ad.grad(inner)(x)
        return np.sum(slope) + len(history)

    def by_hand(x):
        inner(x)
        return np.sum(2 * x) + len(history)

    f.by_hand = by_hand
    for _ in range(3):
        yield f, ROW


@sequence
def a_loop_of_ours_over_a_closure():
    def f(x):
        return np.sum(ad.fori_loop(0, 3, lambda k, v: v * scale + 0.1 * k, x))

    f.by_hand = lambda x: np.sum(((x * scale) * scale + 0.1) * scale + 0.2)
    for scale in (1.0, 1.0, 0.5, 1.0):
        yield f, ROW


@sequence
def a_branch_of_ours_over_a_closure():
    def f(x):
        return ad.cond(np.sum(x) > bound, lambda v: np.sum(v**2), lambda v: np.sum(scale * v), x)

    f.by_hand = lambda x: np.sum(x**2) if np.sum(x) > bound else np.sum(scale * x)
    bound = 1.0
    for scale in (1.0, 2.0):
        yield f, ROW
        yield f, ROW * 0.1
    bound = 5.0
    yield f, ROW


@sequence
def a_primitive_of_ones_own():
    scale = 1.0

    @ad.primitive
    def cube(v):
        return scale * v**3

    @cube.jvp
    def rule(primals, tangents):
        (v,), (u,) = primals, tangents
        return cube(v), 3 * scale * v**2 * u

    def f(x):
        return np.sum(cube(x))

    f.by_hand = lambda x: np.sum(scale * x**3)
    for scale in (1.0, 1.0, 2.0):
        yield f, ROW
