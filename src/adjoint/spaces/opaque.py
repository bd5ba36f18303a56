"""Linear functions that are applied whole: solving with a matrix, say.

Here they are plain calls. The floors above, which know of arrays that stand for others while a
function is captured, put in the place of `APPLY` and `LINEAR` what records such a call as one
linear operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _call(function: Callable[[Any], Any], argument: Any) -> Any:
    return function(argument)


def _forward(forward: Any, transpose: Any, name: str) -> Any:
    return forward


# (function that is its own transpose, argument) -> its value
APPLY: Callable[[Callable[[Any], Any], Any], Any] = _call
# (function, its transpose or None, name) -> the function, for traced arguments too
LINEAR: Callable[[Any, Any, str], Any] = _forward
