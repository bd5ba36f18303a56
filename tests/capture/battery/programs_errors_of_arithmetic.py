"""`errstate`, `seterr`, warnings that are recorded or made errors, inside the function."""

from __future__ import annotations

import warnings

import numpy as np

from tests.capture.battery.registry import fresh, program

MIXED = np.array([0.7, -1.3])
ZERO = np.array([0.7, 0.0])
STILL = (np.array([1.0, 0.0]),)  # the zero stays one


@program(MIXED)
def logarithm_that_raises_is_caught(x):
    with np.errstate(all="raise"):
        try:
            return np.sum(np.log(x))
        except FloatingPointError:
            return np.sum(x**2)


@program(MIXED)
def logarithm_that_raises(x):
    with np.errstate(invalid="raise"):
        return np.sum(np.log(x))


@program(ZERO, along=STILL)
def division_that_raises_is_caught(x):
    with np.errstate(divide="raise"):
        try:
            return np.sum(1 / x)
        except FloatingPointError:
            return np.sum(3 * x)


@program(ZERO, along=STILL)
def division_that_is_ignored(x):
    with np.errstate(divide="ignore"):
        y = 1 / x
    return np.sum(np.where(x > 0, y, 0.0))


@program(MIXED)
def logarithm_that_warns(x):
    return (
        np.sum(np.where(x > 0, np.log(np.abs(x)), np.sqrt(x)) * [1, 0]) if x[0] < 0 else x[0] ** 2
    )


@program(MIXED, smooth=0)
def logarithm_that_is_nan(x):
    return np.nansum(np.log(x))


@program(np.array([700.0, 800.0]), smooth=0)
def overflow_that_warns(x):
    return np.exp(x)[0] * 0 + np.minimum(np.exp(x), 1.0)[1] * x[0]


@program(np.array([0.7, 800.0]))
def overflow_that_raises_is_caught(x):
    with np.errstate(over="raise"):
        try:
            return np.sum(np.exp(x))
        except FloatingPointError:
            return np.sum(np.exp(x / 1000))


@program(np.array([0.7, 1.0]))
def underflow_that_raises_is_caught(x):
    with np.errstate(under="raise"):
        try:
            return np.sum(np.exp(-1000 * x))
        except FloatingPointError:
            return np.sum(x) * 5


@program(MIXED)
def seterr_and_back(x):
    old = np.seterr(invalid="raise")
    try:
        return np.sum(np.sqrt(x))
    except FloatingPointError:
        return np.sum(x * 4)
    finally:
        np.seterr(**old)


@program(ZERO, along=STILL)
def errstate_asked_for(x):
    with np.errstate(divide="ignore"):
        return np.sum(x) * (2.0 if np.geterr()["divide"] == "ignore" else 3.0)


@fresh(ZERO, along=STILL)
def a_handler_is_called():
    calls = []

    def handle(kind, flag):
        calls.append(kind)

    def evaluate(x):
        with np.errstate(divide="call", call=handle):
            y = 1 / x
        return y[0] * len(calls)

    return evaluate, lambda: calls


@program(MIXED)
def errstate_as_a_decorator(x):
    @np.errstate(invalid="ignore")
    def roots(v):
        return np.sqrt(v)

    y = roots(x)
    return np.sum(np.where(np.isnan(y), x, y))


@program(MIXED)
def errstate_nested(x):
    with np.errstate(invalid="raise"):
        with np.errstate(invalid="ignore"):
            y = np.sqrt(x)
        try:
            return np.sum(np.sqrt(x))
        except FloatingPointError:
            return y[0] * 7


