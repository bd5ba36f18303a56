"""All that is decided about a program before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from adjoint.executors.native.schedule.idle import IdleRounds
from adjoint.executors.native.schedule.order import Item, Loop, Path, Scheduler
from adjoint.executors.native.schedule.storage import Storage
from adjoint.program import Variable

TURNS: Final = 4
FLOP_TIME: Final = 0.05  # nanoseconds, about, of vectors
BYTE_TIME: Final = 0.05
# Of single numbers: a sine takes 10 ns or more, and the next operation waits for it.
NUMBER_TIME: Final = 0.5


class Workload(NamedTuple):
    """What some items of a schedule compute and move.

    numbers: those of the flops that are outside of all loops, so that no vector does several.
    """

    flops: float
    bytes: int
    numbers: float = 0.0

    @property
    def nanoseconds(self) -> float:
        """About how long that takes on one core."""
        computing = (self.flops - self.numbers) * FLOP_TIME + self.numbers * NUMBER_TIME
        return max(computing, self.bytes * BYTE_TIME)


@dataclass(frozen=True)
class RoutineCall:
    """The function that a node calls, where its operands start, and whether it may fail."""

    name: str
    starts: tuple[int, ...]
    fails: bool


@dataclass(frozen=True)
class Division:
    """How the rounds of a loop are divided.

    parts: how many parts they are at most, however many threads there are: what a reduction gathers
    in each does not depend on that. threads: how many may run them at the same time.
    """

    parts: int
    threads: int


@dataclass(frozen=True)
class Layout:
    """How one program is written.

    routines: for each node that is a function on whole arrays, how that is called.
    divided: the outermost loops that are divided into parts. contract: whether
    products may be fused with sums. watched: arrays in which a NaN is a fault, looked for while
    they are written. timed: the first entry of `@times` to which regions add what they took; None
    if they do not. constructs: the programs within, by node. ranges: the least and the greatest
    number of tables of integers. regions: the items of the schedule, those together whose figures
    are told as one, and `work` what each region does. idle: when rounds of loops add nothing.
    """

    scheduler: Scheduler
    storage: Storage
    ways: dict[int, Path]
    routines: dict[int, RoutineCall]
    divided: Mapping[Loop, Division]
    contract: bool
    watched: frozenset[Variable] = frozenset()
    timed: int | None = None
    constructs: Mapping[int, Construct] = field(default_factory=dict)
    ranges: Mapping[Variable, tuple[int, int]] = field(default_factory=dict)
    regions: Sequence[Sequence[Item]] = ()
    work: Sequence[Workload] = ()
    idle: Mapping[Loop, IdleRounds] = field(default_factory=dict)


@dataclass(frozen=True)
class InnerProgram:
    """A program within another: the body of a loop, its test, or a branch.

    nanoseconds: about how long it takes, without the loops within. over: which outputs are written
    over which inputs, in place.
    """

    layout: Layout
    workspace_bytes: int
    nanoseconds: float
    over: Mapping[int, int]


@dataclass(frozen=True)
class Construct:
    """A loop, a branch or a recomputation.

    bodies: its programs; for a loop with a test, the test is the first. over: the results that are
    written over operands. held: the carried arrays, by number, that are on the stack meanwhile.
    buffers: for those that alternate between two places, where the second is in the scratch;
    `workspace` is where that of the bodies begins, `bytes` the whole.
    """

    bodies: tuple[InnerProgram, ...]
    over: Mapping[int, int]
    held: frozenset[int]
    buffers: Mapping[int, int]
    workspace: int
    bytes: int
