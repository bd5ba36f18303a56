"""Programs written with classes, dataclasses, generators and the rest of Python."""

# ruff: noqa: B024, B905, RUF005, SIM, UP
from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections import namedtuple
from dataclasses import dataclass, field

import numpy as np

from tests.capture.programs import example

logger = logging.getLogger(__name__)


class Dense:
    def __init__(self, weights, bias, activation):
        self.weights = weights
        self.bias = bias
        self.activation = activation

    def forward(self, inputs):
        out = np.zeros((inputs.shape[0], self.bias.shape[0]))
        for k in range(inputs.shape[0]):
            out[k] = inputs[k] @ self.weights + self.bias
        return self.activation(out)


def softplus(z):
    return np.log1p(np.exp(-np.abs(z))) + np.maximum(z, 0)


class Network:
    sizes = (2, 3, 1)

    def __init__(self, parameters):
        self.layers = []
        start = 0
        for n_in, n_out in zip(self.sizes[:-1], self.sizes[1:]):
            w = parameters[start : start + n_in * n_out].reshape(n_in, n_out)
            start += n_in * n_out
            b = parameters[start : start + n_out]
            start += n_out
            last = len(self.layers) == len(self.sizes) - 2
            self.layers.append(Dense(w, b, (lambda z: z) if last else np.tanh))

    def __call__(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return x

    def loss(self, x, y):
        residual = self(x)[:, 0] - y
        return np.mean(residual**2)


@example(np.linspace(-1, 1, 13), twice=True)
def network_with_layers(parameters):
    x = np.array([[0.1, 0.2], [0.5, -0.3], [-0.7, 0.9]])
    return Network(parameters).loss(x, np.array([1.0, 0.0, -1.0]))


class KalmanFilter:
    def __init__(self, q, r):
        self.n = 2
        self.F = np.array([[1.0, 0.1], [0.0, 1.0]])
        self.H = np.array([[1.0, 0.0]])
        self.Q = self.noise(q)
        self.R = r * np.eye(1)
        self.x = np.zeros(self.n)
        self.P = np.eye(self.n)
        self.log_likelihood = 0.0

    def noise(self, q):
        Q = np.zeros((self.n, self.n))
        Q[0, 0] = q * 0.1**3 / 3
        Q[0, 1] = Q[1, 0] = q * 0.1**2 / 2
        Q[1, 1] = q * 0.1
        return Q

    def predict(self):
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q

    def update(self, z):
        innovation = np.array([z]) - self.H @ self.x
        S = self.H @ self.P @ self.H.T + self.R
        K = self.P @ self.H.T @ np.linalg.inv(S)
        self.x = self.x + K @ innovation
        self.P = (np.eye(self.n) - K @ self.H) @ self.P
        _, logdet = np.linalg.slogdet(2 * np.pi * S)
        self.log_likelihood -= 0.5 * (logdet + innovation @ np.linalg.solve(S, innovation))


@example(0.5, 0.2, twice=True)
def kalman_class(q, r):
    kf = KalmanFilter(q, r)
    for z in [0.1, 0.15, 0.3, 0.32, 0.5]:
        kf.predict()
        kf.update(z)
    return kf.log_likelihood


@dataclass
class Body:
    mass: float
    position: np.ndarray
    velocity: np.ndarray
    force: np.ndarray = field(default_factory=lambda: np.zeros(2))

    @property
    def kinetic(self):
        return 0.5 * self.mass * np.dot(self.velocity, self.velocity)

    def kick(self, dt):
        self.velocity = self.velocity + dt * self.force / self.mass

    def drift(self, dt):
        self.position += dt * self.velocity


class System:
    G = 1.0

    def __init__(self, bodies):
        self.bodies = list(bodies)

    def forces(self):
        for body in self.bodies:
            body.force = np.zeros(2)
        for i, a in enumerate(self.bodies):
            for b in self.bodies[i + 1 :]:
                r = b.position - a.position
                f = self.G * a.mass * b.mass * r / (r @ r + 0.01) ** 1.5
                a.force += f
                b.force -= f

    def energy(self):
        kinetic = sum(body.kinetic for body in self.bodies)
        potential = 0.0
        for i, a in enumerate(self.bodies):
            for b in self.bodies[:i]:
                potential -= self.G * a.mass * b.mass / np.linalg.norm(a.position - b.position)
        return kinetic + potential

    def run(self, steps, dt):
        self.forces()
        for _ in range(steps):
            for body in self.bodies:
                body.kick(dt / 2)
                body.drift(dt)
            self.forces()
            for body in self.bodies:
                body.kick(dt / 2)


@example(np.array([1.0, 0.5]), np.array([0.1, 0.7]), twice=True)
def bodies_as_dataclasses(masses, speeds):
    bodies = [
        Body(m, np.array([float(k), 0.3]), np.array([0.0, v]))
        for k, (m, v) in enumerate(zip(masses, speeds))
    ]
    system = System(bodies)
    system.run(5, 0.02)
    return system.energy()


class Kernel(ABC):
    @abstractmethod
    def pair(self, a, b): ...

    def __call__(self, X, Y):
        K = np.empty((len(X), len(Y)))
        for i, a in enumerate(X):
            for j, b in enumerate(Y):
                K[i, j] = self.pair(a, b)
        return K

    def __add__(self, other):
        return SumKernel(self, other)

    def __rmul__(self, factor):
        return Scaled(factor, self)


class RBF(Kernel):
    def __init__(self, length):
        self.length = length

    def pair(self, a, b):
        return math.exp(-0.5 * ((a - b) / self.length) ** 2)


class Periodic(RBF):
    def __init__(self, length, period):
        super().__init__(length)
        self.period = period

    def pair(self, a, b):
        distance = 2 * math.sin(math.pi * abs(a - b) / self.period)
        return super().pair(distance, 0.0)


class SumKernel(Kernel):
    def __init__(self, *parts):
        self.parts = parts

    def pair(self, a, b):
        return sum(part.pair(a, b) for part in self.parts)


class Scaled(Kernel):
    def __init__(self, factor, kernel):
        self.factor, self.kernel = factor, kernel

    def pair(self, a, b):
        return self.factor * self.kernel.pair(a, b)


def chol_with_jitter(K):
    jitter = 0.0
    for attempt in range(6):
        try:
            return np.linalg.cholesky(K + jitter * np.eye(len(K)))
        except np.linalg.LinAlgError:
            jitter = 1e-6 if jitter == 0.0 else jitter * 10
            logger.debug("attempt %d failed, jitter is now %g", attempt, jitter)
    raise np.linalg.LinAlgError("not positive definite")


@example(np.array([0.6, 1.2, 0.8, 0.3]))
def gaussian_process_of_kernels(theta):
    X = np.linspace(0, 2, 6)
    X[3] = X[2]  # a repeated input: the first factorisation fails
    y = np.sin(3 * X)
    kernel = theta[0] * RBF(theta[1]) + theta[3] * Periodic(theta[2], 0.9)
    L = chol_with_jitter(kernel(X, X) - 1e-9 * np.eye(6))
    alpha = np.linalg.solve(L.T, np.linalg.solve(L, y))
    return -0.5 * y @ alpha - np.sum(np.log(np.diag(L))) - 3 * np.log(2 * np.pi)


State = namedtuple("State", "t x v")


def trajectory(k, c, dt):
    state = State(0.0, 1.0, 0.0)
    while True:
        yield state
        a = -k * state.x - c * state.v
        v = state.v + dt * a
        state = state._replace(t=state.t + dt, x=state.x + dt * v, v=v)


@example(2.0, 0.3, twice=True)
def spring_generator(k, c):
    peak = 0.0
    for state in trajectory(k, c, 0.05):
        if state.t > 2.0:
            break
        if abs(state.x) > peak and state.t > 0.5:
            peak = abs(state.x)
    return peak


class Stepper(ABC):
    order = 1

    def __init__(self, rhs, dt):
        self.rhs, self.dt, self.count = rhs, dt, 0

    def step(self, t, y):
        self.count += 1
        return y + self.dt * self.rhs(t, y)

    def integrate(self, y0, n):
        out = np.empty((n + 1,) + y0.shape)
        out[0] = y0
        for k in range(n):
            out[k + 1] = self.step(k * self.dt, out[k])
        return out


class Heun(Stepper):
    order = 2

    def step(self, t, y):
        guess = super().step(t, y)
        return y + 0.5 * self.dt * (self.rhs(t, y) + self.rhs(t + self.dt, guess))


class Kutta(Stepper):
    order = 4
    nodes = np.array([0.0, 0.5, 0.5, 1.0])
    weights = np.array([1, 2, 2, 1]) / 6

    def step(self, t, y):
        self.count += 1
        stages = np.zeros((4,) + y.shape)
        for i, c in enumerate(self.nodes):
            previous = stages[i - 1] if i else np.zeros_like(y)
            stages[i] = self.rhs(t + c * self.dt, y + c * self.dt * previous)
        return y + self.dt * self.weights @ stages


class VanDerPol:
    def __init__(self, mu):
        self.mu = mu

    def __call__(self, t, y):
        return np.array([y[1], self.mu * (1 - y[0] ** 2) * y[1] - y[0]])


@example(1.3, np.array([0.5, 0.0]), twice=True)
def polymorphic_integrators(mu, y0):
    oscillator = VanDerPol(mu)
    ends = [kind(oscillator, 0.1).integrate(y0, 8)[-1] for kind in (Stepper, Heun, Kutta)]
    return np.array(ends).std(axis=0)
