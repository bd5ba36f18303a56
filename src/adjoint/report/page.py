"""One HTML page about a function at a point, by itself: nothing in it reaches for the network.

All text that comes of the user's code passes `_text`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import groupby
from typing import Any, Final

import numpy as np

import adjoint as ad
from adjoint.base import pytrees
from adjoint.base.arrays import is_numeric
from adjoint.drawing import page as drawing
from adjoint.drawing.svg import clean
from adjoint.report.account import Section, account, kink_lines
from adjoint.report.page_text import SCRIPT, STYLE
from adjoint.report.plain import plain_value
from adjoint.report.sheets import Sheet, SheetRow, sheets, value_text
from adjoint.report.tables import duration, size

_PAGE: Final = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{policy}
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<nav>{links}</nav>
<main>
{body}
</main>
<script>
{script}</script>
</body>
</html>
"""
_HUES: Final = 8  # colours of regions, in turns
_KINKS: Final = 20
_LEGEND: Final = (
    ("argument", "of the arguments' space"),
    ("constant", "constant"),
    ("equation", "your operations"),
    ("derived", "written by adjoint"),
    ("result", "of the results' space"),
)
_HOW: Final = (
    '<p class="faint">Drag to pan a drawing; click into it, and the wheel zooms. A click on a box '
    "marks its operation in the list, one on an operation shows its box.</p>\n"
)
_INPUTS: Final = ("argument", "constant", "result")


def function_page(
    function: Callable[..., Any], args: tuple[Any, ...], name: str, given: str, place: str
) -> str:
    """The page of a function: programs, drawings, machine code, memory, kinks, facts.

    Args:
        function: plain NumPy code.
        args: the point.
        name: of the function.
        given: the types of the arguments, as text.
        place: where it is defined.

    Raises:
        AdjointError: the function cannot be captured.
    """
    with np.errstate(all="ignore"):  # the page tells of NaNs itself
        return _page(function, args, name, given, place)


def _page(
    function: Callable[..., Any], args: tuple[Any, ...], name: str, given: str, place: str
) -> str:
    shown = sheets(function, args, name)
    facts = account(function, args)
    value = plain_value(function, args)
    parts = [
        ("top", name, _head(name, given, place) + _tiles(shown, value)),
        *((sheet.key, sheet.title, _sheet(sheet, name)) for sheet in shown),
        ("code", "Machine code", "".join(map(_regions, shown))),
        ("memory", "Memory", _memory(function, args, shown)),
        ("kinks", "Kinks", _kinks(function, args)),
        ("facts", "Fact by fact", "".join(map(_section, facts))),
    ]
    body = "\n".join(
        f'<section id="{key}">{"" if key == "top" else _heading(title)}\n{text}</section>'
        for key, title, text in parts
    )
    links = "".join(f'<a href="#{key}">{_text(title)}</a>' for key, title, _ in parts)
    return _PAGE.format(
        policy=drawing.POLICY,
        title=_text(name),
        style=drawing.STYLE + STYLE,
        links=links,
        body=body,
        script=drawing.SCRIPT + SCRIPT,
    )


def _heading(title: str) -> str:
    return f"<h2>{_text(title)}</h2>"


def _text(text: str) -> str:
    """Text of the user's as HTML, also within quotes."""
    return escape(clean(text))


# --- in short -------------------------------------------------------------------------------------


def _head(name: str, given: str, place: str) -> str:
    return (
        f"<h1><code>{_text(name)}({_text(given)})</code></h1>\n"
        f'<p class="faint">{_text(place)}</p>\n'
    )


def _tiles(shown: Sequence[Sheet], value: Any) -> str:
    base, *derived = shown
    tiles = [(_result_text(value), "value at this point")]
    tiles += [(str(len(base.native.program)), "operations of the value")]
    for sheet in derived:
        tiles.append((str(len(sheet.native.program)), f"operations of {sheet.title.lower()}"))
    left = len(base.native.left())
    tiles.append((str(left) if left else "none", "operations of the value left to NumPy"))
    kept = sum(row.kept for sheet in derived for row in sheet.rows)
    if derived:
        tiles.append((size(kept), "kept for the way back"))
    inner = "".join(
        f'<div class="tile"><b>{_text(text)}</b><span>{_text(title)}</span></div>'
        for text, title in tiles
    )
    return f'<div class="tiles">{inner}</div>\n{_HOW}'


