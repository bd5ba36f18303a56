"""Language of the library against Python's own, in every mode."""

from __future__ import annotations

import _thread
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.calculus.control_flow.comparing import check_modes
from tests.calculus.control_flow.random_bodies import OURS, PYTHON, Language, check_seed
from tests.reverse import pulled

X = np.array([0.7, -0.4])
A = np.array([[0.3, -0.2], [0.1, 0.4]])


def growth(loops: Language, x: Any) -> Any:
    return np.sum(loops.until(lambda s: np.sum(s * s) < 30.0, lambda s: 1.3 * s + np.sin(s) * x, x))


def rotation(loops: Language, x: Any) -> Any:
    return np.sum(loops.count(1, 6, lambda i, s: np.cos(A @ s) + i * s / 9 + x, x) ** 2)


def pair(loops: Language, x: Any) -> Any:
    def body(state: Any) -> Any:
        (u, k), done = state["u"], state["done"]
        return {"u": (np.tanh(u + x * k), k + 0.5), "done": done + 1}

    final = loops.until(lambda s: s["done"] < 4, body, {"u": (x, 1.0), "done": 0})
    return np.sum(final["u"][0]) * final["u"][1]


def rows(loops: Language, x: Any) -> Any:
    table = np.outer(np.arange(1.0, 5.0), x)
    last, made = loops.scan(lambda c, r: (np.sin(c) * r + x, c * r), x, table)
    return np.sum(last**2) + np.sum(made**3)


def backwards(loops: Language, x: Any) -> Any:
    table = np.outer(np.arange(1.0, 5.0), x)
    last, made = loops.scan(lambda c, r: (np.exp(-c * r), c + r * r), x, table, reverse=True)
    return np.sum(last) + np.prod(made[:, 0])


def nested(loops: Language, x: Any) -> Any:
    def outer(i: Any, s: Any) -> Any:
        shrunk = loops.until(lambda z: np.sum(z * z) > 0.5, lambda z: 0.7 * z * np.cos(x), s + x)
        return loops.count(0, 3, lambda j, z: z + x[1] * np.sin(z), shrunk) + 0.1 * i

    return np.sum(loops.count(0, 4, outer, 3 * x) ** 2)


def gradient_inside(loops: Language, x: Any) -> Any:
    def loss(z: Any) -> Any:
        return np.sum((z - x) ** 4) + loops.count(0, 3, lambda i, s: s * np.cos(z[0]), x[1])

    def step(state: Any) -> Any:
        z, k = state
        return z - 0.1 * ad.grad(loss)(z), k + 1

    return np.sum(loops.until(lambda s: s[1] < 4, step, (2 * x, 0))[0] ** 3)


def written(loops: Language, x: Any) -> Any:
    def body(i: Any, u: Any) -> Any:
        u = u.copy()
        u[i] = u[i - 1] * x[0] + np.sin(u[i]) * x[1]
        return u

    return np.sum(loops.count(1, 5, body, np.ones(5) * x[0]) ** 2)


def constant_table(loops: Language, x: Any) -> Any:
    table = np.array([1.0, -2.0, 0.5, 3.0])
    return loops.count(0, 4, lambda i, s: s * np.cos(x[0] * table[i]) + x[1], 1.0)


