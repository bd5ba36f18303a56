"""The calls: texts of `a`, and of `a` and `b`; `?` in them stands for axes, `$` for one axis."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.special

from adjoint.capture.numpy.coverage import CONSTANT, DIFFERENTIABLE
from tests.capture.shapes.specimens import ALONG_AXES, FEW, SINGLES, TWO


def left(write: Any, array: Any, *rest: Any) -> Any:
    """What a function leaves in a copy of an array."""
    copy = array.copy()
    write(copy, *rest)
    return copy


NAMES: dict[str, Any] = {
    "np": np,
    "left": left,
    "sl": scipy.linalg,
    "sf": scipy.fft,
    "sp": scipy.special,
    "ss": scipy.signal,
    "si": scipy.integrate,
    "sn": scipy.interpolate,
    "so": scipy.optimize,
}
AXES = ("None", "0", "-1", "1", "-2", "5", "-7", "(0,1)", "(-1,-2)", "(0,2)", "()", "(0,0)", "1.0")
ONE_AXIS = ("None", "0", "-1", "1", "2", "-2", "5", "-7", "(0,)", "1.0")


def _calls(text: str) -> list[str]:
    return [call.strip() for call in text.replace("\n", ";").split(";") if call.strip()]


def _each(names: str, *forms: str) -> list[str]:
    return [form.replace("NAME", name) for name in names.split() for form in forms]


def _ufuncs(room: Any, prefix: str, places: int) -> list[str]:
    """A call of each of a room's ufuncs of so many arguments."""
    letters = ", ".join("ab"[:places])
    found = {
        name: each
        for name in dir(room)
        if isinstance(each := getattr(room, name), np.ufunc) and each.nin == places
    }
    known = DIFFERENTIABLE | CONSTANT if room is np else set(found)
    return [f"{prefix}.{name}({letters})" for name in sorted(found) if name in known]


