"""Whether a function gives the same value twice, without which nothing of it can be tested."""

from __future__ import annotations

from adjoint.calculus import explain
from adjoint.testing.measures import brief, relative
from adjoint.testing.problem import CheckedFunction, pack
from adjoint.testing.report import Outcome, Result

NAME = "the same value twice"


def changed(problem: CheckedFunction, tolerance: float) -> Result | None:
    """The failed test, where a second plain call at the same point gives another value."""
    first, second = pack(problem.value), pack(problem.kept_part(problem.plain(problem.point)))
    error = relative(first, second)
    if error <= tolerance:
        return None
    detail = (
        f"two plain calls at the same point gave {brief(first)} and {brief(second)}: "
        f"{_cause(problem)}. What is tested must depend on its arguments alone: make generators "
        "within it, from a seed, and pass in what changes"
    )
    return Result(NAME, Outcome.FAILED, "compared with NumPy", error, tolerance, detail)


def _cause(problem: CheckedFunction) -> str:
    """What capture sees that makes the value another one."""
    try:
        explanation = explain(problem.original, *problem.args)
    except Exception:  # the cause is told beside the fault, which is clear without it
        return "it is random, or keeps a state"
    drawn = [effect for effect in explanation.anew if effect.what != "prints"]
    causes = [f"it {what} ({line})" if line else f"it {what}" for what, line in drawn]
    causes += [f"{what} ({line})" if line else what for what, line in explanation.reasons]
    return "; ".join(dict.fromkeys(causes)) or "it is random, or keeps a state"
