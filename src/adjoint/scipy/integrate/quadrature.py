"""`scipy.integrate`: sums over samples, and integrals of functions.

`quad` becomes one operation that runs SciPy's adaptive rule when the program runs. Its derivative
is differentiated under the integral sign, and is such an integral in turn, with its own adaptive
rule, so that it is as accurate as the value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from adjoint.base.arrays import array_type
from adjoint.base.errors import UnsupportedFunctionError, ValueNeededError
from adjoint.calculus.control_flow.bodies import capture_body
from adjoint.calculus.implicit.recording import apply_or_run
from adjoint.capture.numpy.table import as_array, as_operand
from adjoint.capture.scipy.table import implements_scipy, refuses_scipy
from adjoint.pipeline import Compiled, compile_program, watch_all
from adjoint.primitives.calls.custom import Marks
from adjoint.primitives.calls.integrals import INTEGRAL, Integral
from adjoint.program import Program
from adjoint.transforms import jvp, vjp, vmap

_NUMBER = array_type((), np.dtype(float))

# --- integrands that are differentiated -----------------------------------------------------------


class Quadrature:
    """An integrand (t, *operands) -> values as an `Integral`.

    options: what SciPy's rule is told, as sorted pairs. base, marks: what it is the derivative of
    (its last operands are tangents or cotangents). rows: how many intervals, if several.
    """

    def __init__(
        self,
        program: Program,
        options: tuple[tuple[str, Any], ...],
        base: Program | None = None,
        marks: Marks = (),
        pulled: bool = False,
        rows: int = 0,
    ) -> None:
        self.program, self.options, self.rows = program, options, rows
        self.base, self.marks, self.pulled = base, marks, pulled

    @cached_property
    def integral(self) -> Integral:
        """What programs hold."""
        linear = 0
        if self.base is not None:
            linear = len(self.program.inputs) - len(self.base.inputs)
        return Integral(
            ("quadrature", self.program, self.options, linear, self.rows),
            self.program,
            linear,
            self.evaluate,
            self.derive,
            self.transpose,
            self.batch,
        )

    @cached_property
    def compiled(self) -> Compiled:
        """The integrand, to be run."""
        return compile_program(self.program, watch_all(self.program))

    def evaluate(self, a: Any, b: Any, *operands: Any) -> tuple[Any, ...]:
        """The integrals of all values, by SciPy."""
        types = self.integral.types
        arrays = [np.asarray(operand) for operand in operands]

        def flat(t: Any) -> Any:
            outputs = self.compiled([np.asarray(t, float)[()], *arrays])
            return np.concatenate([np.ravel(output) for output in outputs])

        if self.rows:
            total = self._each_row(np.asarray(a, float), np.asarray(b, float), arrays)
        else:
            total = _adaptive(flat, float(a), float(b), self.options)
        parts = np.split(total, np.cumsum([type_.size for type_ in types])[:-1])
        return tuple(
            np.asarray(part.reshape(type_.shape), type_.dtype)
            for part, type_ in zip(parts, types, strict=True)
        )

    def _each_row(self, a: Any, b: Any, arrays: Sequence[Any]) -> Any:
        """Example by example: each has an interval of its own."""
        types = self.integral.types
        integrals = [np.zeros(type_.shape, type_.dtype) for type_ in types]
        for row in range(self.rows):

            def flat(t: Any, row: int = row) -> Any:
                whole = np.full(self.rows, t)
                values = self.compiled([whole, *arrays])
                return np.concatenate([np.ravel(value[row]) for value in values])

            total = _adaptive(flat, float(a[row]), float(b[row]), self.options)
            sizes = np.cumsum([integral[row].size for integral in integrals])[:-1]
            for integral, part in zip(integrals, np.split(total, sizes), strict=True):
                integral[row] = part.reshape(integral[row].shape)
        return np.concatenate([np.ravel(integral) for integral in integrals])

    def derive(self, marks: Marks) -> tuple[Integral, Marks]:
        """The integrand's derivative in the operands marked."""
        marks = (False, *marks)
        whole, count = jvp(self.program, marks), len(self.program.outputs)
        program = Program(whole.inputs, whole.equations, whole.outputs[count:])
        varying = tuple(type_.inexact for type_ in self.program.output_types)
        quadrature = Quadrature(program, self.options, self.program, marks, rows=self.rows)
        return quadrature.integral, varying

    def transpose(self) -> Integral:
        """Cotangents of what the integrand is linear in."""
        assert self.base is not None
        if self.pulled:
            whole, count = jvp(self.base, self.marks), len(self.base.outputs)
        else:
            whole, count = vjp(self.base, self.marks), len(self.base.outputs)
        program = Program(whole.inputs, whole.equations, whole.outputs[count:])
        quadrature = Quadrature(
            program, self.options, self.base, self.marks, not self.pulled, rows=self.rows
        )
        return quadrature.integral

    def batch(self, batched: Marks, size: int) -> Integral:
        """The integrand over a batch; one interval for each example where the ends are batched."""
        rows = size if batched[0] else 0
        if self.rows:
            raise UnsupportedFunctionError(
                "An integral with batched limits cannot be batched again (vmap of vmap of quad)."
            )
        marks = (batched[0], *batched[2:])
        base = None
        if self.base is not None:
            kept = len(self.base.inputs)
            base = vmap(self.base, marks[:kept], size)
        program = vmap(self.program, marks, size)
        return Quadrature(program, self.options, base, self.marks, self.pulled, rows=rows).integral


