"""Hard zeros win over infinite and undefined factors; zeros that arithmetic made do not.

The plain compilation makes NaN in at least the same places, so that whoever runs it can see that
the one with masks is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import adjoint as ad
from adjoint.optimise import bare
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import bind
from adjoint.primitives.hardness import STRONG_CONTRACT
from adjoint.primitives.structure.contraction import contract, split_spec
from adjoint.primitives.structure.gathering import GATHER_SET
from adjoint.primitives.structure.moving import sum_axes
from adjoint.transforms import jvp, linearize, transpose, vjp
from tests.building import names, program_at, run

X = np.array([0.0, 4.0])
INFINITE = np.array([np.inf, 2.0])


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function where x > 0, and 0 elsewhere."""
    return lambda x, *rest: select(np.greater(x, 0), function(x, *rest), 0.0)


ROWS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], list[float]]] = {
    # function, arguments, its gradient in the first, summed over the results
    "log": (guarded(np.log), (X,), [0, 0.25]),
    "sqrt": (guarded(np.sqrt), (X,), [0, 0.25]),
    "divide": (guarded(lambda x: 1.0 / x), (X,), [0, -1 / 16]),
    "reciprocal": (guarded(np.reciprocal), (X,), [0, -1 / 16]),
    "power": (guarded(lambda x: np.power(x, -1.0)), (X,), [0, -1 / 16]),
    "multiply": (guarded(np.multiply), (X, INFINITE), [0, 2]),
    "log of log": (guarded(lambda x: np.log(np.log(x + 1.0))), (X,), [0, 0.2 / np.log(5)]),
    "norm": (lambda x: np.sqrt(sum_axes(np.square(x), (0,))), (np.zeros(2),), [0, 0]),
}


@pytest.mark.parametrize("name", ROWS)
def test_gradients_are_finite_and_right(name: str) -> None:
    function, arguments, expected = ROWS[name]
    program = program_at(function, *arguments)
    active = (True,) + (False,) * (len(arguments) - 1)
    with np.errstate(all="ignore"):  # the function's own warnings
        weights = np.ones(program.output_types[0].shape)[()]
        pulled = vjp(program, active)
        *_, strong = run(pulled, *arguments, weights, strong=True)
        *_, fast = run(pulled, *arguments, weights, strong=False)
        directions = np.eye(2)
        forward = [
            np.sum(run(jvp(program, active), *arguments, u, strong=True)[-1]) for u in directions
        ]
    np.testing.assert_allclose(strong, expected, rtol=1e-15, atol=1e-16)
    np.testing.assert_allclose(forward, expected, rtol=1e-15, atol=1e-16)
    assert np.isnan(fast).any()
    np.testing.assert_array_equal(fast[~np.isnan(fast)], strong[~np.isnan(fast)])


def test_products_of_matrices() -> None:
    """A row that is infinite meets a cotangent that is zero."""
    a = np.array([[np.inf, -np.inf, np.nan], [1.0, 2.0, 3.0]])
    b = np.array([[1.0, 1.0], [2.0, 0.5], [3.0, 0.0]])
    mask = np.array([False, True])

    def function(a: Any, b: Any, mask: Any) -> Any:
        return select(mask, contract(b, a, "jk,ij->ki"), 0.0)

    program = program_at(function, a, b, mask)
    pulled = vjp(program, (True, True, False))
    with np.errstate(all="ignore"):
        _, d_a, d_b = run(pulled, a, b, mask, np.ones((2, 2)), strong=True)
        _, fast_a, fast_b = run(pulled, a, b, mask, np.ones((2, 2)), strong=False)
    np.testing.assert_array_equal(d_a, [[0, 0, 0], [2, 2.5, 3]])
    np.testing.assert_array_equal(d_b, [[1, 1], [2, 2], [3, 3]])
    np.testing.assert_array_equal(fast_a, d_a)
    assert np.isnan(fast_b).all()


