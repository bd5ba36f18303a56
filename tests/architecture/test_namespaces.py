"""What is offered under a namespace is what users call: no rooms, nothing imported."""

from types import ModuleType

import numpy
import pytest
import scipy.special

import adjoint as ad
import adjoint.numpy.fft
import adjoint.numpy.linalg
import adjoint.scipy

OWN = ["", "spaces", "maps", "tensors", "manifolds", "optimize", "implicit", "testing", "scipy"]
OWN += ["interop"]


def shown(module: ModuleType) -> set[str]:
    return {name for name in dir(module) if not name.startswith("_")}


@pytest.mark.parametrize("name", OWN)
def test_a_namespace_shows_its_public_names(name: str) -> None:
    module = getattr(ad, name) if name else ad
    assert shown(module) == set(module.__all__)


def test_the_package_shows_no_rooms() -> None:
    rooms = {"base", "calculus", "capture", "executors", "loops", "optimise", "pipeline"}
    assert shown(ad) & rooms == set()
    assert {"grad", "numpy", "scipy", "config"} <= shown(ad)


def test_errors_show_errors() -> None:
    assert all(issubclass(getattr(ad.errors, name), Exception) for name in shown(ad.errors))


@pytest.mark.parametrize("part", ad.scipy.__all__)
def test_parts_of_scipy_show_its_names(part: str) -> None:
    module = getattr(ad.scipy, part)
    theirs = getattr(scipy, part)
    assert shown(module) == set(module.__all__)
    assert shown(module) <= set(theirs.__all__)
    assert all(hasattr(module, name) for name in shown(module))
    modules = {name for name in shown(module) if isinstance(getattr(theirs, name), ModuleType)}
    assert not any("_sub_module_deprecation" in vars(getattr(theirs, name)) for name in modules)


def test_everything_of_a_part_can_be_imported() -> None:
    names: dict[str, object] = {}
    exec("from adjoint.scipy.special import *", names)
    assert set(names) - {"__builtins__"} == set(scipy.special.__all__)


def test_numpy_shows_numpys_names() -> None:
    assert set(dir(ad.numpy)) == set(numpy.__all__)
    assert set(dir(adjoint.numpy.linalg)) == set(numpy.linalg.__all__)
    assert set(dir(adjoint.numpy.fft)) == set(numpy.fft.__all__)
