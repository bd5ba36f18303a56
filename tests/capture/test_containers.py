"""Containers of other libraries: as constants, as arguments, as results, and what is refused.

The reference is the library itself, with NumPy's array in the place of the traced one.
"""

from __future__ import annotations

import contextlib
import importlib
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad

# Which operators are looked at depends on what is imported when a function is first captured.
for library in ("pandas", "polars", "xarray"):
    with contextlib.suppress(ImportError):
        importlib.import_module(library)

pytestmark = [
    pytest.mark.filterwarnings("ignore:__array_wrap__ must accept:DeprecationWarning"),  # torch's
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]
X = np.array([0.5, 1.25, -0.75])
NUMBERS = np.array([1.5, -0.5, 2.0])
Refused = ad.errors.UnsupportedFunctionError


def _pandas(numbers: Any) -> Any:
    return pytest.importorskip("pandas").Series(numbers)


def _labelled(numbers: Any) -> Any:
    return pytest.importorskip("pandas").Series(numbers, index=[2, 0, 1])


def _nullable(numbers: Any) -> Any:
    return pytest.importorskip("pandas").Series(numbers, dtype="Float64")


def _polars(numbers: Any) -> Any:
    return pytest.importorskip("polars").Series(numbers)


def _xarray(numbers: Any) -> Any:
    return pytest.importorskip("xarray").DataArray(numbers, dims="t")


def _torch(numbers: Any) -> Any:
    return pytest.importorskip("torch").tensor(numbers)


def _jax(numbers: Any) -> Any:
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        return jax.numpy.asarray(numbers)


MAKERS = {
    "pandas": (_pandas, "x.to_numpy()"),
    "labelled": (_labelled, "x.to_numpy()"),
    "nullable": (_nullable, "x.to_numpy()"),
    "polars": (_polars, "x.to_numpy()"),
    "xarray": (_xarray, "x.to_numpy()"),
    "torch": (_torch, "x.detach().numpy()"),
}
EVERY = pytest.mark.parametrize("name", MAKERS)


def central(f: Callable[[Any], Any], x: Any) -> Any:
    step = 1e-6
    rows = [(float(f(x + step * e)) - float(f(x - step * e))) / (2 * step) for e in np.eye(x.size)]
    return np.array(rows)


def agrees(f: Callable[[Any], Any]) -> None:
    """Value, gradient, replays and batches are those of the function as it is."""
    value, gradient = ad.value_and_grad(f)(X)
    assert isinstance(gradient, np.ndarray)
    np.testing.assert_allclose(value, float(f(X)), rtol=1e-13)
    np.testing.assert_allclose(gradient, central(f, X), rtol=1e-7, atol=1e-8)
    replayed, slope = ad.jit(f), ad.jit(ad.grad(f))
    for shift in (0.0, 0.25, 0.5):
        np.testing.assert_allclose(replayed(X + shift), float(f(X + shift)), rtol=1e-13)
        expected = central(f, X + shift)
        np.testing.assert_allclose(slope(X + shift), expected, rtol=1e-7, atol=1e-8)
    batch = np.stack([X, X + 0.25])
    np.testing.assert_allclose(ad.vmap(f)(batch), [float(f(x)) for x in batch], rtol=1e-13)
    D = ad.derivative(f, X)
    np.testing.assert_allclose(D(np.eye(3)[0]), gradient[0], rtol=1e-13)
    np.testing.assert_allclose(ad.hessian(f)(X), ad.hessian(f)(X).T, atol=1e-12)


def refused(f: Callable[[Any], Any], *words: str) -> None:
    """One typed sentence with these words, and never a number."""
    for run in (ad.grad(f), ad.jit(f), ad.jit(ad.grad(f)), lambda x: ad.derivative(f, x)):
        with pytest.raises(ad.errors.AdjointError) as raised:
            run(X)
        for word in words:
            assert word in str(raised.value)


# --- constants on either side ---------------------------------------------------------------------

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "**": lambda a, b: abs(a) ** b,
}


