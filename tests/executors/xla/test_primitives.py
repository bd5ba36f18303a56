"""Every primitive on every sample by XLA: values, derivatives and batches, as on NumPy."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from adjoint.executors.attempt import conforming
from adjoint.executors.interface import PLAIN
from adjoint.executors.xla import XlaExecutor
from adjoint.executors.xla.executable import LoweredProgram, XlaExecutable
from adjoint.executors.xla.rules import RULES, load_rules
from adjoint.optimise import bare
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


# SciPy's search ends at a subnormal number, which a thread of XLA's on a processor takes for zero.
GIVEN_UP = frozenset({("chndtridf", "vmap")})


def agree(case: Case, what: str, program: Program, arguments: list[Any]) -> None:
    with np.errstate(all="ignore"):
        expected = compiled(program, False).run(*arguments)
    # Also those with calls of the host, which a processor's executor leaves to NumPy as a whole.
    executable = XlaExecutable(LoweredProgram(bare(program), PLAIN, XlaExecutor("cpu").device))
    found = executable.run(*(conforming(program.input_types, arguments) or arguments))
    if found is None and (case.primitive.name, what) in GIVEN_UP:
        return
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


# Left to the host, and why. A new primitive without a rule is a decision, noted here, unless it is
# a function of SciPy's: those go there by hundreds.
ON_HOST = {
    "they call functions of the user's, or tell of an error": (
        "custom_call fails implicit linear_call linear_solve"
    ),
    "their vectors are LAPACK's own choice among many, and so is what is made of these": (
        "cluster_mean completed_basis dilated_basis eig eigenbasis eigh eigvals eigvalsh"
        " leading_entries lstsq matrix_function over_singular_values pinv pulled_rotation"
        " pulled_skew qr rotation singular_slope skew_of_lower svd sylvester"
        " triangular_division zero_weights"
    ),
    "they ask for the condition of a matrix": "adjugate adjugate_slope",
    "SuperLU computes it": "sparse_solve",
    "SciPy multiplies sparse matrices, and iterates with them": (
        "sparse_entries sparse_full_rank sparse_least_squares"
    ),
    "Takahashi's equations follow the pattern": "sparse_inverse",
    "NumPy's own order among equals": "argpartition",
    "SciPy's own algorithms": "definite_band spline_filter",
}


def test_what_goes_through_the_host() -> None:
    alone = {primitive.name for primitive in SAMPLED if primitive.name not in RULES}
    modules = {name: type(PRIMITIVES[name].evaluate).__module__ for name in alone}
    modules |= {
        name: PRIMITIVES[name].evaluate.__module__
        for name in alone
        if inspect.isfunction(PRIMITIVES[name].evaluate)
    }
    ufuncs = ("typing_rules", "elementwise.formulas", "special.")
    special = {name for name, module in modules.items() if any(x in module for x in ufuncs)}
    assert alone - special == {name for names in ON_HOST.values() for name in names.split()}
