"""The inner loops of ufuncs: found by names, refused where anything is otherwise than known."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from scipy import special

import adjoint as ad
from adjoint.base.arrays import type_of
from adjoint.executors.native.elements import has_rule
from adjoint.executors.native.machine import kernels, symbols, ufuncs
from adjoint.primitives import PRIMITIVES
from adjoint.primitives.typing_rules import resolve
from tests.executors.native.comparing import run_native
from tests.executors.native.loop_programs import alone

DOUBLE, SINGLE, COMPLEX = map(np.dtype, ("f8", "f4", "c16"))
ODD = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 30.0, -2.5, 1e-300, 40.5, np.inf, -np.inf, np.nan]
# Expensive for some arguments; in single precision some have no end.
SLOW = (
    "pro_",
    "obl_",
    "mathieu_",
    "eval_",
    "nctdtr",
    "ncfdtr",
    "chndtr",
    "bdtri",
    "pdtrik",
    "zeta",
    "pb",
    "hyp1f1",
)


def is_single_without_end(name: str, text: str) -> bool:
    singles = [one.single for one in PRIMITIVES[name].samples]
    return not all(singles) and bool(set(text) & set("fF"))


def loops() -> list[tuple[str, str]]:
    """All loops of SciPy's functions that machine code calls, by primitive and dtypes."""
    found = []
    for name in PRIMITIVES:
        if ufuncs.is_special(name) and not name.startswith(SLOW):
            texts = [text.replace("->", "") for text in ufuncs.ufunc_of(name).types]
            texts = [text for text in texts if not is_single_without_end(name, text)]
            found += [(name, text) for text in texts if set(text) <= set("fdFDl")]
    return [(n, t) for n, t in found if ufuncs.inner_loop(n, list(map(np.dtype, t))) is not None]


def operands_of(name: str, letters: str) -> list[Any]:
    """Special values and others, in a column for each operand."""
    generator, columns = np.random.default_rng(len(letters)), []
    for letter in letters:
        odd = ODD if set(letters) <= set("dDl") else [0.5, 1.0, 2.0]
        numbers = np.concatenate([odd, generator.uniform(0.1, 3.0, 7), generator.normal(size=4)])
        column = generator.permutation(numbers)
        if letter == "l" or name in ufuncs._TRUNCATING:
            column = np.where(np.abs(column) < 9, np.trunc(column), 2)
        columns.append(column.astype(letter))
    return columns


SHARES = [0, *(pytest.param(number, marks=pytest.mark.slow) for number in range(1, 6))]


@pytest.mark.parametrize("start", SHARES)
def test_the_bits_are_those_of_scipy(start: int) -> None:
    chosen = loops()[start::6]
    assert len(chosen) > 60
    for name, letters in chosen:
        ufunc = ufuncs.ufunc_of(name)
        operands = operands_of(name, letters[: ufunc.nin])
        program = alone(PRIMITIVES[name], [type_of(x) for x in operands])
        (equation,) = program.equations
        if has_rule(equation, False):
            continue
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = PRIMITIVES[name].evaluate(*operands)
        found = run_native(program, operands)
        assert found is not None, (name, letters)
        for x, y in zip(found, expected if ufunc.nout > 1 else (expected,), strict=True):
            np.testing.assert_array_equal(x, y, strict=True, err_msg=f"{name} {letters}")


def test_errors_of_scipy_are_raised_and_warned_of_by_scipy() -> None:
    function = ad.jit(lambda x: special.gammaln(x) * 2.0 + np.sin(x))
    x = np.array([1.5, 0.0, 3.0])
    with ad.config(native=True):
        assert np.isinf(function(x)[1])
        with special.errstate(singular="raise"), pytest.raises(special.SpecialFunctionError):
            function(x)
        with special.errstate(singular="warn"), pytest.warns(special.SpecialFunctionWarning):
            function(x)
        assert np.isinf(function(x)[1])


def test_flags_of_other_functions_survive_those_of_scipy() -> None:
    function = ad.jit(lambda x, y: special.gammaln(1 / x) * special.gamma(y) + special.psi(x + 1))
    with ad.config(native=True):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # SciPy's overflow is quiet
            assert np.isinf(function(np.full(16, 0.25), np.full(16, 200.0))).all()
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            function(np.zeros(16), np.ones(16))


def test_an_order_that_is_no_integer_is_for_scipy_to_warn_of() -> None:
    function = ad.jit(lambda n, x: special.kn(n, x) * 2.0 + x)
    x = np.linspace(1.0, 2.0, 9)
    with ad.config(native=True):
        whole = function(np.full(9, 2.0), x)
        np.testing.assert_array_equal(whole, special.kn(2, x) * 2.0 + x)
        function(np.full(9, 3.0), x)
        with pytest.warns(RuntimeWarning, match="truncated"):
            cut = function(np.full(9, 2.5), x)
    np.testing.assert_array_equal(cut, whole)


