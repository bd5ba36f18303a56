"""The Python array API standard on traced arrays: their namespace, device and exchange of memory.

Everything else of the standard is NumPy's own, which follows it since NumPy 2.
https://data-apis.org/array-api/2024.12
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from adjoint.capture.clones.stand_ins.shadows import shadow_of
from adjoint.capture.numpy.table import implements
from adjoint.capture.recording.exits.escape import escape
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.traced import Traced

NUMPY: Final = shadow_of(np)
_LIKE: Any = np.ones(())  # answers as every array of NumPy's


def _namespace(self: Traced) -> Callable[..., Any]:
    def namespace(*, api_version: str | None = None) -> Any:
        _LIKE.__array_namespace__(api_version=api_version)
        return NUMPY

    return namespace


def _to_device(self: Traced) -> Callable[..., Any]:
    def to_device(device: str, /, *, stream: Any = None) -> Traced:
        _LIKE.to_device(device, stream=stream)
        return self

    return to_device


def _dlpack(self: Traced) -> Callable[..., Any]:
    def exchange(
        *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        # Whoever takes the memory cannot know of the derivative.
        array = np.asarray(escape(self, "np.asarray"))
        kept = array if array.flags.writeable else array.copy()
        return kept.__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    return exchange


@implements(np.from_dlpack)
def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    """Create a NumPy array from an object implementing the `__dlpack__` protocol."""
    np.from_dlpack(_LIKE, device=device, copy=copy)
    return x.copy() if copy else x[...]  # no other library takes part: a view


hooks.methods.update(
    {
        "__array_namespace__": _namespace,
        "__dlpack__": _dlpack,
        "__dlpack_device__": lambda self: _LIKE.__dlpack_device__,
        "device": lambda self: "cpu",
        "to_device": _to_device,
    }
)
