"""`ad.config(enter=..., leave=...)`: which packages are entered, and what was kept before."""

from __future__ import annotations

import importlib
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.counting import counting

SOURCE = """
import numpy as np

captures = []


def filled(x):
    captures.append(0)
    out = np.zeros(2)
    out[0] = x
    out[1] = 2 * x
    return out.sum()


class Number:
    def __init__(self, value):
        self.value = value

    def __mul__(self, other):
        out = np.zeros(1)
        out[0] = self.value * other
        return out.sum()


def product(x):
    return Number(x) * 3.0
"""
REFUSED = (ad.errors.DroppedDerivativeError, ad.errors.UnsupportedFunctionError)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A package that is entered by itself, with a module in it."""
    (tmp_path / "chosen").mkdir()
    (tmp_path / "chosen" / "__init__.py").write_text(SOURCE)
    (tmp_path / "chosen" / "part.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("chosen", "chosen.part"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    importlib.import_module("chosen.part")
    yield importlib.import_module("chosen")
    for name in ("chosen", "chosen.part"):
        sys.modules.pop(name, None)


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A package by the name of one that is not entered by itself."""
    (tmp_path / "zarr").mkdir()
    (tmp_path / "zarr" / "__init__.py").write_text(SOURCE)
    (tmp_path / "zarr" / "part.py").write_text(SOURCE)
    saved = {name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith("zarr")}
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("zarr.part")
    with ad.config(leave=()):
        yield importlib.import_module("zarr")
    for name in [name for name in sys.modules if name.startswith("zarr")]:
        del sys.modules[name]
    sys.modules.update(saved)


def _gradients(function: Any) -> list[Any]:
    def called(x: Any) -> Any:
        return function(x) * 1.0

    def looked_up(x: Any) -> Any:
        return {"it": function}["it"](x)

    return [ad.grad(called), ad.jit(ad.grad(called)), ad.grad(looked_up), ad.jacobian(called)]


@pytest.mark.parametrize("name", ["filled", "product"])
def test_a_package_is_left_within_the_block_alone(package: Any, name: str) -> None:
    function = getattr(package, name)
    for gradient in _gradients(function):
        for _ in range(2):
            for _ in range(2):
                assert gradient(2.0) == 3
            with ad.config(leave=("chosen",)):
                for _ in range(2):
                    with pytest.raises(REFUSED):
                        gradient(2.0)


@pytest.mark.parametrize("name", ["filled", "product"])
def test_a_package_is_entered_within_the_block_alone(left: Any, name: str) -> None:
    function = getattr(left, name)
    for gradient in _gradients(function)[:2]:
        for _ in range(2):
            with ad.config(enter="zarr"):
                for _ in range(2):
                    assert gradient(2.0) == 3
            for _ in range(2):
                with pytest.raises(REFUSED):
                    gradient(2.0)


@pytest.mark.parametrize("jitted", [False, True])
def test_what_was_kept_is_found_again(package: Any, jitted: bool) -> None:
    """Under another choice the function is captured again, and each choice keeps its own."""
    function, ran = counting(lambda x: np.sin(x) * x)
    gradient = ad.jit(ad.grad(function)) if jitted else ad.grad(function)
    for leave in ((), "chosen"):
        before = len(ran)
        with ad.config(leave=leave):
            values = [gradient(1.0) for _ in range(12)]
        assert len(ran) > before
        assert len(set(values)) == 1
    before = len(ran)
    for leave in ((), "chosen", (), "chosen"):
        with ad.config(leave=leave):
            assert gradient(1.0) == values[0]
    assert len(ran) == before


def test_what_is_handed_to_a_transform_is_entered(package: Any) -> None:
    """As it is for functions of all packages; what it calls in turn is not."""
    with ad.config(leave="chosen"):
        assert ad.grad(package.filled)(2.0) == 3
        with pytest.raises(REFUSED):
            ad.grad(package.product)(2.0)


