"""Functions of SciPy that JAX computes as exactly; all others go through the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from adjoint.executors.xla.rules.elementwise import SPECIAL, as_ufunc
from adjoint.executors.xla.rules.table import rule
from adjoint.program import Equation

# By the names of SciPy's ufuncs, which are those of `jax.scipy.special`.
_SAME: Final = (
    *("erf", "erfc", "erfinv", "ndtr", "ndtri", "log_ndtr", "expit", "logit", "entr", "i0e", "i1e"),
    *("i1", "gammaln", "xlogy", "xlog1py", "rel_entr", "kl_div", "betaln"),
)


def _same(name: str) -> Callable[..., Any]:
    return lambda work, *operands: getattr(work.special, name)(*operands)


def _rule(name: str) -> Callable[..., Any]:
    of_reals = as_ufunc(_same(name))

    def lower(work: Any, equation: Equation, *operands: Any) -> Any:
        if equation.outputs[0].type.dtype.kind == "c":
            return None  # JAX has it for real numbers alone
        return of_reals(work, equation, *operands)

    return lower


for _name in _SAME:
    SPECIAL[_name] = _same(_name)
    rule(_name)(_rule(_name))
