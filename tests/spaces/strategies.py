"""Random spaces, for hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from adjoint.spaces import (
    Diagonal,
    Euclidean,
    Functions,
    Hermitian,
    LowerTriangular,
    Product,
    Skew,
    SkewHermitian,
    Span,
    Symmetric,
    TraceFree,
    UpperTriangular,
    Weighted,
)

MATRICES = [Symmetric, Skew, Diagonal, LowerTriangular, UpperTriangular, TraceFree]
DTYPES = st.sampled_from([np.float64, np.complex128])


def positive_matrix(n, seed, dtype=float):
    """A well-conditioned symmetric (Hermitian) positive definite matrix."""
    generator = np.random.default_rng(seed)
    factor = generator.standard_normal((n, n)).astype(dtype)
    if np.dtype(dtype).kind == "c":
        factor = factor + 1j * generator.standard_normal((n, n))
    return factor @ factor.conj().T / max(n, 1) + np.eye(n)


@st.composite
def plain_spaces(draw):
    """Array spaces and matrix subspaces under the plain inner product."""
    dtype = draw(DTYPES)
    if draw(st.booleans()):
        shape = draw(st.lists(st.integers(0, 3), max_size=3).map(tuple))
        return Euclidean(shape, dtype)
    n = draw(st.integers(1, 4))
    if draw(st.booleans()):
        return draw(st.sampled_from(MATRICES))(n, dtype)
    if draw(st.booleans()):
        return draw(st.sampled_from([Hermitian, SkewHermitian]))(n, complex)
    whole = draw(st.sampled_from([Euclidean((n,), dtype), Symmetric(n, dtype)]))
    return Span([whole.random(seed) for seed in range(draw(st.integers(0, 3)))], whole)


@st.composite
def weighted_spaces(draw, bases=None):
    """Scalar, diagonal, dense and sparse weights on plain spaces."""
    base = draw(plain_spaces() if bases is None else bases)
    seed = draw(st.integers(0, 2**16))
    generator = np.random.default_rng(seed)
    kind = draw(st.sampled_from(["scalar", "diagonal", "dense", "hermitian"]))
    if kind == "scalar" or base.dimension == 0:
        return Weighted(base, float(generator.uniform(0.5, 2)))
    array_space = isinstance(base, Euclidean)
    if kind == "diagonal":
        shape = base.shape if array_space else (base.dimension,)
        return Weighted(base, generator.uniform(0.5, 2, shape))
    if kind == "hermitian" and array_space:
        return Weighted(base, positive_matrix(base.size, seed, base.dtype))
    return Weighted(base, positive_matrix(base.dimension, seed))


@st.composite
def function_spaces(draw):
    """Functions on grids and quadratures, under L2 and H1."""
    n, dtype = draw(st.integers(1, 4)), draw(DTYPES)
    if draw(st.booleans()):
        return Functions.gauss_legendre(0, 1, n, dtype)
    x = np.cumsum(np.random.default_rng(n).uniform(0.5, 1, n + 1))
    axes = [x, x[:2]] if draw(st.booleans()) else [x]
    scale = draw(st.sampled_from([0.0, 0.5]))
    return Functions.grid(*axes, scale=scale, lumped=draw(st.booleans()), dtype=dtype)


def spaces():
    """All of them, with products and duals."""
    leaves = plain_spaces() | weighted_spaces() | function_spaces()
    products = st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, min_size=1, max_size=3).map(Product)
            | st.dictionaries(st.sampled_from("abc"), inner, min_size=1).map(Product)
        ),
        max_leaves=4,
    )
    return products | products.map(lambda space: space.dual)
