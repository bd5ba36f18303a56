"""Tensors of type (m, p): index structure, contraction, change of basis (section 1.4.3)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    MembershipError,
    SpaceMismatchError,
)
from adjoint.maps import from_matrix
from adjoint.spaces import Euclidean, Weighted
from adjoint.tensors import (
    InBasis,
    Tensor,
    TensorProduct,
    from_covector,
    from_map,
    from_vector,
    identity,
    inner_product,
    inverse_inner_product,
    joined,
    split,
)
from tests.spaces.strategies import positive_matrix

X, Y = Euclidean(3), Euclidean(2)
SEEDS = st.integers(0, 2**16)


def basis_change(n, generator):
    """A random, well-conditioned change of basis."""
    return generator.standard_normal((n, n)) / (4 * n) + np.diag(generator.uniform(0.5, 2, n))


def random_tensor(outputs, inputs, generator, batch=()):
    shape = [space.dimension for space in (*outputs, *inputs)]
    return Tensor(generator.standard_normal((*batch, *shape)), outputs, inputs, len(batch))


# --- Table T.1.2 ----------------------------------------------------------------------------------

MATRICES = TensorProduct(X, Y)
ROWS = {
    "linear functional on vectors": (
        from_covector(X.covector(np.arange(3.0))),
        "i ->",
        (1, 0),
        1,
    ),
    "coordinate projection (dual basis)": (from_vector(np.arange(3.0), X), "-> i", (0, 1), 1),
    "linear map between vectors": (
        from_map(from_matrix(np.ones((2, 3)), X, Y)),
        "i -> j",
        (1, 1),
        2,
    ),
    "inner product on vectors": (inner_product(X), "i j ->", (2, 0), 2),
    "linear functional on matrices": (
        split(from_covector(MATRICES.covector(np.arange(6.0).reshape(3, 2)))),
        "i j ->",
        (2, 0),
        2,
    ),
    "inner product on matrices": (split(inner_product(MATRICES)), "i j k l ->", (4, 0), 4),
}


@pytest.mark.parametrize("row", ROWS)
def test_the_rows_of_table_t_1_2(row):
    tensor, pattern, type_, order = ROWS[row]
    assert (tensor.pattern, tensor.type, tensor.order) == (pattern, type_, order)


def test_the_objects_of_table_t_1_2_are_what_they_stand_for():
    """The index formulas of section 1.4.3: sums over the components."""
    generator = np.random.default_rng(0)
    x, y = generator.standard_normal((2, 3))
    v, W = generator.standard_normal(3), generator.standard_normal((3, 3))
    A = generator.standard_normal((2, 3))
    np.testing.assert_allclose(Tensor(v, inputs=(X,))(x), v @ x)
    np.testing.assert_allclose(Tensor(A, (Y,), (X,))(x), A @ x)
    np.testing.assert_allclose(Tensor(W, inputs=(X, X))(x, y), x @ W @ y)
    Z, Z2 = generator.standard_normal((2, 3, 2))
    functional = split(Tensor(np.ravel(Z2), inputs=(MATRICES,)))
    np.testing.assert_allclose(np.sum(functional.components * Z), np.sum(Z * Z2))
    four = split(inner_product(MATRICES)).components  # W_ijkl A_ij B_kl
    np.testing.assert_allclose(np.einsum("ijkl,ij,kl", four, Z, Z2), np.trace(Z.T @ Z2))


def test_vectors_are_functions_of_the_index():
    """Case (2): the o-th output is the o-th coordinate, which the dual basis projects out."""
    tensor = from_vector(np.array([5.0, 6.0, 7.0]), X)
    for index, covector in enumerate(X.dual.basis()):
        assert tensor.evaluate([covector]) == 5.0 + index


# --- evaluation -----------------------------------------------------------------------------------


def test_evaluation_on_vectors_and_covectors():
    generator = np.random.default_rng(1)
    T = random_tensor((X, Y), (Y, X, X), generator)
    u, v, w = Y.random(1), X.random(2), X.random(3)
    a, b = X.covector(X.random(4)), Y.covector(Y.random(5))
    partial = T(u, v, w)
    assert partial.type == (0, 2)
    np.testing.assert_allclose(
        partial.components, np.einsum("abijk,i,j,k->ab", T.components, u, v, w)
    )
    value = T.evaluate([a, b], [u, v, w])
    np.testing.assert_allclose(value, a.components @ partial.components @ b.components)
    with pytest.raises(ArgumentError, match="takes 3 vectors"):
        T(u, v)
    with pytest.raises(ArgumentError, match="takes 2 covectors"):
        T.evaluate([a], [u, v, w])
    with pytest.raises(MembershipError):
        T(v, v, w)
    with pytest.raises(SpaceMismatchError):
        T.evaluate([X.random(4), b], [u, v, w])


def test_a_scalar_is_a_tensor_of_type_0_0():
    scalar = Tensor(2.0)
    assert scalar.type == (0, 0)
    assert scalar() == 2.0
    assert scalar.pattern == "->"


def test_elements_of_other_spaces_are_taken_by_their_coordinates():
    symmetric = ad.spaces.Symmetric(2)
    T = inner_product(symmetric)
    A, B = symmetric.random(0), symmetric.random(1)
    np.testing.assert_allclose(T(A, B), np.trace(A @ B))
    complex_space = Euclidean(2, complex)
    z = complex_space.random(0)
    np.testing.assert_allclose(inner_product(complex_space)(z, z), np.linalg.norm(z) ** 2)


# --- the vector space, products and contractions --------------------------------------------------


def test_sums_and_factors():
    generator = np.random.default_rng(2)
    S, T = (random_tensor((X,), (X, Y), generator) for _ in range(2))
    np.testing.assert_allclose((S + T).components, S.components + T.components)
    np.testing.assert_allclose((2 * S - T / 4).components, 2 * S.components - T.components / 4)
    np.testing.assert_allclose((np.float64(2.0) * -S).components, -2 * S.components)
    with pytest.raises(SpaceMismatchError, match="one type over the same spaces"):
        S + random_tensor((Y,), (X, X), generator)
    with pytest.raises(SpaceMismatchError):
        S + S.change_of_basis({X: 2 * np.eye(3)})
    with pytest.raises(SpaceMismatchError):
        S - 1.0
    with pytest.raises(ArgumentTypeError, match="real scalar factors"):
        S * T
    with pytest.raises(ArgumentTypeError):
        S / np.ones(3)


def test_the_tensor_product_multiplies_values():
    generator = np.random.default_rng(3)
    S, T = random_tensor((Y,), (X,), generator), random_tensor((X,), (Y, Y), generator)
    joint = S.product(T)
    assert joint.outputs == (Y, X)
    assert joint.inputs == (X, Y, Y)
    x, u, v = X.random(1), Y.random(2), Y.random(3)
    np.testing.assert_allclose(joint(x, u, v).components, np.outer(S(x), T(u, v)))
    with pytest.raises(ArgumentTypeError, match="takes another tensor"):
        S.product(np.ones(3))


def test_composition_contracts_all_inputs_with_all_outputs():
    generator = np.random.default_rng(4)
    A, B = random_tensor((Y,), (X,), generator), random_tensor((X,), (Y,), generator)
    np.testing.assert_allclose((A @ B).components, A.components @ B.components)
    u = np.ones(2)
    np.testing.assert_allclose((A @ B @ from_vector(u))(), A.components @ B.components @ u)
    w = random_tensor((), (Y,), generator)
    assert (w @ A).type == (1, 0)
    x = X.random(0)
    np.testing.assert_allclose(w @ A @ from_vector(x), w.components @ A.components @ x)
    with pytest.raises(SpaceMismatchError, match="contracts all inputs"):
        A @ A
    with pytest.raises(TypeError):
        A @ np.ones(3)


def test_traces():
    generator = np.random.default_rng(5)
    A = random_tensor((X,), (X,), generator)
    np.testing.assert_allclose(A.trace(), np.trace(A.components))
    T = random_tensor((Y, X), (X, Y), generator)
    np.testing.assert_allclose(T.trace(0, 1).components, np.einsum("yxay->xa", T.components))
    np.testing.assert_allclose(T.trace(-1, 0).components, np.einsum("yxxb->yb", T.components))
    with pytest.raises(SpaceMismatchError, match="over one space"):
        T.trace(0, 0)
    with pytest.raises(ArgumentError, match="output index 5"):
        T.trace(5, 0)
    assert identity(X).trace() == 3


def test_indices_of_equal_variance_change_places():
    generator = np.random.default_rng(6)
    T = random_tensor((X, Y), (Y, X, X), generator)
    moved = T.permuted(outputs=(1, 0), inputs=(2, 0, 1))
    assert moved.outputs == (Y, X)
    assert moved.inputs == (X, Y, X)
    u, v, w = Y.random(1), X.random(2), X.random(3)
    np.testing.assert_allclose(moved(w, u, v).components, T(u, v, w).components.T)
    with pytest.raises(ArgumentError, match="each number from 0 to 1 once"):
        T.permuted(outputs=(0, 0))


def test_symmetrised_and_antisymmetrised():
    generator = np.random.default_rng(7)
    T = random_tensor((Y,), (X, X, X), generator)
    u, v, w = X.random(1), X.random(2), X.random(3)
    S, A = T.symmetrised(), T.antisymmetrised()
    np.testing.assert_allclose(S(u, v, w), S(w, u, v))
    np.testing.assert_allclose(S(u, u, u), T(u, u, u))
    np.testing.assert_allclose(A(u, v, w), -A(v, u, w))
    np.testing.assert_allclose(A(u, v, w), A(v, w, u))
    np.testing.assert_allclose(A.symmetrised().components, np.zeros((2, 3, 3, 3)), atol=1e-15)
    volume = random_tensor((), (X, X, X), generator).antisymmetrised()
    frame = np.stack([u, v, w])
    np.testing.assert_allclose(
        volume(u, v, w), volume(*np.eye(3)) * np.linalg.det(frame), rtol=1e-12
    )
    pair = random_tensor((X, X), (), generator)
    np.testing.assert_allclose(
        pair.symmetrised().components, (pair.components + pair.components.T) / 2
    )
    with pytest.raises(SpaceMismatchError, match="one space change places"):
        random_tensor((), (X, Y), generator).symmetrised()


# --- raising and lowering -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "space", [Weighted(Euclidean(3), positive_matrix(3, 0)), InBasis(X, np.triu(np.ones((3, 3))))]
)
def test_musical_isomorphisms(space):
    """A vector is lowered to <x, .>, a covector raised to its gradient (E.1.30, E.1.37)."""
    x, u = space.random(0), space.random(1)
    np.testing.assert_allclose(from_vector(x, space).lowered()(u), space.inner(x, u))
    covector = space.covector(space.random(2))
    np.testing.assert_allclose(from_covector(covector).raised()(), space.represent(covector))
    T = random_tensor((space, space), (space,), np.random.default_rng(8))
    np.testing.assert_allclose(T.lowered().raised().components, T.components)
    np.testing.assert_allclose(T.raised().lowered().components, T.components)
    assert T.lowered(0).type == (2, 1)
    W = inner_product(space)
    np.testing.assert_allclose(W.raised().components, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(
        W.raised().raised().components, inverse_inner_product(space).components, atol=1e-12
    )


def test_a_lowered_map_is_a_bilinear_form():
    """<v, A u>, and the adjoint of A by lowering, swapping and raising (E.1.52)."""
    space = Weighted(Euclidean(3), positive_matrix(3, 1))
    A = from_matrix(np.random.default_rng(9).standard_normal((3, 3)), space, space)
    form = from_map(A).lowered()
    u, v = space.random(0), space.random(1)
    np.testing.assert_allclose(form(v, u), space.inner(v, A(u)))
    adjoint = form.permuted(inputs=(1, 0)).raised()
    np.testing.assert_allclose(adjoint.components, A.H.matrix())


# --- change of basis ------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_change_of_basis_of_the_chapters_examples(seed):
    """(E.1.80): vectors C^-1 u, covectors C'v, maps C^-1 A C, inner products C'WC."""
    generator = np.random.default_rng(seed)
    space = Weighted(X, positive_matrix(3, seed))
    C = basis_change(3, generator)
    inverse = np.linalg.inv(C)
    u, v, A = generator.standard_normal(3), generator.standard_normal(3), generator.random((3, 3))
    changed = from_vector(u, space).change_of_basis(C)
    np.testing.assert_allclose(changed.components, inverse @ u)
    changed = Tensor(v, inputs=(space,)).change_of_basis(C)
    np.testing.assert_allclose(changed.components, C.T @ v)
    changed = Tensor(A, (space,), (space,)).change_of_basis(C)
    np.testing.assert_allclose(changed.components, inverse @ A @ C)
    changed = inner_product(space).change_of_basis(C)
    np.testing.assert_allclose(changed.components, C.T @ space.gram() @ C)
    np.testing.assert_allclose(changed.components, InBasis(space, C).gram())
    changed = inverse_inner_product(space).change_of_basis(C)
    np.testing.assert_allclose(
        changed.components, inverse @ np.linalg.inv(space.gram()) @ inverse.T
    )


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.integers(0, 3), st.integers(0, 2))
def test_each_output_takes_c_inverse_and_each_input_c(seed, m, p):
    """A generic (m, p) tensor, over two spaces with matrices of their own (E.1.80)."""
    generator = np.random.default_rng(seed)
    outputs = [(X, Y)[number] for number in generator.integers(0, 2, p)]
    inputs = [(X, Y)[number] for number in generator.integers(0, 2, m)]
    T = random_tensor(outputs, inputs, generator)
    change = {X: basis_change(3, generator), Y: basis_change(2, generator)}
    used = {space: change[space] for space in change if space in (*outputs, *inputs)}
    names = "abcdef"
    terms, out, operands = names[: m + p], [], []
    for number, space in enumerate((*outputs, *inputs)):
        matrix = np.linalg.inv(change[space]).T if number < p else change[space]
        operands.append(matrix)
        terms += f",{names[number]}{names[number].upper()}"
        out.append(names[number].upper())
    expected = np.einsum(f"{terms}->{''.join(out)}", T.components, *operands)
    changed = T.change_of_basis(used)
    np.testing.assert_allclose(changed.components, expected, rtol=1e-10, atol=1e-12)
    back = changed.in_own_bases()
    assert (back.outputs, back.inputs) == (T.outputs, T.inputs)
    np.testing.assert_allclose(back.components, T.components, rtol=1e-10, atol=1e-12)
    # The values do not change: the same vectors and covectors give the same number.
    vectors = [space.random(seed) for space in inputs]
    covectors = [space.riesz(space.random(seed)) for space in outputs]
    np.testing.assert_allclose(
        changed.evaluate(covectors, vectors), T.evaluate(covectors, vectors), rtol=1e-9, atol=1e-12
    )
    moved = [InBasis(space, used[space]).riesz(space.random(seed)) for space in outputs]
    np.testing.assert_allclose(
        changed.evaluate(moved, vectors), changed.evaluate(covectors, vectors), rtol=1e-9
    )


def test_changes_of_basis_compose():
    """First C and then D is C D (E.1.80)."""
    generator = np.random.default_rng(10)
    C, D = basis_change(3, generator), basis_change(3, generator)
    T = random_tensor((X,), (X, X), generator)
    one, other = T.change_of_basis(C).change_of_basis(D), T.change_of_basis(C @ D)
    assert one.inputs == other.inputs
    np.testing.assert_allclose(one.components, other.components, rtol=1e-12)
    back = T.change_of_basis(C).change_of_basis(np.linalg.inv(C))
    np.testing.assert_allclose(back.components, T.components, rtol=1e-12)


def test_full_contractions_do_not_change():
    generator = np.random.default_rng(11)
    C = basis_change(3, generator)
    A, W = random_tensor((X,), (X,), generator), inner_product(X)
    np.testing.assert_allclose(A.change_of_basis(C).trace(), A.trace())
    full = (A @ A).lowered().raised().trace()
    changed = (A.change_of_basis(C) @ A.change_of_basis(C)).lowered().raised().trace()
    np.testing.assert_allclose(changed, full)
    trace = ad.tensors.contract("i j ->; -> i j", W, inverse_inner_product(X))
    changed = ad.tensors.contract(
        "i j ->; -> i j", W.change_of_basis(C), inverse_inner_product(X).change_of_basis(C)
    )
    np.testing.assert_allclose([trace, changed], [3, 3])
    with pytest.raises(AssertionError):  # a bilinear form is no map: its trace does change
        np.testing.assert_allclose(np.trace(W.change_of_basis(C).components), 3)


def test_orthogonal_changes_do_not_tell_upper_from_lower():
    """C^-1 = C', so rows and columns, maps and inner products, transform alike."""
    generator = np.random.default_rng(12)
    C, _ = np.linalg.qr(generator.standard_normal((3, 3)))
    array = generator.standard_normal((3, 3))
    as_map = Tensor(array, (X,), (X,)).change_of_basis(C)
    as_form = Tensor(array, inputs=(X, X)).change_of_basis(C)
    np.testing.assert_allclose(as_map.components, as_form.components, atol=1e-14)
    oblique = np.triu(np.ones((3, 3)))
    as_map = Tensor(array, (X,), (X,)).change_of_basis(oblique)
    as_form = Tensor(array, inputs=(X, X)).change_of_basis(oblique)
    assert np.max(np.abs(as_map.components - as_form.components)) > 0.1


