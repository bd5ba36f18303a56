"""More programs written with objects: engineering, graphics, biology, finance."""

# ruff: noqa: B007, B905, RUF012, SIM, UP
from __future__ import annotations

import bisect
import enum
import functools
import itertools
import math
import operator
from collections import Counter, deque
from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from tests.capture.programs import example


class Vector:
    __slots__ = ("x", "y", "z")

    def __init__(self, x, y, z):
        self.x, self.y, self.z = x, y, z

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other):
        return self + other * -1.0

    def __mul__(self, factor):
        return Vector(self.x * factor, self.y * factor, self.z * factor)

    def dot(self, other):
        return self.x * other.x + self.y * other.y + self.z * other.z

    def unit(self):
        return self * (1.0 / math.sqrt(self.dot(self)))


class Hit(NamedTuple):
    distance: float
    sphere: object


class Sphere:
    def __init__(self, centre, radius, albedo):
        self.centre, self.radius, self.albedo = centre, radius, albedo

    def hit(self, origin, direction):
        offset = origin - self.centre
        b = offset.dot(direction)
        discriminant = b * b - offset.dot(offset) + self.radius**2
        if discriminant < 0:
            return None
        distance = -b - math.sqrt(discriminant)
        return Hit(distance, self) if distance > 1e-6 else None


class Scene:
    def __init__(self, spheres, light):
        self.spheres, self.light = spheres, light.unit()

    def shade(self, origin, direction):
        hits = [hit for sphere in self.spheres if (hit := sphere.hit(origin, direction))]
        if not hits:
            return 0.1
        nearest = min(hits, key=lambda hit: hit.distance)
        point = origin + direction * nearest.distance
        normal = (point - nearest.sphere.centre).unit()
        return nearest.sphere.albedo * max(normal.dot(self.light), 0.0)

    def render(self, size):
        image = np.zeros((size, size))
        for row, column in itertools.product(range(size), repeat=2):
            x, y = (np.array([column, row]) + 0.5) / size - 0.5
            image[row, column] = self.shade(Vector(0.0, 0.0, -3.0), Vector(x, y, 1.0).unit())
        return image


@example(np.array([0.1, -0.2, 0.8]), 0.9)
def ray_tracer(light, radius):
    spheres = [
        Sphere(Vector(0.0, 0.0, 0.0), radius, 0.8),
        Sphere(Vector(0.3, 0.2, -0.9), 0.3, 0.5),
    ]
    return Scene(spheres, Vector(light[0], light[1], -light[2])).render(4)


class Quaternion:
    def __init__(self, w, x, y, z):
        self.q = np.array([w, x, y, z])

    @classmethod
    def of(cls, array):
        made = cls.__new__(cls)
        made.q = array
        return made

    def __mul__(self, other):
        a, b, c, d = self.q
        m = np.array([[a, -b, -c, -d], [b, a, -d, c], [c, d, a, -b], [d, -c, b, a]])
        return Quaternion.of(m @ other.q)

    def normalised(self):
        return Quaternion.of(self.q / np.sqrt((self.q**2).sum()))

    def matrix(self):
        w, x, y, z = self.q
        R = np.eye(3)
        R[0, 0] -= 2 * (y * y + z * z)
        R[1, 1] -= 2 * (x * x + z * z)
        R[2, 2] -= 2 * (x * x + y * y)
        R[0, 1], R[1, 0] = 2 * (x * y - w * z), 2 * (x * y + w * z)
        R[0, 2], R[2, 0] = 2 * (x * z + w * y), 2 * (x * z - w * y)
        R[1, 2], R[2, 1] = 2 * (y * z - w * x), 2 * (y * z + w * x)
        return R


@example(np.array([0.3, -0.5, 0.9]), twice=True)
def attitude_integration(omega):
    attitude = Quaternion(1.0, 0.0, 0.0, 0.0)
    for _ in range(5):
        rate = Quaternion(0.0, *omega)
        attitude = Quaternion.of(attitude.q + 0.05 * (attitude * rate).q).normalised()
    return attitude.matrix() @ np.array([0.0, 0.0, 1.0])


