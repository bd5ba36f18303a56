"""Programs that were found to differ from NumPy: values, dtypes, warnings and what is written."""

import statistics
import warnings

import numpy as np
import pytest

import adjoint as ad

X = np.array([0.3, 1.7, -0.8, 2.2])
OUTSIDE = np.arange(4.0)


def value(function, *args):
    return ad.vjp(function, *args)[0]


# --- constants written into traced arrays ---------------------------------------------------------


def test_a_constant_that_is_broadcast_into_an_array_can_be_written_over():
    def f(x):
        y = x.copy()
        np.divide(3.0, 2, out=y)
        y[0] = 5.0
        y[1:] += x[1:]
        return y

    assert np.array_equal(value(f, X), f(X))
    assert np.array_equal(ad.jacobian(f)(X), np.diag([0.0, 1.0, 1.0, 1.0]))


def test_out_of_a_constant_array_does_not_lend_its_memory():
    def f(x):
        y = x.copy()
        np.einsum("i->i", OUTSIDE, out=y)
        y *= 2
        return y

    assert np.array_equal(value(f, X), 2 * np.arange(4.0))
    assert np.array_equal(OUTSIDE, np.arange(4.0))


def test_a_view_that_a_constant_is_written_into_is_still_one():
    def f(x):
        y = x.copy()
        z = y[1:]
        np.add(1.0, OUTSIDE[1:], out=z)
        assert y.strides == (8,)
        z += 1
        y *= 2
        return y

    assert np.array_equal(value(f, X), f(X))
    assert np.array_equal(ad.vmap(f)(np.stack([X, X])), np.stack([f(X), f(X)]))
    assert np.array_equal(ad.jacobian(f)(X), np.diag([2.0, 0.0, 0.0, 0.0]))


def test_the_imaginary_part_of_a_real_array_is_read_only():
    def f(x):
        with pytest.raises(ValueError, match="read-only"):
            x.imag[0] = 1
        return x

    assert np.array_equal(value(f, X), X)


# --- numbers --------------------------------------------------------------------------------------


def test_integers_that_no_array_holds_are_what_python_makes_of_them():
    for f in (
        lambda t: t * 2**70,
        lambda t: 2**70 / t,
        lambda t: t / -(2**65),
        lambda t: 2**63 - t,
    ):
        assert value(f, 0.7) == f(0.7)
        assert value(ad.jit(f), 0.7) == f(0.7)
    assert ad.grad(lambda t: t * 2**70)(0.7) == 2.0**70
    assert ad.grad(lambda t: t if t < 10**400 else -t)(0.7) == 1.0


def test_an_integer_that_no_array_holds_is_no_result():
    with pytest.raises(ad.errors.ArgumentTypeError, match="too large"):
        ad.vjp(lambda t: (t, 2**70), 0.7)


def test_numbers_of_one_line_keep_their_types():
    kept = value(lambda x: (x, 1, OUTSIDE[1].item() / 1), X)
    assert [type(each) for each in kept[1:]] == [np.int64, np.float64]


def test_single_precision_becomes_numbers_of_python():
    single = X.astype(np.float32)
    assert value(lambda x: x.tolist(), single) == single.tolist()
    assert ad.grad(lambda x: x.tolist()[1] ** 2)(single).dtype == np.float32


def test_statistics_of_traced_numbers_are_refused():
    with pytest.raises(ad.errors.DroppedDerivativeError, match="statistics"):
        ad.grad(lambda x: statistics.mean(x))(X)


def test_text_of_what_stands_for_many_is_refused():
    for length in (
        lambda x: len(f"{x[0]:.3f}"),
        lambda x: len(repr(x[0])),
        lambda x: len(f"{x!r}"),
    ):
        with pytest.raises(ad.errors.ValueNeededError, match="shows its type"):
            ad.vmap(lambda x, length=length: x * length(x))(np.stack([X, 10 * X]))


def test_a_slope_within_another_capture_is_a_scalar_where_it_is_constant():
    found = ad.jit(lambda x: ad.jvp(lambda y: y[0] / 2.0, (x,), (X,))[1])
    assert type(found(X)) is np.float64
    assert type(found(X)) is np.float64


# --- NumPy's functions ----------------------------------------------------------------------------


