"""State, modules, errors and threads around a capture: all as if the function had just run."""

from __future__ import annotations

import importlib.util
import math
import sys
import threading
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.capture.comparing import captured_value, same_derivative, same_values

STATE: Any = None
COUNT = 0


def check(function: Any, *args: Any) -> None:
    same_values(captured_value(function, *args), function(*args))
    same_derivative(function, args or (0.7,))


def filled(n: int, t: Any) -> Any:
    out = np.zeros(n)
    for i in range(n):
        out[i] = t * i
    return out


# --- state ----------------------------------------------------------------------------------------


def sets_global(t: Any) -> Any:
    global COUNT, STATE
    COUNT += 1
    STATE = 3.0
    return t * STATE * COUNT


def reads_global(t: Any) -> Any:
    return sets_global(t) + COUNT


def test_globals_are_really_assigned() -> None:
    global COUNT
    COUNT = 0
    assert ad.grad(sets_global)(1.0) == 3
    assert (COUNT, STATE) == (1, 3.0)
    assert ad.grad(reads_global)(1.0) == 6
    assert COUNT == 2


def test_nonlocal_variables_are_really_assigned() -> None:
    calls = 0
    best = None

    def function(t: Any) -> Any:
        nonlocal calls, best
        calls += 1
        best = calls * 2

        def inner() -> Any:
            nonlocal calls
            calls += 1
            return t

        return inner() * best

    assert ad.grad(function)(1.0) == 2
    assert (calls, best) == (2, 2)


def test_lists_outside_can_be_appended_to() -> None:
    history: list[Any] = []

    def function(t: Any) -> Any:
        history.append(float(t) if False else 1)
        return t * len(history)

    assert ad.grad(function)(1.0) == 1
    assert ad.grad(function)(1.0) == 2


def test_traced_values_that_leak_keep_their_value() -> None:
    kept = []

    def function(t: Any) -> Any:
        kept.append(t * 2)
        a = np.zeros(2)
        a[0] = t
        kept.append(a)
        return t**2

    assert ad.grad(function)(3.0) == 6
    leaked, array_ = kept
    assert float(leaked) == 6
    assert leaked + 1 == 7
    same_values(np.asarray(array_), np.array([3.0, 0.0]))
    assert f"{leaked}" == "6.0"
    with pytest.warns(ad.errors.StaleValueWarning, match="an earlier call"):
        assert ad.grad(lambda u: u * leaked)(1.0) == 6


def test_closures_that_change_are_seen() -> None:
    factor = np.array([1.0, 2.0])

    def function(t: Any) -> Any:
        return (t * factor).sum()

    assert ad.grad(function)(1.0) == 3
    factor[0] = 5.0
    assert ad.grad(function)(1.0) == 7


def test_an_array_outside_that_changes_between_uses() -> None:
    buffer = np.zeros(2)

    def function(t: Any) -> Any:
        buffer[:] = 1.0
        one = (t * buffer).sum()
        buffer[:] = 5.0
        return one + (t * buffer).sum()

    assert ad.grad(function)(1.0) == 12


class Counter:
    def __init__(self, size: int) -> None:
        self.buffer = np.ones(size)

    def advance(self) -> None:
        self.buffer += 1


@pytest.mark.parametrize("size", [2, 50_000])
def test_an_array_that_a_method_changes_between_uses(size: int) -> None:
    counter = Counter(size)

    def function(t: Any) -> Any:
        one = (t * counter.buffer).mean()
        counter.advance()
        return one + (t * counter.buffer).mean()

    assert ad.grad(function)(1.0) == pytest.approx(3)


@pytest.mark.parametrize("size", [2, 50_000])
def test_an_array_that_an_unreached_function_changes(size: int) -> None:
    buffer = np.ones(size)

    def advance() -> None:
        buffer[...] = buffer + 1

    tools = {"advance": advance}

    def function(t: Any) -> Any:
        one = (t * buffer).mean()
        tools["advance"]()
        return one + (t * buffer).mean()

    assert ad.grad(function)(1.0) == pytest.approx(3)


# --- modules, errors, threads
# -----------------------------------------------------------------------


