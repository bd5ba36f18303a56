"""Programs on XLA, which compiles for processors, GPUs and TPUs, by way of JAX."""

from adjoint.executors.xla.executor import XlaExecutor, xla_executor

__all__ = ["XlaExecutor", "xla_executor"]
