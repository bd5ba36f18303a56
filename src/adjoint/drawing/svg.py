"""Boxes and arrows as SVG text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from adjoint.drawing.graph import Picture, PictureKind
from adjoint.drawing.layout import Box, Edge, place

MARGIN = 16.0
SYMBOL = 26.0  # the green squares and blue circles
TITLE, SMALL = 13.0, 11.0  # sizes of letters
LEADING = 14.0
PADDING = 9.0
CHANNEL = 44.0  # free width between layers, besides labels
PORTS, LABELLED_PORTS = 14.0, 24.0  # from one operand to the next
ASIDE = 6.0  # how far the reverse pass runs below the forward one
_ADVANCE = 0.62  # width of a letter of a monospaced font, in its size

STYLE = """\
text{font-family:"DejaVu Sans Mono",Menlo,Consolas,monospace;font-size:11px;fill:#2b2b33}
.title{font-size:13px;font-weight:bold}
.type,.parameters{fill:#77777f}
.tangent{fill:#2e7d32}
.cotangent,.label{fill:#1f5fa8}
.label{paint-order:stroke;stroke:#fff;stroke-width:3px}
.argument .shape{fill:#b9e0b3;stroke:#2e7d32}
.constant .shape{fill:#e4e4e8;stroke:#8a8a94}
.result .shape{fill:#b5d2f2;stroke:#1f5fa8}
.equation .shape{fill:#fbfaf5;stroke:#55555e}
.derived .shape{fill:#fff5dd;stroke:#b98a2a}
.shape{stroke-width:1.4}
.edge{fill:none;stroke:#55555e;stroke-width:1.3}
.reverse{fill:none;stroke:#1f5fa8;stroke-width:1.3;stroke-dasharray:5 3}"""

_ARROWHEADS = (("forward", "#55555e"), ("reverse", "#1f5fa8"))
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def svg_text(pictures: Sequence[Picture], title: str, prefix: str = "adjoint") -> str:
    """The whole drawing. prefix: of the names of its arrowheads, which one page has once."""
    boxes = [_box(picture) for picture in pictures]
    edges: list[tuple[Edge, int, int]] = []
    for number, picture in enumerate(pictures):
        for place_, port in enumerate(picture.ports):
            if port.box is not None:
                leaves = _leaves(pictures[port.box], boxes[port.box], port.result)
                enters = _enters(picture, boxes[number], place_)
                edge = Edge(boxes[port.box], boxes[number], leaves, enters)
                edges.append((edge, number, place_))
    rooms = {id(box): _room(picture) for box, picture in zip(boxes, pictures, strict=True)}
    width, height = place(
        boxes, [edge for edge, _, _ in edges], lambda box: rooms.get(id(box), CHANNEL)
    )
    width, height = width + 2 * MARGIN, height + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(width)} {_n(height)}" '
        f'width="{_n(width)}" height="{_n(height)}" role="img">',
        f"<title>{_safe(title)}</title>",
        f"<style>{STYLE}</style>",
        f"<defs>{_markers(prefix)}</defs>",
        f'<g transform="translate({_n(MARGIN)} {_n(MARGIN)})">',
    ]
    for edge, number, place_ in edges:
        parts += _edge_parts(edge, pictures, number, place_, prefix)
    for picture, box in zip(pictures, boxes, strict=True):
        parts += _box_parts(picture, box)
    return "\n".join([*parts, "</g>", "</svg>", ""])


# --- sizes ----------------------------------------------------------------------------------------


def _symbolic(picture: Picture) -> bool:
    return picture.kind in (PictureKind.ARGUMENT, PictureKind.CONSTANT, PictureKind.RESULT)


def _box(picture: Picture) -> Box:
    widths = [_width(line.text, SMALL) for line in picture.lines]
    if _symbolic(picture):
        head = max(SYMBOL, _width(picture.title, TITLE) + PADDING)
        return Box(max([head, *widths]), SYMBOL + LEADING * len(picture.lines) + 2)
    widths.append(_width(picture.title, TITLE))
    text = TITLE + LEADING * len(picture.lines) + 2 * PADDING
    apart = _apart(picture)
    ports = apart * max(len(picture.ports), picture.results) + PADDING
    return Box(max(widths) + 2 * PADDING, max(text, ports))


def _width(text: str, size: float) -> float:
    return len(text) * size * _ADVANCE


def _apart(picture: Picture) -> float:
    return LABELLED_PORTS if any(port.label for port in picture.ports) else PORTS


def _room(picture: Picture) -> float:
    return CHANNEL + max((_width(port.label, SMALL) for port in picture.ports), default=0.0)


def _leaves(picture: Picture, box: Box, result: int) -> float:
    """How far below the middle of a box the line of one of its results begins."""
    if _symbolic(picture):
        return SYMBOL / 2 - box.height / 2
    return (result - (picture.results - 1) / 2) * _apart(picture)


def _enters(picture: Picture, box: Box, place_: int) -> float:
    if _symbolic(picture):
        return SYMBOL / 2 - box.height / 2
    return (place_ - (len(picture.ports) - 1) / 2) * _apart(picture)


# --- edges ----------------------------------------------------------------------------------------


def _markers(prefix: str) -> str:
    return "".join(
        f'<marker id="{prefix}-{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0.5L8 4L0 7.5z" fill="{colour}"/></marker>'
        for name, colour in _ARROWHEADS
    )


def _edge_parts(
    edge: Edge, pictures: Sequence[Picture], number: int, place_: int, prefix: str
) -> list[str]:
    port = pictures[number].ports[place_]
    source, target = edge.source, edge.target
    # Around the symbol of an argument there is empty room that belongs to its box.
    start = source.x + source.width - _inset(pictures[port.box or 0], source)
    end = target.x + _inset(pictures[number], target)
    points = [(start, source.middle + edge.leaves)]
    for box in edge.path:
        points += [(box.x, box.middle), (box.x + box.width, box.middle)]
    points.append((end - 1, target.middle + edge.enters))
    where = f'data-from="{port.box}" data-to="{number}"'
    parts = [
        f'<path class="edge" {where} marker-end="url(#{prefix}-forward)" d="{_curve(points)}"/>'
    ]
    if port.returns:
        back = [(x, y + ASIDE) for x, y in reversed(points)]
        parts.append(
            f'<path class="reverse" {where} marker-end="url(#{prefix}-reverse)" '
            f'd="{_curve(back)}"/>'
        )
    return parts


def _inset(picture: Picture, box: Box) -> float:
    return (box.width - _symbol_width(picture)) / 2 if _symbolic(picture) else 0.0


def _symbol_width(picture: Picture) -> float:
    return max(SYMBOL, _width(picture.title, TITLE) + PADDING)


def _curve(points: Sequence[tuple[float, float]]) -> str:
    """Level where it leaves and enters: straight through layers, bent between them."""
    (x, y), *rest = points
    text = [f"M{_n(x)} {_n(y)}"]
    for number, (to_x, to_y) in enumerate(rest):
        if number % 2:
            text.append(f"L{_n(to_x)} {_n(to_y)}")
        else:
            half = (x + to_x) / 2
            text.append(f"C{_n(half)} {_n(y)} {_n(half)} {_n(to_y)} {_n(to_x)} {_n(to_y)}")
        x, y = to_x, to_y
    return "".join(text)


# --- boxes ----------------------------------------------------------------------------------------


def _box_parts(picture: Picture, box: Box) -> list[str]:
    centre = box.x + box.width / 2
    name = f'"{escape(clean(picture.name))}"'
    parts = [
        f'<g class="node {picture.kind.value}" data-name={name}>',
        f"<title>{_safe(picture.tip)}</title>",
    ]
    if _symbolic(picture):
        parts.append(_symbol(picture, box, centre))
        title_y, first = box.y + SYMBOL / 2 + 4.5, box.y + SYMBOL + LEADING - 1
    else:
        parts.append(
            f'<rect class="shape" x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" '
            f'height="{_n(box.height)}" rx="8"/>'
        )
        height = TITLE + LEADING * len(picture.lines)
        title_y = box.middle - height / 2 + TITLE - 2
        first = title_y + LEADING
    parts.append(_text(centre, title_y, "title", picture.title))
    for number, line in enumerate(picture.lines):
        parts.append(_text(centre, first + number * LEADING, line.style, line.text))
    for place_, port in enumerate(picture.ports):
        if port.label:
            x = box.x + _inset(picture, box) - 9
            y = box.middle + _enters(picture, box, place_)
            # Below the line that it belongs to, but above it where the lines of a result come
            # next; a number that a rule wrote has no line.
            below = -5.0 if _symbolic(picture) else ASIDE + SMALL + 1
            y += below if port.returns else 4
            parts.append(_text(x, y, "label", port.label, "end"))
    return [*parts, "</g>"]


def _symbol(picture: Picture, box: Box, centre: float) -> str:
    width = _symbol_width(picture)
    round_ = SYMBOL / 2 if picture.kind is PictureKind.RESULT else 0
    return (
        f'<rect class="shape" x="{_n(centre - width / 2)}" y="{_n(box.y)}" width="{_n(width)}" '
        f'height="{_n(SYMBOL)}" rx="{_n(round_)}"/>'
    )


def _text(x: float, y: float, style: str, text: str, anchor: str = "middle") -> str:
    return (
        f'<text class="{style}" x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}">{_safe(text)}</text>'
    )


def clean(text: str) -> str:
    """The text without the characters that XML does not allow."""
    return _FORBIDDEN.sub("\ufffd", text)


def _safe(text: str) -> str:
    return escape(clean(text))


def _n(number: float) -> str:
    text = f"{number:.1f}"
    return text.removesuffix(".0")
