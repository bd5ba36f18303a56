"""`scipy.integrate.solve_ivp`: differential equations, differentiated step by step.

When the program runs, SciPy's adaptive solver chooses the steps; then a loop takes the same steps
by the same Runge-Kutta formula, and the loop is what is differentiated. So the derivative is that
of the very numbers that are returned, in every mode, and as far from that of the true solution as
those are: within the tolerances. The steps themselves are held fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import NotConvergedError, UnsupportedFunctionError, ValueNeededError
from adjoint.calculus.control_flow import scan
from adjoint.calculus.control_flow.bodies import capture_body
from adjoint.calculus.implicit.recording import apply_or_run
from adjoint.capture.numpy.table import as_array
from adjoint.capture.recording.tracing.applying import concrete, peek
from adjoint.capture.recording.tracing.traced import from_array
from adjoint.capture.scipy.table import implements_scipy
from adjoint.pipeline import compile_program
from adjoint.primitives.calls.custom import Marks
from adjoint.primitives.calls.initial_value import STEPS, Steps
from adjoint.program import Program

_METHODS = ("RK45", "RK23", "DOP853")
_UNKNOWN = 512  # steps that are foreseen inside vmap, where no value is known

Options = tuple[tuple[str, Any], ...]


class StepFinder:
    """SciPy's steps for y' = f(t, y), cut at the nodes where the solution is asked for.

    program: (t, y, *constants) -> y'. nodes: how many, the beginning included. length: how many
    steps there is room for; what is left repeats the end. rows: how many examples, if batched, and
    marks: of which operands.
    """

    def __init__(
        self, program: Program, method: str, options: Options, nodes: int, length: int
    ) -> None:
        self.program, self.method, self.options = program, method, options
        self.nodes, self.length = nodes, length
        self.run = compile_program(program)

    def steps(self) -> Steps:
        """What programs hold."""
        whole, real = np.dtype(np.intp), np.dtype(float)
        types = (
            array_type((self.length,), whole),
            array_type((self.length,), real),
            array_type((self.nodes - 1,), whole),
        )
        key = ("steps", self.program, self.method, self.options, self.nodes, self.length)
        return Steps(
            key, types, self.evaluate, lambda marks, size: _batched(key, types, self, marks, size)
        )

    def times(self, nodes: Any, y: Any, constants: Sequence[Any]) -> Any:
        """The ends of SciPy's steps."""
        from scipy import integrate

        def slope(t: Any, y: Any) -> Any:
            (derivative,) = self.run([np.float64(t), y, *constants])
            return derivative

        ends = (float(nodes[0]), float(nodes[-1]))
        solve: Any = integrate.solve_ivp
        solution = solve(slope, ends, y, self.method, **dict(self.options))
        if not solution.success:
            raise NotConvergedError(f"scipy.integrate.solve_ivp failed: {solution.message}")
        return solution.t

    def evaluate(self, nodes: Any, y: Any, *constants: Any) -> tuple[Any, ...]:
        """The interval of each step, where in it the step ends, and the last step of each."""
        times = self.times(nodes, np.asarray(y), [np.asarray(constant) for constant in constants])
        places: list[int] = []
        shares: list[float] = []
        lasts = []
        forward = nodes[-1] >= nodes[0]
        for number in range(self.nodes - 1):
            low, high = nodes[number], nodes[number + 1]
            within = (times > low) & (times < high) if forward else (times < low) & (times > high)
            fractions = [*((times[within] - low) / (high - low)), 1.0] if high != low else [1.0]
            shares += fractions
            places += [number] * len(fractions)
            lasts.append(len(shares) - 1)
        missing = self.length - len(shares)
        if missing < 0:
            raise NotConvergedError(
                f"scipy.integrate.solve_ivp took {len(shares)} steps, and {self.length} were "
                "foreseen when the function was captured. Capture it again at such values, or "
                "loosen the tolerances."
            )
        places += [self.nodes - 2] * missing
        shares += [1.0] * missing
        return np.array(places, np.intp), np.array(shares), np.array(lasts, np.intp)


