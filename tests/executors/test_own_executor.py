"""An executor that is not ours, in the place of machine code: nothing else changes."""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import adjoint as ad
from adjoint.executors import Executable, NumpyExecutor
from adjoint.optimise import simplify
from adjoint.program import Program
from adjoint.transforms import vjp
from tests.transforms.test_random_programs import ACTIVE, INDEX, programs, quickly

X = np.array([0.5, -1.0, 2.0])
EXAMPLE = Path(__file__).parents[2] / "examples" / "own_executor.py"


@pytest.fixture(scope="module")
def example() -> Any:
    """The module of the example."""
    spec = importlib.util.spec_from_file_location("own_executor", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@quickly
@given(programs())
def test_it_gives_what_numpy_gives(example: Any, program: Program) -> None:
    backwards = simplify(vjp(program, ACTIVE))
    generator = np.random.default_rng(0)
    arguments = [
        INDEX if type_.dtype.kind == "i" else generator.uniform(0.5, 1.5, type_.shape)
        for type_ in backwards.input_types
    ]
    executable: Executable = example.ProfilingExecutor().compile(backwards)
    results = executable.run(*arguments)
    assert results is not None
    expected = NumpyExecutor().compile(backwards).run(*arguments)
    for one, other in zip(results, expected, strict=True):
        assert type(one) is type(other)
        np.testing.assert_allclose(one, other, rtol=1e-13)


def newton(x: Any) -> Any:
    def improve(k: Any, y: Any) -> Any:
        return y - (y * y - x) / (2 * y)

    return np.sum(ad.fori_loop(0, 6, improve, 1 + x * 0))


@pytest.mark.parametrize("function", [newton, lambda x: np.sum(np.where(x > 0, np.log(x), 0.0))])
def test_it_runs_what_is_derived(example: Any, function: Any) -> None:
    x = np.array([2.0, 0.0, 3.0]) if function is not newton else X + 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = ad.grad(function)(x)
        profile = example.ProfilingExecutor()
        with ad.config(executor=profile):
            for derived in (ad.jit(ad.grad(function)), ad.grad(function)):
                np.testing.assert_allclose(derived(x), expected, rtol=1e-13)
            with ad.config(native=True):
                ad.hessian(function)(x)
    assert np.isfinite(expected).all()  # with hard zeros, which NumPy sees to
    assert sum(profile.calls.values()) > 0


def test_each_executor_has_programs_of_its_own(example: Any) -> None:
    gradient = ad.jit(ad.grad(lambda x: np.sum(np.sin(x) * x)))
    first, second = example.ProfilingExecutor(), example.ProfilingExecutor()
    for profile in (first, second, None, first):
        with ad.config(executor=profile, debug=False):  # debug mode runs it to check
            np.testing.assert_allclose(gradient(X), np.sin(X) + X * np.cos(X))
    assert (first.calls["sin"], second.calls["sin"]) == (2, 1)


class Own:
    """An executor whose `compile` is another function."""

    def __init__(self, compile_: Any) -> None:
        self._compile = compile_

    def compile(self, program: Program, needs: Any = None) -> Any:
        return self._compile(program)


def test_what_is_no_executor_is_refused() -> None:
    with (
        pytest.raises(ad.errors.ArgumentTypeError, match=r"executor must be None, 'xla', or have"),
        ad.config(executor=3.0),
    ):
        pass


def test_what_cannot_be_hashed_is_refused() -> None:
    @dataclass
    class Compared:
        compile: Any = None

    @dataclass(frozen=True)
    class OfAList:
        compile: Any
        notes: list[str]

    for unhashable in (Compared(len), OfAList(len, [])):
        with (
            pytest.raises(ad.errors.ArgumentTypeError, match=r"executor must be hashable"),
            ad.config(executor=unhashable),
        ):
            pass


def test_an_executor_that_compiles_something_else_first_does_not_wait_for_itself() -> None:
    inner = ad.jit(ad.grad(lambda x: np.sum(np.cos(x))))

    def nested(program: Program) -> Any:
        with ad.config(executor=Own(NumpyExecutor().compile)):
            np.testing.assert_allclose(inner(X), -np.sin(X))
        return NumpyExecutor().compile(program)

    with ad.config(executor=Own(nested)):
        np.testing.assert_allclose(ad.jit(ad.grad(lambda x: np.sum(np.sin(x))))(X), np.cos(X))


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), ValueError("mine")])
def test_nobody_waits_for_an_executor_that_has_failed(error: BaseException) -> None:
    def fail(program: Program) -> Any:
        raise error

    function = ad.jit(ad.grad(lambda x: np.sum(np.sin(x))))
    for executor in (Own(fail), Own(fail)):
        with ad.config(executor=executor, debug=False):
            with pytest.warns(ad.errors.NativeExecutorWarning, match=type(error).__name__):
                np.testing.assert_allclose(function(X), np.cos(X))
            with warnings.catch_warnings():  # once is enough of each executor
                warnings.simplefilter("error")
                np.testing.assert_allclose(ad.jit(lambda x: np.cos(x))(X), np.cos(X))
    with ad.config(executor=Own(fail), debug=True), pytest.raises(type(error)):
        function(X)


class Incomplete:
    """An executable without `run`, or without `bind`."""

    guarded = pays = True


@pytest.mark.parametrize("result", [3, Incomplete()])
def test_what_is_no_executable_is_a_failure(result: Any) -> None:
    with (
        ad.config(executor=Own(lambda program: result), debug=False),
        pytest.warns(ad.errors.NativeExecutorWarning, match="compile of Own returned"),
    ):
        np.testing.assert_allclose(ad.jit(ad.grad(np.sin))(0.5), np.cos(0.5))


def test_an_executor_may_have_nothing() -> None:
    with ad.config(executor=Own(lambda program: None)):
        np.testing.assert_allclose(ad.jit(ad.grad(np.sin))(0.5), np.cos(0.5))
