"""Tables in Markdown: readable in a terminal, and pasted as they are into the documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass
class Table:
    """A table with a heading line and notes below; the first column is text, the others figures."""

    columns: Sequence[str]
    notes: list[str] = field(default_factory=list)
    rows: list[Sequence[str]] = field(default_factory=list)

    def markdown(self) -> str:
        lines = [self.columns, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        text = [_line(self.columns, widths), _rule(widths)]
        text += [_line(row, widths) for row in self.rows]
        return "\n".join([*text, *(f"\n{note}" for note in self.notes)]) + "\n"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first = cells[0].ljust(widths[0])
    rest = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
    return f"| {' | '.join([first, *rest])} |"


def _rule(widths: Sequence[int]) -> str:
    return f"|{'|'.join(['-' * (widths[0] + 2), *('-' * (w + 1) + ':' for w in widths[1:])])}|"


def duration(seconds: float) -> str:
    """A time to three digits in the unit that suits it."""
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{_three_digits(seconds / unit)} {name}"
    return f"{_three_digits(seconds / 1e-9)} ns"


def ratio(value: float) -> str:
    """A ratio to three digits at most."""
    return f"{_three_digits(value)}×"


def _three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


class Times(dict[str, float]):
    """Median seconds by name, and those of first calls.

    Args:
        medians: of hot calls.
        first: of calls that had everything to do: capture, derivation, compilation.
    """

    def __init__(self, medians: Mapping[str, float], first: Mapping[str, float]) -> None:
        super().__init__(medians)
        self.first = first


def compared(
    times: dict[str, float],
    unit: str,
    limit: tuple[str, float] | None = None,
    others: Sequence[str] = (),
    title: str = "",
) -> Table:
    """Times and their ratios to one of them, with the physical limit as the last line.

    Args:
        times: seconds, by name.
        unit: whose time is 1 in the first column of ratios.
        limit: its name and its seconds.
        others: units of further columns; those that were not measured are left out.
        title: above the names.
    """
    units = [unit, *(name for name in others if name in times)]
    table = Table([title, "median", *(f"{name} = 1" for name in units)])
    first = times.first if isinstance(times, Times) else {}
    if first:
        table.columns = [*table.columns, "first call"]
    lines = dict(times)
    if limit is not None:
        lines[f"limit: {limit[0]}"] = limit[1]
    for name, seconds in lines.items():
        ratios = [ratio(seconds / times[each]) for each in units]
        row = [name, duration(seconds), *ratios]
        if first:
            row.append(duration(first[name]) if name in first else "")
        table.rows.append(row)
    return table


def replaced(page: str, name: str, text: str) -> str:
    """A page with the text between `<!-- benchmark: NAME -->` and `<!-- end -->` replaced."""
    start, end = f"<!-- benchmark: {name} -->\n", "<!-- end -->"
    before, found, rest = page.partition(start)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"the page has no place {start.strip()} ... {end} for the case {name!r}")
    return f"{before}{start}\n{text}\n{end}{after}"
