"""`adjoint bench`: which methods are timed, on what terms, and what is said of their errors."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import adjoint as ad
from adjoint.commands.app import app
from adjoint.report.benchmark import benchmark

MODEL = """
import time
import numpy as np

def loss(x=np.array([0.5, -1.0, 2.0])):
    return np.sum(np.tanh(x) ** 2)

def vector(x=np.ones(3)):
    return np.sin(x) * x

def counts(n=3):
    return n + 1

def late(x=np.ones(3)):
    return np.sum(x) * time.time()
"""


def run(folder: Path, function: str, *options: str) -> Result:
    path = folder / "model.py"
    path.write_text(MODEL, encoding="utf-8")
    command = ["bench", f"{path}:{function}", "--seconds", "0.1", *options]
    return CliRunner().invoke(app, command, env={"COLUMNS": "100"})


def test_a_scalar_function_is_timed_with_its_gradient(tmp_path: Path) -> None:
    result = run(tmp_path, "loss")
    assert result.exit_code == 0, result.output
    names = ["value, NumPy", "value, jit", "gradient ", "gradient, jit", "Hessian product, jit"]
    for name in [*names, "central differences", "spread", "first call", "ratio: of medians"]:
        assert name in result.stdout


def test_a_vector_function_is_timed_with_jvp_and_vjp(tmp_path: Path) -> None:
    result = run(tmp_path, "vector")
    assert result.exit_code == 0, result.output
    for name in ("JVP ", "JVP, jit", "VJP ", "VJP, jit", "central difference "):
        assert name in result.stdout
    assert "gradient" not in result.stdout


def test_what_is_captured_at_every_call_is_said_to_be(tmp_path: Path) -> None:
    said = " ".join(run(tmp_path, "late").stdout.split())
    assert "captured at every call: adjoint explain says why" in said


def test_where_there_is_nothing_to_differentiate_one_line_says_so(tmp_path: Path) -> None:
    result = run(tmp_path, "counts")
    assert result.exit_code == 2
    assert result.stderr.startswith("adjoint bench: NotDifferentiableError: bench needs an ")
    assert result.stderr.count("\n") == 1


def test_where_there_is_no_number_there_is_nothing_to_time() -> None:
    with pytest.raises(ad.errors.NotDifferentiableError, match="floating-point numbers"):
        benchmark(np.sum, (np.zeros(0),), 0.1)


def test_a_function_that_changes_its_argument_cannot_be_timed() -> None:
    def doubled(x):
        x *= 2
        return np.sum(x)

    with pytest.raises(ad.errors.ArgumentError, match=r"changes an argument.*x.copy\(\)"):
        benchmark(doubled, (np.ones(3),), 0.1)


def timed(function, *args):
    found = benchmark(function, args, 0.0)
    return {timing.name: timing for timing in found.timings}, found


def test_errors_are_those_of_another_mode() -> None:
    timings, found = timed(lambda x, n, w: np.sum(np.tanh(w @ x) ** n), np.ones(3), 2, np.eye(3))
    assert found.coordinates == 12
    assert found.replayed
    assert timings["gradient"].error < 1e-14
    assert timings["gradient, jit"].error < 1e-14
    assert 1e-14 < timings["central differences"].error < 1e-8
    assert all(timing.low <= timing.median <= timing.high for timing in found.timings)
    assert all(timing.rounds >= 5 for timing in found.timings)


def test_single_precision_and_complex_numbers() -> None:
    timings, _ = timed(lambda x: np.sum(np.sin(x)), np.ones(3, np.float32))
    assert timings["gradient"].error < 1e-6
    assert timings["central differences"].error < 1e-2
    timings, found = timed(lambda z: np.sum(np.abs(z * z)), np.array([1 + 2j, 3 - 1j]))
    assert found.coordinates == 4
    assert timings["gradient"].error < 1e-14
    assert timings["central differences"].error < 1e-8


def test_of_many_coordinates_one_difference_is_run() -> None:
    def slow(x):
        for _ in range(3):
            x = np.sin(x)
        return np.sum(x)

    timings, found = timed(slow, np.linspace(0, 1, 200_000))
    differences = timings["central differences"]
    assert not differences.whole
    assert found.reference == "forward mode, first 200 entries"
    assert differences.median > 100 * timings["value, NumPy"].median
    assert differences.error < 1e-6


@pytest.mark.parametrize("width", [50, 80, 120])
def test_the_table_keeps_its_digits_at_any_width(tmp_path: Path, width: int) -> None:
    path = tmp_path / "model.py"
    path.write_text(MODEL, encoding="utf-8")
    command = ["bench", f"{path}:loss", "--seconds", "0.1"]
    result = CliRunner().invoke(app, command, env={"COLUMNS": str(width)})
    assert "…" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= width
