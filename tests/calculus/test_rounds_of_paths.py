"""Loops of Python's own whose rounds take different paths, count, and change plain numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.calculus.test_rounds import loops_in
from tests.reverse import pulled


def compare_with_python(function: Any, points: tuple[float, ...]) -> None:
    """Values and derivatives, jitted and not, are those of the function that Python runs."""
    jitted, back = ad.jit(ad.value_and_grad(function)), ad.jit(pulled(function))
    for a in points:
        h = 1e-7
        slope = (function(a + h) - function(a - h)) / (2 * h)
        for value, derivative in (jitted(a), ad.value_and_grad(function)(a)):
            np.testing.assert_allclose(value, function(a), rtol=1e-9)
            np.testing.assert_allclose(derivative, slope, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(back(a), slope, rtol=1e-4, atol=1e-6)


def counted(a: Any) -> Any:
    x, count = a, 0
    while x > 1e-3 and count < 60:
        x = 0.9 * x
        count += 1
    return x + count / 10


def every_third(a: Any) -> Any:
    x, count = a, 0
    while x > 1e-3:
        count += 1
        x = 0.8 * x if count % 3 == 0 else 0.95 * x
    return x * a


def shrinking_steps(a: Any) -> Any:
    x, step = a, 1.0
    while step > 1e-6:
        moved = x - step * 2 * (x - 0.3 * a)
        if abs(moved - 0.3 * a) < abs(x - 0.3 * a):
            x = moved
        else:
            step = step / 2
        step = 0.97 * step
    return x * x


def descent(function: Callable[[Any], Any], x: Any) -> Any:
    """A descent that doubles its step after ten good ones, and halves it after a bad one."""
    good, step = 0, 1e-2
    value, slope = ad.value_and_grad(function)(x)
    while True:
        if np.sqrt(np.sum(slope * slope)) <= 1e-6:
            return x
        if good == 10:
            step, good = 2 * step, 0
        else:
            moved = x - step * slope
            if np.sqrt(np.sum((x - moved) ** 2)) <= 1e-9:
                return x
            other, tilt = ad.value_and_grad(function)(moved)
            if other < value:
                x, value, slope, good = moved, other, tilt, good + 1
            else:
                step, good = step / 2, 0


def minimum(a: Any) -> Any:
    return np.sum(
        descent(lambda x: np.sum((x - a) ** 2) + 0.1 * np.sum(x**4), np.array([1.0, 2.0]))
    )


def of_constants(a: Any) -> Any:
    """The place does not depend on `a`, but the questions do."""
    x, y = np.array([1.0, 2.0]), 0.0 * a
    while np.sum(x * x) > 1e-2 * a:
        x, y = 0.9 * x, y + a * np.sum(x)
    return y


def nested_in_a_function(a: Any) -> Any:
    def settled(x: Any) -> Any:
        while x > 1e-2:
            x = x - 0.4 * np.sin(x)
        return x

    x, total = a * 1.0, 0.0 * a
    while x > 0.1:
        total = total + settled(x)
        x = x - 0.1 * np.sin(x) * a
    return total


def pipeline(a: Any) -> Any:
    w, x, y, z = 4 * a, 3 * a, 2 * a, a * 1.0
    while w + x + y + z > 1e-3:
        w, x, y, z = 0.5 * np.sin(z) + 0.3 * w, w, x, y
    return w + 2 * x + 3 * y + 4 * z


LOOPS = (
    *(counted, every_third, shrinking_steps, minimum, of_constants, nested_in_a_function),
    pipeline,
)
POINTS = (1.0, 0.7, 1.9, 0.31, 1.0)


@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_values_and_derivatives_are_those_of_the_rounds(function: Any) -> None:
    jitted, value = ad.jit(ad.value_and_grad(function)), ad.jit(function)
    back = ad.jit(pulled(function))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for a in POINTS:
            h = 1e-6
            expected = (function(a + h) - function(a - h)) / (2 * h)
            np.testing.assert_allclose(value(a), function(a), rtol=1e-8)
            for number, slope in (jitted(a), ad.value_and_grad(function)(a)):
                np.testing.assert_allclose(number, function(a), rtol=1e-8)
                np.testing.assert_allclose(slope, expected, rtol=2e-3, atol=1e-6)
            np.testing.assert_allclose(back(a), expected, rtol=2e-3, atol=1e-6)


@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_they_are_loops(function: Any) -> None:
    assert loops_in(function, 1.0) >= 1


@pytest.mark.parametrize("function", [counted, every_third, minimum])
def test_other_numbers_of_rounds_need_no_capture(function: Any) -> None:
    jitted = ad.jit(function)
    for a in POINTS:
        jitted(a)
    before = ad.cache_info().misses
    for a in (0.9, 1.3, 0.6, 1.7):
        np.testing.assert_allclose(jitted(a), function(a), rtol=1e-8)
    assert ad.cache_info().misses == before


def test_a_count_is_a_whole_number() -> None:
    def rounds(a: Any) -> Any:
        x, count = a, 0
        while x > 1e-3:
            x = 0.9 * x
            count += 1
        return x, count

    jitted = ad.jit(rounds)
    for a in (1.0, 2.0, 0.5, 1.0):
        _, count = jitted(a)
        assert count == rounds(a)[1]
        assert isinstance(count, (int, np.integer))


def text(a: Any) -> Any:
    x, count = a, 0
    while x > 1e-3:
        x = 0.9 * x
        count += 1
    return x * len(f"{count} rounds")


def entries(a: Any) -> Any:
    x, count = a, 0
    while x > 1e-3:
        x = 0.9 * x
        count += 1
    return x * len([1] * (count + 1)) + {count: 2.0}.get(count, 0.0)


def large(a: Any) -> Any:
    x, factor = a, 1
    while x > 1e-3:
        x = 0.9 * x
        factor = factor * 7
    return x * (factor % 1000)


def roots(a: Any) -> Any:
    x, y, h = a, 0.0 * a, 2.0
    while x > 1e-3:
        x, h = 0.9 * x, h - 0.1
        y = y + abs(h**0.5) * x
    return y


@pytest.mark.parametrize("function", [text, entries, large, roots], ids=lambda f: f.__name__)
def test_numbers_that_are_more_than_numbers_stay_pythons(function: Any) -> None:
    compare_with_python(function, (1.0, 2.0, 0.5, 1.0))


def three_deep(a: Any) -> Any:
    x, total = a, 0.0 * a
    while x < 20.0:
        y = x
        while y < 20.0:
            z = y
            while z < 20.0:
                z = z * 1.3
                total = total + a
            y = y * 1.2
        x = x * 1.3
    return total


def two_in_a_row(a: Any) -> Any:
    x, y, total = a, 2 * a, 0.0 * a
    for _ in range(3):
        while x > 1e-2:
            x = 0.7 * x
        while y > 1e-2:
            y, total = 0.8 * y, total + y * x
        x, y = a + x, 2 * a + y
    return total


def shared_helper(a: Any) -> Any:
    def shrunk(x: Any, factor: float) -> Any:
        while x > 1e-2:
            x = factor * x
        return x

    return shrunk(a, 0.9) + 2 * shrunk(3 * a, 0.8) + 3 * shrunk(shrunk(a, 0.95) + a, 0.9)


@pytest.mark.parametrize("function", [three_deep, two_in_a_row, shared_helper])
def test_loops_within_and_after_loops(function: Any) -> None:
    compare_with_python(function, (1.0, 2.0, 0.3, 7.0, 1.0))


def test_numbers_of_pythons_overflow_in_silence() -> None:
    def growing(a: Any) -> Any:
        x, scale = a, 1.0
        while x < 50.0:
            x, scale = x + a, scale * 1e20
        return x + 1 / scale

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for a in (1.0, 2.0, 0.9):
            np.testing.assert_allclose(ad.jit(growing)(a), growing(a))


# --- what others hold as well ---------------------------------------------------------------------


def swapped_lists(a: Any) -> Any:
    one, other = [a * 1.0, 0.0 * a], [a * 2.0, 0.0 * a]
    held = one
    while one[0] + other[0] > 1e-2:
        one[0] = 0.8 * one[0]
        one[1] = one[1] + 0.1 * one[0]
        one, other = other, one
    return held[0] + 2 * held[1] + 3 * one[1]


def buffers(a: Any) -> Any:
    front, back = np.array([1.0, 2.0]) * a, np.zeros(2) * a
    first = front
    while front[0] > 1e-2:
        back[:] = 0.9 * front
        front, back = back, front
    return np.sum(first) + 2 * front[1]


def given_up(a: Any) -> Any:
    x = np.array([1.0, 2.0]) * a
    first = x
    while x[0] > 1e-2:
        x *= 0.9
        x = 0.9 * x
    return np.sum(first) + x[1]


def chained(a: Any) -> Any:
    node: dict[str, Any] = {"x": a * 1.0, "next": None}
    first = node
    while node["x"] > 1e-2:
        node["next"] = {"x": 0.9 * node["x"], "next": None}
        node = node["next"]
    total, node = 0.0 * a, first
    for _ in range(5):
        total = total + node["x"]
        node = node["next"]
    return total


def copied_on_the_way(a: Any) -> Any:
    x = np.array([1.0, 2.0]) * a
    best = x
    while np.sum(x) > 1e-2:
        x = 0.9 * x
        if x[1] > a:
            best = x
        x[0] = 0.95 * x[0]
    return best[0] + best[1] * x[1]


def rebuilt(a: Any) -> Any:
    weights = [a * 1.0, 2.0 * a]
    first = weights
    while sum(weights) > 1e-2:
        weights = [0.9 * w for w in weights]
    return first[0] + weights[0] * weights[1]


@pytest.mark.parametrize(
    "function",
    [swapped_lists, buffers, given_up, chained, copied_on_the_way, rebuilt],
    ids=lambda f: f.__name__,
)
def test_what_is_held_elsewhere_is_as_python_leaves_it(function: Any) -> None:
    compare_with_python(function, (1.0, 2.0, 0.5, 1.0))


def test_without_a_round_an_array_is_still_the_callers() -> None:
    def halved(x: Any) -> Any:
        while x[0] > 1.0:
            x = 0.5 * x
        x[1] = 7.0
        return np.sum(x)

    def calling(a: Any) -> Any:
        x = np.array([1.0, 2.0]) * a
        return halved(x) + x[1]

    jitted = ad.jit(calling)
    for a in (64.0, 0.5, 32.0, 0.25, 3.0):
        np.testing.assert_allclose(jitted(a), calling(a))


def test_a_class_within_a_function_keeps_its_names() -> None:
    def with_class(a: Any) -> Any:
        class Settled:
            x = a
            rounds = 0
            while x > 1e-2:
                x = 0.9 * x
                rounds = rounds + 1

        return Settled.x * Settled.rounds

    for a in (1.0, 2.0):
        np.testing.assert_allclose(ad.jit(with_class)(a), with_class(a))


local_names = locals


def test_the_names_of_a_frame_stay_the_users() -> None:
    def looking(a: Any) -> Any:
        x = a * 1.0
        names = local_names()
        while x > 1e-2:
            x = 0.5 * x
        return x * len(names)

    for a in (1.0, 2.0):
        np.testing.assert_allclose(ad.jit(looking)(a), looking(a))


def test_an_error_of_a_later_round_is_raised() -> None:
    def divided(a: Any) -> Any:
        x, y = a, 1.0
        while x > 0.05:
            x = x - 0.1
            y = y / x
        return y

    jitted = ad.jit(divided)
    assert jitted(0.95) == pytest.approx(divided(0.95))
    x = 0.3
    for _ in range(3):
        x = x - 0.1
    start = 0.3 - x  # from where a round divides by zero exactly
    for function in (divided, jitted):
        if start > 0.05:
            with pytest.raises(ZeroDivisionError):
                function(0.1)
    with pytest.raises(ZeroDivisionError):
        jitted(0.1)


def test_changes_of_modules_within_rounds_are_seen() -> None:
    steps: list[int] = []

    def noted(a: Any) -> Any:
        x = a
        while x > 1e-2:
            steps.append(1)
            x = 0.5 * x
        return x

    for _ in range(3):
        steps.clear()
        ad.grad(noted)(1.0)
        assert len(steps) == 7


def known_array_of_two_names(a: Any) -> Any:
    x, y = np.array([1.0, 2.0]), 0.0 * a
    kept = x
    while np.sum(x) > 0.1 * a:
        kept = x
        x = 0.8 * x
        kept[0] = kept[0] + 0.01
        y = y + a * x[0] + kept[0]
    return y + np.sum(kept) * a


def known_array_of_a_cell(a: Any) -> Any:
    x, y = np.array([1.0, 2.0]), 0.0 * a

    def first() -> Any:
        return x[0]

    while np.sum(x) > 0.1 * a:
        x = 0.8 * x
        y = y + a * first()
    return y


def lists_that_become_one(a: Any) -> Any:
    one, other = [a * 1.0], [a * 1.0]
    while one[0] > 1e-2:
        one[0] = 0.8 * one[0]
        other[0] = other[0] + 0.1 * one[0]
        if one[0] < 0.1 * a:
            other = one
    return one[0] + 2 * other[0]


def compared_lists(a: Any) -> Any:
    x, y = a, 2 * a
    while [x, y] > [0.1, 0.5]:
        x, y = 0.9 * x, 0.85 * y
    return x + y


@pytest.mark.parametrize(
    "function",
    [known_array_of_two_names, known_array_of_a_cell, lists_that_become_one, compared_lists],
)
def test_names_of_one_object_stay_names_of_one(function: Any) -> None:
    compare_with_python(function, (1.0, 2.0, 0.5, 1.3))


def either(a: Any) -> Any:
    y = a
    while True:
        y = y * 1.1 + 0.1
        hit = (y > 50.0) or (y < -50.0)
        if hit:
            return y


def first_that_counts(a: Any) -> Any:
    y = a
    while True:
        y = y * 1.1 + 0.1
        rest = np.maximum(y - 50.0, 0.0) or 0.0
        if rest:
            return y + rest


def _looped_over(p: list[float], q: list[float], y: Any) -> Any:
    weight = 0.0
    while y < 100.0:
        y = y * 1.1 + 0.1
        if y > 40.0:
            p.append(2.0)
            weight = weight + len(q)
            p.pop()
        else:
            weight = weight + 0.1
    return weight + 0 * y


def lists_that_are_one_in_one_call(a: Any) -> Any:
    both = [1.0]
    return _looped_over([1.0], [1.0], a) * 0 + _looped_over(both, both, a)


def attribute_of_a_derivative(a: Any) -> Any:
    function: Any = ad.grad(lambda z: z * z)
    function.total, y = a * 1.0, a
    while y < 100.0:
        y = y * 1.1 + 0.1
        function.total = function.total + 1.0
    return y * 0 + function.total


def attribute_of_a_class(a: Any) -> Any:
    kind: Any = type("Kind", (), {})
    kind.total, y = a * 1.0, a
    while y < 100.0:
        y = y * 1.1 + 0.1
        kind.total = kind.total + 1.0
    return y * 0 + kind.total


def _bare() -> Any:
    def nothing() -> None:
        pass

    return nothing


def functions_that_swap(a: Any) -> Any:
    one, other = _bare(), _bare()
    one.total, other.total, y = a * 1.0, a * 2.0, a
    first, second = one, other
    while y < 100.0:
        y = y * 1.1 + 0.1
        one.total = one.total + 1.0
        if np.sin(y) > 0.0:
            one, other = other, one
    return y * 0 + 3 * first.total + 5 * second.total


def large_constant(a: Any) -> Any:
    y, count = a, 0
    while y < 100.0:
        y = y * 1.1 + 0.1
        count += 1
    return y + (count + 4611686018427387904 + 4611686018427387904) / 1e18


@pytest.mark.parametrize(
    "function",
    [
        *(either, first_that_counts, lists_that_are_one_in_one_call, attribute_of_a_derivative),
        *(attribute_of_a_class, functions_that_swap, large_constant),
    ],
)
def test_what_rounds_read_and_write_elsewhere_is_seen(function: Any) -> None:
    compare_with_python(function, (1.0, 2.0, 0.4, 1.3))
