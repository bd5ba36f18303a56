"""Numerical algorithms written out by hand."""

# ruff: noqa: B905, PT018, UP031
from __future__ import annotations

import copy
from math import exp, factorial, pi, sqrt

import numpy as np
from numpy import cos, dot, sin, zeros
from numpy import linalg as la

from tests.capture.programs import example

SPD = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])


@example(np.array([1.0, -2.0, 0.5, 3.0]), 0.7)
def horner(coefficients, x):
    result = 0
    for c in coefficients[::-1]:
        result = result * x + c
    return result


@example(np.array([1.0, -2.0, 0.5, 3.0]), np.linspace(0, 1, 4))
def polyval(coefficients, x):
    return np.polyval(coefficients, x)


@example(np.array([0.0, 1.0, 0.5, 2.0]), 1.4)
def linear_spline(values, x):
    knots = np.arange(len(values))
    i = int(np.floor(x))
    t = x - knots[i]
    return (1 - t) * values[i] + t * values[i + 1] + np.interp(2 * x / 3, knots, values)


@example(np.array([0.0, 1.0, 0.5, 2.0]))
def cubic_spline(y):
    n = len(y)
    a, b, c, d = zeros(n), np.ones(n), zeros(n), zeros(n)
    for i in range(1, n - 1):
        a[i], b[i], c[i] = 1.0, 4.0, 1.0
        d[i] = 6 * (y[i - 1] - 2 * y[i] + y[i + 1])
    for i in range(1, n):
        w = a[i] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]
    m = zeros(n)
    m[-1] = d[-1] / b[-1]
    for i in reversed(range(n - 1)):
        m[i] = (d[i] - c[i] * m[i + 1]) / b[i]
    return m


@example(0.3, 2.0)
def simpson(a, b):
    n = 10
    h = (b - a) / n
    total = exp(-(a**2)) + exp(-(b**2))
    for i in range(1, n):
        x = a + i * h
        total += (4 if i % 2 else 2) * np.exp(-(x**2))
    return total * h / 3


@example(0.2, 1.5)
def trapezium_linspace(a, b):
    x = np.linspace(a, b, 20)
    w = np.ones(20)
    w[0] = w[-1] = 0.5
    return np.sum(w * sin(x)) * (x[1] - x[0])


@example(3.0)
def newton_sqrt(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


@example(2.0, 0.5)
def bisection(a, b):
    low, high = 0.0, 3.0
    for _ in range(50):
        mid = 0.5 * (low + high)
        if mid**3 + b * mid - a > 0:
            high = mid
        else:
            low = mid
    # One Newton step makes the root depend smoothly on a and b.
    return mid - (mid**3 + b * mid - a) / (3 * mid**2 + b)


@example(SPD)
def power_iteration(A):
    v = np.ones(A.shape[0])
    for _ in range(100):
        v = A @ v
        v /= la.norm(v)
    return v @ A @ v


@example(np.array([[1.0, 2.0, 0.3], [0.5, 1.0, 2.0], [2.0, 0.1, 1.0]]))
def gram_schmidt(A):
    Q = np.zeros_like(A)
    R = np.zeros(A.shape)
    for j in range(A.shape[1]):
        v = A[:, j].copy()
        for i in range(j):
            R[i, j] = Q[:, i] @ v
            v -= R[i, j] * Q[:, i]
        R[j, j] = np.sqrt(v @ v)
        Q[:, j] = v / R[j, j]
    return Q, R


@example(SPD + np.array([[0.0, 0.3, 0.0], [0.0, 0.0, 0.0], [0.1, 0.0, 0.0]]))
def lu_in_place(A):
    A = A.copy()
    n = len(A)
    for k in range(n - 1):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return np.prod(np.diag(A))


@example(SPD)
def cholesky_by_hand(A):
    n = A.shape[0]
    L = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = sum(L[i, k] * L[j, k] for k in range(j))
            if i == j:
                L[i, j] = sqrt(A[i, i] - s)
            else:
                L[i, j] = (A[i, j] - s) / L[j, j]
    return L


@example(SPD, np.array([1.0, 2.0, 3.0]))
def gaussian_elimination(A, b):
    M = np.hstack([A, b[:, None]])
    n = len(b)
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(M[k:, k])))
        M[[k, pivot]] = M[[pivot, k]]
        M[k] = M[k] / M[k, k]
        for i in range(n):
            if i != k:
                M[i] -= M[i, k] * M[k]
    return M[:, -1]


