"""Programs that use much of Python: dispatch, matching, caches, managers, composition."""

# ruff: noqa: B905, RUF012, SIM, UP
from __future__ import annotations

import contextlib
import copy
import functools
import logging
import math
import numbers
from collections import defaultdict, namedtuple
from dataclasses import dataclass, replace

import numpy as np

from tests.capture.programs import example

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Circle:
    radius: float


@dataclass(frozen=True)
class Rectangle:
    width: float
    height: float


@functools.singledispatch
def second_moment(shape):
    raise TypeError(f"no second moment of {shape!r}")


@second_moment.register
def _(shape: Circle):
    return math.pi * shape.radius**4 / 4


@second_moment.register
def _(shape: Rectangle):
    return shape.width * shape.height**3 / 12


@example(0.2, 0.5, twice=True)
def beam_sections(radius, height):
    sections = [Circle(radius), Rectangle(0.1, height), replace(Rectangle(0.2, height), height=1)]
    stiffness = sum(210.0 * second_moment(section) for section in sections)
    return 1.0 / stiffness


Sum = namedtuple("Sum", "left right")
Product = namedtuple("Product", "left right")
Call = namedtuple("Call", "name argument")
TABLE = {"sin": np.sin, "exp": math.exp, "sq": lambda u: u**2}


def evaluate(tree, scope):
    match tree:
        case int() | float():
            return tree
        case str(name):
            return scope[name]
        case Sum(left, right):
            return evaluate(left, scope) + evaluate(right, scope)
        case Product(left=a, right=b):
            return evaluate(a, scope) * evaluate(b, scope)
        case Call(name, argument):
            return TABLE[name](evaluate(argument, scope))
        case _:
            raise ValueError(f"cannot evaluate {tree}")


@example(0.4, 1.2, twice=True)
def expression_trees(x, y):
    tree = Sum(Product("x", Call("sin", "y")), Call("exp", Product(-0.5, Call("sq", Sum("x", 1)))))
    return evaluate(tree, {"x": x, "y": y})


@example(0.3, twice=True)
def memoised_legendre(x):
    @functools.cache
    def P(n):
        if n < 2:
            return [1.0, x][n]
        return ((2 * n - 1) * x * P(n - 1) - (n - 1) * P(n - 2)) / n

    return sum((2 * n + 1) / 2 * P(n) * 0.7**n for n in range(9))


@contextlib.contextmanager
def section(name, log):
    logger.debug(f"{name} begins")
    yield log[name]
    logger.debug(f"{name}: {log[name][-1]:.3f}")


@example(np.array([0.3, -0.8, 1.1]))
def managed_sections(x):
    log = defaultdict(list)
    total = 0.0
    with section("squares", log) as entries:
        for value in x:
            entries.append(value * value)
    with section("roots", log) as entries, np.errstate(invalid="ignore"):
        for value in x:
            entries.append(math.sqrt(abs(value)) if value > 0 else -math.sqrt(-value))
    for name, entries in sorted(log.items()):
        total += sum(entries) * len(name)
    assert total > 0, f"no total: {total!r}"
    return total


ACTIVATIONS = {
    "tanh": np.tanh,
    "relu": lambda z: np.maximum(z, 0),
    "swish": lambda z: z / (1 + np.exp(-z)),
    "leaky": functools.partial(lambda slope, z: np.where(z > 0, z, slope * z), 0.01),
}


@example(np.array([[0.3, -0.8], [1.1, 0.4]]), np.array([0.7, -0.2]))
def activations_by_name(w, x):
    config = [
        {"type": "dense", "activation": name, "residual": name == "swish"} for name in ACTIVATIONS
    ]
    h = x
    for layer in config:
        z = ACTIVATIONS[layer["activation"]](w @ h + 0.1)
        h = h + z if layer["residual"] else z
    return h


class Momentum:
    def __init__(self, rate, decay=0.9, **options):
        self.rate = rate
        self.decay = decay
        self.state = {}
        self.options = options

    def step(self, parameters, gradients):
        for name, value in parameters.items():
            if name not in self.state:
                self.state[name] = np.zeros_like(value)
            self.state[name] = self.decay * self.state[name] - self.rate * gradients[name]
            parameters[name] = value + self.state[name]
            if clip := self.options.get("clip"):
                parameters[name] = np.clip(parameters[name], -clip, clip)


class LogisticRegression:
    def __init__(self, n_features, optimiser):
        self.parameters = {"w": np.zeros(n_features), "b": 0.0}
        self.optimiser = optimiser
        self.history = []

    def predict(self, X):
        return 1 / (1 + np.exp(-(X @ self.parameters["w"] + self.parameters["b"])))

    def batches(self, X, y, size):
        order = np.random.default_rng(3).permutation(len(X))
        for start in range(0, len(X), size):
            chosen = order[start : start + size]
            yield X[chosen], y[chosen]

    def fit(self, X, y, epochs):
        for _ in range(epochs):
            for xs, ys in self.batches(X, y, 3):
                error = self.predict(xs) - ys
                gradients = {"w": xs.T @ error / len(xs), "b": error.mean()}
                self.optimiser.step(self.parameters, gradients)
            self.history.append(self.loss(X, y))
        return self

    def loss(self, X, y):
        p = self.predict(X)
        return -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))


