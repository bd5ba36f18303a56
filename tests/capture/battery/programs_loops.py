"""Loops: names that are bound anew, lengths that depend on values, exits of all kinds."""

from __future__ import annotations

import itertools

import numpy as np

from tests.capture.battery.registry import program

ROW = np.array([0.7, 1.3, 2.1])


@program(ROW, native=True)
def a_name_bound_anew_now_and_then(x):
    y, previous, total = x, x, 0.0
    for k in range(300):
        if k % 7 == 0:
            previous = y
        y = y * 0.97
        total = total + np.sum(previous * y)
    return total


@program(ROW)
def a_previous_value_in_each_round(x):
    y, total = x, 0.0
    for _ in range(100):
        previous = y
        y = y * 0.97
        total = total + np.sum((y - previous) ** 2)
    return total


@program(ROW, native=True)
def two_values_that_swap(x):
    a, b = x, x * 2
    for _ in range(300):
        a, b = b, 0.5 * (a + np.sin(b))
    return np.sum(a * b)


@program(ROW)
def three_values_that_turn(x):
    a, b, c = x, x * 2, x * 3
    for k in range(60):
        a, b, c = b, c, (a + 0.1 * k) / (1 + k)
    return np.sum(a + 2 * b + 3 * c)


@program(0.7)
def a_list_that_grows_in_a_loop(x):
    values = [x]
    for k in range(60):
        values.append(np.sin(values[-1]) + values[k // 2] * 0.1)
    return sum(values)


@program(0.7)
def fibonacci_with_floats(x):
    a, b = x, 1.0
    for _ in range(40):
        a, b = b, 0.5 * (a + b)
    return b


@program(0.7)
def a_coefficient_that_changes(x):
    y, rate = x, 1.0
    for k in range(100):
        y = y + 0.01 * rate * np.cos(y)
        rate = rate * 0.99 if k % 3 else rate * 1.01
    return y


@program(ROW, native=True)
def rounds_that_differ_in_kind(x):
    y = x
    for k in range(90):
        if k % 3 == 0:
            y = np.sin(y)
        elif k % 3 == 1:
            y = y * 1.01
        else:
            y = y + 0.1
    return np.sum(y)


@program(ROW, native=True)
def every_hundredth_round_is_saved(x):
    y, saved = x, []
    for k in range(300):
        y = y * 0.99 + 0.001 * np.cos(y)
        if k % 100 == 0:
            saved.append(y)
    return sum(np.sum(s**2) for s in saved) + np.sum(y)


@program(ROW, native=True)
def in_place_in_a_loop(x):
    y = x.copy()
    for k in range(200):
        y *= 0.99
        y[k % 3] += 0.01
    return np.sum(y)


@program(ROW)
def a_buffer_that_is_shifted(x):
    y = np.zeros(5)
    y[:3] = x
    for k in range(40):
        y[1:] = y[:-1].copy()
        y[0] = 0.5 * y[1] + 0.1 * y[-1] + 0.01 * k
    return np.sum(y**2)


@program(ROW)
def double_buffering(x):
    old, new = np.zeros(5), np.zeros(5)
    old[1:4] = x
    for _ in range(50):
        new[1:-1] = 0.5 * old[1:-1] + 0.25 * (old[:-2] + old[2:])
        old, new = new, old
    return np.sum(old**2)


@program(0.7)
def while_with_a_break(x):
    n = 0
    while True:
        x = x * 1.5
        n += 1
        if x > 10:
            break
    return x * n


@program(0.7)
def while_with_an_else(x):
    k = 0
    while k < 3:
        x, k = x * 1.1, k + 1
        if x > 5:
            break
    else:
        x = x * 7
    return x


@program(ROW)
def for_with_an_else(x):
    for v in x:
        if v > 5:
            found = v
            break
    else:
        found = np.sum(x) * 3
    return found


@program(ROW)
def for_with_a_break(x):
    for k, v in enumerate(x):
        if v > 1:
            break
    return v * (k + 1) * 2


@program(ROW)
def continue_in_a_loop(x):
    total = 0.0
    for v in x:
        if v < 1:
            continue
        total = total + v**2
    return total


@program(ROW)
def loops_in_loops_with_exits(x):
    total = 0.0
    for i in range(3):
        for j in range(3):
            if j > i:
                break
            if (i + j) % 2:
                continue
            total = total + x[i] * x[j] * (i + 1)
    return total


@program(0.7)
def the_walrus(x):
    total = 0.0
    while (x := x * 0.5) > 0.01:
        total = total + x
    return total + (y := x * 3) * y


@program(0.7)
def convergence_by_a_tolerance(x):
    y = 1.0
    while abs(np.cos(y) * x - y) > 1e-13:
        y = np.cos(y) * x
    return y


@program(0.7)
def a_series_until_it_converges(x):
    term, total, n = 1.0, 1.0, 1
    while abs(term) > 1e-17:
        term = term * x / n
        total, n = total + term, n + 1
    return total


@program(0.75)
def rounds_counted_by_the_value(x):
    total = 0.0
    for _ in range(int(10 * x)):
        total = total + x**2
    return total


@program(ROW)
def a_loop_over_products(x):
    return sum(a * b for a, b in itertools.product(x, repeat=2)) + sum(
        np.prod(c) for c in itertools.combinations(x, 2)
    )


@program(ROW)
def a_loop_over_rows(x):
    total = 0.0
    for row in np.outer(x, x):
        for v in row:
            total = total + v**2
    return total


@program(ROW)
def a_loop_over_indices(x):
    y = np.zeros((3, 3))
    for i, j in np.ndindex(3, 3):
        y[i, j] = x[i] * x[j] + i
    return np.sum(np.sin(y))


@program(ROW)
def a_loop_by_enumerate(x):
    y = np.outer(x, x)
    return sum((i + 2 * j) * v for (i, j), v in np.ndenumerate(y))


@program(ROW)
def a_loop_backwards(x):
    y = 0.0
    for v in reversed(x):
        y = y * 0.7 + v
    for k in range(2, -1, -1):
        y = y + x[k] ** (k + 1)
    return y


@program(ROW)
def a_loop_in_chunks(x):
    y = np.tile(x, 5)
    total = 0.0
    for start in range(0, len(y), 4):
        total = total + np.prod(y[start : start + 4])
    return total


@program(ROW)
def a_loop_with_windows(x):
    y = np.concatenate([x, x**2])
    return sum(np.max(y[k : k + 3]) * k for k in range(4))


@program(0.7)
def nested_loops_of_many_rounds(x):
    y = x
    for k in range(8):
        for j in range(15):
            y = y + 0.001 * np.sin(y * (j + 1)) / (k + 1)
    return y


@program(ROW)
def loop_variables_after_the_loop(x):
    for k in range(3):
        y = x[k] * 2
    return y * k


@program(ROW)
def an_empty_loop(x):
    total = np.sum(x)
    for v in x[:0]:
        total = total + v * 100
    return total


@program(ROW)
def a_loop_over_a_copy_that_is_changed(x):
    values = list(x)
    for v in values[:]:
        if v > 1:
            values.remove(v)
    return values[0] * 3


@program(ROW)
def a_list_changed_while_it_is_looped_over(x):
    values, total = list(x), 0.0
    for v in values:
        total = total + v
        if len(values) < 5:
            values.append(v * 2)
    return total


@program(0.7)
def horner_with_zip(x):
    y = 0.0
    for c, n in zip([1.0, 2.0, 3.0], itertools.count(1), strict=False):
        y = y * x + c * n
    return y


@program(0.7)
def recursion_instead_of_a_loop(x):
    def go(y, n):
        return y if n == 0 else go(y + 0.1 * np.sin(y), n - 1)

    return go(x, 50)


@program(ROW)
def many_names(x):
    a = b = c = x * 2
    d = e = 0.0
    for _ in range(30):
        a, b, c, d, e = b + 0.1, c, a * 0.9, np.sum(a) + 0.1 * e, d
    return np.sum(a * b * c) + d * e


@program(ROW)
def a_flag_that_turns(x):
    up, y, total = True, x[0], 0.0
    for _ in range(50):
        y = y * 1.1 if up else y * 0.9
        if y > 2:
            up = False
        elif y < 0.5:
            up = True
        total = total + y
    return total


@program(np.linspace(0.1, 2.0, 40))
def a_running_maximum(x):
    best, total = x[0], 0.0
    for v in x:
        best = max(best, v)
        total = total + best * v
    return total


@program(np.linspace(0.1, 2.0, 40))
def an_exponential_mean(x):
    mean, out = x[0], []
    for v in x:
        mean = 0.9 * mean + 0.1 * v
        out.append(mean)
    return np.sum(np.array(out) ** 2)


@program(np.sin(np.arange(30.0)) + 2)
def a_median_filter(x):
    y = x.copy()
    for k in range(1, len(x) - 1):
        y[k] = np.median(x[k - 1 : k + 2])
    return np.sum(y**2)


@program(0.7, native=True)
def a_long_loop_of_few_floats(x):
    position, velocity = x, 0.0
    for _ in range(350):
        velocity = velocity - 0.01 * position
        position = position + 0.01 * velocity
    return position
