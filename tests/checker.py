"""The one generic checker: what must hold of every primitive, on every sample that it declares.

Each check takes a `Case` (a primitive on one of its samples) and raises `CheckFailure`, which names
the primitive, the sample, the check and the size of the error. What it cannot see: points that no
sample visits, an error smaller than its tolerance, and kinks (samples stay away from them;
`tests/primitives/test_kinks.py` goes there).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.base.arrays import type_of
from adjoint.base.errors import ProgramError
from adjoint.optimise import simplify
from adjoint.primitives import Primitive
from adjoint.primitives.declaration import EmptySlot
from adjoint.primitives.structure.moving import zeros
from adjoint.primitives.typing_rules import resolve
from adjoint.program import (
    Builder,
    Program,
    check_linear,
    check_program,
)
from adjoint.transforms import jvp, linearize, tangent_type, taylor, transpose, vjp, vmap
from adjoint.transforms.jvp import push_forward
from tests.cases import BATCH, Case, cases, close, compiled, run
from tests.vectors import (
    Arrays,
    coordinates,
    differences,
    distance,
    from_coordinates,
    pairing,
    run_wide,
    widened,
)

DIFFERENCE_TOLERANCE = {8: 1e-9, 4: 2e-5}  # by the bytes of the narrowest real part
ADJOINT_TOLERANCE = {8: 1e-12, 4: 1e-5}
ORDER_TOLERANCE = {8: 1e-10, 4: 2e-4}
TAYLOR_TOLERANCE = {8: 1e-11, 4: 1e-3}
VALUE_TOLERANCE = {8: 1e-14, 4: 5e-6}  # between two ways of summing


# --- the checks ----------------------------------------------------------------------------------


def check_value(case: Case) -> None:
    """The executor gives what the primitive means; a ufunc, what NumPy's function gives."""
    primitive, operands = case.primitive, case.operands
    with np.errstate(all="ignore"):
        found = primitive.evaluate(*operands, **case.sample.params)
        expected: Arrays = found if primitive.multiple else (found,)
        if primitive.ufunc is not None:
            # Directly, so that a wrong `evaluate` cannot vouch for itself.
            expected = (resolve(primitive.ufunc)(*operands),)
    exact = primitive.ufunc is not None
    for strong in (False, True):
        results = run(case, "value", case.program, operands, strong)
        close(case, "value", results, expected, 0 if exact else VALUE_TOLERANCE[case.bytes])
    close(case, "value", (found,) if not primitive.multiple else found, expected, 0)
    meant = run_wide(case.program, operands)
    close(case, "value", expected, meant, 1e3 * np.finfo(f"f{case.bytes}").eps)


def check_differences(
    case: Case, check: str, program: Program, point: Arrays, direction: Arrays, found: Arrays
) -> None:
    """Compare a derivative with differences along a direction (None where it stands still)."""
    inexact = [number for number, type_ in enumerate(program.output_types) if type_.inexact]

    def along(step: Any) -> Arrays:
        moved = [
            x if u is None else widened(x) + step * widened(u)
            for x, u in zip(point, direction, strict=True)
        ]
        results = run_wide(program, moved)
        return tuple(results[number] for number in inexact)

    ladder, expected = differences(along)
    tolerance = DIFFERENCE_TOLERANCE[case.bytes]
    close(case, check, found, expected, tolerance)
    # The plain differences approach the rule at second order: halving the step divides the error by
    # four.
    errors = [distance(rung, found) for rung in ladder]
    for before, after in itertools.pairwise(errors):
        if after > max(0.35 * before, tolerance):
            raise case.fail(check, f"differences do not converge to the rule: {errors}")


def _placed(marks: Sequence[bool], vectors: Sequence[Any]) -> Arrays:
    rest = iter(vectors)
    return tuple(next(rest) if mark else None for mark in marks)


def check_jvp(case: Case) -> None:
    """The derivative agrees with differences, for each operand alone and all together."""
    for marks in case.choices():
        tangents = case.tangents(marks)
        results = run(case, "jvp", jvp(case.program, marks), (*case.operands, *tangents))
        slopes = results[len(case.program.outputs) :]
        close(case, "jvp", results[: len(case.program.outputs)], _values(case), 0)
        direction = _placed(marks, tangents)
        check_differences(case, "jvp", case.program, case.operands, direction, slopes)


def _values(case: Case) -> Arrays:
    return run(case, "value", case.program, case.operands)


