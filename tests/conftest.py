"""What all tests share: every program is checked after every pass."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import adjoint as ad

os.environ["ADJOINT_CACHE"] = "off"  # each run compiles what it tests, also in other processes


@pytest.fixture(autouse=True)
def checked_programs() -> Iterator[None]:
    """Debug mode, in which a pass that breaks a program's rules is an error at once."""
    with ad.config(debug=True):
        yield
