"""Calls of NumPy's functions and methods, several for each: what `test_numpy_functions.py` runs.

x is a matrix (3, 4), y another, v a vector of 4, w one of 3, p positive numbers (2, 3), t a cube
(2, 3, 2), s a scalar, z a complex matrix (2, 3), n integers (2, 3), b booleans (3, 4).
"""

from __future__ import annotations

import numpy as np

from tests.capture.rows_whole import WHOLE

RNG = np.random.default_rng(11)
ARGUMENTS = {
    "x": RNG.normal(size=(3, 4)),
    "y": RNG.normal(size=(3, 4)),
    "v": RNG.normal(size=4),
    "w": RNG.normal(size=3),
    "p": RNG.uniform(0.5, 2, (2, 3)),
    "t": RNG.normal(size=(2, 3, 2)),
    "s": 0.7,
    "z": RNG.normal(size=(2, 3)) + 1j * RNG.normal(size=(2, 3)),
    "n": RNG.integers(-3, 4, (2, 3)),
    "b": RNG.normal(size=(3, 4)) > 0,
    "e": np.zeros((0, 3)),
}

REDUCTIONS = [
    f"np.{name}({form})"
    for name in ("sum", "mean", "max", "min", "prod", "std", "var", "ptp", "median")
    for form in (
        "x",
        "x, axis=0",
        "x, -1",
        "t, axis=(0, -1)",
        "x, axis=1, keepdims=True",
        "v",
        "t, (1, 2), keepdims=True",
    )
]
REDUCTIONS += [
    f"x.{name}({form})"
    for name in ("sum", "mean", "max", "min", "prod", "std", "var")
    for form in ("", "0", "axis=-1", "axis=1, keepdims=True", "axis=(0, 1)")
]