PROGRAMS = [
    *(growth, rotation, pair, rows, backwards, nested, gradient_inside, written, constant_table)
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_mode_is_that_of_pythons_loop(program: Any) -> None:
    check_modes(lambda x: program(OURS, x), lambda x: program(PYTHON, x), X)


@pytest.mark.parametrize("program", [growth, rotation, rows, nested, written])
def test_the_third_order_is_that_of_pythons_loop(program: Any) -> None:
    def third(loops: Language) -> Any:
        def line(t: Any) -> Any:
            return program(loops, X + t * np.array([1.0, 0.5]))

        return [
            ad.grad(ad.grad(ad.grad(line)))(0.0),
            pulled(pulled(pulled(line)))(0.0),
            ad.jvp(lambda t: ad.jvp(ad.grad(line), (t,), (1.0,))[1], (0.0,), (1.0,))[1],
        ]

    found, expected = third(OURS), third(PYTHON)
    assert np.allclose(found, expected, rtol=1e-9)
    assert np.allclose(expected, expected[0], rtol=1e-9)


@pytest.mark.parametrize("program", [growth, rotation, pair, rows, backwards, nested, written])
def test_taylor_coefficients_are_those_of_pythons_loop(program: Any) -> None:
    def line(loops: Language) -> Any:
        return lambda t: program(loops, X + t * np.array([1.0, 0.5]))

    found, expected = (ad.taylor(line(each), 0.0, (1.0,), order=5) for each in (OURS, PYTHON))
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("program", PROGRAMS)
def test_machine_code_is_as_numpy(program: Any) -> None:
    with ad.config(native=False):
        expected = ad.grad(lambda x: program(OURS, x))(X)
    with ad.config(native=True):
        found = ad.grad(lambda x: program(OURS, x))(X)
    assert np.allclose(found, expected, rtol=1e-11)


# --- random bodies --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_random_bodies(seed: int) -> None:
    check_seed(seed)


# --- trip counts ----------------------------------------------------------------------------------


def test_a_loop_may_make_no_round() -> None:
    assert ad.fori_loop(3, 3, lambda i, x: 1 / (x - x), 2.0) == 2.0
    assert ad.fori_loop(3, 1, lambda i, x: x + 1, 2.0) == 2.0
    assert ad.while_loop(lambda x: x < 0, lambda x: x + 1, 2.0) == 2.0
    gradient = ad.grad(lambda x: np.sum(ad.fori_loop(0, 0, lambda i, s: s * x, x)))
    assert np.array_equal(gradient(X), [1.0, 1.0])
    last, made = ad.scan(lambda c, r: (c + r, c * r), 1.0, np.zeros(0))
    assert last == 1.0
    assert made.shape == (0,)


def test_what_no_round_changed_is_a_copy() -> None:
    x = np.array([1.0, 2.0])
    found = ad.while_loop(lambda s: s[0] < 0, lambda s: s + 1, x)
    found[0] = 5.0
    assert x[0] == 1.0


def test_what_a_loop_of_known_arrays_gives_can_be_written_into() -> None:
    def f(x: Any) -> Any:
        known = np.zeros((2, 3))
        _, rows = ad.scan(lambda c, row: (c + row.sum(), row * c), 0.75, known)
        state = ad.fori_loop(0, 2, lambda i, a: a + 1.0, np.zeros(3))
        chosen = ad.cond(True, lambda a: a * 2.0, lambda a: a, np.ones(3))
        rows[0] += x
        np.add(state, x, out=state)
        chosen[1] = x[0]
        return np.sum(rows) + np.sum(state**2) + np.sum(chosen)

    x = np.array([1.0, 2.0, 3.0])
    value, slope = ad.value_and_grad(f)(x)
    assert value == 6.0 + 50.0 + 5.0
    assert np.array_equal(slope, 1 + 2 * (x + 2) + [1, 0, 0])


def test_the_number_of_rounds_may_depend_on_what_is_traced() -> None:
    def power(x: Any, n: Any) -> Any:
        return ad.fori_loop(0, n, lambda i, s: s * x, 1.0)

    compiled = ad.jit(pulled(power))
    for n in (0, 1, 5, 300, 3):
        assert np.isclose(compiled(1.01, n), n * 1.01 ** (n - 1) if n else 0.0)


def test_batches_may_differ_in_the_number_of_rounds() -> None:
    x, n = np.array([1.1, 0.9, 1.2, 0.5]), np.array([3, 0, 5, 1])

    def power(x: Any, n: Any) -> Any:
        return ad.fori_loop(0, n, lambda i, s: s * x + i, 1.0)

    assert np.allclose(ad.vmap(power)(x, n), [power(*pair) for pair in zip(x, n, strict=True)])
    slopes = ad.vmap(pulled(power))(x, n)
    assert np.allclose(slopes, [ad.grad(power)(*pair) for pair in zip(x, n, strict=True)])


def test_examples_that_are_done_stay_as_they_are() -> None:
    def newton(a: Any) -> Any:
        # Beyond its end a further round would divide by zero.
        return ad.while_loop(lambda s: s > 0.1, lambda s: s - a / (10 * (s - a / 20)), 1.0)

    a = np.array([0.9, 0.35, 2.0])
    assert np.allclose(ad.vmap(newton)(a), [newton(each) for each in a])
    slopes = [ad.grad(newton)(each) for each in a]
    assert np.allclose(ad.vmap(pulled(newton))(a), slopes)


def test_tapes_grow() -> None:
    def decay(x: Any) -> Any:
        state = ad.while_loop(
            lambda s: s[0] < 40_000, lambda s: (s[0] + 1, s[1] * 0.9999 + x * 1e-4), (0, x)
        )
        return state[1] ** 2

    expected = ad.jvp(decay, (1.5,), (1.0,))[1]
    assert np.isclose(pulled(decay)(1.5), expected)
    linear = ad.derivative(decay, np.float64(1.5))
    assert np.isclose(linear(1.0), expected)
    assert np.isclose(linear.H(1.0), expected)

    def guided(x: Any) -> Any:
        slope = pulled(decay)(x)
        return slope * x if slope > 0 else x  # the value is asked for, tape and all

    assert np.isclose(ad.grad(guided)(1.5), 2 * expected)


def test_a_tape_as_long_as_another_array_is_refused_and_not_confused() -> None:
    tables = [np.ones(length) for length in (8209, 16411, 32771)]

    def function(x: Any) -> Any:
        grown = ad.while_loop(lambda s: s < 1e2, lambda s: s * 1.0001 + 1e-9 * s * s, x)
        return grown * sum(np.sum(table * x) for table in tables)

    with pytest.raises(ad.errors.TapeOverflowError, match="another array has as many"):
        pulled(function)(np.float64(1.0))


def test_a_million_steps() -> None:
    def function(x: Any) -> Any:
        return ad.fori_loop(0, 10**6, lambda i, s: s * 0.999999 + x, 0.0)

    q = 0.999999
    for gradient in (ad.grad(function), pulled(function)):
        assert np.isclose(gradient(2.0), (1 - q**1_000_000) / (1 - q))


def test_an_endless_loop_can_be_interrupted() -> None:
    def interrupt() -> None:
        time.sleep(0.3)
        _thread.interrupt_main()

    thread = threading.Thread(target=interrupt)
    # A shell starts what runs in the background with SIGINT ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with ad.config(native=False):
            thread.start()
            with pytest.raises(KeyboardInterrupt):
                ad.while_loop(lambda x: x > -1.0, lambda x: x * 0.5 + 1.0, 1.0)
    finally:
        signal.signal(signal.SIGINT, before)
    thread.join()


# --- types ----------------------------------------------------------------------------------------


def test_python_numbers_become_arrays_of_the_type_that_numpy_gives_them() -> None:
    narrow = np.ones(3, np.float32)
    total = ad.fori_loop(0, 3, lambda i, s: s + narrow[i], 0.0)
    assert total.dtype == np.float32
    assert ad.fori_loop(0, 3, lambda i, s: s + 1, 0).dtype == np.int64
    assert ad.fori_loop(0, 3, lambda i, s: s + 0.5, 0).dtype == np.float64
    assert ad.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, 1j * s[1]), (0, 1.0))[1] == -1


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_dtypes_are_kept(dtype: Any) -> None:
    x = np.asarray([0.5, 1.5], dtype)

    def ours(x: Any) -> Any:
        return np.sum(np.abs(ad.fori_loop(0, 3, lambda i, s: s * x + i, x)) ** 2)

    def python(x: Any) -> Any:
        return np.sum(np.abs(PYTHON.count(0, 3, lambda i, s: s * x + i, x)) ** 2)

    found, expected = ad.grad(ours)(x), ad.grad(python)(x)
    assert found.dtype == expected.dtype == dtype
    assert np.allclose(found, expected, rtol=1e-5)