ALONG = _each(
    "sum prod max min mean std var all any ptp nansum nanprod nanmax nanmin nanmean nanstd nanvar "
    "median nanmedian count_nonzero amax amin",
    "np.NAME(a, axis=?)",
    "np.NAME(a, axis=?, keepdims=True)",
)
ALONG += _each(
    "cumsum cumprod nancumsum nancumprod sort argsort argmax argmin nanargmax nanargmin",
    "np.NAME(a, axis=$)",
)
ALONG += _each("argmax argmin nanargmax nanargmin", "np.NAME(a, axis=$, keepdims=True)")
ALONG += _each("fft ifft rfft irfft hfft ihfft", "np.fft.NAME(a, axis=$)", "sf.NAME(a, axis=$)")
ALONG += _each("fft ifft rfft irfft hfft ihfft", "np.fft.NAME(a, 4, $, 'ortho')")
ALONG += _each("fftn ifftn rfftn irfftn", "np.fft.NAME(a, axes=?)", "sf.NAME(a, axes=?)")
ALONG += _each("hfftn ihfftn", "sf.NAME(a, axes=?)")
ALONG += _each("fft2 ifft2 rfft2 irfft2", "np.fft.NAME(a)", "np.fft.NAME(a, axes=(1, 0))")
ALONG += _each("fft2 ifft2 rfft2 irfft2 hfft2 ihfft2", "sf.NAME(a)")
ALONG += _each("logsumexp softmax log_softmax", "sp.NAME(a, axis=?)")
ALONG += _calls("""
np.quantile(a, 0.3, axis=?); np.quantile(a, [0.2, 0.7], axis=?, keepdims=True)
np.percentile(a, 30, axis=?); np.nanquantile(a, 0.3, axis=?)
np.nanquantile(a, [0.2, 0.7], axis=?, keepdims=True); np.nanpercentile(a, [30], axis=?)
np.average(a, axis=?); np.average(a, axis=?, weights=a); np.average(a, axis=?, keepdims=True)
np.cumulative_sum(a, axis=$); np.cumulative_prod(a, axis=$, include_initial=True)
np.diff(a, axis=$); np.diff(a, 2, axis=$); np.gradient(a, axis=?); np.trapezoid(a, axis=$)
np.flip(a, axis=?); np.roll(a, 1, axis=?); np.roll(a, (1, 2), axis=?); np.squeeze(a, axis=?)
np.expand_dims(a, axis=?); np.partition(a, 1, axis=$); np.argpartition(a, 1, axis=$)
np.take(a, 1, axis=$); np.take(a, [0, -1], axis=$); np.take(a, [], axis=$)
np.take_along_axis(a, np.zeros(a.shape, int), axis=$); np.repeat(a, 2, axis=$)
np.repeat(a, [1, 0, 2], axis=$); np.delete(a, 0, axis=$); np.delete(a, [0, 1], axis=$)
np.insert(a, 1, 2, axis=$); np.insert(a, [0, 1], 0.5, axis=$); np.append(a, a, axis=$)
np.concatenate([a, a], axis=$); np.stack([a, a], axis=$); np.concat((a,), axis=$)
np.split(a, 1, axis=$); np.split(a, 3, axis=$); np.array_split(a, 2, axis=$)
np.unstack(a, axis=$); np.moveaxis(a, 0, $); np.moveaxis(a, $, 0); np.rollaxis(a, $)
np.swapaxes(a, 0, $); np.compress([True, False, True], a, axis=$); np.unwrap(a, axis=$)
np.unique(a, axis=$); np.fft.fftshift(a, axes=?); np.fft.ifftshift(a, axes=?)
np.apply_along_axis(np.sum, $, a); np.apply_over_axes(np.sum, a, ?); np.vecdot(a, a, axis=$)
np.linalg.norm(a, axis=?); np.linalg.norm(a, 1, axis=?, keepdims=True)
np.linalg.norm(a, 3, axis=$); np.linalg.vector_norm(a, axis=?)
np.linalg.vector_norm(a, axis=?, keepdims=True, ord=3); np.linalg.vecdot(a, a, axis=$)
np.linalg.cross(a, a + 1, axis=$); np.cross(a, a * a, axis=$); np.add.reduce(a, axis=?)
np.maximum.reduce(a, axis=?, keepdims=True); np.add.accumulate(a, axis=$)
np.multiply.reduceat(a, [0, 1], axis=$); np.subtract.reduce(a, axis=$); np.matrix_transpose(a)
np.lexsort(a, axis=$); np.size(a, axis=?); np.linspace(a, 2, 3, axis=$)
np.logspace(0, a, 2, axis=$); np.geomspace(a, 2, 3, axis=$); a.sum($); a.max(axis=?); a.cumsum($)
a.squeeze($); a.repeat(2, $); left(np.put_along_axis, a, np.zeros(a.shape, int), 0.5, $)
np.sum(a, axis=?, where=a > 0.5); np.max(a, axis=?, where=a > 0.5, initial=0)
np.mean(a, axis=?, dtype=np.float32); np.var(a, axis=?, ddof=1); np.sum(a, axis=?, initial=2)
sl.norm(a, axis=?); sl.norm(a, 1, axis=?, keepdims=True); si.trapezoid(a, axis=$)
si.cumulative_trapezoid(a, axis=$); si.simpson(a, axis=$); ss.detrend(a, axis=$)
ss.hilbert(a, axis=$); ss.lfilter([1.0, 0.5], [1.0, 0.3], a, axis=$)
ss.savgol_filter(a, 3, 1, axis=$); ss.filtfilt([1.0], [1.0, 0.2], a, axis=$, padlen=0)
ss.sosfilt([[1.0, 0.5, 0, 1, 0.3, 0]], a, axis=$); ss.detrend(a, axis=$, type='constant')
sn.CubicSpline(np.arange(3.0), a, axis=$)(0.5); sn.PchipInterpolator([0, 1, 2], a, axis=$)([0.5])
sn.Akima1DInterpolator([0, 1, 2], a, axis=$)(0.5); sn.interp1d([0, 1, 2], a, axis=$)([[0.5]])
sn.CubicHermiteSpline([0, 1, 2], a, a, axis=$)(0.5)
sn.make_interp_spline([0, 1, 2], a, 2, axis=$)(1)
""")

