"""Floor 6: rewrites of programs, and the plan of an execution. Knows nothing of executors."""

from adjoint.optimise.lengthening import is_tape_length, lengthened, reaches_all_rows
from adjoint.optimise.marks import bare
from adjoint.optimise.plan import Plan, plan
from adjoint.optimise.rolling import LeftRounds, RolledLoop, explain_rolling, roll
from adjoint.optimise.simplify import forget_simplified, simplify
from adjoint.optimise.workspace import Workspace, peak_bytes, workspace
from adjoint.optimise.zeros import band, completed_fills

__all__ = [
    "LeftRounds",
    "Plan",
    "RolledLoop",
    "Workspace",
    "band",
    "bare",
    "completed_fills",
    "explain_rolling",
    "forget_simplified",
    "is_tape_length",
    "lengthened",
    "peak_bytes",
    "plan",
    "reaches_all_rows",
    "roll",
    "simplify",
    "workspace",
]
