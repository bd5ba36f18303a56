"""NumPy's older functions of polynomials, coefficients with the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.capture.numpy.linalg.products import dot, outer
from adjoint.capture.numpy.making.values import allclose, astype
from adjoint.capture.numpy.reducing.calculus import convolve
from adjoint.capture.numpy.reducing.reduce import sum_
from adjoint.capture.numpy.shaping.arranging import diag
from adjoint.capture.numpy.shaping.shape import concatenate
from adjoint.capture.numpy.table import as_array, implements, strong
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.trace import note_effect
from adjoint.capture.recording.tracing.traced import Traced, value_of

_POLYNOMIAL = np.poly1d


def _coefficients(p: Any) -> Any:
    p = p.coeffs if isinstance(p, _POLYNOMIAL) else as_array(p)
    return np.reshape(p, (1,)) if np.ndim(p) == 0 else p


def _like(result: Any, *given: Any) -> Any:
    """A polynomial, if one of the arguments is one."""
    return _POLYNOMIAL(result) if any(isinstance(p, _POLYNOMIAL) for p in given) else result


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials."""
    one, other = _coefficients(a1), _coefficients(a2)
    length = max(len(one), len(other))
    return _like(_lengthened(one, length) + _lengthened(other, length), a1, a2)


def _lengthened(p: Any, length: int) -> Any:
    missing = length - len(p)
    return concatenate([np.zeros(missing, p.dtype), p]) if missing else p


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials."""
    one, other = _coefficients(a1), _coefficients(a2)
    length = max(len(one), len(other))
    return _like(_lengthened(one, length) - _lengthened(other, length), a1, a2)


@implements(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    """The product of two polynomials."""
    one, other = _trimmed(_coefficients(a1)), _trimmed(_coefficients(a2))
    return _like(convolve(one, other), a1, a2)


def _trimmed(p: Any) -> Any:
    """Without leading zeros, which NumPy's polynomials do not keep; where values are known."""
    if not np.size(p):
        return np.zeros(1)
    return p if type(p) is Traced else np.trim_zeros(p, "f") if np.any(p) else p[-1:]


@implements(np.polydiv)
def polydiv(u: Any, v: Any) -> Any:
    """The quotient of two polynomials and the remainder."""
    dividend, divisor = _coefficients(u) + 0.0, _coefficients(v) + 0.0
    dtype = np.result_type(dividend.dtype, divisor.dtype)
    rest, steps = astype(dividend, dtype), len(dividend) - len(divisor) + 1
    quotient = []
    for k in range(steps):
        factor = rest[k] / divisor[0]
        quotient.append(factor)
        middle = rest[k : k + len(divisor)] - factor * divisor
        rest = concatenate([rest[:k], middle, rest[k + len(divisor) :]])
    while len(rest) > 1 and allclose(rest[0], 0, rtol=1e-14):
        rest = rest[1:]
    whole = np.stack(quotient) if quotient else np.zeros(1, dtype)
    return _like(whole, u, v), _like(rest, u, v)


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """Horner's rule, highest power first; the polynomial of a polynomial, if x is one."""
    p = p.coeffs if isinstance(p, _POLYNOMIAL) else as_array(p)
    if not p.ndim:
        raise TypeError("iteration over a 0-d array")
    result: Any
    if isinstance(x, _POLYNOMIAL):
        result = 0
    else:
        x = strong(x)
        result = np.zeros(np.shape(x), x.dtype)
    for place in range(p.shape[0]):
        result = result * x + p[place]
    return result


@implements(np.polyder)
def polyder(p: Any, m: Any = 1) -> Any:
    """The derivative of a polynomial, m times."""
    if int(m) < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    result = _coefficients(p)
    for _ in range(int(m)):
        result = result[:-1] * np.arange(len(result) - 1, 0, -1)
    return _like(result, p)


