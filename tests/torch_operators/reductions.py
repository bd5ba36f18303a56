"""Torch's reductions, scans and distributions over an axis, as they would be written in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from tests.torch_operators.counterpart import Counterpart


def _axes(x, dim):
    """The axes that torch means: none named are all, and scalars have one all the same."""
    if np.ndim(x) == 0:
        return None
    return (tuple(dim) or None) if isinstance(dim, list | tuple) else dim


def reducing(function: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction of NumPy's under torch's names of its arguments."""
    return lambda x, dim=None, keepdim=False: function(x, axis=_axes(x, dim), keepdims=keepdim)


def _with_dtype(function):
    def reduced(x, dim=None, keepdim=False, dtype=None):
        return function(
            x if dtype is None else x.astype(dtype), axis=_axes(x, dim), keepdims=keepdim
        )

    return reduced


def _spread(function):
    def reduced(x, dim=None, unbiased=None, *, correction=1, keepdim=False):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        count = correction if unbiased is None else int(unbiased)
        return function(x, axis=_axes(x, dim), ddof=1 if count is None else count, keepdims=keepdim)

    return reduced


def _spread_and_mean(function):
    def reduced(x, dim=None, unbiased=None, *, correction=1, keepdim=False):
        spread = _spread(function)(x, dim, unbiased, correction=correction, keepdim=keepdim)
        return spread, np.mean(
            x, axis=_axes(x, None if isinstance(dim, bool) else dim), keepdims=keepdim
        )

    return reduced


def _scan(function):
    def scanned(x, dim, dtype=None):
        x = x if dtype is None else x.astype(dtype)
        return x if np.ndim(x) == 0 else function(x, axis=dim)

    return scanned


def _running(ufunc):
    return lambda x, dim: x if np.ndim(x) == 0 else ufunc.accumulate(x, axis=dim)


def _log_cumulative(x, dim):
    if np.ndim(x) == 0:
        return x
    if np.iscomplexobj(x):
        largest = np.max(np.real(x), axis=dim, keepdims=True)
        return largest + np.log(np.cumsum(np.exp(x - largest), axis=dim))
    return np.logaddexp.accumulate(x, axis=dim)


def _softmax(x, dim, dtype=None):
    x = x if dtype is None else x.astype(dtype)
    if np.iscomplexobj(x):
        powers = np.exp(x)
        return powers / np.sum(powers, axis=dim, keepdims=True)
    return special.softmax(x, axis=dim)


def _softmin(x, dim, dtype=None):
    return _softmax(-x, dim, dtype)


def _log_softmax(x, dim, dtype=None):
    x = x if dtype is None else x.astype(dtype)
    if np.iscomplexobj(x):
        return x - np.log(np.sum(np.exp(x), axis=dim, keepdims=True))
    return special.log_softmax(x, axis=dim)


def _logsumexp(x, dim, keepdim=False):
    if np.ndim(x) == 0:
        return np.reshape(special.logsumexp(np.reshape(x, (1,))), ())
    return special.logsumexp(x, axis=_axes(x, dim), keepdims=keepdim)


def _chosen(function):
    """One entry of each row, which torch gives with its index."""

    def reduced(x, *args, dim=None, keepdim=False):
        dim, keepdim = (*args, *(dim, keepdim)[len(args) :]) if args else (dim, keepdim)
        return function(x, axis=_axes(x, dim), keepdims=keepdim)

    return reduced


def _median(x, dim=None, keepdim=False):
    """The lower one of two entries in the middle."""
    rank = ((np.size(x) if dim is None else np.shape(x)[dim] if np.ndim(x) else 1) - 1) // 2
    return _ranked(x, rank, dim, keepdim)


def _nan_median(x, dim=None, keepdim=False):
    return np.nanquantile(x, 0.5, axis=_axes(x, dim), keepdims=keepdim, method="inverted_cdf")


def _ranked(x, rank, dim, keepdim):
    if np.ndim(x) == 0:
        return x * 1
    if dim is None:
        return np.sort(x, axis=None)[rank]
    found = np.take(np.sort(x, axis=dim), [rank], axis=dim)
    return found if keepdim else np.squeeze(found, axis=dim)


def _kth_value(x, k, dim=-1, keepdim=False):
    return _ranked(x, k - 1, dim, keepdim)


