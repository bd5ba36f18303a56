"""Settings: their types are checked, and they end with the block."""

from __future__ import annotations

from typing import Any

import pytest

import adjoint as ad
from adjoint.base.settings import settings


@pytest.mark.parametrize(
    "changes",
    [
        *({"native": value} for value in (None, True, False)),
        *({"precise": value} for value in (True, False)),
        *({"threads": value} for value in (None, 1, 3)),
    ],
)
def test_what_can_be_set(changes: dict[str, Any]) -> None:
    before = settings()
    with ad.config(**changes) as chosen:
        assert settings() is chosen
        for name, value in changes.items():
            assert getattr(chosen, name) is value
    assert settings() is before


@pytest.mark.parametrize(
    ("changes", "error", "part"),
    [
        ({"native": 1}, TypeError, "native must be None"),
        ({"native": "yes"}, TypeError, "native must be None"),
        ({"precise": None}, TypeError, "precise must be True or False"),
        ({"precise": 1}, TypeError, "precise must be True or False"),
        ({"threads": 1.0}, TypeError, "threads must be a number of cores"),
        ({"threads": True}, TypeError, "threads must be a number of cores"),
        ({"threads": 0}, ValueError, "threads must be 1 or more"),
        ({"kink": True}, TypeError, "kink must be a number"),
        ({"kink": 2.0}, ValueError, "kink must lie between"),
        ({"nativ": True}, ValueError, "config has no setting 'nativ'"),
    ],
)
def test_what_cannot(changes: dict[str, Any], error: type[Exception], part: str) -> None:
    with pytest.raises(error, match=part) as caught, ad.config(**changes):
        pass
    assert isinstance(caught.value, ad.errors.AdjointError)
