"""Functions in all forms: closures, decorators, generators, partial, reduce, star arguments."""

from __future__ import annotations

import functools
import itertools
import operator

import numpy as np

from tests.capture.battery.registry import program

ROW = np.array([0.7, 1.3])


@program(ROW)
def composed_by_reduce(x):
    def compose(*functions):
        return functools.reduce(lambda f, g: lambda v: g(f(v)), functions)

    return np.sum(compose(np.sin, np.exp, lambda v: v**2)(x))


@program(ROW)
def partial_of_numpy(x):
    return functools.partial(np.sum, axis=0)(x * 2) + functools.partial(np.power, x)(2)[1]


@program(ROW)
def partial_with_a_traced_argument(x):
    scaled = functools.partial(operator.mul, x[0])
    return sum(map(scaled, [1.0, 2.0, x[1]]))


@program(ROW)
def reduce_over_entries(x):
    return functools.reduce(lambda a, b: a * b + a, x, 2.0)


@program(ROW)
def accumulate_over_entries(x):
    return sum(itertools.accumulate(x, lambda a, b: a * b + 1))


@program(ROW)
def a_closure_with_a_counter(x):
    def counter():
        n = 0

        def step(v):
            nonlocal n
            n += 1
            return v * n

        return step

    step = counter()
    return step(x[0]) + step(x[1]) + step(x[0])


@program(ROW)
def closures_made_in_a_loop(x):
    functions = [lambda v, k=k: v**k for k in range(3)] + [lambda v: v * k for k in (1, 2)]
    return sum(np.sum(f(x)) for f in functions)


