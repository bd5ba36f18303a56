"""More calls of NumPy's functions, in the form of `rows.py`: what makes the coverage whole."""

from __future__ import annotations

_SPECTRA = """
np.fft.fft(v); np.fft.fft(z); np.fft.fft(z, 2); np.fft.fft(v, 6); np.fft.fft(x, axis=0)
np.fft.fft(n, norm="ortho"); np.fft.ifft(z, norm="forward"); np.fft.ifft(v, 7, norm="ortho")
np.fft.rfft(v); np.fft.rfft(w); np.fft.rfft(x, 3); np.fft.rfft(x, 7, 0, "ortho"); np.fft.rfft(n)
np.fft.irfft(z); np.fft.irfft(z, 5); np.fft.irfft(z, 2, norm="forward"); np.fft.irfft(v, 4)
np.fft.irfft(z, 9, 0, norm="ortho"); np.fft.hfft(z); np.fft.hfft(z, 5, norm="ortho")
np.fft.ihfft(v); np.fft.ihfft(w, 6, norm="forward"); np.fft.fft2(x); np.fft.fft2(t, (3, 2), (0, 1))
np.fft.ifft2(z, norm="ortho"); np.fft.fftn(t); np.fft.fftn(t, axes=(0, 2)); np.fft.ifftn(z)
np.fft.ifftn(t, (3, -1), axes=(1, 2)); np.fft.rfft2(x); np.fft.rfftn(t, axes=(2, 0))
np.fft.rfftn(t, (3, 4), (1, 2), "ortho"); np.fft.irfft2(z); np.fft.irfftn(z, (2, 3), (0, 1))
np.fft.irfftn(z, axes=(1, 0)); np.fft.irfft(np.fft.rfft(w), 3); np.fft.fftshift(x)
np.fft.fftshift(x, 1); np.fft.ifftshift(t, (0, 1)); np.fft.fftfreq(5, s); np.fft.rfftfreq(6, d=s)
np.fft.ifft(np.fft.fft(v) * np.fft.fft(v[::-1])).real
"""

_SORTED = """
np.partition(v, 2); np.partition(x, (1, 2), axis=0); np.partition(x, 3, None); np.sort_complex(v)
np.sort_complex(z); np.argpartition(v, 1); np.lexsort((n[0], n[1])); np.lexsort([v])
np.searchsorted(np.array([-1.0, 0, 1]), x); np.searchsorted([0.0, 1], s, side="right")
np.searchsorted(v, w, sorter=np.argsort(v)); np.digitize(x, np.array([-1.0, 0, 1]), right=True)
np.digitize(x, [1.0, 0.0, -1.0]); np.median(n, axis=1); np.median(t, (0, 2))
np.quantile(x, v * v / 9)
np.quantile(x, s, axis=0); np.percentile(v, 100 * s); np.percentile(x, [10, 90], (0, 1))
np.quantile(n, 0.3); np.quantile(v, 0.5, method="lower"); np.quantile(v, 0.4, method="higher")
np.quantile(x, [0.1, 0.7], 1, method="nearest"); np.quantile(x, 0.4, 0, method="midpoint")
np.quantile(x, [0.2, 0.9], 0, method="hazen"); np.quantile(v, 0.3, method="weibull")
np.quantile(x, 0.6, 1, method="median_unbiased", keepdims=True)
np.quantile(v, 0.35, method="normal_unbiased"); np.quantile(v, 0.3, method="inverted_cdf")
np.quantile(x, 0.5, 1, method="averaged_inverted_cdf")
np.quantile(x, 0.25, 1, method="closest_observation")
np.quantile(x, 0.3, 1, method="interpolated_inverted_cdf"); np.quantile(v, [0.0, 1.0])
np.quantile(x, [0.3, 0.6], 1, method="inverted_cdf", weights=p[0, 0] * np.abs(v))
np.percentile(x, 30, method="inverted_cdf", weights=x * x)
"""

