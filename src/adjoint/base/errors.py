"""Every error that adjoint raises by name.

All derive from `AdjointError`, and from the builtin that NumPy would have raised where there is
one, so that `except ValueError` in user code keeps working. A message says what was asked, what was
found, and what to do instead; where the trouble lies in a recorded operation, it names the user's
own line.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.namespaces import names_of as _names_of

__dir__ = _names_of(__name__)


class AdjointError(Exception):
    """The root of all errors of this package.

    origin: the number of the recorded operation that it is about, where that is known.
    """

    origin: int | None = None


class ArgumentError(AdjointError, ValueError):
    """An argument has a value that the function cannot take."""


class ArgumentTypeError(AdjointError, TypeError):
    """An argument has a type that the function cannot take."""


class MissingPackageError(AdjointError, ImportError):
    """What was asked for needs a package that is not installed; the message names the extra."""


# --- mathematics ---------------------------------------------------------------------------------


class SpaceMismatchError(AdjointError, TypeError):
    """Elements, covectors or maps of different spaces were combined."""


class VarianceError(AdjointError, TypeError):
    """Two input indices of tensors, or two output indices, were contracted."""


class MembershipError(AdjointError, ValueError):
    """A value is not an element of the space that was named."""


class NotPositiveDefiniteError(AdjointError, ValueError):
    """A weight does not define an inner product."""


class MissingTransposeError(AdjointError, TypeError):
    """A linear map was built without the means to transpose it."""


class MissingInverseError(AdjointError, TypeError):
    """A linear map was built without the means to invert it."""


class MissingStructureError(AdjointError, TypeError):
    """A space of functions was asked for what its kind does not have: derivatives, say."""


# --- programs ------------------------------------------------------------------------------------


class ProgramError(AdjointError):
    """A program breaks its own rules (types, single assignment, linearity): a defect of adjoint."""


class ShapeError(AdjointError, ValueError):
    """Shapes do not fit together."""


class DTypeError(AdjointError, TypeError):
    """An operation is not defined for these dtypes."""


class BoundsError(AdjointError, IndexError):
    """An index lies outside its axis, or has a form that NumPy would refuse."""


class WeightsError(AdjointError, RuntimeError):
    """Weights of observations do not fit the observations; a RuntimeError in NumPy."""


class LinearAlgebraError(ShapeError, np.linalg.LinAlgError):
    """Linear algebra of matrices that are not square, or whose inverse is lost in rounding."""


class DegenerateError(AdjointError, np.linalg.LinAlgError):
    """Eigenvalues or singular values coincide, and their vectors have no derivative."""


# --- capture -------------------------------------------------------------------------------------


class UnsupportedFunctionError(AdjointError, TypeError):
    """A function was called on a traced array that adjoint has no derivative for."""


class DroppedDerivativeError(AdjointError, TypeError):
    """An operation outside the reach of capture would have lost a derivative silently."""


class AliasingError(AdjointError, ValueError):
    """An in-place write whose effect on other arrays cannot be told soundly."""


class ValueNeededError(AdjointError, TypeError):
    """A concrete value was asked of an array that stands for many (inside `vmap`)."""


class UnknownResultError(ValueNeededError):
    """The result type of a function that capture does not enter cannot be told beforehand."""


# --- transforms ----------------------------------------------------------------------------------


class NotDifferentiableError(AdjointError, TypeError):
    """A derivative was asked for where there is none: of integers, or of no real scalar."""


class MissingRuleError(AdjointError, TypeError):
    """A primitive has no rule for the transform that was asked for."""


class NotLinearError(AdjointError, ValueError):
    """A function that should be linear is not."""


# --- solvers -------------------------------------------------------------------------------------


class NotConvergedError(AdjointError, RuntimeError):
    """A solver did not reach its tolerance; what it found is no solution to differentiate at."""


class InfeasibleError(AdjointError, ValueError):
    """No point satisfies the constraints of an optimisation problem."""


class UnboundedError(AdjointError, ValueError):
    """The objective of an optimisation problem falls without end, or has no minimiser."""


class SingularError(AdjointError, ValueError):
    """A linear system has no single solution that rounding leaves anything of."""


# --- executors -----------------------------------------------------------------------------------


class NativeUnavailableError(AdjointError, RuntimeError):
    """Machine code cannot be made here: LLVM is missing or failed, in the words of the message."""


class RowsError(AdjointError, ValueError):
    """A function cannot be computed on some of its rows at a time (see `ad.rows`)."""


class XlaUnavailableError(AdjointError, RuntimeError):
    """XLA cannot be used here: JAX or the device is missing, or JAX's version is a wrong one."""


class TapeOverflowError(AdjointError, RuntimeError):
    """A loop made more rounds than its tape has rows. Programs are run again with a longer one.

    length: how many rows there were.
    """

    def __init__(self, length: int, advice: str = "") -> None:
        super().__init__(
            f"A loop made more rounds than the {length} that its tape has rows for"
            f"{', ' + advice if advice else ''}."
        )
        self.length = length
        self._advice = advice

    def __reduce__(self) -> tuple[Any, ...]:
        return TapeOverflowError, (self.length, self._advice)


# --- replay --------------------------------------------------------------------------------------


class NotReplayableError(AdjointError, TypeError):
    """`jit(strict=True)` was asked of a function that must be captured at every call."""


class NotExportableError(AdjointError, TypeError):
    """A program calls what a file cannot hold: code of Python's, or a function of the host's."""


# --- checks --------------------------------------------------------------------------------------


class CheckFailedError(AdjointError, AssertionError):
    """A derivative audit found a fault."""


# --- warnings ------------------------------------------------------------------------------------


class NativeExecutorWarning(UserWarning):
    """Machine code could not be made; programs run on NumPy, which is slower and as right."""


class UnknownPythonWarning(UserWarning):
    """The bytecode of this version of Python is not known, and less code is reached by capture."""


class ManyPathsWarning(UserWarning):
    """`jit` has met more paths through a function than it keeps, and captures it at every call."""


class QuestionsAloneWarning(UserWarning):
    """A result depends on an argument through questions alone, so that its derivative is zero."""


class StaleValueWarning(UserWarning):
    """A value that an earlier call derived from its arguments is used as a constant in this one."""
