"""Functions of matrices where eigenvalues or singular values coincide: right, or refused by name.

The reference is the same function without eigenvectors: a polynomial of the matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.spaces import Symmetric

RNG = np.random.default_rng(11)
WEIGHTS = RNG.normal(size=(4, 4))
LEFT, RIGHT = RNG.normal(size=4), RNG.normal(size=4)


def orthogonal(size: int, dtype: Any) -> Any:
    drawn = RNG.normal(size=(size, size)).astype(dtype)
    if np.dtype(dtype).kind == "c":
        drawn = drawn + 1j * RNG.normal(size=(size, size))
    return np.linalg.qr(drawn)[0]


def hermitian(values: Any, dtype: Any = float) -> Any:
    q = orthogonal(len(values), dtype)
    found = (q * np.array(values)) @ q.conj().T
    return (found + found.conj().T) / 2


def direction(like: Any, symmetric: bool = True) -> Any:
    drawn = RNG.normal(size=like.shape).astype(like.dtype)
    if like.dtype.kind == "c":
        drawn = drawn + 1j * RNG.normal(size=like.shape)
    return drawn + drawn.conj().T if symmetric else drawn


MATRICES = {
    "identity": np.eye(3),
    "diagonal": np.diag([1.0, 1.0, 2.0]),
    "turned": hermitian([1.0, 1.0, 2.0]),
    "zeros": np.zeros((3, 3)),
    "of lower rank": hermitian([0.0, 0.0, 2.0]),
    "nearly": hermitian([1.0, 1.0 + 1e-7, 1.0 + 1e-11]),
    "simple": hermitian([-1.0, 0.5, 2.0]),
    "complex": hermitian([1.0, 1.0, 2.0], complex),
}


def weighed(m: Any) -> Any:
    return np.sum(WEIGHTS[: m.shape[0], : m.shape[1]] * m.real)


def of(a: Any, make: Callable[..., Any]) -> Any:
    w, v = np.linalg.eigh(a)
    return make(w, v, v.conj().T)


def cube(a: Any) -> Any:
    return a @ a @ a


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "columns scaled": (
        lambda a: weighed(of(a, lambda w, v, vh: (v * w**3) @ vh)),
        lambda a: weighed(cube(a)),
    ),
    "rows scaled": (
        lambda a: weighed(of(a, lambda w, v, vh: v @ (w[:, None] ** 3 * vh))),
        lambda a: weighed(cube(a)),
    ),
    "a diagonal matrix between": (
        lambda a: weighed(of(a, lambda w, v, vh: v @ np.diag(w**3) @ vh)),
        lambda a: weighed(cube(a)),
    ),
    "einsum": (
        lambda a: weighed(of(a, lambda w, v, vh: np.einsum("ik,k,kj->ij", v, w**3, vh))),
        lambda a: weighed(cube(a)),
    ),
    "reconstruction": (
        lambda a: np.sin(weighed(of(a, lambda w, v, vh: (v * w) @ vh))),
        lambda a: np.sin(weighed(a)),
    ),
    "applied to a vector": (
        lambda a: (LEFT[:3] @ of(a, lambda w, v, vh: v @ (w**3 * (vh @ RIGHT[:3])))).real,
        lambda a: (LEFT[:3] @ (cube(a) @ RIGHT[:3])).real,
    ),
    "weighted squares": (
        lambda a: of(a, lambda w, v, vh: np.sum(w**3 * np.abs(vh @ LEFT[:3]) ** 2)),
        lambda a: (LEFT[:3] @ (cube(a) @ LEFT[:3])).real,
    ),
    "sum of eigenvalues": (
        lambda a: np.sum(np.linalg.eigvalsh(a) ** 3),
        lambda a: np.trace(cube(a)).real,
    ),
    "determinant": (
        lambda a: of(a, lambda w, v, vh: np.sum((w + 2) ** 2)),
        lambda a: np.trace((a + 2 * np.eye(3)) @ (a + 2 * np.eye(3))).real,
    ),
    "another parameter": (
        lambda a: weighed(of(a, lambda w, v, vh: (v * (w**3 / np.sum(w + 3))) @ vh)),
        lambda a: weighed(cube(a)) / np.trace(a + 3 * np.eye(3)).real,
    ),
    "decomposed twice": (
        lambda a: weighed(of(a, lambda w, v, vh: (v * np.linalg.eigh(a)[0] ** 3) @ vh)),
        lambda a: weighed(cube(a)),
    ),
    "backwards": (
        lambda a: weighed(
            of(a, lambda w, v, vh: (v[:, ::-1] * w[::-1] ** 3) @ v[:, ::-1].conj().T)
        ),
        lambda a: weighed(cube(a)),
    ),
    "eigenvalues without vectors": (
        lambda a: weighed(of(a, lambda w, v, vh: (v * np.linalg.eigvalsh(a) ** 3) @ vh)),
        lambda a: weighed(cube(a)),
    ),
    "twice": (
        lambda a: weighed(
            of(of(a, lambda w, v, vh: (v * (w**2 + w)) @ vh), lambda w, v, vh: (v * w**2) @ vh)
        ),
        lambda a: weighed((a @ a + a) @ (a @ a + a)),
    ),
}


def lower(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of the lower triangle alone, as those of `eigh` are."""

    def g(a: Any) -> Any:
        below = np.tril(a, -1)
        return f(below + below.conj().T + np.diag(np.diagonal(a).real).astype(a.dtype))

    return g