def test_modules_of_the_user(tmp_path: Any, monkeypatch: Any) -> None:
    package = tmp_path / "users_physics"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from .helpers import fill\nfrom . import helpers\nSCALE = 2.0\n"
    )
    (package / "helpers.py").write_text(
        "import numpy as np\nfrom math import exp\nTOTAL = 0\n\n\n"
        "def fill(n, t):\n    global TOTAL\n    TOTAL += 1\n    out = np.zeros(n)\n"
        "    for i in range(n):\n        out[i] = step(t, i)\n    return out\n\n\n"
        "def step(t, i):\n    return exp(t) * i + float(t)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    users_physics = importlib.import_module("users_physics")
    helpers = sys.modules["users_physics.helpers"]

    def through_module(t: Any) -> Any:
        return users_physics.fill(3, t) * users_physics.SCALE

    def through_submodule(t: Any) -> Any:
        return users_physics.helpers.fill(3, t)

    def imported_inside(t: Any) -> Any:
        import users_physics.helpers as h
        from users_physics import fill

        return fill(2, t) + h.step(t, 1)

    for function in (through_module, through_submodule, imported_inside):
        before = helpers.TOTAL
        check(function, 0.7)
        assert before < helpers.TOTAL
    assert users_physics.fill.__globals__ is vars(helpers)


def test_functions_without_a_file() -> None:
    names: dict[str, Any] = {}
    source = (
        "import numpy as np\ndef f(t):\n    a = np.zeros(2)\n    a[0] = g(t)\n    return a\n"
        "def g(t):\n    return np.array([t])[0]\n"
    )
    exec(source, names)
    check(names["f"], 0.7)
    names = {}
    exec(compile(source, "<stdin>", "exec"), names)
    check(names["f"], 0.7)


def raises_own(t: Any) -> Any:
    raise LookupError("mine")


@pytest.mark.parametrize(
    "transform", [ad.grad, ad.jit, ad.vmap, ad.hessian], ids=lambda t: t.__name__
)
def test_errors_of_the_user_pass_unchanged(transform: Any) -> None:
    from adjoint.capture import current

    with pytest.raises(LookupError, match="mine") as caught:
        transform(raises_own)(np.ones(2) if transform is ad.vmap else 1.0)
    assert type(caught.value) is LookupError
    assert not getattr(caught.value, "__notes__", [])
    assert current() is None
    assert ad.grad(lambda t: t * t)(2.0) == 4


def test_an_error_points_at_the_line_of_the_user() -> None:
    def function(t: Any) -> Any:
        return np.nditer(np.array([[t]]))  # this line

    with pytest.raises(ad.errors.UnsupportedFunctionError) as caught:
        ad.jit(function)(1.0)
    assert "this line" in caught.value.__notes__[0]


def test_captures_in_many_threads() -> None:
    errors = []

    def function(t: Any) -> Any:
        out = np.zeros(20)
        for i in range(20):
            out[i] = math.sin(t * i)
        return out.sum()

    expected = [ad.grad(function)(0.1 * k) for k in range(8)]

    def work(k: int) -> None:
        for _ in range(15):
            # Once it is machine code, sums are rounded in another order.
            if not np.isclose(ad.grad(function)(0.1 * k), expected[k], rtol=1e-13, atol=1e-13):
                errors.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_nested_derivatives_and_writes_of_the_inner_into_the_outer() -> None:
    def function(t: Any) -> Any:
        out = np.zeros(2)

        def inner(u: Any) -> Any:
            out[0] = t
            return u * t * out[0]

        slope = ad.grad(inner)(t)
        return slope * t + out[0]

    assert function.__name__
    assert ad.grad(function)(2.0) == pytest.approx(3 * 4 + 1)


def test_writing_a_value_of_an_inner_capture_into_an_outer_array() -> None:
    def function(t: Any) -> Any:
        out = np.zeros(2)

        def inner(u: Any) -> Any:
            out[0] = u * t
            return u * t

        slope = ad.grad(inner)(t)
        return slope + out[0]

    assert ad.grad(function)(2.0) == pytest.approx(1 + 4)


def test_the_original_is_untouched() -> None:
    before = (np.zeros, math.sin, filled.__globals__["np"], float)
    ad.grad(lambda t: filled(3, t).sum())(1.0)
    assert before == (np.zeros, math.sin, filled.__globals__["np"], float)
    assert type(filled(2, 1.0)) is np.ndarray
    assert type(np.zeros(2)) is np.ndarray
