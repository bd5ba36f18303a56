"""Algorithms that work in place, as textbooks write them."""

# ruff: noqa: B007, B905, F841, SIM, UP
from __future__ import annotations

import math

import numpy as np

from tests.capture.programs import example

A = np.array(
    [[0.2, 2.0, 1.0, 0.3], [3.0, 0.1, -1.0, 0.5], [1.0, 0.7, 4.0, -0.2], [0.4, 1.1, 0.6, 2.0]]
)


@example(A, np.array([1.0, -2.0, 0.5, 3.0]), twice=True)
def lu_with_pivoting(matrix, b):
    a, x = matrix.copy(), b.copy()
    n = len(a)
    for k in range(n):
        pivot = k + np.argmax(np.abs(a[k:, k]))
        if pivot != k:
            a[[k, pivot]] = a[[pivot, k]]
            x[[k, pivot]] = x[[pivot, k]]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    for k in range(n):
        x[k + 1 :] -= x[k] * a[k + 1 :, k]
    for k in range(n - 1, -1, -1):
        x[k] = (x[k] - a[k, k + 1 :] @ x[k + 1 :]) / a[k, k]
    return x, np.sum(np.log(np.abs(np.diag(a))))


@example(
    np.array([0.1, 0.2, 0.3]),
    np.array([2.0, 2.5, 3.0, 2.2]),
    np.array([1.0, 0.0, 2.0, 1.0]),
    twice=True,
)
def thomas(lower, diagonal, rhs):
    n = len(diagonal)
    c, d = np.zeros(n), rhs.copy()
    b = diagonal.copy()
    for i in range(1, n):
        w = lower[i - 1] / b[i - 1]
        b[i] -= w * lower[i - 1]
        d[i] -= w * d[i - 1]
    d[-1] /= b[-1]
    for i in reversed(range(n - 1)):
        d[i] = (d[i] - lower[i] * d[i + 1]) / b[i]
    return d


@example(np.array([0.3, 1.0, 0.2, -0.5]), 1.2, twice=True)
def successive_overrelaxation(rhs, omega):
    a = A + 5 * np.eye(4)
    x = np.zeros(4)
    for sweep in range(6):
        for i in range(4):
            sigma = a[i, :i] @ x[:i] + a[i, i + 1 :] @ x[i + 1 :]
            x[i] += omega * ((rhs[i] - sigma) / a[i, i] - x[i])
    return x


@example(np.array([[0.1, 0.4, 0.2], [0.9, 0.3, 0.8]]), 0.6, twice=True)
def stencil_with_views(edges, weight):
    grid = np.zeros((5, 5))
    grid[0, 1:-1], grid[-1, 1:-1] = edges
    inner, north, south = grid[1:-1, 1:-1], grid[:-2, 1:-1], grid[2:, 1:-1]
    west, east = grid[1:-1, :-2], grid[1:-1, 2:]
    for _ in range(5):
        inner[...] = (1 - weight) * inner + weight * 0.25 * (north + south + east + west)
    return grid


@example(np.array([0.1, 0.9, 0.4, 0.7]), np.array([0.2, 0.8, 0.8, 0.3, 0.6]), 0.3)
def soft_time_warping(x, y, gamma):
    n, m = len(x), len(y)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            options = -np.array([D[i - 1, j], D[i, j - 1], D[i - 1, j - 1]]) / gamma
            top = options.max()
            soft = -gamma * (np.log(np.sum(np.exp(options - top))) + top)
            D[i, j] = (x[i - 1] - y[j - 1]) ** 2 + soft
    return D[n, m]


