"""`scipy.optimize`: roots, fixed points and minimisers, differentiated by the implicit rule.

SciPy finds the value when the program runs; the derivative is that of the equation which the value
solves (`ad.implicit`), so nothing of the iterations is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError
from adjoint.calculus import implicit
from adjoint.calculus.implicit.layout import Rows
from adjoint.calculus.implicit.problems import Problem, Solver
from adjoint.calculus.jacobians.jacobian import jacobian
from adjoint.capture import sealed
from adjoint.capture.numpy.table import as_array
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.scipy.table import implements_scipy, refuses_scipy


def _as_tuple(args: Any) -> tuple[Any, ...]:
    return args if isinstance(args, tuple) else (args,)


def _floating(x: Any) -> Any:
    return as_array(x) * 1.0


def _double(x: Any) -> Any:
    """A place in double precision, where SciPy's solvers search."""
    return as_array(x) * np.float64(1.0)


def _asked(name: str, function: Callable[..., Any], *starts: Any) -> None:
    """SciPy's own error where starts are not of a shape or dtype that its solver takes."""
    from scipy import optimize

    if any(np.ndim(x) or np.iscomplexobj(x) for x in starts):
        getattr(optimize, name)(function, *(np.zeros(x.shape, x.dtype) for x in starts))


def _one_number(value: Any) -> Any:
    """A value of an equation in one unknown; NumPy's error where it is not one number."""
    like = np.zeros(np.shape(value))
    bool(np.isnan(like))
    float(like)
    return value


def _result(**entries: Any) -> Any:
    from scipy import optimize

    result_class: Any = optimize.OptimizeResult
    return result_class(success=True, status=0, message="solved, and differentiable", **entries)


# --- one equation in one unknown ------------------------------------------------------------------


@dataclass(frozen=True)
class Bracketing(Solver):
    """A method of SciPy's that shrinks an interval; its ends are the first two operands."""

    method: str
    options: tuple[tuple[str, Any], ...]

    def find(self, problem: Problem) -> Rows:
        """SciPy's root of the function that the problem stands for."""
        from scipy import optimize

        ends = [float(end) for end in problem.operands[:2]]
        with sealed("The solver of an implicit function"):
            root = getattr(optimize, self.method)(_number(problem), *ends, **dict(self.options))
        return np.array([root], problem.layout.dtype)


@dataclass(frozen=True)
class Stepping(Solver):
    """Newton's method where slope is true, and the secant method, by SciPy."""

    slope: bool
    options: tuple[tuple[str, Any], ...]

    def find(self, problem: Problem) -> Rows:
        """From where the problem begins."""
        from scipy import optimize

        derivative = None
        if self.slope:

            def derivative(t: Any) -> float:
                return float(problem.matrix(np.array([float(t)]))[0, 0])

        start = float(problem.initial[0])
        with sealed("The solver of an implicit function"):
            root = optimize.newton(_number(problem), start, derivative, **dict(self.options))
        return np.array([float(root)], problem.layout.dtype)


def _number(problem: Problem) -> Callable[[Any], float]:
    dtype = problem.layout.dtype
    return lambda t: float(problem.residual(np.array([float(t)], dtype))[0])


def _bracketed(
    name: str, f: Callable[..., Any], a: Any, b: Any, args: Any, options: dict[str, Any]
) -> Any:
    def residual(y: Any, low: Any, high: Any, *rest: Any) -> Any:
        return _one_number(f(y, *rest))

    low, high = _double(a), _double(b)
    _asked(name, lambda t: t, low, high)
    solver = Bracketing(name, tuple(sorted(options.items())))
    start = 0.5 * (low + high)
    return implicit.root(residual, start, low, high, *_as_tuple(args), solver=solver, polish=1)


def _bracketing(name: str) -> None:
    def function(
        f: Callable[..., Any],
        a: Any,
        b: Any,
        args: Any = (),
        xtol: float = 2e-12,
        rtol: float = 8.881784197001252e-16,
        maxiter: int = 100,
        full_output: bool = False,
        disp: bool = True,
    ) -> Any:
        options = {"xtol": xtol, "rtol": rtol, "maxiter": maxiter}
        root = _bracketed(name, f, a, b, args, options)
        return (root, _root_result(root, name)) if full_output else root

    function.__name__ = name
    implements_scipy("optimize", name)(function)


for _name in ("brentq", "brenth", "bisect", "ridder", "toms748"):
    _bracketing(_name)


def _root_result(root: Any, method: str) -> Any:
    from scipy import optimize

    results: Any = optimize.RootResults
    return results(root, 0, 0, 0, method)


