"""Programs from one field each, without classes: epidemiology to optics."""

# ruff: noqa: B007, B905, RUF059, SIM, UP
from __future__ import annotations

import cmath
import math
import random
from functools import reduce

import numpy as np
from numpy.linalg import norm

from tests.capture.programs import example


@example(0.4, 0.2, 0.1, twice=True)
def seir_with_lockdown(beta, sigma, gamma):
    def rhs(t, y):
        s, e, i, r = y
        contact = beta if t < 4 else 0.4 * beta
        infection = contact * s * i
        return np.array([-infection, infection - sigma * e, sigma * e - gamma * i, gamma * i])

    y, t, dt = np.array([0.99, 0.0, 0.01, 0.0]), 0.0, 1.0
    peak = y[2]
    while t < 8:
        k1 = rhs(t, y)
        k2 = rhs(t + dt / 2, y + dt / 2 * k1)
        k3 = rhs(t + dt / 2, y + dt / 2 * k2)
        k4 = rhs(t + dt, y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        peak = max(peak, y[2])
        t += dt
    return peak + y[3]


@example(100.0, 0.3, 0.05)
def american_put(spot, sigma, rate):
    n, strike, dt = 8, 105.0, 1 / 8
    up = math.exp(sigma * math.sqrt(dt))
    p = (math.exp(rate * dt) - 1 / up) / (up - 1 / up)
    discount = math.exp(-rate * dt)
    values = np.zeros(n + 1)
    for j in range(n + 1):
        values[j] = max(strike - spot * up ** (2 * j - n), 0.0)
    for step in range(n - 1, -1, -1):
        for j in range(step + 1):
            hold = discount * (p * values[j + 1] + (1 - p) * values[j])
            values[j] = max(hold, strike - spot * up ** (2 * j - step))
    return values[0]


@example(np.array([0.02, 0.1, 0.85]), twice=True)
def garch_loglikelihood(parameters):
    omega, alpha, beta = parameters
    returns = np.array([0.5, -1.2, 0.3, 0.8, -0.4, 1.6])
    variance = np.empty_like(returns)
    variance[0] = np.var(returns)
    for t in range(1, len(returns)):
        variance[t] = omega + alpha * returns[t - 1] ** 2 + beta * variance[t - 1]
    if np.any(variance <= 0):
        return -np.inf
    return -0.5 * np.sum(np.log(2 * np.pi * variance) + returns**2 / variance)


@example(0.04, 1.5, 0.3)
def heston_paths(v0, kappa, xi):
    rng = np.random.default_rng(42)
    paths, steps, dt, theta, rho = 6, 5, 0.1, 0.05, -0.6
    s, v = np.full(paths, 100.0), np.full(paths, v0)
    for _ in range(steps):
        z1 = rng.standard_normal(paths)
        z2 = rho * z1 + np.sqrt(1 - rho**2) * rng.standard_normal(paths)
        plus = np.maximum(v, 0.0)
        s *= np.exp(-0.5 * plus * dt + np.sqrt(plus * dt) * z1)
        v += kappa * (theta - plus) * dt + xi * np.sqrt(plus * dt) * z2
    payoff = np.maximum(s - 100.0, 0.0)
    return payoff.mean(), payoff.std(ddof=1) / math.sqrt(paths)


@example(np.array([0.7, 0.2]), np.array([0.8, 0.5]), twice=True)
def vincenty_distance(one, other):
    a, f = 6378137.0, 1 / 298.257223563
    b = (1 - f) * a
    (lat1, lon1), (lat2, lon2) = one, other
    u1, u2 = math.atan((1 - f) * math.tan(lat1)), math.atan((1 - f) * math.tan(lat2))
    L = lam = lon2 - lon1
    for _ in range(100):
        sin_sigma = math.sqrt(
            (math.cos(u2) * math.sin(lam)) ** 2
            + (math.cos(u1) * math.sin(u2) - math.sin(u1) * math.cos(u2) * math.cos(lam)) ** 2
        )
        if sin_sigma == 0:
            return 0.0
        cos_sigma = math.sin(u1) * math.sin(u2) + math.cos(u1) * math.cos(u2) * math.cos(lam)
        sigma = math.atan2(sin_sigma, cos_sigma)
        sin_alpha = math.cos(u1) * math.cos(u2) * math.sin(lam) / sin_sigma
        cos2_alpha = 1 - sin_alpha**2
        cos_2m = cos_sigma - 2 * math.sin(u1) * math.sin(u2) / cos2_alpha
        C = f / 16 * cos2_alpha * (4 + f * (4 - 3 * cos2_alpha))
        previous, inner = lam, cos_2m + C * cos_sigma * (2 * cos_2m**2 - 1)
        lam = L + (1 - C) * f * sin_alpha * (sigma + C * sin_sigma * inner)
        if abs(lam - previous) < 1e-15:
            break
    u_sq = cos2_alpha * (a**2 - b**2) / b**2
    A = 1 + u_sq / 16384 * (4096 + u_sq * (-768 + u_sq * (320 - 175 * u_sq)))
    B = u_sq / 1024 * (256 + u_sq * (-128 + u_sq * (74 - 47 * u_sq)))
    delta = B * sin_sigma * (cos_2m + B / 4 * cos_sigma * (2 * cos_2m**2 - 1))
    return b * A * (sigma - delta) / 1e6


@example(np.array([0.09, 0.06, 0.11]), 0.55, twice=True)
def thin_film_reflectance(thicknesses, wavelength):
    indices = [1.38, 2.1 + 0.01j, 1.46]
    matrix = np.eye(2, dtype=complex)
    for n, d in zip(indices, thicknesses):
        delta = 2 * np.pi * n * d / wavelength
        layer = np.array(
            [[np.cos(delta), 1j * np.sin(delta) / n], [1j * n * np.sin(delta), np.cos(delta)]]
        )
        matrix = matrix @ layer
    b, c = matrix @ np.array([1.0, 1.52])
    r = (b - c) / (b + c)
    return abs(r) ** 2


@example(0.3, 1.2, twice=True)
def gaussian_beam(focal, distance):
    def propagate(q, matrix):
        (a, b), (c, d) = matrix
        return (a * q + b) / (c * q + d)

    wavelength, waist = 1.064e-3, 0.5
    q = complex(0.0, math.pi * waist**2 / wavelength)
    elements = [((1, distance), (0, 1)), ((1, 0), (-1 / focal, 1)), ((1, 0.8 * focal), (0, 1))]
    q = reduce(propagate, elements, q)
    return cmath.sqrt(-wavelength / (math.pi * (1 / q).imag)).real


@example(np.array([[1.0, 0.1], [-0.2, 0.9]]), np.array([[0.0], [0.1]]), twice=True)
def linear_quadratic_regulator(A, B):
    Q, R = np.diag([1.0, 0.1]), np.array([[0.05]])
    P, gains = Q, []
    for _ in range(6):
        K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        P = Q + A.T @ P @ (A - B @ K)
        gains.insert(0, K)
    x, cost = np.array([1.0, 0.0]), 0.0
    for K in gains:
        u = -K @ x
        cost += x @ Q @ x + u @ R @ u
        x = A @ x + B @ u
    return cost


@example(np.array([[0.1, 0.2], [1.2, 0.1], [0.3, 1.3], [1.4, 1.5], [2.9, 2.8]]), twice=True)
def lennard_jones_with_cutoff(positions):
    cutoff, box = 1.6, 4.0
    n = len(positions)
    neighbours = [[] for _ in range(n)]
    for i in range(n - 1):
        for j in range(i + 1, n):
            d = positions[i] - positions[j]
            d -= box * np.round(d / box)
            if d @ d < cutoff**2:
                neighbours[i].append(j)
    forces, energy = np.zeros_like(positions), 0.0
    for i, others in enumerate(neighbours):
        for j in others:
            d = positions[i] - positions[j]
            d -= box * np.round(d / box)
            r2 = np.sum(d * d)
            inv6 = r2**-3
            energy += 4 * (inv6**2 - inv6)
            f = 24 * (2 * inv6**2 - inv6) / r2 * d
            forces[i] += f
            forces[j] -= f
    return energy, forces


@example(350.0, 1.2, twice=True)
def stirred_reactor(feed_temperature, residence):
    def residual(state):
        c, T = state
        rate = 7.2e10 * np.exp(-8750.0 / T) * c
        return np.array(
            [(1 - c) / residence - rate, (feed_temperature - T) / residence + 30 * rate - 2.0]
        )

    state = np.array([0.5, 360.0])
    for iteration in range(30):
        r = residual(state)
        if np.max(np.abs(r)) < 1e-12:
            break
        jacobian = np.zeros((2, 2))
        for k in range(2):
            shifted = state.copy()
            shifted[k] += 1e-6 * state[k]
            jacobian[:, k] = (residual(shifted) - r) / (1e-6 * state[k])
        state = state - np.linalg.solve(jacobian, r)
    return state


@example(0.35, 2.0, twice=True)
def transit_light_curve(eccentricity, period):
    flux = []
    for t in np.linspace(0.05, 0.6, 5):
        mean = 2 * math.pi * (t % period) / period
        E = mean
        while True:
            step = (E - eccentricity * math.sin(E) - mean) / (1 - eccentricity * math.cos(E))
            E -= step
            if abs(step) < 1e-14:
                break
        nu = 2 * math.atan2(
            math.sqrt(1 + eccentricity) * math.sin(E / 2),
            math.sqrt(1 - eccentricity) * math.cos(E / 2),
        )
        r = 1 - eccentricity * math.cos(E)
        flux.append(1 - 0.01 / (1 + math.exp(8 * (r * abs(math.sin(nu)) - 0.5))))
    return np.prod(flux)


@example(np.array([-0.5, 1.5]), np.array([0.6, 0.9]), 0.4, twice=True)
def mixture_by_em(means, sigmas, weight):
    x = np.array([-1.2, -0.4, 0.1, 1.1, 1.9, 2.3])
    weights = np.array([weight, 1 - weight])
    for _ in range(3):
        density = weights * np.exp(-0.5 * ((x[:, None] - means) / sigmas) ** 2) / sigmas
        r = density / density.sum(1, keepdims=True)
        total = r.sum(0)
        means = (r * x[:, None]).sum(0) / total
        sigmas = np.sqrt((r * (x[:, None] - means) ** 2).sum(0) / total)
        weights = total / len(x)
    return {"means": means, "sigmas": sigmas, "weights": weights}["sigmas"]


@example(np.array([[0.2, 0.1], [1.1, 0.9]]), 4.0, twice=True)
def soft_k_means(centres, stiffness):
    points = np.array([[0.0, 0.2], [0.1, -0.1], [1.0, 1.2], [1.3, 0.8], [0.6, 0.5]])
    for _ in range(3):
        d2 = np.array([[norm(p - c) ** 2 for c in centres] for p in points])
        a = np.exp(-stiffness * (d2 - d2.min(axis=1, keepdims=True)))
        a /= a.sum(axis=1)[:, np.newaxis]
        centres = np.stack([np.average(points, axis=0, weights=a[:, k]) for k in range(2)])
    return centres


@example(np.array([[0.0, 0.1], [0.3, 0.0], [0.1, 0.5], [0.6, 0.6]]), twice=True)
def stochastic_neighbours(y):
    x = np.array([0.0, 0.2, 1.0, 1.3])
    p = np.exp(-((x[:, None] - x[None]) ** 2))
    np.fill_diagonal(p, 0)
    p /= p.sum()
    q = 1 / (1 + ((y[:, None] - y[None]) ** 2).sum(-1))
    q[range(4), range(4)] = 0.0
    q = q / q.sum()
    off = ~np.eye(4, dtype=bool)
    return np.sum(p[off] * np.log(p[off] / q[off]))


@example(0.1, 0.9, twice=True)
def biquad_filter(frequency, quality):
    w = 2 * math.pi * frequency
    alpha = math.sin(w) / (2 * quality)
    b = [(1 - math.cos(w)) / 2, 1 - math.cos(w), (1 - math.cos(w)) / 2]
    a = [1 + alpha, -2 * math.cos(w), 1 - alpha]
    x = np.sign(np.sin(np.arange(16) * 0.9))
    y = np.zeros(len(x))
    for n in range(len(x)):
        y[n] = sum(b[k] * x[n - k] for k in range(3) if n >= k)
        y[n] -= sum(a[k] * y[n - k] for k in range(1, 3) if n >= k)
        y[n] /= a[0]
    return np.sqrt(np.mean(y**2))


@example(np.array([0.4, -0.9, 0.3, 0.8, -0.1, 0.6, 0.2, -0.7]), 0.1, twice=True)
def adaptive_filter(signal, rate):
    taps = np.zeros(3)
    errors = []
    for n in range(3, len(signal)):
        window = signal[n - 3 : n][::-1]
        e = signal[n] - taps.dot(window)
        taps += 2 * rate * e * window
        errors.append(e)
    return np.asarray(errors) @ np.asarray(errors), taps


@example(np.array([0.4, -0.9, 0.3, 0.8, -0.1, 0.6]), twice=True)
def burg_spectrum(x):
    f, b = x[1:], x[:-1]
    a = np.array([1.0])
    for _ in range(3):
        k = -2 * np.dot(f, b) / (np.dot(f, f) + np.dot(b, b))
        a = np.append(a, 0.0) + k * np.append(a, 0.0)[::-1]
        f, b = (f + k * b)[1:], (b + k * f)[:-1]
    z = np.exp(-1j * np.linspace(0.1, 3.0, 4))
    return 1 / np.abs(np.polyval(a[::-1], z)) ** 2


@example(0.3, 0.05, 20.0)
def bucket_hydrology(drainage, evaporation, capacity):
    rain = [0, 12, 30, 0, 0, 5, 18, 0]
    storage, flow = 8.0, []
    for p in rain:
        storage += p
        overflow = max(0.0, storage - capacity)
        storage -= overflow
        loss = min(storage, evaporation * storage + 0.5)
        storage -= loss
        base = drainage * storage
        storage -= base
        flow.append(base + overflow)
    observed = np.array([2, 3, 9, 4, 3, 3, 5, 4])
    flow = np.array(flow)
    return 1 - ((flow - observed) ** 2).sum() / ((observed - observed.mean()) ** 2).sum()


@example(np.array([1.0, 0.8, 1.2]), 2.0, twice=True)
def truss(areas, height):
    nodes = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.0]])
    nodes[2, 1] = height
    K = np.zeros((6, 6))
    for (i, j), area in zip([(0, 1), (1, 2), (0, 2)], areas):
        d = nodes[j] - nodes[i]
        length = np.sqrt(d @ d)
        c, s = d / length
        t = np.array([-c, -s, c, s])
        dofs = [2 * i, 2 * i + 1, 2 * j, 2 * j + 1]
        K[np.ix_(dofs, dofs)] += area / length * np.outer(t, t)
    free = [2, 4, 5]
    load = np.zeros(6)
    load[5] = -1.0
    u = np.zeros(6)
    u[free] = np.linalg.solve(K[np.ix_(free, free)], load[free])
    return load @ u


