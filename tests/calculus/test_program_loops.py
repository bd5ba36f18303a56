"""What a program's report says of loops: which are rolled, and what keeps the others from it."""

from __future__ import annotations

from typing import Any

import numpy as np

import adjoint as ad

X = np.cos(np.arange(60.0))


def test_a_loop_is_named_with_its_rounds_and_line() -> None:
    def relaxed(x: Any) -> Any:
        for _ in range(50):
            x = x - 0.1 * np.sin(x)
        return x

    report = ad.program(relaxed, np.ones(2)).loops()
    ((loop, line),) = report.rolled
    assert (loop.rounds, loop.equations) == (50, 3)
    first = relaxed.__code__.co_firstlineno
    assert line == f"{__file__}:{first + 2}"
    assert report.left == ()
    assert "a loop of 50 rounds, 3 equations each" in str(report)
    assert "x = x - 0.1 * np.sin(x)" in str(report)


def test_a_round_of_another_operation_is_named() -> None:
    chosen = np.random.default_rng(2).integers(2, size=60).tolist()

    def mixed(x: Any) -> Any:
        total = x[0]
        for k in range(60):
            total = total * 0.5 + np.exp(-total * x[k])
            total = np.sin(total) if chosen[k] else np.tanh(total)
        return total

    ((rounds, line), *_) = ad.program(mixed, X).loops().left
    k = next(k for k in range(1, 60) if chosen[k] != chosen[k - 1])
    assert rounds.kinds == 2
    name, before = ("sin", "tanh") if chosen[k] else ("tanh", "sin")
    assert f"has `{name}` where round " in rounds.why
    assert rounds.why.endswith(f"has `{before}`")
    assert line == f"{__file__}:{mixed.__code__.co_firstlineno + 4}"


def test_a_round_that_reads_something_else_is_named() -> None:
    def cells(x: Any) -> Any:
        rows = [x * k for k in range(9)]
        for k in range(9, 60):
            rows.append(np.sin(rows[k - 1]) + np.cos(rows[k - 2 - k**3 // 10 % 6]))
        return rows[-1]

    report = ad.program(cells, X).loops()
    (rounds,) = [rounds.why for rounds, _ in report.left]
    assert "`cos` reads a value of 4 rounds before, and in the one before a value of 3" in rounds
    assert "np.cos(rows[k - 2" in str(report)


def test_what_calls_and_what_is_large_is_named() -> None:
    @ad.primitive
    def opaque(x: Any) -> Any:
        return np.sin(x)

    def called(x: Any) -> Any:
        for _ in range(60):
            x = opaque(x) * 0.5 + np.cos(x)
        return x

    def large(x: Any) -> Any:
        for _ in range(60):
            x = np.cos(x) * 0.5 + x
        return x

    ((rounds, _),) = ad.program(called, 0.5).loops().left
    assert "calls what must run one by one" in rounds.why
    ((rounds, _),) = ad.program(large, np.ones(10_000)).loops().left
    assert "180 equations of arrays of more than 32 KiB" in rounds.why


def test_programs_without_loops() -> None:
    assert str(ad.program(np.tanh, 1.0).loops()) == "no loops"
    assert ad.program(ad.grad(np.tanh), 1.0).jvp().loops().left == ()