def test_a_batch_of_row_vectors_has_one_index():
    """A mini-batch X transforms as X C^-T: its first axis is no index."""
    generator = np.random.default_rng(13)
    C, rows = basis_change(3, generator), generator.standard_normal((5, 3))
    batch = Tensor(rows, outputs=(X,), batch=1)
    assert batch.type == (0, 1)
    changed = batch.change_of_basis(C)
    np.testing.assert_allclose(changed.components, rows @ np.linalg.inv(C).T)
    for row, vector in zip(rows, changed.components, strict=True):
        np.testing.assert_allclose(from_vector(row).change_of_basis(C).components, vector)
    covectors = Tensor(rows, inputs=(X,), batch=1).change_of_basis(C)
    np.testing.assert_allclose(covectors.components, rows @ C)
    u = X.random(0)
    np.testing.assert_allclose(Tensor(rows, inputs=(X,), batch=1)(u), rows @ u)
    maps = random_tensor((Y,), (X,), generator, batch=(4, 5))
    np.testing.assert_allclose(maps(u).components, maps.components @ u)
    np.testing.assert_allclose(maps.lowered().raised().components, maps.components)
    assert random_tensor((X,), (X,), generator, batch=(4,)).trace().components.shape == (4,)
    with pytest.raises(ArgumentError, match="takes single tensors"):
        batch.product(batch)
    with pytest.raises(ArgumentError, match="takes single tensors"):
        batch @ batch


