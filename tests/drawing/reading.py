"""Reading drawings back: boxes, edges and texts of an SVG."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Shape:
    """One box: what it is, where it is (in the drawing's own units), what stands in it."""

    kind: str
    name: str
    x: float
    y: float
    width: float
    height: float
    texts: tuple[str, ...]
    tip: str


class Read:
    """A drawing, parsed."""

    def __init__(self, svg: str) -> None:
        self.text = svg
        self.root: Any = ElementTree.fromstring(svg)
        self.view = [float(n) for n in self.root.get("viewBox").split()]
        group = self.root.find(f"{SVG}g")
        numbers = re.findall(r"[\d.]+", group.get("transform"))
        self.shift = tuple(map(float, numbers))
        self.shapes = [self._shape(each) for each in group.iter(f"{SVG}g") if each is not group]
        self.edges = self._paths("edge")
        self.reverse = self._paths("reverse")

    def _shape(self, node: Any) -> Shape:
        rect = node.find(f"{SVG}rect")
        x, y, width, height = (float(rect.get(key)) for key in ("x", "y", "width", "height"))
        texts = tuple(each.text or "" for each in node.findall(f"{SVG}text"))
        kind = node.get("class").removeprefix("node ")
        tip = node.find(f"{SVG}title").text
        name = node.get("data-name")
        dx, dy = self.shift
        return Shape(kind, name, x + dx, y + dy, width, height, texts, tip)

    def _paths(self, kind: str) -> list[tuple[int, int]]:
        found = [each for each in self.root.iter(f"{SVG}path") if each.get("class") == kind]
        return [(int(each.get("data-from")), int(each.get("data-to"))) for each in found]

    def kinds(self) -> dict[str, int]:
        """How many boxes there are of each kind."""
        names = [shape.kind for shape in self.shapes]
        return {name: names.count(name) for name in dict.fromkeys(names)}

    def overlaps(self) -> list[tuple[str, str]]:
        """Pairs of boxes that overlap."""
        found = []
        for number, one in enumerate(self.shapes):
            for other in self.shapes[:number]:
                apart = (
                    one.x >= other.x + other.width
                    or other.x >= one.x + one.width
                    or one.y >= other.y + other.height
                    or other.y >= one.y + one.height
                )
                if not apart:
                    found.append((one.name, other.name))
        return found

    def outside(self) -> list[str]:
        """Boxes and texts that leave the drawing."""
        _, _, width, height = self.view
        found = [
            shape.name
            for shape in self.shapes
            if shape.x < 0
            or shape.y < 0
            or shape.x + shape.width > width
            or shape.y + shape.height > height
        ]
        for text in self.root.iter(f"{SVG}text"):
            x, y = float(text.get("x")) + self.shift[0], float(text.get("y")) + self.shift[1]
            if not (0 <= x <= width and 0 <= y <= height):
                found.append(text.text)
        return found

    def check(self) -> None:
        """Fail if boxes overlap, or lie outside."""
        assert self.overlaps() == []
        assert self.outside() == []
