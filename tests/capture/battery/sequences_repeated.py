"""The same calls many times, so that caches get warm and machine code comes, then changes."""

from __future__ import annotations

import math

import numpy as np

from tests.capture.battery.registry import sequence

ROW = np.array([0.7, 1.3])
MANY = 40  # calls, after which a program is machine code
RATE = 1.0


@sequence(native=True)
def a_cell():
    scale = 1.0

    def f(x):
        return np.sum(scale * np.sin(x) ** 2)

    for k in range(MANY):
        yield f, ROW * (1 + 0.01 * k)
    scale = 2.0
    yield f, ROW
    yield f, ROW
    scale = 1.0
    yield f, ROW


@sequence(native=True)
def a_global():
    global RATE

    def f(x):
        return np.sum(np.exp(-RATE * x))

    for k in range(MANY):
        yield f, ROW * (1 + 0.01 * k)
    for RATE in (2.0, 3.0, 1.0):
        yield f, ROW


@sequence(native=True)
def an_array_in_place():
    data = np.array([1.0, 2.0])

    def f(x):
        return np.sum(data * np.sin(x))

    for k in range(MANY):
        yield f, ROW
        data[k % 2] += 0.1


@sequence(native=True)
def an_attribute():
    class Model:
        rate = 1.0

        def loss(self, x):
            return np.sum(np.tanh(self.rate * x))

    model = Model()
    for k in range(MANY):
        model.rate = 1.0 + (k > 35)
        yield model.loss, ROW


@sequence(native=True)
def a_question():
    def f(x):
        return np.sum(np.sin(x)) if np.sum(x) > 1 else np.sum(x**3)

    for k in range(MANY):
        yield f, ROW * (1 + 0.01 * k)
    yield f, ROW * 0.1
    yield f, ROW
    yield f, ROW * 0.2


@sequence(native=True)
def questions_by_turns():
    def f(x):
        y = x
        while np.sum(y) > 1:
            y = y / 2
        return np.sum(np.sin(y))

    for k in range(MANY):
        yield f, ROW * (1.1 + 0.7 * (k % 7))


@sequence(native=True)
def the_order_of_a_dictionary():
    def f(p):
        first, second = p.values()
        return np.sin(first) * second**2

    for k in range(MANY):
        yield f, ({"a": 0.7, "b": 1.3} if k % 10 else {"b": 1.3, "a": 0.7})


@sequence(native=True)
def a_logarithm_that_begins_to_warn():
    def f(x):
        return np.sum(np.where(x > 0, np.log(x), x))

    for _ in range(MANY):
        yield f, ROW
    yield f, np.array([0.7, -1.3])
    yield f, ROW


@sequence(native=True)
def a_division_that_begins_to_warn():
    scale = 1.0

    def f(x):
        return np.sum(x**2) + np.minimum(np.float64(1.0) / scale, 5.0)

    for _ in range(MANY):
        yield f, ROW
    scale = np.float64(0.0)
    yield f, ROW
    scale = 1.0
    yield f, ROW


@sequence(native=True)
def errstate_comes_late():
    def f(x):
        try:
            return np.sum(np.log(x))
        except FloatingPointError:
            return np.sum(x**2)

    for k in range(MANY):
        with np.errstate(invalid="raise" if k > 36 else "warn"):
            yield f, ROW
    with np.errstate(invalid="raise"):
        yield f, np.array([0.7, -1.3])


@sequence(native=True)
def a_matrix_that_becomes_singular():
    def f(a):
        return np.sum(np.linalg.inv(a))

    a = np.array([[2.0, 0.3], [0.1, 1.0]])
    for _ in range(MANY):
        yield f, a
    yield f, np.array([[1.0, 2.0], [2.0, 4.0]])
    yield f, a


@sequence(native=True)
def random_numbers():
    generator = np.random.default_rng(0)

    def f(x):
        return np.sum(np.sin(generator.normal(size=2) * x))

    for _ in range(MANY):
        yield f, ROW


@sequence(native=True)
def minibatches():
    generator, data = np.random.default_rng(0), np.arange(20.0).reshape(10, 2) / 10

    def loss(x):
        return np.mean((data[generator.integers(0, 10, 4)] @ x - 1) ** 2)

    for _ in range(MANY):
        yield loss, ROW


@sequence(native=True)
def a_counter():
    calls = 0

    def f(x):
        nonlocal calls
        calls += 1
        return np.sum(np.sin(x)) * calls

    for _ in range(MANY):
        yield f, ROW


@sequence(native=True)
def a_log():
    log = []

    def f(x):
        y = np.sum(np.sin(x))
        log.append(float(y))
        return y * len(log)

    for _ in range(MANY):
        yield f, ROW


@sequence(native=True)
def a_best_value():
    best = [np.inf]

    def f(x):
        y = np.sum(np.sin(x))
        if y < best[0]:
            best[0] = float(y)
            return y * 2
        return y

    for k in range(MANY):
        yield f, ROW * (1 + 0.01 * (7 * k % MANY))