@implements_scipy("optimize")
def newton(
    func: Callable[..., Any],
    x0: Any,
    fprime: Any = None,
    args: Any = (),
    tol: float = 1.48e-8,
    maxiter: int = 50,
    fprime2: Any = None,
    x1: Any = None,
    rtol: float = 0.0,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """A root near x0; in several unknowns by Newton's method."""
    start = _floating(x0)
    if np.ndim(start):
        root = implicit.root(func, start, *_as_tuple(args), polish=1)
    else:
        options: dict[str, Any] = {"tol": tol, "maxiter": maxiter, "rtol": rtol}
        if x1 is not None:
            options["x1"] = float(concrete(x1))
        solver = Stepping(fprime is not None, tuple(sorted(options.items())))

        def residual(y: Any, *rest: Any) -> Any:
            return _one_number(func(y, *rest))

        root = implicit.root(residual, start, *_as_tuple(args), solver=solver, polish=1)
    return (root, _root_result(root, "newton")) if full_output else root


@implements_scipy("optimize")
def root_scalar(
    f: Callable[..., Any],
    args: Any = (),
    method: str | None = None,
    bracket: Any = None,
    fprime: Any = None,
    fprime2: Any = None,
    x0: Any = None,
    x1: Any = None,
    xtol: Any = None,
    rtol: Any = None,
    maxiter: Any = None,
    options: Any = None,
) -> Any:
    """A root with its `root` traced."""
    pairs = (("xtol", xtol), ("rtol", rtol), ("maxiter", maxiter))
    given = {key: value for key, value in pairs if value is not None}
    if bracket is not None and method in (None, "brentq", "brenth", "bisect", "ridder", "toms748"):
        chosen = method or "brentq"
        return _root_result(_bracketed(chosen, f, bracket[0], bracket[1], args, given), chosen)
    function: Callable[..., Any] = (lambda *values: f(*values)[0]) if fprime is True else f
    if "xtol" in given:
        given["tol"] = given.pop("xtol")
    root = newton(function, x0, fprime or (True if method == "newton" else None), args, **given)
    return _root_result(root, method or "newton")


# --- several equations ----------------------------------------------------------------------------


@implements_scipy("optimize")
def root(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    jac: Any = None,
    tol: Any = None,
    callback: Any = None,
    options: Any = None,
) -> Any:
    """A root with its `x` traced; the Jacobian is ours."""
    function: Callable[..., Any] = (lambda *values: fun(*values)[0]) if jac is True else fun
    solver: Any = implicit.SciPy(method)
    start, args = np.atleast_1d(_double(x0)), _as_tuple(args)
    start = np.ravel(start) if method in ("hybr", "lm") else start
    equations = function if np.ndim(x0) else _with_an_axis(function)  # as SciPy calls it
    x = implicit.root(equations, start, *args, solver=solver, polish=1)
    return _result(x=x, fun=equations(x, *args))


def _with_an_axis(function: Callable[..., Any]) -> Callable[..., Any]:
    def equations(*values: Any) -> Any:
        return np.atleast_1d(function(*values))

    return equations


@implements_scipy("optimize")
def fsolve(
    func: Callable[..., Any],
    x0: Any,
    args: Any = (),
    fprime: Any = None,
    full_output: Any = 0,
    col_deriv: Any = 0,
    xtol: float = 1.49012e-08,
    maxfev: int = 0,
    band: Any = None,
    epsfcn: Any = None,
    factor: float = 100,
    diag: Any = None,
) -> Any:
    """The root itself, as an array with at least one axis."""
    if full_output:
        raise UnsupportedFunctionError(
            "scipy.optimize.fsolve of traced values does not take full_output."
        )
    start, args = np.ravel(_double(x0)), _as_tuple(args)
    shape = np.shape(start)

    def residual(y: Any, *rest: Any) -> Any:
        return np.reshape(func(y, *rest), shape)

    return implicit.root(residual, start, *args, solver=implicit.SciPy("hybr"), polish=1)


@implements_scipy("optimize")
def fixed_point(
    func: Callable[..., Any],
    x0: Any,
    args: Any = (),
    xtol: float = 1e-8,
    maxiter: int = 500,
    method: str = "del2",
) -> Any:
    """A root of func(x) - x."""

    def residual(y: Any, *rest: Any) -> Any:
        return func(y, *rest) - y

    return implicit.root(residual, _floating(x0), *_as_tuple(args), polish=1)


# --- minimisers -----------------------------------------------------------------------------------

_WITHOUT_GRADIENT = {"nelder-mead": "BFGS", "powell": "BFGS", "cobyla": "BFGS", "cobyqa": "BFGS"}


@implements_scipy("optimize")
def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: Any = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: Any = None,
    callback: Any = None,
    options: Any = None,
) -> Any:
    """A minimiser with its `x` and `fun` traced; gradients are ours."""
    if bounds is not None or np.size(constraints):
        raise UnsupportedFunctionError(
            "scipy.optimize.minimize of traced values is differentiated where the gradient "
            "vanishes, and so without bounds and constraints. For quadratic programs there is "
            "ad.implicit.quadratic_program; else replace variables so that bounds hold by "
            "themselves."
        )
    args = _as_tuple(args)
    chosen = _WITHOUT_GRADIENT.get(str(method).lower(), method or "BFGS")

    def objective(y: Any, *rest: Any) -> Any:
        value = fun(y, *rest)
        return np.reshape(value[0] if jac is True else value, ())

    start = _double(x0)
    _asked("minimize", lambda y: 0.0, start)
    x = implicit.argmin(objective, start, *args, solver=implicit.SciPy(chosen), polish=2)
    return _result(x=x, fun=objective(x, *args))