def _quantile(function):
    def reduced(x, q, dim=None, keepdim=False, interpolation="linear"):
        return function(x, q, axis=_axes(x, dim), keepdims=keepdim, method=interpolation)

    return reduced


def _aminmax(x, *, dim=None, keepdim=False):
    axis = _axes(x, dim)
    return np.min(x, axis=axis, keepdims=keepdim), np.max(x, axis=axis, keepdims=keepdim)


def _trapezoid(y, x=None, *, dim=-1, dx=1.0):
    return np.trapezoid(y, x, dx, axis=dim)


def _cumulative_trapezoid(y, x=None, *, dim=-1, dx=1.0):
    y = np.moveaxis(y, dim, -1)
    steps = dx if x is None else np.diff(x if np.ndim(x) == 1 else np.moveaxis(x, dim, -1))
    return np.moveaxis(np.cumsum((y[..., 1:] + y[..., :-1]) / 2 * steps, axis=-1), -1, dim)


def _diff(x, n=1, dim=-1, prepend=None, append=None):
    ends = {"prepend": prepend, "append": append}
    return np.diff(x, n, dim, **{name: end for name, end in ends.items() if end is not None})


def _gradient(x, *, spacing=None, dim=None, edge_order=1):
    spacing = 1 if spacing is None else spacing
    axes = range(np.ndim(x)) if dim is None else [dim] if isinstance(dim, int) else dim
    spacing = list(spacing) if isinstance(spacing, list | tuple) else [spacing] * len(axes)
    found = np.gradient(x, *spacing, axis=tuple(axes), edge_order=edge_order)
    return found if isinstance(found, tuple | list) else (found,)


def _cov(x, *, correction=1, fweights=None, aweights=None):
    return np.cov(x, ddof=correction, fweights=fweights, aweights=aweights)


def _norm(x, p=2, dim=None, keepdim=False, dtype=None):
    x = x if dtype is None else x.astype(dtype)
    p = 2 if p in (None, "fro") else p
    axes = _axes(x, dim)
    size = np.abs(x)
    if p == 0:
        return np.sum(np.where(size != 0, 1.0, 0.0) + 0 * size, axis=axes, keepdims=keepdim)
    if np.isinf(p):
        return (np.max if p > 0 else np.min)(size, axis=axes, keepdims=keepdim)
    if p == 2:
        return np.sqrt(np.sum(np.real(x * np.conj(x)), axis=axes, keepdims=keepdim))
    if p == 1:
        return np.sum(size, axis=axes, keepdims=keepdim)
    return np.sum(size**p, axis=axes, keepdims=keepdim) ** (1 / p)


def _distance(x, y, p=2):
    return _norm(x - y, p)


def _renorm(x, p, dim, maxnorm):
    axes = tuple(axis for axis in range(np.ndim(x)) if axis != dim % np.ndim(x))
    size = _norm(x, p, axes, True)
    return x * np.where(size > maxnorm, maxnorm / (size + 1e-7), 1.0)


def _normalize(x, p=2, dim=1, eps=1e-12):
    return x / np.maximum(_norm(x, p, dim, True), eps)


def _cosine(a, b, dim=1, eps=1e-8):
    a, b = np.broadcast_arrays(a, b)
    sizes = np.maximum(_norm(a, 2, dim), eps) * np.maximum(_norm(b, 2, dim), eps)
    return np.sum(a * b, axis=dim) / sizes


def _logsumexp_masked(x, dim=None, *, keepdim=False, dtype=None, mask=None):
    return _logsumexp(np.where(_full(mask), x, -np.inf), dim, keepdim)


def _full(mask):
    return True if mask is None else mask


def _masked(function):
    """A reduction of the entries that a mask leaves."""

    def reduced(x, *dims, dim=None, keepdim=False, dtype=None, mask=None, **rest):
        axes = _axes(x, dims[0] if dims else dim)
        return function(x, axis=axes, keepdims=keepdim, where=_full(mask), **rest)

    return reduced


def _masked_spread(function):
    def reduced(x, dim=None, unbiased=None, *, correction=1, keepdim=False, dtype=None, mask=None):
        lost = (1 if correction is None else correction) if unbiased is None else int(unbiased)
        found = function(x, axis=_axes(x, dim), ddof=lost, keepdims=keepdim, where=_full(mask))
        return found.astype(x.dtype)

    return reduced


