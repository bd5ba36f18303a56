"""Caches that people write by hand, and those of `functools`."""

from __future__ import annotations

import functools
import weakref

import numpy as np

from tests.capture.battery.registry import fresh, program

POINT = np.array([0.7, 1.3])


@fresh(POINT)
def last_key_and_value():
    class Model:
        key = None
        calls = 0

        def features(self, x):
            if self.key is None or not np.array_equal(self.key, x):
                self.key, self.value = x.copy(), np.sin(x)
                self.calls += 1
            return self.value

        def loss(self, x):
            return np.sum(self.features(x) ** 2) + np.sum(self.features(x))

    model = Model()
    return model.loss, lambda: model.calls


@fresh(POINT)
def last_key_and_value_left_behind():
    class Model:
        key = None

        def loss(self, x):
            if self.key is None or np.any(self.key != x):
                self.key, self.value = np.array(x), float(np.sum(np.exp(x)))
            return self.value * np.sum(x)

    model = Model()
    return model.loss, lambda: [model.key, model.value]


@fresh(0.7)
def dictionary_of_floats():
    memo = {}

    def evaluate(x):
        if x not in memo:
            memo[x] = np.sin(x)
        return memo[x] * 2

    return evaluate, lambda: memo


@fresh(POINT)
def dictionary_of_bytes():
    memo = {}

    def evaluate(x):
        key = x.tobytes()
        if key not in memo:
            memo[key] = np.sum(x**3)
        return memo[key]

    return evaluate, lambda: memo


@fresh(POINT)
def dictionary_of_tuples():
    memo = {}

    def square(v):
        return memo.setdefault((float(v),), v * v)

    def evaluate(x):
        return square(x[0]) + square(x[1]) + square(x[0])

    return evaluate, lambda: memo


@fresh(0.7)
def lru_cache_of_a_helper():
    @functools.lru_cache(maxsize=64)
    def helper(v):
        return v * v + 1

    def evaluate(x):
        return helper(x) * helper(x + 1) * helper(x)

    return evaluate


@fresh(0.7)
def lru_cache_over_whole_numbers():
    @functools.lru_cache(maxsize=64)
    def binomial(n, k):
        return 1 if k in (0, n) else binomial(n - 1, k - 1) + binomial(n - 1, k)

    def bernstein(x):
        return sum(binomial(5, k) * x**k * (1 - x) ** (5 - k) * k for k in range(6))

    return bernstein


@fresh(0.7)
def memoised_recursion_closing_over_the_argument():
    def evaluate(x):
        @functools.cache
        def legendre(n):
            if n < 2:
                return x if n else 1.0
            return ((2 * n - 1) * x * legendre(n - 1) - (n - 1) * legendre(n - 2)) / n

        return legendre(6)

    return evaluate


@fresh(0.7)
def dictionary_as_a_default_argument():
    def power(v, n, memo={1: None}):  # noqa: B006
        if n == 0:
            return 1.0
        memo["used"] = n
        return v * power(v, n - 1)

    return (lambda x: power(x, 4)), lambda: power.__defaults__


@fresh(POINT)
def cached_property_of_an_object():
    class Pair:
        def __init__(self, x):
            self.x = x

        @functools.cached_property
        def norm(self):
            return np.sqrt(np.sum(self.x**2))

    def evaluate(x):
        pair = Pair(x)
        return pair.norm * pair.norm + pair.norm

    return evaluate


@fresh(POINT)
def cached_property_of_an_object_outside():
    class Grid:
        made = 0

        def __init__(self, n):
            self.n = n

        @functools.cached_property
        def nodes(self):
            Grid.made += 1
            return np.linspace(0, 1, self.n)

    grid = Grid(5)

    def evaluate(x):
        return np.sum(np.exp(-x[0] * grid.nodes) * x[1])

    return evaluate, lambda: [Grid.made, grid.nodes]


@fresh(POINT)
def lazily_made_matrix():
    class Solver:
        matrix = None

        def solve(self, x):
            if self.matrix is None:
                self.matrix = np.array([[2.0, 1.0], [1.0, 3.0]])
            return np.sum(np.linalg.solve(self.matrix, x))

    solver = Solver()
    return solver.solve, lambda: solver.matrix