def test_what_is_truly_infinite_or_undefined_stays_so() -> None:
    x = np.array([0.0, -1.0, np.nan])
    program = program_at(np.sqrt, x)
    with np.errstate(all="ignore"):
        _, gradient = run(vjp(program, (True,)), x, np.ones(3), strong=True)
    np.testing.assert_array_equal(gradient, [np.inf, np.nan, np.nan])
    a, b = np.array([[np.inf, 1.0], [np.nan, 0.0]]), np.array([1.0, 1.0])
    program = program_at(lambda a, b: contract(a, b, "ij,j->i"), a, b)
    _, slope = run(jvp(program, (False, True)), a, b, np.array([0.0, 2.0]), strong=True)
    np.testing.assert_array_equal(slope, [2.0, 0.0])
    _, slope = run(jvp(program, (False, True)), a, b, np.array([1.0, 2.0]), strong=True)
    np.testing.assert_array_equal(slope, [np.inf, np.nan])


def test_the_users_own_products_are_numpys() -> None:
    """Hard zeros are for derivatives: 0 * inf in the function itself is NaN."""
    x, y = np.zeros((2, 2)), np.full((2, 2), np.inf)
    program = program_at(lambda x, y: (x * y, contract(x, y, "ij,jk->ik")), x, y)
    with np.errstate(invalid="ignore"):
        for result in run(program, x, y, strong=True):
            assert np.isnan(result).all()


def test_a_repeated_write_meets_infinity() -> None:

    x, value, index = np.zeros(3), np.array([1.0, 2.0]), np.array([1, 1])
    program = program_at(lambda x, v, i: bind(GATHER_SET, x, v, i), x, value, index)
    cotangent = np.array([1.0, np.inf, 2.0])
    _, d_x, d_value = run(vjp(program, (True, True, False)), x, value, index, cotangent)
    np.testing.assert_array_equal(d_x, [1, 0, 2])
    np.testing.assert_array_equal(d_value, [0, np.inf])


# --- overflow, underflow, cancellation ------------------------------------------------------------

INF, NAN = np.inf, np.nan
MADE: dict[str, tuple[Callable[..., Any], Any]] = {
    "log sum exp": (lambda v: np.log(np.sum(np.exp(v))), [1000.0, 1001.0]),
    "log of a quotient": (lambda v: np.sum(np.log(1 + 1 / np.exp(-v))), [710.0]),
    "log of cosh and one": (lambda v: np.sum(np.log(np.cosh(v) + 1)), [711.0]),
    "single": (lambda v: np.sum(np.log(1 + 1 / np.exp(-v))), np.array([89.0], np.float32)),
    "exp log": (lambda v: np.sum(np.exp(np.log(v))), [0.0]),
    "cbrt of a cube": (lambda v: np.sum(np.cbrt(v**3)), [0.0]),
    "root of a size": (lambda v: np.sum(np.sqrt(np.abs(v))), [0.0]),
    "root of a difference": (lambda v: np.sum(np.sqrt(v * v - v * v)), [3.0]),
    "log of a product": (lambda v: np.sum(np.exp(np.log(v * 1e-300))), [1e-300]),
}


# Their values are infinite, and their slopes known: they are recognised as what they are.
KNOWN: dict[str, tuple[Callable[..., Any], Any]] = {
    "log1p of exp": (lambda v: np.sum(np.log(1 + np.exp(v))), [710.0]),
    "log cosh": (lambda v: np.sum(np.log(np.cosh(v))), [711.0]),
    "single": (lambda v: np.sum(np.log(1 + np.exp(v))), np.array([89.0], np.float32)),
}


def forward(f: Callable[..., Any], x: Any) -> Any:
    return np.array([ad.jvp(f, (x,), (u,))[1] for u in np.eye(x.size, dtype=x.dtype)])


WAYS: dict[str, Callable[..., Any]] = {
    "reverse": lambda f, x: ad.grad(f)(x),
    "forward": forward,
    "pullback": lambda f, x: ad.vjp(f, x)[1](f(x).dtype.type(1))[0],
    "pushforward": lambda f, x: np.array(
        [ad.linearize(f, x)[1](u) for u in np.eye(x.size, dtype=x.dtype)]
    ),
    "many": lambda f, x: ad.vmap(ad.grad(f))(np.stack([x, x]))[1],
    "jit": lambda f, x: ad.jit(ad.grad(f))(x),
    "jacobian": lambda f, x: ad.jacobian(f, mode=ad.Mode.REVERSE)(x),
}


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", KNOWN)
def test_slopes_beyond_the_range_of_values(name: str, way: str, native: bool) -> None:
    function, point = KNOWN[name]
    with ad.config(native=native):
        np.testing.assert_array_equal(WAYS[way](function, np.asarray(point)), 1.0)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MADE)
