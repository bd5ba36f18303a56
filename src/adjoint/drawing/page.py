"""A drawing as one self-contained HTML page, to pan and to zoom."""

from __future__ import annotations

from html import escape

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" \
content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{title}</title>
<style>
html,body{{margin:0;height:100%;background:#fff;overflow:hidden}}
svg{{width:100vw;height:100vh;cursor:grab;touch-action:none}}
</style>
</head>
<body>
{svg}<script>
{script}
</script>
</body>
</html>
"""

# Drag to pan, wheel to zoom at the pointer, double click to see it all again.
_SCRIPT = """\
"use strict";
const svg = document.querySelector("svg");
const whole = svg.viewBox.baseVal;
const all = [whole.x, whole.y, whole.width, whole.height];
let view = all.slice(), held = null;
const show = () => svg.setAttribute("viewBox", view.join(" "));
const at = event => {
  const p = new DOMPoint(event.clientX, event.clientY);
  return p.matrixTransform(svg.getScreenCTM().inverse());
};
svg.addEventListener("pointerdown", event => {
  held = at(event);
  svg.setPointerCapture(event.pointerId);
});
svg.addEventListener("pointermove", event => {
  if (!held) return;
  const p = at(event);
  view[0] += held.x - p.x;
  view[1] += held.y - p.y;
  show();
});
svg.addEventListener("pointerup", () => { held = null; });
svg.addEventListener("pointercancel", () => { held = null; });
svg.addEventListener("wheel", event => {
  event.preventDefault();
  const p = at(event), factor = Math.exp(event.deltaY / 500);
  view = [p.x + (view[0] - p.x) * factor, p.y + (view[1] - p.y) * factor,
          view[2] * factor, view[3] * factor];
  show();
}, {passive: false});
svg.addEventListener("dblclick", () => { view = all.slice(); show(); });"""


def html_text(svg: str, title: str) -> str:
    """The page around an SVG text, which must be safe already."""
    return _PAGE.format(title=escape(title), svg=svg, script=_SCRIPT)
