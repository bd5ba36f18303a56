"""Floor 10: programs as pictures."""

from adjoint.drawing.draw import draw
from adjoint.drawing.drawing import Drawing

__all__ = ["Drawing", "draw"]
