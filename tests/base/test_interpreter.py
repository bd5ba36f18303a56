"""Pythons on which the package does not run, or knows less."""

from __future__ import annotations

import sys
import sysconfig
from types import SimpleNamespace

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.process.interpreter import check_interpreter


def test_this_one() -> None:
    check_interpreter()  # a warning would be an error here


def test_free_threaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: int(name == "Py_GIL_DISABLED"))
    with pytest.raises(ImportError, match="free-threaded"):
        check_interpreter()


def test_another_implementation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "implementation", SimpleNamespace(name="pypy"))
    with pytest.raises(ImportError, match="pypy"):
        check_interpreter()


class _Model:
    def __init__(self) -> None:
        self.weights = np.array([1.0, 2.0])

    def loss(self, x):
        buffer = np.zeros(2)
        buffer[:] = x * self.weights
        return np.sum(buffer)


def test_a_version_that_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is warned of; functions go by their names, and what is not reached is an error."""
    monkeypatch.setattr(sys, "version_info", (3, 99, 0, "final", 0))
    with pytest.warns(ad.errors.UnknownPythonWarning, match="3.99"):
        check_interpreter()
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(np.sin(x)))(np.zeros(2)), [1, 1])
    model = _Model()
    with pytest.raises(ad.errors.AdjointError):
        ad.grad(lambda x: model.loss(x))(np.ones(2))