@fresh(POINT)
def a_flag_says_what_is_stale():
    class Model:
        stale, cache = True, None

        def set(self, x):
            self.x, self.stale = x, True

        def energy(self):
            if self.stale:
                self.cache, self.stale = np.sum(self.x**4), False
            return self.cache

    model = Model()

    def evaluate(x):
        model.set(x)
        return model.energy() + model.energy()

    return evaluate, lambda: [model.stale, model.cache]


@fresh(0.7)
def decorator_that_memoises():
    def memoised(function):
        memo = {}

        @functools.wraps(function)
        def wrapper(*args):
            if args not in memo:
                memo[args] = function(*args)
            return memo[args]

        wrapper.memo = memo
        return wrapper

    @memoised
    def helper(v, n):
        return v**n

    return (lambda x: helper(x, 2) + helper(x, 3) + helper(x, 2)), lambda: helper.memo


@fresh(0.7)
def memo_by_a_rounded_key():
    memo = {}

    def evaluate(x):
        key = round(float(x), 1)
        if key not in memo:
            memo[key] = len(memo) + 1.0
        return memo[key] * x

    return evaluate, lambda: memo


@fresh(0.7)
def memo_by_the_identity_of_an_object():
    memo, grid = {}, np.linspace(0, 1, 4)

    def evaluate(x):
        if id(grid) not in memo:
            memo[id(grid)] = np.diff(grid)
        return np.sum(memo[id(grid)] * x)

    return evaluate, lambda: list(memo.values())


@fresh(0.7)
def memo_in_an_attribute_of_the_function():
    def evaluate(x):
        if not hasattr(evaluate, "weights"):
            evaluate.weights = np.array([1.0, 2.0])
        return np.sum(evaluate.weights * x**2)

    return evaluate, lambda: evaluate.weights


@fresh(POINT)
def warm_start_of_an_iteration():
    class Solver:
        start = 1.0

        def root(self, a):
            y = self.start
            for _ in range(30):
                y = (y + a / y) / 2
            self.start = float(y)
            return y

    solver = Solver()
    return (lambda x: solver.root(x[0]) * x[1]), lambda: solver.start


@fresh(POINT)
def a_cache_of_bounded_size():
    memo, order = {}, []

    def evaluate(x):
        total = 0.0
        for k in (0, 1, 0):
            if k not in memo:
                if len(order) == 1:
                    del memo[order.pop(0)]
                memo[k] = k + 1.0
                order.append(k)
            total = total + memo[k] * x[k]
        return total

    return evaluate, lambda: [order, memo]


@fresh(POINT)
def a_weak_dictionary():
    class Key:
        pass

    memo, key = weakref.WeakKeyDictionary(), Key()

    def evaluate(x):
        if key not in memo:
            memo[key] = np.ones(2) * 3
        return np.sum(memo[key] * x)

    return evaluate, lambda: list(memo.values())


@fresh(POINT)
def table_filled_by_dynamic_programming():
    def evaluate(x):
        memo = {}

        def best(k, room):
            if k == 4:
                return 0.0 * x[0]
            if (k, room) not in memo:
                skip = best(k + 1, room)
                memo[k, room] = skip
                if room >= k + 1:
                    take = (k + 1) * x[k % 2] + best(k + 1, room - k - 1)
                    memo[k, room] = take if take > skip else skip
            return memo[k, room]

        return best(0, 5) + len(memo)

    return evaluate


@fresh(POINT)
def previous_point_is_compared_by_allclose():
    class Step:
        previous = None
        rounds = 0

        def __call__(self, x):
            if self.previous is not None and np.allclose(self.previous, x):
                self.rounds += 1
            self.previous = x.copy()
            return np.sum(x**2)

    step = Step()
    return step, lambda: [step.previous, step.rounds]


@fresh(POINT)
def factors_kept_for_the_gradient():
    class Likelihood:
        def value(self, x):
            self.residual = x - np.array([1.0, 2.0])
            return 0.5 * np.sum(self.residual**2)

        def by_hand(self):
            return self.residual

    model = Likelihood()
    return model.value, lambda: model.by_hand()