@EVERY
@pytest.mark.parametrize("symbol", OPERATORS)
def test_an_operator_with_the_container_on_the_left(name: str, symbol: str) -> None:
    c, apply = MAKERS[name][0](NUMBERS), OPERATORS[symbol]
    agrees(lambda x: apply(c, x).sum())
    agrees(lambda x: (apply(c, x) * 2.0 - 1.0).sum())


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "torch"])
@pytest.mark.parametrize("symbol", OPERATORS)
def test_an_operator_with_the_container_on_the_right(name: str, symbol: str) -> None:
    """Which torch refuses for arrays."""
    c, apply = MAKERS[name][0](NUMBERS), OPERATORS[symbol]
    agrees(lambda x: apply(x, c).sum())


@pytest.mark.parametrize("name", ["pandas", "labelled", "xarray"])
def test_comparisons_choose(name: str) -> None:
    c = MAKERS[name][0](NUMBERS)
    agrees(lambda x: np.where(c > x, x * x, x).sum())
    agrees(lambda x: np.where(x >= c, x * x, x).sum())
    agrees(lambda x: np.where(c > 0, x * x, 0.0).sum())
    agrees(lambda x: (x[c > 0] ** 2).sum())


@EVERY
def test_products(name: str) -> None:
    c = MAKERS[name][0](NUMBERS)
    if name != "xarray":  # which multiplies arrays with names alone
        agrees(lambda x: c @ x)
    agrees(lambda x: np.dot(c, x))
    agrees(lambda x: np.dot(x, c))
    agrees(lambda x: np.outer(c, x * x).sum())
    agrees(lambda x: (np.concatenate([c, x]) ** 2).sum())
    agrees(lambda x: np.asarray(c) @ x)


@EVERY
def test_a_container_of_results_goes_on(name: str) -> None:
    c, make = MAKERS[name][0](NUMBERS), MAKERS[name][0]
    other = make(NUMBERS + 1.0)
    agrees(lambda x: ((c * x - other) * (c * x - other)).mean())
    agrees(lambda x: np.asarray(c * x).sum())
    agrees(lambda x: len(c * x) * x.sum())
    agrees(lambda x: x @ np.asarray(-(c * x)))


@EVERY
def test_parameters_that_are_numbers(name: str) -> None:
    c = MAKERS[name][0](NUMBERS)
    agrees(lambda x: ((c - x[0]) * (c - x[1]) * x[2]).sum())


def test_a_regression_on_a_table() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.5, 0.25, 0.1], "y": [1.0, 0.0, 2.0]})
    agrees(lambda x: ((table["y"] - (table["a"] * x[0] + x[1])) ** 2).mean())
    agrees(lambda x: np.mean((table["y"] - np.exp(table["a"] * x[0])) ** 2))
    agrees(lambda x: ((table[["a", "b"]] @ x[:2] - table["y"]) ** 2).sum())
    agrees(lambda x: x @ table @ x)
    agrees(lambda x: np.sum(table.dot(x).to_numpy() ** 2))
    agrees(lambda x: (table["a"] * x).values @ x)
    agrees(lambda x: table["a"].iloc[0] * x.sum() ** 2)
    agrees(lambda x: sum(v * v for v in table["a"] * x))
    agrees(lambda x: x.sum() if isinstance(table["a"] * x, pandas.Series) else 0.0 * x[0])


def test_jax_arrays() -> None:
    c, jax = _jax(NUMBERS), pytest.importorskip("jax")
    with jax.enable_x64(True):
        for f in (lambda x: (c * x).sum(), lambda x: (x / c).sum(), lambda x: c @ x):
            agrees(f)
        agrees(lambda x: ((c * x - c) ** 2).mean())
    with jax.enable_x64(False):  # numbers of single precision, which would lose digits
        single = jax.numpy.asarray(NUMBERS)
        refused(lambda x: (single * x).sum(), "np.asarray(x)")


# --- what means something else --------------------------------------------------------------------


@EVERY
def test_what_the_library_means_otherwise_is_refused(name: str) -> None:
    make, conversion = MAKERS[name]
    c = make(NUMBERS)
    if name != "xarray":  # whose standard deviation is NumPy's
        refused(lambda x: (c * x).std(), type(c).__name__, conversion, "std")
    refused(lambda x: _write(c * x), conversion)


def _write(container: Any) -> Any:
    container[0] = 1.0
    return container.sum()