def _batched(key: Any, types: tuple[ArrayType, ...], inner: Any, marks: Marks, size: int) -> Steps:
    def evaluate(*operands: Any) -> tuple[Any, ...]:
        pairs = list(zip(operands, marks, strict=True))
        rows = [
            inner.evaluate(*(x[row] if mark else x for x, mark in pairs)) for row in range(size)
        ]
        return tuple(np.stack(column) for column in zip(*rows, strict=True))

    wide = tuple(array_type((size, *type_.shape), type_.dtype) for type_ in types)
    whole = ("batched", key, marks, size)
    steps: Steps
    steps = Steps(
        whole, wide, evaluate, lambda more, count: _batched(whole, wide, steps, more, count)
    )
    return steps


def _captured(fun: Callable[..., Any], y: Any, args: tuple[Any, ...]) -> tuple[Program, list[Any]]:
    """f as a program (t, y, *constants), and the constants."""
    types = [array_type((), np.dtype(float)), array_type(np.shape(y), y.dtype)]

    def call(target: Any, traced: Sequence[Any]) -> Any:
        return _as_vector(target(traced[0], traced[1], *args))

    try:
        body = capture_body(fun, call, types)
    except ValueNeededError as error:
        raise ValueNeededError(
            "The right-hand side of scipy.integrate.solve_ivp asked for the value of an array (by "
            "`if`, float() or an index), which is not known where it is integrated. Choose with "
            "np.where."
        ) from error
    count, inputs = len(body.constants), body.program.inputs
    program = Program(
        (*inputs[count:], *inputs[:count]), body.program.equations, body.program.outputs
    )
    return program, body.constants


def _as_vector(slope: Any) -> Any:
    """A list of numbers as an array, as SciPy takes it."""
    if isinstance(slope, (list, tuple)):
        return np.stack([as_array(component) for component in slope]) if slope else as_array(slope)
    return slope


def _formula(method: str) -> tuple[Any, Any, Any]:
    """The coefficients A, B, C of the method."""
    from scipy import integrate

    kind = getattr(integrate, method)
    count = kind.n_stages
    return kind.A[:count, :count], kind.B, kind.C[:count]


def _step(
    fun: Callable[..., Any], formula: Any, y: Any, t: Any, h: Any, args: tuple[Any, ...]
) -> Any:
    """One step of an explicit Runge-Kutta formula."""
    stages: list[Any] = []
    for row, place in zip(formula[0], formula[2], strict=True):
        moved = y
        for weight, stage in zip(row, stages, strict=False):
            if weight:
                moved = moved + (h * weight) * stage
        stages.append(_as_vector(fun(t + place * h, moved, *args)))
    for weight, stage in zip(formula[1], stages, strict=True):
        if weight:
            y = y + (h * weight) * stage
    return y


def _solution(
    fun: Callable[..., Any],
    nodes: Any,
    y0: Any,
    args: tuple[Any, ...],
    method: str,
    options: dict[str, Any],
) -> tuple[Any, Any, Any]:
    """The ends of all steps, y there, and the number of the last step before each node."""
    program, constants = _captured(fun, y0, args)
    pairs = tuple(sorted((name, value) for name, value in options.items() if value is not None))
    operands = [nodes, y0, *constants]
    count = np.shape(nodes)[0]
    steps = _solution_steps(program, method, pairs, count, operands)
    place, share, lasts = steps
    low, width = _rows(nodes, place), _rows(nodes[1:] - nodes[:-1], place)
    ends = low + width * share
    starts = np.concatenate([nodes[:1], ends[:-1]])
    formula = _formula(method)

    def body(y: Any, step: Any) -> Any:
        t, h = step
        y = _step(fun, formula, y, t, h, args)
        return y, y

    _, ys = scan(body, y0, (starts, ends - starts))
    return ends, ys, lasts