def _adaptive(
    function: Callable[[Any], Any], a: float, b: float, options: tuple[tuple[str, Any], ...]
) -> Any:
    """SciPy's rules: `quad` for a single number, as a user has it, and `quad_vec` for more."""
    from scipy import integrate

    given = dict(options)
    example = function(_inside(a, b))
    if example.size == 0:
        return example
    if np.isnan(a) or np.isnan(b):  # there is nobody to raise an error to
        return np.full_like(example, np.nan)
    if example.size == 1 and example.dtype.kind == "f":
        return np.array([integrate.quad(lambda t: float(function(t)[0]), a, b, **given)[0]])
    points = given.get("points")
    return integrate.quad_vec(
        function,
        a,
        b,
        epsabs=given.get("epsabs", 1.49e-8) * 1e-2,
        epsrel=given.get("epsrel", 1.49e-8),
        limit=max(given.get("limit", 50), 200),
        points=points,
        norm="max",
    )[0]


def _inside(a: float, b: float) -> float:
    if np.isfinite(a) and np.isfinite(b):
        return 0.5 * (a + b)
    return a + 1.0 if np.isfinite(a) else b - 1.0 if np.isfinite(b) else 0.0


def _captured(function: Callable[..., Any], args: tuple[Any, ...], name: str) -> Any:
    """The integrand as a program (t, *constants), and the constants."""
    try:
        body = capture_body(function, lambda target, traced: target(traced[0], *args), [_NUMBER])
    except ValueNeededError as error:
        raise ValueNeededError(
            f"The integrand of scipy.integrate.{name} asked for the value of an array (by `if`, "
            "float() or an index), which is not known where it is integrated. Choose with "
            "np.where, and give the places where it breaks by points=."
        ) from error
    count = len(body.constants)
    inputs = body.program.inputs
    program = Program(
        (inputs[count], *inputs[:count]), body.program.equations, body.program.outputs
    )
    return program, body.constants


def _integrate(
    function: Callable[..., Any], a: Any, b: Any, args: Any, options: dict[str, Any], name: str
) -> Any:
    args = args if isinstance(args, tuple) else (args,)
    program, constants = _captured(function, args, name)
    if len(program.outputs) != 1:
        raise UnsupportedFunctionError(
            f"The integrand of scipy.integrate.{name} must return one array or number; it "
            f"returned {len(program.outputs)}."
        )
    pairs = tuple(sorted((key, value) for key, value in options.items() if value is not None))
    quadrature = Quadrature(program, pairs)
    operands = [as_array(a) * 1.0, as_array(b) * 1.0, *constants]
    (integral,) = apply_or_run(
        INTEGRAL, operands, quadrature.evaluate, integral=quadrature.integral
    )
    return integral


@implements_scipy("integrate")
def quad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    full_output: Any = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Any = None,
    weight: Any = None,
    wvar: Any = None,
    wopts: Any = None,
    maxp1: int = 50,
    limlst: int = 50,
    complex_func: bool = False,
) -> Any:
    """The integral and, in place of an estimate of its error, what was asked for."""
    if full_output or weight is not None or complex_func:
        raise UnsupportedFunctionError(
            "scipy.integrate.quad of traced values does not take full_output, weight and "
            "complex_func. Multiply the integrand by its weight, or take "
            "scipy.integrate.quad_vec."
        )
    places = None if points is None else tuple(float(point) for point in points)
    options = {"epsabs": epsabs, "epsrel": epsrel, "limit": limit, "points": places}
    for end in (a, b):
        float(np.zeros(np.shape(end)))  # NumPy's error where it is not one number
    value = _integrate(func, a, b, args, options, "quad")
    float(np.zeros(np.shape(value)))
    if np.iscomplexobj(value):
        raise UnsupportedFunctionError(
            "scipy.integrate.quad takes real integrands; for complex ones there is quad_vec."
        )
    value = np.float64(1.0) * value
    return value, max(epsabs, epsrel)


@implements_scipy("integrate")
def dblquad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    args: Any = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> Any:
    """The integral of func(y, x) over y from gfun(x) to hfun(x), and that over x from a to b."""
    options: Any = {"epsabs": epsabs, "epsrel": epsrel}

    def strip(x: Any) -> Any:
        return quad(func, _bound(gfun, x), _bound(hfun, x), (x, *args), **options)[0]

    return quad(strip, a, b, **options)


