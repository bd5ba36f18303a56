"""The reference executor: generated straight-line Python over NumPy, readable."""

from adjoint.executors.numpy.executor import CarefulExecutable, NumpyExecutable, NumpyExecutor

__all__ = ["CarefulExecutable", "NumpyExecutable", "NumpyExecutor"]
