"""`scipy.stats`: the methods of distributions, and what SciPy's code for them is made of.

The formulas of a distribution (`_logpdf`, `_cdf`, ...) are SciPy's own, which run as clones: their
modules are entered. Around them SciPy leaves out what lies outside of the support, by asking for
values. Here the formulas are given all entries, NaN where they do not hold, and `np.where` chooses:
nothing is asked, so that a batch and a compiled function take one path.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.errors import AdjointError, UnsupportedFunctionError
from adjoint.capture.clones.callee import reached
from adjoint.capture.numpy.table import as_array, perform, strong, unwrap_all, wrap_list
from adjoint.capture.recording.tracing.traced import Traced, value_of
from adjoint.capture.recording.values.valued import any_slot, refuse
from adjoint.capture.scipy.table import implements_scipy, replaces
from adjoint.primitives.elementwise.conversion import STOP_GRADIENT
from adjoint.primitives.special.declaring import SPECIAL

_HOME = "scipy.stats._distn_infrastructure"


class DistributionMethod(NamedTuple):
    """A method of a distribution.

    closed: whether its formula holds at the ends of the support. below, above: its values beyond.
    scaled: what becomes of its value where x is divided by a scale.
    """

    name: str
    closed: bool
    below: float
    above: float
    scaled: Callable[[Any, Any], Any] | None = None


CONTINUOUS = (
    DistributionMethod("pdf", True, 0.0, 0.0, lambda value, scale: value / scale),
    DistributionMethod(
        "logpdf", True, -np.inf, -np.inf, lambda value, scale: value - np.log(scale)
    ),
    DistributionMethod("cdf", False, 0.0, 1.0),
    DistributionMethod("logcdf", False, -np.inf, 0.0),
    DistributionMethod("sf", False, 1.0, 0.0),
    DistributionMethod("logsf", False, 0.0, -np.inf),
)


def formula(distribution: Any, name: str) -> Callable[..., Any]:
    """A method of SciPy's own, as a clone."""
    method: Callable[..., Any] = reached(getattr(distribution, name))
    return method


def array_of(value: Any) -> Any:
    """`np.asarray` of an argument, whose dtype counts in promotions."""
    value = strong(value)
    return value if type(value) is Traced else np.asarray(value)


def as_type(array: Any, dtype: Any) -> Any:
    """An array in a type."""
    return array if array.dtype == dtype else array.astype(dtype)


def all_hold(mask: Any) -> bool:
    """Whether a mask is known without a question, and leaves nothing out."""
    return not any_slot(mask) and bool(np.all(mask))


def only(mask: Any, value: Any) -> Any:
    """An array where a mask holds, and NaN elsewhere, about which no formula warns."""
    if all_hold(mask) or as_array(value).dtype.kind not in "fc":
        return value
    return np.where(mask, value, np.nan)


def chosen(mask: Any, value: Any, other: Any) -> Any:
    """`np.where`, but for a mask that is known to hold."""
    return value if all_hold(mask) else np.where(mask, value, other)


def applied(function: Callable[..., Any], mask: Any, *arrays: Any) -> Any:
    """A formula of entries, which SciPy gives those where a mask holds, as vectors."""
    shape = np.broadcast_shapes(np.shape(mask), *map(np.shape, arrays))
    vectors = [np.ravel(np.broadcast_to(only(mask, array), shape)) for array in arrays]
    result = function(*vectors)
    return np.reshape(result, shape) if np.size(result) == math.prod(shape) else result


Original = Callable[..., Any]