def test_a_zero_that_arithmetic_made_is_a_number(name: str, way: str, native: bool) -> None:
    function, point = MADE[name]
    if native and way not in ("reverse", "jit"):
        return
    with ad.config(native=native):
        assert np.isnan(WAYS[way](function, np.asarray(point))).all()


@pytest.mark.parametrize(
    ("function", "hessian"),
    [
        (lambda v: np.sqrt(np.sum(v**4)), NAN),
        (lambda v: np.sum(np.abs(v) ** 1.5), NAN),
        (lambda v: np.linalg.norm(v), NAN),
        (lambda v: np.linalg.norm(v) ** 4, 0),
        (lambda v: np.sum(np.abs(v + 2j * v)), NAN),
        (lambda v: np.sum(np.abs(v + 2j * v) ** 3), NAN),
        (lambda v: np.sum(np.abs(v + 2j * v) ** 2), 10),
    ],
)
def test_second_derivatives_at_zero(function: Any, hessian: float) -> None:
    zero = np.zeros(1)
    np.testing.assert_array_equal(ad.grad(function)(zero), [0])
    for composition in ad.Composition:
        found = ad.hvp(function, zero, np.ones(1), composition=composition)
        np.testing.assert_array_equal(found, [hessian])
    np.testing.assert_array_equal(ad.hessian(function)(zero), [[hessian]])


# --- where hardness is carried --------------------------------------------------------------------


def _rounds(x: Any) -> Any:
    for _ in range(30):  # long enough to be rolled into a loop
        x = np.where(x > 0, np.log(1 + np.sqrt(x)), 0)
    return np.sum(x)


def _scanned(x: Any) -> Any:
    step = lambda c, _: (np.where(c > 0, np.log(1 + np.sqrt(c)), 0), c)  # noqa: E731
    return np.sum(ad.scan(step, x, np.arange(3.0))[0])


def _while(x: Any) -> Any:
    step = lambda c: np.where(c > 0, c + np.sqrt(c), 0)  # noqa: E731
    return np.sum(ad.while_loop(lambda c: np.max(c) < 9, step, x))


def _branch(x: Any) -> Any:
    taken = lambda c: np.where(c > 0, np.sqrt(c), 0)  # noqa: E731
    return np.sum(ad.cond(np.sum(x) > 0, taken, lambda c: c, x))


def _again(x: Any) -> Any:
    return np.sum(ad.checkpoint(lambda c: np.where(c > 0, np.sqrt(c) * np.log(c), 0))(x))


@pytest.mark.parametrize("function", [_rounds, _scanned, _while, _branch, _again])
def test_loops_and_branches_carry_masks(function: Any) -> None:
    """At 0 no path leads; the other entry is as it is alone."""
    x, alone = np.array([0.0, 2.0]), np.array([2.0])
    slope, curvature = ad.grad(function)(alone)[0], ad.hessian(function)(alone)[0, 0]
    for way in WAYS:
        np.testing.assert_allclose(WAYS[way](function, x), [0, slope], rtol=1e-12)
    np.testing.assert_allclose(ad.hessian(function)(x), np.diag([0, curvature]), rtol=1e-12)
    np.testing.assert_allclose(
        ad.linearize(ad.grad(function), x)[1].H(np.ones(2)), [0, curvature], rtol=1e-12
    )


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.maximum(np.sqrt(x), 1.0),
        lambda x: np.clip(np.sqrt(x), 1.0, 3.0),
        lambda x: np.sort(np.stack([np.sqrt(x), x + 1]), axis=0)[1],
        lambda x: np.max(np.stack([np.sqrt(x), x + 1]), axis=0),
        lambda x: special.xlogy(0.0, np.sqrt(x)) + x,
        lambda x: np.sqrt(x) ** 0.0 + x,
        lambda x: ad.stop_gradient(np.sqrt(x)) + x,
        lambda x: np.fft.fft(np.where(x > 0, np.sqrt(x), 0)[1:]).real,
    ],
)
def test_residuals_say_where_they_are_hard(function: Any) -> None:
    x = np.array([0.0, 4.0])
    pushed = ad.linearize(function, x)[1]
    expected = forward(lambda x: np.sum(function(x)), x)
    assert np.isfinite(expected).all()
    pulled = pushed.H(np.ones(np.shape(function(x))))
    np.testing.assert_allclose(pulled, expected)
    np.testing.assert_allclose([np.sum(pushed(u)) for u in np.eye(2)], expected)
    np.testing.assert_allclose(ad.grad(lambda x: np.sum(function(x)))(x), expected)