@example(SPD, np.array([1.0, 2.0, 3.0]))
def conjugate_gradients(A, b):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r
    rs = dot(r, r)
    for _ in range(len(b)):
        Ap = A @ p
        alpha = rs / dot(p, Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        new = dot(r, r)
        p = r + new / rs * p
        rs = new
    return x


@example(np.array([[1.0, 2.0, 0.3], [0.5, 1.0, 2.0], [2.0, 0.1, 1.0]]))
def determinant(A):
    if A.shape == (1, 1):
        return A[0, 0]
    total = 0.0
    for j in range(A.shape[1]):
        minor = np.delete(np.delete(A, 0, axis=0), j, axis=1)
        total += (-1) ** j * A[0, j] * determinant(minor)
    return total


@example(0.3 * SPD)
def matrix_exponential(A):
    result = np.eye(len(A))
    term = np.eye(len(A))
    for k in range(1, 15):
        term = term @ A / k
        result += term
    return result


@example(0.8)
def bessel_series(x):
    return sum((-1) ** k / factorial(k) ** 2 * (x / 2) ** (2 * k) for k in range(12))


@example(0.3, 0.9)
def agm(a, b):
    for _ in range(6):
        a, b = (a + b) / 2, np.sqrt(a * b)
    return pi / (2 * a)


@example({"rates": [0.1, 0.2], "scale": 2.0, "nested": (np.ones(2), {"k": 3.0})})
def edited_parameters(p):
    q = copy.copy(p)
    q["rates"] = [r * q["scale"] for r in p["rates"]]
    q["nested"][1]["k"] **= 2
    q.update(extra=q["nested"][0].sum())
    return q["rates"][0] * q["nested"][1]["k"] + q["extra"]


@example(np.array([0.5, 0.1, 0.9, 0.3]))
def insertion_sort(x):
    x = x.copy()
    for i in range(1, len(x)):
        j = i
        while j > 0 and x[j - 1] > x[j]:
            x[j - 1], x[j] = x[j], x[j - 1].copy()
            j -= 1
    return x * np.arange(4)


@example(np.array([0.5, 0.1, 0.9, 0.3]))
def ranked(x):
    order = sorted(range(len(x)), key=lambda i: x[i])
    return sum((k + 1) * x[i] for k, i in enumerate(order)), sorted(x)[1]


@example(0.7, 1.1)
def recursion_fibonacci(a, b):
    def fib(n):
        return a if n == 0 else b if n == 1 else fib(n - 1) * 0.5 + fib(n - 2)

    return fib(8)


@example(np.linspace(0, 2, 9))
def numerical_gradient(y):
    return np.gradient(cos(y), 0.25), np.diff(y, n=2), np.cumprod(1 + 0.1 * y)


@example(np.array([1.0, 2.0]), np.array([0.5, -1.0, 2.0]))
def outer_tables(a, b):
    table = np.add.outer(a, b) * np.multiply.outer(a, b)
    return np.triu(table).sum() + np.trace(table)


@example(np.array([3.0, -1.0, 2.0]))
def piecewise(x):
    y = np.zeros_like(x)
    y[x > 0] = np.log1p(x[x > 0])
    y[x <= 0] = x[x <= 0] ** 2
    return y


@example(np.array([3.0, -1.0, 2.0]))
def select_and_clip(x):
    return np.select([x < 0, x > 2.5], [-x, x**2], default=1.0) + np.clip(x, -0.5, 2.2)


@example(np.array([0.1, 0.4, 0.35, 0.8]), np.array([1.0, 2.0, 3.0, 4.0]))
def scatter_add(weights, values):
    bins = np.array([0, 1, 1, 2])
    totals = np.zeros(3)
    np.add.at(totals, bins, weights * values)
    return totals


@example(np.array([1.0, 2.0, 4.0]), np.array([1.0, 0.5, 0.2]))
def rational(p, q):
    x = np.array([0.1, 0.2])
    numerator = denominator = 0.0
    for i, (a, b) in enumerate(zip(p, q)):
        numerator = numerator + a * x**i
        denominator += b * x**i
    return numerator / denominator


@example(np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0]))
def linear_solve(A, b):
    return la.solve(A, b)


@example(np.array([1.0, 2.0, 0.5]))
def continued_fraction(a):
    value = a[-1]
    for x in a[-2::-1]:
        value = x + 1 / value
    return float(value)


@example(1.3)
def event_driven_bounce(height):
    v, y, t, bounces = 0.0, height, 0.0, 0
    while bounces < 2:
        t_hit = (v + np.sqrt(v**2 + 2 * 9.81 * y)) / 9.81
        v = -0.8 * (v - 9.81 * t_hit)
        y = 0.0
        t += t_hit
        bounces += 1
    return t


@example(np.array([0.2, 0.5, 0.9]))
def printed_progress(x):
    log = []
    best = np.inf
    for i, value in enumerate(x):
        loss = (value - 0.4) ** 2
        if loss < best:
            best = loss
        log.append(f"{i}: {loss:.3f} {best}" + "%.3e" % loss + f" {best:8.2f}")
    assert best >= 0, "negative"
    assert len(log) == 3 and isinstance(log[0], str)
    return best