ROWS = (
    REDUCTIONS
    + """
np.sum(z); np.sum(z, axis=0); np.sum(n); np.sum(n, axis=0); np.sum(b); np.sum(x, dtype=np.float32)
np.sum(x, initial=2.0); np.sum(x, where=b); np.sum(x, axis=0, where=b, initial=1.0); np.sum(e)
np.sum(e, axis=0); np.sum(e, axis=1); np.sum(s); np.sum(x, axis=()); np.sum([s, 2.0])
np.sum([v, v], axis=0); sum(v); sum(x); np.add.reduce(x); np.add.reduce(x, axis=1)
np.add.reduce(x, None); np.mean(n); np.mean(n, axis=0); np.mean(z, axis=1); np.mean(x, where=b)
np.mean(b); np.mean(x, axis=1, where=b, keepdims=True); np.mean([s, s * s])
np.mean(x, dtype=np.float32); np.var(z); np.var(z, axis=0); np.var(x, ddof=1)
np.std(x, axis=0, ddof=1); np.var(n); np.std(n, axis=1); np.std(x, axis=0, ddof=1, keepdims=True)
np.var(x, axis=(0, 1)); np.var(x, correction=1); np.var(x, mean=np.mean(x)); x.var(ddof=1)
x.std(0, ddof=1); np.max(n); np.min(n, axis=0); np.max(x, initial=0.5)
np.min(x, axis=0, initial=0.0); max(v); min(v); np.amax(x, 0); np.amin(x, 1); np.max(s)
np.maximum.reduce(x); np.minimum.reduce(x, axis=1); np.prod(n); np.prod(x, where=b)
np.prod(x, initial=2.0); np.prod(z, axis=0); np.prod(e, axis=0)
np.prod(v * np.array([0.0, 1, 0, 2])); np.multiply.reduce(x); np.prod(b); np.prod(x, axis=())
np.all(x > 0); np.any(x > 0, axis=0); (x > 0).all(1); np.all(b); np.any(b, axis=1, keepdims=True)
all(v > -9); any(v > 9); np.logical_and.reduce(x > 0); np.logical_or.reduce(x > 0, axis=1)
np.count_nonzero(b); np.count_nonzero(x > 0, axis=0); np.argmax(x); np.argmax(x, axis=0)
np.argmin(x, 1); x.argmin(); x.argmax(-1); np.argmax(x, axis=1, keepdims=True); np.cumsum(x)
np.cumsum(x, axis=0); x.cumsum(1); np.cumsum(n); np.add.accumulate(x)
np.add.accumulate(x, axis=1); np.cumsum(b); np.cumsum(x, dtype=np.float32); np.cumprod(v)
np.cumprod(x, axis=0); np.cumprod(n); np.diff(v); np.diff(x, axis=0); np.diff(x, n=2)
np.diff(v, 0); np.diff(n); np.diff(b); np.ediff1d(v); np.ediff1d(v, to_begin=0.0); np.gradient(v)
np.gradient(v, 0.5); np.gradient(x); np.gradient(x, axis=1)
np.gradient(v, np.array([0.0, 1.0, 1.5, 3.0])); np.gradient(x, 0.5, 2.0); np.gradient(v, s)
np.trapezoid(v); np.trapezoid(x, dx=0.5, axis=0); np.trapezoid(v, np.cumsum(v * v))
np.trapezoid(x, v); np.median(v); np.median(x, axis=0); np.median(x, keepdims=True)
np.quantile(v, 0.3); np.quantile(x, [0.1, 0.5], axis=1); np.percentile(v, 70)
np.percentile(x, 25, axis=0); np.average(v); np.average(x, axis=0, weights=w)
np.average(x, weights=x * x); np.average(v, weights=np.abs(v))
np.average(x, axis=1, weights=v * v, returned=True); np.cov(x); np.cov(x, rowvar=False); np.cov(v)
np.cov(v, v * v); np.cov(x, bias=True); np.cov(x, ddof=0); np.corrcoef(x); np.corrcoef(v, v * v)
np.nansum(x); np.nansum(x, axis=0); np.nanmean(x, axis=1); np.nanmean(np.where(b, x, np.nan))
np.linspace(s, 2.0, 5); np.linspace(0, s, 4, endpoint=False); np.linspace(v, 2 * v, 3)
np.linspace(s, 1, 1); np.linspace(w, s, 3, axis=1); np.linspace(0, s, 4, retstep=True)
np.geomspace(s, 2.0, 4); np.logspace(s, 2.0, 4); np.logspace(0, s, 3, base=2.0); np.meshgrid(v, w)
np.meshgrid(v, w, indexing="ij"); np.meshgrid(v, w, s); np.meshgrid(v, w, sparse=True)
np.polyval(v, s); np.polyval(v, x); np.polyval(v, 2); np.convolve(v, w)
np.convolve(v, w, mode="same"); np.convolve(w, v, "valid"); np.convolve(v, [1, 2])
np.correlate(v, w); np.correlate(v, w, "full"); np.vander(w); np.vander(v, 3, increasing=True)
np.interp(s, [0, 1, 2], w); np.interp(v, [-1.0, 0.1, 1], w); np.interp(s, [0, 1], [2.0, 3.0])
np.interp(s, np.array([0.0, 1.0]) * 2, w[:2], left=0.0); np.interp(9.0, [0, 1, 2], w)
np.interp(-9.0, [0, 1, 2], w, left=5.0); np.dot(x, v); np.dot(v, v); np.dot(s, v); np.dot(x, y.T)
np.dot(t, x[:2, :1]); np.dot(w, x); np.dot(2.0, s); x.dot(v); np.dot(z, z.T); np.dot(n, n.T)
np.dot(t, t[0].T); np.matmul(x, v); x @ y.T; v @ v; w @ x; t @ t[:, :2]; t @ x[:2]; t @ v[:2]
w @ t; np.matmul(t, np.swapaxes(t, 1, 2)); n @ n.T; z @ np.conj(z).T; [1.0, 2, 3] @ x
x @ [1.0, 2, 3, 4]; (t[:, None] @ t[0].T); np.outer(v, w); np.outer(x, w); np.outer(z, w)
np.inner(v, v); np.inner(x, y); np.inner(s, v); np.inner(t, v[:2]); np.vdot(v, v); np.vdot(z, z)
np.vdot(x, y); np.tensordot(x, y, axes=2); np.tensordot(x, y.T, axes=1); np.tensordot(v, w, 0)
np.tensordot(t, x, axes=([1], [0])); np.tensordot(t, x, axes=(1, 0)); np.kron(v, w)
np.kron(x, t[0]); np.cross(w, x[:, 0]); np.cross(x.T[:, :3], w)
np.cross(x[:, :2], y[:, :2], axis=0); np.cross(z, z[::-1]); np.cross(n, n + 1)
np.cross(x.T[:, None], y.T); np.cross([1.0, 2, 3], w); np.cross(w, np.arange(3))
np.trace(x); np.trace(x, 1); np.trace(t, axis1=0, axis2=2)
x.trace(-1); np.trace(n); np.einsum("ij,ij", x, y); np.einsum("ij->ji", x)
np.einsum("ij,j->i", x, v); np.einsum("ij,kj->ik", x, y); np.einsum("ii->i", x[:, :3])
np.einsum("ii", x[:, :3]); np.einsum("ij->", x); np.einsum("...j,j->...", x, v)
np.einsum("ij,jk,k", x, y.T, w); np.einsum("i,j,k->kji", v, w, w)
np.einsum("ijk,ik->j", t, x[:2, :2]); np.einsum("ij,ij->ij", x, y); np.einsum("i,i", v, v)
np.einsum("ij , j", x, v); np.einsum("ijk,ijk->jk", t, t, optimize=True)
np.einsum("ij,jk", n, n.T); np.einsum("ij,kj->ik", z, np.conj(z)); np.einsum("a,a,a->", w, w, w)
np.vecdot(x, y); np.linalg.vecdot(x, y); np.linalg.multi_dot([w, x, v]); np.linalg.norm(v)
np.linalg.norm(x); np.linalg.norm(x, axis=1); np.linalg.norm(x, axis=0, keepdims=True)
np.linalg.norm(v, 1); np.linalg.norm(v, np.inf); np.linalg.norm(v, 3); np.linalg.norm(z)
np.linalg.norm(x, "fro"); np.linalg.norm(v, 2); np.linalg.norm(v, -np.inf)
np.linalg.norm(x, 1, axis=0); np.linalg.norm(n); np.linalg.vector_norm(v); np.linalg.outer(v, w)
np.linalg.trace(x[:, :3]); np.linalg.diagonal(x[:, :3]); np.linalg.cross(w, w * w)
np.linalg.solve(x[:, :3], w); np.linalg.solve(x[:, :3], x); np.linalg.solve(x[:, :3], w[None].T)
np.linalg.solve(x[:, :3], t); np.linalg.solve(t[:, :2], t[:, :2]); np.linalg.solve(t[:, :2], v[:2])
np.linalg.solve(z[:, :2], t[0, 0]); np.linalg.solve(x[:, :3], n.T); np.linalg.inv(x[:, :3])
np.linalg.solve(np.array([[2, 1], [1, 3]]), v[:2]); np.linalg.inv(t[:, :2]); np.linalg.inv(z[:, :2])
np.linalg.inv(n[:, :2] + 9 * np.eye(2, dtype=int)); np.linalg.det(x[:, :3]); np.linalg.det(t[:, :2])
np.linalg.det(z[:, :2]); np.linalg.det(n[:, :2]); np.linalg.slogdet(x[:, :3]).logabsdet
np.linalg.slogdet(t[:, :2])[1]; np.linalg.slogdet(z[:, :2]); np.linalg.slogdet(x[:, :3])
np.linalg.cholesky(x @ x.T); np.linalg.cholesky(z @ np.conj(z).T)
np.linalg.cholesky(x @ x.T, upper=True); np.linalg.cholesky(z @ np.conj(z).T, upper=True)
np.linalg.cholesky(x[:, :3] + 5 * np.eye(3))
np.linalg.cholesky(x[:, :3] + 5 * np.eye(3), upper=True)
np.linalg.matrix_power(x[:, :3], 3); np.linalg.matrix_power(x[:, :3], -2)
np.linalg.matrix_power(z[:, :2], 4); np.linalg.matrix_power(x[:, :3], 0)
np.linalg.matrix_power(n[:, :2], 2); np.linalg.matrix_power(t[:, :2], 1)
np.trace(np.linalg.inv(x[:, :3]))
np.where(b, x, y); np.where(x > 0, x, 0); np.where(b, x, s); np.where(True, s, 2.0)
np.where(x > y, x, y); np.where(b, 1, x); np.where(x, x, y); np.where([True, False, True], w, 0.0)
np.where(s > 0, v, -v); np.where(b, s, 0); np.where(x > 0)[0]; np.clip(x, -0.5, 0.5)
np.clip(x, None, 0.3); x.clip(0); x.clip(max=0.1); np.clip(x, min=-0.1); np.clip(x, v, v + 1)
np.clip(n, 0, 2); np.clip(s, 0, 1); x.clip(-s, s); np.select([x < 0, x < 1], [x, x**2], 3.0)
np.select([b], [x]); np.nan_to_num(x); np.nan_to_num(x / b, posinf=1.0, neginf=2.0); np.sort(v)
np.sort(x, axis=0); np.sort(x, axis=None); np.sort(x)[::-1]; np.argsort(v); np.argsort(x, axis=0)
v.argsort(); np.searchsorted(np.sort(v), 0.1); np.digitize(v, [0.0]); np.unique(np.round(v))
np.nonzero(v); np.flatnonzero(v > 0); np.argwhere(v > 0); (v > 0).nonzero()
np.take_along_axis(x, np.argsort(x, 1), 1); np.take_along_axis(x, np.argmax(x, 0)[None], 0)
np.take_along_axis(x, n.ravel(), None); np.round(x); np.round(x, 1); x.round(2); np.around(v, 1)
round(s, 1); np.fix(x); np.sinc(v); np.sinc(0.0 * s); np.angle(z); np.angle(z, deg=True)
np.angle(v); np.isreal(z); np.copy(x); x.copy(); np.zeros_like(x); np.ones_like(n)
np.full_like(x, s); np.full_like(n, 3); np.full((2, 2), s); np.full(3, v[0])
np.zeros_like(x, dtype=int); np.ones_like(x, shape=(2,)); np.empty_like(x) * 0; np.full_like(x, v)
np.array([s, 1.0]); np.array([[s, 1], [2, 3]]); np.array([v, v * 2])
np.array([s, s], dtype=np.float32); np.array(x); np.array(s); np.array([[x[0, 0]], [s]])
np.array([1, s, 2j]); np.array([v[0], n[0, 0]]); np.array((s, v[0])); np.array([s], ndmin=2)
np.asarray([s, 2]); np.asarray(x, dtype=np.float32); np.array([[], []]) * s
np.ascontiguousarray(x.T); np.asanyarray(x); np.asarray(x, dtype=complex); x.astype(np.float32)
x.astype(complex); n.astype(float); x.astype(int); z.real.astype(np.float32)
np.astype(x, np.float32); x.astype(float, copy=False); b.astype(float) * s; np.shape(x)
np.ndim(x); np.size(x); np.size(x, 0); x.shape; x.ndim; x.size; len(x); np.iscomplexobj(z)
np.isrealobj(x); np.result_type(x, 1.0).name; np.result_type(x, np.float32(1)).name
np.isclose(x, y); np.allclose(x, x); np.array_equal(x, x); x.dtype.name; x.itemsize; x.nbytes
np.iscomplexobj(x); np.issubdtype(x.dtype, np.floating); np.can_cast(x.dtype, complex)
np.reshape(x, (4, 3)); x.reshape(2, -1); x.reshape((6, 2)); x.reshape(-1)
np.reshape(x, (4, 3), order="F"); x.reshape(12, order="F"); np.ravel(x); x.ravel(order="F")
x.flatten(); x.flatten("F"); s * np.reshape(2.0, ()); np.transpose(x); x.T; x.transpose(1, 0)
t.transpose((2, 0, 1)); np.transpose(t, (1, -1, 0)); t.mT; np.matrix_transpose(t)
np.swapaxes(t, 0, -1); x.swapaxes(0, 1); np.moveaxis(t, 0, -1); np.moveaxis(t, (0, 1), (2, 0))
np.rollaxis(t, 2); np.rollaxis(t, 1, 3); np.permute_dims(t, (2, 1, 0)); np.squeeze(x[None])
x[:, None].squeeze(1); x[:1].squeeze(); np.squeeze(x[:1, :1]); np.expand_dims(x, 0)
np.expand_dims(x, (0, -1)); np.expand_dims(v, -1); np.atleast_1d(s); np.atleast_2d(v)
np.atleast_3d(x); np.atleast_1d(v, s); np.broadcast_to(v, (3, 4)); np.broadcast_to(s, (2,))
np.broadcast_to(x, (3, 4)); np.broadcast_arrays(v, w[:, None]); np.real(z); np.imag(z); z.real
z.imag; x.real; x.imag; np.real(x); np.imag(x); np.concatenate([x, y])
np.concatenate((x, y), axis=1); np.concatenate([x, n.astype(float).T[:, :1]], 1)
np.concatenate([v, [1.0]]); np.concatenate([x, y], axis=None); np.concatenate([x[:0], x])
np.concatenate([x, y], dtype=np.float32); np.stack([v, v]); np.stack([x, y], axis=-1)
np.stack([s, s]); np.stack([x, y], axis=1); np.hstack([v, w]); np.hstack([x, y])
np.hstack([s, v]); np.vstack([v, v]); np.vstack([x, v]); np.dstack([x, y]); np.dstack([v, v])
np.column_stack([v, v]); np.column_stack([x, w]); np.append(v, 1.0); np.append(x, y, axis=0)
np.stack([s, 1.0]); np.stack([s, 1], -1); np.stack([v, [1, 2, 3, 4]], axis=1)
np.stack([s, 1.0], dtype=np.float32, casting="same_kind"); np.concatenate([[1, 2], v, [s, 1]])
np.hstack([1, v, [2.0]]); np.hstack([s, 1]); np.vstack([v, [1, 2, 3, 4]]); np.vstack([s, 1.0])
np.dstack([s, 1.0]); np.column_stack([v, [1, 2, 3, 4]]); np.column_stack([s, 1.0])
np.append(1.0, v); np.append([1, 2], s); np.block([[s, 1.0], [0, 2]]); np.block([v, 1.0])
np.transpose([v, [1, 2, 3, 4]]); np.swapaxes([v, v], 0, 1); np.moveaxis([v, v], 0, 1)
np.squeeze([[s, 1.0]]); np.expand_dims([s, 1.0], 1); np.real([s, 1.0]); np.imag([z, z])
np.array_split([s, 1.0, 2.0], 2); np.flip([s, 1.0]); np.flipud([s, 1.0]); np.rot90([v, v])
np.roll([s, 1.0], 1); np.tile([s, 1.0], 2); np.repeat([v, v], 2, axis=1); np.diag([s, 1.0])
np.diagonal([v, v]); np.triu([v, v]); np.tril([v, v]); np.diff([s, 1.0]); np.sort([s, 0.1])
np.interp([0.5, s], [0.0, 0.6, 1.0], [1.0, 3.0, 4.0])
np.polynomial.polynomial.polyval(x, v); np.polynomial.polynomial.polyval(0.3, v)
np.polynomial.polynomial.polyval(s, [s, 1]); np.polynomial.polynomial.polyval([s, 2], w)
np.polynomial.polynomial.polyval(v, x); np.polynomial.polynomial.polyval(v, x, tensor=False)
np.polynomial.polynomial.polyval(s, 2); np.polynomial.polynomial.polyval(0.5, n)
np.polynomial.legendre.legval(x, v); np.polynomial.legendre.legval(v, x.T)
np.polynomial.chebyshev.chebval(x, v); np.polynomial.chebyshev.chebval(s, w)
np.polynomial.polynomial.polyvalfromroots(x, w); np.polynomial.polynomial.polyval(z, w)
np.polynomial.polynomial.polyvalfromroots(s, [1, 2]); np.polynomial.polynomial.polyval(v, t)
np.polynomial.polynomial.polyvalfromroots(v, x, tensor=False)
np.append(v, w); np.split(v, 2); np.split(x, [1], axis=0); np.split(x, 2, axis=1)
np.array_split(v, 3); np.hsplit(x, 2); np.vsplit(x, 3); np.unstack(x); np.unstack(x, axis=1)
np.flip(x); np.flip(x, 0); np.flip(t, (0, -1)); np.flipud(x); np.fliplr(x); np.roll(v, 1)
np.roll(x, -1, axis=1); np.roll(x, 5); np.roll(x, (1, 2), axis=(0, 1)); np.roll(x, 1, axis=0)
np.tile(v, 2); np.tile(x, (2, 1)); np.tile(s, 3); np.tile(v, (2, 2)); np.repeat(v, 2)
np.repeat(x, 2, axis=0); np.repeat(w, [1, 0, 2]); x.repeat(2); np.repeat(s, 3); np.take(v, [0, 2])
np.take(x, 1, axis=1); np.take(x, [[0, 5], [3, 11]]); x.take([0, 1], axis=0); x.take(0)
np.diagonal(x); np.diagonal(t, 0, 0, 2); x.diagonal(1); np.diag(v); np.diag(x); np.diag(v, 1)
np.lib.stride_tricks.sliding_window_view(t, (2, 2), (2, 0))
np.lib.stride_tricks.sliding_window_view(v, 2); np.lib.stride_tricks.sliding_window_view(x, (2, 3))
np.diag(w, -1); np.diag(x, 1); np.triu(x); np.tril(x, -1); np.triu(t, 1); np.tril(v); np.rot90(x)
np.rot90(x, 2); np.rot90(t, -1, axes=(1, 2)); np.pad(v, 1); np.pad(x, ((1, 0), (0, 2)))
np.pad(x, 1, constant_values=2.0); np.pad(v, (1, 2), mode="edge"); np.pad(v, 2, mode="reflect")
np.pad(x, 1, mode="wrap"); np.pad(v, 2, "symmetric"); np.pad(n, 1); np.delete(v, 1)
np.delete(x, [0, 2], axis=0); np.delete(x, 1, 1); np.delete(x, slice(1), 0); np.delete(x, 5)
np.insert(v, 1, s); np.insert(v, 0, [1.0]); np.insert(x, 1, v, axis=0); np.insert(v, -1, 2.0)
np.compress([True, False, True], x, axis=0); x.compress([0, 1, 1, 0], axis=1)
np.extract(x > 0, x); np.block([[x, y], [y, x]]); np.block([v, w]); np.block([[s, 1.0], [2.0, s]])
x.item(3); v.item(0); x[0, 0].item(); x.item((1, 2)); x.tolist(); v.tolist(); list(v)
[r.sum() for r in x]; x.conj(); z.conj(); z.conjugate(); np.add.outer(v, w)
np.multiply.outer(v, x); np.subtract.outer(v, s); np.maximum.outer(v, w); np.lexsort((v,))
np.bincount(np.abs(n).ravel()); np.isin(n, [1, 2]); float(s); complex(s); int(s * 10); abs(x); -x
+x; x % 0.3; x // 0.3; divmod(x, 0.7); 2 % p; 3.0 // p; x**2; x**3; x**-1; p**0.5; p**s; 2.0**x
p**-1.5; x**0; n**2; p**p; s**s; s**2; 2**s; x + 1; 1 - x; 2 * x; 2 / p; x / 2; n / 2; n // 2
n % 2; n + 1; n + 0.5; n * s; b * x; b + 1; b & (x > 0); b | (x > 0); ~b; b ^ (x > 0); n & 1
n | 1; n ^ 3; n << 1; n >> 1; ~n; x > 0; x <= y; x == x; x != y; 1 < x; n == 1; v[0] == v[0]
x.max() > 0; np.float32(2) * x; x * np.float32(2); np.float64(2) * x; np.int64(2) * x
x + np.arange(4)
""".replace("\n", ";").split(";")
)
ROWS = [row.strip() for row in ROWS if row.strip()] + WHOLE