def test_smooth_functions_have_no_masks_among_residuals() -> None:
    program = program_at(lambda x: np.sin(x) * np.exp(x), X)
    split = linearize(program, (True,))
    assert all(each.type.inexact for each in split.linear.inputs)


def test_programs_are_run_without_marks() -> None:
    program = program_at(lambda x: np.sqrt(sum_axes(np.square(x), (0,))), X)
    marked = vjp(program, (True,))
    assert {"hard", "tame", "root_of_squares"} <= set(names(marked))
    assert {"hard", "tame", "root_of_squares"}.isdisjoint(names(bare(marked)))
    split = linearize(program, (True,))
    back = transpose(split.linear, split.residuals)
    residuals = run(split.primal, np.zeros(2))[1:]
    np.testing.assert_array_equal(run(back, *residuals, np.float64(1), strong=True), [0, 0])


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("spec", ["ab,bc->ac", "a,a->", "ab,b->a", "a,b->ab"])
def test_products_with_masks_are_sums_of_their_terms(spec: str, dtype: Any) -> None:
    generator = np.random.default_rng(0)
    left, right, result = split_spec(spec)
    for _ in range(20):
        factors, masks = [], []
        for labels in (left, right):
            x = generator.choice([0.0, 1.0, -2.0, INF, -INF, NAN], 3 ** len(labels))
            mask = (x == 0) & (generator.random(x.shape) < 0.5)
            shape = (3,) * len(labels)
            factors.append(x.reshape(shape).astype(dtype))
            masks.append(mask.reshape(shape))
        found = STRONG_CONTRACT.evaluate(*factors, *masks, spec=spec)
        letters = sorted(set(left + right))
        expected = np.zeros(np.shape(found))
        for place in np.ndindex(*(3,) * len(letters)):
            at = dict(zip(letters, place, strict=True))
            first, second, there = (tuple(at[n] for n in ns) for ns in (left, right, result))
            if not masks[0][first] and not masks[1][second]:
                expected[there] += (factors[0][first] * factors[1][second]).real
        if dtype is complex:  # of complex infinities only where there are any
            same = np.isfinite(expected)
            np.testing.assert_array_equal(np.isfinite(found), same)
            np.testing.assert_array_equal(found[same], expected[same])
        else:
            np.testing.assert_array_equal(found, expected)


# --- infinities of the data -----------------------------------------------------------------------


_BIAS = np.array([0.0, 0.0, -np.inf])


def _weights(scores: Any) -> Any:
    shares = np.exp(scores - np.max(scores))
    return np.sum(shares / np.sum(shares) * np.arange(3.0))


_STILL: dict[str, tuple[Any, Any]] = {
    "divided": (lambda x: _weights((x + _BIAS) / x[0]), lambda x: _weights_of_two(x, 1 / x[0])),
    "scaled": (
        lambda x: _weights(np.where(_BIAS == 0, x, -np.inf) * x[2] ** 2),
        lambda x: _weights_of_two(x, x[2] ** 2),
    ),
    "an infinite rate": (
        lambda x: np.sum(np.exp(-np.array([1.0, np.inf, 2.0]) * x**2)),
        lambda x: np.exp(-(x[0] ** 2)) + np.exp(-2 * x[2] ** 2),
    ),
    "a saturated sigmoid": (
        lambda x: np.sum(1 / (1 + np.exp(_BIAS / x[0]))) + np.sum(np.tanh(_BIAS * x[2])),
        lambda x: 1.0 + 0.0 * x[0],
    ),
    "an infinite scale": (
        lambda x: np.sum(1 / (1 + (x / np.array([1.0, np.inf, 2.0])) ** 2)),
        lambda x: 1 / (1 + x[0] ** 2) + 1 / (1 + (x[2] / 2) ** 2),
    ),
}


