"""Small models as they are written in notebooks: with classes, closures, questions and state."""

from __future__ import annotations

import math

import numpy as np

from tests.capture.battery.registry import fresh, program

ROW = np.array([0.7, 1.3])


@program(2.0)
def newton_with_a_derivative(a):
    x = 1.0
    for _ in range(50):
        step = (x**3 - a) / (3 * x**2)
        x -= step
        if abs(step) < 1e-15:
            break
    return x


@program(2.0)
def bisection_to_the_last_bit(a):
    low, high = 0.0, 3.0
    while high - low > 1e-15 * high:
        middle = 0.5 * (low + high)
        if middle == low or middle == high:
            break
        if middle**3 < a:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@program(2.0)
def the_secant_method(a):
    x0, x1 = 1.0, 2.0
    for _ in range(40):
        f0, f1 = x0**2 - a, x1**2 - a
        if f1 == f0:
            break
        x0, x1 = x1, x1 - f1 * (x1 - x0) / (f1 - f0)
    return x1


@program(0.7, smooth=1)  # the place is found by questions
def golden_section_search(a):
    ratio = (math.sqrt(5) - 1) / 2
    low, high = -1.0, 3.0
    for _ in range(40):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if (left - a) ** 2 < (right - a) ** 2:
            high = right
        else:
            low = left
    return (0.5 * (low + high) - a) ** 2 + a**2


@program(0.7)
def runge_kutta(k):
    def rhs(t, y):
        return np.array([y[1], -k * y[0] - 0.1 * y[1] + np.sin(t)])

    y, t, h = np.array([1.0, 0.0]), 0.0, 0.05
    for _ in range(8):
        k1 = rhs(t, y)
        k2 = rhs(t + h / 2, y + h / 2 * k1)
        k3 = rhs(t + h / 2, y + h / 2 * k2)
        k4 = rhs(t + h, y + h * k3)
        y, t = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), t + h
    return y[0]


@program(0.7)
def adaptive_steps(k):
    y, t, h = 1.0, 0.0, 0.1
    while t < 1.0 - 1e-12:
        h = min(h, 1.0 - t)
        full = y + h * (-k * y)
        half = y + h / 2 * (-k * y)
        half = half + h / 2 * (-k * half)
        if abs(full - half) > 1e-3:
            h = h / 2
            continue
        y, t = 2 * half - full, t + h
        if abs(full - half) < 2.5e-4:
            h = h * 1.5
    return y


@program(np.array([0.5, 0.1]))
def crank_nicolson(x):
    n = 12
    u = np.sin(np.pi * np.linspace(0, 1, n)) * x[0]
    r = x[1]
    left = np.eye(n) * (1 + 2 * r) - r * (np.eye(n, k=1) + np.eye(n, k=-1))
    right = np.eye(n) * (1 - 2 * r) + r * (np.eye(n, k=1) + np.eye(n, k=-1))
    for _ in range(5):
        u = np.linalg.solve(left, right @ u)
    return np.sum(u**2)


@program(np.array([2.0, -1.0, 3.0, 0.5]))
def the_thomas_algorithm(d):
    n = len(d)
    a, b, c = -np.ones(n), 4 * np.ones(n), -np.ones(n)
    for k in range(1, n):
        w = a[k] / b[k - 1]
        b[k] -= w * c[k - 1]
        d[k] -= w * d[k - 1]
    x = np.zeros(n)
    x[-1] = d[-1] / b[-1]
    for k in range(n - 2, -1, -1):
        x[k] = (d[k] - c[k] * x[k + 1]) / b[k]
    return np.sum(x**2)


@program(np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]]))
def gaussian_elimination_with_pivots(a):
    a = np.array(a)
    sign, n = 1.0, len(a)
    for k in range(n):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            a[[k, p]] = a[[p, k]]
            sign = -sign
        for i in range(k + 1, n):
            a[i, k:] -= a[i, k] / a[k, k] * a[k, k:]
    return sign * np.prod(np.diag(a))


@program(np.array([[4.0, 1.0], [1.0, 3.0]]))
def cholesky_by_hand(a):
    n = len(a)
    factor = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j] - factor[i, :j] @ factor[j, :j]
            factor[i, j] = math.sqrt(s) if i == j else s / factor[j, j]
    return 2 * sum(math.log(factor[k, k]) for k in range(n))