def _method(name: str, evaluate: Callable[..., Any], kind: str = "rv_continuous") -> None:
    """What runs in the place of a method of all distributions.

    SciPy's own runs where nothing is traced. What is refused in a formula of SciPy's names the
    method, and so does what fails there for the sake of entries that it would not be given.
    """

    def run(original: Original, self: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        own = type(self).__module__.startswith("scipy.")
        if own and not (any_slot(x) or any_slot(args) or any_slot(kwargs)):
            plain = {key: unwrap_all(value) for key, value in kwargs.items()}
            return wrap_list(original(self, unwrap_all(x), *map(unwrap_all, args), **plain))
        place = f"scipy.stats.{self.name}.{name}"
        try:
            return evaluate(self, x, *args, **kwargs)
        except AdjointError as error:
            if own and not str(error).startswith("scipy.stats."):
                error.args = (f"{place}: {error}", *error.args[1:])
            raise
        except Exception as error:
            if not own or _fails_plainly(original, self, x, args, kwargs):
                raise
            refusal = UnsupportedFunctionError(
                f"{place} has no derivative at these arguments: SciPy's formula asks for values "
                f"({type(error).__name__}: {error}). Cut it off with ad.stop_gradient, or give "
                "its derivative with ad.primitive."
            )
            refuse(refusal)
            raise refusal from error

    replaces(_HOME, f"{kind}.{name}")(run)


def _fails_plainly(original: Original, self: Any, x: Any, args: Any, kwargs: Any) -> bool:
    """Whether SciPy fails on the values as well; no, where these are not known."""
    try:
        values = [value_of(a) if type(a) is Traced else a for a in (x, *args, *kwargs.values())]
        if any(value is None for value in values):
            return False
        given = dict(zip(kwargs, values[1 + len(args) :], strict=True))
        original(self, *values[: 1 + len(args)], **given)
    except Exception:
        return True
    return False


def _parsed(distribution: Any, args: Any, kwargs: Any) -> tuple[list[Any], Any, Any, Any]:
    """The shapes, the location, the scale, and whether they are such as the distribution has."""
    shapes, loc, scale = distribution._parse_args(*args, **kwargs)
    shapes = [array_of(shape) for shape in shapes]
    loc, scale = array_of(loc), array_of(scale)
    # Without shapes SciPy's check is the number 1, whose `~` would be no truth.
    good = np.logical_and(formula(distribution, "_argcheck")(*shapes), scale > 0)
    if any_slot(shapes) and distribution.name not in REAL_COUNTS:
        described: Any = getattr(distribution, "_shape_info", tuple)  # SciPy's own have it
        for place, info in enumerate(described()):
            if info.integrality:
                shapes[place] = counted(shapes[place])
    return [only(good, shape) for shape in shapes], loc, scale, good


def counted(value: Any) -> Any:
    """A number that counts, in which no derivative is taken."""
    return perform(SPECIAL["positive"], value) if any_slot(value) else value


def without_slope(distribution: Any, value: Any, shapes: list[Any]) -> Any:
    """The same value, whose derivative in a shape is NaN where that has one of the `LIMITS`."""
    limits = LIMITS.get(distribution.name)
    for place, mask in () if limits is None else limits(*shapes):
        shape = shapes[place]
        if any_slot(shape):
            nothing = np.where(mask, shape - perform(STOP_GRADIENT, shape), 1.0)
            value = value + np.where(mask, np.cbrt(nothing) - np.cbrt(2.0 * nothing), 0.0)
    return value


# Distributions with parameters that SciPy describes as counts, and takes real numbers for.
REAL_COUNTS = frozenset({"erlang", "nbinom", "betanbinom"})

# Where SciPy has the limit of a formula for one value of a shape, the limit's formula does not
# depend on that shape, and says nothing of the derivative: places of shapes, and where that is.
LIMITS: dict[str, Callable[..., list[tuple[int, Any]]]] = {
    "genpareto": lambda c: [(0, c == 0)],
    "genextreme": lambda c: [(0, c == 0)],
    "kappa4": lambda h, k: [(0, h == 0), (1, k == 0)],
    "tukeylambda": lambda lam: [(0, lam == 0)],
    "pearson3": lambda skew: [(0, np.abs(skew) < 0.000016)],
    "skewnorm": lambda a: [(0, a == 0)],
    "ncx2": lambda df, nc: [(1, nc == 0)],
    "jf_skew_t": lambda a, b: [(0, a == b), (1, a == b)],
    "triang": lambda c: [(0, (c == 0) | (c == 1))],
}


def _continuous(method: DistributionMethod) -> Callable[..., Any]:
    def evaluate(self: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        shapes, loc, scale, good = _parsed(self, args, kwargs)
        x = array_of(x)
        dtype = np.promote_types(x.dtype, np.float64)
        x = as_type((x - loc) / scale, dtype)
        low, high = formula(self, "_get_support")(*shapes)
        if method.closed:
            inside, beyond = good & (low <= x) & (x <= high), x > high
        else:
            inside, beyond = good & (low < x) & (x < high), x >= high
        value = applied(formula(self, f"_{method.name}"), inside, x, *shapes)
        if method.scaled is not None:
            value = method.scaled(value, only(good, scale))
        outside: Any = method.below
        if method.below != method.above:
            outside = np.where(beyond, method.above, method.below)
        value = chosen(inside, without_slope(self, value, shapes), outside)
        return chosen(good & ~np.isnan(x), value, self.badvalue)[()]

    return evaluate


for _entry in CONTINUOUS:
    _method(_entry.name, _continuous(_entry))


def _quantile(name: str) -> Callable[..., Any]:
    def evaluate(self: Any, q: Any, *args: Any, **kwargs: Any) -> Any:
        shapes, loc, scale, good = _parsed(self, args, kwargs)
        q, good = array_of(q), good & (loc == loc)
        low, high = formula(self, "_get_support")(*shapes)
        first, last = (low, high) if name == "ppf" else (high, low)
        inside = good & (q > 0) & (q < 1)
        value = applied(formula(self, f"_{name}"), inside, q * 1.0, *shapes) * scale + loc
        value = without_slope(self, value, shapes)
        value = chosen(~(good & (q == 1)), value, last * scale + loc)
        value = chosen(~(good & (q == 0)), value, first * scale + loc)
        return chosen(good & (q >= 0) & (q <= 1), value, self.badvalue)[()]

    return evaluate


for _name in ("ppf", "isf"):
    _method(_name, _quantile(_name))


# --- discrete distributions -----------------------------------------------------------------------


def _discrete(method: DistributionMethod) -> Callable[..., Any]:
    cumulative = method.below != method.above

    def evaluate(self: Any, k: Any, *args: Any, **kwargs: Any) -> Any:
        shapes, loc, _, good = _parsed(self, args, kwargs)
        k = counted(as_type(array_of(k) - loc, np.dtype(np.float64)))
        low, high = formula(self, "_get_support")(*shapes)
        if cumulative:
            inside = good & (k >= low) & (k < high) & np.isfinite(k)
        else:
            inside = good & (k >= low) & (k <= high)
            if not hasattr(self, "xk"):  # of a table, whose places need not be integers
                inside = inside & formula(self, "_nonzero")(k, *shapes)
        value = applied(formula(self, f"_{method.name}"), inside, k, *shapes)
        if not method.name.startswith("log"):
            value = np.clip(value, 0, 1)
        outside: Any = method.below
        if cumulative:
            outside = np.where(k >= high, method.above, method.below)
        return chosen(good & ~np.isnan(k), chosen(inside, value, outside), self.badvalue)[()]

    return evaluate


for _name in ("pmf", "logpmf"):
    _empty = -np.inf if _name == "logpmf" else 0.0
    _method(_name, _discrete(DistributionMethod(_name, True, _empty, _empty)), "rv_discrete")
for _entry in CONTINUOUS[2:]:
    _method(_entry.name, _discrete(_entry), "rv_discrete")


# --- what the formulas are made of ----------------------------------------------------------------


@implements_scipy("_lib.array_api_extra._lib._funcs")
@implements_scipy("_external.array_api_extra._lib._funcs")  # where it is from SciPy 1.18 on
def apply_where(
    cond: Any,
    args: Any,
    f1: Callable[..., Any],
    f2: Callable[..., Any] | None = None,
    /,
    *,
    fill_value: Any = None,
    xp: Any = None,
    **_: Any,
) -> Any:
    """One function where a condition holds, and another or a number elsewhere."""
    arrays = args if type(args) in (tuple, list) else (args,)
    one = applied(f1, cond, *arrays)
    other = fill_value if f2 is None else applied(f2, ~array_of(cond), *arrays)
    return np.where(cond, one, other)


@implements_scipy("_lib._util", "_lazyselect")
def lazy_select(condlist: Any, choicelist: Any, arrays: Any, default: Any = 0) -> Any:
    """The function whose condition holds, the last one of these."""
    result: Any = default
    for condition, function in zip(condlist, choicelist, strict=False):
        result = np.where(condition, applied(function, condition, *arrays), result)
    return result


@implements_scipy("_lib._array_api")
def xp_promote(*args: Any, broadcast: bool = False, force_floating: bool = False, xp: Any) -> Any:
    """The arguments in their common type, and shape if that is asked for."""
    given = [None if arg is None else array_of(arg) for arg in args]
    arrays = [arg for arg in given if arg is not None]
    dtype = np.result_type(*arrays, *([np.float64] if force_floating else ()))
    shape = np.broadcast_shapes(*map(np.shape, arrays)) if broadcast else ()
    for place, array in enumerate(given):
        if array is not None:
            array = as_type(array, dtype)
            given[place] = np.broadcast_to(array, shape) if broadcast else array
    return given[0] if len(given) == 1 and not broadcast else tuple(given)