@example(np.random.default_rng(1).normal(size=(6, 4)))
def ctc_loss(logits):
    log_probability = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    labels, blank = [1, 2, 2], 0
    extended = [blank]
    for label in labels:
        extended += [label, blank]
    S, T = len(extended), len(logits)
    alpha = np.full((T, S), -np.inf)
    alpha[0, 0] = log_probability[0, blank]
    alpha[0, 1] = log_probability[0, extended[1]]
    for t in range(1, T):
        for s in range(S):
            a = alpha[t - 1, s]
            if s > 0:
                a = np.logaddexp(a, alpha[t - 1, s - 1])
            if s > 1 and extended[s] != blank and extended[s] != extended[s - 2]:
                a = np.logaddexp(a, alpha[t - 1, s - 2])
            alpha[t, s] = a + log_probability[t, extended[s]]
    return -np.logaddexp(alpha[-1, -1], alpha[-1, -2])


@example(
    np.array([[0.2, -0.4, 0.1], [0.9, 0.3, -0.5], [0.4, 0.1, 0.2]]),
    np.array([[0.1, 0.5], [0.7, -0.2], [0.0, 0.3]]),
    twice=True,
)
def viterbi_logsumexp(transitions, emissions):
    observed = [0, 1, 1, 0, 1]
    scores = np.zeros((len(observed), 3))
    scores[0] = emissions[:, observed[0]]
    for t, symbol in enumerate(observed[1:], start=1):
        for j in range(3):
            paths = scores[t - 1] + transitions[:, j]
            best = np.max(paths)
            scores[t, j] = best + np.log(np.exp(paths - best).sum()) + emissions[j, symbol]
    return np.logaddexp.reduce(scores[-1])


@example(np.array([0.8, -0.6, -1.0]), 0.5)
def soft_alignment(scores, temperature):
    match, mismatch, gap = scores
    a, b = "GATTACA", "GCATGC"
    F = np.zeros((len(a) + 1, len(b) + 1))
    F[:, 0] = gap * np.arange(len(a) + 1)
    F[0, :] = gap * np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            s = match if a[i - 1] == b[j - 1] else mismatch
            moves = [F[i - 1, j - 1] + s, F[i - 1, j] + gap, F[i, j - 1] + gap]
            F[i, j] = temperature * np.log(sum(np.exp(m / temperature) for m in moves))
    return F[-1, -1]


