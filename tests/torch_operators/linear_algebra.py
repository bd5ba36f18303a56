"""Torch's linear algebra, as it would be written in NumPy and SciPy.

Torch takes symmetric matrices to be such, and this library reads one triangle, as NumPy does: both
are given the symmetric part. Vectors that are unique up to a factor of modulus 1 are compared by
the moduli of their entries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from tests.torch_operators.counterpart import Counterpart


def _symmetric(x):
    return (x + np.conj(np.swapaxes(x, -1, -2))) / 2


def _torch_symmetric(x):
    return (x + x.mH) / 2


def _adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def _of_symmetric(name, numpy):
    """A function of the symmetric part, in both."""

    def by_torch(x, *args, **keywords):
        import torch

        return _moduli(getattr(torch.linalg, name)(_torch_symmetric(x), *args, **keywords))

    return Counterpart(
        lambda x, *args, **keywords: numpy(_symmetric(x), *args, **keywords), by_torch
    )


def _moduli(result):
    """Eigenvectors by their moduli, and what else there is as it is."""
    if type(result).__name__ in ("linalg_eigh", "linalg_eig"):
        return result[0], abs(result[1])
    return result


def _cholesky(x, upper=False, check_errors=False):
    factor = np.linalg.cholesky(x)
    return _adjoint(factor) if upper else factor


def _eigh(x, UPLO="L"):
    values, vectors = np.linalg.eigh(x)
    return values, np.abs(vectors)


def _eig(x):
    values, vectors = np.linalg.eig(x)
    return values.astype(complex), np.abs(vectors)


def _torch_eig(x):
    import torch

    values, vectors = torch.linalg.eig(x)
    return values, abs(vectors)


def _singular(x, full_matrices=True, driver=None):
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return np.abs(u), s, np.abs(vh)


def _torch_singular(x, full_matrices=True, driver=None):
    import torch

    u, s, vh = torch.linalg.svd(x, full_matrices=False)
    return abs(u), s, abs(vh)


def _matmul_added(x, a, b, *, beta=1, alpha=1):
    return beta * x + alpha * (a @ b)


def _batches_added(x, a, b, *, beta=1, alpha=1):
    return beta * x + alpha * np.sum(a @ b, axis=0)


def _outer_added(x, a, b, *, beta=1, alpha=1):
    return beta * x + alpha * np.outer(a, b)


def _cross(a, b, *, dim=-1):
    return np.cross(a, b, axis=dim)


def _cross_of_first(a, b, dim=None):
    shape = np.broadcast_shapes(np.shape(a), np.shape(b))
    return np.cross(a, b, axis=shape.index(3) if dim is None else dim)


def _vecdot(a, b, *, dim=-1):
    return np.linalg.vecdot(a, b, axis=dim)


def _norm(x, ord=None, dim=None, keepdim=False, dtype=None):
    x = x if dtype is None else x.astype(dtype)
    if dim is None and ord is None:
        found = np.linalg.norm(np.ravel(x))
        return np.reshape(found, (1,) * np.ndim(x)) if keepdim else found
    axes = tuple(dim) if isinstance(dim, list | tuple) else dim
    axes = axes[0] if isinstance(axes, tuple) and len(axes) == 1 else axes
    return np.linalg.norm(x, ord, axis=axes, keepdims=keepdim)


def _matrix_norm(x, ord="fro", dim=(-2, -1), keepdim=False, dtype=None):
    return _norm(x, ord, dim, keepdim, dtype)


def _nuclear(x, p="nuc", dim=None, keepdim=False, dtype=None):
    return _norm(x, p, (-2, -1) if dim is None else dim, keepdim, dtype)


def _least_squares(a, b, *, driver=None):
    if np.ndim(a) == 2:
        return np.linalg.lstsq(a, b, rcond=None)[0]
    return np.linalg.pinv(a) @ b


def _torch_least_squares(a, b, *, driver=None):
    import torch

    return torch.linalg.lstsq(a, b, driver=driver)[0]


def _solve(a, b, *, left=True, check_errors=False):
    if not left:
        return np.swapaxes(_solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)
    if np.ndim(b) == 1 or (np.ndim(b) == np.ndim(a) - 1 and np.shape(b) == np.shape(a)[:-1]):
        return np.linalg.solve(a, b[..., None])[..., 0]
    return np.linalg.solve(a, b)


def _triangle(a, upper, unitriangular):
    a = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        eye = np.eye(np.shape(a)[-1])
        return a * (1 - eye) + eye
    return a


def _solve_triangular(a, b, *, upper, left=True, unitriangular=False):
    return _solve(_triangle(a, upper, unitriangular), b, left=left)


def _triangular_solve(b, a, upper=True, transpose=False, unitriangular=False):
    a_ = _triangle(a, upper, unitriangular)
    return _solve(np.swapaxes(a_, -1, -2) if transpose else a_, b)


def _torch_triangular_solve(b, a, upper=True, transpose=False, unitriangular=False):
    import torch

    return torch.triangular_solve(b, a, upper, transpose, unitriangular)[0]


def _factored_product(factor, upper):
    factor = np.triu(factor) if upper else np.tril(factor)
    return _adjoint(factor) @ factor if upper else factor @ _adjoint(factor)


def _cholesky_inverse(factor, upper=False):
    return np.linalg.inv(_factored_product(factor, upper))


def _cholesky_solve(b, factor, upper=False):
    return np.linalg.solve(_factored_product(factor, upper), b)


def _torch_cholesky_inverse(factor, upper=False):
    """Torch's own gradient does not know which triangle it read."""
    import torch

    return torch.cholesky_inverse(torch.triu(factor) if upper else torch.tril(factor), upper)


