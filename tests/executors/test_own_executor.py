"""An executor that is not ours, in the place of machine code: nothing else changes."""

from __future__ import annotations

import importlib.util
import warnings
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
        with ad.config(executor=profile):
            np.testing.assert_allclose(gradient(X), np.sin(X) + X * np.cos(X))
    assert (first.calls["sin"], second.calls["sin"]) == (2, 1)


def test_what_is_no_executor_is_refused() -> None:
    with (
        pytest.raises(ad.errors.ArgumentTypeError, match=r"executor must be None or have"),
        ad.config(executor="fast"),
    ):
        pass
