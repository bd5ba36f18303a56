"""The reference executor: generated straight-line Python over NumPy, readable."""

from adjoint.executors.numpy.executor import NumpyExecutable, NumpyExecutor

__all__ = ["NumpyExecutable", "NumpyExecutor"]