def test_the_longer_name_decides(package: Any, left: Any) -> None:
    part, left_part = sys.modules["chosen.part"], sys.modules["zarr.part"]
    with ad.config(leave="chosen.part"):
        assert ad.grad(package.filled)(2.0) == 3
        with pytest.raises(REFUSED):
            ad.grad(lambda x: part.filled(x))(2.0)
    with ad.config(leave="chosen", enter="chosen.part"):
        assert ad.grad(lambda x: part.filled(x))(2.0) == 3
        with pytest.raises(REFUSED):
            ad.grad(lambda x: package.filled(x))(2.0)
    with ad.config(enter="zarr.part"):
        assert ad.grad(lambda x: left_part.filled(x))(2.0) == 3
        with pytest.raises(REFUSED):
            ad.grad(lambda x: left.filled(x))(2.0)


def test_the_inner_block_counts(package: Any) -> None:
    gradient = ad.grad(lambda x: package.filled(x))
    with ad.config(leave=("chosen", "chosen.part")):
        with pytest.raises(REFUSED):
            gradient(2.0)
        with ad.config(enter=["chosen"]) as chosen:
            assert chosen.leave == ("chosen.part",)
            assert gradient(2.0) == 3
            with ad.config(kink=1.0):
                assert gradient(2.0) == 3
        with ad.config(leave=()):
            assert gradient(2.0) == 3
        with pytest.raises(REFUSED):
            gradient(2.0)


def test_it_is_chosen_by_the_thread(package: Any) -> None:
    gradient = ad.jit(ad.grad(lambda x: package.filled(x)))
    outcomes: dict[str, list[Any]] = {"left": [], "entered": []}

    def run(name: str) -> None:
        for _ in range(20):
            try:
                with ad.config(leave="chosen" if name == "left" else ()):
                    outcomes[name].append(float(gradient(2.0)))
            except REFUSED:
                outcomes[name].append("refused")

    threads = [threading.Thread(target=run, args=(name,)) for name in outcomes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == {"left": ["refused"] * 20, "entered": [3.0] * 20}


def test_it_cannot_change_within_a_capture(package: Any) -> None:
    def function(x: Any) -> Any:
        with ad.config(leave="chosen"):
            return package.filled(x)

    assert function(2.0) == 6
    with pytest.raises(ad.errors.ArgumentError, match="leave says which code is entered by a capt"):
        ad.grad(function)(2.0)


def test_a_function_that_outlives_its_capture(package: Any) -> None:
    """It looks its names up under the choice of the capture that calls it."""
    kept: list[Any] = []

    def outer(x: Any) -> Any:
        kept.append(lambda y: package.filled(y))
        return kept[-1](x)

    assert ad.grad(outer)(2.0) == 3
    with ad.config(leave="chosen"), pytest.raises(REFUSED):
        ad.grad(lambda x: kept[0](x))(2.0)
    assert ad.grad(lambda x: kept[0](x))(2.0) == 3


@pytest.mark.parametrize(
    ("changes", "error", "part"),
    [
        ({"enter": 3}, TypeError, "enter must be the name of a package or module"),
        ({"leave": None}, TypeError, "leave must be the name of a package or module"),
        ({"leave": (3,)}, TypeError, "leave must be .* got one of type int"),
        ({"enter": np}, TypeError, "enter takes names, got a module; .* enter='numpy'"),
        ({"leave": ""}, ValueError, "leave must name a package or module, got ''"),
        ({"leave": "a b"}, ValueError, "leave must name a package or module, got 'a b'"),
        ({"leave": "no_such_package"}, ValueError, "leave names 'no_such_package', and no pack"),
        ({"leave": "numpy.no_such"}, ValueError, "leave names 'numpy.no_such', and no package"),
        ({"enter": "numpy"}, ValueError, "enter cannot name 'numpy': functions of numpy have rul"),
        ({"enter": "scipy.stats"}, ValueError, "enter cannot name 'scipy.stats'"),
        ({"enter": "adjoint"}, ValueError, "enter cannot name 'adjoint'"),
        ({"enter": "statistics"}, ValueError, "enter cannot name 'statistics': Python's own lib"),
        ({"enter": "pytest", "leave": "pytest"}, ValueError, "enter and leave both name 'pytest'"),
        ({"choice": 1}, ValueError, "config has no setting 'choice'"),
    ],
)
def test_names_that_cannot_be(changes: dict[str, Any], error: type[Exception], part: str) -> None:
    with pytest.raises(error, match=part) as caught, ad.config(**changes):
        pass
    assert isinstance(caught.value, ad.errors.AdjointError)