def pairing(x: Any, y: Any) -> Any:
    return np.sum(x.real * y.real) + (np.sum(x.imag * y.imag) if x.dtype.kind == "c" else 0)


def second_orders(f: Callable[[Any], Any], a: Any, u: Any, v: Any) -> list[Any]:
    def slope(x: Any) -> Any:
        return ad.jvp(f, (x,), (u,))[1]

    return [
        ad.jvp(slope, (a,), (v,))[1],
        pairing(ad.hvp(f, a, v), u),
        pairing(ad.grad(slope)(a), v),
        pairing(ad.grad(lambda x: pairing(ad.grad(f)(x), u))(a), v),
    ]


@pytest.mark.parametrize("where", MATRICES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_a_matrix_have_the_derivatives_of_their_polynomials(
    name: str, where: str
) -> None:
    f, reference = FUNCTIONS[name]
    a = MATRICES[where]
    u, v = direction(a), direction(a)
    close = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(ad.grad(f)(a), ad.grad(lower(reference))(a), **close)
    np.testing.assert_allclose(ad.jvp(f, (a,), (u,))[1], ad.jvp(reference, (a,), (u,))[1], **close)
    expected = second_orders(reference, a, u, v)[0]
    np.testing.assert_allclose(second_orders(f, a, u, v), [expected] * 4, **close)


@pytest.mark.parametrize("where", ["turned", "complex", "simple"])
def test_taylor_mode_and_third_derivatives_at_equal_eigenvalues(where: str) -> None:
    f, reference = FUNCTIONS["columns scaled"]
    a = MATRICES[where]
    u, v = direction(a), direction(a)
    order = 5 if where == "simple" else 3
    found, expected = (ad.taylor(each, a, [u, v], order) for each in (f, reference))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_gradients_on_symmetric_matrices_stacks_and_batches() -> None:
    f, reference = FUNCTIONS["columns scaled"]
    a = MATRICES["turned"]
    space = Symmetric(3)
    expected = ad.grad(reference, space=space)(a)
    np.testing.assert_allclose(ad.grad(f, space=space)(a), expected, atol=1e-12)
    many = np.stack([a, MATRICES["identity"], MATRICES["simple"]])
    rows = ad.vmap(ad.grad(f))(many)
    np.testing.assert_allclose(rows[1], ad.grad(f)(many[1]), atol=1e-12)

    def stacked(x: Any) -> Any:
        w, v = np.linalg.eigh(x)
        return np.sum(WEIGHTS[:3, :3] * ((v * w[:, None, :] ** 3) @ np.swapaxes(v, -1, -2)))

    np.testing.assert_allclose(ad.grad(stacked)(many), rows, atol=1e-12)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(a), ad.grad(f)(a), atol=1e-12)
    with ad.config(native=True):
        np.testing.assert_allclose(ad.grad(f)(a), rows[0], atol=1e-12)


