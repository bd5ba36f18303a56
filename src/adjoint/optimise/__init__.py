"""Floor 6: rewrites of programs, and the plan of an execution. Knows nothing of executors."""

from adjoint.optimise.plan import Plan, plan
from adjoint.optimise.simplify import simplify
from adjoint.optimise.workspace import Workspace, workspace

__all__ = ["Plan", "Workspace", "plan", "simplify", "workspace"]
