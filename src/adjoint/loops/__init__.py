"""Floor 5, above the transforms: loops, branches and recomputation, primitives that hold programs.

Their rules ask transforms for the derivatives of the programs that they hold.
"""

from adjoint.loops.declared import CHECKPOINT, LOOPS, SCAN, SWITCH, WHILE

__all__ = ["CHECKPOINT", "LOOPS", "SCAN", "SWITCH", "WHILE"]
