"""Floor 6: rewrites of programs, and the plan of an execution. Knows nothing of executors."""

from adjoint.optimise.plan import Plan, plan
from adjoint.optimise.simplify import simplify
from adjoint.optimise.workspace import Workspace, workspace
from adjoint.optimise.zeros import band, completed_fills

__all__ = ["Plan", "Workspace", "band", "completed_fills", "plan", "simplify", "workspace"]