@example(np.array([0.3, -0.6, 0.8]), np.array([1.2, 0.7]), twice=True)
def inverse_kinematics(angles, goal):
    links = [1.0, 0.7, 0.4]

    def joints(q):
        position, heading, points = np.zeros(2), 0.0, [np.zeros(2)]
        for angle, link in zip(q, links):
            heading += angle
            position = position + link * np.array([math.cos(heading), math.sin(heading)])
            points.append(position)
        return points

    q = angles.copy()
    for _ in range(5):
        *points, tip = joints(q)
        J = np.empty((2, 3))
        for k, point in enumerate(points):
            dx, dy = tip - point
            J[:, k] = [-dy, dx]
        q += J.T @ np.linalg.solve(J @ J.T + 0.01 * np.eye(2), goal - tip)
    return q


@example(0.6, 0.02, twice=True)
def allele_frequencies(p, mutation):
    fitness = np.array([1.0, 0.95, 0.8])
    for generation in range(10):
        genotypes = np.array([p * p, 2 * p * (1 - p), (1 - p) ** 2])
        selected = genotypes * fitness / np.dot(genotypes, fitness)
        p = selected[0] + selected[1] / 2
        p = p * (1 - mutation) + (1 - p) * mutation / 10
    return p, 2 * p * (1 - p)


