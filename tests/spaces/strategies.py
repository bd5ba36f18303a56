"""Random spaces, for hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from adjoint.spaces import Euclidean, Product, Skew, Symmetric, Weighted

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
    return draw(st.sampled_from([Symmetric, Skew]))(draw(st.integers(1, 4)), dtype)


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


def spaces():
    """All of them, with products and duals."""
    leaves = plain_spaces() | weighted_spaces()
    products = st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, min_size=1, max_size=3).map(Product)
            | st.dictionaries(st.sampled_from("abc"), inner, min_size=1).map(Product)
        ),
        max_leaves=4,
    )
    return products | products.map(lambda space: space.dual)