_NAN = """
np.nanmax(x); np.nanmax(np.where(b, x, np.nan), axis=0); np.nanmin(x, axis=1, keepdims=True)
np.nanmin(np.where(b, x, np.nan)); np.nanmax(n); np.nanprod(np.where(b, x, np.nan), axis=1)
np.nanprod(x); np.nancumsum(np.where(b, x, np.nan)); np.nancumsum(x, 1)
np.nancumprod(np.where(b, x, np.nan), axis=0); np.nancumprod(v); np.nanstd(x)
np.nanstd(np.where(b, x, np.nan), axis=0); np.nanvar(x, axis=0, ddof=1); np.nanvar(z)
np.nanvar(np.where(b, x, np.nan), axis=1, keepdims=True); np.nanmedian(x, axis=0)
np.nanmedian(np.where(b, x, np.nan), 1); np.nanquantile(x, 0.3); np.nanquantile(n, 0.3, 0)
np.nanquantile(np.where(b, x, np.nan), [0.2, 0.7], axis=1); np.nanpercentile(x, 40, axis=0)
np.nanpercentile(np.where(b, x, np.nan), 40, keepdims=True); np.nanargmax(x)
np.nanargmin(np.where(b, x, np.nan), axis=0); np.nansum(x, where=b); np.nanmean(n)
np.nanmean(np.where(b, x, np.nan), 0, keepdims=True); np.nansum(x, keepdims=True)
"""

_SETS = """
np.unique(v); np.unique(n); np.unique(n, return_index=True, return_inverse=True)
np.unique(x, axis=0, return_counts=True); np.unique_all(n); np.unique_counts(v)
np.unique_inverse(x); np.unique_values(n); np.union1d(v, w); np.union1d(v, [0.5, 0.6])
np.intersect1d(v, np.concatenate([v[1:], w])); np.intersect1d(n, [1, 2], return_indices=True)
np.setdiff1d(v, v[:1]); np.setdiff1d(n, [0, 1]); np.setxor1d(v, np.concatenate([v[1:], w]))
np.isin(n, [1, 2]); np.isin(x, x[0], invert=True); np.bincount(n.ravel() + 3)
np.bincount([0, 2, 2], weights=w); np.bincount(np.array([1, 0, 1, 1]), v, 4); np.trim_zeros(v)
np.trim_zeros(np.concatenate([[0.0], v, [0.0, 0.0]])); np.trim_zeros(np.where(b, x, 0.0)[0], "f")
np.histogram(x); np.histogram(x, 4, weights=x * x); np.histogram(v, [-1.0, 0.0, 2.0], weights=v)
np.histogram(x, bins=3, range=(-1.0, 1.5)); np.histogram(x, 3, density=True, weights=np.abs(x))
np.histogram(v, 3, (-3.0, 3.0), weights=v, density=True); np.histogram(x, "auto")
np.histogram(n, 3)
np.histogram_bin_edges(x, 4); np.histogram_bin_edges(v, range=(0, s))
np.histogram2d(x[0], x[1], 3, weights=v); np.histogram2d(v, v * v, [2, 3], weights=v * v)
np.histogramdd((v, v * v), (2, 3), weights=v); np.histogramdd(x, 2, density=True)
np.histogramdd(x[:, :2], [[-3.0, 0.0, 3.0], 2], weights=w)
"""

_MAPPED = """
np.apply_along_axis(np.sum, 0, x); np.apply_along_axis(lambda r: r * r[0], 1, x)
np.apply_along_axis(lambda r: np.outer(r, r), -1, x); np.apply_along_axis(np.sort, 0, t)
np.apply_along_axis(lambda r, u: r.sum() * u, 0, x, 2.0); np.apply_over_axes(np.sum, t, [0, 2])
np.apply_over_axes(np.mean, x, 1); np.piecewise(x, [x < 0, x > 0.5], [np.sin, lambda r: r**2])
np.piecewise(x, [x > 0], [np.sqrt, 1.0]); np.piecewise(s, [s < 0, s >= 0], [0.0, np.exp])
np.piecewise(v, [v > -9], [lambda r: r - r.mean()]); np.piecewise(v, v > 0, [2.0, lambda r: -r])
np.vectorize(lambda u: u * u if u > 0 else -u)(x); np.vectorize(lambda u, r: (u * r, u + r))(v, s)
np.vectorize(lambda u, r=2.0: u**r)(v * v, r=3.0)
np.vectorize(np.dot, signature="(k),(k)->()")(x, v)
np.vectorize(lambda u, k: u[k], excluded=[0])(v, [0, 2])
np.vectorize(lambda u: u, otypes=[float])(n)
np.frompyfunc(lambda u, r: u * r, 2, 1)(v, v).astype(float)
np.fromfunction(lambda i, j: i * s + j, (2, 3)); np.fromiter((u * u for u in v), float)
np.stack([u * i[0] for i, u in np.ndenumerate(v)])
np.choose(np.array([[0, 1, 0, 1]] * 3), [x, y]); np.choose([2, 0, 1, 0], [v, 2 * v, s])
np.choose(n, (1.0, s), mode="wrap"); np.choose(np.array([0, 5]), [s, 2.0], mode="clip")
"""

