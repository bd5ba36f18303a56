"""Functions that are not entered, and traced arrays."""

from __future__ import annotations

import functools
from typing import Any

from adjoint.base.errors import AdjointError, UnsupportedFunctionError
from adjoint.capture.clones.users import is_users_file
from adjoint.capture.numpy.table import full_name
from adjoint.capture.recording.hooks import handed
from adjoint.capture.recording.traced import Traced
from adjoint.capture.recording.valued import any_slot, refuse


def guarded(function: Any) -> Any:
    """A function that is not entered: where it fails with traced values, that is a refusal.

    With NumPy's values in their place it might not have failed, so the user's code must not go on
    as if it had.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*map(handed, args), **{name: handed(x) for name, x in kwargs.items()})
        except AdjointError:
            raise
        except Exception as error:  # any, since it may come of a traced value
            last: Any = error.__traceback__
            while last.tb_next is not None:
                last = last.tb_next
            users = last.tb_next is not None and is_users_file(last.tb_frame.f_code.co_filename)
            if users or not (any_slot(args) or any_slot(kwargs)):
                raise
            refusal = UnsupportedFunctionError(
                f"{full_name(function)} was given traced values, which it does not take: it raised "
                f"{type(error).__name__}: {error}. Write that part in NumPy, or pass "
                "ad.stop_gradient(x) if the derivative is not wanted."
            )
            refuse(refusal)
            raise refusal from error

    return call


def of_any_array(method: Any) -> Any:
    """`np.ndarray.fill`, say, for traced arrays too."""

    def unbound(array: Any, *args: Any, **kwargs: Any) -> Any:
        if type(array) is Traced:
            return getattr(array, method.__name__)(*args, **kwargs)
        return method(array, *args, **kwargs)

    return unbound