def _result_text(value: Any) -> str:
    leaves = [leaf for leaf in pytrees.leaves(value) if is_numeric(leaf)]
    return ", ".join(map(value_text, leaves[:3])) + ", …" * (len(leaves) > 3)


# --- programs -------------------------------------------------------------------------------------


def _sheet(sheet: Sheet, name: str) -> str:
    results = ", ".join(f"{label} is {variable}" for label, variable in sheet.results)
    keys = "".join(f'<span><i class="{kind}"></i>{text}</span>' for kind, text in _LEGEND)
    if sheet.svg:
        height = min(560, max(200, round(sheet.height * 1.2)))
        picture = drawing.viewer(sheet.svg, f"{name}: {sheet.title}", height=height)
    else:
        picture = '<p class="faint">The program has too many operations for a drawing.</p>'
    more = f"<p>and {sheet.more} more operations</p>" if sheet.more else ""
    return (
        f"<p>Results: <code>{_text(results)}</code></p>\n"
        f'<p class="legend">{keys}</p>\n'
        f'<div class="sheet">{picture}{_equations(sheet)}</div>{more}'
    )


def _equations(sheet: Sheet) -> str:
    """The rows, those of one line of the user's beside that line."""
    lines = []
    for source, group in groupby(sheet.rows, key=lambda row: row.source):
        rows = list(group)
        if source is not None:
            where, text = f'<span class="where">{_text(source.place)}</span>', source.text
            first = f"{where}<code>{_text(text)}</code>"
        else:
            first = '<span class="where">inputs</span>' if rows[0].kind in _INPUTS else ""
        for number, row in enumerate(rows):
            cell = f'<td class="source" rowspan="{len(rows)}">{first}</td>' if number == 0 else ""
            lines.append(_row(row, cell))
    head = "<th>your line</th><th>operation</th><th>at this point</th><th>computed by</th>"
    return (
        f'<div class="scroll equations"><table><thead><tr>{head}</tr></thead>\n<tbody>\n'
        + "\n".join(lines)
        + "\n</tbody></table></div>"
    )


def _row(row: SheetRow, source: str) -> str:
    inner = ""
    if row.inner:
        inner = (
            f"<details><summary>what it repeats</summary><pre>{_text(row.inner)}</pre></details>"
        )
    if row.kept:
        inner += f' <span class="chip" title="kept for the way back">kept, {size(row.kept)}</span>'
    if row.kink:
        inner += ' <span class="chip numpy" title="it has no derivative at this point">kink</span>'
    kind = "input" if row.kind in _INPUTS else row.kind
    odd = " odd" if row.odd else ""
    place = _place(row.place) if kind != "input" else ""
    return (
        f'<tr class="{kind}" data-name="{_text(row.name)}">{source}'
        f'<td class="equation"><code>{_text(row.text)}</code>{inner}</td>'
        f'<td class="value{odd}">{_text(row.value)}</td>'
        f'<td class="place">{place}</td></tr>'
    )


def _place(place: int | str | None) -> str:
    if place is None:
        tip = "it disappears into the indices at which others read, or into what was made of it"
        return f'<span class="faint" title="{tip}">no work of its own</span>'
    if isinstance(place, str):
        return f'<span class="chip numpy" title="{_text(place)}">NumPy</span>'
    return f'<span class="chip r{place % _HUES}">region {place + 1}</span>'


# --- machine code and memory ----------------------------------------------------------------------