@example(np.array([0.5, 1.0]), np.array([0.3, 0.2]))
def reparametrised_variational(mean, log_scale):
    random.seed(1)
    noise = [[random.gauss(0, 1) for _ in mean] for _ in range(4)]
    total = 0.0
    for eps in noise:
        z = [m + math.exp(s) * e for m, s, e in zip(mean, log_scale, eps)]
        target = -0.5 * z[0] ** 2 - 0.5 * (z[1] - z[0] ** 2) ** 2
        total += target / len(noise)
    entropy = sum(log_scale) + len(mean) / 2 * (1 + math.log(2 * math.pi))
    return total + entropy


@example(np.array([0.1, 0.5, 0.8, 0.2, 0.9]), twice=True)
def entropy_regularised_transport(costs):
    a, b = np.full(5, 0.2), np.linspace(1, 2, 4) / 6
    C = (costs[:, None] - np.linspace(0, 1, 4)[None, :]) ** 2
    K = np.exp(-C / 0.1)
    u, v = np.ones(5), np.ones(4)
    for k in range(50):
        u = a / (K @ v)
        v = b / (K.T @ u)
        if k % 10 == 0 and np.allclose(u * (K @ v), a, atol=1e-3):
            break
    return np.sum(np.diag(u) @ K @ np.diag(v) * C)