def _torch_cholesky_solve(b, factor, upper=False):
    import torch

    return torch.cholesky_solve(b, torch.triu(factor) if upper else torch.tril(factor), upper)


def _qr(x, mode="reduced"):
    return np.linalg.qr(x, mode=mode)


def _old_qr(x, some=True):
    return np.linalg.qr(x, mode="reduced" if some else "complete")


def _lu(x, *, pivot=True):
    return scipy.linalg.lu(x)[1:]


def _torch_lu(x, *, pivot=True):
    """L and U: the permutations are constants, real ones of SciPy's and complex of torch's."""
    import torch

    return torch.linalg.lu(x, pivot=pivot)[1:]


def _lu_factor(x, *, pivot=True, check_errors=False):
    return scipy.linalg.lu_factor(x)[0]


def _slogdet(x):
    return tuple(np.linalg.slogdet(x))


def _pinv(x, rcond=1e-15, *, atol=None, rtol=None, hermitian=False):
    return np.linalg.pinv(x, rtol=rtol, hermitian=hermitian)


def _einsum(operands, equation):
    return np.einsum(equation, *operands)


def _tensordot(a, b, dims=2):
    return np.tensordot(a, b, dims if isinstance(dims, int) else tuple(map(tuple, dims)))


def _vander(x, N=None):
    x = np.atleast_1d(x)
    size = np.shape(x)[-1] if N is None else N
    if np.ndim(x) == 1:
        return np.vander(x, size, increasing=True)
    return x[..., None] ** np.arange(size)


def _tensorsolve(a, b, dims=None):
    return np.linalg.tensorsolve(a, b, dims)


def _bilinear(a, b, weight, bias=None):
    found = np.einsum("...i,oij,...j->...o", a, weight, b)
    return found if bias is None else found + bias


def _linear(x, weight, bias=None):
    found = x @ weight.T
    return found if bias is None else found + bias


LINEAR_ALGEBRA: dict[str, Callable[..., Any] | Counterpart] = {
    "addbmm": _batches_added,
    "addmm": _matmul_added,
    "addmm|decomposed": _matmul_added,
    "addmv": _matmul_added,
    "addr": _outer_added,
    "baddbmm": _matmul_added,
    "bmm": np.matmul,
    "cholesky": _of_symmetric("cholesky", _cholesky),
    "cholesky_inverse": Counterpart(_cholesky_inverse, _torch_cholesky_inverse),
    "cholesky_solve": Counterpart(_cholesky_solve, _torch_cholesky_solve),
    "cross": _cross_of_first,
    "dot": np.dot,
    "einsum": _einsum,
    "inner": np.inner,
    "kron": np.kron,
    "linalg.cholesky": _of_symmetric("cholesky", _cholesky),
    "linalg.cholesky_ex": _of_symmetric("cholesky_ex", _cholesky),
    "linalg.cond": np.linalg.cond,
    "linalg.cross": _cross,
    "linalg.det": np.linalg.det,
    "linalg.eig": Counterpart(_eig, _torch_eig),
    "linalg.eigh": _of_symmetric("eigh", _eigh),
    "linalg.eigvals": lambda x: np.linalg.eigvals(x).astype(complex),
    "linalg.eigvalsh": _of_symmetric("eigvalsh", lambda x, UPLO="L": np.linalg.eigvalsh(x)),
    "linalg.inv": np.linalg.inv,
    "linalg.inv_ex": lambda x, check_errors=False: np.linalg.inv(x),
    "linalg.lstsq": Counterpart(_least_squares, _torch_least_squares),
    "linalg.lstsq|grad_oriented": Counterpart(_least_squares, _torch_least_squares),
    "linalg.lu": Counterpart(_lu, _torch_lu),
    "linalg.lu_factor": _lu_factor,
    "linalg.lu_factor_ex": _lu_factor,
    "linalg.matrix_norm": _matrix_norm,
    "linalg.matrix_power": np.linalg.matrix_power,
    "linalg.multi_dot": np.linalg.multi_dot,
    "linalg.norm": _norm,
    "linalg.norm|subgradients_at_zero": _norm,
    "linalg.pinv": _pinv,
    "linalg.pinv|hermitian": _of_symmetric("pinv", _pinv),
    "linalg.qr": _qr,
    "linalg.slogdet": _slogdet,
    "linalg.solve": _solve,
    "linalg.solve_ex": _solve,
    "linalg.solve_triangular": _solve_triangular,
    "linalg.svd": Counterpart(_singular, _torch_singular),
    "linalg.svdvals": np.linalg.svdvals,
    "linalg.tensorinv": np.linalg.tensorinv,
    "linalg.tensorsolve": _tensorsolve,
    "linalg.vander": _vander,
    "linalg.vecdot": _vecdot,
    "logdet": lambda x: np.log(np.linalg.det(x)),
    "lu": Counterpart(lambda x, *rest: _lu_factor(x), None),
    "matmul": np.matmul,
    "matrix_exp": scipy.linalg.expm,
    "mm": np.matmul,
    "mv": np.matmul,
    "nn.functional.bilinear": _bilinear,
    "nn.functional.linear": _linear,
    "norm|nuc": _nuclear,
    "outer": np.outer,
    "pinverse": _pinv,
    "qr": _old_qr,
    "svd": Counterpart(lambda x, some=True: _singular(x), lambda x, some=True: _torch_singular(x)),
    "tensordot": _tensordot,
    "triangular_solve": Counterpart(_triangular_solve, _torch_triangular_solve),
    "vdot": np.vdot,
}