def check_linearize(case: Case) -> None:
    """The linear program is linear and gives what the JVP gives.

    Simplification changes no bit of what the user wrote, and derivatives by rounding alone.
    """
    for marks in case.choices():
        tangents = case.tangents(marks)
        pushed = jvp(case.program, marks)
        count = len(case.program.outputs)
        expected = run(case, "linearize", pushed, (*case.operands, *tangents))
        plain = compiled(check_program(pushed), False).run(*case.operands, *tangents)
        close(case, "simplify", expected[:count], plain[:count], 0)
        close(case, "simplify", expected[count:], plain[count:], VALUE_TOLERANCE[case.bytes])
        expected = expected[count:]
        split = linearize(case.program, marks)
        try:
            check_linear(check_program(split.linear), split.linear.inputs[split.residuals :])
        except ProgramError as error:
            raise case.fail("linearize", str(error)) from error
        primal = run(case, "linearize", split.primal, case.operands)
        residuals = primal[count:]
        if len(residuals) != split.residuals:
            raise case.fail("linearize", f"{len(residuals)} residuals, not {split.residuals}")
        if any(split.varying):
            found = run(case, "linearize", split.linear, (*residuals, *tangents))
            close(case, "linearize", found, expected, VALUE_TOLERANCE[case.bytes])


def _adjoints(case: Case, marks: Sequence[bool], cotangents: Arrays) -> tuple[Arrays, Arrays]:
    """The transpose on covectors, by `vjp`, and by transposing the linearised program."""
    count = len(case.program.outputs)
    pulled = run(case, "adjoint", vjp(case.program, marks), (*case.operands, *cotangents))[count:]
    split = linearize(case.program, marks)
    if not any(split.varying):
        return pulled, pulled
    residuals = run(case, "adjoint", split.primal, case.operands)[count:]
    back = transpose(split.linear, split.residuals)
    return pulled, run(case, "adjoint", back, (*residuals, *cotangents))


def check_adjoint(case: Case) -> None:
    """<Du, v> = <u, D*v>: in the plain pairing, and in three pairs of random inner products."""
    tolerance = ADJOINT_TOLERANCE[case.bytes]
    count = len(case.program.outputs)
    for marks in case.choices():
        tangents, cotangents = case.tangents(marks), case.cotangents()
        pushed = run(case, "adjoint", jvp(case.program, marks), (*case.operands, *tangents))[count:]
        u, y = coordinates(tangents).astype(float), coordinates(pushed).astype(float)
        for trial in range(4):
            generator = case.generator("inner product", trial)
            if trial == 0:
                domain, codomain = np.eye(u.size), np.eye(y.size)
            else:
                domain, codomain = _positive(generator, u.size), _positive(generator, y.size)
            v = coordinates(cotangents).astype(float)
            covector = from_coordinates(codomain @ v, cotangents)
            for pulled in _adjoints(case, marks, covector):
                back = np.linalg.solve(domain, coordinates(pulled).astype(float))
                left, right = y @ codomain @ v, u @ domain @ back
                size = np.linalg.norm(y) * np.linalg.norm(codomain @ v)
                size += np.linalg.norm(domain @ u) * np.linalg.norm(back)
                error = abs(left - right) / size if size else abs(left - right)
                if not error <= tolerance:
                    text = f"<Du, v> = {left:.17g}, <u, D*v> = {right:.17g}: error {error:.2e}"
                    raise case.fail("adjoint", f"operands {marks}, inner products {trial}: {text}")


def _positive(generator: np.random.Generator, size: int) -> Any:
    """A random symmetric positive definite matrix with condition number below 10."""
    factor = generator.normal(size=(size, size))
    product = factor @ factor.T
    largest = np.linalg.eigvalsh(product).max(initial=1)
    return np.eye(size) + product / largest * 4