_MADE = """
np.arange(s, 3.0); np.arange(0.0, 2.0, s); np.arange(5 * s); np.kaiser(6, s); np.kaiser(1, s)
np.i0(x); np.i0(3.0 * s); np.geomspace(s, 3.0, 4); np.logspace(s, 2 * s, 3); np.full((2, 2), s)
np.linspace(s, s * s, 4); np.asfortranarray(x); np.asarray_chkfinite(x); np.require(x, float, "C")
np.require(x, requirements=["O"]); np.dsplit(t, 2); np.diagflat(v); np.diagflat(x, 1)
np.resize(v, (2, 3)); np.resize(x, 5); np.resize(v, (0, 2)); np.real_if_close(z)
np.real_if_close(x + 0j); np.cumulative_sum(v); np.cumulative_sum(x, axis=1, include_initial=True)
np.cumulative_prod(v); np.cumulative_prod(x, axis=0, include_initial=True)
np.cumulative_sum(n, axis=0)
np.unwrap(3 * v); np.unwrap(9 * x, axis=0); np.unwrap(x, period=0.7); np.unwrap(n, period=3)
np.unwrap(9 * v, discont=4.0); np.ix_([0, 2], [1]); x[np.ix_([0, 2], [1, 3])]; np.ix_(n[0])
np.nextafter(x, y); np.nextafter(s, 9.0); np.spacing(x); np.ldexp(x, 3); np.ldexp(p, n)
np.frexp(x); np.frexp(s); np.modf(x); np.divmod(x, 0.3); np.float_power(p, 1.5)
np.float_power(2.0, x); np.positive(x); np.matvec(x, v); np.vecmat(w, x); np.vecmat(z[0], z.T)
np.float64(s) * 2.0; np.float64(x); np.float32(x); np.complex128(x); np.complex64(z)
np.copysign(x, y); np.heaviside(x, 0.5); np.fmod(x, 0.3); np.atan2(x, y)
np.unravel_index(np.argmax(x), x.shape); x[np.unravel_index(np.argmin(x), x.shape)]
np.ravel_multi_index((n % 2, n % 3), (2, 3)); np.unravel_index(n % 6, (2, 3), order="F")
np.poly1d(v)(s); (np.poly1d(v) * np.poly1d([1.0, 2])).coeffs; np.poly1d(v).deriv()(x)
np.poly1d(v).integ()(s); np.polyadd(v, w); np.polysub(w, v); np.polymul(v, w); np.polyder(v)
np.polyder(v, 2); np.polyint(v); np.polyint(w, 2, k=[s, 1.0]); np.poly(v); np.poly(z[0])
np.polydiv(v, w); np.polydiv(w, v); np.polyval(v, x)
"""

_ANSWERS = """
np.isclose(x, x + 1e-9); np.isclose(x, np.inf); np.isclose(z, z); np.array_equiv(x, x[:1])
np.iscomplex(z); np.iscomplex(x); np.isposinf(x / b); np.isneginf(-x / b); np.isscalar(s)
np.isscalar(x); np.iterable(x); np.iterable(s); np.diag_indices_from(x[:, :3])
np.tril_indices_from(x); np.triu_indices_from(x, 1); np.einsum_path("ij,jk", x, y.T)[1][:4]
np.common_type(x, z).__name__; np.can_cast(x.dtype, np.float32); np.min_scalar_type(n).name
np.packbits(b); np.bitwise_count(n); np.unpackbits(np.packbits(b)); np.binary_repr(n[0, 0] + 5)
np.base_repr(n[0, 0] + 5, 3); np.format_float_positional(s); np.format_float_scientific(s)
np.array_repr(x); np.array_str(x); np.array2string(x, precision=2); np.int64(5 * x); np.bool_(x)
np.uint8(n + 3); np.int32(s * 9)
"""

WHOLE = [
    row.strip()
    for text in (_SPECTRA, _SORTED, _NAN, _SETS, _MAPPED, _MADE, _ANSWERS)
    for row in text.replace("\n", ";").split(";")
    if row.strip()
]
