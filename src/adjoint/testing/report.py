"""What an audit found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Outcome(Enum):
    """What became of a test.

    Example:
        >>> import adjoint as ad
        >>> [outcome.value for outcome in ad.testing.Outcome]
        ['passed', 'failed', 'skipped']
    """

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Result:
    """One test of an audit.

    Attributes:
        name: of the test.
        outcome: passed, failed, or skipped because it could not be made.
        where: the argument, space or composition it is about.
        error, tolerance: what was measured, and how much is allowed; None where nothing was
            measured.
        rate: whether it is an order of convergence that was measured, which must exceed the
            tolerance.
        detail: the numbers behind it, or why it was skipped.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> ad.testing.check(np.sin, 1.0).tests[0].name
        'value under capture'
    """

    name: str
    outcome: Outcome
    where: str = ""
    error: float | None = None
    tolerance: float | None = None
    detail: str = ""
    rate: bool = False

    @property
    def passed(self) -> bool:
        """Whether it was made, and found nothing."""
        return self.outcome is Outcome.PASSED

    @property
    def failed(self) -> bool:
        """Whether it found a fault."""
        return self.outcome is Outcome.FAILED

    @property
    def skipped(self) -> bool:
        """Whether it could not be made."""
        return self.outcome is Outcome.SKIPPED


VALUE: Final = "value under capture"  # the test that is of no derivative


@dataclass(frozen=True)
class Report:
    """The tests of an audit.

    `str(report)` is a table that says which failed, where and by how much.

    Attributes:
        function: the name of what was audited.
        tests: all of them, in the order in which they were made.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> report = ad.testing.check(np.sin, 1.0)
        >>> report.passed, len(report.failures)
        (True, 0)
    """

    function: str
    tests: tuple[Result, ...]

    @property
    def checked(self) -> bool:
        """Whether tests could be made, if there are any: of derivatives none can at a NaN."""
        asked = [test for test in self.tests if test.name != VALUE]
        return not asked or any(not test.skipped for test in asked)

    @property
    def passed(self) -> bool:
        """Whether derivatives were tested, and no test failed."""
        return self.checked and not self.failures

    @property
    def failures(self) -> tuple[Result, ...]:
        """The tests that failed."""
        return tuple(test for test in self.tests if test.failed)

    @property
    def skipped(self) -> tuple[Result, ...]:
        """The tests that could not be made."""
        return tuple(test for test in self.tests if test.skipped)

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        counts = [sum(test.outcome is outcome for test in self.tests) for outcome in Outcome]
        verdict = "FAILED" if self.failures else "passed" if self.checked else "NOTHING CHECKED"
        head = f"{self.function}: {verdict} ({counts[0]} passed, {counts[1]} failed, "
        head += f"{counts[2]} skipped)"
        rows = [("test", "where", "", "error", "allowed")]
        for test in self.tests:
            mark = test.outcome.value.upper() if test.failed else test.outcome.value
            error, allowed = _number(test.error), _number(test.tolerance)
            if test.rate and allowed:
                error, allowed = f"rate {error}" if error else "rounding", f"> {allowed}"
            rows.append((test.name, test.where, mark, error, allowed))
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        lines = [head, ""]
        details = ["", *("" if test.passed else test.detail for test in self.tests)]
        for row, detail in zip(rows, details, strict=True):
            line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            lines.append(f"  {line}  {detail}".rstrip())
        return "\n".join(lines)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
