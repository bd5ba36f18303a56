"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table

from adjoint.report.comparison import Row


def comparison_table(rows: Sequence[Row], title: str) -> Table:
    """The lecture's comparison as a table."""
    unit = next(row.seconds for row in rows if row.method.name == "by hand")
    caption = (
        "time: once warm; ratio: against that by hand; error: largest difference from the "
        "derivative by hand in double precision, relative to its largest entry; memory: the most "
        "in use at once"
    )
    table = Table(
        title=title,
        caption=caption,
        title_justify="left",
        caption_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
    )
    table.add_column("method", no_wrap=True)
    for heading in ("work", "time", "ratio", "error", "memory"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            row.method.name,
            row.method.work,
            duration(row.seconds),
            f"{row.seconds / unit:.3g}×",
            f"{row.error:.1e}",
            size(row.peak_bytes),
            style="bold" if row.method.name == "reverse mode" else None,
        )
    return table


def duration(seconds: float) -> str:
    """A time to three digits in the unit that suits it."""
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{_three_digits(seconds / unit)} {name}"
    return f"{_three_digits(seconds / 1e-9)} ns"


def size(count: int) -> str:
    """A number of bytes to three digits in the unit that suits it."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= unit:
            return f"{_three_digits(count / unit)} {name}"
    return f"{count} B"


def _three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
