"""The reference executor: generated straight-line Python over NumPy, readable."""

from adjoint.executors.numpy.executor import (
    CarefulExecutable,
    NumpyExecutable,
    NumpyExecutor,
    has_infinities,
)

__all__ = ["CarefulExecutable", "NumpyExecutable", "NumpyExecutor", "has_infinities"]
