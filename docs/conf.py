"""The manual as a site: `sphinx-build -W docs build/site`. Nothing is fetched, ever."""

import re
from typing import Any

from latex2mathml.converter import convert

import adjoint

project = "adjoint"
version = release = adjoint.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["**/*.py"]
source_suffix = {".md": "markdown"}

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
default_role = "code"

html_theme = "furo"
html_title = "adjoint"
html_show_copyright = False
html_math_renderer = "mathml"


def _inline(writer: Any, node: Any) -> None:
    writer.body.append(convert(node.astext()))
    _skip(node)


def _block(writer: Any, node: Any) -> None:
    writer.body.append(convert(node.astext(), display="block"))
    _skip(node)


def _skip(node: Any) -> None:
    from docutils.nodes import SkipNode

    raise SkipNode


_FIELD = re.compile(r"^(\w+(?:, \w+)*): (?=\S)")


def _as_markup(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Our docstrings are plain text: fields become lists, and `*` and `|` stay what they are."""
    paragraphs = "\n".join(lines).split("\n\n")
    lines[:] = "\n\n".join(map(_paragraph, paragraphs)).split("\n")


def _paragraph(text: str) -> str:
    if ">>>" in text:
        return text
    parts = text.split("`")
    parts[::2] = [re.sub(r"([*|])", r"\\\1", part) for part in parts[::2]]
    lines = "`".join(parts).split("\n")
    if not all(_FIELD.match(line) or line.startswith("    ") for line in lines):
        return "\n".join(lines)
    return "\n".join(
        _FIELD.sub(r"- `\1`: ", line) if _FIELD.match(line) else f"  {line.strip()}"
        for line in lines
    )


def setup(app: Any) -> None:
    """Formulas become MathML while the site is built, so that no script is needed to read them."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("autodoc-process-docstring", _as_markup, priority=900)
