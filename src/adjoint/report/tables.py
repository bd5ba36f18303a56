"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from adjoint.report.comparison import Row


def comparison_table(rows: Sequence[Row], title: str, width: int | None = None) -> Table:
    """The lecture's comparison as a table that keeps all digits at this width of the terminal."""
    unit = next(row.seconds for row in rows if row.method.name == "by hand")
    caption = (
        "time: once warm; ratio: against that by hand; error: largest difference from the "
        "derivative by hand in double precision, relative to its largest entry; memory: the most "
        "in use at once"
    )
    cells = [
        (
            row.method.name,
            row.method.work,
            duration(row.seconds),
            f"{ratio(row.seconds / unit)}×",
            f"{row.error:.1e}",
            size(row.peak_bytes),
        )
        for row in rows
    ]
    headings = ("method", "work", "time", "ratio", "error", "memory")
    return fitted_table(headings, cells, title, caption, width, strong="reverse mode")


def fitted_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    title: str,
    caption: str = "",
    width: int | None = None,
    strong: str = "",
) -> Table:
    """A table; where it would be wider than the terminal, one in which each row is a small list.

    strong: the first cell of a row that stands out. width: of the terminal; None for any.
    """
    table = _empty(title, caption)
    table.box = box.SIMPLE_HEAD
    table.add_column(headings[0], no_wrap=True)
    for heading in headings[1:]:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row, style="bold" if row[0] == strong else None)
    if width is None or _natural_width(table) <= width:
        return table
    listed = _empty(title, caption)
    listed.show_header = False
    listed.add_column(no_wrap=False, overflow="fold")
    listed.add_column(justify="right", overflow="fold")
    for row in rows:
        style = "bold" if row[0] == strong else None
        listed.add_row()
        listed.add_row(row[0], style=style)
        for heading, cell in zip(headings[1:], row[1:], strict=True):
            if cell:
                listed.add_row(f"  {heading}", cell, style=style)
    listed.add_row()
    return listed


def _empty(title: str, caption: str) -> Table:
    return Table(
        title=title,
        caption=caption or None,
        title_justify="left",
        caption_justify="left",
        title_style="bold",
        box=None,
    )


def _natural_width(table: Table) -> int:
    """The width at which no cell is cut; titles and captions wrap at any."""
    bare = Console(width=10_000)
    return bare.measure(table).maximum


def duration(seconds: float) -> str:
    """A time to three digits in the unit that suits it."""
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{ratio(seconds / unit)} {name}"
    return f"{ratio(seconds / 1e-9)} ns"


def size(count: int) -> str:
    """A number of bytes to three digits in the unit that suits it."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= unit:
            return f"{ratio(count / unit)} {name}"
    return f"{count} B"


def ratio(value: float) -> str:
    """A number to three digits, without an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
