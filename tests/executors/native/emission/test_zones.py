"""Loops in zones: joined arrays, writes into parts, sums of shifted parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.executors.native.graph.indices import (
    IndexGuard,
    Label,
    Term,
    label_term,
    quotient,
    recombined,
    row_strides,
    total,
)
from adjoint.executors.native.schedule.zones import borders_of


def assert_same_numbers(got: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        for one, other in zip(got, expected, strict=True):
            assert_same_numbers(one, other)
        return
    np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-11 * np.max(np.abs(expected)))


def _value(term: Term, values: dict[Any, int]) -> int:
    result = term.offset
    for atom, factor in term.parts:
        if isinstance(atom, Label):
            result += factor * values[atom]
            continue
        inner = _value(atom.term, values) // atom.divisor  # type: ignore[union-attr]
        modulus = atom.modulus  # type: ignore[union-attr]
        result += factor * (inner % modulus if modulus else inner)
    return result


def _guards(random: np.random.Generator) -> Iterator[tuple[IndexGuard, Label, Label]]:
    for _ in range(300):
        label, other = Label(int(random.integers(2, 60)), 0), Label(int(random.integers(2, 5)), 1)
        other.unrolled = True
        factor = int(random.choice([1, 2, 3, -1, -2]))
        inner = label_term(label).scaled(int(random.choice([1, 2])), int(random.integers(0, 9)))
        term = quotient(inner, int(random.choice([1, 3, 5]))).scaled(factor)
        term = total([(term, 1), (label_term(other), int(random.integers(0, 3)))])
        low = int(random.integers(-70, 70))
        yield IndexGuard(term, low, low + int(random.integers(1, 40))), label, other


def test_between_borders_a_guard_does_not_change() -> None:
    random = np.random.default_rng(0)
    changes = 0
    for guard, label, other in _guards(random):
        borders = set(borders_of(guard, label))
        for value in range(other.extent):
            held = [
                guard.low <= _value(guard.term, {label: k, other: value}) < guard.high
                for k in range(label.extent)
            ]
            for k in range(1, label.extent):
                if held[k] != held[k - 1]:
                    changes += 1
                    assert k in borders, (guard, k)
    assert changes > 100


def test_what_is_known_of_a_guard_holds() -> None:
    random = np.random.default_rng(1)
    answers = set()
    for guard, label, other in _guards(random):
        first = int(random.integers(0, label.extent))
        last = int(random.integers(first, label.extent))
        known = guard.known({label: (first, last)})
        answers.add(known)
        if known is None:
            continue
        for k in range(first, last + 1):
            for value in range(other.extent):
                there = _value(guard.term, {label: k, other: value})
                assert (guard.low <= there < guard.high) == known
    assert answers == {True, False, None}


def test_digits_are_put_together_again() -> None:
    random = np.random.default_rng(2)
    for _ in range(100):
        shape = tuple(int(n) for n in random.integers(2, 6, size=random.integers(1, 5)))
        size = int(np.prod(shape))
        label = Label(2 * size, 0)
        flat = label_term(label).scaled(1, int(random.integers(0, 5)))
        digits = [
            quotient(flat, step, length if axis else 0)
            for axis, (step, length) in enumerate(zip(row_strides(shape), shape, strict=True))
        ]
        back = recombined(total(zip(digits, row_strides(shape), strict=True)))
        assert all(isinstance(atom, Label) for atom in back.atoms())
        for k in range(label.extent):
            assert _value(back, {label: k}) == _value(flat, {label: k})


def test_other_sums_of_quotients_stay_as_they_are() -> None:
    label = Label(100, 0)
    term = total([(quotient(label_term(label), 6), 6), (quotient(label_term(label), 1, 4), 1)])
    assert recombined(term) == term


# --- programs -------------------------------------------------------------------------------------

Function = Callable[..., Any]


def _joined(x: Any, y: Any) -> Any:
    return np.concatenate([np.sin(x), y, x[::-1] * 2.0, y[1:]])


def _many(x: Any, y: Any) -> Any:
    return np.concatenate([part for k in range(24) for part in (x[k:] + k, y[:k])])


def _stacked(x: Any, y: Any) -> Any:
    return np.stack([x * k for k in range(20)]) @ np.ones(len(x)) + y[0]


def _filled(x: Any, y: Any) -> Any:
    out = np.zeros(3 * len(x))
    out[: len(x)] = x * 2.0
    out[len(x) :: 2] = np.exp(x[0])
    out[::-3] = x
    out[5:-5] += y[0]
    return out


def _stencil(x: Any, y: Any) -> Any:
    step = x[2:] - 2.0 * x[1:-1] + x[:-2]
    return np.sum(step**2) * y[0] + np.sum(x[3:] * x[:-3])


def _reshaped(x: Any, y: Any) -> Any:
    rows = np.outer(x, y[:3])
    return np.concatenate([(2.0 * rows).ravel(), y, rows.T.ravel()])


def _wide(x: Any, y: Any) -> Any:
    table = np.outer(x, x)
    around = np.pad(table, ((1, 2), (3, 0))) * y[0]
    return np.concatenate([around, around[:, ::-1]], axis=1)


def _flattened(x: Any, y: Any) -> Any:
    return np.repeat(np.outer(x, y)[:, 1:], 2, axis=0).ravel(), np.outer(x, y).T.ravel()


FUNCTIONS = [_joined, _many, _stacked, _filled, _stencil, _reshaped, _wide, _flattened]


@pytest.mark.parametrize("size", [24, 61, 256])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_joined_arrays_are_those_of_numpy(function: Function, size: int) -> None:
    random = np.random.default_rng(size)
    x, y = random.standard_normal(size), random.standard_normal(size - 20)

    def total_of(x: Any, y: Any) -> Any:
        results = function(x, y)
        parts = results if isinstance(results, tuple) else (results,)
        return sum(np.sum(np.sin(part) * part) for part in parts)

    slope = ad.grad(total_of, argnums=(0, 1))
    with ad.config(native=False):
        expected = function(x, y), slope(x, y)
    with ad.config(native=True):
        got = ad.jit(function)(x, y), ad.jit(slope)(x, y)
    assert_same_numbers(got, expected)


@pytest.mark.parametrize("function", [_joined, _stencil, _wide])
def test_joined_arrays_in_a_loop(function: Function) -> None:
    random = np.random.default_rng(5)
    x, y = random.standard_normal(40), random.standard_normal(20)

    def looped(x: Any) -> Any:
        def body(k: Any, x: Any) -> Any:
            return x + 0.01 * np.sin(np.sum(function(x, y)))

        return ad.fori_loop(0, 5, body, x)

    with ad.config(native=False):
        expected = looped(x), ad.jacobian(looped)(x)
    with ad.config(native=True):
        got = ad.jit(looped)(x), ad.jit(ad.jacobian(looped))(x)
    assert_same_numbers(got, expected)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_zones_are_shared_by_threads(threads: int) -> None:
    random = np.random.default_rng(6)
    x, y = random.standard_normal(200_003), random.standard_normal(150_001)

    def function(x: Any, y: Any) -> Any:
        joined = np.concatenate([np.sin(x), y, np.cos(x[:1000]), np.exp(-(y**2))])
        return joined, np.sum(joined * joined), np.sum((x[2:] - x[:-2]) ** 2)

    expected = function(x, y)
    with ad.config(native=True, threads=threads):
        got = ad.jit(function)(x, y)
    assert_same_numbers(got, expected)


def test_a_masked_operand_raises_no_fault() -> None:
    x = np.full(1000, 2.0)

    def function(x: Any) -> Any:
        return np.concatenate([np.zeros(500), 1.0 / x, np.log(x), np.zeros(77)])

    with ad.config(native=True), np.errstate(all="raise"):
        assert_same_numbers(ad.jit(function)(x), function(x))
