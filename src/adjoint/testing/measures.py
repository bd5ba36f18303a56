"""What the tests of an audit measure, and when they cannot."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import type_of
from adjoint.testing.remainders import Ladder, Rate
from adjoint.testing.report import Outcome, Result


class Unavailable(Exception):
    """A test cannot be made, and why."""


def rate_result(name: str, where: str, rate: Rate, least: float) -> Result:
    """The result of a test of an order of convergence."""
    if np.isnan(rate.rate):
        return Result(name, Outcome.SKIPPED, where, detail="values nearby are not finite")
    if np.isinf(rate.rate):
        detail = "it is at rounding level"
        return Result(name, Outcome.PASSED, where, None, least, detail, rate=True)
    outcome = Outcome.PASSED if rate.rate > least else Outcome.FAILED
    detail = (
        f"it vanishes like h^{rate.rate:.2f} for h in [{rate.smallest:.1e}, {rate.largest:.1e}]"
    )
    return Result(name, outcome, where, rate.rate, least, detail, rate=True)


def refuse_kink(ladder: Ladder) -> None:
    """Skip the test where the function itself has a kink or a jump at the point."""
    rate = ladder.symmetric().rate
    if rate < 0.5:
        raise Unavailable("the function jumps here")
    if rate < 1.5:
        raise Unavailable("the function has a kink here, so its remainders vanish more slowly")


def relative(one: Any, other: Any) -> float:
    """The largest difference relative to the largest entry; NaN equals NaN."""
    if one.shape != other.shape:
        return float("inf")
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    if np.all(same):
        return 0.0
    with np.errstate(all="ignore"):
        error = np.max(np.where(same, 0.0, np.abs(one - other)))
        scale = np.max(np.abs(other), initial=0.0, where=np.isfinite(other))
        ratio = float(error / scale) if scale else float("inf")
    return ratio if np.isfinite(ratio) else float("inf")


def rms(vector: Any) -> float:
    """The root of the mean square of the finite entries."""
    finite = vector[np.isfinite(vector)]
    return float(np.sqrt(np.mean(finite**2))) if finite.size else 1.0


def brief(vector: Any) -> str:
    """A vector as text, cut short."""
    text = ", ".join(f"{entry:.6g}" for entry in vector[:3])
    return f"({text}, ...)" if vector.size > 3 else f"({text})" if vector.size > 1 else text


def typed(tree: Any, model: Any) -> Any:
    """A vector with the dtypes of another's leaves."""
    return pytrees.tree_map(lambda x, m: np.asarray(x, type_of(m).dtype)[()], tree, model)


def unboxed(point: Any) -> Any:
    """The arrays of no axes as NumPy scalars."""
    return pytrees.tree_map(lambda x: x[()], point)


def type_text(leaf: Any) -> str:
    """Its type, to compare and to show."""
    return str(type_of(np.asarray(leaf)))


def is_numbers(arg: Any) -> bool:
    """Whether all leaves are numbers or arrays of them."""
    return all(type_of(leaf).dtype.kind in "biufc" for leaf in pytrees.leaves(arg))
