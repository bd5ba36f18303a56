"""The names of `scipy.fft`, understood on traced arrays too; see `adjoint.scipy`."""

from __future__ import annotations

from typing import Any

from adjoint.scipy.namespace import member, members


def __getattr__(name: str) -> Any:
    return member("fft", name)


def __dir__() -> list[str]:
    return members("fft")