def _solution_steps(
    program: Program, method: str, options: Options, count: int, operands: Sequence[Any]
) -> Any:
    """The steps, with room for twice as many as there are at the values that are known now."""
    finder = StepFinder(program, method, options, count, 0)
    try:
        arrays = [np.asarray(peek(operand)) for operand in operands]
        taken = len(finder.times(arrays[0], arrays[1], arrays[2:])) + count
        length = 2 ** int(np.ceil(np.log2(2 * taken)))
    except ValueNeededError:
        length = max(_UNKNOWN, 2 * count)
    finder = StepFinder(program, method, options, count, length)
    steps = finder.steps()
    return apply_or_run(STEPS, operands, steps.evaluate, steps=steps)


def _rows(values: Any, place: Any) -> Any:
    whole = from_array(values) if type(values) is np.ndarray else values
    return whole[place]


@implements_scipy("integrate")
def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """The solution where it is asked for; without t_eval at all steps, the end repeated."""
    from scipy import optimize

    result_class: Any = optimize.OptimizeResult
    if method not in _METHODS or dense_output or events is not None:
        raise UnsupportedFunctionError(
            "scipy.integrate.solve_ivp of traced values takes the methods 'RK45', 'RK23' and "
            "'DOP853', and neither events nor dense_output. For stiff equations write an implicit "
            "step with ad.implicit.root in a loop."
        )
    y0 = np.atleast_1d(as_array(y0))
    y0 = y0 if y0.dtype.kind in "fc" else y0 * 1.0
    ends = [np.reshape(as_array(time) * 1.0, (1,)) for time in (t_span[0], t_span[1])]
    given = None if t_eval is None else as_array(t_eval) * 1.0
    nodes = np.concatenate(ends if given is None else [ends[0], given])
    for name in ("rtol", "atol", "max_step", "first_step"):
        if name in options:
            options[name] = float(concrete(options[name]))
    arguments = () if args is None else tuple(args)
    times, ys, lasts = _solution(fun, nodes, y0, arguments, method, options)
    if given is not None:
        t, y = given, _rows(ys, lasts)
    else:
        t = np.concatenate([nodes[:1], times])
        y = np.concatenate([y0[None], ys], axis=0)
    return result_class(
        t=t,
        y=y.T,
        sol=None,
        t_events=None,
        y_events=None,
        success=True,
        status=0,
        message="solved, and differentiable",
        nfev=0,
        njev=0,
        nlu=0,
    )


@implements_scipy("integrate")
def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: Any = (),
    Dfun: Any = None,
    col_deriv: Any = 0,
    full_output: Any = 0,
    ml: Any = None,
    mu: Any = None,
    rtol: Any = None,
    atol: Any = None,
    tcrit: Any = None,
    h0: float = 0.0,
    hmax: float = 0.0,
    hmin: float = 0.0,
    ixpr: Any = 0,
    mxstep: Any = 0,
    mxhnil: Any = 0,
    mxordn: Any = 12,
    mxords: Any = 5,
    printmessg: Any = 0,
    tfirst: bool = False,
) -> Any:
    """The solution at times t, by Dormand and Prince's formula instead of LSODA."""
    if full_output:
        raise UnsupportedFunctionError(
            "scipy.integrate.odeint of traced values does not take full_output."
        )
    times = as_array(t) * 1.0
    start = np.atleast_1d(as_array(y0) * 1.0)
    arguments = args if isinstance(args, tuple) else (args,)

    def slope(time: Any, y: Any, *rest: Any) -> Any:
        return func(time, y, *rest) if tfirst else func(y, time, *rest)

    options = {"rtol": float(rtol or 1.49012e-8), "atol": float(atol or 1.49012e-8)}
    _, ys, lasts = _solution(slope, times, start, arguments, "DOP853", options)
    return np.concatenate([start[None], _rows(ys, lasts)], axis=0)
