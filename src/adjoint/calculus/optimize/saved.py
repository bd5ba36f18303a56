"""The state of a descent in a file, from which another process goes on as if nothing had happened.

The file is written beside its place and moved there, so that it is whole whenever the process ends.
It holds numbers and no code: a title, the digest of what follows, and NumPy's arrays.
"""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.base import pytrees
from adjoint.base.errors import ArgumentError
from adjoint.base.process.files import write_whole
from adjoint.calculus.optimize.result import Iterate, Step

_TITLE: Final = b"adjoint descent 1\n"
_SECONDS: Final = 1.0  # between two writings; at the end, and after an error, there is one more


class SavedIterate(NamedTuple):
    """An iterate without what follows from it. components: of the differential there."""

    number: int
    x: Any
    value: float
    components: Any
    direction: Any
    length: float
    evaluations: int

    @classmethod
    def of(cls, here: Iterate, components: Any) -> SavedIterate:
        """What is kept of an iterate."""
        kept = here.number, here.x, here.value, components, here.direction
        return cls(*kept, here.length, here.evaluations)


class DescentState(NamedTuple):
    """What a descent goes on from.

    guess: the length to try next. history: of steps.
    lowest: the lowest value and norm so far, and for how many steps there has been no lower one.
    """

    here: SavedIterate
    previous: SavedIterate | None
    guess: float
    history: tuple[Step, ...]
    lowest: tuple[float, float, int]


class DescentFile:
    """Keeps the state of a descent. start: where it begins, by which the file is known."""

    def __init__(self, path: str | os.PathLike[str], start: Any) -> None:
        self._path = Path(path)
        self._leaves, self._treedef = pytrees.flatten(start)
        self._start = _digest_of(self._leaves)
        self._state: DescentState | None = None
        self._written = time.monotonic()
        if not self._path.parent.is_dir():
            raise ArgumentError(
                f"checkpoint must be a file in a directory that is there, got {str(path)!r}."
            )

    def __enter__(self) -> DescentFile:
        return self

    def __exit__(self, *_: Any) -> None:
        self._write()

    def note(self, state: DescentState) -> None:
        """Take a state, and write it if the last was written some time ago."""
        self._state = state
        if time.monotonic() - self._written >= _SECONDS:
            self._write()

    def _write(self) -> None:
        state, self._state = self._state, None
        if state is None:
            return
        arrays: dict[str, Any] = {"start": np.array(self._start)}
        for name, saved in (("here", state.here), ("previous", state.previous)):
            if saved is not None:
                self._add(arrays, name, saved)
        arrays["history"] = np.array([step[:3] for step in state.history])
        arrays["evaluations"] = np.array([step.evaluations for step in state.history])
        arrays["numbers"] = np.array([state.guess, *state.lowest[:2]])
        arrays["age"] = np.array(state.lowest[2])
        content = io.BytesIO()
        np.savez(content, **arrays)
        body = content.getvalue()
        write_whole(self._path, _TITLE + hashlib.sha256(body).digest() + body)
        self._written = time.monotonic()

    def _add(self, arrays: dict[str, Any], name: str, saved: SavedIterate) -> None:
        arrays[f"{name} counts"] = np.array([saved.number, saved.evaluations])
        arrays[f"{name} numbers"] = np.array([saved.value, saved.length])
        for part in ("x", "components", "direction"):
            value = getattr(saved, part)
            if value is None:  # of the start, to which no direction has led
                continue
            leaves, treedef = pytrees.flatten(value)
            if treedef != self._treedef:
                raise ArgumentError(
                    "checkpoint keeps descents whose directions have the structure of the point, "
                    f"and this one has {pytrees.structure_text(treedef)}."
                )
            for number, leaf in enumerate(leaves):
                arrays[f"{name} {part} {number} {_kind(leaf)}"] = np.asarray(leaf)

    def read(self) -> DescentState | None:
        """The state that the file holds; None if there is no file.

        Raises:
            ArgumentError: it is damaged, holds something else, or a descent from another start.
        """
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return None
        title, body = content[: len(_TITLE)], content[len(_TITLE) + 32 :]
        digest = content[len(_TITLE) : len(_TITLE) + 32]
        if title != _TITLE or hashlib.sha256(body).digest() != digest:
            raise ArgumentError(
                f"{str(self._path)!r} holds no state of a descent, or is damaged. Remove it, and "
                "the descent begins anew."
            )
        with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
            if str(arrays["start"]) != self._start:
                raise ArgumentError(
                    f"{str(self._path)!r} holds a descent from another start. Give the same x0, or "
                    "another file."
                )
            return self._state_of(arrays)

    def _state_of(self, arrays: Any) -> DescentState:
        here = self._iterate(arrays, "here")
        previous = self._iterate(arrays, "previous") if "previous counts" in arrays else None
        rows = zip(arrays["history"].tolist(), arrays["evaluations"].tolist(), strict=True)
        history = tuple(Step(value, norm, length, count) for (value, norm, length), count in rows)
        guess, value, norm = arrays["numbers"].tolist()
        return DescentState(here, previous, guess, history, (value, norm, int(arrays["age"])))

    def _iterate(self, arrays: Any, name: str) -> SavedIterate:
        number, evaluations = arrays[f"{name} counts"].tolist()
        value, length = arrays[f"{name} numbers"].tolist()
        x, components, direction = (
            self._tree(arrays, f"{name} {part} ") for part in ("x", "components", "direction")
        )
        return SavedIterate(number, x, value, components, direction, length, evaluations)

    def _tree(self, arrays: Any, prefix: str) -> Any:
        leaves: list[Any] = []
        for number in range(len(self._leaves)):
            for kind in ("array", "number"):
                key = f"{prefix}{number} {kind}"
                if key in arrays:
                    leaves.append(arrays[key] if kind == "array" else arrays[key][()])
        return pytrees.unflatten(self._treedef, leaves) if leaves else None


def _kind(leaf: Any) -> str:
    """Whether a leaf is an array, or one of NumPy's numbers, which has no axes either."""
    return "array" if isinstance(leaf, np.ndarray) else "number"


def _digest_of(leaves: Sequence[Any]) -> str:
    digest = hashlib.sha256()
    for leaf in leaves:
        array = np.asarray(leaf)
        digest.update(f"{array.dtype} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