def _weights_of_two(x: Any, scale: Any) -> Any:
    shares = np.exp(x[:2] * scale)
    return shares[1] / np.sum(shares)


@pytest.mark.parametrize("name", _STILL)
@pytest.mark.filterwarnings("ignore")
def test_infinities_of_the_data_do_not_move(name: str) -> None:
    function, without = _STILL[name]
    x, u = np.array([0.3, 0.5, 1.2]), np.array([0.4, -1.0, 0.7])
    slope = ad.grad(without)(x)
    for found in (
        ad.grad(function)(x),
        ad.jit(ad.grad(function))(x),
        ad.vjp(function, x)[1](1.0)[0],
        ad.vmap(ad.grad(function))(np.stack([x, x]))[1],
    ):
        np.testing.assert_allclose(found, slope, atol=1e-14)
    np.testing.assert_allclose(ad.jvp(function, (x,), (u,))[1], slope @ u, atol=1e-14)
    curved = ad.hessian(function)(x)
    np.testing.assert_allclose(curved, ad.hessian(without)(x), atol=1e-13)


@pytest.mark.parametrize("power", [2, 3])
@pytest.mark.filterwarnings("ignore")
def test_infinities_of_the_data_that_cancel_leave_nothing_known(power: int) -> None:
    """The value is NaN, and its slope is none that could be told; it was 0."""

    def function(x: Any) -> Any:
        return np.sum((x - x**power) ** 2)

    x, u = np.array([0.3, np.inf]), np.array([1.0, 1.0])
    for found in (ad.grad(function)(x), ad.jit(ad.grad(function))(x), ad.hessian(function)(x)[1]):
        assert np.isnan(found[1])
    assert np.isnan(ad.jvp(function, (x,), (u,))[1])
    np.testing.assert_allclose(ad.grad(function)(x)[0], ad.grad(function)(x[:1])[0])


@pytest.mark.filterwarnings("ignore")
def test_infinities_that_arithmetic_made_stay_numbers() -> None:
    """Also beside infinities of the data."""

    def function(x: Any) -> Any:
        return np.log(np.sum(np.exp(x + _BIAS)))

    assert np.isnan(ad.grad(function)(np.array([1000.0, 1.0, 2.0]))[0])
    slope = ad.grad(lambda x: np.sum(1 / np.exp(x)))(np.array([1000.0, np.inf]))
    np.testing.assert_array_equal(slope, [0, 0])  # a share of what overflows: see below


_ROOTS: dict[str, Any] = {
    "sqrt": lambda x: np.sum(np.sqrt(x * x)),
    "norm by hand": lambda x: np.sqrt(np.sum(x * x)),
    "norm": np.linalg.norm,
    "dot": lambda x: np.sqrt(x @ x),
    "half": lambda x: np.sum((x * x) ** 0.5),
    "nine tenths": lambda x: np.sum((x * x) ** 0.9),
    "traced exponent": lambda x: np.sum((x * x) ** np.exp(-1 / x)),
    "log": lambda x: np.sum(np.log(x * x)),
    "log2": lambda x: np.sum(np.log2(x * x)),
    "log10": lambda x: np.sum(np.log10(x * x)),
    "log1p": lambda x: np.sum(np.log1p(x * x)),
    "log of a sum": lambda x: np.log(np.sum(x * x)),
    "arcsinh": lambda x: np.sum(np.arcsinh(x * x)),
    "arccosh": lambda x: np.sum(np.arccosh(x * x)),
    "psi": lambda x: np.sum(special.psi(x * x)),
    "xlogy": lambda x: np.sum(special.xlogy(2.0, x * x)),
    "xlog1py": lambda x: np.sum(special.xlog1py(2.0, x * x)),
    "boxcox": lambda x: np.sum(special.boxcox(x * x, 0.3)),
    "boxcox1p": lambda x: np.sum(special.boxcox1p(x * x, 0.0)),
    "rel_entr": lambda x: np.sum(special.rel_entr(1.0, x * x)),
}