def test_labels_decide_in_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    series, other = _labelled(NUMBERS), _pandas(NUMBERS)
    refused(lambda x: (series * x)[0], "pandas.Series", "indexing", "x.to_numpy()")
    refused(lambda x: (series * x + other * x).sum(), "pandas.Series", "+")
    refused(lambda x: (series * x * other).sum(), "pandas.Series", "*")
    agrees(lambda x: ((series + other) * x).sum())  # of constants
    holes = pandas.Series([1.0, np.nan, 2.0])
    refused(lambda x: (holes * x).sum(), "pandas.Series", "sum", "x.to_numpy()")
    table = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.5, 0.25, 0.1], "y": [1.0, 0.0, 2.0]})
    refused(lambda x: (table * x).sum().sum(), "pandas.DataFrame", "sum")
    for method in ("rolling", "groupby", "shift", "abs"):
        refused(lambda x, name=method: getattr(other * x, name)(1).sum(), "pandas.Series", method)
    refused(lambda x: (other * x).iloc[0], "iloc")
    refused(lambda x: x.sum() * (2 in other * x), "pandas.Series", "in")
    agrees(lambda x: sum(divmod(abs(other * x) + 0.3, 0.7)).sum())
    refused(lambda x: table.assign(z=x)["z"].sum(), "pandas.DataFrame", "assign")
    refused(lambda x: pandas.concat([other * x, other]).sum(), "pandas.concat")


def test_axes_have_names_in_xarray() -> None:
    xarray = pytest.importorskip("xarray")
    one, other = (xarray.DataArray(NUMBERS, dims=name) for name in "ab")
    refused(lambda x: (one * x + other * x).sum(), "xarray", "+")


@pytest.mark.parametrize("name", ["pandas", "torch", "xarray"])
def test_writing_into_a_container_is_refused(name: str) -> None:
    c = MAKERS[name][0](NUMBERS)
    before = np.array(c)

    def f(x: Any) -> Any:
        alias = c
        alias *= x
        return c.sum()

    refused(f, type(c).__name__)
    if name == "torch":
        refused(lambda x: operator.imul(c, x).sum(), "torch.Tensor")
    np.testing.assert_array_equal(np.asarray(c), before)


def test_arrays_that_become_containers_are_refused() -> None:
    series = _pandas(NUMBERS)

    def f(x: Any) -> Any:
        y = x * x
        y += series  # a Series, under pandas
        return y.std()

    refused(f, "pandas.Series", "in place")


def test_deferred_arrays_are_refused_by_name() -> None:
    dask = pytest.importorskip("dask.array")
    c = dask.from_array(NUMBERS)
    for f in (lambda x: (c * x).sum(), lambda x: (x * c).sum(), lambda x: np.dot(c, x)):
        refused(f, "dask.array", "x.compute()")
    with pytest.raises(ad.errors.NotDifferentiableError, match=r"dask\.array.*x\.compute\(\)"):
        ad.grad(np.sum)(c)


def test_tensors_with_derivatives_of_their_own() -> None:
    torch = pytest.importorskip("torch")
    c = torch.tensor(NUMBERS, requires_grad=True)
    refused(lambda x: (c * x).sum(), "torch.Tensor", "x.detach().numpy()")
    refused(lambda x: torch.sum(torch.tensor(NUMBERS) * x), "torch.sum")


def test_quantities_and_masks() -> None:
    units = pytest.importorskip("astropy.units")
    for unit in (units.m, units.dimensionless_unscaled):
        c = NUMBERS * unit
        refused(lambda x, c=c: (c * x).sum().value, "Quantity", "x.value")
        refused(lambda x, c=c: (x * c).sum().value, "Quantity", "x.value")
        agrees(lambda x, c=c: (c.value * x).sum())
    with pytest.raises(ad.errors.AdjointError, match="Quantity"):
        ad.grad(lambda x: (x * units.m).value.sum())(X)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_masked_arrays_and_matrices() -> None:
    masked = np.ma.masked_array(NUMBERS, [False, True, False])
    with pytest.raises(ad.errors.AdjointError, match=r"MaskedArray.*x\.filled\(0\.0\) and x\.mask"):
        ad.grad(lambda x: (masked * x).sum())(X)
    refused(lambda x: (x * masked).sum(), "MaskedArray", "x.filled(0.0) and x.mask")
    agrees(lambda x: (masked.filled(0.0) * x).sum())
    for makes in (np.ma.masked_array, lambda x: np.ma.masked_where(x > 1, x), np.ma.array):
        with pytest.raises(ad.errors.DroppedDerivativeError, match=r"Leave out with np\.where"):
            ad.grad(lambda x, makes=makes: makes(x).sum())(X)
    matrix = np.matrix(np.diag(NUMBERS))
    refused(lambda x: (matrix * x[:, None]).sum(), "numpy.matrix", "np.asarray(x)")
    refused(lambda x: (matrix @ x).sum(), "numpy.matrix", "np.asarray(x)")
    for kind in (masked, matrix):
        with pytest.raises(ad.errors.DTypeError, match=r"has rules of its own.*Use its numbers"):
            ad.vmap(np.sum)(kind)


