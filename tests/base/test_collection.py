"""The collector of garbage at rest."""

from __future__ import annotations

import gc

import pytest

from adjoint.base.collection import collector_at_rest


def test_it_rests_within_and_works_after() -> None:
    assert gc.isenabled()
    with collector_at_rest():
        assert not gc.isenabled()
        with collector_at_rest():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_works_after_an_error() -> None:
    with pytest.raises(ValueError, match="x"), collector_at_rest():
        raise ValueError("x")
    assert gc.isenabled()


def test_it_stays_as_the_user_left_it() -> None:
    gc.disable()
    try:
        with collector_at_rest():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
