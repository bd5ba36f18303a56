"""Programs as machine code, as far as they can be lowered; what cannot is handed to NumPy.

Machine code treats what is usual. What is not (a floating-point error, an index out of bounds, a
NaN in a derivative) it answers by None, and NumPy runs the same thing again: a program that is one
piece of machine code is run again by whoever called it.
"""

from __future__ import annotations

from functools import partial

from adjoint.executors.interface import PLAIN, Executable, Needs
from adjoint.executors.native.lowering import kept
from adjoint.executors.native.preparation.expansions import with_finite_products
from adjoint.executors.native.preparation.partition import partition
from adjoint.executors.native.running import executable
from adjoint.executors.native.running.mixed import MixedExecutable
from adjoint.executors.numpy import NumpyExecutor
from adjoint.optimise import bare
from adjoint.optimise.simplify import eliminate_dead_code
from adjoint.program import Program
from adjoint.transforms.hard_zeros.hardness import hardened


class NativeExecutor:
    """Makes machine code. With hard zeros, nobody hears of floating-point errors in it."""

    name = "native"

    def compile(self, program: Program, needs: Needs = PLAIN) -> Executable:
        """The program, as far as it can be lowered.

        Raises:
            NativeUnavailableError: there is no LLVM, or it cannot be used here.
        """
        if not needs.hard:
            return self._compile(program, needs)
        strong = eliminate_dead_code(hardened(program, needs.still))
        compiled = self._compile(with_finite_products(strong), needs)
        # Guarded code has no results where there is a NaN.
        return compiled if compiled.guarded else NumpyExecutor().compile(program, needs)

    def _compile(self, program: Program, needs: Needs) -> Executable:
        program = bare(program)
        whole = kept.find(program, needs, executable.lowered)
        if whole is not None:
            return executable.NativeExecutable(program, whole)
        lower = executable.lowering()
        segments = partition(program, partial(lower.lowerable, precise=needs.precise))
        unwatched = needs._replace(watched=())
        asked = needs if len(segments) == 1 else unwatched
        compiled = [
            (segment, lower.native(segment.program, asked) if segment.native else None)
            for segment in segments
        ]
        first = compiled[0][1]
        if len(compiled) == 1 and first is not None:
            return executable.NativeExecutable(program, first)
        return MixedExecutable(program, compiled, needs.precise)
