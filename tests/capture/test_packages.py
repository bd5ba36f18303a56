"""Code of installed packages is entered, wherever it lies; a few packages are not."""

from __future__ import annotations

import importlib
import inspect
import sys
import types
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import adjoint as ad
from adjoint.base.settings import settings
from adjoint.capture.clones.entering import users

SOURCE = '''
"""Common idioms, each of which asks what its argument is."""
import math
from numbers import Number

import numpy as np


def of_an_array(x):
    return np.sum(x * 2.0) if isinstance(x, np.ndarray) else 0.0


def of_a_number(x):
    return x * x if isinstance(x, (float, Number)) else 7.0


def of_a_scalar(x):
    return 3 * x if np.isscalar(x) else 5.0


def of_a_float(x):
    return x**3 if type(x) is float else -1.0


def of_a_dtype(x):
    return x * 4 if np.issubdtype(type(x), np.floating) else 2.0


def of_an_entry(x):
    return np.asarray(x).sum() * 2


def of_a_logarithm(x):
    return math.log(x) * 2


def of_a_conversion(x):
    return float(x) * 3


def of_a_list(x):
    squares = []
    for entry in x:
        squares.append(entry * entry)
    return np.array(squares).sum()


def of_writes(x):
    y = np.zeros(3)
    y[:] = x
    y *= 2
    return y.sum()


class Model:
    def __init__(self, scale):
        self.scale = np.asarray(scale)

    def predict(self, x):
        return float(np.dot(self.scale, x))


def of_an_object(x):
    return Model([1.0, 2.0, 3.0]).predict(x)
'''
ARRAY = np.array([0.5, 1.5, 2.5])
CASES: dict[str, Any] = {
    "of_an_array": (ARRAY, [2, 2, 2]),
    "of_a_number": (2.0, 4),
    "of_a_scalar": (2.0, 3),
    "of_a_float": (2.0, 12),
    "of_a_dtype": (2.0, 4),
    "of_an_entry": (ARRAY, [2, 2, 2]),
    "of_a_logarithm": (2.0, 1),
    "of_a_conversion": (2.0, 3),
    "of_a_list": (ARRAY, 2 * ARRAY),
    "of_writes": (ARRAY, [2, 2, 2]),
    "of_an_object": (ARRAY, [1, 2, 3]),
}


def _folder(way: str, name: str, place: Path) -> Path:
    """Where the module can be imported from."""
    place.mkdir()
    if way == "zip":
        with zipfile.ZipFile(place / "idioms.zip", "w") as archive:
            archive.writestr(f"{name}.py", SOURCE)
        return place / "idioms.zip"
    (place / f"{name}.py").write_text(SOURCE)
    return place


@pytest.fixture(params=["installed", "folder", "zip", "exec"])
def idioms(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The same module as it may lie; installed in a Python whose library has this folder."""
    name = f"idioms_{request.param}"
    if request.param == "exec":
        module = types.ModuleType(name)
        exec(compile(SOURCE, "<string>", "exec"), vars(module))
        yield module
        return
    settings().choice.files.clear()
    if request.param == "installed":
        monkeypatch.setattr(users, "_STANDARD", (*users._STANDARD, str(tmp_path)))
    folder = _folder(request.param, name, tmp_path / "site-packages")
    monkeypatch.syspath_prepend(str(folder))
    yield importlib.import_module(name)
    sys.modules.pop(name)
    settings().choice.files.clear()


@pytest.mark.parametrize("name", CASES)
def test_a_function_means_the_same_wherever_it_lies(name: str, idioms: Any) -> None:
    x, slope = CASES[name]
    function = getattr(idioms, name)

    def called(x: Any) -> Any:
        return function(x) * 1.0

    for derivative in (ad.value_and_grad(called), ad.jit(ad.value_and_grad(called))):
        for _ in range(2):
            value, gradient = derivative(x)
            assert value == function(x)
            np.testing.assert_allclose(gradient, slope)


def test_pythons_library_is_not_entered() -> None:
    assert not users.is_users_file(inspect.getfile(importlib))
    assert not users.is_users_file("<frozen importlib._bootstrap>")


def test_a_package_goes_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SciPy is SciPy in whatever folder it lies, and what lies beside it is not."""
    assert not users.is_users_file(inspect.getfile(scipy.optimize.minimize))
    (tmp_path / "dask").mkdir()
    package = types.ModuleType("dask")
    package.__file__ = str(tmp_path / "dask" / "__init__.py")
    monkeypatch.setitem(sys.modules, "dask", package)
    settings().choice.files.clear()
    assert not users.is_users_file(str(tmp_path / "dask" / "array" / "core.py"))
    assert users.is_users_file(str(tmp_path / "daskless" / "core.py"))
    assert users.is_users_file(str(tmp_path / "model.py"))
    settings().choice.files.clear()