def test_a_projector_onto_whole_clusters_has_a_derivative_and_a_cut_one_none() -> None:
    a = hermitian([1.0, 1.0, 3.0])

    def projector(x: Any, count: int) -> Any:
        v = np.linalg.eigh(x)[1][:, :count]
        return weighed(v @ v.T)

    def polynomial(x: Any) -> Any:  # (3 - x) / 2 on the spectrum, and flat there
        y = (3 * np.eye(3) - x) / 2
        return weighed(3 * y @ y - 2 * y @ y @ y)

    u = direction(a)
    for f in (lambda x: projector(x, 2), polynomial):
        np.testing.assert_allclose(
            ad.jvp(f, (a,), (u,))[1], ad.jvp(polynomial, (a,), (u,))[1], atol=1e-12
        )
    np.testing.assert_allclose(
        ad.grad(lambda x: projector(x, 2))(a), ad.grad(lower(polynomial))(a), atol=1e-12
    )
    for run in (
        ad.grad(lambda x: projector(x, 1)),
        lambda x: ad.jvp(lambda y: projector(y, 1), (x,), (u,)),
    ):
        with pytest.raises(ad.errors.DegenerateError, match=r"Numbers 0 and 1 coincide"):
            run(a)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "an entry": lambda a: np.linalg.eigh(a)[1][0, 0].real,
    "a vector": lambda a: (LEFT[:3] @ np.linalg.eigh(a)[1][:, 1]).real,
    "fourth powers": lambda a: np.sum(np.abs(np.linalg.eigh(a)[1]) ** 4),
    "differently weighted": lambda a: weighed(
        of(a, lambda w, v, vh: (v * (w * np.arange(1.0, 4))) @ vh)
    ),
    "eigenvalues of what is equal": lambda a: weighed(
        of(a, lambda w, v, vh: (v * np.linalg.eigvalsh(a + 0.0)) @ vh)
    ),
    "eigenvalues as quotients": lambda a: weighed(
        of(a, lambda w, v, vh: (v * np.diagonal(vh @ a @ v)) @ vh)
    ),
    "vectors of two decompositions": lambda a: weighed(
        of(a, lambda w, v, vh: (v * w) @ np.linalg.eigh(a + 0.0)[1].conj().T)
    ),
    "eigenvalues one by one": lambda a: weighed(
        of(a, lambda w, v, vh: (v * np.stack([w[0] ** 2, w[1] ** 2, w[2] ** 2])) @ vh)
    ),
    "eigenvalues put in places": lambda a: weighed(
        of(a, lambda w, v, vh: (v * sum(np.eye(3)[k] * w[k] for k in range(3))) @ vh)
    ),
    "eigenvalues in another order": lambda a: weighed(of(a, lambda w, v, vh: (v * w[::-1]) @ vh)),
}