@implements(np.polyint)
def polyint(p: Any, m: Any = 1, k: Any = None) -> Any:
    """The integral of a polynomial, m times, with constants k."""
    m = int(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = np.zeros(m) if k is None else np.atleast_1d(as_array(k))
    if len(constants) == 1 and m > 1:
        constants = constants[0] * np.ones(m)
    if len(constants) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    result = _coefficients(p)
    for place in range(m):
        shares = result / np.arange(len(result), 0, -1)
        result = concatenate([shares, constants[place : place + 1]])
    return _like(result, p)


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """The coefficients of the polynomial with these roots, or of a characteristic polynomial."""
    zeros = np.atleast_1d(as_array(seq_of_zeros))
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] and zeros.shape[0]:
        zeros = np.linalg.eigvals(zeros)
    elif zeros.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if not len(zeros):
        return 1.0
    zeros = astype(zeros, np.mintypecode(zeros.dtype.char))
    result: Any = np.ones(1, zeros.dtype)
    for place in range(len(zeros)):
        # (p)(x - r): p moved up by one power, less r times p.
        nought = np.zeros(1, zeros.dtype)
        result = concatenate([result, nought]) - zeros[place] * concatenate([nought, result])
    if zeros.dtype.kind == "c":
        values = np.sort(np.asarray(concrete(zeros)).astype(complex))
        if np.all(values == np.sort(values.conj())):
            return result.real.copy()
    return result


@implements(np.roots)
def roots(p: Any) -> Any:
    """The roots of a polynomial: the eigenvalues of its companion matrix."""
    p = np.atleast_1d(_coefficients(p))
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    (places,) = np.nonzero(np.asarray(concrete(p)))
    if not len(places):
        return np.array([])
    at_zero = len(p) - int(places[-1]) - 1
    p = p[int(places[0]) : int(places[-1]) + 1]
    p = p if p.dtype.kind in "fc" else astype(p, float)
    if len(p) < 2:
        return np.zeros(at_zero)
    below: Any = diag(np.ones(len(p) - 2, p.dtype), -1)
    companion = concatenate([(-p[1:] / p[0])[None], below[1:]])
    others = np.linalg.eigvals(companion)
    if others.dtype.kind == "c" and p.dtype.kind != "c" and bool(np.all(others.imag == 0)):
        others = others.real.copy()  # as of NumPy 2.5, which gives complex eigenvalues
    return concatenate([others, np.zeros(at_zero, others.dtype)]) if at_zero else others


@implements(np.polyfit)
def polyfit(
    x: Any,
    y: Any,
    deg: Any,
    rcond: Any = None,
    full: bool = False,
    w: Any = None,
    cov: Any = False,
) -> Any:
    """The polynomial that fits best, by least squares."""
    order = int(deg) + 1
    x, y = as_array(x) + 0.0, as_array(y) + 0.0
    _check_fit(x, y, order)
    rcond = len(x) * np.finfo(x.dtype).eps if rcond is None else rcond
    powers, targets = np.vander(x, order), y
    if w is not None:
        weights = as_array(w) + 0.0
        if weights.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if weights.shape[0] != y.shape[0]:
            raise TypeError("expected w and y to have the same length")
        powers = powers * weights[:, None]
        targets = targets * (weights[:, None] if y.ndim == 2 else weights)
    scale = np.sqrt(sum_(powers * powers, 0))
    powers = powers / scale
    fit, residuals, rank, singular = np.linalg.lstsq(powers, targets, rcond)
    fit = (fit.T / scale).T
    if (value_of(rank) if type(rank) is Traced else rank) != order:
        note_effect("NumPy warns of a fit that may be poorly conditioned")
    if full:
        return fit, residuals, rank, singular, rcond
    if not cov:
        return fit
    base = np.linalg.inv(dot(powers.T, powers)) / outer(scale, scale)
    factor: Any = 1
    if cov != "unscaled":
        if len(x) <= order:
            raise ValueError(
                "the number of data points must exceed order to scale the covariance matrix"
            )
        factor = residuals / (len(x) - order)
    return fit, (base if y.ndim == 1 else base[:, :, None]) * factor


def _check_fit(x: Any, y: Any, order: int) -> None:
    if order < 1:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim < 1 or y.ndim > 2:
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