def _regions(sheet: Sheet) -> str:
    regions = sheet.native.regions()
    timed = any(region.seconds is not None for region in regions)
    head = "".join(
        f"<th{style}>{title}</th>"
        for title, style in (
            ("region", ""),
            ("what it computes", ""),
            ("operations", ' class="number"'),
            ("flops", ' class="number"'),
            ("moved", ' class="number"'),
            *([("time", ' class="number"')] if timed else []),
        )
    )
    rows = "\n".join(
        f'<tr><td><span class="chip r{number % _HUES}">region {number + 1}</span></td>'
        f'<td>{_text(region.name)}</td><td class="number">{region.equations}</td>'
        f'<td class="number">{region.flops:.0f}</td><td class="number">{size(region.bytes)}</td>'
        + (f'<td class="number">{duration(region.seconds)}</td>' if region.seconds else "")
        + "</tr>"
        for number, region in enumerate(regions)
    )
    left = "".join(
        f"<li><code>{_text(equation.equation)}</code>: {_text(equation.reason)}</li>"
        for equation in sheet.native.left()
    )
    told = f"<p>Left to NumPy and SciPy:</p><ul>{left}</ul>" if left else ""
    none = "" if regions else "<p>There is no machine code in it.</p>"
    table = (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
        "</div>"
        if regions
        else ""
    )
    return f"<h3>{_text(sheet.title)}</h3>\n{none}{table}{told}\n"


def _memory(function: Callable[..., Any], args: tuple[Any, ...], shown: Sequence[Sheet]) -> str:
    text = ""
    try:
        peak = ad.program(function, *args).rolled().peak_memory()
    except ad.errors.AdjointError:
        peak = None
    if peak is not None:
        bars = [("the value", peak.value), ("forward mode", peak.forward)]
        bars.append(("reverse mode", peak.reverse))
        text += "<p>The most that is held at a time while NumPy computes, results included:</p>"
        text += _bars(bars)
    for sheet in shown:
        memory = sheet.native.memory()
        text += (
            f"<p>{_text(sheet.title)} in machine code: arguments {size(memory.inputs)}, results "
            f"{size(memory.outputs)}, scratch {size(memory.workspace + memory.stack)}, between "
            f"pieces {size(memory.between)}.</p>"
        )
    kept = [row for sheet in shown[1:] for row in sheet.rows if row.kept]
    if kept:
        kept.sort(key=lambda row: -row.kept)
        text += "<h3>Kept for the way back</h3>" + _bars(
            [(row.text.partition(" = ")[0], row.kept) for row in kept[:_KINKS]]
        )
    return text


def _bars(rows: Iterable[tuple[str, int]]) -> str:
    rows = list(rows)
    most = max([count for _, count in rows] or [1]) or 1
    inner = "".join(
        f"<code>{_text(title)}</code>"
        f'<div class="bar" style="width:{100 * count / most:.1f}%"></div><span>{size(count)}</span>'
        for title, count in rows
    )
    return f'<div class="bars">{inner}</div>'


# --- kinks and facts ------------------------------------------------------------------------------


def _kinks(function: Callable[..., Any], args: tuple[Any, ...]) -> str:
    try:
        met = ad.kinks(function, *args)
    except ad.errors.AdjointError as error:
        return f"<p>{_text(str(error))}</p>"
    if not met:
        return "<p>No operation is at a point where it has no derivative.</p>"
    lines = ["\n".join(kink_lines(kink)) for kink in met[:_KINKS]]
    texts = "".join(f"<pre>{_text(text)}</pre>" for text in lines)
    more = f"<p>and {len(met) - _KINKS} more</p>" if len(met) > _KINKS else ""
    return f"<p>These operations met a point where they have no derivative:</p>{texts}{more}"


def _section(section: Section) -> str:
    statements = "".join(
        f"<p>{_text(statement.text)}</p>"
        + (
            "<ul>"
            + "".join(f"<li><code>{_text(line)}</code></li>" for line in statement.lines)
            + "</ul>"
            if statement.lines
            else ""
        )
        for statement in section.statements
    )
    return f'<div class="fact"><h3>{_text(section.title)}</h3>{statements}</div>'
