"""What `jit` keeps of a function: for each signature a program, or a tree of paths."""

from __future__ import annotations

import linecache
import threading
import warnings
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import is_numeric
from adjoint.base.errors import ArgumentTypeError, ManyPathsWarning
from adjoint.base.settings import Settings, settings
from adjoint.base.unpacking import is_flat, unpacking
from adjoint.calculus.jit.paths import Difference, Path, Staged, Tree, following, turn_to
from adjoint.calculus.jit.stages import cut
from adjoint.capture import Captured, Traced, capture, current, is_known, traced_type, unwrap
from adjoint.capture.recording.guards import Guard
from adjoint.capture.recording.trace import check_plain
from adjoint.executors.native.executor import Piece
from adjoint.pipeline import prepare, run
from adjoint.program import Program

_LIMIT: Final = 256


class Quick(NamedTuple):
    """A call without a look at the signature: machine code finds out itself what it was given.

    chosen: the settings that it holds under. flat: whether `call` takes the arguments as they are,
    and not `(args, kwargs)`. piece: the machine code, whose misses are counted. treedef: of the
    results. guards: how many must hold. place: that number's among the results. path, entry: whose
    it is.
    """

    chosen: Settings
    flat: bool
    call: Callable[..., Any]
    piece: Piece
    treedef: Any
    guards: int
    place: int
    path: Path
    entry: Entry

    def otherwise(self, held: int) -> Quick | None:
        """The short way where so many guards hold and the next does not, if it is known."""
        path = self.path
        if path.guards[held].kind != "bool":
            return None
        found = following(path, Difference(held, not path.guards[held].answer))
        quick: Quick | None = None if found is None else found.quick
        if quick is None or found is None or found.nodes[: held + 1] != path.nodes[: held + 1]:
            return None
        turn_to(found)
        return quick


class Call(NamedTuple):
    """The arguments of a call, taken apart.

    arrays: the arrays and numbers among the leaves. traced: whether an outer capture traces some.
    """

    leaves: list[Any]
    treedef: Any
    arrays: list[Any]
    types: tuple[Any, ...]
    traced: bool

    def apply(self, target: Any, traced: list[Any]) -> Any:
        """Call a function with traced values for the arrays and numbers."""
        waiting = iter(traced)
        whole = [next(waiting) if _is_array(leaf) else leaf for leaf in self.leaves]
        args, kwargs = pytrees.unflatten(self.treedef, whole)
        return target(*args, **kwargs)


class Kept:
    """The signatures of one function."""

    def __init__(self, function: Any, most: int) -> None:
        self.function = function
        self.most = most
        self._entries: dict[Any, Entry] = {}
        self._lock = threading.Lock()

    def call(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        missed: Quick | None,
        held: int | None,
    ) -> tuple[Any, Quick | None]:
        """The results of a call, and the short way for the next one.

        missed: the short way that was tried. held: how many guards held there, if it said so.
        """
        leaves, treedef = pytrees.flatten((args, kwargs))
        arrays = [leaf for leaf in leaves if _is_array(leaf)]
        if len(arrays) == len(leaves):
            static: tuple[Any, ...] = ()
        else:
            static = tuple(None if _is_array(leaf) else leaf for leaf in leaves)
            _check_hashable(static)
        types = tuple([traced_type(leaf) for leaf in arrays])
        key = (treedef, types, static, settings().kink)
        traced = any(type(leaf) is Traced and not is_known(leaf) for leaf in arrays)
        call = Call(leaves, treedef, arrays, types, traced)
        entry = self._entries.get(key)
        if entry is None:
            path, results = _capture(self.function, call, True)
            if path is None:
                return results, None
            entry = Entry(self, path, treedef if not static else None)
            with self._lock:
                if len(self._entries) >= _LIMIT:
                    self._entries.clear()
                self._entries[key] = entry
        else:
            for leaf in arrays:
                if type(leaf) is not np.ndarray and isinstance(leaf, np.ndarray):
                    check_plain(leaf)  # as at the first call: its own meaning would be lost
            results = entry.call(call, missed, held)
        return results, entry.quick()


