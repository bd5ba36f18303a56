"""Factorisations, solutions, inverses and determinants as machine code, against NumPy's."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg

pytest.importorskip("llvmlite")

import adjoint as ad
from adjoint.executors.native.systems import equations
from tests.executors.native.comparing import compiled, is_lowerable, run_native

SIZES = (1, 2, 3, 4, 5, 8, 13, 16, 17, 33, 48)
TOLERANCE = {"f4": 2e-5, "f8": 2e-13, "c8": 2e-5, "c16": 2e-13}
Random = np.random.Generator


def numbers(random: Random, shape: tuple[int, ...], dtype: str) -> Any:
    x = random.standard_normal(shape)
    if dtype.startswith("c"):
        x = x + 1j * random.standard_normal(shape)
    return x.astype(dtype)


def regular(random: Random, shape: tuple[int, ...], dtype: str) -> Any:
    """Matrices of small condition numbers whose largest numbers are not on the diagonal."""
    n = shape[-1]
    x = numbers(random, shape, dtype) / n + 2 * np.eye(n)
    return np.ascontiguousarray(x[..., random.permutation(n), :].astype(dtype))


def positive(random: Random, shape: tuple[int, ...], dtype: str) -> Any:
    x = numbers(random, shape, dtype) / shape[-1]
    return (x @ np.swapaxes(x.conj(), -1, -2) + np.eye(shape[-1])).astype(dtype)


def check(function: Callable[..., Any], *arguments: Any, tolerance: float) -> None:
    """A function's program is machine code, and gives what NumPy gives."""
    program = ad.program(function, *arguments).program
    assert is_lowerable(program), str(program)
    found = run_native(program, arguments)
    assert found is not None, "machine code gave up"
    with np.errstate(all="ignore"):
        expected = function(*arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for x, y in zip(found, expected, strict=True):
        assert np.shape(x) == np.shape(y)
        assert np.asarray(x).dtype == np.asarray(y).dtype
        scale = float(np.max(np.abs(y)))
        assert np.max(np.abs(x - y)) <= tolerance * max(scale, 1e-30)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "solve": lambda a, b: np.linalg.solve(a, b),
    "vector": lambda a, b: np.linalg.solve(a, b[..., :1]),
    "transposed": lambda a, b: np.linalg.solve(np.swapaxes(a, -1, -2), b),
    "inverse": lambda a, b: np.linalg.inv(a),
    "det": lambda a, b: np.linalg.det(a),
    "slogdet": lambda a, b: tuple(np.linalg.slogdet(a)),
    "arranged": lambda a, b: np.linalg.solve(a[..., ::-1, :], b[..., ::-1]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_one_matrix_and_stacks(name: str, dtype: str) -> None:
    random = np.random.default_rng([*name.encode(), *dtype.encode()])
    first = random.integers(4)
    for number, n in enumerate(SIZES[first::4]):
        lead = ((3,), (9,), (2, 5))[number % 3]
        columns = (1, 2, 3, 8, 11)[(first + number) % 5]
        for shape in ((), lead):
            a = regular(random, (*shape, n, n), dtype)
            b = numbers(random, (*shape, n, columns), dtype)
            check(FUNCTIONS[name], a, b, tolerance=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_cholesky_reads_the_lower_triangle(dtype: str) -> None:
    random = np.random.default_rng(1)
    for number, n in enumerate(SIZES):
        lead = ((), (3,), (9,), (2, 5))[number % 4]
        a = positive(random, (*lead, n, n), dtype)
        a += np.triu(numbers(random, (n, n), dtype), 1)
        check(np.linalg.cholesky, a, tolerance=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_gradients(dtype: str) -> None:
    random = np.random.default_rng(2)

    def loss(a: Any, b: Any) -> Any:
        x = np.linalg.solve(a, b)
        total = np.sum(np.abs(x) ** 2)
        if a.dtype.kind == "f":
            total = total + np.linalg.slogdet(a)[1]
        return total + np.abs(np.linalg.det(a)) ** 2 + np.sum(np.abs(np.linalg.inv(a)) ** 2)

    for n in (1, 2, 4, 7, 18):
        a, b = regular(random, (n, n), dtype), numbers(random, (n, 3), dtype)
        check(ad.grad(loss, (0, 1)), a, b, tolerance=1e-11)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 16, 30, 48])
def test_residuals_are_as_small_as_numpys(n: int) -> None:
    random = np.random.default_rng(n)
    solve = ad.jit(np.linalg.solve)
    for trial in range(24):
        u, _ = np.linalg.qr(random.standard_normal((n, n)))
        v, _ = np.linalg.qr(random.standard_normal((n, n)))
        a = u @ np.diag(np.logspace(0, -(trial % 12), n)) @ v
        if trial % 2:
            a *= np.logspace(-6, 6, n)[random.permutation(n), None]
        b = random.standard_normal((n, 2))
        with ad.config(native=True):
            x = solve(a, b)
        y = np.linalg.solve(a, b)
        size = np.abs(a) @ np.abs(y) + np.abs(b)
        ours, theirs = (np.max(np.abs(a @ z - b) / size) for z in (x, y))
        assert ours <= 4 * theirs + 8 * n * np.finfo(float).eps


@pytest.mark.parametrize("n", [3, 9])
def test_what_has_no_solution_is_numpys_error(n: int) -> None:
    singular = np.ones((n, n))
    b = np.ones((n, 1))
    with ad.config(native=True):
        for function in (lambda a: np.linalg.solve(a, b), np.linalg.inv):
            jitted = ad.jit(function)
            jitted(np.eye(n))
            with pytest.raises(np.linalg.LinAlgError, match="Singular"):
                jitted(singular)
        cholesky = ad.jit(np.linalg.cholesky)
        cholesky(np.eye(n))
        with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
            cholesky(singular - 2 * np.eye(n))
        assert ad.jit(np.linalg.det)(singular) == 0.0
        assert np.isneginf(ad.jit(np.linalg.slogdet)(np.zeros((n, n)))[1])


@pytest.mark.parametrize("n", [2, 7])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_left_to_numpy(n: int, value: float) -> None:
    random = np.random.default_rng(n)
    b = np.ones((n, 1))
    for function in (lambda a, b: np.linalg.solve(a, b), lambda a, b: np.linalg.det(a) * b):
        run = compiled(ad.program(function, np.eye(n), b).program)
        assert run(np.eye(n), b) is not None
        for place in np.ndindex(n, n):
            a = random.standard_normal((n, n))
            a[place] = value
            assert run(a, b) is None


def test_determinants_out_of_range() -> None:
    for scale in (1e-150, 1e150):
        a = np.diag([scale, scale, 1 / scale, 3.0, 2.0, 1.0])
        for n in (3, 6):
            with ad.config(native=True):
                found = ad.jit(np.linalg.det)(a[:n, :n])
            assert np.isclose(found, np.linalg.det(a[:n, :n]), rtol=1e-12)


def test_pivots_from_outside_reach_nothing_outside() -> None:
    for n in (3, 7):
        b = np.ones((n, 2))
        program = ad.program(np.linalg.solve, np.eye(n), b).program
        *_, last = program.equations
        from adjoint.program import Program

        alone = Program(last.inputs, [last], last.outputs)
        for pivot in (-1, n, 2**31 - 1):
            pivots = np.arange(n, dtype=np.int32)
            pivots[1] = pivot
            run_native(alone, [np.eye(n), np.eye(n), pivots, b])


def chain(steps: int) -> Callable[..., Any]:
    def function(a: Any, b: Any) -> Any:
        def step(_: Any, state: Any) -> Any:
            x, total = state
            s = a + 0.1 * x @ x.T
            total = total + np.linalg.slogdet(s)[1] + np.log(np.linalg.det(s) ** 2)
            return np.linalg.solve(s, b) + np.linalg.inv(s) @ b, total

        x, total = ad.fori_loop(0, steps, step, (b, 0.0))
        return total + np.sum(x)

    return function


@pytest.mark.parametrize("n", [2, 5, 20, 60])
def test_loops_hold_them(n: int) -> None:
    random = np.random.default_rng(n)
    a, b = regular(random, (n, n), "f8") * 2, numbers(random, (n, n), "f8")
    gradient = ad.grad(chain(7), (0, 1))
    report = ad.program(gradient, a, b).native()
    assert not report.left()
    with ad.config(native=False):
        expected = gradient(a, b)
    with ad.config(native=True):
        for x, y in zip(ad.jit(gradient)(a, b), expected, strict=True):
            assert np.allclose(x, y, rtol=1e-9, atol=1e-9 * np.max(np.abs(y)))


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_triangular_systems(dtype: str) -> None:
    random = np.random.default_rng([*dtype.encode()])
    for number, n in enumerate((1, 2, 3, 4, 5, 9, 17, 48)):
        lead = ((), (3,), (9,), (2, 5))[number % 4]
        a = numbers(random, (*lead, n, n), dtype) / n + np.eye(n, dtype=dtype)
        a = np.ascontiguousarray(a.astype(dtype))
        b = numbers(random, (*lead, n, (1, 2, 3, 8, 11)[number % 5]), dtype)
        for lower in (True, False):
            how = {"lower": lower, "trans": number % 3, "unit_diagonal": bool(number % 2)}
            check(
                lambda a, b, how=how: scipy.linalg.solve_triangular(a, b, **how),
                a,
                b,
                tolerance=TOLERANCE[dtype],
            )


@pytest.mark.parametrize("n", [3, 20])
def test_errors_of_triangular_systems_are_scipys(n: int) -> None:
    singular, b = np.eye(n), np.ones(n)
    singular[1, 1] = 0.0
    unread = np.eye(n)
    unread[1, 0] = np.nan
    solve = ad.jit(lambda a, b: scipy.linalg.solve_triangular(a, b))
    with ad.config(native=True):
        assert np.array_equal(solve(np.eye(n), b), b)
        with pytest.raises(np.linalg.LinAlgError, match="resolution failed at diagonal 1"):
            solve(singular, b)
        with pytest.raises(ValueError, match="must not contain infs or NaNs"):
            solve(unread, b)


def factor_chain(steps: int) -> Callable[..., Any]:
    def function(a: Any, b: Any) -> Any:
        def step(_: Any, state: Any) -> Any:
            x, total = state
            factor = np.linalg.cholesky(a + 0.1 * x @ x.T)
            half = scipy.linalg.solve_triangular(factor, b, lower=True)
            total = total + np.sum(np.log(np.diagonal(factor))) + np.sum(half**2)
            return scipy.linalg.cho_solve((factor, True), b), total

        x, total = ad.fori_loop(0, steps, step, (b, 0.0))
        return total + np.sum(x**2)

    return function


@pytest.mark.parametrize("n", [2, 6, 60])
def test_loops_hold_cholesky_factors(n: int) -> None:
    random = np.random.default_rng(n)
    a, b = positive(random, (n, n), "f8"), numbers(random, (n, n), "f8")
    gradient = ad.grad(factor_chain(5), (0, 1))
    assert not ad.program(gradient, a, b).native().left()
    with ad.config(native=False):
        expected = gradient(a, b)
    with ad.config(native=True):
        for x, y in zip(ad.jit(gradient)(a, b), expected, strict=True):
            assert np.allclose(x, y, rtol=1e-9, atol=1e-9 * np.max(np.abs(y)))


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_calls_of_lapack(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equations, "is_supported", equations.is_callable)
    random = np.random.default_rng([*dtype.encode()])
    bound = 3 * TOLERANCE[dtype]
    for number, function in enumerate(FUNCTIONS.values()):
        n, lead = (49, 70)[number % 2], ((), (3,))[number // 2 % 2]
        a, b = regular(random, (*lead, n, n), dtype), numbers(random, (*lead, n, 7), dtype)
        check(function, a, b, tolerance=bound)
    a = positive(random, (60, 60), dtype) + np.triu(numbers(random, (60, 60), dtype), 1)
    check(np.linalg.cholesky, a, tolerance=bound)
    a = (numbers(random, (60, 60), dtype) / 60 + np.eye(60)).astype(dtype)
    for number in range(12):
        how = {"lower": number % 2 == 0, "trans": number % 3, "unit_diagonal": number > 6}
        arranged = (lambda a: a, lambda a: a.T, lambda a: a[::-1, ::-1])[number // 4]
        check(
            lambda a, b, of=arranged, how=how: scipy.linalg.solve_triangular(of(a), b, **how),
            a,
            numbers(random, (60, 1 + number), dtype),
            tolerance=bound,
        )


@pytest.mark.parametrize("n", [1, 2, 4])
def test_second_derivatives_of_determinants(n: int) -> None:
    random = np.random.default_rng(n)
    a, u = random.standard_normal((2, n, n))
    check(
        lambda a, u: ad.jvp(ad.grad(np.linalg.det), (a,), (u,))[1],
        a,
        u,
        tolerance=1e-12,
    )


SCRIPT = """
import sys
import numpy as np
import adjoint as ad

def loss(a, b):
    step = lambda k, x: np.linalg.solve(a + np.outer(x, x), b)
    return np.sum(ad.fori_loop(0, 3, step, b))

with ad.config(native=True, cache=sys.argv[1]):
    for n in (3, 60):
        print(ad.jit(ad.grad(loss))(2 * np.eye(n), np.linspace(0, 1, n)).sum())
print(ad.cache_info().compiled)
"""


def test_another_process_loads_them(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "kept")]
    first, second = (
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        for _ in range(2)
    )
    assert first[:2] == second[:2]
    assert first[2] != "0"
    assert second[2] == "0"


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_matrices_with_equal_columns_are_as_singular_as_for_numpy(n: int) -> None:
    random = np.random.default_rng(n)
    functions = [np.linalg.inv, np.linalg.det, lambda a: np.linalg.slogdet(a)[1]]
    with ad.config(native=True):
        compiled = [ad.jit(function) for function in functions]
        for function in compiled:
            function(np.eye(n) * 2 + 0.1)
    for _ in range(60):
        a = random.integers(-5, 6, (n, n)).astype(float)
        one, other = random.choice(n, 2, replace=False)
        a[:, other] = random.integers(1, 4) * a[:, one]
        for function in compiled:
            outcomes = []
            for native in (False, True):
                with ad.config(native=native), np.errstate(all="ignore"):
                    try:
                        outcomes.append(function(a))
                    except np.linalg.LinAlgError as error:
                        outcomes.append(str(error))
            np.testing.assert_equal(outcomes[1], outcomes[0])