@example(np.array([0.8, 1.1, 0.9, 1.3]), 0.95, twice=True)
def value_iteration(rewards, discount):
    P = np.array(
        [
            [[0.9, 0.1, 0, 0], [0, 0.8, 0.2, 0], [0, 0, 0.7, 0.3], [0.5, 0, 0, 0.5]],
            [[0.2, 0.8, 0, 0], [0.1, 0.1, 0.8, 0], [0, 0.4, 0, 0.6], [0, 0, 0, 1.0]],
        ]
    )
    V = np.zeros(4)
    for _ in range(12):
        Q = np.array([rewards + discount * P[a] @ V - 0.1 * a for a in range(2)])
        new = np.log(np.exp(5 * Q).sum(axis=0)) / 5
        if np.abs(new - V).max() < 1e-8:
            break
        V = new
    return V


@example(1.4, 0.3, twice=True)
def lyapunov_exponent(a, b):
    x, y = 0.1, 0.1
    v = np.array([1.0, 0.0])
    total = 0.0
    for n in range(12):
        J = np.array([[-2 * a * x, 1.0], [b, 0.0]])
        v = J @ v
        length = math.hypot(*v)
        total += math.log(length)
        v /= length
        x, y = 1 - a * x**2 + y, b * x
    return total / 12


