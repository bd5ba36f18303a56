"""NumPy's polynomials whose coefficients may be any array, such as one under capture.

`numpy.polynomial.Polynomial`, `Legendre` and `Chebyshev` are trees with one leaf, `coef`. Where the
leaf is a plain array the tree is NumPy's own object. Where it is another one, it is an object of a
subclass made here, which does the same by operations that every kind of array has: products with
matrices that NumPy's functions give for the basis polynomials, and three-term recurrences.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

import numpy as np
import optree
from numpy.polynomial import Chebyshev, Polynomial
from numpy.polynomial import polyutils as mapping

from adjoint.base.errors import ArgumentError, ArgumentTypeError, UnsupportedFunctionError
from adjoint.base.pytrees import NAMESPACE
from adjoint.spaces.elements.values import describe
from adjoint.spaces.polynomials.bases import KINDS, VANDERMONDE

_CONCRETE: Final = (np.ndarray, np.generic, int, float, complex, list, tuple)


class PolynomialSeries:
    """What the subclasses of NumPy's polynomials do otherwise than NumPy. See the module.

    A mixin: `coef`, `domain`, `window`, `symbol`, `mapparms`, `degree`, `linspace`, `truncate`
    and so on are NumPy's. No coefficient is ever trimmed, since none is known to be zero.
    """

    _kind: Any
    coef: Any
    domain: Any
    window: Any
    symbol: Any
    _symbol: Any

    def __init__(self, coef: Any, domain: Any = None, window: Any = None, symbol: str = "x"):
        coef = _joined(coef)
        plain = isinstance(coef, _CONCRETE)
        # NumPy looks at everything else, and at coefficients that it understands.
        self._kind.__init__(self, coef if plain else [0.0], domain, window, symbol)
        if not plain:
            self.coef = _as_row(coef)

    def __repr__(self) -> str:
        if _is_row(self.coef):
            return repr(self._settled)
        return (
            f"{self._kind.__name__}({self.coef!r}, domain={self.domain!r}, "
            f"window={self.window!r}, symbol={self.symbol!r})"
        )

    def __format__(self, spec: str) -> str:
        return format(self._settled, spec) if _is_row(self.coef) else repr(self)

    def __str__(self) -> str:
        return format(self)

    @property
    def _settled(self) -> Any:
        """NumPy's polynomial, where the coefficients are a plain row."""
        return rebuilt(self._kind, self.coef, self.domain, self.window, self._symbol)

    def has_sametype(self, other: Any) -> bool:
        """Whether the other is a polynomial of the same class."""
        return isinstance(other, self._kind)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, self._kind)
            and _frame(other) == _frame(self)
            and tuple(np.shape(other.coef)) == tuple(np.shape(self.coef))
            and bool(np.all(self.coef == other.coef))
        )

    __hash__ = None  # type: ignore[assignment]  # as NumPy's

    def __reduce__(self) -> Any:
        return rebuilt, (self._kind, self.coef, self.domain, self.window, self._symbol)

    def _with(self, coef: Any) -> Any:
        series = object.__new__(type(self))
        series.__dict__.update(self.__dict__, coef=coef)
        return series

    @property
    def _coefficients(self) -> Any:
        """The coefficients of one polynomial, shape (degree + 1,)."""
        if len(np.shape(self.coef)) != 1:
            raise UnsupportedFunctionError(
                "This is a stack of polynomials, whose coefficients have the shape "
                f"{np.shape(self.coef)}, and has no arithmetic of its own. Use ad.vmap over it, or "
                "take single polynomials from its coefficients."
            )
        return self.coef

    # --- values and compositions -----------------------------------------------------------------

    def __call__(self, arg: Any) -> Any:
        """The value at points, of their shape; or the composition with another polynomial."""
        coef = self._coefficients
        arg = lifted(arg) if isinstance(arg, KINDS) else _joined(arg)
        if isinstance(arg, _CONCRETE):
            points = np.asarray(mapping.mapdomain(np.asarray(arg), self.domain, self.window))
            columns = VANDERMONDE[self._kind](points, len(coef) - 1)
            return np.reshape(columns, (*points.shape, len(coef))) @ coef
        offset, scale = self.mapparms()  # type: ignore[attr-defined]
        return recurrence(self._kind, coef, offset + scale * arg)

    def convert(self, domain: Any = None, kind: Any = None, window: Any = None) -> Any:
        """The same polynomial in another basis, domain or window."""
        kind = self._kind if kind is None else _kind_of(kind)
        domain = kind.domain if domain is None else domain
        window = kind.window if window is None else window
        return self(kind.identity(domain, window=window, symbol=self._symbol))

    # --- arithmetic ------------------------------------------------------------------------------

    def _operand(self, other: Any) -> Any:
        """The coefficients of the other operand, or None if it is none."""
        if hasattr(other, "has_sametype"):  # a polynomial, of any of NumPy's classes
            if not isinstance(other, self._kind) or _frame(other) != _frame(self):
                same = isinstance(other, self._kind) and _frame(other)[:2] == _frame(self)[:2]
                # NumPy's types of error
                raise (ArgumentError if same else ArgumentTypeError)(
                    "Two polynomials combine that have one class, domain, window and symbol. "
                    f"Got {_summary(self)} and {_summary(other)}. p.convert(domain, kind, window) "
                    "changes all but the symbol."
                )
            return lifted(other)._coefficients
        other = _joined(other)
        if isinstance(other, (list, tuple)):
            other = np.asarray(other, float)
        shape = _shape(other)
        return _as_row(other) if shape is not None and len(shape) < 2 else None

    def __neg__(self) -> Any:
        return self._with(-self._coefficients)

    def __add__(self, other: Any) -> Any:
        operand = self._operand(other)
        if operand is None:
            return NotImplemented
        return self._with(_sum(self._coefficients, operand))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        operand = self._operand(other)
        if operand is None:
            return NotImplemented
        return self._with(_sum(self._coefficients, -operand))

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        mine, yours = self._coefficients, self._operand(other)
        if yours is None:
            return NotImplemented
        table = _products(self._kind, len(mine), len(yours), mine.dtype, yours.dtype)
        if len(yours) == 1:
            return self._with(mine.astype(table.dtype) * yours[0])
        return self._with((table @ yours) @ mine)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if _shape(other) != ():
            return NotImplemented
        return self._with(self._coefficients / _as_row(other))

    def __pow__(self, power: Any) -> Any:
        if not isinstance(power, (int, np.integer)) or not 0 <= power <= self._kind.maxpower:
            raise ArgumentError(
                "The power of a polynomial is a non-negative integer, of at most "
                f"{self._kind.maxpower}. Got {power!r}. Evaluate it first for other powers."
            )
        if power == 0:
            return self._with(np.ones(1, self._coefficients.dtype))
        product = self
        for _ in range(power - 1):
            product = product * self
        return product

    # --- calculus --------------------------------------------------------------------------------

    def deriv(self, m: int = 1) -> Any:
        """The m-th derivative."""
        _, scale = self.mapparms()  # type: ignore[attr-defined]
        return self._mapped(self._kind._der(np.eye(len(self._coefficients)), m, scale))

    def integ(self, m: int = 1, k: Any = (), lbnd: Any = None) -> Any:
        """The m-th antiderivative, with the integration constants k and the lower bound lbnd."""
        offset, scale = self.mapparms()  # type: ignore[attr-defined]
        k = _joined(k)
        constants = [k] if _shape(k) == () else list(k)
        if m < 0 or len(constants) > m:
            raise ArgumentError(
                "integ takes a non-negative order and at most as many constants. "
                f"Got order {m} and {len(constants)} constants. k=[] gives zeros."
            )
        integral = self
        for number in range(m):
            antiderivatives = self._kind._int(
                np.eye(len(integral._coefficients)), 1, [], 0, 1 / scale
            )
            integral = integral._mapped(antiderivatives)
            if lbnd is not None:
                integral = integral - recurrence(self._kind, integral.coef, offset + scale * lbnd)
            if number < len(constants):
                integral = integral + constants[number]
        return integral._with(integral.coef.astype(self._coefficients.dtype))

    def _mapped(self, matrix: Any) -> Any:
        """The polynomial whose coefficients are a matrix times these."""
        coef = self._coefficients
        return self._with(matrix.astype(coef.dtype) @ coef)

    # --- what has no meaning for coefficients that are not known ---------------------------------

    def _by_numpy(self, name: str, *arguments: Any) -> Any:
        """NumPy's method, where all coefficients are plain rows."""
        operands = [self, *arguments]
        if all(
            not isinstance(operand, PolynomialSeries) or _is_row(operand.coef)
            for operand in operands
        ):
            plain = [
                operand._settled if isinstance(operand, PolynomialSeries) else operand
                for operand in operands
            ]
            return getattr(plain[0], name)(*plain[1:])
        raise UnsupportedFunctionError(
            f"{name.strip('_')} is not supported on a polynomial whose coefficients are being "
            "differentiated. Evaluation, composition, +, -, *, **, deriv, integ and convert are. "
            "Do it outside of the function, or give it a derivative with ad.primitive."
        )

    def roots(self) -> Any:
        """The roots, where no coefficient is under capture."""
        return self._by_numpy("roots")

    def trim(self, tol: float = 0) -> Any:
        """Without small last coefficients, where no coefficient is under capture."""
        return self._by_numpy("trim", tol)

    def __divmod__(self, other: Any) -> Any:
        return self._by_numpy("__divmod__", other)

    def __rdivmod__(self, other: Any) -> Any:
        return self._by_numpy("__rdivmod__", other)

    def __floordiv__(self, other: Any) -> Any:
        return self._by_numpy("__floordiv__", other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._by_numpy("__rfloordiv__", other)

    def __mod__(self, other: Any) -> Any:
        return self._by_numpy("__mod__", other)

    def __rmod__(self, other: Any) -> Any:
        return self._by_numpy("__rmod__", other)


def lifted(plain: Any) -> Any:
    """A polynomial of NumPy's as a `PolynomialSeries`."""
    if isinstance(plain, PolynomialSeries):
        return plain
    if type(plain) not in KINDS:
        raise UnsupportedFunctionError(
            f"{type(plain).__name__} inherits from a polynomial of NumPy's, and may override what "
            "is done with it here: arithmetic and compositions with traced values are those of "
            "NumPy's classes alone. Call it at points, or write the arithmetic in NumPy."
        )
    return as_series(plain)


def as_series(plain: Any) -> Any:
    """What a polynomial is by its class of NumPy's, whatever a class that inherits does."""
    series: Any = object.__new__(SERIES[_kind_of(type(plain))])
    series.__dict__ = plain.__dict__  # shared, so that later changes of the original are seen
    return series


def rebuilt(kind: Any, coef: Any, domain: Any, window: Any, symbol: str = "x") -> Any:
    """NumPy's polynomial with these coefficients; ours where they are no plain row."""
    plain = _is_row(coef)
    # Without __init__: it copies, and the leaf may be anything while a tree is being mapped.
    series: Any = object.__new__(kind if plain else SERIES[kind])
    series.coef, series.domain, series.window, series._symbol = coef, domain, window, symbol
    return series


def recurrence(kind: Any, coef: Any, x: Any) -> Any:
    """sum_k coef_k P_k(x) by P_(k+1) = a_k x P_k - b_k P_(k-1), for arrays and polynomials x."""
    total = coef[0] + 0 * x
    if len(coef) == 1:
        return total
    total, previous, current = total + coef[1] * x, 1.0, x
    for k in range(1, len(coef) - 1):
        if kind is Polynomial:
            following = x * current
        elif kind is Chebyshev:
            following = 2 * x * current - previous
        else:
            following = ((2 * k + 1) * x * current - k * previous) / (k + 1)
        total, previous, current = total + coef[k + 1] * following, current, following
    return total


@lru_cache(maxsize=64)
def _products(kind: Any, rows: int, columns: int, one_dtype: Any, other_dtype: Any) -> Any:
    """T with (P_i P_j) = sum_k T_kij P_k, shape (rows + columns - 1, rows, columns).

    Its dtype is what NumPy's product of polynomials with coefficients of these dtypes has.
    """
    dtype = kind._mul(np.ones(rows, one_dtype), np.ones(columns, other_dtype)).dtype
    table = np.zeros((rows + columns - 1, rows, columns), dtype)
    for i, one in enumerate(np.eye(rows)):
        for j, other in enumerate(np.eye(columns)):
            product = kind._mul(one, other)
            table[: len(product), i, j] = product
    table.setflags(write=False)
    return table


def _joined(values: Any) -> Any:
    """A list with numbers under capture as an array; anything else unchanged."""
    if isinstance(values, (list, tuple)) and not all(isinstance(v, _CONCRETE) for v in values):
        return np.stack(values)
    return values


def _sum(one: Any, other: Any) -> Any:
    """The sum of two rows of coefficients, the shorter one continued by zeros."""
    count = max(len(one), len(other))
    return _padded(one, count) + _padded(other, count)


def _padded(row: Any, count: int) -> Any:
    missing = count - len(row)
    return np.concatenate([row, np.zeros(missing, row.dtype)]) if missing else row


def _as_row(coef: Any) -> Any:
    """Coefficients under capture as one row of floating numbers."""
    shape = np.shape(coef)
    if len(shape) > 1 or 0 in shape:
        raise ArgumentError(
            f"The coefficients of a polynomial are one row of numbers. Got {describe(coef)}. "
            "ad.vmap makes many polynomials at once."
        )
    row = np.reshape(coef, (-1,))
    return row if row.dtype.kind in "fc" else row.astype(float)


def _is_row(coef: Any) -> bool:
    return type(coef) is np.ndarray and coef.ndim == 1 and coef.dtype.kind in "fc"


def _shape(value: Any) -> tuple[int, ...] | None:
    if isinstance(value, (int, float, complex)) and not isinstance(value, bool):
        return ()
    shape = getattr(value, "shape", None)
    return None if shape is None else tuple(shape)


def _kind_of(kind: Any) -> Any:
    for known in KINDS:
        if isinstance(kind, type) and issubclass(kind, known):
            return known
    raise ArgumentTypeError(
        "A polynomial that is being differentiated is one of numpy.polynomial's Polynomial, "
        f"Legendre and Chebyshev. Got {kind!r}. Convert to another class outside of the function."
    )


def _frame(series: Any) -> tuple[Any, ...]:
    """What two polynomials must share to be added: domain, window and symbol."""
    return tuple(series.domain.tolist()), tuple(series.window.tolist()), series.symbol


def _summary(series: Any) -> str:
    domain, window, symbol = _frame(series)
    kind = series._kind if isinstance(series, PolynomialSeries) else type(series)
    return f"a {kind.__name__} with domain {domain}, window {window}, symbol {symbol}"


def _split(series: Any) -> tuple[tuple[Any], Any, tuple[str]]:
    kind = series._kind if isinstance(series, PolynomialSeries) else type(series)
    return (series.coef,), (kind, *_frame(series)), ("coef",)


def _join(parts: Any, children: Iterable[Any]) -> Any:
    kind, domain, window, symbol = parts
    (coef,) = children
    return rebuilt(kind, coef, np.array(domain), np.array(window), symbol)


def _covers(cls: Any, other: type) -> Any:
    """NumPy's own objects are instances too: the class stands for NumPy's under capture."""
    return True if cls._kind in other.__mro__ else NotImplemented


SERIES: Final[dict[Any, Any]] = {
    kind: type(
        kind.__name__,
        (PolynomialSeries, kind),
        {"_kind": kind, "__module__": __name__, "__subclasshook__": classmethod(_covers)},
    )
    for kind in KINDS
}
for _class in (*SERIES.keys(), *SERIES.values()):
    optree.register_pytree_node(
        _class,
        _split,
        _join,
        path_entry_type=optree.GetAttrEntry,
        namespace=NAMESPACE,
    )
