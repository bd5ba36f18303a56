"""Checks for users: the audit of a function's derivatives, of a space, and of a linear map."""

from adjoint.base.namespaces import names_of as _names_of
from adjoint.testing.audit import check
from adjoint.testing.identities import check_map, check_space
from adjoint.testing.report import Outcome, Report, Result

__dir__ = _names_of(__name__)

__all__ = ["Outcome", "Report", "Result", "check", "check_map", "check_space"]
