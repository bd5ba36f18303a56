"""Which programs are written out, and which have loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.executors.native.schedule import planning
from adjoint.executors.native.schedule.recomputing import has_loops, scheduled


@pytest.mark.parametrize(("size", "looped"), [(3, False), (30, False), (100, True), (1000, True)])
def test_small_programs_are_written_out(
    size: int, looped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def noted(graph: Any, takes: Any) -> Any:
        scheduler = scheduled(graph, takes)
        seen.append(has_loops(scheduler))
        return scheduler

    monkeypatch.setattr(planning, "scheduled", noted)
    x = np.linspace(0, 1, size)
    with ad.config(native=True, cache=False):
        np.testing.assert_allclose(ad.jit(lambda x: x * x + x)(x), x * x + x)
    assert set(seen) == {looped}