class Curve:
    def __init__(self, times, zeros):
        self.times, self.zeros = list(times), zeros

    def zero(self, t):
        k = bisect.bisect_right(self.times, t)
        if k == 0:
            return self.zeros[0]
        if k == len(self.times):
            return self.zeros[-1]
        t0, t1 = self.times[k - 1], self.times[k]
        weight = (t - t0) / (t1 - t0)
        return (1 - weight) * self.zeros[k - 1] + weight * self.zeros[k]

    def discount(self, t):
        return math.exp(-self.zero(t) * t)


@dataclass
class Bond:
    maturity: float
    coupon: float
    frequency: int = 2

    def cashflows(self):
        count = round(self.maturity * self.frequency)
        for k in range(1, count + 1):
            amount = self.coupon / self.frequency + (1.0 if k == count else 0.0)
            yield k / self.frequency, amount

    def price(self, curve):
        return sum(amount * curve.discount(t) for t, amount in self.cashflows())

    def yield_to_maturity(self, price, tolerance=1e-13):
        y = self.coupon
        for _ in range(50):
            value = slope = 0.0
            for t, amount in self.cashflows():
                value += amount * math.exp(-y * t)
                slope -= t * amount * math.exp(-y * t)
            step = (value - price) / slope
            y -= step
            if abs(step) < tolerance:
                break
        return y


@example(np.array([0.01, 0.015, 0.02, 0.03]), 0.025, twice=True)
def bond_book(zeros, coupon):
    curve = Curve([0.5, 1, 2, 5], zeros)
    book = {f"{m}y": Bond(m, coupon) for m in (1, 3, 4)}
    prices = {name: bond.price(curve) for name, bond in book.items()}
    yields = [book[name].yield_to_maturity(price) for name, price in prices.items()]
    return sum(prices.values()) + max(yields)


class HiddenMarkov:
    def __init__(self, logits, means, sigma=0.7):
        self.log_transition = logits - self.logsumexp(logits, axis=1)[:, None]
        self.means = means
        self.sigma = sigma
        self.k = len(means)

    def logsumexp(self, a, axis=None):
        top = np.max(a, axis=axis, keepdims=True)
        total = np.log(np.sum(np.exp(a - top), axis=axis, keepdims=True)) + top
        return np.squeeze(total, axis=axis)

    def emission(self, x):
        z = (x - self.means) / self.sigma
        return -0.5 * z**2 - math.log(self.sigma * math.sqrt(2 * math.pi))

    def forward(self, observations):
        alpha = np.full((len(observations), self.k), -np.inf)
        alpha[0] = self.emission(observations[0]) - np.log(self.k)
        for t in range(1, len(observations)):
            for j in range(self.k):
                incoming = alpha[t - 1] + self.log_transition[:, j]
                alpha[t, j] = self.logsumexp(incoming) + self.emission(observations[t])[j]
        return self.logsumexp(alpha[-1])


@example(np.array([[0.5, -0.2], [0.1, 0.8]]), np.array([-1.0, 1.2]), twice=True)
def hidden_markov_class(logits, means):
    return HiddenMarkov(logits, means).forward([0.2, -0.9, 1.1, 1.4, -0.6])


class Boundary(enum.Enum):
    FIXED = "fixed"
    INSULATED = "insulated"
    PERIODIC = "periodic"


class HeatSolver:
    def __init__(self, n, diffusivity, boundary, source=None):
        self.dx = 1.0 / (n - 1)
        self.dt = 0.2 * self.dx**2
        self.kappa = diffusivity
        self.boundary = boundary
        self.source = source or (lambda x, t: np.zeros_like(x))
        self.x = np.linspace(0, 1, n)
        self.u = np.zeros(n)
        self.t = 0.0

    def initialise(self, function):
        for k, x in enumerate(self.x):
            self.u[k] = function(x)

    def apply_boundary(self):
        if self.boundary is Boundary.FIXED:
            self.u[0] = self.u[-1] = 0.0
        elif self.boundary is Boundary.INSULATED:
            self.u[0], self.u[-1] = self.u[1], self.u[-2]
        else:
            self.u[0] = self.u[-2]
            self.u[-1] = self.u[1]

    def step(self):
        laplacian = np.zeros_like(self.u)
        laplacian[1:-1] = (self.u[2:] - 2 * self.u[1:-1] + self.u[:-2]) / self.dx**2
        self.u += self.dt * (self.kappa * laplacian + self.source(self.x, self.t))
        self.apply_boundary()
        self.t += self.dt

    def run(self, steps):
        for _ in range(steps):
            self.step()
        return self.u


