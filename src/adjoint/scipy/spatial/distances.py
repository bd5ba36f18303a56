"""`scipy.spatial.distance`: distances of vectors, of all rows of two arrays, and of one's pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.numpy.table import as_array
from adjoint.capture.scipy.table import implements_scipy, refuses_scipy, replaces

_PART = "spatial.distance"


def _weighted(terms: Any, w: Any) -> Any:
    return np.sum(terms if w is None else w * terms, axis=-1)


def _euclidean(u: Any, v: Any, w: Any = None) -> Any:
    if w is not None:
        u, v = np.sqrt(w) * u, np.sqrt(w) * v
    return np.linalg.norm(u - v, axis=-1)


def _minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    if p <= 0:
        raise ValueError("p must be greater than 0")
    if np.isinf(p):
        return _chebyshev(u, v, w)
    if p == 2:
        return _euclidean(u, v, w)
    total = _weighted(np.abs(u - v) ** p, w)
    some = total > 0  # there is a kink where both are the same
    return np.where(some, np.where(some, total, 1.0) ** (1.0 / p), 0.0)


def _chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    apart = np.abs(u - v)
    return np.max(apart if w is None else np.where(as_array(w) > 0, apart, 0.0), axis=-1)


def _cosine(u: Any, v: Any, w: Any = None) -> Any:
    along = _weighted(u * v, w)
    lengths = _weighted(u * u, w) * _weighted(v * v, w)
    return np.clip(1.0 - along / np.sqrt(lengths), 0.0, 2.0)


def _correlation(u: Any, v: Any, w: Any = None, centered: bool = True) -> Any:
    if centered:
        share = None if w is None else w / np.sum(w)
        count = 1 if w is not None else u.shape[-1]
        u, v = (x - (_weighted(x, share) / count)[..., None] for x in (u, v))
    return _cosine(u, v, w)


def _canberra(u: Any, v: Any, w: Any = None) -> Any:
    whole = np.abs(u) + np.abs(v)
    some = whole > 0
    return _weighted(np.where(some, np.abs(u - v) / np.where(some, whole, 1.0), 0.0), w)


def _braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    return _weighted(np.abs(u - v), w) / _weighted(np.abs(u + v), w)


def _seuclidean(u: Any, v: Any, V: Any) -> Any:
    return _euclidean(u, v, 1.0 / as_array(V))


def _mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    apart = u - v
    square = np.sum(apart @ as_array(VI) * apart, axis=-1)
    some = square > 0
    return np.where(some, np.sqrt(np.where(some, square, 1.0)), np.where(square == 0, 0.0, np.nan))


METRICS: dict[str, Callable[..., Any]] = {
    "euclidean": _euclidean,
    "sqeuclidean": lambda u, v, w=None: _weighted((u - v) ** 2, w),
    "cityblock": lambda u, v, w=None: _weighted(np.abs(u - v), w),
    "chebyshev": _chebyshev,
    "minkowski": _minkowski,
    "cosine": _cosine,
    "correlation": _correlation,
    "canberra": _canberra,
    "braycurtis": _braycurtis,
    "seuclidean": _seuclidean,
    "mahalanobis": _mahalanobis,
}
_OTHER_NAMES = {"sqeuclidean": ("sqe", "sqeuclid"), "cityblock": ("cblock", "cb", "c")}
_OTHER_NAMES |= {"euclidean": ("euclid", "eu", "e"), "minkowski": ("mi", "m", "pnorm")}
_OTHER_NAMES |= {"chebyshev": ("chebychev", "cheby", "cheb", "ch"), "cosine": ("cos",)}
_OTHER_NAMES |= {"correlation": ("co",), "mahalanobis": ("mahal", "mah")}
_OTHER_NAMES |= {"seuclidean": ("se", "s")}
_CALLED = {other: name for name, others in _OTHER_NAMES.items() for other in others}


def _single(name: str) -> None:
    metric = METRICS[name]

    def distance(u: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
        return metric(as_array(u) * 1.0, as_array(v) * 1.0, *args, **kwargs)

    distance.__name__ = name
    implements_scipy(_PART, name)(distance)


for _name in METRICS:
    _single(_name)


def _chosen(name: str, metric: Any, rows: Callable[[], Any], options: dict[str, Any]) -> Any:
    """The metric, of arrays of vectors, with what it takes from all rows."""
    if not isinstance(metric, str):
        raise UnsupportedFunctionError(
            f"scipy.spatial.distance.{name} of traced arrays takes the name of a metric. Call the "
            "function for the pairs instead."
        )
    asked = _CALLED.get(metric.lower(), metric.lower())
    if asked not in METRICS:
        raise UnsupportedFunctionError(
            f"scipy.spatial.distance.{name} has no derivative for the metric {metric!r}; there "
            f"are {', '.join(METRICS)}."
        )
    given = {option: value for option, value in options.items() if value is not None}
    if asked == "seuclidean" and "V" not in given:
        given["V"] = np.var(rows(), axis=0, ddof=1)
    if asked == "mahalanobis" and "VI" not in given:
        given["VI"] = np.linalg.inv(np.atleast_2d(np.cov(rows().T))).T
    return lambda u, v: METRICS[asked](u, v, **given)


def _no_output(name: str, out: Any) -> None:
    if out is not None:
        raise UnsupportedFunctionError(
            f"scipy.spatial.distance.{name} of traced arrays does not support its argument 'out'."
        )


@implements_scipy(_PART)
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **options: Any) -> Any:
    """The distances of all rows of one array from all rows of another."""
    _no_output("cdist", out)
    first, second = as_array(XA) * 1.0, as_array(XB) * 1.0
    if first.ndim != 2 or second.ndim != 2 or first.shape[1] != second.shape[1]:
        raise ValueError("XA and XB must be 2-dimensional, with the same number of columns.")
    chosen = _chosen("cdist", metric, lambda: np.concatenate([first, second]), options)
    return chosen(first[:, None, :], second[None, :, :])


@implements_scipy(_PART)
def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **options: Any) -> Any:
    """The distances of the pairs of rows."""
    _no_output("pdist", out)
    rows = as_array(X) * 1.0
    if rows.ndim != 2:
        raise ValueError("A 2-dimensional array must be passed.")
    chosen = _chosen("pdist", metric, lambda: rows, options)
    first, second = np.triu_indices(rows.shape[0], 1)
    return chosen(rows[first], rows[second])


@implements_scipy(_PART)
def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """The distances of pairs as a symmetric matrix, or such a matrix as distances of pairs."""
    X = as_array(X)
    if X.ndim == 2:
        return X[np.triu_indices(X.shape[0], 1)]
    count = int(np.ceil(np.sqrt(2 * X.shape[0]))) or 1
    rows, columns = np.triu_indices(count, 1)
    places = np.zeros((count, count), np.intp)
    places[rows, columns] = places[columns, rows] = np.arange(1, X.shape[0] + 1)
    return np.concatenate([np.zeros(1, X.dtype), X])[places]


refuses_scipy(
    _PART,
    "the points that decide are looked for in compiled code; it is the largest of "
    "cdist(u, v).min(axis=1)",
    "directed_hausdorff",
)


@replaces("scipy.spatial.transform._rotation", "select_backend")
@replaces("scipy.spatial.transform._rigid_transform", "select_backend")
def _any_arrays(function: Any, *_: Any, **__: Any) -> Any:
    """Rotations by the code that SciPy has for any arrays, in the place of what is compiled."""
    return function.__globals__["xp_backend"]
