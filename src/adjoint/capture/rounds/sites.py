"""Where a function asks for truth again and again, and when it is looked at whether it loops.

A moment is noted at the first, second, fourth, ... question of a place, and later ones are
compared with it (Brent 1980, "An improved Monte Carlo factorization algorithm", finds cycles so).
So a period of any length is seen, and what never repeats costs little. From then on each round
that leads to a like moment is a path of the loop. When some are known, the loop is run, from the
first such moment to the end, or to a round that takes a path that is not known yet: capture goes on
with that round, and then knows it. What is known of a loop serves all frames of its function.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType
from typing import Any, Final, NamedTuple

from adjoint.capture.bytecode.code import original_of
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.trace import Trace, current, outermost
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.capture.rounds.frames import (
    held_elsewhere,
    is_marked,
    looks_at_frames,
    mark,
    place_of,
)
from adjoint.capture.rounds.lifting import (
    changed,
    known_and_bound,
    lift_names,
    liftable_in,
    unlift_names,
)
from adjoint.capture.rounds.moments import (
    FrameWatch,
    Lead,
    Moment,
    are_alike,
    computed_value,
    lead,
)
from adjoint.capture.rounds.paths import RoundPath, RoundTree, TreeConstants, path_between
from adjoint.program import Operation

# Questions at a place before the first moment is noted: where a program is kept, few; else as many
# as cost more than to look.
FIRST_KEPT: Final = 1
FIRST_ELSE: Final = 16
FEWEST: Final = 4  # rounds that are worth a loop
_MOST_SITES: Final = 256  # of a capture
_MOST_LOOPS: Final = 8  # at one instruction
_MOST_WITHIN: Final = 8  # questions of a place in a round of the loop that it is in
_MOST_GIVEN: Final = 2  # rounds that a place waits for an earlier one
_MOST_ANEW: Final = 2
_MOST_WAITED: Final = 64  # rounds between two attempts


class KnownLoop:
    """What is known of the loop at an instruction: to be compared with, and the rounds so far.

    base: the moment that others are to be like. names: whose values are lifted.
    """

    __slots__ = ("base", "names", "tree", "watch")

    def __init__(self, watch: FrameWatch, base: Moment, names: frozenset[str]) -> None:
        self.watch = watch
        self.base = base
        self.names = names
        self.tree = RoundTree()


class ReadyLoop(NamedTuple):
    """A loop to be run.

    begun: the moment from which it is recorded. asks: whether the question of that moment is asked
    as well, so that there is a round at least. values: the traced values that it goes on with now.
    asked: NumPy's value of what is asked for.
    """

    constants: TreeConstants
    begun: Moment
    asks: bool
    values: tuple[Traced, ...]
    asked: Any

    @property
    def tree(self) -> RoundTree:
        """The rounds."""
        return self.constants.tree


class Ended(NamedTuple):
    """What there is after a loop.

    asked: what is asked for. answer: its truth, where the loop ends with no other.
    """

    asked: Traced
    answer: bool | None


class _MomentChain:
    """Moments of a frame that are alike, one round after the other.

    begun, last: the first and the last. answer: to the question at the last. noted: whether that is
    among the inquiries of the capture. anew: how often it has begun anew. shared: the arrays at
    the first, by their numbers, that others may hold. kept: the values at the last. rounds: since
    the last attempt to run the loop. wanted: how many there are to be before the next.
    """

    __slots__ = (
        *("anew", "answer", "begun", "constants", "kept", "last", "loop", "noted", "rounds"),
        *("shared", "wanted"),
    )

    def __init__(
        self,
        trace: Trace,
        frame: FrameType,
        loop: KnownLoop,
        begun: Moment,
        kept: tuple[Traced, ...],
        answer: bool,
    ) -> None:
        held = zip(begun.values, held_elsewhere(frame, kept), strict=True)
        self.shared = {n for n, (value, others) in enumerate(held) if value.is_array and others}
        self.loop = loop
        self.constants = TreeConstants(trace, loop.tree)
        self.begun = begun
        self.kept: list[Any] = []
        self.move(begun, kept, answer, True)
        self.rounds, self.wanted = 0, 1 if loop.tree.paths else 2
        self.anew = 0

    def move(self, now: Moment, kept: Sequence[Traced], answer: bool, noted: bool) -> None:
        """Let this be the last moment."""
        self.last, self.answer, self.noted = now, answer, noted
        self.kept[:] = kept

    @property
    def tree(self) -> RoundTree:
        """The rounds, which another frame may have begun anew since."""
        return self.constants.tree

    def restart(self) -> None:
        """Begin with the last round anew: those before it have recorded something else."""
        self.loop.tree = RoundTree()
        self.constants = TreeConstants(self.constants.trace, self.loop.tree)
        self.begun = self.last
        self.shared = {n for n, value in enumerate(self.begun.values) if value.is_array}
        self.rounds, self.wanted = 0, 2

    def path(self, now: Moment, led: Lead) -> RoundPath | None:
        """The round from the last moment to this one, added to the others; None if it is none."""
        path = path_between(self.constants, (self.last, now), led, self.answer, self.noted)
        if path is not None and not self.tree.add(path):
            self.restart()
            path = path_between(self.constants, (self.last, now), led, self.answer, self.noted)
            if path is not None:
                self.tree.add(path)
        return path


class Site:
    """A place in a frame where truth is asked for.

    token: by which the frame is known. at: the instruction. waited: how often, for an earlier one.
    count: of the questions. power: the count at which a moment is noted. values: that could be
    lifted (see `lifting.py`). lifts: whether they may be. own: those that were, which nobody else
    holds. stuck: the names of those that cannot be, since others hold them. seen, alone: how often
    it was asked since the loop of its frame was asked for the time `seen`.
    """

    __slots__ = (
        *("alone", "at", "chain", "count", "lifts", "own", "power", "seen", "stuck"),
        *("token", "values", "waited"),
    )

    def __init__(self, frame: FrameType) -> None:
        self.token: object = None
        self.at = frame.f_lasti
        self.waited = 0
        self.count = self.seen = self.alone = 0
        self.power = first_look()
        self.lifts = True
        self.values: dict[str, Any] = {}
        self.own: dict[int, Traced] = {}
        self.stuck: set[str] = set()
        self.chain: _MomentChain | None = None

    def look(self, trace: Trace, value: Traced, frame: FrameType) -> ReadyLoop | None:
        """The loop that this question is asked in, if enough of it is known."""
        self.count += 1
        ready = None
        if self.count == 1:
            self._adopt(trace, value, frame)
        if self.chain is not None or self.count >= self.power - 1:
            if self.chain is not None and self.count > 1:
                self._lift(trace, frame, self.chain.loop.names)
                ready = self._compare(trace, value, frame)
            values = liftable_in(trace, frame)
            news = changed(self.values, values) - self.stuck if self.lifts else frozenset()
            self.values = values
            is_due = self.count >= self.power or (news and self.chain is not None)
            if ready is None and is_due:
                self._note(trace, value, frame, news)
        return ready

    def _lift(self, trace: Trace, frame: FrameType, names: frozenset[str]) -> None:
        lifted = lift_names(trace, frame, names)
        self.own.update({id(value): value for value in lifted.values()})
        self.stuck |= liftable_in(trace, frame).keys() & names

    def _unlift(self, trace: Trace, frame: FrameType, names: frozenset[str]) -> None:
        """Do without lifted values: something is asked of them that no loop can answer."""
        unlift_names(trace, frame, names)
        self.lifts = False

    def _adopt(self, trace: Trace, value: Traced, frame: FrameType) -> None:
        """Go on with a loop that was met at this instruction in another frame."""
        for loop in _loops_at(frame):
            if loop.tree.paths and loop.tree.untouched:
                self._lift(trace, frame, loop.names)
                moment, traced = _moment(trace, value, frame, loop.watch, None)
                if moment is not None and are_alike(loop.base, moment):
                    self.token = mark(frame)
                    self.chain = _MomentChain(
                        trace, frame, loop, moment, traced, bool(value._value)
                    )
                    self.power = 2
                    return
                unlift_names(trace, frame, loop.names)

    def _note(self, trace: Trace, value: Traced, frame: FrameType, names: frozenset[str]) -> None:
        """Compare with this moment from now on. names: whose values are to be lifted too.

        So are numbers and known arrays that the loop binds on some path: they change some time.
        """
        if self.chain is not None and self.lifts:
            names |= self.chain.loop.names
        if self.lifts:
            names |= known_and_bound(frame, self.values) - self.stuck
        self.power = 2 * self.count
        self.chain = None
        self._lift(trace, frame, names)
        watch = FrameWatch.of(frame)
        moment, traced = _moment(trace, value, frame, watch, None)
        if watch is None or moment is None:
            self._unlift(trace, frame, names)
            return
        loop = KnownLoop(watch, moment, names)
        self.token = mark(frame)
        self.chain = _MomentChain(trace, frame, loop, moment, traced, bool(value._value))
        known = _loops_at(frame)
        known.insert(0, loop)
        del known[_MOST_LOOPS:]

    def _compare(self, trace: Trace, value: Traced, frame: FrameType) -> ReadyLoop | None:
        chain = self.chain
        assert chain is not None
        loop, last = chain.loop, chain.last
        now, traced = _moment(trace, value, frame, loop.watch, last)
        if now is None or not are_alike(loop.base, now):
            return None
        led = lead(last, now, chain.kept)
        if led is None and chain.anew < _MOST_ANEW:  # now it is known what is made in a round
            self.chain = _MomentChain(trace, frame, loop, now, traced, bool(value._value))
            self.chain.anew = chain.anew + 1
            self.power = max(self.power, 2 * self.count)
            return None
        path = None if led is None else chain.path(now, led)
        if path is None:
            self.chain = None  # until the next moment is noted
            self._unlift(trace, frame, loop.names)
            return None
        chain.move(now, traced, bool(value._value), True)
        chain.rounds += 1
        self.power = max(self.power, 2 * self.count)  # it goes well
        if chain.rounds < chain.wanted or not self._is_own(trace, frame, chain, now):
            return None
        # Without a round, an array from before the loop would still be the others' as well.
        asks = not chain.shared.isdisjoint(chain.tree.rebound)
        return ReadyLoop(chain.constants, chain.begun, asks, traced, value._value)

    def _is_own(self, trace: Trace, frame: FrameType, chain: _MomentChain, now: Moment) -> bool:
        """Whether all objects that rounds replace by others have been made in the loop.

        Those from before it are others' too: they are to stay what they are. But for those that
        this place or another of the frame has lifted, which only the frame's names are bound to.
        """
        begun = {id(value.object()) for value in chain.begun.values} - {id(None)}
        replaced = {now.values[number].identity for number in chain.tree.rebound} & begun
        for (place, _), site in trace.sites.items():
            if replaced and place == id(frame) and site.token is self.token:
                replaced -= site.own.keys()
        return not replaced

    def is_within(self, owner: Site) -> bool:
        """Whether it is asked in the rounds of a loop that is known: between its questions."""
        if owner.chain is None or owner.token is not self.token:
            return False
        if self.seen != owner.count:
            self.seen, self.alone = owner.count, 0
        self.alone += 1
        return self.alone <= _MOST_WITHIN

    def gives_way(self, trace: Trace, frame: FrameType) -> bool:
        """Whether an earlier place of the frame is about to loop as well, as at the head of a loop.

        From there on, a round ends where the loop does. It is waited for, for a round or two.
        """
        self.waited += 1
        return self.waited <= _MOST_GIVEN and any(
            other.at < self.at and other.chain is not None and other.chain.rounds > 0
            for (place, _), other in trace.sites.items()
            if place == id(frame) and other.token is self.token
        )

    def run(self, trace: Trace, frame: FrameType, ready: ReadyLoop) -> Ended | None:
        """Run a loop, and go on from where it ends, as from a round of it."""
        chain = self.chain
        assert chain is not None
        assert hooks.run_rounds is not None
        outcome: tuple[int, Ended | None] = hooks.run_rounds(trace, ready)
        rounds, ended = outcome
        chain.rounds = 0
        chain.wanted = 1 if rounds >= FEWEST else min(2 * chain.wanted, _MOST_WAITED)
        if ended is None:
            return None
        last, traced = _moment(trace, ended.asked, frame, chain.loop.watch, chain.last)
        if last is None:
            self.chain = None
        else:
            chain.move(last, traced, bool(ended.asked._value), ended.answer is None)
        return ended


def _moment(
    trace: Trace, value: Traced, frame: FrameType, watch: FrameWatch | None, last: Moment | None
) -> tuple[Moment | None, tuple[Traced, ...]]:
    """This moment of a frame, with the traced values that are reached; None where it is another."""
    traced = None if watch is None else watch.traced(frame)
    if watch is None or traced is None:
        return None, ()
    return watch.moment(trace, frame, value._slot, traced, last), traced


def _loops_at(frame: FrameType) -> list[KnownLoop]:
    """The loops that are known at the instruction where a frame is, in all captures under way."""
    outer = outermost()
    assert outer is not None
    place = place_of(frame.f_code, frame.f_lasti)
    assert place is not None
    key = (id(frame.f_code), place.ways)
    known: list[KnownLoop] = outer.loops.setdefault(key, (frame.f_code, []))[1]
    return known


def first_look() -> int:
    """How many questions there are at a place before it is looked at."""
    outer = outermost()
    return FIRST_KEPT if outer is not None and outer.guards is not None else FIRST_ELSE


def _primitive_of(trace: Trace, slot: int) -> str | None:
    """The name of the primitive of which a slot is a result."""
    trace.find_owners()
    owner = trace.owners[slot]
    head = trace.records[owner][0] if owner >= 0 else None
    return head.primitive.name if isinstance(head, Operation) else None


def _site_of(trace: Trace, slot: int, frame: FrameType) -> Site | None:
    """The place of a question about a slot; None where nothing can be told of it."""
    place = place_of(frame.f_code, frame.f_lasti)
    if place is None or place.primitive not in (None, _primitive_of(trace, slot)):
        return None
    key = (id(frame), (id(frame.f_code), place.ways))
    site: Site | None = trace.sites.get(key)
    if site is not None and (site.token is None or is_marked(frame, site.token)):
        return site
    if original_of(frame.f_code) is None or len(trace.sites) >= _MOST_SITES:
        return None
    if looks_at_frames(frame):
        return None
    site = trace.sites[key] = Site(frame)
    return site


def truth_in_rounds(value: Traced, frame: FrameType) -> bool | None:
    """The truth of a value after all rounds of the loop that asks; None where there is none."""
    trace = value._trace
    if trace is None or not trace.open or trace.witness or trace.inside or not trace.valued:
        return None
    if trace is not current() or value.type.size != 1:
        return None
    site = None if hooks.run_rounds is None else _site_of(trace, value._slot, frame)
    if site is None or computed_value(value) is None:
        return None
    owner: Site | None = trace.looping.get(id(frame))
    if owner is not None and owner is not site and site.is_within(owner):
        return None
    ready = site.look(trace, value, frame)
    if ready is not None and site.gives_way(trace, frame):
        return None
    ended = None if ready is None else site.run(trace, frame, ready)
    if ended is None:
        return None
    trace.looping[id(frame)] = site
    trace.questions[ended.asked._slot] = (frame.f_code, frame.f_lasti)
    return bool(concrete(ended.asked, "bool")) if ended.answer is None else ended.answer


def forget_loops(trace: Trace) -> None:
    """Let go, at the end of a capture, of what was noted: it refers to traced values."""
    trace.sites, trace.looping, trace.loops = {}, {}, {}
