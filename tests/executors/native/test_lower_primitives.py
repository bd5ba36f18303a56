"""Every primitive on every sample as machine code: values, derivatives and batches, as on NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from adjoint.executors.native.elements.rules import RULES, Rule
from adjoint.executors.native.lowering.lower import lowerable
from adjoint.primitives import PRIMITIVES, EmptySlot
from adjoint.program import Program
from tests.cases import Case, cases, compiled
from tests.executors.native.comparing import is_lowerable, run_native
from tests.executors.native.comparing import narrowest as narrowest_bytes
from tests.executors.transformed import transformed
from tests.vectors import distance

# Left to NumPy on all samples, and why. A new primitive without machine code is a decision, noted
# here; but the lists may only become shorter.
NUMPY_ALONE = {
    "they call functions of the user's, or tell of an error": (
        "custom_call fails implicit linear_call linear_solve"
    ),
    "programs that are run have none of them": "root_of_powers root_of_squares",
    "Boost reports its errors by Python's exceptions, in the midst of the computation": (
        "_beta_pdf _beta_ppf _binom_cdf _binom_pmf _binom_sf _cauchy_ppf _invgauss_isf"
        " _invgauss_ppf _landau_cdf _landau_isf _landau_pdf _landau_ppf _landau_sf _nbinom_cdf"
        " _nbinom_pmf _nbinom_sf _ncf_pdf _ncf_sf _nct_pdf _nct_sf _ncx2_isf _ncx2_pdf _ncx2_sf"
        " _skewnorm_cdf _skewnorm_isf _skewnorm_ppf"
    ),
    "SciPy has no function for them: they are sums over nodes of a quadrature, or series": (
        "beta_moment carlson_integral complex_zeta gamma_moment legendre_integral"
    ),
    "NumPy and SciPy have whole algorithms for them, which are called with arrays": (
        "argpartition"
    ),
    "LAPACK and what is made of its factors": (
        "definite_band sparse_entries sparse_full_rank sparse_inverse"
        " sparse_least_squares sparse_product sparse_solve sylvester"
    ),
}
# Left to NumPy for operands without numbers, besides; filters of splines for short rows, and
# all functions of matrices but the exponential.
IN_PART = frozenset(
    {"sum", "add", "subtract", "multiply", "contract", "adjugate", "cholesky", "inv"}
    | {"lu_factors", "solve", "solve_triangular", "diagonal_matrix", "eigvalsh", "svdvals"}
    | {"eigvals", "leading_entries", "spline_filter", "matrix_function"}
)
# Whether a matrix is singular is LAPACK's to say: of one that is, machine code has no results.
GIVEN_UP = frozenset({("det", 4, "value")})
TOLERANCE = {8: 4e-15, 4: 4e-6}
SAMPLED = [p for p in PRIMITIVES.values() if not isinstance(p.samples, EmptySlot)]


def agree(case: Case, what: str, program: Program, arguments: list[Any]) -> bool:
    """Whether it can be machine code; raises where that gives something else than NumPy."""
    if not is_lowerable(program):
        return False
    with np.errstate(all="ignore"):
        expected = compiled(program, False).run(*arguments)
    found = run_native(program, arguments)
    if (case.primitive.name, case.number, what) in GIVEN_UP:
        assert found is None
        return True
    assert found is not None, f"{case}: {what}: machine code gave up"
    for x, _, type_ in zip(found, expected, program.output_types, strict=True):
        assert (x.shape, x.dtype) == (type_.shape, type_.dtype), f"{case}: {what}"
    exact = all(not t.inexact for t in program.output_types)
    bound = 0.0 if exact else TOLERANCE[narrowest_bytes(program)]
    error = distance(found, expected)
    if case.primitive.name == "adjugate":  # of rank one it is zero, up to rounding with NumPy
        error *= min(1.0, float(np.max(np.abs(expected[0]))))
    assert error <= bound, f"{case}: {what}: relative error {error:.1e}"
    return True


@pytest.mark.parametrize("primitive", SAMPLED, ids=lambda primitive: primitive.name)
def test_as_on_numpy(primitive: Any) -> None:
    for place, case in enumerate(cases(primitive)):
        agree(case, "value", case.program, list(case.operands))
        if place % 6 == 0:  # the others are slow
            for what, program, arguments in transformed(case):
                agree(case, what, program, arguments)


@pytest.mark.slow
@pytest.mark.parametrize("primitive", SAMPLED, ids=lambda primitive: primitive.name)
def test_derivatives_and_batches_as_on_numpy(primitive: Any) -> None:
    for case in cases(primitive):
        for what, program, arguments in transformed(case):
            agree(case, what, program, arguments)


def test_what_is_left_to_numpy() -> None:
    alone, in_part = set(), set()
    for primitive in SAMPLED:
        marks = [
            all(lowerable(equation, False) for equation in case.program.equations)
            for case in cases(primitive)
        ]
        if not any(marks):
            alone.add(primitive.name)
        elif not all(marks):
            in_part.add(primitive.name)
    assert alone == {name for names in NUMPY_ALONE.values() for name in names.split()}
    assert in_part == IN_PART


@pytest.mark.parametrize("name", ["tanh", "multiply", "sqrt"])
def test_a_rule_wrong_by_a_thousandth_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = RULES[name, "f"]

    def wrong(writer: Any, *operands: Any) -> Any:
        value = before.emit(writer, *operands)
        return writer.multiply(value, writer.constant(1.001, value))

    monkeypatch.setitem(RULES, (name, "f"), Rule(wrong, before.exact))
    with pytest.raises(AssertionError, match="relative error"):
        test_as_on_numpy(PRIMITIVES[name])
