"""Every primitive on every sample as machine code: values, derivatives and batches, as on NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from adjoint.executors.native.elements.rules import RULES, Rule
from adjoint.executors.native.lower import lowerable
from adjoint.optimise import simplify
from adjoint.primitives import PRIMITIVES, EmptySlot
from adjoint.primitives.special.declaring import SPECIAL
from adjoint.program import Program
from adjoint.transforms import jvp, vjp, vmap
from tests.cases import BATCH, Case, cases, compiled
from tests.executors.native.comparing import is_lowerable, run_native
from tests.executors.native.comparing import narrowest as narrowest_bytes
from tests.vectors import distance, random_like

# Left to NumPy on all samples. This list may only become shorter.
NUMPY_ALONE = frozenset(
    [
        "linear_call",
        "linear_solve",
        "implicit",
        "argmax",
        "argmin",
        "custom_call",
        "cumulative_sum",
        "erfcx",
        "erfinv",
        "erfcinv",
        "dawsn",
        "log_ndtr",
        "ndtri",
        "gamma",
        "gammaln",
        "loggamma",
        "rgamma",
        "psi",
        "zeta",
        "beta",
        "betaln",
        "j0",
        "j1",
        "y0",
        "y1",
        "i0",
        "i1",
        "i0e",
        "i1e",
        "k0",
        "k1",
        "rotation",
        "pulled_rotation",
        "cluster_mean",
        "leading_entries",
        "hermitian",
        "triangle",
        "eigh",
        "eigvalsh",
        "over_singular_values",
        "completed_basis",
        "singular_slope",
        "svd",
        "svdvals",
        "triangular_division",
        "skew_of_lower",
        "pulled_skew",
        "qr",
        "eigenbasis",
        "eig",
        "eigvals",
        "pinv",
        "lstsq",
        "diagonal_matrix",
        "diagonal_part",
        "dilated_basis",
        "zero_weights",
        "argsort",
        "argpartition",
        "searchsorted",
        "warn_where_zero",
        "fft",
        "rfft",
        "irfft",
        "nextafter",
        "bitwise_count",
        "ldexp",
        "exponent",
        "fails",
    ]
).union(
    # All of scipy.special but what is a short formula, and what its derivatives are made of.
    {primitive.name for primitive in SPECIAL.values()}
    - set(["expit", "logit", "log_expit", "exprel", "erf", "erfc", "ndtr", "xlogy", "xlog1py"])
    - set(["entr", "rel_entr", "kl_div", "huber"]),
    {"gamma_moment", "beta_moment", "legendre_integral", "carlson_integral", "complex_zeta"},
    {"matrix_function", "sylvester", "sparse_product", "sparse_solve", "recurrence"},
    {"correlation", "spline_filter"},
    {"digamma_reflected", "ellipkm1_slope", "i1_over", "j1_over", "k0e_slope_1", "k0e_slope_2"},
    {"root_of_squares", "root_of_powers"},  # which stand in no program that is run
)
# Left to NumPy in complex numbers or for operands without numbers, besides.
IN_PART = frozenset(
    [
        "sum",
        "exp",
        "log",
        "log2",
        "log10",
        "log1p",
        "sqrt",
        "sin",
        "cos",
        "tan",
        "arcsin",
        "arccos",
        "arctan",
        "sinh",
        "cosh",
        "tanh",
        "arcsinh",
        "arctanh",
        "add",
        "subtract",
        "multiply",
        "power",
        "contract",
        "adjugate",
        "cholesky",
        "inv",
        "lu_factors",
        "solve",
        "solve_triangular",
    ]
).union({"erf", "erfc", "ndtr", "xlogy", "xlog1py"})
TOLERANCE = {8: 4e-15, 4: 4e-6}
SAMPLED = [p for p in PRIMITIVES.values() if not isinstance(p.samples, EmptySlot)]


def agree(case: Case, what: str, program: Program, arguments: list[Any]) -> bool:
    """Whether it can be machine code; raises where that gives something else than NumPy."""
    if not is_lowerable(program):
        return False
    with np.errstate(all="ignore"):
        expected = compiled(program, False).run(*arguments)
    found = run_native(program, arguments)
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


def transformed(case: Case) -> list[tuple[str, Program, list[Any]]]:
    """The derivatives of a sample and a batch of it, with arguments."""
    operands, found = list(case.operands), []
    transforms: tuple[Callable[..., Program], ...] = (jvp, vjp) if case.differentiable else ()
    for transform in transforms:
        program = simplify(transform(case.program, case.active))
        types = program.input_types[len(operands) :]
        more = random_like(case.generator(transform.__name__), types)
        found.append((transform.__name__, program, [*operands, *more]))
    if operands and not any(t.weak for t in case.program.input_types):
        program = simplify(vmap(case.program, [True] * len(operands), BATCH))
        rows = [np.stack(case.others(place)) for place in range(len(operands))]
        found.append(("vmap", program, rows))
    return found


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
    assert alone == NUMPY_ALONE
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