@example(np.array([2.0, 3.0, 5.0]), twice=True)
def equilibrium_concentrations(constants):
    def balance(h):
        k1, k2, k3 = 10.0**-constants
        total = h**3 + k1 * h**2 + k1 * k2 * h + k1 * k2 * k3
        charge = (k1 * h**2 + 2 * k1 * k2 * h + 3 * k1 * k2 * k3) / total
        return h - 1e-14 / h - 0.01 * charge

    log_h = -2.5
    for _ in range(30):
        value = balance(10**log_h)
        slope = (balance(10 ** (log_h + 1e-5)) - balance(10 ** (log_h - 1e-5))) / 2e-5
        step = value / slope
        log_h = log_h - step
        if abs(step) < 1e-14:
            break
    return -log_h


@example(np.array([5.0, 1.2, 0.7]), twice=True)
def dispersion_curve(parameters):
    gap, hopping, onsite = parameters
    bands = []
    for k in np.linspace(0, np.pi, 4):
        H = np.array([[gap / 2, hopping * (1 + np.exp(-1j * k))], [0, onsite]])
        H[1, 0] = np.conj(H[0, 1])
        trace, det = np.trace(H).real, np.linalg.det(H).real
        bands.append((trace - np.sqrt(trace**2 - 4 * det)) / 2)
    return np.asarray(bands)


@example(0.02, 1.8, twice=True)
def seismic_travel_times(gradient, velocity):
    depths = np.linspace(0, 4, 9)
    layers = velocity + gradient * depths
    times = {}
    for p in (0.1, 0.2, 0.3):
        eta = np.sqrt(layers**-2.0 - p**2)
        times[p] = 2 * np.trapezoid(1 / (layers**2 * eta), depths)
    return [times[p] for p in sorted(times, reverse=True)]
