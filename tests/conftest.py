"""What all tests share: every program is checked after every pass."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext

import pytest

import adjoint as ad
from tests.capture.postponing import postponing

os.environ["ADJOINT_CACHE"] = "off"  # each run compiles what it tests, also in other processes


def pytest_addoption(parser: pytest.Parser) -> None:
    """--postpone: as if all arrays were large, as `tests/capture/test_postponed.py` has them."""
    parser.addoption("--postpone", action="store_true", help="compute NumPy's values late")


@pytest.fixture(autouse=True)
def late_values(request: pytest.FixtureRequest) -> Iterator[None]:
    """NumPy's values are computed when somebody looks, if that is asked for."""
    with postponing() if request.config.getoption("postpone") else nullcontext():
        yield


@pytest.fixture(autouse=True)
def checked_programs() -> Iterator[None]:
    """Debug mode, in which a pass that breaks a program's rules is an error at once."""
    with ad.config(debug=True):
        yield
