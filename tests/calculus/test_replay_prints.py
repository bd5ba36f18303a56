"""Replay: what a function prints is printed at each call, with the values of that call."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.calculus.jit import replay
from tests.calculus.replaying import X
from tests.counting import counting

Function = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    """Each test begins with nothing kept, and runs on NumPy."""
    replay.forget_all()
    with ad.config(native=False):
        yield


def _plain(x: Any) -> Any:
    print("here")
    return np.sum(x)


def _values(x: Any) -> Any:
    total = np.sum(x**2)
    print("loss", total, "at", x, sep="; ")
    print(total, float(total), total > 2, x[0], x.tolist(), end=".\n", flush=True)
    print()
    return total


def _texts(x: Any) -> Any:
    total = np.sum(x**2)
    text = f"{total:.3f} and {x!r}" + f"<{total}>"
    print("[" + text + "]", f"{total:>12.2e}", f"{3:>4}", f"{'a'!r:>5}", f"{total!r}")
    print("%.4e, %s of %d%%" % (total, x, 3), "%5.1f;" % total)  # noqa: UP031
    print(
        "{:.2f} {a} {!r} {b[0]}".format(total, x, a=float(total), b=x),  # noqa: UP032
        repr(total),
        format(x[0], "f"),
    )
    print([total, (x[0],), {"l": total, 1: []}])
    return total


def _in_place(x: Any) -> Any:
    y = x.copy()
    print(y)
    y[0] = 5.0
    print(y)
    return np.sum(y**2)


def _branches(x: Any) -> Any:
    if x[0] > 1:
        print("large", x[0])
        return np.sum(x)
    for k, each in enumerate(x):
        if k % 2 == 0:
            print(f"round {k}:", each)
    return np.sum(x**2)


def _draws(x: Any) -> Any:
    rng = np.random.default_rng(3)
    noise = rng.normal(size=3)
    print("noise", noise, rng.integers(5))
    return noise @ x


def _kept_texts(x: Any) -> Any:
    log = [f"{each:.3f}" for each in x]
    assert np.sum(x**2) > 0, f"negative: {x}"
    assert len(log) == 3
    assert isinstance(log[0], str)
    return np.sum(x**2)


def _nested(x: Any) -> Any:
    def inner(y: Any) -> Any:
        print("inner", y)
        return np.sum(y**3)

    return np.sum(ad.grad(inner)(x) * x)


def _compares(x: Any) -> Any:
    text = f"{x[0]:.0f}"
    print(text)
    return np.sum(x) * (2.0 if text == "1" else 3.0)


def _measures(x: Any) -> Any:
    return np.sum(x) * len(str(x[0])) + len(f"{x[1]}")


def _joins(x: Any) -> Any:
    print(", ".join(f"{each:.2f}" for each in x), f"{x[0]}".rjust(20))
    return np.sum(x)


REPLAYED = [_plain, _values, _texts, _in_place, _branches, _draws, _kept_texts, _nested]
CAPTURED = [_compares, _measures, _joins]


def _printed(function: Function, x: Any) -> tuple[str, Any]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        result = function(x)
    return out.getvalue(), result


@pytest.mark.parametrize("function", [*REPLAYED, *CAPTURED], ids=lambda each: each.__name__)
@pytest.mark.parametrize("debug", [False, True])
def test_each_call_prints_what_the_function_prints(function: Function, debug: bool) -> None:
    gradient = ad.value_and_grad(function)
    jitted = ad.jit(gradient)
    with ad.config(debug=debug):
        for number in range(7):
            x = X * (1 + number / 3)
            text, expected = _printed(function, x)
            for way in (gradient, jitted):
                found, (value, _) = _printed(way, x)
                assert found == text
                assert np.isclose(value, expected, rtol=1e-12)


@pytest.mark.parametrize("function", REPLAYED, ids=lambda each: each.__name__)
def test_functions_that_print_are_not_run_again(function: Function) -> None:
    counted, calls = counting(function)
    gradient = ad.grad(counted)
    for number in range(8):
        with contextlib.redirect_stdout(io.StringIO()):
            gradient(X * (1 + number / 100))
    assert len(calls) <= replay.FEWEST_CALLS + 2


@pytest.mark.parametrize("function", CAPTURED, ids=lambda each: each.__name__)
def test_text_that_decides_is_not_replayed(function: Function) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        found = ad.explain(function, X)
    assert not found.replayed


def test_an_error_comes_after_what_is_printed_before_it() -> None:
    def function(x: Any) -> Any:
        print("before", x[0])
        solved = np.linalg.solve(np.diag(x), x)
        print("after", solved)
        return np.sum(solved)

    gradient = ad.grad(function)
    for factor in (1.0, 1.0, 1.0, 1.0, 0.0, 2.0):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            try:
                gradient(factor * X)
            except np.linalg.LinAlgError:
                assert factor == 0.0
        text = out.getvalue().split("\n")
        assert text[0] == f"before {factor * X[0]}"
        assert len(text) == (2 if factor == 0.0 else 3)


def test_what_is_printed_elsewhere_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    def function(x: Any) -> Any:
        with contextlib.redirect_stdout(None):
            print("nowhere", x)
        return np.sum(x)

    for _ in range(6):
        ad.grad(function)(X)
    assert not capsys.readouterr().out


def test_a_file_is_written_at_each_call() -> None:
    file = io.StringIO()

    def function(x: Any) -> Any:
        print(x[0], file=file)
        return np.sum(x)

    for number in range(1, 7):
        ad.grad(function)(X)
        assert file.getvalue() == f"{X[0]}\n" * number