@example(0.7, 1.5, twice=True)
def heat_solver_class(kappa, width):
    total = 0.0
    for boundary in Boundary:
        solver = HeatSolver(9, kappa, boundary, source=lambda x, t: width * np.sin(x + t))
        solver.initialise(lambda x: math.exp(-((x - 0.5) ** 2) * width * 10))
        total = total + np.trapezoid(solver.run(6) ** 2, solver.x)
    return total


class Reservoir:
    def __init__(self, leak, radius, size=5):
        rng = np.random.default_rng(7)
        self.leak = leak
        w = rng.normal(size=(size, size))
        self.w = w * (radius / np.max(np.abs(np.linalg.eigvals(w))))
        self.w_in = rng.uniform(-1, 1, size=(size, 2))
        self.state = np.zeros(size)

    def reset(self):
        self.state[:] = 0.0

    def feed(self, u):
        drive = self.w_in @ np.array([1.0, u]) + self.w @ self.state
        self.state *= 1 - self.leak
        self.state += self.leak * np.tanh(drive)
        return self.state.copy()

    def collect(self, inputs):
        self.reset()
        return np.vstack([self.feed(u) for u in inputs])


@example(0.4, 0.9, twice=True)
def echo_state(leak, radius):
    inputs = np.sin(np.arange(12) * 0.5)
    H = Reservoir(leak, radius).collect(inputs[:-1])[3:]
    target = inputs[4:]
    weights = np.linalg.solve(H.T @ H + 1e-2 * np.eye(5), H.T @ target)
    return np.mean((H @ weights - target) ** 2)


class Node:
    def __init__(self, name=None, children=(), length=0.0):
        self.name, self.children, self.length = name, list(children), length

    @property
    def is_leaf(self):
        return not self.children

    def partials(self, substitution, data):
        if self.is_leaf:
            vector = np.zeros(4)
            vector["ACGT".index(data[self.name])] = 1.0
            return vector
        result = np.ones(4)
        for child in self.children:
            result *= substitution(child.length) @ child.partials(substitution, data)
        return result

    def __iter__(self):
        yield self
        for child in self.children:
            yield from child


class JukesCantor:
    def __init__(self, rate):
        self.rate = rate

    def __call__(self, t):
        decay = math.exp(-4 / 3 * self.rate * t)
        P = np.full((4, 4), 0.25 * (1 - decay))
        P[np.diag_indices(4)] = 0.25 + 0.75 * decay
        return P


@example(np.array([0.1, 0.2, 0.15, 0.3]), 1.1, twice=True)
def phylogenetic_likelihood(lengths, rate):
    a, b, c, inner = lengths
    cherry = Node(children=[Node("human", length=a), Node("chimp", length=b)], length=inner)
    tree = Node(children=[cherry, Node("gorilla", length=c)])
    assert sum(node.is_leaf for node in tree) == 3
    sites = [("A", "A", "C"), ("G", "G", "G"), ("T", "C", "T")]
    log_likelihood = 0.0
    for site in sites:
        data = dict(zip(("human", "chimp", "gorilla"), site))
        log_likelihood += np.log(np.mean(tree.partials(JukesCantor(rate), data)))
    return log_likelihood


class PID:
    def __init__(self, kp, ki, kd, limits=(-2.0, 2.0)):
        self.gains = SimpleNamespace(p=kp, i=ki, d=kd)
        self.limits = limits
        self.integral = 0.0
        self.previous = None

    def __call__(self, error, dt):
        rate = 0.0 if self.previous is None else (error - self.previous) / dt
        self.previous = error
        raw = self.gains.p * error + self.gains.i * self.integral + self.gains.d * rate
        command = min(max(raw, self.limits[0]), self.limits[1])
        if command == raw:  # anti-windup
            self.integral += error * dt
        return command