def _masked_scan(ufunc, fill):
    def scanned(x, dim, *, dtype=None, mask=None):
        left = np.where(_full(mask), x, fill)
        return ufunc.accumulate(left, axis=dim) if np.ndim(x) else left

    return scanned


def _masked_softmax(function, sign=1):
    def normalised(x, dim, *, dtype=None, mask=None):
        return function(np.where(_full(mask), sign * x, -np.inf), dim)

    return normalised


REDUCTIONS: dict[str, Callable[..., Any] | Counterpart] = {
    "amax": reducing(np.amax),
    "amin": reducing(np.amin),
    "aminmax": _aminmax,
    "corrcoef": np.corrcoef,
    # Torch's own second derivative is rounded to single precision where the weights are of that.
    "cov": Counterpart(_cov, tolerance=1e-4),
    "cummax": _running(np.maximum),
    "cummin": _running(np.minimum),
    "cumprod": _scan(np.cumprod),
    "cumsum": _scan(np.cumsum),
    "cumulative_trapezoid": _cumulative_trapezoid,
    "diff": _diff,
    "dist": _distance,
    "gradient": _gradient,
    "kthvalue": _kth_value,
    "linalg.vector_norm": lambda x, ord=2, dim=None, keepdim=False, dtype=None: _norm(
        x, ord, dim, keepdim, dtype
    ),
    "log_softmax": _log_softmax,
    "log_softmax|with_dtype": _log_softmax,
    # Torch's own second derivatives of numbers about 1e4 have errors of 1e-10 where they vanish.
    "logcumsumexp": Counterpart(_log_cumulative, tolerance=1e-6),
    "logsumexp": Counterpart(_logsumexp, tolerance=1e-6),
    "masked.amax": _masked(
        lambda x, where, **rest: np.amax(x, where=where, initial=-np.inf, **rest)
    ),
    "masked.amin": _masked(
        lambda x, where, **rest: np.amin(x, where=where, initial=np.inf, **rest)
    ),
    "masked.cumprod": _masked_scan(np.multiply, 1),
    "masked.cumsum": _masked_scan(np.add, 0),
    "masked.log_softmax": _masked_softmax(_log_softmax),
    "masked.logsumexp": _logsumexp_masked,
    "masked.mean": _masked(np.mean),
    "masked.prod": _masked(np.prod),
    "masked.softmax": _masked_softmax(_softmax),
    "masked.softmin": _masked_softmax(_softmax, -1),
    "masked.std": _masked_spread(np.std),
    "masked.sum": _masked(np.sum),
    "masked.var": _masked_spread(np.var),
    "max|reduction_no_dim": np.max,
    "max|reduction_with_dim": _chosen(np.max),
    "mean": _with_dtype(np.mean),
    "median": _median,
    "min|reduction_no_dim": np.min,
    "min|reduction_with_dim": _chosen(np.min),
    "nanmean": _with_dtype(np.nanmean),
    "nanmedian": _nan_median,
    "nanquantile": _quantile(np.nanquantile),
    "nansum": _with_dtype(np.nansum),
    "nn.functional.cosine_similarity": _cosine,
    "nn.functional.normalize": _normalize,
    "nn.functional.pairwise_distance": lambda a, b, p=2.0, eps=1e-6, keepdim=False: _norm(
        a - b + eps, p, -1, keepdim
    ),
    "nn.functional.softmin": _softmin,
    "nn.functional.softmin|with_dtype": _softmin,
    "norm": _norm,
    "norm|fro": _norm,
    "norm|inf": _norm,
    "prod": _with_dtype(np.prod),
    "quantile": _quantile(np.quantile),
    "renorm": _renorm,
    "softmax": _softmax,
    "softmax|with_dtype": _softmax,
    "std": _spread(np.std),
    "std_mean": _spread_and_mean(np.std),
    "std_mean|unbiased": _spread_and_mean(np.std),
    "std|unbiased": _spread(np.std),
    "sum": _with_dtype(np.sum),
    "trace": np.trace,
    "trapezoid": _trapezoid,
    "trapz": _trapezoid,
    "var": _spread(np.var),
    "var_mean": _spread_and_mean(np.var),
    "var_mean|unbiased": _spread_and_mean(np.var),
    "var|unbiased": _spread(np.var),
}
