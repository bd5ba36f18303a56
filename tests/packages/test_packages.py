"""Public functions of installed packages have NumPy's values and the right gradients."""

from __future__ import annotations

import pytest

from tests.packages.collecting import COLLECTIONS
from tests.packages.sweeping import sweep

MOST = 150
SHARE = 0.95


@pytest.mark.slow
@pytest.mark.parametrize("package", COLLECTIONS)
@pytest.mark.filterwarnings("ignore")
def test_functions_of_a_package(package: str) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed")
    result = sweep(package, MOST)
    bad = [v for v in result.verdicts if v.outcome in ("wrong", "crash")]
    assert not bad, bad
    assert result.counts["right"] >= SHARE * len(result.verdicts), result.counts
