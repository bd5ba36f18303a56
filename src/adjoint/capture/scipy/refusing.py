"""What sparse matrices with traced entries do not do."""

from __future__ import annotations

from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.recording.values.valued import refuse


def refuse_sparse(what: str) -> UnsupportedFunctionError:
    """An error that comes back at the end of the capture, should the code swallow it."""
    error = UnsupportedFunctionError(what)
    refuse(error)
    return error