@pytest.mark.parametrize("where", ["diagonal", "turned", "of lower rank", "complex"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_depends_on_the_basis_is_refused_by_the_numbers_of_the_pair(
    name: str, where: str
) -> None:
    f, a = REFUSED[name], MATRICES[where]
    for run in (ad.grad(f), lambda x: ad.jvp(f, (x,), (direction(x),))):
        with pytest.raises(ad.errors.DegenerateError, match=r"coincide"):
            run(a)


def test_what_depends_on_the_phase_of_complex_vectors_is_refused() -> None:
    a = hermitian([1.0, 2.0, 4.0], complex)
    with pytest.raises(ad.errors.DegenerateError, match="free phase"):
        ad.grad(lambda x: np.sum(np.linalg.eigh(x)[1].real))(a)
    with pytest.raises(ad.errors.DegenerateError, match="free phase"):
        ad.grad(lambda x: np.sum(np.linalg.svd(x)[0].real))(a)
    f = ad.grad(lambda x: np.sum(np.abs(np.linalg.eigh(x)[1]) ** 4))
    assert np.isfinite(f(a)).all()


def test_vectors_outside_the_cluster_can_be_used() -> None:
    a = hermitian([1.0, 1.0, 3.0])

    def f(x: Any) -> Any:
        w, v = np.linalg.eigh(x)
        return w[2] * (LEFT[:3] @ v[:, 2]) ** 2

    u, step = direction(a), 1e-5
    slope = (f(a + step * u) - f(a - step * u)) / (2 * step)
    np.testing.assert_allclose(ad.jvp(f, (a,), (u,))[1], slope, rtol=1e-8)
    np.testing.assert_allclose(np.sum(ad.grad(f)(a) * u), slope, rtol=1e-8)


PICKED: dict[str, Callable[[Any, Any], Any]] = {
    "a column": lambda w, v: v[:, np.argmax(w)],
    "of a transpose": lambda w, v: v.T[np.argmax(w)],
    "in another order": lambda w, v: v[[2, 0, 1], np.argmax(w)],
    "the first of sorted ones": lambda w, v: v[:, np.argsort(w)[::-1]][:, 0],
}


@pytest.mark.parametrize("name", PICKED)
def test_a_vector_outside_the_cluster_can_be_picked_by_a_computed_number(name: str) -> None:
    a, pick = hermitian([1.0, 1.0, 3.0]), PICKED[name]

    def f(x: Any) -> Any:
        return (LEFT[:3] @ pick(*np.linalg.eigh(x))) ** 2

    u, step = direction(a), 1e-5
    slope = (f(a + step * u) - f(a - step * u)) / (2 * step)
    for compiled in (lambda g: g, ad.jit):
        np.testing.assert_allclose(
            compiled(lambda x: ad.jvp(f, (x,), (u,))[1])(a), slope, rtol=1e-7
        )
        np.testing.assert_allclose(np.sum(compiled(ad.grad(f))(a) * u), slope, rtol=1e-7)
    several = ad.vmap(ad.grad(f))(np.stack([a, a + 0.1 * np.diag([1.0, 2.0, 3.0])]))
    np.testing.assert_allclose(several[0], ad.grad(f)(a), rtol=1e-7, atol=1e-12)


def test_a_vector_of_the_cluster_picked_by_a_computed_number_has_no_slope() -> None:
    a = hermitian([1.0, 1.0, 3.0])

    def f(x: Any) -> Any:
        w, v = np.linalg.eigh(x)
        return (LEFT[:3] @ v[:, np.argmin(w)]) ** 2

    assert np.isnan(ad.grad(f)(a)[np.tril_indices(3)]).all()
    assert np.isnan(ad.jvp(f, (a,), (direction(a),))[1])


def test_one_eigenvalue_of_a_cluster_moves_as_their_mean() -> None:
    a = hermitian([1.0, 1.0, 3.0])
    gradients = [
        ad.grad(lambda x, n=n: np.linalg.eigvalsh(x)[n], space=Symmetric(3))(a) for n in (0, 1)
    ]
    np.testing.assert_allclose(gradients[0], gradients[1], atol=1e-14)
    v = np.linalg.eigh(a)[1]
    np.testing.assert_allclose(gradients[0], v[:, :2] @ v[:, :2].T / 2, atol=1e-14)


# --- singular values ------------------------------------------------------------------------------


def rectangular(rows: int, columns: int, sizes: Any, dtype: Any = float) -> Any:
    u, v = orthogonal(rows, dtype), orthogonal(columns, dtype)
    count = len(sizes)
    return (u[:, :count] * np.array(sizes)) @ v[:, :count].conj().T


RECTANGLES = {
    "repeated": rectangular(3, 3, [2.0, 1.0, 1.0]),
    "tall": rectangular(4, 3, [1.0, 1.0, 1.0]),
    "wide, of lower rank": rectangular(3, 4, [2.0, 1.0, 0.0]),
    "zeros": np.zeros((3, 2)),
    "of rank one": rectangular(4, 3, [2.0, 0.0, 0.0]),
    "complex": rectangular(3, 4, [1.0, 1.0, 0.0], complex),
    "simple": rectangular(4, 3, [3.0, 2.0, 1.0]),
}


def gram(a: Any) -> Any:
    return a.conj().T @ a


def by_svd(a: Any, make: Callable[..., Any]) -> Any:
    return make(*np.linalg.svd(a, full_matrices=False))


OF_RECTANGLES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "reconstruction": (
        lambda a: np.sin(weighed(by_svd(a, lambda u, s, vh: (u * s) @ vh))),
        lambda a: np.sin(weighed(a)),
    ),
    "an odd function": (
        lambda a: weighed(by_svd(a, lambda u, s, vh: u @ np.diag(s**3) @ vh)),
        lambda a: weighed(a @ gram(a)),
    ),
    "of full matrices": (
        lambda a: weighed(
            (lambda u, s, vh: (u[:, : len(s)] * s**3) @ vh[: len(s)])(*np.linalg.svd(a))
        ),
        lambda a: weighed(a @ gram(a)),
    ),
    "of the left": (
        lambda a: weighed(by_svd(a, lambda u, s, vh: (u * s**2) @ u.conj().T)),
        lambda a: weighed(a @ a.conj().T),
    ),
    "of the right": (
        lambda a: weighed(by_svd(a, lambda u, s, vh: (vh.conj().T * s**4) @ vh)),
        lambda a: weighed(gram(a) @ gram(a)),
    ),
    "applied": (
        lambda a: by_svd(
            a, lambda u, s, vh: (LEFT[: len(u)] @ (u @ (s**3 * (vh @ RIGHT[: vh.shape[1]])))).real
        ),
        lambda a: (LEFT[: a.shape[0]] @ (a @ (gram(a) @ RIGHT[: a.shape[1]]))).real,
    ),
    "sum of squares": (
        lambda a: np.sum(np.linalg.svdvals(a) ** 2),
        lambda a: np.trace(gram(a)).real,
    ),
    "sum of fourth powers": (
        lambda a: np.sum(np.linalg.svd(a)[1] ** 4),
        lambda a: np.trace(gram(a) @ gram(a)).real,
    ),
}


@pytest.mark.parametrize("where", RECTANGLES)
@pytest.mark.parametrize("name", OF_RECTANGLES)
def test_functions_of_singular_values_have_the_derivatives_of_their_polynomials(
    name: str, where: str
) -> None:
    f, reference = OF_RECTANGLES[name]
    a = RECTANGLES[where]
    u, v = direction(a, False), direction(a, False)
    close = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(ad.grad(f)(a), ad.grad(reference)(a), **close)
    expected = second_orders(reference, a, u, v)[0]
    np.testing.assert_allclose(second_orders(f, a, u, v), [expected] * 4, **close)


def test_the_nuclear_norm_has_the_kink_rule_at_zero_singular_values() -> None:
    a = RECTANGLES["wide, of lower rank"]
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    gradient = ad.grad(lambda x: np.linalg.norm(x, "nuc"))
    np.testing.assert_allclose(gradient(a), u[:, :2] @ vh[:2], atol=1e-12)
    with ad.config(kink=1.0):
        np.testing.assert_allclose(gradient(a), u @ vh, atol=1e-12)
    np.testing.assert_array_equal(gradient(np.zeros((2, 2))), np.zeros((2, 2)))
    with pytest.raises(ad.errors.DegenerateError):  # there is no second derivative
        ad.hvp(lambda x: np.linalg.norm(x, "nuc"), a, direction(a, False))


@pytest.mark.parametrize("where", ["repeated", "tall", "of rank one"])
def test_singular_vectors_of_a_cluster_are_refused(where: str) -> None:
    a = RECTANGLES[where]
    for f in (lambda x: np.linalg.svd(x)[0][0, 0], lambda x: np.linalg.svd(x)[2][1, 1]):
        for run in (ad.grad(f), lambda x, f=f: ad.jvp(f, (x,), (direction(x, False),))):
            with pytest.raises(ad.errors.DegenerateError, match=r"coincide|is zero|complete"):
                run(a)


def test_the_polar_factor_is_refused_where_a_singular_value_is_zero() -> None:
    def f(x: Any) -> Any:
        return weighed(by_svd(x, lambda u, s, vh: u @ vh))

    with pytest.raises(ad.errors.DegenerateError, match="differently"):
        ad.grad(f)(RECTANGLES["wide, of lower rank"])
    a = RECTANGLES["repeated"]
    u, step = direction(a, False), 1e-5
    slope = (f(a + step * u) - f(a - step * u)) / (2 * step)
    np.testing.assert_allclose(np.sum(ad.grad(f)(a) * u), slope, rtol=1e-7)


# --- squares of roots -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.linalg.norm(x) ** 2,
        lambda x: np.linalg.norm(x) * np.linalg.norm(x),
        lambda x: np.square(np.linalg.norm(x)),
        lambda x: np.sqrt(np.sum(x * x)) ** 2,
        lambda x: np.sum(np.linalg.norm(x[None], axis=1) ** 2),
    ],
)
def test_the_square_of_a_norm_has_its_hessian_at_zero(f: Callable[[Any], Any]) -> None:
    for x in (np.zeros(2), np.array([3.0, 4.0])):
        np.testing.assert_allclose(ad.grad(f)(x), 2 * x)
        np.testing.assert_allclose(ad.hessian(f)(x), 2 * np.eye(2), atol=1e-15)