def test_vmap_takes_batches_apart_and_makes_them():
    generator = np.random.default_rng(14)
    C, rows = basis_change(3, generator), generator.standard_normal((3, 3))
    maps = random_tensor((X,), (X,), generator, batch=(3,))
    squares = ad.vmap(lambda A: A @ A)(maps)
    assert (squares.type, squares.batch) == ((1, 1), 1)
    np.testing.assert_allclose(squares.components, maps.components @ maps.components)
    vectors = ad.vmap(lambda x: from_vector(x, X))(rows)  # as many vectors as dimensions
    assert vectors.batch == 1
    np.testing.assert_allclose(
        vectors.change_of_basis(C).components, rows @ np.linalg.inv(C).T, atol=1e-12
    )
    with pytest.raises(ArgumentError, match="has components of shape"):
        ad.vmap(lambda A: A.lowered())(random_tensor((X,), (X,), generator))


# --- derivatives are tensors ----------------------------------------------------------------------


def wave(x):
    return np.array([np.sin(x[0] * x[1]) + x[2] ** 3, np.exp(x[0] - x[2]) * x[1]])


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_are_tensors_of_type_k_p(order):
    """The k-th derivative at a point, under linear changes of basis on both sides (E.1.80)."""
    generator = np.random.default_rng(order)
    C, D = basis_change(3, generator), basis_change(2, generator)
    x = generator.standard_normal(3)

    def nested(function):
        for _ in range(order):
            function = ad.jacobian(function)
        return function

    T = Tensor(nested(wave)(x), (Y,), (X,) * order)
    assert T.type == (order, 1)
    inverse = np.linalg.inv(D)
    in_new_bases = nested(lambda z: inverse @ wave(C @ z))(np.linalg.solve(C, x))
    changed = T.change_of_basis({X: C, Y: D})
    np.testing.assert_allclose(changed.components, in_new_bases, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(T.symmetrised().components, T.components, rtol=1e-9, atol=1e-12)
    real = Tensor(nested(lambda x: wave(x)[0])(x), inputs=(X,) * order)
    np.testing.assert_allclose(
        real.change_of_basis(C).components,
        nested(lambda z: wave(C @ z)[0])(np.linalg.solve(C, x)),
        rtol=1e-9,
        atol=1e-11,
    )


def test_taylors_polynomial_from_derivative_tensors():
    x, u = np.array([0.3, 0.4, 0.5]), np.array([0.01, -0.02, 0.005])
    total, function = wave(x), wave
    for order in range(1, 5):
        function = ad.jacobian(function)
        T = Tensor(function(x), (Y,), (X,) * order)
        total = total + T(*[u] * order) / math.factorial(order)
    np.testing.assert_allclose(total, wave(x + u), rtol=1e-9)


# --- under capture --------------------------------------------------------------------------------


def test_tensors_are_differentiated():
    T = random_tensor((), (X, X), np.random.default_rng(14))
    x = X.random(0)
    gradient = ad.grad(lambda x: T(x, x))(x)
    np.testing.assert_allclose(gradient, (T.components + T.components.T) @ x)
    gradient = ad.grad(lambda S: S(x, x))(T)
    assert isinstance(gradient, Tensor)
    np.testing.assert_allclose(gradient.components, np.outer(x, x))
    C = np.triu(np.ones((3, 3)))
    gradient = ad.grad(lambda S: S.change_of_basis(C)(x, x))(T)
    np.testing.assert_allclose(gradient.components, np.outer(x, x), atol=1e-14)
    assert ad.jit(lambda S: 2 * S)(T).inputs == (X, X)


def test_every_operation_runs_under_capture():
    """The same values as on plain arrays, and derivatives by their difference."""
    generator = np.random.default_rng(15)
    space = Weighted(X, positive_matrix(3, 2))
    square = TensorProduct(space, Y)
    C, y = basis_change(3, generator), Y.random(3)
    functional = Tensor(generator.standard_normal(6), inputs=(square,))

    def f(x):
        A = Tensor(np.outer(x, np.sin(x)), (space,), (space,))
        u = from_vector(x, space)
        total = ad.tensors.contract("i -> j; -> i; j ->", A, u, ad.tensors.bra(x, space))
        total = total + A.trace() + (A @ A).lowered().symmetrised()(x, x)
        total = total + A.lowered().raised().product(u).trace(1, 0)()[0]
        total = total + np.sum(ad.tensors.to_map(A).H(x)) + functional(square.product(x, y))
        total = total + A.change_of_basis(C).in_own_bases().permuted().trace()
        total = total + joined(A.lowered()).raised()()[0, 1]
        return total + (A / 2 - A * x[0]).evaluate([space.riesz(x)], [x])

    x = X.random(0)
    plain, traced = f(x), ad.jit(f)(x)
    np.testing.assert_allclose(traced, plain)
    u = X.random(1)
    slope = ad.grad(f)(x) @ u
    step = 1e-6
    np.testing.assert_allclose(slope, (f(x + step * u) - f(x - step * u)) / (2 * step), rtol=1e-6)


# --- faults ---------------------------------------------------------------------------------------


def test_what_is_no_tensor():
    with pytest.raises(ArgumentError, match=r"components of shape \(2, 3\) after 0 batch axes"):
        Tensor(np.ones((3, 2)), (Y,), (X,))
    with pytest.raises(ArgumentTypeError, match="real numbers"):
        Tensor(np.ones(3, complex), (X,))
    with pytest.raises(ArgumentTypeError, match="real numbers"):
        Tensor("components", (X,))
    with pytest.raises(ArgumentTypeError, match="a tuple of spaces"):
        Tensor(np.ones(3), X)
    with pytest.raises(ArgumentTypeError, match="other variance"):
        Tensor(np.ones(3), (X.dual,))
    with pytest.raises(ArgumentTypeError, match="spaces of vectors"):
        Tensor(np.ones(3), (3,))
    with pytest.raises(ArgumentTypeError, match="a tuple of spaces"):
        Tensor(np.ones(3), None)


def test_components_are_a_copy_and_cannot_be_written():
    array = np.ones(3)
    tensor = Tensor(array, (X,))
    array[0] = 5.0
    assert tensor.components[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        tensor.components[0] = 2.0


def test_words():
    assert repr(Tensor([1.0, 2.0], (Y,))) == (
        "Tensor(array([1., 2.]), outputs=(Euclidean((2,)),), inputs=())"
    )
    assert Tensor(np.ones((1,) * 30), (), (Euclidean(1),) * 30).pattern.startswith("i0 i1")
