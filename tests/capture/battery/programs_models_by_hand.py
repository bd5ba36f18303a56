"""Statistics, learning, finance and state machines as they are written in notebooks."""

from __future__ import annotations

import collections
import functools
import math

import numpy as np
import scipy.special

from tests.capture.battery.registry import fresh, program

ROW = np.array([0.7, 1.3])


@fresh(np.array([0.3, 0.8]))
def a_gaussian_process():
    generator = np.random.default_rng(2)
    places, values = np.linspace(0, 1, 6), generator.normal(size=6)

    def f(x):
        gram = np.exp(-((places[:, None] - places) ** 2) / (2 * x[0] ** 2)) + x[1] * np.eye(6)
        try:
            factor = np.linalg.cholesky(gram)
        except np.linalg.LinAlgError:
            return np.inf * x[0]
        half = np.linalg.solve(factor, values)
        return 0.5 * half @ half + np.sum(np.log(np.diag(factor)))

    return f


@fresh(np.array([0.1, -0.3, 0.2, 0.5]))
def a_neural_network_in_a_class():
    generator = np.random.default_rng(3)

    class Net:
        def __init__(self):
            self.data = generator.normal(size=(8, 2))
            self.target = np.sign(self.data[:, 0])
            self.losses = []

        def predict(self, w):
            hidden = np.maximum(self.data @ w.reshape(2, 2) + 0.3, 0)
            return np.tanh(hidden.sum(axis=1))

        def loss(self, w):
            value = np.mean((self.predict(w) - self.target) ** 2)
            self.losses.append(float(value))
            return value

    net = Net()
    return net.loss, lambda: net.losses


@program(np.array([0.5, -0.3, 0.2, 0.1]))
def a_recurrent_network(w):
    state, outputs = np.zeros(2), []
    for symbol in "abba":
        state = np.tanh(w.reshape(2, 2) @ state + np.eye(2)["ab".index(symbol)])
        outputs.append(state)
    return np.sum(np.stack(outputs)[1:] ** 2)


@program(np.arange(1.0, 7.0) / 5)
def matrix_factorisation(x):
    u, v = x[:3].reshape(3, 1), x[3:].reshape(1, 3)
    ratings = {(0, 0): 5.0, (1, 2): 3.0, (2, 1): 1.0}
    return sum((r - (u @ v)[i, j]) ** 2 for (i, j), r in ratings.items()) + 0.1 * np.sum(x**2)


@fresh(ROW)
def logistic_regression_by_rows():
    rows = [([1.0, 0.5], 1), ([0.2, -1.0], 0), ([-0.5, 0.3], 1)]

    def loss(w):
        total = 0.0
        for features, label in rows:
            z = sum(a * b for a, b in zip(features, w, strict=True))
            p = 1 / (1 + math.exp(-z))
            total -= math.log(p) if label else math.log(1 - p)
        return total / len(rows)

    return loss


