"""Floor 5, above the transforms: loops, branches and recomputation, primitives that hold programs.

Their rules ask transforms for the derivatives of the programs that they hold.
"""

from adjoint.loops.declared import CHECKPOINT, SCAN, SWITCH, WHILE

__all__ = ["CHECKPOINT", "SCAN", "SWITCH", "WHILE"]
