"""Programs of physics, chemistry, biology and engineering, written without a thought for
differentiation."""

# ruff: noqa: B007, B905, E741, SIM, UP031
from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import special

from tests.capture.programs import example

G = 9.81


@example(0.4, 1.3)
def pendulum_euler(theta0, length):
    theta, omega, dt = theta0, 0.0, 0.01
    for _ in range(60):
        omega = omega - dt * G / length * math.sin(theta)
        theta = theta + dt * omega
    return theta


def derivative(state, t, damping):
    x, v = state
    return np.array([v, -x - damping * v + math.cos(t)])


def rk4_step(f, state, t, dt):
    k1 = f(state, t)
    k2 = f(state + 0.5 * dt * k1, t + 0.5 * dt)
    k3 = f(state + 0.5 * dt * k2, t + 0.5 * dt)
    k4 = f(state + dt * k3, t + dt)
    return state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@example(np.array([1.0, 0.2]), 0.1)
def driven_oscillator_rk4(initial, damping):
    states = np.empty((21, 2))
    states[0] = initial
    for n in range(20):
        states[n + 1] = rk4_step(partial(derivative, damping=damping), states[n], 0.05 * n, 0.05)
    return states


@example(np.array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]]), np.array([1.0, 2.0, 1.5]))
def n_body_leapfrog(positions, masses):
    def acceleration(x):
        a = np.zeros_like(x)
        for i in range(len(x)):
            for j in range(len(x)):
                if i != j:
                    r = x[j] - x[i]
                    a[i] += masses[j] * r / (np.dot(r, r) + 0.01) ** 1.5
        return a

    x, v = positions.copy(), np.zeros(positions.shape)
    v += 0.005 * acceleration(x)
    for _ in range(4):
        x += 0.01 * v
        v += 0.01 * acceleration(x)
    kinetic = 0.5 * np.sum(masses[:, None] * v**2)
    return kinetic


@example(np.array([[1.0, 0.0, 0.2], [-0.5, 0.8, 0.0], [-0.5, -0.8, 0.1]]))
def pairwise_energy(positions):
    differences = positions[:, None, :] - positions[None, :, :]
    squared = np.sum(differences**2, axis=-1)
    i, j = np.triu_indices(len(positions), k=1)
    inverse6 = 1.0 / squared[i, j] ** 3
    return np.sum(4 * (inverse6**2 - inverse6))


@example(0.7, 0.2)
def ising_mean_field(coupling, field):
    m = 0.5
    while True:
        new = np.tanh(4 * coupling * m + field)
        if abs(new - m) < 1e-10:
            break
        m = new
    return m


@example(np.sin(np.linspace(0, np.pi, 12)), 0.2)
def heat_equation(u, alpha):
    u = u.copy()
    for _ in range(10):
        u[1:-1] += alpha * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[0] = u[-1] = 0.0
    return u


@example(np.random.default_rng(3).normal(size=(6, 6)))
def laplace_jacobi(grid):
    grid = np.array(grid)
    for _ in range(5):
        grid[1:-1, 1:-1] = 0.25 * (
            grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:]
        )
    return grid.sum()


@example(np.linspace(1.0, 2.0, 10), 0.3)
def advection_upwind(u, courant):
    for _ in range(6):
        u_next = np.empty_like(u)
        u_next[0] = u[-1]
        for i in range(1, u.size):
            u_next[i] = u[i] - courant * (u[i] - u[i - 1])
        u = u_next
    return np.sum(u**2)


@example(np.array([1.0, 0.0, 0.0]), np.array([0.04, 3.0, 1.0]))
def robertson_kinetics(c0, k):
    c = c0
    history = [c]
    for _ in range(30):
        r1 = k[0] * c[0]
        r2 = k[1] * c[1] ** 2
        r3 = k[2] * c[1] * c[2]
        c = c + 0.01 * np.array([-r1 + r3, r1 - r2 - r3, r2])
        history.append(c)
    return np.stack(history)[:, 1].max()


