"""Imports all programs and sequences, in the order of the files' names."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from tests.capture.battery import running, sequences
from tests.capture.battery.registry import PROGRAMS, SEQUENCES

for _module in sorted(pkgutil.iter_modules([str(Path(__file__).parent)])):
    if _module.name.startswith(("programs_", "sequences_")):
        importlib.import_module(f"{__package__}.{_module.name}")

TABLES = {"program": (PROGRAMS, running), "sequence": (SEQUENCES, sequences)}
"""What is run, and the module that runs it."""
