"""What all tests share: every program is checked after every pass."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import adjoint as ad


@pytest.fixture(autouse=True)
def checked_programs() -> Iterator[None]:
    """Debug mode, in which a pass that breaks a program's rules is an error at once."""
    with ad.config(debug=True):
        yield