@example(0.3, 0.8, twice=True)
def minibatch_training(rate, decay):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 2))
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(float)
    model = LogisticRegression(2, Momentum(rate, decay=decay, clip=5.0)).fit(X, y, epochs=2)
    return min(model.history)


class Circuit:
    PAULI = {"x": np.array([[0, 1], [1, 0]]), "z": np.array([[1, 0], [0, -1]])}

    def __init__(self, n):
        self.n = n
        self.state = np.zeros(2**n, dtype=complex)
        self.state[0] = 1.0

    def gate(self, matrix, qubit):
        full = np.ones((1, 1))
        for k in range(self.n):
            full = np.kron(full, matrix if k == qubit else np.eye(2))
        self.state = full @ self.state
        return self

    def rx(self, angle, qubit):
        c, s = np.cos(angle / 2), np.sin(angle / 2)
        return self.gate(np.array([[c, -1j * s], [-1j * s, c]]), qubit)

    def cnot(self, control, target):
        amplitudes = self.state.reshape((2,) * self.n).copy()
        index = [slice(None)] * self.n
        index[control] = 1
        axis = target - 1 if target > control else target
        amplitudes[tuple(index)] = np.flip(amplitudes[tuple(index)], axis=axis)
        self.state = amplitudes.ravel()
        return self

    def expectation(self, pauli, qubit):
        other = copy.deepcopy(self).gate(self.PAULI[pauli], qubit)
        return np.real(np.vdot(self.state, other.state))


@example(np.array([0.3, 0.9, -0.4]), twice=True)
def quantum_circuit_class(angles):
    circuit = Circuit(2)
    for k, angle in enumerate(angles):
        circuit.rx(angle, k % 2).cnot(k % 2, (k + 1) % 2)
    return circuit.expectation("z", 0) + 0.5 * circuit.expectation("x", 1)


def compose(*functions):
    return functools.reduce(lambda f, g: lambda *a, **k: g(f(*a, **k)), functions)


def scale(x, *, by=1.0):
    return x * by


@example(np.array([0.2, 1.4, -0.6]), 1.7, twice=True)
def composed_pipeline(x, factor):
    steps = [functools.partial(scale, by=factor), np.sin, lambda v: v - v.mean()]
    pipeline = compose(*steps, *map(lambda p: lambda v: v**p, (2, 3)))
    return functools.reduce(lambda a, b: a + b, pipeline(x), 0.0)


class Contract:
    def __init__(self, spot, strike, rate, sigma, maturity):
        self.spot, self.strike, self.rate = spot, strike, rate
        self.sigma, self.maturity = sigma, maturity

    @staticmethod
    def normal(z):
        return 0.5 * (1 + math.erf(z / math.sqrt(2)))

    @property
    def d1(self):
        drift = (self.rate + 0.5 * self.sigma**2) * self.maturity
        return (math.log(self.spot / self.strike) + drift) / (self.sigma * math.sqrt(self.maturity))

    @property
    def d2(self):
        return self.d1 - self.sigma * math.sqrt(self.maturity)

    @functools.cached_property
    def discount(self):
        return math.exp(-self.rate * self.maturity)

    @classmethod
    def at_the_money(cls, spot, **others):
        return cls(spot, spot, **others)


class EuropeanCall(Contract):
    def price(self):
        first = self.spot * self.normal(self.d1)
        return first - self.strike * self.discount * self.normal(self.d2)


class EuropeanPut(EuropeanCall):
    def price(self):
        return super().price() - self.spot + self.strike * self.discount


@example(100.0, 0.25, 0.03, twice=True)
def option_classes(spot, sigma, rate):
    terms = {"rate": rate, "sigma": sigma, "maturity": 0.5}
    book = [EuropeanCall(spot, 95.0, **terms), EuropeanPut.at_the_money(spot, **terms)]
    return np.array([contract.price() for contract in book])


class Polynomial:
    def __init__(self, coefficients):
        self.coefficients = list(coefficients)

    def __call__(self, x):
        result = 0.0
        for c in reversed(self.coefficients):
            result = result * x + c
        return result

    def __len__(self):
        return len(self.coefficients)

    def __iter__(self):
        return iter(self.coefficients)

    def __getitem__(self, k):
        return self.coefficients[k]

    def __add__(self, other):
        if isinstance(other, numbers.Number):
            other = Polynomial([other])
        n = max(len(self), len(other))
        padded = [list(p) + [0.0] * (n - len(p)) for p in (self, other)]
        return Polynomial([a + b for a, b in zip(*padded)])

    __radd__ = __add__

    def __mul__(self, other):
        product = np.zeros(len(self) + len(other) - 1)
        for i, a in enumerate(self):
            for j, b in enumerate(other):
                product[i + j] += a * b
        return Polynomial(product)

    def derivative(self):
        return Polynomial([k * c for k, c in enumerate(self)][1:])

    def __repr__(self):
        return " + ".join(f"{c:.2f} x^{k}" for k, c in enumerate(self))


@example(np.array([0.5, -1.0, 2.0]), 0.8, twice=True)
def polynomial_class(c, x):
    p = Polynomial(c)
    q = p * p + p.derivative() + 1.0
    assert "x^2" in repr(q)
    return q(x) + sum([p, q], Polynomial([0.0]))(0.5)