def test_complex_functions_and_their_warnings() -> None:
    parts = np.array([*ODD[:8], np.inf, np.nan])
    grid = np.array([complex(x, y) for x in parts for y in parts])
    for ufunc in (np.exp, np.log, np.sqrt, np.sin, np.tanh, np.arccos, np.log1p):
        for x in (grid, grid[44:46]):
            outcomes = []
            for native in (False, True):
                function = ad.jit(lambda x, ufunc=ufunc: ufunc(x) * 1.0)
                with ad.config(native=native), warnings.catch_warnings(record=True) as heard:
                    warnings.simplefilter("always")
                    outcomes.append((function(x), {str(each.message) for each in heard}))
            np.testing.assert_array_equal(outcomes[1][0], outcomes[0][0])
            assert outcomes[1][1] == outcomes[0][1]


def test_precise_numbers_are_those_of_numpy() -> None:
    x = np.random.default_rng(0).normal(size=1001) * 9
    for function in (np.exp, np.sin, np.tanh, lambda x: x**5, lambda x: np.log(np.abs(x))):
        with ad.config(precise=True, native=True):
            compiled = ad.jit(function)
            np.testing.assert_array_equal(compiled(x), function(x))


def test_a_symbol_is_provided_again(monkeypatch: pytest.MonkeyPatch) -> None:
    symbol = ufuncs.inner_loop("hyp2f1", [DOUBLE, DOUBLE, DOUBLE, COMPLEX, COMPLEX])
    assert symbol == "ufunc.scipy.hyp2f1.dddDD"
    monkeypatch.setattr(symbols, "_defined", {})
    for name in ("ufunc.scipy.nothing.dd", "ufunc.scipy.gamma.dddd", "ufunc.scipy._ncx2_sf.dddd"):
        ufuncs.provide(name)
        assert symbols.address_of(name) is None
    ufuncs.provide(symbol)
    assert symbols.address_of(symbol) is not None
    kernels.kernel.cache_clear()
    ufuncs.provide("ufunc.kernel.gamma")
    assert symbols.address_of("ufunc.kernel.gamma") is not None


def test_another_layout_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbols, "_defined", {})
    monkeypatch.setattr(ufuncs, "_is_as_known", lambda: False)
    assert ufuncs.inner_loop("gamma", [DOUBLE, DOUBLE]) is None
    head = ufuncs._head(resolve(PRIMITIVES["gamma"].ufunc))
    assert head is not None
    monkeypatch.setattr(ufuncs, "_Head", _shifted())
    assert ufuncs._head(resolve(PRIMITIVES["gamma"].ufunc)) is None


def _shifted() -> Any:
    class Shifted(ufuncs.ctypes.Structure):
        _fields_ = (("before", ufuncs.ctypes.c_int), *ufuncs._Head._fields_)

    return Shifted


def test_scipy_is_loaded_when_it_is_needed() -> None:
    code = (
        "import sys, numpy as np, adjoint as ad\n"
        "with ad.config(native=True): ad.jit(lambda x: np.exp(1j * x))(np.ones(3))\n"
        "print('scipy.special' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


# --- functions of single numbers ------------------------------------------------------------------


def test_functions_of_single_numbers_are_those_of_the_ufuncs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gamma, names = special.gamma, {name for name, _ in loops()}
    known = [name for name in names if ufuncs.number_function(name, [DOUBLE, DOUBLE]) is not None]
    assert {"gamma", "psi", "gammainc", "hyp2f1", "ellipkinc", "erfinv"} <= set(known)
    assert ufuncs.number_function("gamma", [SINGLE, SINGLE]) is None
    assert ufuncs.number_function("kn", [DOUBLE, DOUBLE, DOUBLE]) is None  # which warns
    assert ufuncs.number_function("exp", [DOUBLE, DOUBLE]) is None  # not of SciPy
    compared = kernels.kernel.__wrapped__
    assert compared("gamma", gamma) == "ufunc.kernel.gamma"
    of_psi = kernels._address("psi", 1)
    monkeypatch.setattr(kernels, "_address", lambda name, count: of_psi)
    assert compared("gamma", gamma) is None


def test_another_signature_is_refused() -> None:
    assert kernels._address("gamma", 1) is not None
    assert kernels._address("gamma", 2) is None
    assert kernels._address("nothing", 1) is None


@pytest.mark.parametrize("name", ["erf", "erfc", "ndtr", "logit"])
def test_formulas_of_scipys_functions_report_errors_too(name: str) -> None:
    function = getattr(special, name)
    with ad.config(native=True):
        jitted = ad.jit(lambda x: function(x))
        jitted(np.array([0.3, 0.5]))
        with special.errstate(all="raise"), pytest.raises(special.SpecialFunctionError):
            jitted(np.array([np.nan, 0.5]))
        np.testing.assert_allclose(jitted(np.array([0.5])), function(np.array([0.5])), rtol=1e-15)
