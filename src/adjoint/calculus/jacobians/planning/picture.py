"""A picture of an order of products, in SVG."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Final

from adjoint.calculus.jacobians.planning.chain import Order

_STEP: Final = 72  # from one cut to the next
_LEVEL: Final = 26  # from one bracket to the next one below
_BAR: Final = 70  # the height of the largest size
_MARGIN: Final = 40


def picture(sizes: Sequence[int], order: Order) -> str:
    """The sizes as bars, as high as their logarithms, and below them a bracket for each product.

    A product stands below those that it is made of; its number says when it is computed.
    """
    levels = _levels(order)
    top, base = _MARGIN, _MARGIN + _BAR
    height = base + 44 + _LEVEL * (max(levels.values(), default=0) + 1)
    width = 2 * _MARGIN + _STEP * (len(sizes) - 1)
    largest = log(1 + max(sizes, default=1))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12" '
        'text-anchor="middle">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for place, size in enumerate(sizes):
        tall = _BAR * log(1 + size) / max(largest, 1)
        x = _MARGIN + place * _STEP
        parts.append(
            f'<rect x="{x - 5}" y="{base - tall:.1f}" width="10" height="{tall:.1f}" '
            'fill="#4477aa"/>'
        )
        parts.append(_text(x, base - tall - 6 if tall < _BAR else top - 6, str(size)))
        if place:
            parts.append(_text(x - _STEP / 2, base + 16, f"J{place}", "italic"))
    for number, product in enumerate(order.products(), start=1):
        left, right = _MARGIN + product.start * _STEP + 8, _MARGIN + product.stop * _STEP - 8
        y = base + 28 + _LEVEL * levels[product.start, product.stop]
        parts.append(
            f'<path d="M{left} {y - 6} V{y} H{right} V{y - 6}" fill="none" stroke="#aa3377" '
            'stroke-width="1.5"/>'
        )
        parts.append(_text((left + right) / 2, y + 13, f"{number}. {product.step.value}"))
    return "\n".join([*parts, "</svg>\n"])


def _text(x: float, y: float, words: str, style: str = "normal") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-style="{style}">{words}</text>'


def _levels(order: Order) -> dict[tuple[int, int], int]:
    """How far below each product is drawn: one level below the lowest one that it is made of."""
    levels: dict[tuple[int, int], int] = {}
    for product in order.products():
        below = [levels[part.start, part.stop] for part in product.parts if _is_drawn(part)]
        levels[product.start, product.stop] = 1 + max(below, default=-1)
    return levels


def _is_drawn(order: Order) -> bool:
    return order.stop - order.start > 1
