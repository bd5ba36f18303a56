"""BLAS and LAPACK use as many threads as `ad.config(threads=...)` says."""

from __future__ import annotations

import pytest
import threadpoolctl

import adjoint as ad
from adjoint.base.errors import ArgumentError


def numbers() -> set[int]:
    """The threads of all libraries that are loaded."""
    information = threadpoolctl.threadpool_info()
    return {each["num_threads"] for each in information if each["user_api"] == "blas"}


def test_a_block_sets_them_and_leaves_them_as_they_were() -> None:
    before = numbers()
    with ad.config(threads=1):
        assert numbers() == {1}
        with ad.config(threads=2, debug=True):
            assert numbers() == {2}
        assert numbers() == {1}
        with ad.config(debug=True), ad.config(threads=None):
            assert numbers() == {1}
    assert numbers() == before


def test_an_error_leaves_them_as_they_were() -> None:
    before = numbers()
    with pytest.raises(KeyError), ad.config(threads=1):
        raise KeyError
    with pytest.raises(ArgumentError), ad.config(threads=0):
        raise AssertionError
    with pytest.raises(ArgumentError), ad.config(threads=1, cache=""):
        raise AssertionError
    assert numbers() == before