@pytest.mark.parametrize("name", _ROOTS)
@pytest.mark.filterwarnings("ignore")
def test_the_slope_of_a_root_or_logarithm_of_what_overflowed_is_not_known(name: str) -> None:
    """A root and a logarithm are flat at infinity, but sqrt(x * x) and log(x * x) are not."""
    function, x, u = _ROOTS[name], np.array([1e200, 2e200]), np.array([1.0, 1.0])
    for slope in (
        ad.grad(function)(x),
        ad.jit(ad.grad(function))(x),
        ad.vmap(ad.grad(function))(np.stack([x, x]))[1],
        ad.jvp(function, (x,), (u,))[1],
        ad.jacobian(function, mode=ad.Mode.FORWARD)(x),
        ad.taylor(function, x, (u,), 1)[1],
    ):
        assert not np.isfinite(slope).any()


_TINY: dict[str, Any] = {
    "sqrt": lambda x: np.sum(np.sqrt(x * x)),
    "norms": lambda x: np.sum(np.linalg.norm(x[:, None] * [1.0, 2.0], axis=1)),
    "cubes": lambda x: np.sum(np.linalg.norm(x[:, None] * [1.0, 2.0], 3, axis=1)),
    "moved": lambda x: np.sum(np.sqrt(np.square(x[::-1, None]).mean(axis=1))),
    "complex": lambda x: np.sum([np.sqrt((z * np.conj(z)).real) for z in x + 1j * x]),
    "deviations": lambda x: np.sum(np.std(np.stack([x, -x]), axis=0)),
}


@pytest.mark.parametrize("name", _TINY)
def test_a_norm_whose_squares_underflow_is_not_at_zero(name: str) -> None:
    """Beside an exact zero, of which the slope is 0, also where hard zeros are looked for."""
    function, x, u = _TINY[name], np.array([0.0, 1e-200, 1.0]), np.array([0.0, 1.0, 1.0])
    for slope in (
        ad.grad(function)(x),
        ad.jit(ad.grad(function))(x),
        ad.vmap(ad.grad(function))(np.stack([x, x]))[1],
        ad.vjp(function, x)[1](1.0)[0],
        ad.jacobian(function, mode=ad.Mode.FORWARD)(x),
    ):
        assert slope[0] == 0
        assert not np.isfinite(slope[1])
        np.testing.assert_allclose(slope[2], function(x))
    for forward in (ad.jvp(function, (x,), (u,))[1], ad.linearize(function, x)[1](u)):
        assert not np.isfinite(forward)


_NORMS_WITHIN: dict[str, Any] = {
    "round": lambda x: ad.fori_loop(0, 3, lambda k, c: np.sqrt(c * c), x),
    "row": lambda x: ad.scan(lambda c, row: (c + np.sqrt(row * row), row), 0.0, x * np.ones(3))[0],
    "as long as": lambda x: ad.while_loop(
        lambda s: s[0] < 1, lambda s: (s[0] + 1, np.sqrt(s[1] * s[1])), (0, x)
    )[1],
    "branch": lambda x: ad.cond(x >= 0, lambda c: np.sqrt(c * c), lambda c: -c, x),
    "checkpoint": ad.checkpoint(lambda x: np.sqrt(x * x)),
    "branch in a round": lambda x: ad.fori_loop(
        0, 2, lambda k, c: ad.cond(c >= 0, lambda c: np.sqrt(c * c), lambda c: -c, c), x
    ),
}


@pytest.mark.parametrize("name", _NORMS_WITHIN)
def test_the_slope_at_zero_of_a_norm_in_a_body_is_handed_on(name: str) -> None:
    """The first half keeps the slope; the second takes its infinity at zero for 0."""
    function = _NORMS_WITHIN[name]
    for x, expected in ((0.0, 0.0), (2.0, ad.grad(function)(2.0)), (1e-200, np.nan)):
        linear = ad.linearize(function, x)[1]
        slopes = [ad.grad(function)(x), ad.vjp(function, x)[1](1.0)[0], linear(1.0), linear.H(1.0)]
        if np.isnan(expected):
            assert not np.isfinite(slopes).any()
        else:
            np.testing.assert_allclose(slopes, expected)


