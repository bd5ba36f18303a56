"""eigsh in all of its modes and with inverses given, and lobpcg with constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import adjoint as ad
from tests.scipy.comparing import agrees, agrees_in_all_modes
from tests.scipy.test_sparse_eigenpairs import mass, operator
from tests.scipy.test_sparse_eigenvalues import WEIGHTS, C, N, stiffness

RNG = np.random.default_rng(5)


def indefinite(c: Any) -> Any:
    return mass(c) @ sp.diags_array(np.where(np.arange(N) % 3, 1.0, -1.0)).tocsc()


def geometric(c: Any) -> Any:
    """Symmetric, and of both signs."""
    half = indefinite(c)
    return (half + half.T).tocsc()


def of_pairs(values: Any, vectors: Any) -> Any:
    return np.stack([np.sum(np.sin(values)), np.sum((WEIGHTS @ vectors) ** 2 * values)])


MASSES: dict[str, Any] = {"none": lambda c: None, "definite": mass, "indefinite": geometric}


@pytest.mark.parametrize("which", ["LM", "SM", "LA", "SA", "BE"])
@pytest.mark.parametrize("sigma", [1.3, -0.7])
@pytest.mark.parametrize(
    ("mode", "weight"),
    [
        *[("cayley", name) for name in ("none", "definite")],
        *[("buckling", name) for name in MASSES],
    ],
)
def test_modes(mode: str, weight: str, sigma: float, which: str) -> None:
    """Values, order, vectors and their lengths are SciPy's."""

    def pairs(c: Any) -> Any:
        given = {"M": MASSES[weight](c), "sigma": sigma, "mode": mode, "which": which}
        return of_pairs(*sla.eigsh(stiffness(c), 2, tol=1e-14, **given))

    agrees(pairs, C)


@pytest.mark.parametrize("mode", ["cayley", "buckling"])
def test_modes_in_all_orders(mode: str) -> None:
    def total(c: Any) -> Any:
        return np.sum(of_pairs(*sla.eigsh(stiffness(c), 2, M=mass(c), sigma=0.9, mode=mode)))

    agrees_in_all_modes(total, C, tolerance=1e-5)


@pytest.mark.parametrize(
    ("mode", "mirrored"),
    # The values that are as far up as 3: by |w - 2|, |w + 2| / |w - 2| and |w| / |w - 2|.
    [("normal", 1.0), ("cayley", 4 / 3), ("buckling", 1.5)],
)
def test_pairs_that_are_equally_far_up(mode: str, mirrored: float) -> None:
    def chosen(d: Any, k: int) -> Any:
        A = sp.diags_array(d).tocsc()
        return np.sum(sla.eigsh(A, k, M=sp.eye_array(6), sigma=2.0, mode=mode)[0])

    d = np.array([3.0, mirrored, 9.0, 10.0, 0.1, 12.0])
    with pytest.raises(ad.errors.DegenerateError, match="equally far"):
        ad.grad(chosen)(d, 1)
    np.testing.assert_allclose(ad.grad(chosen)(d, 2), [1, 1, 0, 0, 0, 0], atol=1e-9)
    np.testing.assert_allclose(ad.grad(chosen)(d - [1e-3, *[0] * 5], 1), [1, *[0] * 5], atol=1e-9)


def test_inverses_that_are_given() -> None:
    def inverse(matrix: Any) -> Any:
        return sla.splu(matrix).solve

    def of_mass(c: Any) -> Any:
        M = mass(c)
        return of_pairs(*sla.eigsh(stiffness(c), 2, M=M, Minv=operator(inverse(M), dtype=float)))

    def near(c: Any) -> Any:
        A = stiffness(c)
        shifted = (A - 0.8 * sp.eye_array(N)).tocsc()
        return of_pairs(
            *sla.eigsh(A, 2, sigma=0.8, OPinv=operator(inverse(shifted), dtype=float), tol=1e-14)
        )

    for function in (of_mass, near):
        agrees(function, C)


@pytest.mark.parametrize(
    "given",
    [
        {"OPinv": np.eye(N)},
        {"Minv": np.eye(N)},
        {"M": np.eye(N), "sigma": 1.0, "Minv": np.eye(N)},
        {"sigma": 1.0, "mode": "other"},
    ],
)
def test_what_does_not_go_together_is_scipys_error(given: Any) -> None:
    def first(c: Any) -> Any:
        return sla.eigsh(stiffness(c), 2, **given)[0][0]

    with pytest.raises(ValueError, match=r"should not be specified|unrecognized mode") as expected:
        first(C)
    with pytest.raises(ValueError) as found:  # whose text is compared below
        ad.grad(first)(C)
    assert str(found.value).startswith(str(expected.value))


@pytest.mark.parametrize(
    ("k", "given"),
    [
        (2, {"mode": "buckling", "sigma": 0.0}),
        (2, {"mode": "cayley", "sigma": 0.0}),
        (3, {"mode": "buckling", "sigma": 1.0, "which": "BE"}),
    ],
)
def test_choices_that_are_refused(k: int, given: Any) -> None:
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="mode='normal'"):
        ad.grad(lambda c: sla.eigsh(stiffness(c), k, **given)[0][0])(C)


# --- constraints ----------------------------------------------------------------------------------

CONSTRAINTS = RNG.standard_normal((N, 2))
START = RNG.standard_normal((N, 2))


def on_the_complement(A: Any, M: Any, Y: Any, largest: bool) -> Any:
    """By a dense basis of the vectors that are orthogonal to Y."""
    basis = np.linalg.qr(np.concatenate([M @ Y, np.eye(N)[:, 2:]], axis=1))[0][:, 2:]
    root = np.linalg.inv(np.linalg.cholesky(basis.T @ M @ basis))
    values, vectors = np.linalg.eigh(root @ basis.T @ A @ basis @ root.T)
    part = slice(-1, -3, -1) if largest else slice(0, 2)
    return of_pairs(values[part], (basis @ root.T @ vectors)[:, part])


@pytest.mark.parametrize("form", ["matrix", "operator"])
@pytest.mark.parametrize("has_mass", [False, True])
@pytest.mark.parametrize("largest", [False, True])
def test_constraints(largest: bool, has_mass: bool, form: str) -> None:
    def given(c: Any) -> Any:
        A, M = stiffness(c), mass(c) if has_mass else None
        A = A if form == "matrix" else operator(lambda x: stiffness(c) @ x)
        Y = CONSTRAINTS * c[:N, None]
        return of_pairs(*sla.lobpcg(A, START, B=M, Y=Y, largest=largest))

    def by_hand(c: Any) -> Any:
        M = mass(c).toarray() if has_mass else np.eye(N)
        return on_the_complement(stiffness(c).toarray(), M, CONSTRAINTS * c[:N, None], largest)

    value, slopes = ad.jvp(given, (C,), (np.cos(C),))
    expected, by_parts = ad.jvp(by_hand, (C,), (np.cos(C),))
    np.testing.assert_allclose(value, expected, rtol=1e-9)
    np.testing.assert_allclose(slopes, by_parts, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ad.jacobian(given)(C), ad.jacobian(by_hand)(C), rtol=1e-8, atol=1e-9)


def test_no_constraints_are_none() -> None:
    def first(c: Any, Y: Any) -> Any:
        return sla.lobpcg(stiffness(c), START, Y=Y)[0][0]

    np.testing.assert_allclose(
        ad.grad(first)(C, np.zeros((N, 0))), ad.grad(first)(C, None), rtol=1e-12
    )
