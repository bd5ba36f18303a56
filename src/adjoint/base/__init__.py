"""Floor 0: errors, array types, pytrees and settings. Imports nothing else of the package."""

from adjoint.base.process.interpreter import check_interpreter as check_interpreter