def test_an_infinite_slope_beside_a_norm_in_another_branch_is_no_zero() -> None:
    """What is handed on of both is tamed as the norm's is."""
    function = lambda x: ad.cond(x > -1, np.sqrt, lambda c: np.sqrt(c * c), x)  # noqa: E731
    assert not np.isfinite(ad.vjp(function, 0.0)[1](1.0)[0])


def test_a_loop_in_which_hard_zeros_win_is_no_defect() -> None:
    """Debug mode computes records again without masks."""
    function = lambda x: np.sum(ad.fori_loop(0, 3, lambda k, c: np.sqrt(c * c), x))  # noqa: E731
    with ad.config(debug=True):
        np.testing.assert_array_equal(ad.jit(ad.grad(function))(np.array([0.0, 1.0])), [0, 1])


def test_a_sum_with_itself_is_looked_at_once() -> None:
    def function(x: Any) -> Any:
        total = x * x
        for _ in range(60):
            total = total + total
        return np.sqrt(np.sum(total))

    np.testing.assert_allclose(ad.grad(function)(np.array([0.0, 2.0])), [0, 2.0**30])


@pytest.mark.filterwarnings("ignore")
def test_a_root_or_logarithm_of_an_infinity_of_the_data_is_flat() -> None:
    x = np.array([np.inf, 4.0])
    for function, expected in (
        (lambda x: np.sum(np.sqrt(x)), [0, 0.25]),
        (lambda x: np.sum(np.sqrt(x + 5.0)), [0, 1 / 6]),
        (lambda x: np.sum((x + 0.0) ** 0.5), [0, 0.25]),
        (lambda x: np.sum(np.log(x)), [0, 0.25]),
        (lambda x: np.sum(np.log(x + 1.0)), [0, 0.2]),
        (lambda x: np.sum(special.xlogy(3.0, 2 * x)), [0, 0.75]),
        (lambda x: np.sum(np.log(np.exp(-x) + 4.0 - np.exp(-4.0))), [0, -0.25 * np.exp(-4.0)]),
    ):
        for slope in (ad.grad(function)(x), ad.jit(ad.grad(function))(x)):
            np.testing.assert_allclose(slope, expected, rtol=1e-15)
    assert ad.grad(np.linalg.norm)(x)[1] == 0


@pytest.mark.filterwarnings("ignore")
def test_a_constant_mask_is_one_under_other_transforms() -> None:
    counts, x = np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 2.0])

    def function(x: Any) -> Any:
        return np.sum(np.where(counts > 0, counts * np.log(x), 0))

    np.testing.assert_array_equal(ad.vmap(ad.grad(function))(x[None]), [[0, 1, 1]])
    second = ad.grad(lambda x: np.sum(ad.grad(function)(x)))(x)
    np.testing.assert_array_equal(second, [0, -1, -0.5])


# --- quotients by sums with an exponential that overflows -----------------------------------------

QUOTIENTS = {
    "a sigmoid by hand": lambda x: 1 / (1 + np.exp(-x)),
    "the other way round": lambda x: 1 / (np.exp(-x) + 1),
    "a sigmoid-weighted unit": lambda x: x / (1 + np.exp(-x)),
    "a power": lambda x: (1 + np.exp(-x)) ** -1,
    "a square": lambda x: (1 / (1 + np.exp(-x))) ** 2,
    "with factors": lambda x: 3.0 / (2.0 + np.exp(-2 * x + 1)),
    "a difference": lambda x: 1 / (np.exp(-x) - 2),
    "an exponential alone": lambda x: 1 / np.exp(-x),
    "weights": lambda x: np.sum(np.array([1.0, 2.0]) / (1 + np.exp(-x * np.array([1.0, 3.0])))),
}