@example(np.array([4.0, 1.0, 0.3]))
def pid_control(gains):
    controller = PID(*gains)
    position = velocity = cost = 0.0
    for k in range(40):
        force = controller(1.0 - position, 0.05)
        velocity += 0.05 * (force - 0.5 * velocity)
        position += 0.05 * velocity
        cost += abs(1.0 - position) * 0.05 + 0.01 * force**2
    return cost


class Compartments:
    doses = {0: 100.0, 4: 50.0, 8: 50.0}

    def __init__(self, ka, ke, volume):
        self.ka, self.ke, self.volume = ka, ke, volume
        self.amounts = {"gut": 0.0, "blood": 0.0}

    def advance(self, dt):
        absorbed = self.ka * self.amounts["gut"]
        self.amounts["gut"] -= dt * absorbed
        self.amounts["blood"] += dt * (absorbed - self.ke * self.amounts["blood"])

    def concentrations(self, hours, substeps=4):
        for hour in range(hours):
            self.amounts["gut"] += self.doses.get(hour, 0.0)
            for _ in range(substeps):
                self.advance(1 / substeps)
            yield self.amounts["blood"] / self.volume


@example(0.9, 0.2, 12.0, twice=True)
def pharmacokinetics(ka, ke, volume):
    levels = list(Compartments(ka, ke, volume).concentrations(12))
    peak, trough = max(levels), min(levels[4:])
    return np.array([peak, trough, sum(levels) / len(levels), sorted(levels)[len(levels) // 2]])


class Buffered:
    def __init__(self, size):
        self.window = deque(maxlen=size)

    def push(self, value):
        self.window.append(value)
        return functools.reduce(operator.add, self.window) / len(self.window)


@example(np.array([0.3, 0.9, -0.2, 1.4, 0.8, 0.1]), 0.5, twice=True)
def moving_filters(signal, alpha):
    smooth, level, out = Buffered(3), None, []
    for sample in signal:
        level = sample if level is None else alpha * sample + (1 - alpha) * level
        out.append(smooth.push(level))
    return np.array(out) - np.fromiter(itertools.accumulate(signal), float)


@example(np.array([0.2, 0.5, 0.3]), twice=True)
def word_counts(probabilities):
    counts = Counter("abacabadacab")
    order = {letter: k for k, letter in enumerate("abc")}
    terms = [n * np.log(probabilities[order[w]]) for w, n in counts.items() if w in order]
    return sum(terms) - len(terms) * np.log(probabilities.sum())


@example(np.array([0.5, 1.5, 2.5]), twice=True)
def vectorised_python(x):
    @np.vectorize
    def response(u, gain=2.0):
        if u < 1.0:
            return u**2
        return gain * math.log(u) + 1.0

    rows = np.apply_along_axis(lambda row: row / np.sqrt(np.sum(row**2)), 1, np.outer(x, x + 1))
    return response(x) @ rows


@example(0.7, np.array([1.0, 2.0]), twice=True)
def keyword_heavy(rate, start, *, steps=4, **settings):
    def advance(y, *args, scale=1.0, **rest):
        first, *others = args
        return y + scale * first * np.array([y[1], -y[0]]) + sum(others) * 0.01

    options = {"scale": 0.5, "unused": None} | settings
    y, k = start, 0
    while (k := k + 1) <= steps:
        y = advance(y, rate, *range(k), **options)
    return {"end": y, "norm": np.hypot(*y)}["norm"]


class Checked:
    def __setattr__(self, name, value):
        if isinstance(value, (float, np.floating)) and not math.isfinite(value):
            raise ValueError(f"{name} is {value}")
        super().__setattr__(name, value)

    def __getattr__(self, name):
        if name.startswith("log_"):
            return math.log(getattr(self, name[4:]))
        raise AttributeError(name)


@example(1.3, 0.4, twice=True)
def checked_parameters(a, b):
    p = Checked()
    p.a = a
    p.b = b
    p.values = np.zeros(2)
    p.values[0] = p.log_a
    p.values[1] += p.log_b * p.a
    return p.values
