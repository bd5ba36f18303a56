"""Recursive functions that do more than compute, or may: effects, warnings, errors, questions."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.capture.clones.remembering.repeatable import proof_of
from tests.capture.recursions import X, agrees, slope_by_differences
from tests.capture.test_remembered import paths

CALLS = [0]
rng = np.random.default_rng(1)


def counting(x: Any, n: int) -> Any:
    CALLS[0] += 1
    return x[0] if n == 0 else counting(x, n - 1) * x[1] + counting(x, n - 1)


def printing(x: Any, n: int) -> Any:
    print("at", n)
    return x[0] if n == 0 else printing(x, n - 1) * x[1] + printing(x, n - 1)


def drawing(x: Any, n: int) -> Any:
    return x[0] * rng.normal() if n == 0 else drawing(x, n - 1) * x[1] + drawing(x, n - 1)


def raising(x: Any, n: int) -> Any:
    if n == 0:
        raise ValueError("zero")
    return raising(x, n - 1)


def writing(x: Any, n: int) -> Any:
    x[0] = x[0] * 1.5
    return x[0] if n == 0 else writing(x, n - 1) * x[1] + writing(x, n - 1)


def test_effects_happen_each_time(kept: Any) -> None:
    CALLS[0] = 0
    ad.grad(lambda x: counting(x, 6))(X)
    assert CALLS[0] == 127
    assert not kept()


def test_text_is_printed_each_time(kept: Any, capsys: pytest.CaptureFixture[str]) -> None:
    ad.grad(lambda x: printing(x, 4))(X)
    assert capsys.readouterr().out.count("at") == 31


def test_numbers_are_drawn_each_time(kept: Any) -> None:
    rng.bit_generator.state = np.random.default_rng(3).bit_generator.state
    value, _ = ad.value_and_grad(lambda x: drawing(x, 4))(X)
    rng.bit_generator.state = np.random.default_rng(3).bit_generator.state
    np.testing.assert_allclose(value, drawing(X, 4), rtol=1e-12)


def test_arguments_are_written_into_each_time(kept: Any) -> None:
    agrees(lambda x: writing(x.copy(), 4))
    assert not kept()


def in_place(x: Any, n: int) -> Any:
    x *= 1.1
    return x[0] * 1.0 if n == 0 else in_place(x, n - 1) * x[1] + in_place(x, n - 1)


def into_a_row(x: Any, n: int) -> Any:
    row = x[1:]
    row += 0.1
    return x[1] * 1.0 if n == 0 else into_a_row(x, n - 1) * x[0] + into_a_row(x, n - 1)


def by_out(x: Any, n: int) -> Any:
    np.multiply(x, 1.1, x)
    return x[0] * 1.0 if n == 0 else by_out(x, n - 1) * x[1] + by_out(x, n - 1)


@pytest.mark.parametrize("function", [in_place, into_a_row, by_out])
def test_operators_that_write_into_arguments(kept: Any, function: Any) -> None:
    assert proof_of(function) is not None  # which arrays they are, the code does not say
    agrees(lambda x: function(x.copy(), 4))
    assert not kept()


def asking(x: Any, n: int) -> Any:
    if n == 0:
        return x[0] * (2.0 if x[1] > 0 else 3.0)
    return asking(x, n - 1) * x[2] + asking(x, n - 1)


def test_questions_are_asked_each_time(kept: Any) -> None:
    function = ad.jit(ad.grad(lambda x: asking(x, 4)))
    for sign in (1.0, -1.0, 1.0):
        point = X * np.array([1.0, sign, 1.0])
        expected = slope_by_differences(lambda x: asking(x, 4), point)
        np.testing.assert_allclose(function(point), expected, rtol=1e-5, atol=1e-7)


def overflowing(x: Any, n: int) -> Any:
    if n == 0:
        return np.exp(x[0] * 2000.0)
    return overflowing(x, n - 1) * 0.5 + overflowing(x, n - 1) * x[1]


def test_warnings_come_each_time(kept: Any) -> None:
    counts = []
    for way in (lambda x: overflowing(x, 6), ad.jit(lambda x: overflowing(x, 6))):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            way(X)
        counts.append(len(warned))
    assert counts[0] == counts[1] > 60
    assert kept() > 0


def test_programs_do_not_depend_on_warnings(kept: Any) -> None:
    function = ad.jit(lambda x: logarithms(x, 6) * overflowing(x, 3))
    function(0.1 * np.abs(X))
    before = kept()
    with pytest.warns(RuntimeWarning):
        function(X[::-1])  # which these tests capture too, and compare with the replay
    assert kept() > before > 0


def test_handlers_and_logs_of_errors_are_called_each_time(kept: Any) -> None:
    met: list[Any] = []

    def function(x: Any) -> Any:
        with np.errstate(over="call", call=lambda *about: met.append(about)):
            return overflowing(x, 4)

    log = io.StringIO()

    def logged(x: Any) -> Any:
        with np.errstate(over="log", call=log):
            return overflowing(x, 4)

    for way in (function, logged):
        way(X)
    plain = len(met), log.getvalue().count("\n")
    met.clear()
    log.truncate(0)
    for way in (function, logged):
        ad.value_and_grad(way)(X)
    assert (len(met), log.getvalue().count("\n")) >= plain
    assert not kept()


def logarithms(x: Any, n: int) -> Any:
    if n < 2:
        return np.log(x[n])
    return logarithms(x, n - 1) * 0.5 + logarithms(x, n - 2)


@pytest.mark.parametrize("modes", [{"under": "ignore"}, {"all": "ignore"}])
def test_what_was_quiet_warns_elsewhere(kept: Any, modes: Any) -> None:
    # The modes of `under` are what they are anyway, but what is recorded in there never warns.
    def function(x: Any) -> Any:
        with np.errstate(**modes):
            total = logarithms(x, 5)
        return total + logarithms(x, 5)

    jitted = ad.jit(function)
    np.testing.assert_allclose(jitted(np.abs(X)), function(np.abs(X)))
    with pytest.warns(RuntimeWarning, match="invalid value"):
        jitted(X[::-1])
    assert kept() > 0


def endless(x: Any) -> Any:
    def again() -> Any:
        return again()

    CALLS[0] += 1
    return again()


def through_a_name(x: Any, n: int) -> Any:
    if n < 2:
        return changing(x) * 1.0
    return through_a_name(x, n - 1) * 0.5 + through_a_name(x, n - 2)


def changing(x: Any) -> Any:
    return x[0]


def test_effects_happen_once_where_the_stack_ends(kept: Any) -> None:
    plain = changing

    def function(x: Any) -> Any:
        global changing
        total = through_a_name(x, 5)
        changing = endless
        try:
            total = total + through_a_name(x, 5)
        except RecursionError:
            total = 2.0 * total
        finally:
            changing = plain
        return total

    CALLS[0] = 0
    ad.value_and_grad(function)(X)
    assert CALLS[0] == 1
    assert kept() > 0


def test_an_error_comes_where_it_is_raised_later(kept: Any) -> None:
    def function(x: Any) -> Any:
        with np.errstate(all="ignore"):
            total = overflowing(x, 4) + overflowing(x, 4) + overflowing(x, 4)
        with np.errstate(all="raise"):
            return total + overflowing(x, 4)

    with pytest.raises(FloatingPointError):
        ad.grad(function)(X)


def test_errors_are_raised_each_time(kept: Any) -> None:
    def function(x: Any) -> Any:
        met = 0
        for _ in range(8):
            try:
                raising(x, 3)
            except ValueError:
                met += 1
        return x[0] * met

    np.testing.assert_allclose(ad.grad(function)(X), [8.0, 0.0, 0.0])


def test_batches(kept: Any) -> None:
    stack = np.stack([X, 2 * X])
    found = ad.vmap(lambda x: paths(x, 4, 4))(stack)
    np.testing.assert_allclose(found, [paths(x, 4, 4) for x in stack], rtol=1e-12)
    assert not kept()


def test_captures_within_captures(kept: Any) -> None:
    def function(x: Any) -> Any:
        inner = ad.grad(lambda y: paths(y, 3, 3) * paths(x, 3, 3))(x)
        return np.sum(inner) + paths(x, 3, 3)

    value = ad.value_and_grad(function)(X)[0]
    slope = slope_by_differences(lambda x: paths(x, 3, 3), X)
    np.testing.assert_allclose(value, slope.sum() * paths(X, 3, 3) + paths(X, 3, 3), rtol=1e-6)


def descending(x: Any, n: int) -> Any:
    return x[0] * 1.0 if n == 0 else descending(x, n - 1) * 0.99 + x[1]


def test_deep_recursion_takes_few_more_frames(kept: Any) -> None:
    agrees(lambda x: descending(x, 500))


def test_nothing_is_kept_of_a_capture(kept: Any) -> None:
    function = lambda x: paths(x, 4, 4)  # noqa: E731
    ad.grad(function)(X)
    assert not [effect for effect in [str(ad.explain(function, X))] if "keeps values" in effect]