class Entry:
    """What is kept for a signature: one path without guards, or a tree of them.

    input_tree: the structure of (args, kwargs), if all that is in it are arrays and numbers.
    """

    def __init__(self, kept: Kept, path: Path, input_tree: Any) -> None:
        self.kept = kept
        self.path = path
        self.tree = Tree(path) if path.guards else None
        self.input_tree = input_tree
        self.exploded = False

    def call(self, call: Call, missed: Quick | None, held: int | None) -> Any:
        """The results, along the path that is right for the arguments."""
        if missed is not None and missed.entry is self and missed.chosen is settings():
            self.path, mine = missed.path, True
        else:
            mine = False
        if self.tree is not None:
            if self.exploded or call.traced:
                # Under an outer capture the questions are that one's.
                return _capture(self.function, call, False)[1]
            return self._guarded(self.tree, call, held if mine else None, mine)
        values = [*call.arrays, *self.path.constants]
        results = run(self.path.first, values, tried=mine)
        return pytrees.unflatten(self.path.treedef, results)

    @property
    def function(self) -> Any:
        """The user's."""
        return self.kept.function

    def _guarded(self, tree: Tree, call: Call, held: int | None, tried: bool) -> Any:
        arrays = [unwrap(leaf) for leaf in call.arrays]
        path, reached = self.path, -1
        while True:
            found = path.run(arrays, held, tried)
            if not isinstance(found, Difference):
                break
            other = following(path, found)
            if other is None or found.place <= reached:
                return self._captured(tree, call)
            path, reached, held, tried = other, found.place, None, False
        if path is not self.path:
            turn_to(path)
            self.path = path
            if not path.again:
                path.again = True
                path.first.at_once()
        return pytrees.unflatten(path.treedef, found)

    def _captured(self, tree: Tree, call: Call) -> Any:
        """A path that was not met before."""
        path, results = _capture(self.function, call, True, first=False)
        if path is None or not path.guards:
            return results
        few = tree.add(path)
        self.path = path
        if tree.count > self.kept.most or not few:
            self._give_up(tree)
        return results

    def _give_up(self, tree: Tree) -> None:
        self.exploded = True
        line = tree.varying()
        path, _, number = line.rpartition(":")
        text = linecache.getline(path, int(number)).strip() if number else ""
        self.tree = Tree(self.path)
        warnings.warn(
            f"jit has met {tree.count} paths through {_name(self.function)}, as the values that it "
            f"asks for differ at {line}{': ' if text else ''}{text}. From now on it is captured at "
            "every call with these types, as without jit. Choose with np.where, loop with "
            "ad.while_loop, or allow more: ad.jit(f, paths=...).",
            ManyPathsWarning,
            stacklevel=6,
        )

    def quick(self) -> Quick | None:
        """The short way under the settings in force, if the path is all machine code."""
        path = self.path
        native = path.first.native()
        if (
            native is None
            or native.piece is None
            or self.input_tree is None
            or len(path.stages) > 1
            or self.exploded
        ):
            return None
        quick: Quick | None = path.quick
        if quick is None or quick.piece is not native.piece or quick.chosen is not settings():
            quick = path.quick = self._make_quick(path, native.piece)
        return quick

    def _make_quick(self, path: Path, piece: Piece) -> Quick:
        flat = is_flat(self.input_tree)
        call = piece.bound(path.bound())
        call = call if flat else unpacking(call, self.input_tree)
        count = len(path.stages[0].made.outputs)
        return Quick(
            settings(), flat, call, piece, path.treedef, len(path.guards), count, path, self
        )


def _is_array(leaf: Any) -> bool:
    return type(leaf) is Traced or is_numeric(leaf)


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or type(function).__name__


def _check_hashable(static: tuple[Any, ...]) -> None:
    for each in static:
        try:
            hash(each)
        except TypeError:
            raise ArgumentTypeError(
                f"jit was given a {type(each).__name__} as an argument, which cannot be hashed. "
                "What is neither an array nor a "
                "number tells programs apart by its value: use a tuple or a frozenset, or leave "
                "jit away."
            ) from None


# --- capturing ------------------------------------------------------------------------------------


def _capture(
    function: Any, call: Call, guarded: bool, first: bool = True
) -> tuple[Path | None, Any]:
    """The path to keep, if there is one, and the results of this call.

    guarded: whether the values that are asked for are to become guards. first: of its signature;
    then it is machine code at once.
    """
    guarded = guarded and not call.traced
    active = tuple(type(leaf) is Traced and not is_known(leaf) for leaf in call.arrays)
    captured = capture(
        function, call.apply, call.types, call.arrays, active, frozen=True, guarded=guarded
    )
    trace = captured.trace
    outer = any(type(value) is Traced for value in captured.constants)
    keep = not (trace.asked or (outer and current() is not None))
    guards = tuple(trace.guards.values()) if keep and trace.guards else ()
    staged = _staged(captured, guards)
    path = Path(staged, guards, [unwrap(each) for each in captured.constants], captured.treedef)
    if keep and first:
        path.first.at_once()
    if guards:
        results: Any = path.run([unwrap(leaf) for leaf in call.arrays], sure=True)
    else:
        results = run(path.first, [*call.arrays, *captured.constants])
    return (path if keep else None), pytrees.unflatten(captured.treedef, results)


def _staged(captured: Captured, guards: tuple[Guard, ...]) -> Staged:
    """The program ready to run, found again by its structure."""
    slots = tuple(guard.slot for guard in guards)
    whole = Captured(captured.trace, (*captured.outputs, *slots), captured.treedef)

    def derive(program: Program, _: Any) -> tuple[Program, tuple[int, ...], Staged]:
        made = cut(program, guards)
        first = made.stages[0]
        return first.program, first.watched, Staged(made)

    questions = tuple(
        (*each.question, each.answer if each.kind == "bool" else None) for each in guards
    )
    compiled = prepare(("jit", questions), whole, derive)
    staged: Staged = compiled.facts
    return staged.ready(compiled)
