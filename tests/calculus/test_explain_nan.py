"""`ad.explain_nan` names the operation that is at fault, in programs with one planted at random."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.arrays import array_type
from adjoint.calculus.inspecting.walking import ProgramRun, Walk
from adjoint.loops import CHECKPOINT
from adjoint.primitives.elementwise.arithmetic import MULTIPLY
from adjoint.program import Builder, Literal, operation

SAFE = (
    "y = np.sin(y) + 2.0",
    "y = y * 1.5",
    "y = y / (1.0 + y)",
    "y = np.exp(-y) + 0.5",
    "y = y[::-1] * 1.0",
    "y = np.where(y > 0.2, y, y + 0.1)",
    "y = y + np.mean(y)",
    "y = np.concatenate([y[2:], y[:2]]) * 0.9 + 0.2",
    "y = weights @ y * 0.2 + 0.6",
    "y = np.sqrt(y + 1.0)",
    "y = np.maximum(y, 0.3) + np.sum(y**2) * 0.01",
    "y[1:] += 0.1 * y[:-1]; y = np.cos(y) + 2.0",
    "y = np.where(y > 5.0, np.sqrt(y - 5.0), y)",  # NaN that no path leads to
    "y = y + np.linalg.norm(y) + np.linalg.solve(weights + 4 * np.eye(4), y) ** 2",
    "y = np.sort(y) + np.cumsum(y) * 0.1 + y.reshape(2, 2).T.ravel()",
)
# {here}: 1 at the entry that is to be wrong, and 0 elsewhere; {keep}: the other way round. With the
# operation at fault, and whether its derivative is.
PLANTED = (
    ("y = y + np.log(y * {keep} - {here})", "log", False),
    ("y = y + np.sqrt(y * {keep} - {here})", "sqrt", False),
    ("y = y + (y * {keep}) / (y * {keep})", "divide", False),
    ("y = y + np.arccos(0 * y + 2 * {here})", "arccos", False),
    ("y = y + {keep} * np.log(y * {keep})", "log", False),
    ("y = y + np.exp(y + 1000 * {here}) / np.exp(y + 1000 * {here})", "exp", False),
    ("y = y + (y - 4.0 * {here} - 1e-3) ** 0.5 * {here}", "sqrt", False),
    ("y = y + np.sqrt(y * {keep})", "sqrt", True),
    ("y = y + (y * {keep}) ** 0.5", "sqrt", True),
    ("y = y + np.cbrt(y * {keep})", "cbrt", True),
    ("y = y + np.arccos(0.1 * y * {keep} + {here})", "arccos", True),
    ("y = y + np.arcsin(0.1 * y * {keep} - {here})", "arcsin", True),
    ("y = y + np.sum(np.sqrt(y * {keep}))", "sqrt", True),
)
POINT = np.array([0.7, 1.3, 0.9, 1.6])


def function_of(source, seed):
    name = f"<planted {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    weights = np.random.default_rng(3).uniform(0.1, 1.0, (4, 4))
    names = {"np": np, "ad": ad, "weights": weights, "units": np.eye(4)}
    exec(compile(source, name, "exec"), names)
    return names["f"]


def planted(seed):
    """A program, with the line, entry and operation at fault, and the round of its loop."""
    rng = np.random.default_rng(seed)
    template, operation, derivative = PLANTED[rng.integers(len(PLANTED))]
    entry, turn = int(rng.integers(4)), int(rng.integers(4)) if seed % 4 == 0 else None
    here = f"units[{entry}]" if turn is None else f"(units[{entry}] * (k == {turn}))"
    fault = template.format(here=here, keep=f"(1 - {here})")
    before, after = (
        [SAFE[n] for n in rng.integers(len(SAFE), size=k)] for k in rng.integers(4, size=2)
    )
    if turn is None:
        lines = [*before, fault, *after]
        source = ["def f(x):", "    y = x.copy()", *(f"    {line}" for line in lines)]
        number = 3 + len(before)
    else:
        body = [f"        {line}" for line in ("y = y.copy()", "y = np.cos(y) + 2.0", fault)]
        source = ["def f(x):", "    y = x.copy()", *(f"    {line}" for line in before)]
        source += ["    def step(k, y):", *body, "        return y"]
        source += ["    y = ad.fori_loop(0, 4, step, y)"]
        number = len(source)
    source.append("    return np.sum(y)")
    return function_of("\n".join(source) + "\n", seed), number, entry, operation, derivative, turn


@pytest.mark.parametrize("seed", range(100))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_operation_at_fault_is_named(seed):
    f, number, entry, operation, derivative, turn = planted(seed)
    report = ad.explain_nan(f, POINT)
    value, slope = ad.value_and_grad(f)(POINT)
    assert np.isnan(value) == (not derivative)
    assert np.isnan(slope).any() or not derivative
    step = report.culprit
    assert step.line == f"<planted {seed}>:{number}"
    assert step.text == linecache.getline(f"<planted {seed}>", number).strip()
    assert step.index == (entry,)
    assert step.round == turn
    if turn is None or not derivative:
        assert step.operation.partition("[")[0] == operation
    assert (report.place.value == "the derivative") == derivative
    assert step.derivative == derivative
    assert not np.isfinite(step.result)
    assert str(number) in str(report)


@pytest.mark.parametrize("seed", range(20))
def test_without_a_nan_there_is_nothing_to_explain(seed):
    rng = np.random.default_rng(seed)
    lines = [SAFE[n] for n in rng.integers(len(SAFE), size=5)]
    source = ["def f(x):", "    y = x.copy()", *(f"    {line}" for line in lines), "    return y"]
    assert ad.explain_nan(function_of("\n".join(source) + "\n", f"safe {seed}"), POINT) is None


def test_an_argument_or_a_constant_that_is_nan():
    report = ad.explain_nan(lambda x, y: np.sum(x) * y, np.array([1.0, np.nan]), 2.0)
    assert (report.culprit.operation, report.culprit.index) == ("argument", (1,))
    weights = np.ones((2, 2))
    weights[1, 0] = np.nan
    report = ad.explain_nan(lambda x: weights @ x, np.ones(2))
    assert (report.culprit.operation, report.culprit.index) == ("constant", (1, 0))
    assert "weights @ x" in report.culprit.text


def test_the_derivative_of_a_derivative():
    def f(x):
        return np.sum(np.abs(x) ** 1.5)

    assert ad.explain_nan(f, np.array([1.0, 0.0])) is None
    report = ad.explain_nan(lambda x: ad.grad(f)(x)[1] ** 2, np.array([1.0, 0.0]))
    assert (report is None) == (
        not np.isnan(ad.grad(lambda x: ad.grad(f)(x)[1] ** 2)(np.array([1.0, 0.0]))).any()
    )


def test_functions_without_a_derivative():
    assert ad.explain_nan(lambda n: n + 1, 3) is None
    with pytest.raises(ad.errors.ArgumentTypeError):
        ad.explain_nan(lambda: 1.0)


def test_a_number_that_a_loop_is_written_with():
    def f(x):
        return np.sum(ad.fori_loop(0, 3, lambda k, y: y * np.nan, x))

    report = ad.explain_nan(f, np.ones(2))
    assert (report.culprit.operation, "fori_loop" in report.culprit.text) == ("constant", True)


def test_a_number_in_the_text_of_a_body_is_where_the_way_ends():
    builder = Builder()
    x = builder.input(array_type((2,), np.dtype(float)))
    (product,) = builder.emit(operation(MULTIPLY), [x, Literal(float("nan"))])
    body = builder.build([product])
    builder = Builder()
    x = builder.input(array_type((2,), np.dtype(float)))
    results = builder.emit(operation(CHECKPOINT, body=body, schedule=None), [x])
    program = builder.build(results)
    walk = Walk(ProgramRun(program, [np.ones(2)]), program.outputs[0], (1,))
    assert walk.outbreaks == []
    assert walk.given is not None
    assert (walk.given.number, np.isnan(walk.given.value)) == (None, True)
    assert walk.given.user is program.equations[0]
