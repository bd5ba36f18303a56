"""The progress bar."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import MissingPackageError


def test_a_bar_is_shown(capsys):
    result = ad.optimize.descend(lambda x: x @ x, np.ones(2), progress=True)
    assert result.converged


def test_without_rich_it_is_an_error_to_ask_for_one(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    assert ad.optimize.descend(lambda x: x @ x, np.ones(2)).converged
    with pytest.raises(MissingPackageError, match=r"adjoint\[cli\]"):
        ad.optimize.descend(lambda x: x @ x, np.ones(2), progress=True)