ALONE = _ufuncs(np, "np", 1)
ALONE += _each(
    "angle around round fix sinc i0 nan_to_num real imag real_if_close sort_complex ravel copy "
    "asarray asanyarray asarray_chkfinite ascontiguousarray asfortranarray array atleast_1d "
    "atleast_2d atleast_3d diag diagflat diagonal trace tril triu flipud fliplr rot90 transpose "
    "permute_dims squeeze flip ediff1d trim_zeros unique unique_all unique_counts unique_inverse "
    "unique_values argwhere nonzero flatnonzero shape ndim size iscomplex isreal iscomplexobj "
    "isrealobj isfortran isneginf isposinf isscalar iterable zeros_like ones_like cov corrcoef "
    "poly "
    "roots poly1d polyder polyint vander column_stack vstack hstack dstack stack concatenate block "
    "broadcast_arrays meshgrid gradient histogram histogram_bin_edges bincount diff "
    "array_repr array_str array2string diag_indices_from tril_indices_from triu_indices_from "
    "min_scalar_type result_type unravel_index packbits require median cumsum "
    "array_equal argsort sort prod lexsort float64 float32 float16 complex128 complex64 "
    "bool_ int64 int8 uint8 intp double single half cdouble csingle unwrap ix_ "
    "histogramdd kaiser arange eye identity tri bartlett hamming hanning blackman from_dlpack "
    "row_stack trapezoid common_type isnan einsum_path ndindex in1d zeros ones trapz",
    "np.NAME(a)",
)
ALONE += _each(
    "cholesky cond det diagonal eigvals eigvalsh inv matrix_norm matrix_rank "
    "matrix_transpose multi_dot norm pinv qr slogdet svdvals tensorinv trace vector_norm",
    "np.linalg.NAME(a)",
)
ALONE += _each(
    "inv det pinv norm cholesky cho_factor lu_factor lu svdvals qr eigvals eigvalsh expm "
    "sinm cosm tanm sinhm coshm tanhm logm sqrtm polar toeplitz circulant hankel companion "
    "block_diag",
    "sl.NAME(a)",
)
ALONE += _calls("""
np.linalg.eigh(a)[0]; np.linalg.eig(a)[0]; np.linalg.svd(a)[1]; np.linalg.svd(a, False)[1]
np.linalg.svd(a, compute_uv=False); np.linalg.qr(a, 'r'); np.linalg.qr(a, 'complete')[1]
np.linalg.cholesky(a, upper=True); np.linalg.matrix_power(a, 2); np.linalg.matrix_power(a, -1)
np.linalg.matrix_power(a, 0); np.linalg.norm(a, 'fro'); np.linalg.norm(a, 2)
np.linalg.norm(a, 'nuc'); np.linalg.norm(a, np.inf); np.linalg.norm(a, -1); np.linalg.norm(a, 0)
np.linalg.matrix_norm(a, ord=1, keepdims=True); np.linalg.matrix_norm(a, ord='nuc')
np.linalg.cond(a, 1); np.linalg.pinv(a, rcond=0.1); np.linalg.tensorinv(a, 1)
np.linalg.lstsq(a, a); np.linalg.multi_dot([a, a]); np.linalg.multi_dot([a, a, a])
np.linalg.matrix_rank(a, hermitian=True); np.linalg.trace(a, offset=1)
np.linalg.diagonal(a, offset=-1); np.diagonal(a, 0, -1, 0); np.trace(a, 1, -2, -1)
np.reshape(a, -1); np.reshape(a, (3, -1)); np.reshape(a, (-1, 1), order='F'); np.reshape(a, ())
np.resize(a, (2, 4)); np.resize(a, 0); np.ravel(a, 'F'); np.astype(a, np.float32)
np.astype(a, complex); np.astype(a, int); np.tile(a, 2); np.tile(a, (2, 1))
np.rot90(a, 1, (0, -1)); np.pad(a, 1); np.pad(a, (1, 2), mode='edge')
np.pad(a, 1, mode='reflect'); np.pad(a, 2, mode='wrap'); np.pad(a, 1, mode='mean')
np.pad(a, 1, mode='linear_ramp'); np.pad(a, 1, mode='symmetric'); np.pad(a, ((1, 0), (0, 1)))
np.transpose(a, (1, 0)); np.transpose(a, (-1, 0, 1)); np.permute_dims(a, (0,))
np.broadcast_to(a, (2, 3, 3)); np.broadcast_to(a, (4, 3)); np.broadcast_to(a, ())
np.broadcast_to(a, 3); np.clip(a, 0.4, 0.6); np.clip(a, None, None); np.clip(a, 0.5, None)
np.round(a, 1); np.diag(a, 1); np.tril(a, -1); np.triu(a, 1); np.vander(a, 2); np.full_like(a, 2)
np.full(2, a); np.full((2, 3), a); np.empty_like(a).shape; np.hsplit(a, 3); np.vsplit(a, 2)
np.dsplit(a, 3); np.array_split(a, 2); np.hsplit(a, [1]); np.einsum('ij->ji', a)
np.einsum('ii', a); np.einsum('...ij->...ji', a); np.einsum('i->', a); np.polyder(a, 2)
np.polyint(a, 2); np.polyint(a, 1, k=0.5); np.polyfit(np.arange(3.0), a, 1); np.polyder(a, 0)
np.polyval(a, 0.5); np.polyval([1, 2], a); np.interp(a, [0, 1], [2, 3])
np.interp(0.5, np.arange(3), a); np.digitize(a, [0.4, 0.6]); np.searchsorted([0.4, 0.6], a)
np.searchsorted(a, 0.5); np.extract(a > 0.5, a); np.select([a > 0.5, a > 0.4], [a, 2 * a], 0.0)
np.where(a > 0.5, a, 0); np.where(a); np.choose(a, [1, 2, 3, 4])
np.piecewise(a, [a > 0.5], [lambda t: t * t, 0.0]); np.histogram(a, 3, (0, 1), weights=a)
np.histogram(a, 0); np.histogram2d(a, a); np.histogramdd(a, 2); np.bincount([0, 1, 1], a)
np.bincount([0, 1, 1], a, 5); np.fromiter(a, float); np.fromfunction(lambda i, j: i + a, (2, 3))
np.vectorize(lambda t: t * t)(a); np.frompyfunc(lambda t: t + 1, 1, 1)(a); list(np.ndenumerate(a))
np.ldexp(a, 2); np.block([[a, a], [a, a]]); np.block([a, 1.0]); np.linspace(0, a, 3)
np.linspace(a, 1, 1, retstep=True); np.arange(0, a, 0.5); np.arange(1, a); np.convolve(a, [1, 2])
np.correlate([1, 2.0, 3], a, 'same'); np.convolve(a, []); np.kron(a, [1, 2])
np.tensordot(a, a, 0); np.tensordot(a, a, 1); np.tensordot(a, [1, 2, 3.0], 1); np.outer(a, [1, 2])
np.cov(a, bias=True); np.cov(a, rowvar=False); np.cov(a, aweights=[1, 2, 3.0])
np.corrcoef(a, rowvar=False); np.isin(a, [1]); np.isclose(a, 0.5); np.allclose(a, a)
np.array_equiv(a, a); np.shares_memory(a, a.T); np.unravel_index(a, (9, 9))
np.ravel_multi_index((a, a), (9, 9)); np.may_share_memory(a, 2 * a)
np.bitwise_count(a); np.unpackbits(a); np.can_cast(a, complex); np.finfo(a.dtype).eps
np.isdtype(a.dtype, 'numeric'); np.issubdtype(a.dtype, float); np.ediff1d(a, 1, 2)
np.gradient(a, 2.0); np.gradient(a, edge_order=2); np.trapezoid(a, dx=0.5)
np.unique(a, True, True, True); np.nan_to_num(a, nan=1); np.partition(a, (0, 1))
np.partition(a, 5); left(np.fill_diagonal, a, 0.5); left(np.copyto, a, 2.0)
left(np.place, a, a > 0.5, [1, 2]); left(np.put, a, [0, 1], [0.5])
left(np.putmask, a, a > 0.5, a); left(np.add.at, a, 0, 1); np.broadcast_shapes(a.shape, (3,))
np.mask_indices(3, lambda m, k: np.triu(a, k)); np.indices(a.shape); np.array(a, ndmin=3)
np.array([a, a]); np.array([[a], [a]]); np.array(a, dtype='f4'); np.asarray(a, dtype=int)
np.sum(a, dtype='f4'); np.modf(a, out=(np.zeros(a.shape), np.zeros(a.shape)))
np.exp(a, out=np.zeros(a.shape)); np.heaviside(a, 0.5); np.floor_divide(a, 2); np.power(a, 2)
np.power(a, -1); np.float_power(a, 2); np.fft.fftfreq(a); np.fft.rfftfreq(3, a)
np.fft.fftfreq(4, a); np.fft.fft(a, 0); np.fft.rfftn(a, (2, 2)); np.fft.irfft2(a, (2, 3))
np.fft.ifftn(a, (2,), (0,)); np.format_float_positional(a); np.base_repr(a)
np.format_float_scientific(a); np.binary_repr(a); np.lib.stride_tricks.sliding_window_view(a, 2)
np.lib.stride_tricks.sliding_window_view(a, (2, 2))
np.lib.stride_tricks.sliding_window_view(a, 2, -1)
""")
ALONE += _calls("""
a[0]; a[-1]; a[5]; a[...]; a[None]; a[0, 1]; a[:, 0]; a[..., -1]; a[::-1]; a[1:]; a[[0, 1]]; a[[]]
a[a > 0.5]; a[()]; a[1.0]; a[[0, 5]]; a[0, ..., 0]; a[np.newaxis, ..., None]; a[True]
a[[True, False, True]]; a['x']; a[:, [0, 1]]; a[[0, 1], [1, 0]]; a[np.array([[0, 1]])]
a[slice(None, None, -2)]; a[slice(0.5)]; a.T; a.mT; a.flat[0]; a.flat[5]; a.flat[1.0]
a.flat[[0, 1]]; a.flat[:]; a.real; a.imag; a.size; a.nbytes; a.shape; a.dtype; a.tolist()
a.item(); a.item(0); a.item(0, 1); list(a); len(a); float(a); int(a); complex(a); bool(a); abs(a)
-a; +a; ~a; a + 1; 1 - a; a * 2.0; a / 0.5; a // 2; a % 2; a ** 2; 2 ** a; a @ a; a == a; a < 0.5
a & 1; a | True; a << 1; divmod(a, 2); round(a, 1); round(a); sum(a); max(a); min(a); sorted(a)
0.5 in a; a.flatten('F'); a.ravel(); a.reshape(3, -1); a.reshape(-1, order='F'); a.astype('f4')
a.astype(int); a.view(); a.view('f4'); a.copy('F'); a.conj(); a.clip(0.4, 0.6); a.round(1)
a.sort(); a.fill(0.5); a.argsort(); a.nonzero(); a.trace(); a.diagonal(1); a.swapaxes(0, 1)
a.transpose(1, 0); a.take([0]); a.put([0], 1.0); a.compress([True]); a.dot(a); a.searchsorted(0.5)
a.partition(1); a.choose([a, a]); a.byteswap(); a.tobytes(); a.resize(2); a.var(); a.any()
""")
ALONE += _calls("""
sl.eigh(a)[0]; sl.svd(a)[1]; sl.svd(a, compute_uv=False); sl.qr(a, mode='r')
sl.qr(a, mode='economic'); sl.eigh(a, eigvals_only=True); sl.cholesky(a, lower=True)
sl.lu(a, permute_l=True); sl.norm(a, 1); sl.norm(a, 'nuc'); sl.fractional_matrix_power(a, 2)
sl.fractional_matrix_power(a, 0.5); sl.polar(a, 'left'); sl.lstsq(a, a)[0]; sl.solve(a, a)
sl.solve(a, a, assume_a='pos'); sl.solve(a, [1, 2, 3.0]); sl.solve_triangular(a, a)
sl.solve_triangular(a, [1, 2, 3.0], lower=True); sl.toeplitz(a, [1, 2.0]); sl.hankel(a, [1, 2.0])
sl.block_diag(a, a); sl.block_diag(a, [1, 2]); sl.khatri_rao(a, a); sl.expm_frechet(a, a)
sl.solve_sylvester(a, a, a); sl.solve_continuous_lyapunov(a, a); sl.solve_lyapunov(a, a)
sl.solve_discrete_lyapunov(a / 9, a); sl.lu_solve(sl.lu_factor(a), a)
sl.cho_solve(sl.cho_factor(a), a); sl.lu_solve(sl.lu_factor(a), [1, 2, 3.0])
sl.solve_banded((1, 1), a, a[0]); sl.solveh_banded(a, a[0]); sl.solve_toeplitz(a, a)
sl.solve_circulant(a, a); sl.matmul_toeplitz(a, a); sl.solve_circulant(a, [1, 2, 3.0])
sl.solve_toeplitz(a, [1, 2, 3.0]); ss.convolve(a, [1, 2.0]); ss.correlate(a, a)
ss.fftconvolve(a, a, 'same'); ss.oaconvolve(a, a); ss.convolve2d(a, a)
ss.correlate2d(a, [[1, 2]], 'same'); ss.lfilter(a, [1, 0.5], [1, 2, 3.0])
ss.lfilter([1.0], a, [1, 2, 3.0]); ss.lfilter_zi(a, [1, 0.5]); ss.filtfilt([1.0], [1.0, 0.2], a)
ss.lfiltic([1.0, 0.5, 2.0], [1.0, 0.3], a); ss.lfiltic([1.0, 0.5, 2.0], [1.0, 0.3], [1.0], a)
ss.sawtooth(a); ss.sawtooth(a, a); ss.hilbert(a, 4); ss.savgol_filter(a, 5, 2)
ss.sosfilt(a, [1.0, 2]); ss.savgol_filter(a, 3, 1, deriv=1, mode='nearest')
sp.multigammaln(a + 2, 2); sp.comb(a, 2); sp.perm(a, 1); sp.factorial(a); sp.zeta(a + 1)
sp.polygamma(1, a); sp.polygamma(a, 1.0); sp.lambertw(a); sp.sinc(a); sp.softplus(a)
sp.logsumexp(a, b=2.0); sp.logsumexp(a, b=a); sp.spherical_jn(1, a); sp.spherical_yn(1, a)
sp.spherical_in(1, a); sp.spherical_kn(1, a); sp.jvp(1, a); sp.spherical_jn(1, a, True)
sp.yvp(1, a); sp.ivp(1, a); sp.kvp(1, a); sp.h1vp(1, a); sp.h2vp(1, a, 2)
sp.logsumexp(a, return_sign=True); sp.softmax(a); sp.logsumexp(a); sp.zeta(2, a)
sn.CubicSpline([0, 1, 2], [0, 1, 4])(a); sn.PchipInterpolator([0, 1, 2], [0, 1, 4])(a)
sn.interpn(([0, 1],), a, [0.5]); sn.CubicSpline(a, [0, 1, 4])(0.5); sn.interp1d(a, [0, 1, 4])(0.5)
sn.splev(a, ([0, 0, 1, 1], [1, 2, 0, 0], 1)); sn.BSpline([0, 0, 1, 1], a, 1)(0.5)
sn.BSpline([0, 0, 1, 1], [1, 2.0], 1)(a); sn.interp1d([0, 1, 5], [0, 1, 4])(a)
sn.RegularGridInterpolator(([0, 1, 2], [0, 1, 2]), a)([0.5, 0.5])
sn.make_interp_spline([0, 1, 2], a, 1)(0.5); sn.interpn(([0, 1, 2],), [1, 2, 3.0], a)
sn.Akima1DInterpolator([0, 1, 2], [0, 1, 4])(a); so.brentq(lambda t: t * t - a, 0.0, 3.0)
so.brentq(lambda t: t - a, a - 1, a + 1); so.newton(lambda t: t * t - a, 1.0)
so.fsolve(lambda t: t - a, a); so.root_scalar(lambda t: t - a, bracket=(0, 3)).root
so.bisect(lambda t: t - a, -1, 3); so.linear_sum_assignment(a); si.quad(lambda t: t * a, 0, 1)[0]
si.quad(lambda t: t, 0, a)[0]; si.quad_vec(lambda t: t * a, 0, 1)[0]
si.fixed_quad(lambda t: t, 0, a)[0]; si.simpson(a, x=[0, 1, 3.0]); si.trapezoid(a, [0, 1, 3.0])
si.cumulative_trapezoid(a, [0, 1, 3.0], initial=0); si.trapezoid(a, dx=0.5)
so.brenth(lambda t: t - a, -1, 3); so.ridder(lambda t: t - a, -1, 3.1)
so.toms748(lambda t: t - a, -1, 3); so.root(lambda t: t - a, a).x
so.minimize(lambda t: np.sum((t - a) ** 2), a).x; so.fixed_point(lambda t: a / 2 + t / 4, a)
so.minimize_scalar(lambda t: (t - a) ** 2).x; so.least_squares(lambda t: t - a, a).x
si.solve_ivp(lambda t, y: -y, (0, 1), a).y[..., -1]; si.odeint(lambda y, t: -y, a, [0, 1.0])
si.dblquad(lambda s, t: s * t * a, 0, 1, 0, 1)[0]
si.tplquad(lambda r, s, t: a, 0, 1, 0, 1, 0, 1)[0]
so.curve_fit(lambda t, p: p * t, [0, 1, 2.0], a, [1.0])[0]
""")

