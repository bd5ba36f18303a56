"""`scipy.signal` under capture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import signal

import adjoint as ad
from tests.scipy.comparing import agrees, agrees_in_all_modes

RNG = np.random.default_rng(0)
X, K = RNG.standard_normal(12), RNG.standard_normal(5)
XX, KK = RNG.standard_normal((6, 5)), RNG.standard_normal((3, 2))
B, A = np.array([0.2, 0.3, 0.1]), np.array([1.1, -0.5, 0.2, 0.05])
STATE = np.array([0.1, 0.2, 0.3])
SECTIONS = np.array([[0.2, 0.3, 0.1, -0.5, 0.2], [1.0, 0.3, 0.2, 0.1, 0.05]])


def in_sections(s: Any, x: Any) -> Any:
    rows = np.concatenate([s[:, :3], np.ones((2, 1)), s[:, 3:]], axis=1)
    return signal.sosfilt(rows, x)


Cases = dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]
CONVOLUTIONS: Cases = {
    f"{name} {mode} {len(np.shape(one))}": (
        lambda x, k, name=name, mode=mode: getattr(signal, name)(x, k, mode=mode),
        (one, other),
    )
    for name in ("convolve", "correlate", "fftconvolve")
    for mode in ("full", "same", "valid")
    for one, other in ((X, K), (K, X), (XX, KK))
}
PLANES: Cases = {
    f"{name} {mode} {boundary}": (
        lambda x, k, name=name, mode=mode, boundary=boundary: getattr(signal, name)(
            x, k, mode, boundary
        ),
        (XX, KK),
    )
    for name in ("convolve2d", "correlate2d")
    for mode in ("full", "same", "valid")
    for boundary in ("fill", "symm", "wrap")
}
OTHERS: Cases = {
    "lfilter": (signal.lfilter, (B, A, X)),
    "lfilter zi": (lambda b, a, x, z: signal.lfilter(b, a, x, zi=z), (B, A, X, STATE)),
    "lfilter short": (lambda b, a, x, z: signal.lfilter(b, a, x, zi=z), (B, A, X[:2], STATE)),
    "lfilter axis": (lambda b, a, x: signal.lfilter(b, a, x, axis=0), (B, A, XX)),
    "lfilter_zi": (signal.lfilter_zi, (B, A)),
    "lfiltic": (signal.lfiltic, (B, A / A[0], X[:3])),  # SciPy asks whether a[0] is 1
    "lfiltic of a few": (signal.lfiltic, (B, A, X[:2], X[3:4])),
    "filtfilt": (lambda b, a, x: signal.filtfilt(b, a, x, padlen=5), (B, A, X)),
    "sosfilt": (in_sections, (SECTIONS, X)),
    "hilbert": (lambda x: signal.hilbert(x).imag, (X,)),
    "detrend": (signal.detrend, (XX,)),
    "detrend constant": (lambda x: signal.detrend(x, axis=0, type="constant"), (XX,)),
    **{
        f"savgol {mode}": (lambda x, mode=mode: signal.savgol_filter(x, 5, 2, mode=mode), (X,))
        for mode in ("interp", "mirror", "nearest", "wrap", "constant")
    },
    "savgol, an even window": (lambda x: signal.savgol_filter(x, 4, 2), (X,)),
    "savgol, an even window and a constant": (
        lambda x: signal.savgol_filter(x, 4, 2, axis=0, mode="constant", cval=2.0),
        (XX,),
    ),
    "savgol slope": (lambda x: signal.savgol_filter(x, 5, 2, 1, 0.3, axis=0), (XX,)),
    "sawtooth": (lambda t: signal.sawtooth(t, 0.3), (X,)),
}
CASES: Cases = {**CONVOLUTIONS, **PLANES, **OTHERS}


@pytest.mark.parametrize("name", CASES)
def test_value_and_derivatives(name: str) -> None:
    function, args = CASES[name]
    agrees(function, *args)


def test_filters_in_all_modes() -> None:
    agrees_in_all_modes(lambda a: np.sum(signal.lfilter(B, 1.0 + a, X) ** 2), 0.3 * A)
    agrees_in_all_modes(lambda x: np.sum(signal.fftconvolve(x, x) ** 2), K)


def test_what_jumps_is_refused() -> None:
    with pytest.raises(ad.errors.UnsupportedFunctionError, match=r"peak_widths.*x\[peaks\]"):
        ad.grad(lambda x: signal.peak_widths(x, [3])[0].sum())(X)
    with pytest.raises(ad.errors.UnsupportedFunctionError, match=r"medfilt2d.*signal\.medfilt"):
        ad.grad(lambda x: signal.medfilt2d(x).sum())(XX)


def test_a_function_with_a_rule_is_kept_whatever_scipy_makes_it_of() -> None:
    jitted = ad.jit(lambda x: signal.lfilter([1.0, 0.5], [1.0, 0.2], x))
    x = np.arange(5.0)
    np.testing.assert_allclose(jitted(x), signal.lfilter([1.0, 0.5], [1.0, 0.2], x))
    assert "captured at every call" not in str(ad.explain(jitted, x))
