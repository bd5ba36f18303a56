"""Rolling: equations that repeat, because Python unrolled a loop, become a loop again."""

from adjoint.optimise.rolling.explaining import LeftRounds, RolledLoop, explain_rolling
from adjoint.optimise.rolling.rolled import has_large, roll
from adjoint.optimise.rolling.runs import Run, codes, runs

__all__ = [
    "LeftRounds",
    "RolledLoop",
    "Run",
    "codes",
    "explain_rolling",
    "has_large",
    "roll",
    "runs",
]