@program(ROW)
def a_decorator_with_arguments(x):
    def scaled(by):
        def decorate(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                return by * function(*args, **kwargs)

            return wrapper

        return decorate

    @scaled(3.0)
    @scaled(by=2.0)
    def energy(v, *, power=2):
        return np.sum(v**power)

    return energy(x) + energy(x, power=3) + len(energy.__name__)


@program(ROW)
def a_decorator_that_is_a_class(x):
    class Counted:
        def __init__(self, function):
            functools.update_wrapper(self, function)
            self.function, self.calls = function, 0

        def __call__(self, *args):
            self.calls += 1
            return self.function(*args)

    @Counted
    def square(v):
        return v**2

    return np.sum(square(x) + square(x)) * square.calls


@program(ROW)
def star_arguments(x):
    def f(first, *rest, scale=1.0, **options):
        return first * sum(rest) * scale + options.get("shift", 0.0)

    return f(*x, x[0], scale=2.0) + f(x[0], x[1], **{"shift": x[1], "other": 1})


@program(ROW)
def keyword_only_and_positional_only(x):
    def f(a, /, b, *, c):
        return a * b + c

    return f(x[0], x[1], c=2.0) + f(x[0], b=x[1], c=x[0])


@program(ROW)
def a_wrong_keyword_raises(x):
    def f(a):
        return a

    try:
        return f(x[0], b=2)
    except TypeError as error:
        return x[1] * ("unexpected" in str(error))


@program(ROW)
def defaults_that_are_traced(x):
    def f(a, b=x[0]):
        return a * b

    return f(x[1]) + f(x[1], 2.0)


@program(ROW)
def a_generator(x):
    def powers(v, n):
        y = v
        for _ in range(n):
            yield y
            y = y * v

    return sum(powers(x[0], 4)) + max(powers(x[1], 3))


@program(ROW)
def a_generator_that_is_sent_to(x):
    def mean():
        total, n, value = 0.0, 0, None
        while True:
            sent = yield value
            total, n = total + sent, n + 1
            value = total / n

    running = mean()
    next(running)
    return sum(running.send(v) for v in (x[0], x[1], x[0] * x[1]))


@program(ROW)
def a_generator_that_delegates(x):
    def inner(v):
        yield v
        return v * 10

    def outer(v):
        result = yield from inner(v)
        yield result

    return sum(outer(x[0])) + sum(outer(x[1])) ** 2


@program(ROW)
def a_generator_that_is_closed(x):
    log = []

    def numbers():
        try:
            yield x[0]
            yield x[1]
        finally:
            log.append(3.0)

    generator = numbers()
    first = next(generator)
    generator.close()
    return first * log[0]


@program(ROW)
def a_generator_that_is_thrown_into(x):
    def numbers():
        try:
            yield x[0]
        except ValueError:
            yield x[1] * 5

    generator = numbers()
    return next(generator) + generator.throw(ValueError())


@program(ROW)
def generator_expressions(x):
    squares = (v**2 for v in x)
    shifted = (s + 1 for s in squares)
    return sum(shifted) + sum(1 for _ in squares)


@program(ROW)
def comprehensions(x):
    rows = [[a * b for b in x] for a in x]
    table = {k: v for k, v in enumerate(x) if v > 1}
    return sum(map(sum, rows)) + table[1] + len({round(float(v)) for v in x})


@program(ROW)
def map_filter_and_zip(x):
    large = list(filter(lambda v: v > 1, x))
    pairs = list(map(lambda a, b: a * b, x, reversed(x)))
    return sum(large) + sum(pairs) + sum(a * b for a, b in zip(x, x[1:], strict=False))


@program(ROW)
def all_and_any(x):
    return np.sum(x) * (2 if all(v > 0 for v in x) else 3) * (5 if any(v > 2 for v in x) else 7)


@program(ROW)
def single_dispatch(x):
    @functools.singledispatch
    def size(v):
        return 1.0

    @size.register
    def _(v: np.ndarray):
        return np.sum(v) * 2

    @size.register
    def _(v: float):
        return v * 3

    @size.register(list)
    def _(v):
        return sum(size(each) for each in v)

    return size(x) + size(x[0]) + size([x, x[1], "word"])


@program(ROW)
def functions_of_operator(x):
    return (
        operator.add(x[0], 1)
        + operator.truediv(x[1], x[0])
        + operator.itemgetter(1)(x)
        + operator.pow(x[0], 2)
        + operator.methodcaller("sum")(x)
        + operator.attrgetter("T")(x)[0]
        + operator.neg(x[0])
        + operator.matmul(x, x)
    )


@program(ROW)
def functions_of_itertools(x):
    chained = itertools.chain(x, x**2)
    pairs = itertools.pairwise([*x, 2.0])
    groups = itertools.groupby([0.7, 1.3, 1.5], key=lambda v: v > 1)
    return (
        sum(itertools.islice(chained, 3))
        + sum(a * b for a, b in pairs)
        + sum(len(list(g)) for _, g in groups) * x[0]
        + sum(itertools.starmap(operator.mul, zip(x, x, strict=True)))
        + sum(v for v in itertools.takewhile(lambda v: v < 1, x))
        + next(itertools.dropwhile(lambda v: v < 1, x))
    )


@program(ROW)
def cycles_and_repeats(x):
    signs = itertools.cycle([1.0, -1.0])
    return sum(s * v for s, v in zip(signs, [*x, *x, x[0]], strict=False)) + sum(
        itertools.repeat(x[0], 3)
    )


@program(ROW)
def permutations(x):
    return sum(a - 2 * b for a, b in itertools.permutations(x)) + sum(
        a * b for a, b in itertools.combinations_with_replacement(x, 2)
    )


@program(ROW)
def tee_and_zip_longest(x):
    one, other = itertools.tee(iter(x))
    next(other)
    return sum(a * b for a, b in itertools.zip_longest(one, other, fillvalue=3.0))


@program(ROW)
def mutual_recursion(x):
    def even(v, n):
        return v if n == 0 else odd(v * 1.1, n - 1)

    def odd(v, n):
        return v**2 if n == 0 else even(v + 0.1, n - 1)

    return even(x[0], 5) + odd(x[1], 4)


@program(ROW)
def a_fixed_point_combinator(x):
    def fix(f):
        return lambda *args: f(fix(f), *args)

    power = fix(lambda self, v, n: 1.0 if n == 0 else v * self(v, n - 1))
    return power(x[0], 3) + power(x[1], 2)


@program(ROW)
def currying(x):
    add = lambda a: lambda b: lambda c: a + b * c  # noqa: E731
    return add(x[0])(x[1])(x[0])