def check_second_order(case: Case) -> None:
    """The second derivative agrees with differences, and in all four compositions of modes."""
    marks, count = case.active, len(case.program.outputs)
    inputs, chosen = len(case.operands), sum(marks)
    first, second, weights = case.tangents(marks, 1), case.tangents(marks, 2), case.cotangents()
    still = (False,) * chosen
    pushed, pulled = jvp(case.program, marks), vjp(case.program, marks)

    # forward over forward: the tangent of the tangent
    twice = jvp(pushed, (*marks, *still))
    results = run(case, "second order", twice, (*case.operands, *first, *second))
    bilinear = results[len(pushed.outputs) :][-len(weights) :]
    direction = (*_placed(marks, second), *(None for _ in first))
    slope_only = Program(pushed.inputs, pushed.equations, pushed.outputs[count:])
    point = (*case.operands, *first)
    check_differences(case, "second order", slope_only, point, direction, bilinear)

    found = {"forward over forward": pairing(weights, bilinear)}
    quiet = (False,) * len(weights)
    moved = jvp(pulled, (*marks, *quiet))
    results = run(case, "second order", moved, (*case.operands, *weights, *second))
    found["forward over reverse"] = pairing(first, results[-chosen:])
    size = np.linalg.norm(coordinates(first)) * np.linalg.norm(coordinates(results[-chosen:]))

    only_last = tuple(number >= count for number in range(len(pushed.outputs)))
    back = vjp(pushed, (*marks, *still), only_last)
    results = run(case, "second order", back, (*case.operands, *first, *weights))
    found["reverse over forward"] = pairing(second, results[-chosen:])

    only_last = tuple(number >= count for number in range(len(pulled.outputs)))
    back = vjp(pulled, (*marks, *quiet), only_last)
    results = run(case, "second order", back, (*case.operands, *weights, *first))
    found["reverse over reverse"] = pairing(second, results[-chosen:])
    assert len(pushed.inputs) == inputs + chosen

    size += np.linalg.norm(coordinates(weights)) * np.linalg.norm(coordinates(bilinear))
    spread = max(found.values()) - min(found.values())
    if not spread <= ORDER_TOLERANCE[case.bytes] * max(size, np.finfo(float).tiny):
        raise case.fail("second order", f"the compositions differ by {spread / size:.2e}: {found}")


def check_batching(case: Case) -> None:
    """A batch gives what a loop gives, also of the JVP and VJP, whichever operands are batched."""
    if not case.operands:
        return
    places = range(len(case.operands))
    stacks = [case.others(place) for place in places]
    single = [type_.weak for type_ in case.program.input_types]  # a Python scalar has no batch
    choices = [
        marks
        for marks in itertools.product((False, True), repeat=len(stacks))
        if not any(mark and weak for mark, weak in zip(marks, single, strict=True))
    ]
    for marks in choices:
        if any(marks):
            _compare_with_loop(case, case.program, marks, stacks)
        if not case.differentiable:
            continue
        moving = [case.tangents(case.active, "batch", n) for n in range(BATCH)]
        weights = [case.cotangents("batch", n) for n in range(BATCH)]
        for program, vectors in (
            (jvp(case.program, case.active), moving),
            (vjp(case.program, case.active), weights),
        ):
            extra = [list(column) for column in zip(*vectors, strict=True)]
            _compare_with_loop(case, program, (*marks, *(True for _ in extra)), [*stacks, *extra])


def _compare_with_loop(
    case: Case, program: Program, marks: Sequence[bool], stacks: Sequence[Sequence[Any]]
) -> None:
    arguments = [
        np.stack(stack) if mark else stack[0] for stack, mark in zip(stacks, marks, strict=True)
    ]
    try:
        found = run(case, "batching", vmap(program, marks, BATCH), arguments)
    except (ValueError, TypeError, IndexError) as error:
        raise case.fail("batching", f"operands {marks}: {type(error).__name__}: {error}") from error
    loop = [
        run(
            case,
            "batching",
            program,
            [stack[n if mark else 0] for stack, mark in zip(stacks, marks, strict=True)],
        )
        for n in range(BATCH)
    ]
    for result, column in zip(found, zip(*loop, strict=True), strict=True):
        expected = np.stack(column)
        if result.dtype != expected.dtype or result.shape != expected.shape:
            text = f"operands {marks}: {type_of(result)}, a loop gives {type_of(expected)}"
            raise case.fail("batching", text)
        close(case, "batching", (result,), (expected,), VALUE_TOLERANCE[case.bytes])


def check_precision(case: Case) -> None:
    """The derivative of what is in single precision holds no array in double precision."""
    types = (*case.program.input_types, *case.program.output_types)
    if any(
        t.inexact and not t.weak and t.dtype.itemsize > 4 + 4 * (t.dtype.kind == "c") for t in types
    ):
        return
    if not case.differentiable or case.bytes != 4:
        return
    given = [(True,) if mark else () for mark in case.active]
    for program in (
        jvp(case.program, case.active),
        vjp(case.program, case.active),
        taylor(case.program, min(2, case.sample.order), given),
    ):
        for equation in simplify(program).equations:
            for variable in equation.outputs:
                dtype = variable.type.dtype
                if (
                    variable.type.inexact
                    and variable.type.ndim
                    and dtype.itemsize > (8 if dtype.kind == "c" else 4)
                ):
                    raise case.fail(
                        "precision", f"computed in {variable.type}:\n{simplify(program)}"
                    )