@sequence(native=True)
def a_workspace():
    class Model:
        def __init__(self):
            self.work = np.zeros(2)

        def loss(self, x):
            np.multiply(x, 2.0, out=self.work)
            self.work += 1.0
            return np.sum(np.sin(self.work))

    model = Model()
    for k in range(MANY):
        yield model.loss, ROW * (1 + 0.01 * k)
    yield (lambda x: np.sum(model.work) * np.sum(x)), ROW


@sequence(native=True)
def a_memo_by_the_point():
    class Model:
        key, made = None, 0

        def features(self, x):
            if self.key is None or not np.array_equal(self.key, x):
                self.key, self.value, self.made = x.copy(), np.sin(x), self.made + 1
            return self.value

        def loss(self, x):
            return np.sum(self.features(x) * self.features(x))

    model = Model()
    for k in range(MANY):
        yield model.loss, ROW * (1 + 0.01 * k)


@sequence(native=True)
def other_shapes_now_and_then():
    def f(x):
        return np.sum(np.sin(x)) * len(x)

    for k in range(MANY):
        yield f, np.linspace(0.5, 1.5, 3 + (k % 10 == 9))


@sequence(native=True)
def other_types_now_and_then():
    def f(x, n):
        return np.sum(np.sin(x) * n)

    for k in range(MANY):
        yield f, ROW, (2 if k % 10 else np.int64(2) if k % 20 else True)


@sequence(native=True)
def gradient_descent():
    def loss(x):
        return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2

    x = np.array([-1.2, 1.0])
    for _ in range(MANY):
        yield loss, x
        gradient = np.array(
            [-400 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0]), 200 * (x[1] - x[0] ** 2)]
        )
        x = x - 1e-3 * gradient


@sequence(native=True)
def a_learning_rate_that_falls():
    rate = 0.5

    def f(x):
        return np.sum((x - rate * np.sin(x)) ** 2)

    for _ in range(MANY):
        yield f, ROW
        rate *= 0.9


@sequence(native=True)
def a_default_late():
    def helper(v, scale=2.0):
        return scale * np.sin(v)

    def f(x):
        return np.sum(helper(x))

    for _ in range(MANY):
        yield f, ROW
    helper.__defaults__ = (5.0,)
    yield f, ROW
    yield f, ROW


@sequence(native=True)
def code_late():
    def helper(v):
        return np.sin(v)

    def other(v):
        return np.cos(v)

    def f(x):
        return np.sum(helper(x))

    for _ in range(MANY):
        yield f, ROW
    helper.__code__ = other.__code__
    yield f, ROW


@sequence(native=True)
def a_constant_of_math_late():
    kept = math.tau

    def f(x):
        return np.sum(np.sin(math.tau * x))

    for _ in range(MANY):
        yield f, ROW
    try:
        math.tau = 1.0
        yield f, ROW
    finally:
        math.tau = kept
    yield f, ROW


@sequence(native=True)
def a_list_that_grows():
    weights = []

    def f(x):
        return np.sum(np.sin(x)) * (1 + sum(weights))

    for k in range(MANY):
        yield f, ROW
        if k % 12 == 11:
            weights.append(0.5)


@sequence(native=True)
def a_method_patched_late():
    class Model:
        def act(self, v):
            return np.sin(v)

        def loss(self, x):
            return np.sum(self.act(x))

    model = Model()
    for _ in range(MANY):
        yield model.loss, ROW
    Model.act = lambda self, v: np.cos(v)
    yield model.loss, ROW
    model.act = np.exp
    yield model.loss, ROW


@sequence(native=True)
def an_error_late():
    def f(x):
        if np.any(x < 0):
            raise ValueError("only positive")
        return np.sum(np.sqrt(x))

    for _ in range(MANY):
        yield f, ROW
    yield f, -ROW
    yield f, ROW


@sequence(native=True)
def an_index_that_moves():
    places = {"best": 0}

    def f(x):
        return np.sin(x[places["best"]]) * np.sum(x)

    for k in range(MANY):
        places["best"] = (k // 15) % 2
        yield f, ROW


@sequence(native=True)
def argmax_that_moves():
    def f(x):
        return x[np.argmax(x)] ** 2 + np.sum(np.sin(x))

    for k in range(MANY):
        yield f, (ROW if k % 13 else ROW[::-1].copy())


@sequence(native=True)
def a_loop_over_time():
    steps = 20

    def f(x):
        y = x
        for k in range(steps):
            y = y + 0.1 * np.sin(y) * (k % 3)
        return np.sum(y)

    for k in range(MANY):
        steps = 20 + (k > 37)
        yield f, ROW


@sequence(native=True)
def warnings_of_ones_own():
    import warnings

    def f(x):
        if np.sum(x) > 2.05:
            warnings.warn("large", UserWarning, stacklevel=1)
        return np.sum(np.sin(x))

    for k in range(MANY):
        yield f, ROW * (1 + 0.001 * (k % 30))


@sequence(native=True)
def arguments_written_into():
    def f(x):
        x *= 2
        return np.sum(np.sin(x))

    x = ROW.copy()
    for _ in range(MANY):
        yield f, x


@sequence(native=True)
def the_same_values_in_new_arrays():
    def f(x, mask):
        return np.sum(np.where(mask, np.sin(x), x**2))

    for k in range(MANY):
        yield f, ROW.copy(), np.array([True, k % 11 == 0])
