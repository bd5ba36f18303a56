"""What a global name stands for in clones."""

from __future__ import annotations

from typing import Any, NamedTuple


class Stand(NamedTuple):
    """What a clone sees under a global name.

    value: what the name is bound to. shown: what a clone sees. effect: why looking it up may be an
    effect (see `facts.purity`). made: the `Clone`, where the value is a function of the user's.
    """

    value: Any
    shown: Any
    effect: str | None = None
    made: Any = None