# --- Taylor mode ---------------------------------------------------------------------------------


def derivatives_along(program: Program, path: Sequence[bool], order: int) -> list[Program]:
    """By forward mode over and over: the derivatives 0, ..., order of y(t) = f(x(t)).

    path: which inputs move. Program k takes the inputs, then x'(t), then x''(t), ... of those.
    """
    found = [program]
    moving = [variable.type for variable, mark in zip(program.inputs, path, strict=True) if mark]
    for k in range(1, order + 1):
        builder = Builder()
        inputs = [builder.input(variable.type) for variable in program.inputs]
        rates = [[builder.input(tangent_type(type_)) for type_ in moving] for _ in range(k)]
        tangents = [*_placed(path, rates[0]), *itertools.chain(*rates[1:])]
        primals = [*inputs, *itertools.chain(*rates[:-1])]
        _, slopes = push_forward(builder, found[-1], primals, tangents)
        outputs = [
            zeros(builder, tangent_type(atom.type)).atom if slope is None else slope
            for slope, atom in zip(slopes, program.outputs, strict=True)
        ]
        found.append(simplify(builder.build(outputs)))
    return found


def check_taylor(case: Case) -> None:
    """Along x + u t + v t^2 the coefficients are those of forward mode applied over and over."""
    if isinstance(case.primitive.taylor, EmptySlot):
        raise case.fail("taylor", "there is a derivative, and no Taylor rule")
    order = case.sample.order
    inexact = [type_.inexact for type_ in case.program.output_types]
    for marks in case.choices():
        first, second = case.tangents(marks, "line"), case.tangents(marks, "parabola")
        expected = _coefficients(case, marks, first, second, order)
        program = taylor(case.program, order, [(True, True) if mark else () for mark in marks])
        path = itertools.chain(*zip(first, second, strict=True))
        found = run(case, "taylor", program, (*case.operands, *path))
        close(case, "taylor", found[: len(inexact)], _values(case), 0)
        rest = iter(found[len(inexact) :])
        size = 0.0
        for k, row in enumerate(expected, 1):
            gap = coordinates([next(rest) for mark in inexact if mark]) - coordinates(row)
            size = max(size, np.max(np.abs(coordinates(row)), initial=0))
            error = np.max(np.abs(gap), initial=0)
            if not error <= TAYLOR_TOLERANCE[case.bytes] * size:
                text = f"operands {marks}, coefficient {k}: off by {error:.2e} of {size:.2e}"
                raise case.fail("taylor", text)


def _coefficients(
    case: Case, marks: Sequence[bool], first: Arrays, second: Arrays, order: int
) -> list[Arrays]:
    """y_k = y^(k)(0) / k! of the inexact results for k = 1, ..., order."""
    still = [np.zeros_like(u) for u in first] * order
    rates = [*first, *(2 * widened(v) for v in second), *still]
    found = []
    for k, program in enumerate(derivatives_along(case.program, marks, order)[1:], 1):
        values = run_wide(program, [*case.operands, *rates[: k * len(first)]])
        chosen = zip(values, case.program.output_types, strict=True)
        found.append(tuple(y / math.factorial(k) for y, type_ in chosen if type_.inexact))
    return found


CHECKS: dict[str, Callable[[Case], None]] = {
    "value": check_value,
    "jvp": check_jvp,
    "linearize": check_linearize,
    "adjoint": check_adjoint,
    "second order": check_second_order,
    "batching": check_batching,
    "taylor": check_taylor,
    "precision": check_precision,
}
ALWAYS = frozenset({"value", "batching"})


def applies(check: str, case: Case) -> bool:
    """Whether a check says anything of a case."""
    if check in ALWAYS:
        return True
    return case.differentiable and (check != "second order" or case.sample.order >= 2)


def check_primitive(primitive: Primitive) -> None:
    """Everything, on all samples; raises the first failure."""
    for case in cases(primitive):
        for name, check in CHECKS.items():
            if applies(name, case):
                check(case)
