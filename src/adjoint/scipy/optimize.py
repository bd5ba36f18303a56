"""The names of `scipy.optimize`, understood on traced arrays too; see `adjoint.scipy`."""

from __future__ import annotations

from typing import Any

from adjoint.scipy.namespace import member, members


def __getattr__(name: str) -> Any:
    return member("optimize", name)


def __dir__() -> list[str]:
    return members("optimize")