@example(1.1, 0.4, 0.1, 0.4)
def lotka_volterra(alpha, beta, delta, gamma):
    n = 40
    prey, predators = np.zeros(n), np.zeros(n)
    prey[0], predators[0] = 10.0, 5.0
    for t in range(n - 1):
        prey[t + 1] = prey[t] + 0.02 * (alpha * prey[t] - beta * prey[t] * predators[t])
        predators[t + 1] = predators[t] + 0.02 * (
            delta * prey[t] * predators[t] - gamma * predators[t]
        )
    return np.mean(prey) + predators.std()


@example({"beta": 0.35, "gamma": 0.1}, np.array([0.99, 0.01, 0.0]))
def sir(rates, initial):
    S, I, R = initial
    infected = []
    for day in range(50):
        new = rates["beta"] * S * I
        recovered = rates["gamma"] * I
        S, I, R = S - new, I + new - recovered, R + recovered
        infected.append(I)
    return max(infected), sum(infected)


@example(np.array([0.3, -0.5, 0.8]), np.array([1.0, 0.7, 0.4]))
def arm_kinematics(angles, lengths):
    position, total = np.zeros(2), 0.0
    for angle, length in zip(angles, lengths):
        total += angle
        c, s = np.cos(total), np.sin(total)
        rotation = np.array([[c, -s], [s, c]])
        position = position + rotation @ np.array([length, 0.0])
    return position


def rotation_matrix(axis, angle):
    axis = axis / np.linalg.norm(axis)
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


@example(np.array([1.0, 2.0, -0.5]), 0.7, np.array([0.1, 0.2, 0.3]))
def rodrigues(axis, angle, point):
    return rotation_matrix(axis, angle) @ point


@example(np.array([0.5, 0.5, 0.1, 0.2]))
def quaternion_rotation(q):
    w, x, y, z = q / np.sqrt(np.sum(q**2))
    R = np.zeros((3, 3))
    R[0] = [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)]
    R[1] = [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)]
    R[2] = [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]
    return R @ [1.0, 2.0, 3.0]


@example(np.array([[0.2, 0.1], [1.4, -0.3]]), np.array([2.0, 3.0]))
def gravity_field(sources, masses):
    xs = np.linspace(-1, 1, 5)
    X, Y = np.meshgrid(xs, xs)
    potential = np.zeros_like(X)
    for (sx, sy), m in zip(sources, masses):
        potential -= m / np.sqrt((X - sx) ** 2 + (Y - sy) ** 2 + 0.1)
    return potential


@example(1.2, 0.8)
def damped_wave_energy(c, gamma):
    nx = 15
    x = np.linspace(0, 1, nx)
    u_old = np.exp(-100 * (x - 0.5) ** 2)
    u = u_old.copy()
    dt = 0.02
    for _ in range(12):
        lap = np.roll(u, 1) + np.roll(u, -1) - 2 * u
        u_new = 2 * u - u_old + (c * dt / (x[1] - x[0])) ** 2 * lap - gamma * dt * (u - u_old)
        u_old, u = u, u_new
    return 0.5 * np.sum((u - u_old) ** 2) / dt


@dataclass
class Lens:
    focal: float
    distance: float


@example(Lens(0.5, 1.3), 0.01)
def ray_transfer(lens, height):
    ray = np.array([height, 0.0])
    free = np.array([[1.0, lens.distance], [0.0, 1.0]])
    thin = np.array([[1.0, 0.0], [-1.0 / lens.focal, 1.0]])
    for matrix in [free, thin, free]:
        ray = matrix @ ray
    return ray


@example(np.array([0.2, 1.5]), 300.0)
def arrhenius_integral(parameters, temperature):
    A, E = np.exp(parameters[0]), parameters[1]
    T = np.linspace(temperature, temperature + 50, 30)
    rate = A * np.exp(-E * 1000 / (8.314 * T))
    return np.trapezoid(rate, T)


@example(0.6)
def kepler_newton(eccentricity):
    M = 1.2
    E = M
    err = 1.0
    iterations = 0
    while err > 1e-12 and iterations < 50:
        step = (E - eccentricity * math.sin(E) - M) / (1 - eccentricity * math.cos(E))
        E -= step
        err = abs(step)
        iterations += 1
    return E, 2 * math.atan(math.sqrt((1 + eccentricity) / (1 - eccentricity)) * math.tan(E / 2))


@example(np.array([0.3, 1.1]), 2.0)
def diffusion_profile(parameters, t):
    D, v = parameters
    x = np.linspace(0.1, 3, 8)
    return 0.5 * special.erfc((x - v * t) / (2 * np.sqrt(D * t)))