@program(0.7)
def a_table_by_whole_numbers(x):
    memo = {0: 1.0, 1: x}

    def chebyshev(n):
        if n not in memo:
            memo[n] = 2 * x * chebyshev(n - 1) - chebyshev(n - 2)
        return memo[n]

    return chebyshev(5) + chebyshev(3)


@program(np.float64(0.7))
def a_table_by_the_number_itself(x):
    memo = {}

    def f(v):
        if v in memo:
            return memo[v]
        memo[v] = v if v < 0.1 else f(v / 2) + v**2
        return memo[v]

    return f(x) + f(x / 2) + len(memo)


@fresh(0.7)
def the_first_value_is_kept():
    kept = []

    def evaluate(x):
        if not kept:
            kept.append(float(x))
        return x - kept[0] + kept[0] ** 2

    return evaluate, lambda: kept


@fresh(0.7)
def the_largest_value_so_far():
    class Record:
        best = -np.inf

    def evaluate(x):
        value = np.sin(x)
        if value > Record.best:
            Record.best = float(value)
        return value

    return evaluate, lambda: Record.best


@fresh(np.array([3.0, 1.0]))
def scaling_of_the_first_call():
    class Scaled:
        scale = None

        def loss(self, x):
            raw = np.sum(x**2)
            if self.scale is None:
                self.scale = 4.0
                return raw
            return raw / self.scale

    scaled = Scaled()
    return scaled.loss, lambda: scaled.scale


@fresh(POINT)
def last_key_and_value_in_buffers():
    class Model:
        def __init__(self):
            self.key, self.value = np.zeros(2), np.zeros(2)

        def features(self, x):
            if not np.array_equal(self.key, x):
                self.key[:] = x
                self.value[:] = np.sin(x)
            return self.value

        def loss(self, x):
            return np.sum(self.features(x) * 2.0 * x)

    model = Model()
    return model.loss, lambda: [model.key, model.value]


KEPT_KEYS, KEPT_VALUES = np.zeros((3, 2)), np.zeros((3, 2))


@fresh(POINT)
def rows_of_a_table_found_by_the_point():
    KEPT_KEYS[:], KEPT_VALUES[:] = 0.0, 0.0
    count = [0]

    def features(x):
        for row in range(count[0]):
            if np.all(KEPT_KEYS[row] == x):
                return KEPT_VALUES[row]
        row = count[0] % 3
        KEPT_KEYS[row] = x
        KEPT_VALUES[row] = np.exp(x)
        count[0] += 1
        return KEPT_VALUES[row]

    return (lambda x: np.sum(features(x) * 0.5) + np.sum(features(2 * x))), lambda: count


@fresh(POINT)
def a_workspace_filled_entry_by_entry():
    class Model:
        def __init__(self):
            self.work, self.rows = np.zeros(3), np.ones((2, 2))

        def loss(self, x):
            for place in range(2):
                if x[place] > 0:
                    self.work[place] = x[place] ** 2
            self.work[2] = 1.5
            self.rows[[1, 0]] = np.outer(x, x)
            self.rows[self.rows < 100] *= 2.0
            return np.sum(np.sin(self.work)) + np.sum(self.rows)

    model = Model()
    return model.loss, lambda: [model.work, model.rows]


@fresh(POINT)
def a_workspace_zeroed_and_summed_into():
    class Model:
        def __init__(self):
            self.total = np.zeros(2)

        def loss(self, x):
            self.total.fill(0.0)
            for k in range(3):
                self.total += x**k if x[0] > 0 else x
            return np.sum(self.total**2)

    model = Model()
    return model.loss, lambda: model.total


@fresh(POINT)
def a_least_loss_kept_in_an_array():
    best = np.full(1, np.inf)

    class Fit:
        best = np.full(1, np.inf)

        def loss(self, x):
            loss = np.sum(x**2)
            if loss < self.best[0]:
                self.best[0] = loss
            return loss

    fit = Fit()
    fit.best = best.copy()
    return fit.loss, lambda: fit.best