def test_a_norm_is_flat_at_zero_its_even_powers_are_smooth_and_it_has_no_hessian() -> None:
    zero = np.zeros(2)
    np.testing.assert_array_equal(ad.grad(np.linalg.norm)(zero), zero)
    for power, expected in ((2, 2 * np.eye(2)), (4, np.zeros((2, 2)))):
        hessian = ad.hessian(lambda x, power=power: np.linalg.norm(x) ** power)(zero)
        np.testing.assert_array_equal(hessian, expected)
    assert np.isnan(ad.hessian(np.linalg.norm)(zero)).all()


def test_values_are_what_they_are_to_the_last_bit() -> None:
    f = FUNCTIONS["columns scaled"][0]
    with ad.config(native=False):
        for a in MATRICES.values():
            assert ad.value_and_grad(f)(a)[0] == ad.jit(f)(a) == ad.jvp(f, (a,), (a,))[0]


def test_a_fourth_derivative_by_nesting_is_refused() -> None:
    def slope(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: ad.jvp(f, (x,), (np.eye(3),))[1]

    f, reference = FUNCTIONS["columns scaled"]
    a = MATRICES["turned"]
    thrice, expected = slope(slope(slope(f))), slope(slope(slope(reference)))
    np.testing.assert_allclose(thrice(a), expected(a), rtol=1e-10)
    with pytest.raises(ad.errors.MissingRuleError, match="up to order 3"):
        slope(thrice)(a)


@pytest.mark.parametrize("ahead", [True, False])
def test_singular_values_that_are_taken_again_later(ahead: bool) -> None:
    a = np.array([[2.0, 0.3, 0.5], [0.1, 1.5, -0.2], [0.4, 0.2, 1.1]])

    def f(x: Any) -> Any:
        sums = [lambda: np.linalg.svd(x)[1].sum(), lambda: np.linalg.norm(x, "nuc")]
        return sum(each() for each in (sums if ahead else sums[::-1]))

    def slope(x: Any) -> Any:
        return ad.jvp(f, (x,), (np.eye(3),))[1]

    along = np.eye(3)[::-1]
    found = ad.jvp(slope, (a,), (along,))[1]
    step = 1e-5
    wanted = (slope(a + step * along) - slope(a - step * along)) / (2 * step)
    assert found == pytest.approx(wanted, rel=1e-7)