@program(MIXED)
def warnings_as_errors_are_caught(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.sum(np.log(x))
        except RuntimeWarning:
            return np.sum(x**3)


@program(MIXED)
def warnings_as_errors(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return np.sum(np.log(x))


@program(MIXED)
def warnings_are_counted(x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.log(x)
        np.sqrt(x)
    return np.sum(x) * len(caught)


@program(MIXED)
def the_text_of_a_warning_is_read(x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.log(x)
    return np.sum(x) * (2.0 if "invalid value" in str(caught[0].message) else 3.0)


@program(MIXED, smooth=0)
def warnings_are_ignored(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.nansum(np.log(x))


@program(0.7)
def a_warning_of_ones_own(x):
    if x > 0.5:
        warnings.warn("x is large", UserWarning, stacklevel=1)
    return x**2


@program(0.7)
def a_deprecation_of_ones_own(x):
    def old(v):
        warnings.warn("use new", DeprecationWarning, stacklevel=2)
        return v * 2

    return old(x) + 1


@program(0.7)
def a_warning_with_a_number(x):
    warnings.warn(f"x is {x:.2f}", UserWarning, stacklevel=1)
    return x**2


@program(0.7)
def ones_own_warning_as_an_error(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            warnings.warn("no", UserWarning, stacklevel=1)
        except UserWarning:
            return x * 5
    return x


@program(np.array([]))
def mean_of_nothing_warns(x):
    return np.mean(x) if x.size else np.sum(x) + 1.0


@program(MIXED, smooth=0)
def mean_of_nothing_is_nan(x):
    return np.nan_to_num(np.mean(x[x > 9])) + x[0]


@program(MIXED, smooth=0)
def nanmean_of_nothing_warns(x):
    return np.nan_to_num(np.nanmean(x * np.nan)) + x[0]


@program(MIXED, smooth=0)
def variance_with_too_few_degrees_warns(x):
    return np.nan_to_num(np.var(x[:1], ddof=1)) + x[0]


@program(ZERO, along=STILL)
def scalar_division_warns(x):
    y = x[0] / x[1]
    return x[0] * (2.0 if np.isinf(y) else 3.0)


@program(ZERO, along=STILL)
def scalar_division_raises_is_caught(x):
    with np.errstate(all="raise"):
        try:
            return x[0] / x[1]
        except FloatingPointError:
            return x[0] * 5


@program(0.0, smooth=0)
def python_division_raises_is_caught(x):
    try:
        return 1.0 / x
    except ZeroDivisionError:
        return x + 4.0


@program(0.0)
def python_division_raises(x):
    return 1.0 / x


@program(np.float64(0.0), smooth=0)
def numpy_division_gives_infinity(x):
    return np.minimum(1.0 / x, 4.0) + x


@program(np.array([1e200, 1.0]), smooth=0)
def overflow_of_a_product_is_tested(x):
    y = x[0] * x[0]
    return x[1] * (2.0 if np.isinf(y) else 3.0)


@program(MIXED)
def isfinite_is_tested(x):
    with np.errstate(all="ignore"):
        y = np.log(x)
    return np.sum(x[np.isfinite(y)]) if not np.all(np.isfinite(y)) else np.sum(y)


@program(MIXED)
def a_damped_step_after_a_bad_one(x):
    step = 4.0
    while True:
        with np.errstate(invalid="ignore"):
            value = np.sum(np.log(x + step * np.array([1.0, 0.1])))
        if np.isfinite(value):
            return value
        step *= 2


@program(MIXED)
def assertion_of_finite_values(x):
    with np.errstate(invalid="ignore"):
        y = np.sqrt(x)
    assert np.all(np.isfinite(y)), "not finite"
    return np.sum(y)


@program(np.array([3.2, 4.1]))
def cast_that_would_warn(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        n = x.astype(int)
    return np.sum(x * n)


@program(np.array([1.0 + 2.0j, 0.5j]), smooth=0)
def discarding_the_imaginary_part_warns(x):
    return np.sum(x.astype(float)) + np.sum(x.real) * 0


@program(np.array([1.0, 1.0, 1.0]), smooth=0)
def an_ill_conditioned_fit_warns(x):
    return np.sum(np.polyfit(np.ones(3), x, 2))


@program(np.array([1.0, np.nan]), smooth=0)
def largest_of_nan(x):
    return np.nanmax(x) * 2


@program(np.array([np.nan, np.nan]), smooth=0)
def largest_of_nothing_but_nan_warns(x):
    return np.nan_to_num(np.nanmax(x))


@program(np.array([0.0, 0.0]), smooth=0)
def correlation_of_constants_warns(x):
    return np.sum(np.nan_to_num(np.corrcoef(x, np.array([1.0, 2.0]))))


@program(np.float32(1e30))
def overflow_in_single_precision_is_caught(x):
    with np.errstate(over="raise"):
        try:
            return x * x
        except FloatingPointError:
            return x * np.float32(1e-30)


@program(MIXED)
def warn_once_by_hand(x):
    shown = set()
    for v in x:
        if v < 0 and "negative" not in shown:
            shown.add("negative")
            warnings.warn("negative", RuntimeWarning, stacklevel=1)
    return np.sum(x**2)
