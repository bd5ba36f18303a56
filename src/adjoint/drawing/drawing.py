"""A finished drawing, and how it is saved."""

from __future__ import annotations

import os
from pathlib import Path
from typing import final

from adjoint.base.errors import ArgumentError
from adjoint.base.process.files import save
from adjoint.drawing.page import html_text


@final
class Drawing:
    """A picture of a program, as `ad.draw` makes it; notebooks show it by themselves.

    Args:
        svg: the picture as SVG text.
        title: of the page that `html` makes.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> picture = ad.draw(np.sin, 1.0)
        >>> picture.svg().startswith("<svg"), picture.html().startswith("<!DOCTYPE html>")
        (True, True)
    """

    def __init__(self, svg: str, title: str) -> None:
        self._svg = svg
        self._title = title

    def svg(self) -> str:
        """The picture as SVG text.

        Returns:
            SVG text.
        """
        return self._svg

    def html(self) -> str:
        """The picture as one HTML page without any link: drag to pan, use the wheel to zoom.

        Returns:
            HTML text.
        """
        return html_text(self._svg, self._title)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file; its suffix, `.svg` or `.html`, says in which form.

        The file is complete or not there: it is written beside its place first, and then moved.

        Args:
            path: the name of the file; one that is there is replaced.

        Raises:
            ArgumentError: the suffix is another one.
            OSError: the directory does not exist, or the file cannot be written.
        """
        target = Path(path)
        forms = {".svg": self.svg, ".html": self.html}
        suffix = target.suffix.lower()
        if suffix not in forms:
            raise ArgumentError(
                f"A drawing is saved as .svg or .html, got {str(target)!r}. Browsers and most "
                "editors of pictures turn an SVG file into other forms."
            )
        save(target, forms[suffix]())

    def _repr_svg_(self) -> str:
        return self._svg

    def __repr__(self) -> str:
        return f"<drawing of {self._title}: .svg(), .html(), .save(path)>"
