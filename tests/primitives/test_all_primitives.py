"""Every primitive under the generic checker: a new one is covered without a change here."""

from __future__ import annotations

import pytest

from adjoint.primitives import PRIMITIVES, EmptySlot
from tests.cases import Case, cases
from tests.checker import CHECKS, applies

CASES = [
    case
    for primitive in PRIMITIVES.values()
    if not isinstance(primitive.samples, EmptySlot)
    for case in cases(primitive)
]
ROWS = [
    pytest.param(
        check,
        case,
        id=f"{case.primitive.name}-{case.number}{'-single' * bool(case.variant)}-{check}",
    )
    for case in CASES
    for check in CHECKS
    if applies(check, case)
]


@pytest.mark.parametrize(("check", "case"), ROWS)
def test_laws(check: str, case: Case) -> None:
    CHECKS[check](case)