def test_booleans_and_integers_are_carried() -> None:
    def collatz(n: Any) -> Any:
        def step(state: Any) -> Any:
            n, count, odd = state
            return ad.cond(odd, lambda: 3 * n + 1, lambda: n // 2), count + 1, (n // 2) % 2 == 1

        return ad.while_loop(lambda s: s[1] < 5, step, (n, 0, n % 2 == 1))

    n, count, odd = collatz(6)
    assert (count, odd.dtype) == (5, bool)
    assert n.dtype == np.int64


def test_empty_arrays_are_carried() -> None:
    found = ad.fori_loop(0, 3, lambda i, s: s * 2, np.zeros((0, 2)))
    assert found.shape == (0, 2)
    slope = ad.grad(lambda x: np.sum(ad.fori_loop(0, 3, lambda i, s: s * 2, x)))(np.zeros((0, 2)))
    assert slope.shape == (0, 2)


def test_nothing_at_all_is_carried() -> None:
    carried, made = ad.scan(lambda c, r: (c, r**2), (), np.arange(3.0))
    assert carried == ()
    assert np.array_equal(made, [0.0, 1.0, 4.0])
    slope = ad.grad(lambda x: np.sum(ad.scan(lambda c, r: (c, r**2), (), x)[1]))(np.arange(3.0))
    assert np.array_equal(slope, [0.0, 2.0, 4.0])


def test_a_scan_without_rows_needs_a_length() -> None:
    last, made = ad.scan(lambda c, _: (c * 2.0, c), 1.0, length=4)
    assert last == 16.0
    assert np.array_equal(made, [1.0, 2.0, 4.0, 8.0])
    assert ad.scan(lambda c, _: (c * 2.0, None), 1.0, length=4)[1] is None


def test_strong_zeros_hold_in_loops() -> None:
    def function(x: Any) -> Any:
        def step(i: Any, s: Any) -> Any:
            return s + np.sum(np.where(x > 0, np.log(np.where(x > 0, x, 0.0)), 0.0)) * s

        return ad.fori_loop(0, 3, step, x[0])

    with np.errstate(all="ignore"):
        slope = ad.grad(function)(np.array([2.0, 0.0]))
    assert np.all(np.isfinite(slope))


def test_warnings_are_those_of_numpy() -> None:
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        ad.fori_loop(0, 2, lambda i, s: s + 1 / np.float64(i), np.float64(0.0))


# --- errors ---------------------------------------------------------------------------------------


def test_a_value_cannot_be_asked_for() -> None:
    def body(i: Any, s: Any) -> Any:
        return s if s > 0 else -s

    with pytest.raises(ad.errors.ValueNeededError, match=r"ad\.cond"):
        ad.fori_loop(0, 3, body, 1.0)


def test_a_value_leaves_a_body_by_being_returned_alone() -> None:
    def written(x: Any) -> Any:
        kept = np.zeros(3)

        def body(i: Any, s: Any) -> Any:
            kept[i] = s * x
            return s + 1

        return ad.fori_loop(0, 3, body, x) * np.sum(kept)

    def leaked(x: Any) -> Any:
        kept = []

        def body(i: Any, s: Any) -> Any:
            kept.append(s * x)
            return s + 1

        return ad.fori_loop(0, 3, body, x) * kept[0]

    for function in (written, leaked):
        with pytest.raises(ad.errors.AdjointError):
            ad.grad(function)(1.5)
        with pytest.raises(ad.errors.AdjointError):
            function(1.5)


def test_a_body_keeps_shapes_dtypes_and_structure() -> None:
    with pytest.raises(ad.errors.ShapeError, match=r"returns is f8\[4\].*f8\[2\]"):
        ad.fori_loop(0, 3, lambda i, s: np.concatenate([s, s]), X)
    with pytest.raises(ad.errors.DTypeError, match=r"f8\[2\].*c16\[2\]"):
        ad.fori_loop(0, 3, lambda i, s: s.real, X + 1j)
    with pytest.raises(ad.errors.ArgumentTypeError, match="structure"):
        ad.fori_loop(0, 3, lambda i, s: (s, s), X)
    with pytest.raises(ad.errors.ArgumentTypeError, match="structure"):
        ad.while_loop(lambda s: s["a"] < 3, lambda s: {"b": s["a"]}, {"a": 1.0})


def test_a_test_gives_one_boolean() -> None:
    with pytest.raises(ad.errors.ArgumentTypeError, match=r"returned b1\[2\]"):
        ad.while_loop(lambda s: s < 3, lambda s: s + 1, X)
    with pytest.raises(ad.errors.ArgumentTypeError, match="one boolean"):
        ad.while_loop(lambda s: s, lambda s: s + 1, 1.0)


def test_arguments_are_checked() -> None:
    with pytest.raises(ad.errors.ArgumentTypeError, match="upper must be an integer"):
        ad.fori_loop(0, 2.5, lambda i, s: s, X)
    with pytest.raises(ad.errors.ArgumentTypeError, match=r"initial\['a'\] is a str"):
        ad.fori_loop(0, 2, lambda i, s: s, {"a": "text"})
    with pytest.raises(ad.errors.ArgumentError, match="checkpoint must be"):
        ad.fori_loop(0, 2, lambda i, s: s, X, checkpoint="all")
    with pytest.raises(ad.errors.ArgumentError, match="needs a length"):
        ad.scan(lambda c, r: (c, r), 1.0)
    with pytest.raises(ad.errors.ShapeError, match=r"different numbers: \[2, 3\]"):
        ad.scan(lambda c, r: (c, r), 1.0, (np.zeros(2), np.zeros(3)))
    with pytest.raises(ad.errors.ShapeError, match="a number to scan"):
        ad.scan(lambda c, r: (c, r), 1.0, 3.0)
    with pytest.raises(ad.errors.ArgumentTypeError, match="must return a pair"):
        ad.scan(lambda c, r: c, 1.0, np.zeros(2))
    with pytest.raises(ad.errors.ArgumentTypeError, match="length must be"):
        ad.scan(lambda c, r: (c, r), 1.0, length=-1)


def test_a_loop_whose_rounds_depend_on_the_argument_is_not_linear() -> None:
    with pytest.raises(ad.errors.NotLinearError):
        ad.linear_transpose(lambda x: ad.while_loop(lambda s: np.sum(s) < 3, lambda s: 2 * s, x), X)


def test_a_linear_loop_is_transposed() -> None:
    def function(x: Any) -> Any:
        return ad.fori_loop(0, 4, lambda i, s: A @ s * i + x, 2 * x)

    (found,) = ad.linear_transpose(function, X)(np.array([1.0, 2.0]))
    matrix = np.stack([function(e) for e in np.eye(2)], axis=1)
    assert np.allclose(found, matrix.T @ [1.0, 2.0])
