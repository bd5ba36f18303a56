"""Functions that are asked, made, registered and passed on, and what may be differentiated."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable

import numpy as np

from tests.capture.battery.registry import fresh, program

ROW = np.array([0.7, 1.3])


@program(ROW)
def functions_in_a_table(x):
    table: dict[str, Callable[..., object]] = {
        "sin": np.sin, "square": lambda v: v * v, "sum": lambda v: v.sum()
    }  # fmt: skip
    return table["sum"](table["square"](table["sin"](x)))


@program(ROW)
def a_function_by_its_name(x):
    return sum(np.sum(getattr(np, name)(x)) for name in ("sin", "cos", "tanh"))


@program(ROW)
def a_signature_is_asked(x):
    def f(a, b=2.0):
        return a * b

    count = len(inspect.signature(f).parameters)
    return np.sum(f(x)) * count


@program(ROW)
def names_of_functions(x):
    def quadratic(v):
        """A square."""
        return np.sum(v**2)

    return quadratic(x) * len(quadratic.__name__) + len(quadratic.__doc__)


@program(ROW)
def a_context_manager_by_a_generator(x):
    log = []

    @contextlib.contextmanager
    def scaled(by):
        log.append("in")
        yield by * 2
        log.append("out")

    with scaled(x[0]) as twice, scaled(x[1]) as other:
        y = twice * other
    return y * len(log)


@program(ROW)
def a_stack_of_contexts(x):
    total = []
    with contextlib.ExitStack() as stack:
        for v in x:
            stack.callback(total.append, v * 2)
    return total[0] * 2 + total[1]


@program(ROW)
def a_callback_that_is_kept(x):
    observers = []

    class Subject:
        def attach(self, callback):
            observers.append(callback)

        def notify(self, value):
            return sum(callback(value) for callback in observers)

    subject = Subject()
    subject.attach(np.sin)
    subject.attach(lambda v: v * x[1])
    return subject.notify(x[0])


@program(ROW)
def finite_differences_by_the_user(x):
    def f(v):
        return np.sum(np.sin(v))

    h = 1e-3
    return sum((f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(2))


@program(ROW)
def a_trampoline(x):
    def go(v, n):
        return v if n == 0 else lambda: go(v * 1.01, n - 1)

    result = go(x[0], 30)
    while callable(result):
        result = result()
    return result * x[1]


@program(ROW)
def continuation_passing(x):
    def product(values, then):
        if not values:
            return then(1.0)
        return product(values[1:], lambda rest: then(values[0] * rest))

    return product(list(x), lambda v: v**2)


@program(ROW)
def a_pipeline_of_generators(x):
    def source():
        yield from x

    def scaled(rows, by):
        for row in rows:
            yield row * by

    def kept(rows):
        return (row for row in rows if row > 2)

    return sum(kept(scaled(source(), 2.0)))


@program(ROW)
def local_functions_that_share_state(x):
    def account(balance):
        def deposit(amount):
            nonlocal balance
            balance = balance + amount
            return balance

        def interest(rate):
            nonlocal balance
            balance = balance * (1 + rate)
            return balance

        return deposit, interest

    deposit, interest = account(x[0])
    deposit(x[1])
    interest(0.1)
    return deposit(1.0)


@program(ROW)
def exec_and_eval(x):
    space = {"x": x, "np": np}
    exec("y = np.sum(x ** 2)", space)
    return space["y"] + eval("x[0] * 2", {"x": x})


@program(ROW)
def a_function_made_by_exec(x):
    space = {"np": np}
    exec("def f(v):\n    return np.sum(np.sin(v))", space)
    return space["f"](x)


@fresh(ROW)
def a_registry_of_functions():
    registry = {}

    def register(name):
        return lambda function: registry.setdefault(name, function)

    @register("square")
    def square(v):
        return v**2

    @register("cube")
    def cube(v):
        return v**3

    def f(x):
        return sum(np.sum(function(x)) for function in registry.values())

    return f, lambda: list(registry)


@fresh(ROW)
def a_bound_method_as_the_function():
    class Model:
        def __init__(self, rate):
            self.rate = rate

        def loss(self, x):
            return np.sum(self.rate * x**2)

    return Model(3.0).loss


@fresh(ROW)
def a_class_method_as_the_function():
    class Model:
        rate = 2.0

        @classmethod
        def loss(cls, x):
            return np.sum(cls.rate * x**2)

    return Model.loss


@fresh(ROW)
def a_partial_as_the_function():
    def loss(rate, x, power=2):
        return np.sum(rate * x**power)

    return functools.partial(loss, 2.0, power=3)


@fresh(ROW)
def a_callable_object_as_the_function():
    class Loss:
        def __call__(self, x):
            return np.sum(np.sin(x))

    return Loss()


@fresh(ROW)
def a_decorated_function_as_the_function():
    calls = []

    def logged(function):
        @functools.wraps(function)
        def wrapper(*args):
            calls.append(len(args))
            return function(*args)

        return wrapper

    @logged
    def loss(x):
        return np.sum(x**3)

    return loss, lambda: calls
