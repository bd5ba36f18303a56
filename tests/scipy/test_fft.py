"""`scipy.fft` on traced arrays: SciPy's values, and the transforms' adjoints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.fft
from scipy.fft import rfft

import adjoint as ad
from tests.scipy.comparing import agrees_in_all_modes

NAMES = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
ONE: tuple[dict[str, Any], ...] = ({}, {"n": 5}, {"axis": 0}, {"n": 8, "axis": 0, "workers": 1})
SEVERAL: tuple[dict[str, Any], ...] = (
    *({}, {"s": (3, 5)}, {"axes": 0}, {"axes": (1, 0)}, {"s": 4, "axes": 1}),
    {"s": (5, 3), "axes": (1, 0)},
)


def _point(name: str, dtype: Any) -> Any:
    generator = np.random.default_rng(3)
    x = generator.standard_normal((4, 6))
    if np.dtype(dtype).kind == "c" and not name.startswith(("rfft", "ihfft")):
        x = x + 1j * generator.standard_normal((4, 6))
        return x.astype(dtype)
    return x.astype(np.dtype(dtype).char.lower())


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.float32])
@pytest.mark.parametrize("name", [f"{name}{end}" for name in NAMES for end in ("", "2", "n")])
def test_transforms(name: str, dtype: Any, norm: str | None) -> None:
    x, transform = _point(name, dtype), getattr(scipy.fft, name)
    tolerance = 1e-4 if x.dtype.char in "fF" else 1e-12
    for keywords in SEVERAL if name[-1] in "2n" else ONE:
        expected = transform(x, norm=norm, **keywords)
        y, pull = ad.vjp(lambda x, given=keywords: transform(x, norm=norm, **given), x)
        assert y.dtype == expected.dtype
        np.testing.assert_allclose(y, expected, rtol=tolerance, atol=tolerance)
        # A linear map's adjoint, under the real inner product: <A u, v> = <u, A* v>.
        u, v = x[::-1].copy(), (y[::-1] + 1).astype(y.dtype)
        forward = np.vdot(transform(u, norm=norm, **keywords), v).real
        assert forward == pytest.approx(np.vdot(u, pull(v)[0]).real, rel=100 * tolerance)


def test_every_mode() -> None:
    agrees_in_all_modes(lambda x: np.sum(np.abs(rfft(x)) ** 4), np.array([0.5, -1.0, 2.0, 0.3]))


def test_the_namespace_is_a_drop_in() -> None:
    from adjoint.scipy import fft

    np.testing.assert_array_equal(fft.hfftn(np.ones((3, 3))), scipy.fft.hfftn(np.ones((3, 3))))
    assert "rfftn" in dir(fft)
