"""What cannot be entered says who it is, at which line of whose code, and what to do."""

from __future__ import annotations

import importlib
import operator
import struct
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.capture.clones.entering.foreign import is_foreign

SOURCE = """
import array, ctypes, ctypes.util, decimal, fractions, statistics, struct

import numpy as np
from scipy.spatial import KDTree
from scipy.special import cython_special

TABLE = np.zeros(3)
KEPT = [TABLE[:1]]
pack = struct.Struct("d")


class Library:
    sine = ctypes.CDLL(ctypes.util.find_library("m")).sin


Library.sine.restype = ctypes.c_double
Library.sine.argtypes = [ctypes.c_double]


def fraction(x):
    return float(fractions.Fraction(x) * 2)


def ten(x):
    return float(decimal.Decimal(x) * 2)


def mean(x):
    return statistics.mean([x, 2 * x])


def deviation(x):
    return statistics.stdev([x, 2 * x, x * x])


def mean_of_floats(x):
    return statistics.fmean([x, 2 * x])


def packed(x):
    return struct.unpack("d", struct.pack("d", x))[0]


def packed_by_object(x):
    return pack.unpack(pack.pack(x))[0]


def viewed(x):
    return memoryview(np.array([x, x]))[0] * 2


def sine(x):
    return Library.sine(x)


def converted(x):
    return ctypes.c_double(x).value


def gamma(x):
    return cython_special.gamma(x)


def stored(x):
    return array.array("d", [x])[0]


def written(x):
    TABLE[0] = x
    return TABLE.sum()


def ratio(x):
    top, bottom = x.as_integer_ratio()
    return top / bottom


def text(x):
    return float(str(x)) * 2


def text_of_many(x):
    return float(f"{x}") + float("%.2f" % x)


def nearest(x):
    return KDTree(np.array([[x, x, x]])).query(np.zeros(3))[0]
"""
# The callee, or what else is named; a refusal says these, and what to do.
NAMED = {
    "fraction": "fractions.Fraction",
    "ten": "decimal.Decimal",
    "mean": "statistics._exact_ratio",
    "deviation": "statistics._exact_ratio",
    "mean_of_floats": "statistics.fmean",
    "packed": "struct.pack is not entered",
    "packed_by_object": "pack is not entered",
    "viewed": "memoryview",
    "sine": "ctypes.sin is not entered",
    "converted": "compiled code",
    "gamma": "cython_special.gamma is not entered",
    "stored": "compiled code",
    "written": "written into an array that was made elsewhere",
    "ratio": "as_integer_ratio",
    "text": "Text shows a value",
    "text_of_many": "Text shows a value",
    "nearest": "scipy.spatial.KDTree was given traced values",
}


@pytest.fixture(params=["site-packages", "project"])
def module(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The same code in an installed package, and in the user's own."""
    folder = tmp_path / request.param
    folder.mkdir()
    name = f"refusing_{request.param.replace('-', '_')}"
    (folder / f"{name}.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(folder))
    yield importlib.import_module(name)
    sys.modules.pop(name)


@pytest.mark.parametrize("name", NAMED)
def test_a_refusal_names_the_callee_the_line_and_the_way_out(name: str, module: Any) -> None:
    function = getattr(module, name)

    def called(x: Any) -> Any:
        return function(x) * 1.0

    for derivative in (ad.grad(called), ad.jit(ad.grad(called))):
        with pytest.raises(ad.errors.AdjointError) as caught:
            derivative(1.25)
        text, (note,) = str(caught.value), caught.value.__notes__
        assert NAMED[name] in text
        assert "ad.primitive" in text
        assert "Leave float" not in text
        assert f"{module.__file__}:" in note.partition("\n")[0]
        assert ("code of an installed package" in note) is ("site" in module.__name__)
        if "site" in module.__name__:
            assert f"{__file__}:" in note
            assert note.endswith("Give the derivative of what you call there with ad.primitive.")


def test_a_refusal_by_compiled_code_is_not_swallowed(module: Any) -> None:
    def called(x: Any) -> Any:
        try:
            return module.packed(x)
        except Exception:
            return x

    with pytest.raises(ad.errors.DroppedDerivativeError, match=r"float\(\) was called"):
        ad.grad(called)(1.25)


def test_text_may_be_shown_and_rounded(module: Any) -> None:
    """What has fewer digits is constant between its steps, as np.round is."""

    def called(x: Any) -> Any:
        rounded = float(f"{x:.3f}") + float(format(x, ".2f")) + float(str(round(x)))
        return rounded * x if str(x) else 0.0

    assert ad.grad(called)(1.25) == 1.25 + 1.25 + 1.0


def test_an_error_without_traced_values_is_its_own(module: Any) -> None:
    def called(x: Any) -> Any:
        try:
            module.packed("text")
        except Exception as error:
            return x * len(type(error).__name__)

    assert ad.grad(called)(1.25) == len("error")


def test_builtin_functions_of_packages_are_foreign() -> None:
    """Also those that are methods of a class, as torch's are."""
    functions = type("Functions", (), {"__module__": "torch._C"})
    assert is_foreign(types.SimpleNamespace(__module__=None, __self__=functions))
    assert is_foreign(types.SimpleNamespace(__module__="package.part", __self__=None))
    assert is_foreign(struct.pack)
    for function in (len, sys._getframe, dict.fromkeys, [].append, operator.add, np.dot):
        assert type(function) is not types.BuiltinFunctionType or not is_foreign(function)
