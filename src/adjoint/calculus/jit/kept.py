"""What is kept of a function: programs, each with the facts under which it is right.

A *bucket* holds what was captured of one function for arguments of one kind. Each *entry* in it has
the facts of its capture (see `capture.facts`), and one path without guards or a tree of them.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, Final, NamedTuple

from adjoint.base import pytrees
from adjoint.base.errors import ManyPathsWarning, ProgramError
from adjoint.base.process.collection import young_collected_alone
from adjoint.base.settings import Settings, settings
from adjoint.calculus.jit.calls import Call
from adjoint.calculus.jit.capturing import capture_call, names_of
from adjoint.calculus.jit.paranoia import check_replay
from adjoint.calculus.jit.paths import Difference, Path, Tree, following, turn_to
from adjoint.capture import current, unwrap
from adjoint.capture.facts.survey import Hindrance, Survey
from adjoint.capture.facts.writing import Check, with_text
from adjoint.capture.recording.effects.script import Unplayable
from adjoint.executors import Attempt
from adjoint.executors.compilation import runs_beside_others
from adjoint.pipeline import run

_LIMIT: Final = 32  # entries in a bucket
_BYTES: Final = 1 << 26  # of arrays that the entries of a bucket compare with
_LONGEST_WAIT: Final = 1024  # calls until facts are looked for again
_STRAYS: Final = 4  # new paths in a row, after which a function is captured without keeping them
STRAYED: Final = object()  # no results: the function is to be captured as if nothing were kept


class Quick(NamedTuple):
    """A call of machine code, which finds out itself whether the types are right.

    chosen: the settings that it holds under. check: the facts. flat: whether `call` takes the
    arguments as they are, and not `(args, kwargs)`. attempt: the machine code, whose misses
    are counted. treedef: of the results. guards: how many must hold. place: that number's among the
    results. path, entry: whose it is.
    """

    chosen: Settings
    check: Check
    flat: bool
    call: Callable[..., Any]
    attempt: Attempt
    treedef: Any
    guards: int
    place: int
    path: Path
    entry: KeptPaths

    def after(self, held: int) -> Quick | None:
        """The short way where so many guards hold and the next does not, if it is known."""
        path = self.path
        if path.guards[held].kind != "bool":
            return None
        other = following(path, Difference(held, not path.guards[held].answer))
        quick: Quick | None = None if other is None else other.quick
        if quick is None or other is None or other.nodes[: held + 1] != path.nodes[: held + 1]:
            return None
        turn_to(other)
        return quick


class Bucket:
    """The entries of one function for arguments of one kind.

    most: how many paths an entry has at most. at_once: whether programs become machine code at
    once. derives: whether the function is what a transform gives. wait: calls until facts are
    looked for. hindrances: why the last capture was not kept.
    """

    def __init__(self, most: int, at_once: bool, derives: bool = False, wait: int = 0) -> None:
        self.most = most
        self.at_once = at_once
        self.derives = derives
        self.entries: list[KeptPaths] = []
        self.hindrances: list[Hindrance] = []
        self.wide: list[frozenset[str]] = []
        self._wait, self._fruitless = wait, 0

    def find(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The entry whose facts hold, or None."""
        wanted = mode()
        for entry in self.entries:
            if entry.mode == wanted and entry.check(function, args, kwargs) is None:
                entry.useful = True
                return entry
        return None

    def rests(self) -> bool:
        """Whether there is nothing to look for at this call, and nothing to find."""
        if self._wait and not self.entries:
            self._wait -= 1
            return True
        return False

    def is_due(self) -> bool:
        """Whether facts are to be looked for at this call: the seldomer, the less comes of it."""
        if any(entry.useful for entry in self.entries):
            self._fruitless = self._wait = 0
            for entry in self.entries:
                entry.useful = False
        if self._wait:
            self._wait -= 1
            return False
        self._fruitless += 1
        self._wait = min((1 << self._fruitless - 1) - 1, _LONGEST_WAIT)
        return True

    def drop(self, entry: Any) -> None:
        """Let go of an entry that is seldom right, and look for another in a good while only."""
        self.entries = [other for other in self.entries if other is not entry]
        self._fruitless = min(self._fruitless + 4, 10)
        self._wait = (1 << self._fruitless) - 1

    def keep(self, entry: Any) -> None:
        """Put an entry before the others, as many of which stay as there is room for."""
        kept, size = [entry], entry.bytes
        for older in self.entries[: _LIMIT - 1]:
            size += older.bytes
            if size <= _BYTES:
                kept.append(older)
        self.entries = kept

    def capture(self, target: Any, call: Call) -> tuple[Any, KeptPaths | None]:
        """The results of a call that is captured, and the entry to keep, if it can be."""
        self._widen(call)
        # Where this comes once, what is kept of it is not to be looked through again and again.
        with young_collected_alone() if self.at_once else nullcontext():
            outcome = capture_call(
                target,
                call,
                keep=current() is None,
                at_once=self.at_once,
                derives=self.derives,
                wide=self.wide,
                in_time=self.at_once,
            )
        self.hindrances = outcome.hindrances
        if outcome.path is None or outcome.survey is None:
            return outcome.results, None
        entry = KeptPaths(self, outcome.path, outcome.survey, call)
        self.keep(entry)
        return outcome.results, entry

    def _widen(self, call: Call) -> None:
        """Let data be inputs where they are not what they were: all of them, or these alone.

        Not with several threads, since others would see what lies there while it is captured.
        """
        if runs_beside_others():
            return
        for entry in self.entries if not self.wide else ():
            survey = entry.survey
            failed = entry.check(call.function, call.args, call.kwargs)
            if failed is not None and not survey.identities:
                where = entry.facts[failed].where
                single = frozenset(place for place, count in survey.data.items() if count == 1)
                if where in single:
                    self.wide = [single, frozenset({where})]
                    return