# --- arguments, results, changes ------------------------------------------------------------------


@EVERY
def test_arguments_are_taken_by_their_numbers(name: str) -> None:
    point = MAKERS[name][0](NUMBERS)
    f = lambda x: np.sum(x * x * x)  # noqa: E731
    for run in (ad.grad(f), ad.jit(ad.grad(f)), lambda x: ad.vjp(f, x)[1](1.0)[0]):
        gradient = run(point)
        assert type(gradient) is np.ndarray
        np.testing.assert_allclose(gradient, 3.0 * NUMBERS**2)
    np.testing.assert_allclose(ad.hessian(f)(point), np.diag(6.0 * NUMBERS))
    assert ad.derivative(f, point)(NUMBERS) == pytest.approx(3.0 * np.sum(NUMBERS**3))
    if name == "torch":  # whose shape is an array's
        np.testing.assert_array_equal(ad.vmap(np.sin)(point), np.sin(NUMBERS))
        return
    conversion = MAKERS[name][1].replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(ad.errors.ArgumentTypeError, match=f"vmap takes arrays.*{conversion}"):
        ad.vmap(f)(point)


@EVERY
def test_results_are_numpys(name: str) -> None:
    c = MAKERS[name][0](NUMBERS)
    np.testing.assert_array_equal(ad.jacobian(lambda x: c * x)(X), np.diag(NUMBERS))
    result = ad.jit(lambda x: c * x)(X)
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, NUMBERS * X)


@EVERY
def test_what_changes_between_calls_is_seen(name: str) -> None:
    held = {"c": MAKERS[name][0](NUMBERS)}
    f = lambda x: (held["c"] * x).sum()  # noqa: E731
    replayed, gradient = ad.jit(f), ad.grad(f)
    for number in range(4):
        held["c"] = MAKERS[name][0](NUMBERS + number)
        assert replayed(X) == pytest.approx(np.sum((NUMBERS + number) * X), rel=1e-13)
        np.testing.assert_allclose(gradient(X), NUMBERS + number)
    if name in ("pandas", "torch", "xarray"):
        for number in range(4):
            held["c"][0] = float(number)
            assert gradient(X)[0] == number
            assert replayed(X) == pytest.approx(float(f(X)), rel=1e-13)


def test_what_cannot_be_taken_says_how() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": NUMBERS})
    with pytest.raises(ad.errors.NotDifferentiableError, match=r"DataFrame.*x\.to_numpy\(\)"):
        ad.grad(lambda x: np.sum(x))(table)
    words = pandas.Series(["a", "b", "c"])
    refused(lambda x: (x * words).sum(), "pandas.Series", "x.to_numpy()")


class Exchanged:
    """What only hands its memory on."""

    def __dlpack__(self, **options: Any) -> Any:
        return NUMBERS.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return NUMBERS.__dlpack_device__()


def test_objects_of_dlpack() -> None:
    exchanged = Exchanged()
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(x))(exchanged), np.ones(3))
    agrees(lambda x: (np.from_dlpack(exchanged) * x).sum())


def test_labels_that_change_between_calls_are_seen() -> None:
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(NUMBERS)
    for transform in (ad.jit, ad.grad, ad.value_and_grad):
        series.index = [0, 1, 2]
        called = transform(lambda x: (series * x)[0])
        for _ in range(4):
            called(X)
        series.index = [2, 1, 0]
        with pytest.raises(Refused, match="indexing"):
            called(X)
