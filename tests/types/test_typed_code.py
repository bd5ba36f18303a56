"""What type checkers are told of the public functions is so, and is checked."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.types import typed_code

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["gradients", "other_transforms", "decorators"])
def test_typed_code_runs(name: str) -> None:
    getattr(typed_code, name)()


def test_mypy_knows_the_types() -> None:
    """The file is one of those that `mypy` checks; here alone, to have it in the tests."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "tests/types/typed_code.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