@example(np.random.default_rng(0).normal(size=8))
def discrete_fourier(signal):
    n = len(signal)
    spectrum = np.zeros(n, dtype=complex)
    for k in range(n):
        for t in range(n):
            spectrum[k] += signal[t] * np.exp(-2j * np.pi * k * t / n)
    return np.abs(spectrum) ** 2


@example(np.array([1.0, -0.3, 0.5]), np.array([0.2, 0.4]))
def fourier_series(a, b):
    x = np.linspace(0, 1, 7)
    y = a[0] / 2 * np.ones_like(x)
    for k in range(1, len(a)):
        y += a[k] * np.cos(2 * np.pi * k * x) + b[k - 1] * np.sin(2 * np.pi * k * x)
    return y


@example(np.array([2.0, 1.0, 0.5]), 0.8)
def circuit_response(components, frequency):
    R, L, C = components
    omega = 2 * np.pi * frequency
    impedance = R + 1j * omega * L + 1 / (1j * omega * C)
    gain = 1 / impedance
    return 20 * np.log10(np.abs(gain)), np.angle(gain)


@example(np.array([0.1, 0.3, -0.2, 0.4]))
def quantum_expectation(theta):
    state = np.zeros(4, dtype=complex)
    state[0] = 1.0
    X = np.array([[0, 1], [1, 0]], dtype=complex)
    for k, angle in enumerate(theta):
        gate = np.cos(angle) * np.eye(2) - 1j * np.sin(angle) * X
        whole = np.kron(gate, np.eye(2)) if k % 2 == 0 else np.kron(np.eye(2), gate)
        state = whole @ state
        state[3] *= -1
    Z = np.diag([1.0, 1.0, -1.0, -1.0])
    return np.real(np.vdot(state, Z @ state))


@example(np.array([1.0, 2.0, 3.0, 2.5, 1.5]))
def beam_deflection(loads):
    n = len(loads)
    shear = np.cumsum(loads[::-1])[::-1]
    moment = np.cumsum(shear) * 0.1
    slope = np.zeros(n + 1)
    deflection = np.zeros(n + 1)
    for i in range(n):
        slope[i + 1] = slope[i] + moment[i] * 0.1
        deflection[i + 1] = deflection[i] + slope[i + 1] * 0.1
    return deflection[-1]


@example(np.array([290.0, 0.7]))
def energy_balance(parameters):
    T, emissivity = parameters
    sigma = 5.67e-8
    for _ in range(30):
        albedo = 0.3 if T > 280 else 0.6
        T = T + 0.01 * (342 * (1 - albedo) - emissivity * sigma * T**4)
    return T


@example(
    np.random.default_rng(2).uniform(0.5, 1.5, (4, 5)),
    np.array([[0.0, 0.2, 0.0], [0.2, 0.2, 0.2], [0.0, 0.2, 0.0]]),
)
def image_filter(image, kernel):
    h, w = image.shape
    kh, kw = kernel.shape
    padded = np.pad(image, ((kh // 2, kh // 2), (kw // 2, kw // 2)))
    out = np.zeros_like(image)
    for di in range(kh):
        for dj in range(kw):
            out += kernel[di, dj] * padded[di : di + h, dj : dj + w]
    return out


@example(np.array([0.5, 1.5, 2.5, 1.0]))
def stiffness_assembly(k):
    n = len(k) + 1
    K = np.zeros((n, n))
    for e in range(len(k)):
        ke = k[e] * np.array([[1.0, -1.0], [-1.0, 1.0]])
        K[e : e + 2, e : e + 2] += ke
    u = np.arange(n) ** 2 / 10
    return 0.5 * u @ K @ u


@example(np.array([0.2, -0.1, 0.4]))
def molecule_dihedral(offset):
    p = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    p[3] += offset
    b0, b1, b2 = p[0] - p[1], p[2] - p[1], p[3] - p[2]
    b1 /= np.linalg.norm(b1)
    v = b0 - np.dot(b0, b1) * b1
    w = b2 - np.dot(b2, b1) * b1
    return np.degrees(np.arctan2(np.dot(np.cross(b1, v), w), np.dot(v, w)))
