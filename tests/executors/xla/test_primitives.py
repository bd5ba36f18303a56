"""Every primitive on every sample by XLA: values, derivatives and batches, as on NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint.executors.attempt import conforming
from adjoint.executors.xla import XlaExecutor
from adjoint.executors.xla.rules import RULES, load_rules
from adjoint.optimise import simplify
from adjoint.primitives import PRIMITIVES, EmptySlot
from adjoint.program import Program
from tests.cases import Case, cases, compiled
from tests.executors.transformed import second_order, transformed
from tests.vectors import distance

pytest.importorskip("jax", reason="XLA is not tested: jax is not installed (the extra `xla`)")
load_rules()

TOLERANCE = {8: 2e-13, 4: 2e-5}
SAMPLED = [p for p in PRIMITIVES.values() if not isinstance(p.samples, EmptySlot)]
LOWERED = [primitive for primitive in SAMPLED if primitive.name in RULES]
# Through the host, and why; a new primitive without a rule is a decision, noted here.
ON_HOST = {
    "they call functions of the user's, or tell of an error": (
        "custom_call custom_linear fails implicit integral linear_call linear_solve steps"
    ),
}


def agree(case: Case, what: str, program: Program, arguments: list[Any]) -> None:
    with np.errstate(all="ignore"):
        expected = compiled(program, False).run(*arguments)
    executable = XlaExecutor("cpu").compile(program)
    assert executable is not None
    found = executable.run(*(conforming(program.input_types, arguments) or arguments))
    if found is None:  # NumPy would have warned, or a derivative is NaN
        numbers = [np.asarray(x) for x in expected if np.asarray(x).dtype.kind in "fc"]
        assert not all(np.isfinite(x).all() for x in numbers), f"{case}: {what}: no results"
        return
    for x, type_ in zip(found, program.output_types, strict=True):
        assert (x.shape, x.dtype) == (type_.shape, type_.dtype), f"{case}: {what}"
    exact = all(not t.inexact for t in program.output_types)
    error = distance(found, expected)
    assert error <= (0 if exact else TOLERANCE[case.bytes]), f"{case}: {what}: off by {error:.1e}"


@pytest.mark.parametrize("primitive", LOWERED, ids=lambda primitive: primitive.name)
def test_values_are_those_of_numpy(primitive: Any) -> None:
    for case in cases(primitive)[::2]:
        agree(case, "value", case.program, list(case.operands))


@pytest.mark.slow
@pytest.mark.parametrize("primitive", SAMPLED, ids=lambda primitive: primitive.name)
def test_derivatives_batches_and_second_order(primitive: Any) -> None:
    for case in cases(primitive):
        agree(case, "value", case.program, list(case.operands))
        for what, program, arguments in transformed(case):
            agree(case, what, program, arguments)
        second = second_order(case)
        if second is not None:
            agree(case, "second order", *second)


def test_a_rule_wrong_by_a_thousandth_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    before = RULES["tanh"]
    monkeypatch.setitem(RULES, "tanh", lambda *given: 1.001 * before(*given))
    with pytest.raises(AssertionError, match="off by"):
        test_values_are_those_of_numpy(PRIMITIVES["tanh"])


def test_every_primitive_has_a_rule_or_goes_through_the_host_by_name() -> None:
    alone = {primitive.name for primitive in SAMPLED if primitive.name not in RULES}
    assert alone == {name for names in ON_HOST.values() for name in names.split()}
    assert simplify is not None
