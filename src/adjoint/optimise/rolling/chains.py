"""Values that are carried from round to round: those of one round before, of two, and so on."""

from __future__ import annotations

from dataclasses import dataclass, field

from adjoint.optimise.rolling.blocks import Before, RepeatedBlock
from adjoint.program import Atom, Literal, Variable


@dataclass
class Recurrence:
    """A result of the block, as it was in the rounds before.

    begin: what stands for it before the first round: one round before, two before, and so on.
    inputs: of the body, in that order. results: of the loop.
    """

    place: int
    result: int
    begin: list[Atom]
    inputs: list[Variable] = field(default_factory=list)
    results: list[Variable] = field(default_factory=list)

    def extend(self, begin: list[Atom]) -> bool:
        """Look back further, if what is known of both agrees."""
        if not all(map(_same, self.begin, begin)):
            return False
        if len(begin) > len(self.begin):
            self.begin = begin
        return True


def chains_of(block: RepeatedBlock) -> tuple[list[Recurrence], dict[Before, Recurrence]]:
    """The chains of a block, and which one an operand is read from."""
    chains: list[Recurrence] = []
    chain_of: dict[Before, Recurrence] = {}
    for sources in block.sources:
        for source in sources:
            if not isinstance(source, Before) or source in chain_of:
                continue
            begin = list(reversed(source.begin))
            for chain in chains:
                same = (chain.place, chain.result) == (source.place, source.result)
                if same and chain.extend(begin):
                    chain_of[source] = chain
                    break
            else:
                chain_of[source] = Recurrence(source.place, source.result, begin)
                chains.append(chain_of[source])
    return chains, chain_of


def _same(one: Atom, other: Atom) -> bool:
    if isinstance(one, Literal) and isinstance(other, Literal):
        return one.key == other.key
    return one is other