TOGETHER = _ufuncs(np, "np", 2)
TOGETHER += _each(
    "dot inner outer kron vdot tensordot convolve correlate cross append "
    "polyadd polysub polymul polydiv polyval isclose allclose array_equal array_equiv isin "
    "searchsorted digitize union1d intersect1d setdiff1d setxor1d broadcast_arrays meshgrid cov "
    "corrcoef full_like extract compress histogram2d column_stack",
    "np.NAME(a, b)",
)
TOGETHER += _each(
    "solve lstsq tensorsolve matmul outer vecdot cross tensordot", "np.linalg.NAME(a, b)"
)
TOGETHER += _each(
    "solve solve_triangular khatri_rao block_diag toeplitz hankel expm_frechet solve_toeplitz "
    "solve_circulant solve_continuous_lyapunov solve_discrete_lyapunov matmul_toeplitz "
    "solveh_banded",
    "sl.NAME(a, b)",
)
TOGETHER += _each(
    "convolve correlate fftconvolve oaconvolve convolve2d correlate2d", "ss.NAME(a, b)"
)
TOGETHER += _calls("""
a + b; a @ b; a ** b; a // b; a == b; a < b; divmod(a, b); np.where(a > 0.5, a, b)
np.where(b > 0.5, 1, a); np.select([a > 0.5], [b], 0); np.clip(a, b, 2); np.clip(a, 0, b)
np.tensordot(a, b, 1); np.tensordot(a, b, (0, 0)); np.tensordot(a, b, ([-1], [-2]))
np.einsum('ij,jk', a, b); np.einsum('...i,...i', a, b); np.einsum('i,j', a, b)
np.concatenate([a, b]); np.stack([a, b]); np.vstack([a, b]); np.hstack([a, b]); np.dstack([a, b])
np.block([a, b]); np.concatenate([a, b], axis=-1); np.concatenate([a, b], axis=None)
np.append(a, b, axis=0); np.insert(a, 0, b, axis=0); np.insert(a, [0, 1], b); np.linspace(a, b, 3)
np.geomspace(a, b, 2); np.logspace(a, b, 2); np.full((2, 3), b); np.average(a, weights=b)
np.average(a, axis=0, weights=b); np.average(a, axis=-1, weights=b); np.convolve(a, b, 'same')
np.interp(a, np.arange(3), b); np.interp(0.5, a, b); np.trapezoid(a, b); np.gradient(a, b)
np.polyfit(a, b, 1); np.histogram(a, 3, weights=b); np.histogram(a, b); np.bincount([0, 1, 2], b)
np.take_along_axis(a, np.zeros(b.shape, int), -1); left(np.copyto, a, b)
left(np.put, a, [0, 1], b); left(np.place, a, a > 0.5, b); left(np.putmask, a, a > 0.5, b)
left(np.fill_diagonal, a, b); np.add.outer(a, b); left(np.multiply.at, a, 0, b)
np.linalg.multi_dot([a, b]); np.linalg.multi_dot([a, b, b]); np.quantile(a, b)
np.quantile(a, 0.4, weights=b, method='inverted_cdf'); np.nanquantile(a, b / 4); np.ediff1d(a, b)
np.diff(a, prepend=b); np.diff(a, axis=0, append=b); np.array([a, b]); np.cross(a, b, axis=0)
np.searchsorted(a, b, 'right'); np.sum(a, where=b > 0.5); np.max(a, where=b > 0.5, initial=0)
np.matvec(a, b); np.vecmat(b, a); np.matmul(a, b, axes=[(0, 1), (0, 1), (0, 1)])
np.vecdot(a, b, axis=0); np.subtract(a, b, where=a > 0.5, out=np.zeros(np.shape(a)))
np.add(a, b, dtype='f4'); np.apply_along_axis(np.dot, 0, a, b)
np.vectorize(lambda s, t: s * t)(a, b); np.piecewise(a, [b > 0.5], [1.0, 2.0])
np.choose(np.zeros(a.shape, int), [a, b])
left(np.put_along_axis, a, np.zeros(a.shape, int), b, -1); np.resize(a, b.shape)
np.broadcast_to(a, b.shape); np.reshape(a, b.shape); np.tile(a, b.shape); np.kron(b, a)
np.isin(a, b, invert=True); np.array_equal(a, b, True); np.average(a, axis=(0, 1), weights=b)
np.average(a, axis=0, weights=b, returned=True, keepdims=True); np.nanmean(a, where=b > 0.5)
np.var(a, mean=b); np.histogramdd([a, b], 2); np.lexsort((a, b)); np.cov(a, aweights=b)
np.linalg.lstsq(a, b)[0]; sl.lstsq(a, b)[0]; sl.solve(a, b, assume_a='pos')
sl.solve_triangular(a, b, trans='T', lower=True); sl.lu_solve(sl.lu_factor(a), b)
sl.cho_solve((a, True), b); sl.solve_banded((1, 1), a, b); sl.solve_sylvester(a, b, a)
sl.eigh(a, b)[0]; sl.block_diag(a, b, b); ss.convolve(a, b, 'same'); ss.correlate(a, b, 'valid')
ss.fftconvolve(a, b, axes=0); ss.lfilter(a, b, [1, 2, 3.0]); ss.lfilter(a, [1, 0.5], b)
ss.convolve2d(a, b, 'same'); ss.filtfilt(a, [1.0], b, padlen=0); sp.logsumexp(a, b=b)
sp.logsumexp(a, axis=0, b=b); sp.comb(a, b); sp.zeta(a + 1, b); sp.lambertw(a); sp.perm(a, b)
si.trapezoid(a, b); si.simpson(a, x=b); si.cumulative_trapezoid(a, b); ss.sawtooth(a, b)
sn.interp1d(a, b)(0.6); sn.CubicSpline(a, b)(0.5); sn.interpn((a,), b, [0.5])
sn.PchipInterpolator([0, 1, 2], a)(b); sn.CubicSpline([0, 1, 2], a)(b); a[b > 0.5]
np.extract(a > 0.5, b); np.compress(a > 0.5, b); np.arange(a, b); a.dot(b); a.clip(0, b)
a.searchsorted(b); np.polydiv(b, a); np.roots(np.append(a, b)); np.gradient(a, b, axis=0)
np.trapezoid(a, b, axis=0); left(np.put, a, 0, b)
""")