@program(np.array([0.3, 0.9, 0.5, 0.2, 0.7]))
def statistics_by_hand(x):
    n = len(x)
    mean = sum(x) / n
    variance = sum((v - mean) ** 2 for v in x) / (n - 1)
    skew = sum((v - mean) ** 3 for v in x) / n / variance**1.5
    ordered = sorted(x)
    median = ordered[n // 2] if n % 2 else 0.5 * (ordered[n // 2 - 1] + ordered[n // 2])
    return mean + variance * 2 + skew + median * 3


@program(np.array([0.3, 0.9, 0.5, 0.2, 0.7]))
def welford(x):
    mean = m2 = 0.0
    for n, v in enumerate(x, 1):
        delta = v - mean
        mean += delta / n
        m2 += delta * (v - mean)
    return m2 / len(x) + mean


@program(np.array([0.3, 0.9, 0.5, 0.2, 0.7]))
def kahan_summation(x):
    total = compensation = 0.0
    for v in x:
        y = v - compensation
        t = total + y
        compensation = (t - total) - y
        total = t
    return total**2


@program(np.array([0.2, 0.5, 0.3]))
def entropy_with_guards(p):
    return -sum(v * math.log(v) if v > 0 else 0.0 for v in p / p.sum())


@program(np.array([0.5, 1.0]))
def special_functions(x):
    return np.sum(scipy.special.gammaln(x + 1) + scipy.special.erf(x) + scipy.special.expit(x))


@program(ROW)
def lotka_volterra_with_a_namedtuple(x):
    State = collections.namedtuple("State", "prey predators")
    state = State(*x)
    for _ in range(20):
        state = State(
            prey=state.prey + 0.05 * state.prey * (1 - state.predators),
            predators=state.predators + 0.05 * state.predators * (state.prey - 1),
        )
    return state.prey * state.predators


@program(np.array([1.0, 0.1]))
def a_queue_of_events(x):
    import heapq

    events, total = [(0.3, "arrive"), (0.5, "arrive"), (0.9, "arrive")], 0.0
    heapq.heapify(events)
    free_at = 0.0
    while events:
        time, kind = heapq.heappop(events)
        if kind == "arrive":
            start = max(free_at, time)
            free_at = start + x[0] * 0.4
            total = total + (start - time)
            heapq.heappush(events, (free_at, "leave"))
        else:
            total = total + x[1]
    return total


@program(0.9)
def option_price_by_a_tree(sigma):
    steps, r, dt = 12, 0.05, 1 / 12
    up = math.exp(sigma * math.sqrt(dt))
    p = (math.exp(r * dt) - 1 / up) / (up - 1 / up)
    values = [max(100 * up ** (2 * k - steps) - 95.3, 0.0) for k in range(steps + 1)]
    for _ in range(steps):
        values = [
            math.exp(-r * dt) * (p * b + (1 - p) * a)
            for a, b in zip(values, values[1:], strict=False)
        ]
    return values[0] / 100


@program(0.3)
def implied_volatility(price):
    def value(s):
        return 0.5 * (1 + math.erf(s / 2 / math.sqrt(2))) * 2 - 1

    s = 0.5
    for _ in range(30):
        slope = math.exp(-(s**2) / 8) / math.sqrt(2 * math.pi)
        s = s - (value(s) - price) / slope
    return s


@program(np.array([1.05, 0.5]))
def a_state_machine(x):
    state, total, energy = "rest", 0.0, x[0]
    for k in range(12):
        match state:
            case "rest" if energy > 1.2:
                state = "move"
            case "rest":
                energy = energy + 0.2
            case "move" if energy < 0.4:
                state = "rest"
            case _:
                energy = energy * 0.7
                total = total + x[1] * (k + 1)
    return total + energy**2


@program(np.array([0.1, 0.7, 0.4, 0.9]))
def edit_a_signal_until_smooth(x):
    y = x.copy()
    rounds = 0
    while np.max(np.abs(np.diff(y))) > 0.2:
        y[1:-1] = (y[:-2] + y[1:-1] + y[2:]) / 3
        rounds += 1
        if rounds > 50:
            break
    return np.sum(y**2) * rounds


@program(np.array([0.3, 0.6]))
def automatic_step_halving(x):
    def objective(v):
        return np.sum((v - 1) ** 4)

    v = x
    for _ in range(3):
        gradient = 4 * (v - 1) ** 3
        step = 1.0
        while objective(v - step * gradient) > objective(v) - 0.1 * step * np.sum(gradient**2):
            step /= 2
        v = v - step * gradient
    return objective(v)


@program(ROW)
def a_memoised_integral(x):
    @functools.lru_cache(maxsize=16)
    def weights(n):
        return tuple(np.polynomial.legendre.leggauss(n)[1])

    return sum(w * np.exp(-x[0] * k) for k, w in enumerate(weights(4))) * x[1] + weights(4)[0]


@program(np.array([0.2, 0.4, 0.1]))
def clipping_by_the_norm(g):
    norm = np.linalg.norm(g)
    if norm > 0.3:
        g = g * (0.3 / norm)
    return np.sum(g * np.array([1.0, 2.0, 3.0]))


@program(np.array([[0.2, 0.9], [1.3, 0.4]]))
def attention_with_a_mask(x):
    scores = x @ x.T
    scores[np.triu_indices(2, k=1)] = -np.inf
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return np.sum((weights @ x) ** 2)