@program(np.array([[4.0, 1.0], [1.0, 3.0]]))
def the_power_method(a):
    v = np.ones(2)
    for _ in range(40):
        v = a @ v
        v = v / np.linalg.norm(v)
    return v @ a @ v


@program(np.array([[4.0, 1.0], [1.0, 3.0]]), smooth=1)
def the_qr_algorithm(a):
    for _ in range(30):
        q, r = np.linalg.qr(a)
        a = r @ q
    return a[0, 0] * 2 + a[1, 1]


@program(np.array([1.0, 2.0, 0.5]))
def conjugate_gradients(b):
    a = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
    x = np.zeros(3)
    r = b - a @ x
    p = r.copy()
    for _ in range(3):
        step = (r @ r) / (p @ a @ p)
        x = x + step * p
        new = r - step * (a @ p)
        p = new + (new @ new) / (r @ r) * p
        r = new
    return np.sum(x**2)


@program(np.array([0.1, 0.5, 1.2, 0.9, 1.4, 2.0]))
def a_kalman_filter(z):
    x, p, q, r = np.zeros(2), np.eye(2), 0.01 * np.eye(2), 0.1
    f, h = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([1.0, 0.0])
    loglik = 0.0
    for value in z:
        x, p = f @ x, f @ p @ f.T + q
        s = h @ p @ h + r
        gain = p @ h / s
        residual = value - h @ x
        loglik -= 0.5 * (math.log(2 * math.pi * s) + residual**2 / s)
        x, p = x + gain * residual, p - np.outer(gain, h @ p)
    return loglik


@program(np.array([[0.3, -0.2], [0.1, 0.4]]))
def forward_algorithm(weights):
    transition = np.exp(weights) / np.exp(weights).sum(axis=1, keepdims=True)
    emission = np.array([[0.9, 0.1], [0.2, 0.8]])
    alpha, loglik = np.array([0.6, 0.4]), 0.0
    for symbol in "0110100":
        alpha = alpha * emission[:, int(symbol)]
        scale = alpha.sum()
        loglik += np.log(scale)
        alpha = (alpha / scale) @ transition
    return loglik


@program(np.array([[0.3, -0.2], [0.13, 0.47]]), smooth=1)
def viterbi(weights):
    score, back = np.zeros(2), []
    for symbol in [0, 1, 1, 0]:
        candidates = score[:, None] + weights + 0.3 * np.eye(2)[symbol]
        back.append(np.argmax(candidates, axis=0))
        score = np.max(candidates, axis=0)
    path = [int(np.argmax(score))]
    for pointers in reversed(back):
        path.append(int(pointers[path[-1]]))
    return score[path[0]] * (1 + sum(path))


@program(np.array([0.1, 0.2, 2.1, 2.2, 2.0, 0.0]))
def k_means(x):
    centers = np.array([0.0, 2.0])
    for _ in range(3):
        labels = np.argmin(np.abs(x[:, None] - centers), axis=1)
        centers = np.array([x[labels == k].mean() for k in range(2)])
    return np.sum((x - centers[labels]) ** 2)


@program(np.array([0.1, -0.2, 0.15, -0.1, 0.3]), np.array([0.05, 0.1, 0.8]), smooth=1)
def garch(returns, parameters):
    omega, alpha, beta = parameters
    variance, loglik = np.var(returns), 0.0
    for r in returns:
        loglik -= 0.5 * (np.log(variance) + r**2 / variance)
        variance = omega + alpha * r**2 + beta * variance
    return loglik


@program(np.array([[0.0, 0.0], [1.0, 0.2], [0.3, 1.1]]))
def three_bodies(x):
    def forces(x):
        f = np.zeros_like(x)
        for i in range(3):
            for j in range(3):
                if i != j:
                    d = x[j] - x[i]
                    f[i] += d / (d @ d + 0.1) ** 1.5
        return f

    v = np.zeros_like(x)
    for _ in range(5):
        v += 0.05 * forces(x)
        x = x + 0.05 * v
    return 0.5 * np.sum(v**2) + np.sum(x[0] ** 2)


@fresh(0.7)
def an_ising_model():
    generator = np.random.default_rng(0)

    def f(coupling):
        spins = generator.choice([-1, 1], size=(4, 4))
        energy = -coupling * np.sum(spins * (np.roll(spins, 1, 0) + np.roll(spins, 1, 1)))
        return np.log1p(np.exp(-energy))

    return f, lambda: generator.bit_generator.state["state"]["state"]