@implements_scipy("integrate")
def tplquad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    qfun: Any,
    rfun: Any,
    args: Any = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> Any:
    """The integral of func(z, y, x), over z from qfun(x, y) to rfun(x, y) first."""
    options: Any = {"epsabs": epsabs, "epsrel": epsrel}

    def column(y: Any, x: Any) -> Any:
        ends = _bound(qfun, x, y), _bound(rfun, x, y)
        return quad(func, *ends, (y, x, *args), **options)[0]

    return dblquad(column, a, b, gfun, hfun, **options)


def _bound(bound: Any, *places: Any) -> Any:
    return bound(*places) if callable(bound) else bound


@implements_scipy("integrate")
def quad_vec(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    epsabs: float = 1e-200,
    epsrel: float = 1e-08,
    norm: str = "2",
    cache_size: float = 100e6,
    limit: int = 10000,
    workers: int = 1,
    points: Any = None,
    quadrature: Any = None,
    full_output: bool = False,
    *,
    args: Any = (),
) -> Any:
    """The integral of a function with arrays as values."""
    if full_output or quadrature is not None:
        raise UnsupportedFunctionError(
            "scipy.integrate.quad_vec of traced values does not take quadrature and full_output."
        )
    places = None if points is None else tuple(float(point) for point in points)
    options = {"epsabs": max(epsabs, 1e-200), "epsrel": epsrel, "limit": limit, "points": places}
    return _integrate(f, a, b, args, options, "quad_vec"), epsrel


@implements_scipy("integrate")
def fixed_quad(func: Callable[..., Any], a: Any, b: Any, args: Any = (), n: int = 5) -> Any:
    """Gauss's rule with n points."""
    points, weights = np.polynomial.legendre.leggauss(n)
    y = (b - a) * (points + 1) / 2.0 + a
    return (b - a) / 2.0 * np.sum(weights * func(y, *args), axis=-1), None


# --- sums over samples ----------------------------------------------------------------------------


@implements_scipy("integrate")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The trapezoidal rule."""
    return np.trapezoid(y, x, dx, axis)


def _steps(y: Any, x: Any, dx: Any) -> Any:
    """The lengths of the intervals along the last axis."""
    if x is None:
        return np.ones(y.shape[-1] - 1) * dx
    return np.diff(x)


@implements_scipy("integrate")
def cumulative_trapezoid(
    y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> Any:
    """The trapezoidal rule up to each sample."""
    y = np.moveaxis(as_operand(y), axis, -1)
    x = _last(x, axis)
    integrals = np.cumsum(_steps(y, x, dx) * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1)
    if initial is not None:
        integrals = np.concatenate(
            [np.zeros((*integrals.shape[:-1], 1)) + initial, integrals], axis=-1
        )
    return np.moveaxis(integrals, -1, axis)


def _last(x: Any, axis: int) -> Any:
    if x is None:
        return None
    x = as_operand(x)
    return x if x.ndim == 1 else np.moveaxis(x, axis, -1)


@implements_scipy("integrate")
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """Simpson's rule; with an even number of samples corrected as Cartwright's, as SciPy does."""
    y = np.moveaxis(as_operand(y), axis, -1)
    h = _steps(y, _last(x, axis), dx)
    if np.iscomplexobj(h):
        raise UnsupportedFunctionError(
            "scipy.integrate.simpson takes the real parts of complex places; write x.real."
        )
    h = 1.0 * h
    count = y.shape[-1]
    if count % 2:
        return _simpson(y, h)
    if count == 2:
        return 0.5 * h[..., 0] * (y[..., 0] + y[..., 1])
    first, last = h[..., -2], h[..., -1]
    both = first + last
    alpha = _quotient(2 * last**2 + 3 * first * last, 6 * both)
    beta = _quotient(last**2 + 3 * first * last, 6 * first)
    eta = _quotient(last**3, 6 * first * both)
    rest = _simpson(y[..., :-1], h[..., :-1])
    return rest + alpha * y[..., -1] + beta * y[..., -2] - eta * y[..., -3]


def _simpson(y: Any, h: Any) -> Any:
    first, second = h[..., 0::2], h[..., 1::2]
    both = first + second
    ratio = _quotient(first, second)
    terms = (
        both
        / 6.0
        * (
            y[..., 0:-2:2] * (2.0 - _quotient(1.0, ratio))
            + y[..., 1:-1:2] * both * _quotient(both, first * second)
            + y[..., 2::2] * (2.0 - ratio)
        )
    )
    return np.sum(terms, axis=-1)


def _quotient(one: Any, other: Any) -> Any:
    """one / other, and 0 where other is: SciPy's rule for intervals without length."""
    some = other != 0
    return np.where(some, one / np.where(some, other, 1.0), 0.0)


refuses_scipy(
    "integrate",
    "general and special rules are not supported; nest quad, or sum with fixed_quad or trapezoid",
    *("nquad", "qmc_quad", "cubature", "nsum", "tanhsinh"),
)
refuses_scipy(
    "integrate",
    "boundary value problems are not supported; write the collocation equations and solve them "
    "with ad.implicit.root",
    "solve_bvp",
)