@dataclass(frozen=True)
class LineMinimum(Solver):
    """`scipy.optimize.minimize_scalar`; the interval or the bracket is in its options."""

    method: str
    options: tuple[tuple[str, Any], ...]

    def find(self, problem: Problem) -> Rows:
        """SciPy's minimiser of the objective."""
        from scipy import optimize

        def value(t: Any) -> float:
            return problem.value(np.array([float(t)], problem.layout.dtype))[0]

        with sealed("The solver of an implicit function"):
            search: Any = optimize.minimize_scalar
            minimum = search(value, method=self.method, **dict(self.options))
        return np.array([float(minimum.x)], problem.layout.dtype)


@implements_scipy("optimize")
def minimize_scalar(
    fun: Callable[..., Any],
    bracket: Any = None,
    bounds: Any = None,
    args: Any = (),
    method: str | None = None,
    tol: Any = None,
    options: Any = None,
) -> Any:
    """A minimiser within its bounds, where the slope vanishes."""
    given: dict[str, Any] = {}
    for key, value in (("bracket", bracket), ("bounds", bounds)):
        if value is not None:
            given[key] = tuple(float(concrete(number)) for number in value)
    chosen = method or ("brent" if bounds is None else "bounded")
    solver = LineMinimum(chosen, tuple(sorted(given.items())))
    args = _as_tuple(args)

    def objective(y: Any, *rest: Any) -> Any:
        return _one_number(fun(y, *rest))

    x = implicit.argmin(objective, 0.0, *args, solver=solver, polish=2)
    return _result(x=x, fun=fun(x, *args))


@implements_scipy("optimize")
def least_squares(
    fun: Callable[..., Any],
    x0: Any,
    jac: Any = "2-point",
    bounds: Any = None,
    method: str = "trf",
    *,
    args: Any = (),
    kwargs: Any = None,
    **options: Any,
) -> Any:
    """The minimiser of half the sum of squares, with its `x`, `cost` and `fun` traced."""
    loss = options.get("loss", "linear")
    if bounds is not None or loss != "linear":
        raise UnsupportedFunctionError(
            "scipy.optimize.least_squares of traced values takes neither bounds nor a loss; "
            "minimise the loss with scipy.optimize.minimize."
        )
    keywords = kwargs or {}

    def objective(y: Any, *rest: Any) -> Any:
        return 0.5 * np.sum(np.square(fun(y, *rest, **keywords)))

    start = np.atleast_1d(_double(x0))
    _asked("least_squares", lambda y: np.zeros(max(y.size, 1)), start)
    args = _as_tuple(args)
    solver = implicit.SciPy("trust-ncg")
    x = implicit.argmin(objective, start, *args, solver=solver, polish=2)
    residual = fun(x, *args, **keywords)
    return _result(x=x, fun=residual, cost=0.5 * np.sum(np.square(residual)))


@implements_scipy("optimize")
def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: bool = True,
    bounds: Any = None,
    method: Any = None,
    jac: Any = None,
    **options: Any,
) -> Any:
    """Parameters of a curve and their covariance."""
    if p0 is None or bounds is not None or np.ndim(sigma) > 1:
        raise UnsupportedFunctionError(
            "scipy.optimize.curve_fit of traced values needs p0, and takes neither bounds nor a "
            "matrix sigma."
        )
    weight = 1.0 if sigma is None else 1 / as_array(sigma)

    def residual(p: Any) -> Any:
        return weight * (f(xdata, *_parts(p)) - ydata)

    fit = least_squares(residual, p0)
    slopes = jacobian(residual)(fit.x)
    covariance = np.linalg.inv(slopes.T @ slopes)
    if not absolute_sigma:
        count = np.shape(fit.fun)[0] - np.shape(fit.x)[0]
        covariance = covariance * (2 * fit.cost / count)
    return fit.x, covariance


def _parts(p: Any) -> Sequence[Any]:
    return [p[place] for place in range(p.shape[0])]


@implements_scipy("optimize")
def linear_sum_assignment(cost_matrix: Any, maximize: bool = False) -> Any:
    """The assignment at this value: indices, which are constant."""
    from scipy import optimize

    return optimize.linear_sum_assignment(np.asarray(concrete(cost_matrix)), maximize)


refuses_scipy(
    "optimize",
    "solutions on the boundary of constraints are not differentiated; for quadratic programs "
    "there is ad.implicit.quadratic_program",
    *("linprog", "milp", "nnls", "lsq_linear", "isotonic_regression"),
)
refuses_scipy(
    "optimize",
    "it searches at random; refine what it finds with scipy.optimize.minimize, which is "
    "differentiated",
    *("differential_evolution", "dual_annealing", "basinhopping", "shgo", "direct", "brute"),
)