@fresh(0.7)
def metropolis():
    generator = np.random.default_rng(1)

    def f(beta):
        x, total = 0.5, 0.0
        for _ in range(20):
            proposal = x + generator.normal() * 0.5
            if generator.random() < math.exp(min(0.0, -(proposal**2 - x**2))):
                x = proposal
            total = total + beta * x**2
        return total / 20

    return f


@program(np.array([0.0, 0.1, 1.0]))
def ray_tracing(direction):
    direction = direction / np.linalg.norm(direction)
    spheres = [(np.array([0.0, 0.0, 3.0]), 1.0), (np.array([1.0, 0.0, 5.0]), 2.0)]
    nearest, color = math.inf, 0.0
    for center, radius in spheres:
        b = direction @ center
        discriminant = b * b - center @ center + radius**2
        if discriminant < 0:
            continue
        t = b - math.sqrt(discriminant)
        if 0 < t < nearest:
            nearest = t
            normal = (t * direction - center) / radius
            color = max(0.1, normal @ np.array([0.0, 0.6, -0.8]))
    return color + 0.1 * nearest


@program(np.array([0.5, 0.2, 0.3]))
def a_markov_chain(p):
    p = p / np.sum(p)
    matrix = np.array([np.roll(p, k) * 0.5 + 0.5 / 3 for k in range(3)])
    state = np.array([1.0, 0.0, 0.0])
    for _ in range(10):
        state = state @ matrix
    return state[0] * 2 + state @ matrix @ np.arange(3)


@program(np.array([1.0, 0.5, 0.3]))
def a_fourier_filter(x):
    t = np.linspace(0, 1, 32, endpoint=False)
    signal = sum(a * np.sin(2 * np.pi * (k + 1) * t) for k, a in enumerate(x))
    spectrum = np.fft.rfft(signal)
    spectrum[np.abs(np.fft.rfftfreq(32, 1 / 32)) > 2] = 0
    return np.sum(np.fft.irfft(spectrum) ** 2)


@program(np.array([0.0, 0.8, 0.9, 0.1]))
def linear_interpolation_by_hand(y):
    places = [0.0, 1.0, 2.5, 3.0]
    total = 0.0
    for p in (0.3, 1.7, 2.9):
        for k in range(3):
            if places[k] <= p <= places[k + 1]:
                w = (p - places[k]) / (places[k + 1] - places[k])
                total = total + (1 - w) * y[k] + w * y[k + 1]
    return total**2


@program(np.array([0.0, 0.8, 0.9, 0.1]))
def divided_differences(y):
    x = np.array([0.0, 1.0, 2.5, 3.0])
    c = y.copy()
    for k in range(1, 4):
        c[k:] = (c[k:] - c[k - 1 : -1]) / (x[k:] - x[:-k])
    value = c[-1]
    for k in range(2, -1, -1):
        value = value * (1.7 - x[k]) + c[k]
    return value


@program(0.7)
def adaptive_simpson(a):
    def f(t):
        return np.exp(-a * t**2)

    def integrate(lo, hi, whole, depth):
        middle = (lo + hi) / 2
        left = (middle - lo) / 6 * (f(lo) + 4 * f((lo + middle) / 2) + f(middle))
        right = (hi - middle) / 6 * (f(middle) + 4 * f((middle + hi) / 2) + f(hi))
        if depth > 8 or abs(left + right - whole) < 1e-6:
            return left + right
        return integrate(lo, middle, left, depth + 1) + integrate(middle, hi, right, depth + 1)

    return integrate(0.0, 2.0, 2.0 / 6 * (f(0.0) + 4 * f(1.0) + f(2.0)), 0)


@program(0.7)
def gauss_legendre(a):
    nodes, weights = np.polynomial.legendre.leggauss(8)
    return sum(w * math.exp(a * t) for t, w in zip(nodes, weights, strict=True))


@program(0.7)
def romberg(a):
    rows = [[0.5 * (1.0 + math.exp(a))]]
    for k in range(1, 6):
        h = 1 / 2**k
        extra = sum(math.exp(a * (2 * j - 1) * h) for j in range(1, 2 ** (k - 1) + 1))
        row = [0.5 * rows[-1][0] + h * extra]
        for m in range(1, k + 1):
            row.append(row[-1] + (row[-1] - rows[-1][m - 1]) / (4**m - 1))
        rows.append(row)
    return rows[-1][-1]
