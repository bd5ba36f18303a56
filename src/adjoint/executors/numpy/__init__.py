"""The reference executor: generated straight-line Python over NumPy, readable."""

from adjoint.executors.numpy.executor import (
    NumpyExecutable,
    NumpyExecutor,
    has_infinities,
)

__all__ = ["NumpyExecutable", "NumpyExecutor", "has_infinities"]