@pytest.mark.parametrize("name", QUOTIENTS)
@pytest.mark.parametrize(("dtype", "far"), [(np.float64, -800.0), (np.float32, -100.0)])
@pytest.mark.filterwarnings("ignore:overflow")
def test_the_slope_of_a_quotient_is_0_where_the_exponential_overflows(name, dtype, far):
    f, x = QUOTIENTS[name], np.array(far, dtype)
    gradients = [
        ad.grad(f)(x),
        ad.jit(ad.grad(f))(x),
        ad.vmap(ad.grad(f))(np.stack([x, x]))[0],
        ad.vjp(f, x)[1](np.array(1, dtype))[0],
        ad.linearize(f, x)[1](np.array(1, dtype)),
    ]
    gradients.append(ad.jvp(f, (x,), (np.array(1, dtype),))[1])
    pair, ones = np.stack([x, x]), np.ones(2, dtype)
    if name != "weights":
        gradients.append(ad.jvp(lambda x: np.sum(f(x)), (pair,), (ones,))[1])
    if "sigmoid" in name:
        gradients += [ad.grad(ad.grad(f))(x), ad.hvp(f, x, np.array(1, dtype))]
    assert all(abs(each) < 1e-40 for each in gradients), gradients


@pytest.mark.parametrize("name", QUOTIENTS)
def test_near_by_the_slope_of_such_a_quotient_is_as_before(name):
    f = QUOTIENTS[name]

    def beside_a_nan(x):
        return f(x[0]) + 0 * np.sqrt(0 * x[1])

    with np.errstate(all="ignore"):
        slope = ad.grad(beside_a_nan)(np.array([-1.5, 1.0]))
    assert np.isnan(slope[1])
    assert slope[0] == pytest.approx(ad.grad(f)(-1.5), rel=1e-13)


@pytest.mark.parametrize(
    ("f", "point"),
    [
        (lambda v: v[0] ** v[1], [0.0, 1.0]),
        (lambda v: v[0] ** v[1], [2.0, 0.0]),
        (lambda v: np.sqrt(v[0] ** 2 + v[1] ** 2) * v[0], [0.0, 0.0]),
        (lambda v: np.where(v[0] > 0, np.log(v[0]) * v[1], v[1] ** 2), [0.0, 3.0]),
    ],
)
@pytest.mark.parametrize("inner", list(ad.Mode)[:2])
@pytest.mark.parametrize("outer", list(ad.Mode)[:2])
@pytest.mark.filterwarnings("ignore")
def test_the_jacobian_of_a_jacobian_is_the_hessian(
    f: Any, point: Any, inner: ad.Mode, outer: ad.Mode
) -> None:
    """A linearised program keeps its marks: derivatives may be taken of it."""
    twice = ad.jacobian(ad.jacobian(f, mode=inner), mode=outer)(np.array(point))
    np.testing.assert_array_equal(twice, ad.jacobian(ad.grad(f))(np.array(point)))


@pytest.mark.parametrize(("dtype", "far"), [(np.float64, 712.0), (np.float32, 89.0)])
@pytest.mark.parametrize("gap", [0.0, 4.0, 30.0])
@pytest.mark.filterwarnings("ignore")
def test_the_share_of_two_exponentials_that_overflow_is_not_known(
    dtype: Any, far: float, gap: float
) -> None:
    """Beside exp(y), which is infinite, exp(x) has no share that could be told: not 0 either."""

    def function(v: Any) -> Any:
        return np.log(np.exp(v[0]) + np.exp(v[1]))

    point = np.array([far, far + gap], dtype)
    for x in (point, point[::-1].copy()):
        assert np.isinf(function(x))
        for slope in (
            ad.grad(function)(x),
            ad.jit(ad.grad(function))(x),
            ad.vjp(function, x)[1](1.0)[0],
        ):
            assert np.isnan(slope).all(), slope
        assert np.isnan(ad.jvp(function, (x,), (np.array([1, 0], dtype),))[1])


def test_factors_that_are_shared_are_looked_at_once() -> None:
    """A product doubled thirty times has 2^30 factors, and thirty equations."""

    def f(x: Any) -> Any:
        power = np.exp(x)
        product = power / (1.0 + power)
        for _ in range(30):
            product = 0.5 * (product * product + product)
        return product * power

    for x in (0.3, -0.2):
        step = 1e-6
        difference = (f(x + step) - f(x - step)) / (2 * step)
        assert ad.grad(f)(x) == pytest.approx(difference, rel=1e-6)
        linear = ad.derivative(f, x)
        assert linear(1.0) == pytest.approx(difference, rel=1e-6)