SPECIAL_ALONE = _ufuncs(scipy.special, "sp", 1)
SPECIAL_TOGETHER = _ufuncs(scipy.special, "sp", 2)
SPECIAL_MORE = [
    f"sp.{name}({', '.join(['a', 'b', '0.6', '0.3', '0.2'][: each.nin])})"
    for name in sorted(dir(scipy.special))
    if isinstance(each := getattr(scipy.special, name), np.ufunc) and each.nin > 2
]

Row = tuple[str, str]


def _expanded(calls: list[str]) -> list[str]:
    found = [call.replace("?", axes) for call in calls for axes in AXES if "?" in call]
    found += [call.replace("$", axis) for call in calls for axis in ONE_AXIS if "$" in call]
    return found + [call for call in calls if "?" not in call and "$" not in call]


def rows() -> list[Row]:
    """Every call, with the name of its specimen, in an order that mixes them."""
    parts = (
        *((ALONG, ALONG_AXES), (ALONE, SINGLES), (TOGETHER, TWO)),
        *((SPECIAL_ALONE, FEW), (SPECIAL_TOGETHER, TWO), (SPECIAL_MORE, TWO)),
    )
    found = {
        (call, name): None
        for calls, specimens in parts
        for call in _expanded(_present(calls))
        for name in specimens
    }
    order = np.random.default_rng(0).permutation(len(found))
    every = list(found)
    return [every[place] for place in order]


def _present(calls: list[str]) -> list[str]:
    """Those whose function the installed NumPy and SciPy have."""
    return [call for call in calls if all(_exists(name) for name in functions_of(call))]


def functions_of(call: str) -> list[str]:
    """The dotted names in a call that begin with one of the rooms."""
    return re.findall(r"(?<![\w.])(?:np|s[lfpsino])\.\w+(?:\.\w+)*", call)


def _exists(name: str) -> bool:
    room, *parts = name.split(".")
    found = NAMES[room]
    for part in parts:
        found = getattr(found, part, None)
    return found is not None
