"""Floor 7: executors, interchangeable behind one interface."""

from adjoint.executors.interface import Executable, Executor
from adjoint.executors.native.executor import NativeExecutable, NativeExecutor
from adjoint.executors.numpy import NumpyExecutor

__all__ = ["Executable", "Executor", "NativeExecutable", "NativeExecutor", "NumpyExecutor"]
