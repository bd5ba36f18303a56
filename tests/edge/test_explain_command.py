"""`adjoint explain`: each fact in a sentence, with the user's line."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from adjoint.commands.app import app

MODEL = """
import time
import numpy as np
import adjoint as ad

weights = np.ones((3, 3))
rng = np.random.default_rng(0)
seen = []

def plain(x=np.ones(3)):
    return np.sum(weights @ x)

def branches(x=np.ones(3)):
    if x[0] > 0:
        return np.sum(x**2)
    return np.sum(x)

def draws(x=np.ones(3)):
    return np.sum(x) * rng.normal()

def late(x=np.ones(3)):
    return np.sum(x) * time.time()

def noted(x=np.ones(3)):
    seen.append(1)
    return np.sum(x)

def looped(x=np.ones(3)):
    for _ in range(50):
        x = x - 0.1 * np.sin(x)
    return np.sum(np.partition(x, 1))

def unrolled(x=np.ones(40)):
    for k in range(60):
        x = np.sin(x) if k * k % 7 == 2 else x * x[k % 11]
    return np.sum(x)

def declared(x=1.0):
    return ad.fori_loop(0, 5, lambda k, y: y * np.sin(y), x)

def refused(x=np.ones(3)):
    return np.sum(x) * memoryview(x)[0]

def cornered(x=np.array([-1.0, 0.0])):
    return np.sum(np.abs(x))

def nan(x=np.array([-1.0, 1.0])):
    return np.sum(np.log(x))

def counts(x=np.ones(3)):
    return np.argmax(x)

def raises(x=np.ones(3)):
    raise ValueError("no such thing")
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explain") / "model.py"
    path.write_text(MODEL, encoding="utf-8")
    return path


def run(model: Path, function: str) -> Result:
    return CliRunner().invoke(app, ["explain", f"{model}:{function}"])


def explained(model: Path, function: str) -> str:
    """The account in one line, so that no break of a line is between words."""
    result = run(model, function)
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("function", "parts"),
    [
        (
            "plain",
            [
                "plain(float64[3])",
                "Captured Yes: the program is 2 operations (1 contract, 1 sum).",
                "Branches None:",
                "Between calls The program is kept.",
                "weights: an array float64[3, 3], its contents",
                "code: np, np.sum, plain",
                "Loops None",
                "Forward mode: yes,",
                "Reverse mode: yes,",
                "Memory, results included:",
                "nothing is left to NumPy.",
                "At this point The value is finite. No operation is at a point where it has no",
            ],
        ),
        ("branches", ["model.py:14: if x[0] > 0: (whether it is true)"]),
        ("draws", ["At each call it does anew", "draws with normal (model.py:19: return np.sum"]),
        ("late", ["captured at every call, because it uses time", "(model.py:22: return np.sum"]),
        ("noted", ["captured at every call, because the call has changed seen"]),
        (
            "looped",
            [
                "A loop of 50 rounds is one operation of the program, with a body of 3 operations: "
                "model.py:30: x = x - 0.1 * np.sin(x)",
                "model.py:31: return np.sum(np.partition(x, 1)): argpartition, as there is no "
                "machine code for it",
            ],
        ),
        ("declared", ["1 loop of ad.scan, ad.while_loop or ad.fori_loop."]),
        ("refused", ["Captured No. UnsupportedFunctionError:", "model.py:42: return np.sum(x) *"]),
        (
            "cornered",
            ["1 operation met a point without derivative: absolute at model.py:45: return"],
        ),
        ("nan", ["The value is NaN or infinite. A NaN comes about here:", "model.py:48"]),
        ("counts", ["Forward mode: no. NotDifferentiableError:"]),
    ],
)
def test_facts(model: Path, function: str, parts: list[str]) -> None:
    text = explained(model, function)
    for part in parts:
        assert part in text


def test_what_is_refused_is_explained_no_further(model: Path) -> None:
    assert "Between calls" not in explained(model, "refused")


def test_rounds_that_are_no_loop_are_told(model: Path) -> None:
    text = explained(model, "unrolled")
    assert " rounds " in text.partition("Loops")[2].partition("Derivatives")[0]


def test_what_the_code_raises_is_an_error(model: Path) -> None:
    result = run(model, "raises")
    assert result.exit_code == 2
    assert "ValueError: no such thing (model.py, line 54)" in result.stderr