def test_numbers_between_the_brackets_of_r_are_weak():
    single = X.astype(np.float32)
    for f in (
        lambda x: np.r_[x, 1.0],
        lambda x: np.r_[x[0], 1],
        lambda x: np.r_[float(x[0]), x],
        lambda x: np.r_[x, np.float64(1)],
        lambda x: np.r_[x, [1.0]],
        lambda x: np.r_[0:1:3j, x],
        lambda x: np.r_[x, 1j],
    ):
        assert value(f, single).dtype == f(single).dtype
        assert np.array_equal(value(f, single), f(single))


def test_where_of_nanvar():
    f = lambda x: np.nanvar(x, where=OUTSIDE > 0)  # noqa: E731
    assert np.isclose(value(f, X), f(X))
    kept = X[1:]
    assert np.allclose(ad.grad(f)(X), [0, *(2 * (kept - kept.mean()) / 3)])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.nanmean(x * np.nan),
        lambda x: np.nanvar(np.where(x > 9, x, np.nan)),
        lambda x: np.median(x[:0]),
        lambda x: np.nanmax(x * np.nan),
    ],
)
def test_warnings_come_once(function):
    for _ in range(2):
        seen = []
        for run in (function, lambda x: ad.vjp(function, x)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                run(X)
            seen.append(sorted(str(each.message) for each in caught))
        assert seen[0] == seen[1]


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_a_convolution_spreads_nan_no_further_than_numpy(mode):
    kernel = np.array([1.0, -2.0, 0.5])
    f = lambda x: np.convolve(x, kernel, mode)  # noqa: E731
    for x in (X, np.array([1.0, 2.0, 3.0, np.nan]), np.array([np.inf, 1.0, 2.0, 3.0])):
        assert np.allclose(value(f, x), f(x), equal_nan=True)
    weights = np.arange(1.0, len(f(X)) + 1)
    slope = ad.grad(lambda x: weights @ f(x))(X)
    assert np.allclose(slope, [weights @ f(unit) for unit in np.eye(4)])


def test_an_array_from_an_iterator_has_its_value():
    def f(x):
        made = np.fromiter((each * 2 for each in x), float)
        return np.tensordot(np.array([1]), made[made > 4], 1)

    assert type(value(f, X)) is type(f(X))
    assert value(f, X) == f(X)


@pytest.mark.parametrize("like", [np.zeros_like, np.empty_like, lambda x: np.full_like(x, 2.0)])
def test_arrays_like_another_lie_in_memory_as_it_does(like):
    def f(x):
        made = like(x.T)
        flat = made.ravel()  # a copy, as `made` lies in the order of columns
        made[...] = x.T
        flat[0] = 5.0
        assert made.flags.f_contiguous
        return made * 2

    matrix = X.reshape(2, 2)
    assert np.array_equal(value(f, matrix), f(matrix))


def test_divmod_defers_to_classes_that_ask_for_it():
    class Unit:
        __array_ufunc__ = None

        def __rdivmod__(self, other):
            return other * 3

    assert np.array_equal(value(lambda x: divmod(x, Unit()), X), 3 * X)


# --- half precision -------------------------------------------------------------------------------


def _mean_into(dtype):
    def mean(x):
        out = np.empty(x.shape[1], dtype)
        np.mean(x, axis=0, out=out)
        return out

    return mean


@pytest.mark.parametrize(
    "function",
    [
        np.mean,
        np.var,
        np.average,
        lambda x: np.mean(x, axis=0),
        lambda x: x.mean(1, keepdims=True),
        lambda x: np.mean(x, dtype=np.float16),
        lambda x: np.mean(x, where=x > 0),
        lambda x: np.std(x, axis=1),
        _mean_into(np.float16),
        _mean_into(np.float32),
    ],
)
@pytest.mark.parametrize("size", [1, 2000])
def test_means_in_half_precision_are_summed_in_single(function, size):
    """60 numbers of 2000 are more than 65 504."""
    x = (np.random.default_rng(0).normal(size=(60, 3)) * size + size).astype(np.float16)
    with np.errstate(all="ignore"):
        expected = function(x)
        for found in (value(function, x), ad.jit(function)(x)):
            assert found.dtype == expected.dtype
            assert np.array_equal(found, expected)


def test_the_slope_of_a_mean_in_half_precision():
    x = np.ones((60, 2), np.float16)
    assert ad.jvp(np.mean, (x,), (2000 * x,))[1] == np.float16(2000)
