"""The generic checker sees what is wrong: each planted defect, of 0.1 %, fails its check."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from adjoint.base.arrays import array_type
from adjoint.executors.numpy import templates
from adjoint.primitives import PRIMITIVES, UFUNCS, Primitive, bind
from adjoint.primitives.declaration import FROM_DERIVATIVE, ITSELF, NONLINEAR, EmptySlot, Joint
from adjoint.primitives.elementwise.arithmetic import SQUARE, product_taylor
from adjoint.primitives.elementwise.conversion import STOP_GRADIENT, cast
from adjoint.primitives.elementwise.declaring import scale
from adjoint.primitives.samples import draw, sample
from adjoint.primitives.structure.reductions import cumulative_sum
from tests.cases import CheckFailure, cases, compiled
from tests.checker import CHECKS, check_primitive


@contextmanager
def planted(**changes: Any) -> Iterator[Primitive]:
    """A primitive that is right but for these changes, registered while the block runs."""
    before = dict(PRIMITIVES), dict(UFUNCS)
    # Elementwise x^3, nonlinear, unless changed.
    slots: dict[str, Any] = {
        "infer": lambda x: x,
        "evaluate": lambda x: x * x * x,
        "linear": None,
        "derivative": lambda tangents, operands, results: (
            scale(3 * np.square(operands[0]), tangents[0]),
        ),
        "transpose": NONLINEAR,
        "batch": lambda operands, batched, size: bind(PRIMITIVES["planted"], operands[0]),
        "taylor": FROM_DERIVATIVE,
        "samples": (sample(draw(3, low=0.5)),),
    }
    try:
        yield Primitive("planted", **(slots | changes))
    finally:
        for registry, old in zip((PRIMITIVES, UFUNCS), before, strict=True):
            registry.clear()
            registry.update(old)
        compiled.cache_clear()


def fails(check: str, **changes: Any) -> str:
    """Plant a defect; the named check must fail on some case. Returns the message."""
    with planted(**changes) as primitive:
        return failure(check, primitive)


def failure(check: str, primitive: Primitive) -> str:
    """The message of a check of a primitive, which must fail on some case."""

    def run_check() -> None:
        for case in cases(primitive):
            CHECKS[check](case)

    with pytest.raises(CheckFailure) as caught:
        run_check()
    assert caught.value.check == check
    return str(caught.value)


def linear(factor: float, transposed: float, **changes: Any) -> dict[str, Any]:
    """x -> factor x, with this factor in the transpose."""
    return {
        "evaluate": lambda x: factor * x,
        "linear": Joint(),
        "derivative": ITSELF,
        "transpose": lambda cotangents, operands: (transposed * cotangents[0],),
        **changes,
    }


def test_what_is_right_passes() -> None:
    with planted() as primitive:
        check_primitive(primitive)
    with planted(**linear(2.0, 2.0)) as primitive:
        check_primitive(primitive)


def test_planting_leaves_no_trace() -> None:
    before = list(PRIMITIVES), list(UFUNCS)
    with planted(ufunc=np.positive):
        assert "planted" in PRIMITIVES
        assert np.positive in UFUNCS
    assert (list(PRIMITIVES), list(UFUNCS)) == before


def test_a_derivative_wrong_by_a_thousandth() -> None:
    message = fails(
        "jvp",
        derivative=lambda tangents, operands, results: (
            scale(3.003 * np.square(operands[0]), tangents[0]),
        ),
    )
    assert "planted, sample 0 (f8[3])" in message
    assert "jvp: relative error 1.0" in message
    assert "e-03 > 1e-09" in message


def test_a_derivative_that_is_not_linear_in_the_tangent() -> None:
    message = fails(
        "linearize",
        derivative=lambda tangents, operands, results: (np.square(tangents[0]),),
    )
    assert "is not linear" in message


def test_a_transpose_wrong_by_a_thousandth() -> None:
    message = fails("adjoint", **linear(2.0, 2.002))
    assert "<Du, v>" in message


def test_a_transpose_that_forgets_to_conjugate() -> None:
    fails("adjoint", **linear(2j, 2j, samples=(sample(draw(3, dtype=complex)),)))


def test_a_second_derivative_that_is_lost() -> None:
    """The first derivative is right, but its factor is taken for a constant."""

    def derivative(tangents: Any, operands: Any, results: Any) -> Any:
        return (scale(3 * np.square(bind(STOP_GRADIENT, operands[0])), tangents[0]),)

    fails("second order", derivative=derivative)


def test_a_batch_along_the_wrong_axis() -> None:
    fails(
        "batching",
        infer=lambda x: x,
        evaluate=lambda x: np.cumsum(x, 0),
        linear=Joint(),
        derivative=ITSELF,
        transpose=lambda cotangents, operands: (cumulative_sum(cotangents[0], 0, reverse=True),),
        batch=lambda operands, batched, size: cumulative_sum(operands[0], 0),
        samples=(sample(draw(3, 3)),),
    )


def test_a_batch_rule_that_raises() -> None:
    def batch(operands: Any, batched: Any, size: int) -> Any:
        raise IndexError("no such axis")

    assert "no such axis" in fails("batching", batch=batch)


def test_a_meaning_that_is_not_the_ufunc() -> None:
    fails("value", evaluate=lambda x: x * 1.001, ufunc=np.positive)


@pytest.mark.parametrize(
    "infer",
    [
        lambda x: array_type(x.shape, np.dtype(np.float32)),
        lambda x: array_type((1, *x.shape), x.dtype),
    ],
    ids=["dtype", "shape"],
)
def test_a_type_rule_that_is_wrong(infer: Any) -> None:
    assert "the type rule says" in fails("value", infer=infer)


def test_an_executor_that_computes_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    with planted() as primitive:
        other = {primitive: lambda e, x, space: f"{x[0]} ** 3.001"}
        monkeypatch.setattr(templates, "TEMPLATES", templates.TEMPLATES | other)
        failure("value", primitive)


def test_a_taylor_rule_that_is_missing() -> None:
    assert "no Taylor rule" in fails("taylor", taylor=EmptySlot("nobody wrote it"))


def _cubes(factor: float) -> Any:
    """The third power, x x x, with this factor in its coefficients after the first two."""

    def taylor(operands: Any, results: Any, k: int) -> Any:
        x = operands[0]
        found = product_taylor(x, x.apply(SQUARE), x.type, k)
        return (found * factor if k > 2 else found,)

    return taylor


def test_a_taylor_rule_wrong_by_a_thousandth() -> None:
    with planted(taylor=_cubes(1.0)) as primitive:
        check_primitive(primitive)
    assert "operands (True,), coefficient 3: off by" in fails("taylor", taylor=_cubes(1.001))


def test_a_taylor_rule_that_forgets_the_curvature() -> None:
    """Right along lines only: it takes all coefficients after the first for zero."""

    def taylor(operands: Any, results: Any, k: int) -> Any:
        (x,) = operands
        terms = [3 * x[0] * x[0] * x[1], 3 * x[0] * x[1] * x[1], x[1] * x[1] * x[1]]
        return (terms[k - 1] if k <= len(terms) else None,)

    fails("taylor", taylor=taylor)


def test_a_derivative_in_double_precision() -> None:
    def derivative(tangents: Any, operands: Any, results: Any) -> Any:
        wide = 3 * np.square(cast(operands[0], np.dtype(float)))
        return (scale(cast(wide, operands[0].dtype), tangents[0]),)

    fails("precision", derivative=derivative)


def test_taylor_coefficients_in_double_precision() -> None:
    def taylor(operands: Any, results: Any, k: int) -> Any:
        (found,) = _cubes(1.0)(operands, results, k)
        wide = np.dtype(float)
        return (cast(cast(found, wide) * np.float64(1), results[0].type.dtype),)

    fails("precision", taylor=taylor)
