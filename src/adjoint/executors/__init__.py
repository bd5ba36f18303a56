"""Floor 7: executors, interchangeable behind one interface."""

from adjoint.base.settings import EXECUTORS
from adjoint.executors.attempt import Attempt
from adjoint.executors.disk.object_cache import Counts, object_cache
from adjoint.executors.interface import CompileReport, Executable, Executor, LeftEquation, Needs
from adjoint.executors.native.executor import NativeExecutor
from adjoint.executors.numpy import NumpyExecutor
from adjoint.executors.xla import XlaExecutor, xla_executor

__all__ = [
    "Attempt",
    "CompileReport",
    "Counts",
    "Executable",
    "Executor",
    "LeftEquation",
    "NativeExecutor",
    "Needs",
    "NumpyExecutor",
    "XlaExecutor",
    "object_cache",
]

EXECUTORS["xla"] = xla_executor
