"""Floor 5: transforms, from programs to programs; one file each, or one room."""

from adjoint.transforms.jvp import jvp, tangent_type
from adjoint.transforms.linearize import Linearised, linearize
from adjoint.transforms.staging import Staged, stage
from adjoint.transforms.taylor_mode.taylor import taylor
from adjoint.transforms.transpose import transpose, vjp
from adjoint.transforms.vmap import vmap

__all__ = [
    "Linearised",
    "Staged",
    "jvp",
    "linearize",
    "stage",
    "tangent_type",
    "taylor",
    "transpose",
    "vjp",
    "vmap",
]