class KeptPaths:
    """What is kept under some facts: one path without guards, or a tree of them.

    useful: whether it was right at a call since that was looked at last. strays: for how many calls
    in a row no path was right.
    """

    def __init__(self, bucket: Bucket, path: Path, survey: Survey, call: Call) -> None:
        self.bucket = bucket
        self.path = path
        self.tree = Tree(path) if path.guards else None
        self.check = survey.check
        self.facts = survey.facts
        self.bytes = survey.bytes
        self.survey = survey
        self.wide = names_of(survey)
        self._getter = survey.getter()
        self._short: Check | None = None
        self.mode = mode()
        self.useful = False
        self.exploded = False
        self.strays = 0
        self.places, self.cells = call.places, call.cells
        self._form = call.form if self._getter is None else call.form._replace(whole=False)
        self._lock = threading.RLock()  # a signal handler may come by within

    def call(self, target: Any, call: Call, missed: Quick | None, held: int | None) -> Any:
        """The results, along the path that is right for the arguments; or `STRAYED`.

        What fails is captured, as the user's code may handle the error, and NumPy may put it in
        other words.
        """
        mine = missed is not None and missed.entry is self and missed.chosen is settings()
        if mine and missed is not None:
            self.path = missed.path
        if self.tree is not None:
            if self.exploded:
                return _anew(target, call)
            return self._guarded(target, self.tree, call, held if mine else None, mine)
        if not self.path.is_ready:
            return _made_ready(self.path, target, call)
        if self.path.script is not None:
            return self._played(target, call)
        values = [*self._arrays(call), *self.path.constants]
        try:
            results = run(self.path.first, values, tried=mine)
        except Exception:  # what it is, the capture says
            return _anew(target, call)
        if settings().debug:  # of what does not fail
            check_replay(self.path, target, call, self.wide)
        return pytrees.unflatten(self.path.treedef, results)

    def _played(self, target: Any, call: Call) -> Any:
        try:
            results = self._play(self.path, target, call, self._arrays(call))
        except Unplayable:
            return _anew(target, call)
        return pytrees.unflatten(self.path.treedef, results)

    def _arrays(self, call: Call) -> list[Any]:
        """The inputs, and the data that are inputs."""
        arrays = [unwrap(leaf) for leaf in call.arrays]
        if self._getter is not None:
            arrays += self._getter(call.function, call.args, call.kwargs)
        return arrays

    def _play(self, path: Path, target: Any, call: Call, arrays: list[Any]) -> Any:
        """What comes of a path with a script, which is followed."""
        debug = settings().debug
        check = partial(check_replay, path, target, call, self.wide) if debug else None
        played = path.play(arrays, check)
        return played if isinstance(played, Difference) else played.results

    def _guarded(self, target: Any, tree: Tree, call: Call, held: int | None, tried: bool) -> Any:
        arrays = self._arrays(call)
        path, reached = self.path, -1
        while True:
            if not path.is_ready:
                return _made_ready(path, target, call)
            try:
                if path.script is None:
                    outcome = path.run(arrays, held, tried)
                else:
                    outcome = self._play(path, target, call, arrays)
            except ProgramError:  # of the check of a replay
                raise
            except Exception:  # what it is, the capture says
                return _anew(target, call)
            if not isinstance(outcome, Difference):
                break
            other = following(path, outcome)
            if other is None or outcome.place <= reached:
                return self._captured(target, tree, call)
            path, reached, held, tried = other, outcome.place, None, False
        self.strays = 0
        if settings().debug and path.script is None:
            check_replay(path, target, call, self.wide)
        if path is not self.path:
            turn_to(path)
            self.path = path
            if not path.again:
                path.again = True
                if self.bucket.at_once:
                    path.compile_at_once()
        return pytrees.unflatten(path.treedef, outcome)

    def _captured(self, target: Any, tree: Tree, call: Call) -> Any:
        """A path that was not met before."""
        self.strays += 1
        if self.strays > _STRAYS and not self.bucket.at_once:
            self.bucket.drop(self)
            return STRAYED
        wide = [frozenset(self.wide)] if self.wide else ()
        outcome = capture_call(
            target,
            call,
            keep=current() is None,
            at_once=False,
            wide=wide,
            in_time=self.bucket.at_once,
        )
        path = outcome.path
        if path is None or outcome.survey is None or not path.guards:
            return outcome.results
        if names_of(outcome.survey) != self.wide:
            return outcome.results
        with self._lock:
            few = tree.add(path)
        self.path = path
        if tree.count > self.bucket.most or not few:
            self._give_up(target, tree)
        return outcome.results

    def _give_up(self, target: Any, tree: Tree) -> None:
        self.exploded = True
        if not self.bucket.at_once:
            self.bucket.drop(self)
        else:
            line = tree.varying()
            warnings.warn(
                f"jit has met {tree.count} paths through {_name(target)}, as the values that it "
                f"asks for differ at {with_text(line)}. From now on it is captured at "
                "every call with these types, as without jit. Choose with np.where, loop with "
                "ad.while_loop, or allow more: ad.jit(f, paths=...).",
                ManyPathsWarning,
                stacklevel=7,
            )
        self.tree = Tree(self.path)

    def quick(self) -> Quick | None:
        """The short way under the settings in force, if the path is all machine code."""
        path, chosen = self.path, settings()
        attempt = path.first.attempt() if path.is_ready else None
        if (
            attempt is None
            or path.script is not None
            or len(path.stages) > 1
            or self.exploded
            or chosen.debug
        ):
            return None
        quick: Quick | None = path.quick
        if quick is None or quick.attempt is not attempt or quick.chosen is not chosen:
            bound = self._form.binding(attempt.executable.bind(path.bound()))
            if bound is None:
                return None
            if self._short is None:  # machine code looks at the types of arrays itself
                self._short = self.survey.check_but_types()
            count = len(path.stages[0].source.outputs)
            quick = path.quick = Quick(
                *(chosen, self._short, *bound, attempt, path.treedef),
                *(len(path.guards), count, path, self),
            )
        return quick


def _made_ready(path: Path, target: Any, call: Call) -> Any:
    """The results of a call at which a path's program is made, that it may serve the next."""
    results = _anew(target, call)
    path.make_ready()
    return results


def _anew(target: Any, call: Call) -> Any:
    """The results of a call that is captured for itself."""
    return capture_call(target, call, keep=False, at_once=False).results


def mode() -> tuple[Any, ...]:
    """The settings that change programs, and which code they come of."""
    chosen = settings()
    zeros, loops = chosen.strong_zeros, chosen.native is not False
    return chosen.kink, zeros, loops, chosen.enter, chosen.leave


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or type(function).__name__
