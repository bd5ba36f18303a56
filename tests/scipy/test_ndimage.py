"""`scipy.ndimage` under capture: its Python is entered, and its compiled loops have rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

import adjoint as ad
from tests.scipy.comparing import agrees, agrees_in_all_modes

RNG = np.random.default_rng(0)
X, KERNEL, ROW = RNG.standard_normal((6, 5)), RNG.standard_normal((3, 2)), RNG.standard_normal(4)
HEIGHTS = RNG.standard_normal((3, 3))
POINTS, PLACES = RNG.uniform(-9, 13, (2, 30)), RNG.uniform(-9, 13, (1, 20))
MATRIX, OFFSET = np.array([[0.913, 0.217], [-0.3017, 1.211]]), np.array([0.3113, -0.2171])
MODES = (
    *("reflect", "mirror", "constant", "nearest", "wrap"),
    *("grid-mirror", "grid-constant", "grid-wrap"),
)
CROSS = [[0, 1, 0], [1, 1, 1], [0, 1, 0]]
Cases = dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]


def filters(mode: str) -> Cases:
    around: Any = {"mode": mode, "cval": 0.3}
    return {
        "correlate1d": (
            lambda x, w: ndimage.correlate1d(x, w, 0, origin=1, **around),
            (X, ROW),
        ),
        "convolve1d": (lambda x, w: ndimage.convolve1d(x, w, origin=-1, **around), (X, ROW)),
        "correlate": (
            lambda x, w: ndimage.correlate(x, w, origin=(1, 0), **around),
            (X, KERNEL),
        ),
        "convolve": (lambda x, w: ndimage.convolve(x, w, **around), (X, KERNEL)),
        "gaussian_filter": (
            lambda x: ndimage.gaussian_filter(x, (0.7, 2.0), order=(0, 1), **around),
            (X,),
        ),
        "uniform_filter": (lambda x: ndimage.uniform_filter(x, 3, **around), (X,)),
        "maximum_filter": (lambda x: ndimage.maximum_filter(x, 3, **around), (X,)),
        "minimum_filter": (
            lambda x: ndimage.minimum_filter(x, footprint=CROSS, **around),
            (X,),
        ),
        "median_filter": (lambda x: ndimage.median_filter(x, 3, **around), (X,)),
        "median_filter of a row": (lambda x: ndimage.median_filter(x, 3, **around), (X[0],)),
        "spline_filter": (lambda x: ndimage.spline_filter(x, 3, mode=mode), (X,)),
        "a kernel that is longer than the image": (
            lambda x, w: ndimage.correlate1d(x, w, 0, **around),
            (X[:2], RNG.standard_normal(7)),
        ),
    }


def interpolations(mode: str, order: int) -> Cases:
    how: Any = {"mode": mode, "order": order, "cval": 0.3}
    cases: Cases = {
        "map_coordinates": (lambda x, p: ndimage.map_coordinates(x, p, **how), (X, POINTS)),
    }
    if order not in (0, 1, 3):
        return cases
    return {
        **cases,
        "shift": (lambda x, s: ndimage.shift(x, s, **how), (X, np.array([1.3, -2.4]))),
        "by whole pixels": (lambda x: ndimage.shift(x, (2, -3), **how), (X,)),
        "zoom": (lambda x: ndimage.zoom(x, (1.4, 0.6), **how), (X,)),
        "zoom by pixels": (lambda x: ndimage.zoom(x, 2, grid_mode=True, **how), (X,)),
        "rotate": (lambda x: ndimage.rotate(x, 33.0, **how), (X,)),
        "affine_transform": (
            lambda x, a, b: ndimage.affine_transform(x, a, b, (4, 7), **how),
            (X, MATRIX, OFFSET),
        ),
        "affine_transform along axes": (
            lambda x, a, b: ndimage.affine_transform(x, a, b, **how),
            (X, np.array([0.913, 1.217]), OFFSET),
        ),
    }


OTHERS: Cases = {
    **{
        name: (lambda x, name=name: getattr(ndimage, name)(x), (X,))
        for name in ("sobel", "prewitt", "laplace")
    },
    "gaussian_laplace": (lambda x: ndimage.gaussian_laplace(x, 1.0), (X,)),
    "gaussian_gradient_magnitude": (
        lambda x: ndimage.gaussian_gradient_magnitude(x, 1.0),
        (X,),
    ),
    "the width of gaussian_filter1d": (
        lambda x, s: ndimage.gaussian_filter1d(x, s),
        (X, 1.3),
    ),
    "percentile_filter": (lambda x: ndimage.percentile_filter(x, 30, size=(3, 2)), (X,)),
    "rank_filter": (lambda x: ndimage.rank_filter(x, 2, footprint=CROSS), (X,)),
    "complex": (
        lambda x, y: ndimage.gaussian_filter(x + 1j * y, 1.0).imag,
        (X, X[::-1].copy()),
    ),
    "output": (lambda x: ndimage.sobel(x, output=np.zeros((6, 5))), (X,)),
    "grey_erosion": (lambda x: ndimage.grey_erosion(x, size=3, structure=HEIGHTS), (X,)),
    "grey_dilation": (lambda x: ndimage.grey_dilation(x, structure=HEIGHTS), (X,)),
    "grey_opening": (lambda x: ndimage.grey_opening(x, size=3), (X,)),
    "fourier_gaussian": (lambda x: ndimage.fourier_gaussian(x, 1.0), (X,)),
    "fourier_shift": (
        lambda x: ndimage.fourier_shift(np.fft.fft2(x), (1.0, 0.4)).imag,
        (X,),
    ),
    "without a prefilter": (
        lambda x, p: ndimage.map_coordinates(x, p, prefilter=False, mode="mirror"),
        (X, POINTS),
    ),
    "of a row": (
        lambda x, p: ndimage.map_coordinates(x, p, mode="grid-wrap"),
        (X[0], PLACES),
    ),
    "rotate in space": (
        lambda x: ndimage.rotate(x, 33.0, axes=(0, 2), order=1, reshape=False),
        (RNG.standard_normal((3, 4, 3)),),
    ),
    "the angle of rotate": (
        lambda x, angle: ndimage.rotate(x, angle, reshape=False),
        (X, 33.0),
    ),
    "complex shift": (lambda x, y: ndimage.shift(x + 1j * y, 1.2).imag, (X, X[::-1].copy())),
    "a single row": (lambda x: ndimage.shift(x, (2.2, -0.3), mode="nearest"), (X[:1],)),
}


@pytest.mark.parametrize("mode", MODES)
def test_filters(mode: str) -> None:
    for function, args in filters(mode).values():
        agrees(function, *args)


@pytest.mark.filterwarnings("ignore:It is recommended")
@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("mode", MODES)
def test_interpolations(mode: str, order: int) -> None:
    for function, args in interpolations(mode, order).values():
        agrees(function, *args)


@pytest.mark.parametrize("name", OTHERS)
def test_others(name: str) -> None:
    function, args = OTHERS[name]
    agrees(function, *args)


BATCHED: Cases = {**filters("reflect"), **interpolations("grid-constant", 3), **OTHERS}
del BATCHED["the width of gaussian_filter1d"]  # which settles how long the kernel is


@pytest.mark.parametrize("name", BATCHED)
def test_batches_and_replays(name: str) -> None:
    """A batch is its examples, and what is compiled gives for other values what SciPy does."""
    function, args = BATCHED[name]
    more = tuple(1.1 * x for x in args)
    batch = ad.vmap(lambda *some: function(*some))(
        *(np.stack(pair) for pair in zip(args, more, strict=True))
    )
    compiled = ad.jit(function)
    for row, point in zip(batch, (args, more), strict=True):
        np.testing.assert_allclose(row, function(*point), rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(compiled(*point), function(*point), rtol=1e-9, atol=1e-11)


def test_all_modes() -> None:
    agrees_in_all_modes(lambda x: np.sum(ndimage.gaussian_filter(x, 1.0) ** 3), X)
    agrees_in_all_modes(lambda p: np.sum(ndimage.map_coordinates(X, p) ** 2), POINTS[:, ::5] / 4)
    agrees_in_all_modes(lambda w: np.sum(ndimage.correlate(X, w) ** 3), KERNEL)


def test_the_code_of_the_user_finds_the_shift_of_an_image() -> None:
    target = ndimage.shift(X, (0.3, -0.2), mode="mirror")
    loss = lambda s: np.sum((ndimage.shift(X, s, mode="mirror") - target) ** 2)  # noqa: E731
    assert np.allclose(ad.grad(loss)(np.array([0.3, -0.2])), 0, atol=1e-12)
    assert np.abs(ad.grad(loss)(np.array([0.1, 0.2]))).min() > 0.1


def test_single_precision() -> None:
    x = X.astype(np.float32)
    value, slope = ad.jvp(lambda x: ndimage.gaussian_filter(x, 1.0), (x,), (x,))
    assert value.dtype == slope.dtype == np.float32
    np.testing.assert_array_equal(value, ndimage.gaussian_filter(x, 1.0))
    np.testing.assert_allclose(slope, value, rtol=1e-6, atol=1e-6)


def test_refusals() -> None:
    with pytest.raises(ad.errors.UnsupportedFunctionError, match=r"generic_filter.*of yours"):
        ad.grad(lambda x: ndimage.generic_filter(x, np.mean, 3).sum())(X)
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="map_coordinates"):
        ad.grad(lambda x: ndimage.geometric_transform(x, lambda p: p).sum())(X)
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="rounds"):
        ad.grad(lambda w: ndimage.correlate1d(np.arange(5), w).sum() * w[0])(ROW)
