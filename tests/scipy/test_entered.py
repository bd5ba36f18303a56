"""What of SciPy is entered, and has no rule of its own: signals, samples, statistics, rotations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate, linalg, signal, spatial, special, stats
from scipy.spatial import distance
from scipy.spatial.transform import Rotation, Slerp

import adjoint as ad
from tests.scipy.comparing import agrees, agrees_in_all_modes

RNG = np.random.default_rng(0)
X, Y, ROWS = RNG.standard_normal(64), RNG.standard_normal(64), RNG.standard_normal((3, 20))
KERNEL, P = RNG.standard_normal(7), RNG.uniform(0.2, 1, 9)
B, A = np.array([0.2, 0.3, 0.1]), np.array([1.1, -0.5, 0.2])
SECTIONS = np.array([[0.2, 0.3, 0.1, 1, -0.5, 0.2], [1.0, 0.3, 0.2, 1, 0.1, 0.05]])
V, POINTS = np.array([0.1, 0.2, 0.3]), RNG.standard_normal((5, 3))
MADE = Rotation.from_rotvec(V)
Cases = dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]

SIGNALS: Cases = {
    **{
        f"upfirdn {mode}": (
            lambda h, x, mode=mode: signal.upfirdn(h, x, 3, 2, mode=mode),
            (KERNEL, X[:12]),
        )
        for mode in (
            *("constant", "wrap", "edge", "smooth", "symmetric", "reflect"),
            *("antisymmetric", "antireflect", "line"),
        )
    },
    "upfirdn along an axis": (lambda h, x: signal.upfirdn(h, x, 2, 5, axis=0), (KERNEL, ROWS)),
    "upfirdn of a short signal": (lambda h, x: signal.upfirdn(h, x, 1, 3), (X, KERNEL)),
    "upfirdn with a number beyond": (
        lambda h, x: signal.upfirdn(h, x, 1, 3, mode="constant", cval=0.5),
        (KERNEL, P),
    ),
    "resample": (lambda x: signal.resample(x, 90, window="hann"), (X,)),
    "resample_poly": (lambda x: signal.resample_poly(x, 3, 2), (X,)),
    "resample_poly line": (
        lambda x: signal.resample_poly(x, 2, 3, axis=1, padtype="line"),
        (ROWS,),
    ),
    "decimate": (lambda x: signal.decimate(x, 2), (X,)),
    "welch": (lambda x: signal.welch(x, nperseg=16)[1], (X,)),
    "csd": (lambda x, y: np.abs(signal.csd(x, y, nperseg=16)[1]), (X, Y)),
    "coherence": (lambda x, y: signal.coherence(x, y, nperseg=16)[1], (X, Y)),
    "periodogram": (
        lambda x: signal.periodogram(x, window="hann", detrend="linear")[1],
        (X,),
    ),
    "spectrogram": (lambda x: signal.spectrogram(x, nperseg=16)[2], (X,)),
    "stft": (lambda x: np.abs(signal.stft(x, nperseg=16)[2]), (X,)),
    "istft": (
        lambda x: signal.istft(signal.stft(x, nperseg=16)[2] ** 2, nperseg=16)[1],
        (X,),
    ),
    "ShortTimeFFT": (
        lambda x: np.abs(signal.ShortTimeFFT(np.hanning(8) + 0.1, 4, 1.0).stft(x)),
        (X,),
    ),
    "lombscargle": (
        lambda t, y: signal.lombscargle(t, y, [0.5, 1.0, 2.0]),
        (np.sort(P), Y[:9]),
    ),
    "medfilt": (lambda x: signal.medfilt(x, 3), (ROWS,)),
    "medfilt of a row": (lambda x: signal.medfilt(x, 5), (X,)),
    "order_filter": (lambda x: signal.order_filter(x, np.ones((3, 3)), 2), (ROWS,)),
    "wiener": (lambda x: signal.wiener(x, 5), (X,)),
    "sosfilt with states": (
        lambda x, z: signal.sosfilt(SECTIONS, x, zi=z),
        (X, np.ones((2, 2))),
    ),
    "sosfiltfilt": (lambda x: signal.sosfiltfilt(SECTIONS, x), (X,)),
    "filtfilt even": (lambda b, a, x: signal.filtfilt(b, a, x, padtype="even"), (B, A, X)),
    "filtfilt gust": (lambda x: signal.filtfilt(B, A, x, method="gust"), (X,)),
    "detrend with breaks": (lambda x: signal.detrend(x, bp=[20, 40]), (X,)),
    "hilbert2": (lambda x: np.abs(signal.hilbert2(x)), (ROWS,)),
    "envelope": (signal.envelope, (X,)),
    "czt": (lambda x: np.abs(signal.czt(x, 10)), (X,)),
    "cspline1d": (signal.cspline1d, (X,)),
    "chirp": (lambda t, f: signal.chirp(t, f, 1.0, 3.0), (P, 0.5)),
    "freqz": (lambda b, a: np.abs(signal.freqz(b, a, 10)[1]), (B, A)),
    "butter": (lambda w: signal.sosfilt(signal.butter(4, w, output="sos"), X), (0.3,)),
    "bilinear": (lambda b, a: signal.bilinear(b, a, 2.0), (B, A)),
    "tf2ss": (signal.tf2ss, (B, A)),
    "deconvolve": (signal.deconvolve, (X[:12], KERNEL)),
    "lsim": (lambda b, u: signal.lsim((b, A), u, np.linspace(0, 3, 20))[1], (B, X[:20])),
    "dlsim": (lambda u: signal.dlsim((B, A, 0.1), u)[1], (X[:20],)),
}
SAMPLES: Cases = {
    "romb": (lambda y: integrate.romb(y, 0.3), (X[:33],)),
    "cumulative_simpson": (
        lambda y: integrate.cumulative_simpson(y, dx=0.1, initial=0.3),
        (X[:8],),
    ),
    "cumulative_simpson at": (
        lambda y, t: integrate.cumulative_simpson(y, x=t),
        (X[:9], np.sort(P)),
    ),
    "simpson": (lambda y, t: integrate.simpson(y, x=t), (X[:9], np.sort(P))),
    "procrustes": (lambda a, b: spatial.procrustes(a, b)[2], (ROWS.T[:8], ROWS.T[3:11] ** 2)),
    "jensenshannon": (distance.jensenshannon, (P, P[::-1] ** 2)),
    "squareform": (distance.squareform, (P[:6],)),
    "leslie": (linalg.leslie, (P[:4], P[:3])),
    "orthogonal_procrustes": (linalg.orthogonal_procrustes, (ROWS[:, :3], ROWS[:, 3:6])),
    "diric": (lambda t: special.diric(t, 5), (P,)),
    "legendre": (lambda t: special.legendre(3)(t), (P,)),
}
STATISTICS: Cases = {
    **{name: (getattr(stats, name), (P,)) for name in ("gmean", "hmean", "entropy", "circmean")},
    **{name: (getattr(stats, name), (X,)) for name in ("zscore", "skew", "sem", "iqr")},
    "kurtosis": (lambda x: stats.kurtosis(x, axis=1, bias=False), (ROWS,)),
    "pearsonr": (lambda x, y: stats.pearsonr(x, y)[0], (X, Y)),
    "linregress": (lambda x, y: stats.linregress(x, y)[0], (X, Y)),
    "ttest_ind": (lambda x, y: stats.ttest_ind(x, y)[0], (X, Y)),
    "f_oneway": (lambda x, y: stats.f_oneway(x, y)[0], (X, Y)),
    "trim_mean": (lambda x: stats.trim_mean(x, 0.1), (X,)),
    "wasserstein_distance": (stats.wasserstein_distance, (X, Y)),
    "boxcox": (stats.boxcox, (P, 0.4)),
    "boxcox_llf": (stats.boxcox_llf, (0.4, P)),
    "pmean": (stats.pmean, (P, 2.5)),
    "quantile": (lambda x: stats.quantile(x, [0.3, 0.5]), (X,)),
}
ROTATIONS: Cases = {
    "from_rotvec": (lambda v: Rotation.from_rotvec(v).as_matrix(), (V,)),
    "apply": (lambda v, x: Rotation.from_rotvec(v).apply(x), (V, POINTS)),
    "from_quat": (
        lambda q: Rotation.from_quat(q).as_rotvec(),
        (np.array([0.1, 0.2, 0.3, 0.9]),),
    ),
    "from_euler": (lambda e: Rotation.from_euler("xyz", e).as_quat(), (POINTS,)),
    "as_euler": (lambda v: Rotation.from_rotvec(v).as_euler("zyx"), (V,)),
    "from_matrix": (
        lambda v: Rotation.from_matrix(Rotation.from_rotvec(v).as_matrix()).as_rotvec(),
        (V,),
    ),
    "product": (
        lambda v, w: (Rotation.from_rotvec(v) * Rotation.from_rotvec(w).inv()).magnitude(),
        (V, POINTS[0]),
    ),
    "made outside": (lambda x: MADE.apply(x), (POINTS,)),
    "power": (lambda v: (Rotation.from_rotvec(v) ** 0.5).as_rotvec(), (V,)),
    "Slerp": (
        lambda v, t: Slerp([0.0, 1.0], Rotation.from_rotvec(v))(t).as_rotvec(),
        (0.3 * POINTS[:2], 0.4),
    ),
}
CASES = {**SIGNALS, **SAMPLES, **STATISTICS, **ROTATIONS}


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    function, args = CASES[name]
    agrees(function, *args)
    compiled = ad.jit(function)
    for point in (args, tuple(1.1 * x for x in args)):
        found, expected = compiled(*point), function(*point)
        pairs = (
            [(found, expected)]
            if not isinstance(expected, tuple)
            else zip(found, expected, strict=True)
        )
        for one, other in pairs:
            np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


BATCHED = (
    *("upfirdn line", "resample", "resample_poly", "welch", "csd", "stft", "istft", "medfilt"),
    *("sosfiltfilt", "filtfilt even", "detrend with breaks", "wiener", "romb", "squareform"),
    *("cumulative_simpson", "from_rotvec", "apply", "from_euler", "wasserstein_distance"),
)


@pytest.mark.parametrize("name", BATCHED)
def test_batches(name: str) -> None:
    function, args = CASES[name]
    more = tuple(1.1 * x for x in args)
    batch = ad.vmap(lambda *some: function(*some))(
        *(np.stack(pair) for pair in zip(args, more, strict=True))
    )
    for row, point in zip(batch, (args, more), strict=True):
        np.testing.assert_allclose(row, function(*point), rtol=1e-8, atol=1e-10)


def test_in_all_modes() -> None:
    agrees_in_all_modes(lambda x: np.sum(signal.welch(x, nperseg=16)[1] ** 2), X)
    agrees_in_all_modes(lambda x: np.sum(signal.resample_poly(x, 3, 2) ** 3), X[:20])
    agrees_in_all_modes(lambda v: np.sum(Rotation.from_rotvec(v).apply(POINTS) ** 3), V)


def test_what_is_given_nothing_traced_runs_as_it_is() -> None:
    designed: list[Any] = []

    def weighted(x: Any) -> Any:
        designed.append(signal.firwin(7, 0.3))
        return x * 2

    ad.grad(lambda x: np.sum(weighted(x)))(X)
    np.testing.assert_array_equal(np.asarray(designed[0]), signal.firwin(7, 0.3))


def test_errors_are_scipys_own() -> None:
    with pytest.raises(ValueError, match="kernel_size"):
        ad.grad(lambda x: signal.medfilt(x, 4).sum())(X)