@example(np.array([0.1, 0.9, -0.4, 0.7, 0.2, -0.8, 0.5, 0.3]), twice=True)
def recursive_fft(signal):
    def fft(x):
        n = x.shape[0]
        if n == 1:
            return x
        even, odd = fft(x[::2]), fft(x[1::2])
        out = np.empty(n, dtype=complex)
        twiddle = np.exp(-2j * np.pi * np.arange(n // 2) / n)
        out[: n // 2] = even + twiddle * odd
        out[n // 2 :] = even - twiddle * odd
        return out

    spectrum = fft(signal.astype(complex))
    return np.abs(spectrum[: len(signal) // 2]) ** 2


@example(np.array([0.1, 0.9, -0.4, 0.7, 0.2, -0.8, 0.5, 0.3]), twice=True)
def bit_reversed_fft(signal):
    x = np.array(signal, dtype=complex)
    n, j = len(x), 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            x[i], x[j] = x[j], x[i]
    length = 2
    while length <= n:
        half = length // 2
        for start in range(0, n, length):
            for k in range(half):
                w = np.exp(-2j * np.pi * k / length)
                u, v = x[start + k], x[start + k + half] * w
                x[start + k] = u + v
                x[start + k + half] = u - v
        length *= 2
    return x.real, x.imag


@example(np.array([0.13, 0.77, 0.42, 0.35]), np.array([1.0, -0.5, 0.8, 0.3]))
def particle_in_cell(positions, charges):
    n = 8
    density = np.zeros(n)
    cell = np.floor(positions * n).astype(int)
    fraction = positions * n - cell
    np.add.at(density, cell, charges * (1 - fraction))
    np.add.at(density, (cell + 1) % n, charges * fraction)
    density -= density.mean()
    field = -np.cumsum(density) / n
    field -= field.mean()
    force = field[cell] * (1 - fraction) + field[(cell + 1) % n] * fraction
    return np.sum(charges * force)


@example(
    np.random.default_rng(2).uniform(size=(5, 5)), np.array([[1.0, 0.0, -1.0]] * 3), twice=True
)
def convolution_by_loops(image, kernel):
    padded = np.zeros((7, 7))
    padded[1:-1, 1:-1] = image
    gx, gy = np.zeros_like(image), np.zeros_like(image)
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            window = padded[i : i + 3, j : j + 3]
            gx[i, j] = np.sum(window * kernel)
            gy[i, j] = np.sum(window * kernel.T)
    return np.sqrt(gx**2 + gy**2 + 1e-3)


@example(A @ A.T + np.eye(4), np.array([0.3, 0.1, -0.2, 0.5]), twice=True)
def cholesky_update(matrix, v):
    L = matrix.copy()
    n = len(L)
    for j in range(n):
        L[j, j] = math.sqrt(L[j, j])
        L[j + 1 :, j] /= L[j, j]
        for k in range(j + 1, n):
            L[k:, k] -= L[k:, j] * L[k, j]
    L[np.triu_indices(n, 1)] = 0.0
    x = v.copy()
    for k in range(n):
        r = np.hypot(L[k, k], x[k])
        c, s = r / L[k, k], x[k] / L[k, k]
        L[k, k] = r
        L[k + 1 :, k] += s * x[k + 1 :]
        L[k + 1 :, k] /= c
        x[k + 1 :] *= c
        x[k + 1 :] -= s * L[k + 1 :, k]
    return L


@example(A[:, :3], twice=True)
def householder(matrix):
    R = matrix.copy()
    m, n = R.shape
    Q = np.eye(m)
    for k in range(n):
        column = R[k:, k]
        v = column.copy()
        v[0] += np.copysign(np.linalg.norm(column), column[0])
        v /= np.linalg.norm(v)
        block = R[k:, k:]
        block -= 2 * np.outer(v, v @ block)
        Q[:, k:] -= 2 * np.outer(Q[:, k:] @ v, v)
    return np.triu(R), Q[:, 0]


@example(A, twice=True)
def gauss_jordan(matrix):
    n = len(matrix)
    work = np.hstack([matrix, np.eye(n)])
    for i in range(n):
        p = max(range(i, n), key=lambda r: abs(work[r, i]))
        work[[i, p], :] = work[[p, i], :]
        work[i] /= work[i, i]
        for r in range(n):
            if r != i:
                work[r] -= work[r, i] * work[i]
    return work[:, n:]


@example(A + A.T)
def jacobi_rotations(matrix):
    a = matrix.copy()
    for _ in range(2):
        for p in range(3):
            for q in range(p + 1, 4):
                if abs(a[p, q]) < 1e-12:
                    continue
                theta = 0.5 * math.atan2(2 * a[p, q], a[q, q] - a[p, p])
                c, s = math.cos(theta), math.sin(theta)
                rows = a[[p, q]].copy()
                a[p], a[q] = c * rows[0] - s * rows[1], s * rows[0] + c * rows[1]
                columns = a[:, [p, q]]
                a[:, p] = c * columns[:, 0] - s * columns[:, 1]
                a[:, q] = s * columns[:, 0] + c * columns[:, 1]
    return np.sort(a.diagonal())


@example(np.array([1.0, 4.0, 2.0, 0.5, 3.0]), 0.2, twice=True)
def soft_shortest_paths(weights, temperature):
    n = 4
    edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    D = np.full((n, n), 1e3)
    np.fill_diagonal(D, 0.0)
    for (i, j), w in zip(edges, weights):
        D[i, j] = D[j, i] = w
    for k in range(n):
        for i in range(n):
            for j in range(n):
                direct, through = D[i, j], D[i, k] + D[k, j]
                low = min(direct, through)
                gap = abs(direct - through)
                D[i, j] = low - temperature * math.log1p(math.exp(-gap / temperature))
    return D[0, 3]


@example(np.array([1.0, 4.0, 2.0, 0.5, 3.0]))
def bellman_ford(weights):
    edges = {(0, 1): 0, (0, 2): 1, (1, 2): 2, (1, 3): 3, (2, 3): 4}
    distance = np.full(4, np.inf)
    distance[0] = 0
    for _ in range(3):
        for (u, v), k in edges.items():
            if distance[u] + weights[k] < distance[v]:
                distance[v] = distance[u] + weights[k]
    return distance


@example(np.array([1.0, 2.2, 1.5]), 3.0, twice=True)
def finite_difference_time_domain(layers, frequency):
    n = 24
    E, H = np.zeros(n), np.zeros(n - 1)
    permittivity = np.ones(n)
    for k, value in enumerate(layers):
        permittivity[8 + 4 * k : 12 + 4 * k] = value
    absorber = np.arange(n) >= n - 3
    for step in range(14):
        H += 0.5 * np.diff(E)
        E[1:-1] += 0.5 / permittivity[1:-1] * np.diff(H)
        E[2] += np.exp(-(((step - 5) / 3) ** 2)) * np.sin(frequency * step * 0.1)
        E[absorber] *= 0.7
    return np.sum(E**2)


@example(np.array([0.2, 0.5, 1.0, 1.4, 0.9, 0.3]), 0.4)
def burgers_upwind(u0, ratio):
    u = np.concatenate([u0[-1:], u0, u0[:1]])
    for _ in range(4):
        flux = np.where(u[:-1] + u[1:] > 0, 0.5 * u[:-1] ** 2, 0.5 * u[1:] ** 2)
        u[1:-1] -= ratio * (flux[1:] - flux[:-1])
        u[0], u[-1] = u[-2], u[1]
    return u[1:-1]


@example(0.055, 0.062, twice=True)
def gray_scott(feed, kill):
    U, V = np.ones((6, 6)), np.zeros((6, 6))
    U[2:4, 2:4], V[2:4, 2:4] = 0.5, 0.25
    work, lap = np.empty((6, 6)), np.empty((6, 6))

    def laplacian(Z, out):
        out[...] = -4 * Z
        for axis in (0, 1):
            for shift in (-1, 1):
                np.add(out, np.roll(Z, shift, axis), out=out)
        return out

    for _ in range(5):
        np.multiply(U, V, out=work)
        np.multiply(work, V, out=work)
        U += 0.16 * laplacian(U, lap) - work + feed * (1 - U)
        V += 0.08 * laplacian(V, lap) + work - (feed + kill) * V
    return V.sum(axis=0)


@example(np.array([0.9, 0.1, 0.5, 0.7, 0.3]))
def order_statistics(sample):
    x = sample.copy()
    for i in range(1, len(x)):
        j = i
        while j > 0 and x[j - 1] > x[j]:
            x[j - 1], x[j] = x[j], x[j - 1]
            j -= 1
    x.sort()
    n = len(x)
    l1 = x.mean()
    l2 = 2 * np.sum(np.arange(n) * x) / (n * (n - 1)) - l1
    return l1, l2


@example(np.random.default_rng(5).uniform(size=(4, 5)), twice=True)
def integral_image(image):
    table = np.zeros((5, 6))
    for i in range(4):
        for j in range(5):
            table[i + 1, j + 1] = image[i, j] + table[i, j + 1] + table[i + 1, j] - table[i, j]
    means = np.empty((3, 4))
    for i in range(3):
        for j in range(4):
            box = table[i + 2, j + 2] - table[i, j + 2] - table[i + 2, j] + table[i, j]
            means[i, j] = box / 4
    return (means**2).sum() - table[-1, -1]


@example(np.array([0.4, 0.9, -0.2, 0.7, 1.3, 0.1, -0.5, 0.6]), 0.3)
def lifting_wavelet(signal, threshold):
    x = signal.copy()
    step = 1
    while step < len(x):
        even, odd = x[:: 2 * step], x[step :: 2 * step]
        odd -= even
        even += odd / 2
        step *= 2
    small = np.abs(x) < threshold
    x[small] = 0.0
    x[~small] -= np.sign(x[~small]) * threshold
    while step > 1:
        step //= 2
        even, odd = x[:: 2 * step], x[step :: 2 * step]
        even -= odd / 2
        odd += even
    return x


@example(np.array([0.0, 0.8, 0.9, 0.1, -0.5]), 2.3, twice=True)
def natural_spline(y, at):
    x = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    n = len(x)
    h = np.diff(x)
    M = np.zeros((n, n))
    r = np.zeros(n)
    M[0, 0] = M[-1, -1] = 1.0
    for i in range(1, n - 1):
        M[i, i - 1 : i + 2] = h[i - 1], 2 * (h[i - 1] + h[i]), h[i]
        r[i] = 6 * ((y[i + 1] - y[i]) / h[i] - (y[i] - y[i - 1]) / h[i - 1])
    m = np.linalg.solve(M, r)
    k = np.searchsorted(x, at) - 1
    a, b = x[k + 1] - at, at - x[k]
    value = (m[k] * a**3 + m[k + 1] * b**3) / (6 * h[k])
    value += (y[k] / h[k] - m[k] * h[k] / 6) * a + (y[k + 1] / h[k] - m[k + 1] * h[k] / 6) * b
    return value


@example(np.sin(np.linspace(0, 3, 9)), 0.66, twice=True)
def multigrid(f, damping):
    def smooth(u, rhs, h, sweeps):
        for _ in range(sweeps):
            u[1:-1] += damping * 0.5 * (u[2:] + u[:-2] - 2 * u[1:-1] + h * h * rhs[1:-1])

    def cycle(u, rhs, h):
        if len(u) <= 3:
            u[1] = 0.5 * h * h * rhs[1]
            return u
        smooth(u, rhs, h, 2)
        residual = np.zeros_like(u)
        residual[1:-1] = rhs[1:-1] + (u[2:] - 2 * u[1:-1] + u[:-2]) / h**2
        coarse = cycle(np.zeros(len(u) // 2 + 1), residual[::2].copy(), 2 * h)
        u[::2] += coarse
        u[1::2] += 0.5 * (coarse[:-1] + coarse[1:])
        smooth(u, rhs, h, 2)
        return u

    return cycle(np.zeros_like(f), f, 1 / 8)


@example(np.array([0.5, -1.2, 2.4, 0.1, -0.3]), 1.5)
def masks_in_place(x, cap):
    y = x * 2
    negative = y < 0
    y[negative] *= -0.1
    y[y > cap] += cap - y[y > cap]
    rows = np.tile(y, (3, 1))
    rows[1, ::2] = cap * x[::2]
    rows[rows.sum(axis=1) > 2.5] /= 2
    np.clip(rows, -1, cap, out=rows)
    np.minimum(rows, x, where=rows > 1, out=rows)
    return rows


@example(
    np.random.default_rng(8).normal(size=(4, 4)),
    np.random.default_rng(9).normal(size=(4, 4)),
    twice=True,
)
def strassen(a, b):
    def product(x, y):
        n = len(x)
        if n == 1:
            return x * y
        k = n // 2
        p, q, r, s = x[:k, :k], x[:k, k:], x[k:, :k], x[k:, k:]
        e, f, g, h = y[:k, :k], y[:k, k:], y[k:, :k], y[k:, k:]
        m1, m2 = product(p + s, e + h), product(r + s, e)
        m3, m4 = product(p, f - h), product(s, g - e)
        m5, m6, m7 = product(p + q, h), product(r - p, e + f), product(q - s, g + h)
        out = np.empty((n, n))
        out[:k, :k] = m1 + m4 - m5 + m7
        out[:k, k:] = m3 + m5
        out[k:, :k] = m2 + m4
        out[k:, k:] = m1 - m2 + m3 + m6
        return out

    return product(a, b)
