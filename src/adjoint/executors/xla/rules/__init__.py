"""What becomes of each primitive on XLA."""

from adjoint.executors.xla.rules.table import RULES, load_rules

__all__ = ["RULES", "load_rules"]
