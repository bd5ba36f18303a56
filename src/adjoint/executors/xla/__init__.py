"""Programs on XLA, which compiles for processors, GPUs and TPUs, by way of JAX."""

from adjoint.executors.xla.device_array import DeviceArray, device_put
from adjoint.executors.xla.executor import XlaExecutor, xla_executor

__all__ = ["DeviceArray", "XlaExecutor", "device_put", "xla_executor"]
