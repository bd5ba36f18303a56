"""Values and derivatives of NumPy's functions against torch's, at torch's own sample inputs.

Torch is no dependency: where it is missing, this is skipped. `python -m tests.torch_operators`
prints how many samples were compared, and every difference.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tests.sampling import one_in

pytest.importorskip("torch", reason="torch is compared with where it is installed")
pytest.importorskip("expecttest", reason="torch's list of operators needs expecttest")

from tests.torch_operators.comparing import compare, operators
from tests.torch_operators.operators import COUNTERPARTS, DIFFERENCES

CASES = [(name, dtype) for name in COUNTERPARTS for dtype in ("float64", "complex128")]


@cache
def _table() -> dict[str, Any]:
    return operators()


@pytest.mark.parametrize(("name", "dtype"), one_in(41, CASES))
def test_operator(name: str, dtype: str) -> None:
    if name not in _table():
        pytest.skip(f"this torch has no {name}")
    outcome = compare(name, dtype, _table()[name])
    expected, _ = DIFFERENCES.get((name, dtype), ("", ""))
    failed = {what for what in outcome.counts if what.endswith(("disagreed", "refused", "raised"))}
    assert failed <= {expected}, "\n".join(outcome.disagreements)
