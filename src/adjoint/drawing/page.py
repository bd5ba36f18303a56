"""Drawings in HTML pages, to pan and to zoom; a page by itself reaches for nothing outside it."""

from __future__ import annotations

from html import escape
from typing import Final

POLICY: Final = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">"
)

# The colours of a drawing in the dark; those in the light stand in the drawing itself.
STYLE: Final = """\
.viewer{position:relative;overflow:hidden;background:#fff}
.viewer>svg{display:block;width:100%;height:100%;cursor:grab;touch-action:none;user-select:none}
.viewer.held>svg{cursor:grabbing}
.viewer:focus{outline:none}
.viewer:focus-visible{box-shadow:inset 0 0 0 2px #1f5fa8}
.viewer .node.chosen .shape{stroke-width:3.5}
.tools{position:absolute;top:8px;right:8px;display:flex;gap:4px}
.tools button{min-width:32px;height:32px;padding:0 8px;font:14px/1 system-ui,sans-serif;\
color:#2b2b33;background:#ffffffd9;border:1px solid #c9c9d1;border-radius:6px;cursor:pointer}
.tools button:hover{border-color:#55555e}
@media (prefers-color-scheme:dark){
.viewer{background:#17171c}
.viewer text{fill:#e6e6ec}
.viewer .type,.viewer .parameters{fill:#a2a2ae}
.viewer .tangent{fill:#85cf8b}
.viewer .cotangent,.viewer .label{fill:#86b9f0}
.viewer .label{stroke:#17171c}
.viewer .argument .shape{fill:#234a26;stroke:#85cf8b}
.viewer .constant .shape{fill:#303038;stroke:#8a8a94}
.viewer .result .shape{fill:#1b3d61;stroke:#86b9f0}
.viewer .equation .shape{fill:#24242b;stroke:#9a9aa6}
.viewer .derived .shape{fill:#3d3213;stroke:#d3a544}
.viewer .edge{stroke:#9a9aa6}
.viewer .reverse{stroke:#86b9f0}
.viewer marker[id$="forward"] path{fill:#9a9aa6}
.viewer marker[id$="reverse"] path{fill:#86b9f0}
.tools button{color:#e6e6ec;background:#24242bd9;border-color:#4a4a55}
}
"""

# Drag or arrow keys pan; the wheel zooms at the pointer, two fingers between them; + and - zoom, 0
# shows all, 1 shows it at its own size. Within a longer page the wheel scrolls that, until the
# drawing has been clicked at. `reveal` brings a box into view, `chosen` tells which was clicked at.
SCRIPT: Final = """\
"use strict";
for (const viewer of document.querySelectorAll(".viewer")) {
  const svg = viewer.querySelector("svg"), box = svg.viewBox.baseVal;
  const whole = [box.x, box.y, box.width, box.height];
  const alone = viewer.classList.contains("alone"), held = new Map();
  let view = null, moved = 0, pressed = null;
  const size = () => [viewer.clientWidth || 1, viewer.clientHeight || 1];
  const show = () => svg.setAttribute("viewBox", view.join(" "));
  const at = (x, y) => new DOMPoint(x, y).matrixTransform(svg.getScreenCTM().inverse());
  const fit = () => { view = whole.slice(); show(); };
  const plain = (x, y) => {
    const [width, height] = size();
    view = [x - width / 2, y - height / 2, width, height];
    show();
  };
  const begin = () => {
    const [width, height] = size();
    const scale = Math.min(width / whole[2], height / whole[3]);
    if (scale >= 0.55) return fit();
    plain(whole[0] + Math.min(width, whole[2]) / 2, whole[1] + whole[3] / 2);
    const first = svg.querySelector(".argument .shape");
    if (first && height < whole[3]) {
      const middle = first.getBBox().y - height / 2;
      view[1] = Math.min(Math.max(middle, whole[1]), whole[1] + whole[3] - height);
      show();
    }
  };
  const zoom = (factor, x, y) => {
    const least = whole[2] / 400, most = Math.max(whole[2], whole[3]) * 8;
    const width = Math.min(Math.max(view[2] * factor, least), most), by = width / view[2];
    view = [x + (view[0] - x) * by, y + (view[1] - y) * by, width, view[3] * by];
    show();
  };
  const middle = () => [view[0] + view[2] / 2, view[1] + view[3] / 2];
  const pan = (right, down) => {
    view[0] += right * view[2];
    view[1] += down * view[3];
    show();
  };
  const actions = {
    in: () => zoom(0.7, ...middle()),
    out: () => zoom(1 / 0.7, ...middle()),
    all: fit,
    plain: () => plain(...middle()),
  };
  const keys = {
    "+": actions.in, "=": actions.in, "-": actions.out, "0": fit, "Home": begin,
    "1": actions.plain,
    "ArrowLeft": () => pan(-0.15, 0), "ArrowRight": () => pan(0.15, 0),
    "ArrowUp": () => pan(0, -0.15), "ArrowDown": () => pan(0, 0.15),
  };
  for (const button of viewer.querySelectorAll(".tools button")) {
    button.addEventListener("click", () => actions[button.dataset.do]());
  }
  viewer.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  svg.addEventListener("pointerdown", event => {
    viewer.focus({preventScroll: true});
    held.set(event.pointerId, [event.clientX, event.clientY]);
    svg.setPointerCapture(event.pointerId);
    viewer.classList.add("held");
    if (held.size === 1) { moved = 0; pressed = event.target.closest(".node"); }
  });
  svg.addEventListener("pointermove", event => {
    const before = held.get(event.pointerId);
    if (!before) return;
    const now = [event.clientX, event.clientY];
    moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
    if (held.size === 2) {
      const [other] = [...held].filter(([id]) => id !== event.pointerId).map(([, p]) => p);
      const apart = p => Math.max(1, Math.hypot(p[0] - other[0], p[1] - other[1]));
      const p = at((now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      zoom(apart(before) / apart(now), p.x, p.y);
    } else {
      const from = at(...before), to = at(...now);
      view[0] += from.x - to.x;
      view[1] += from.y - to.y;
      show();
    }
    held.set(event.pointerId, now);
  });
  const release = event => {
    held.delete(event.pointerId);
    if (!held.size) viewer.classList.remove("held");
    if (event.type === "pointerup" && moved < 4 && pressed) {
      viewer.dispatchEvent(new CustomEvent("chosen", {detail: pressed.dataset.name}));
    }
    pressed = null;
  };
  svg.addEventListener("pointerup", release);
  svg.addEventListener("pointercancel", release);
  svg.addEventListener("dblclick", fit);
  svg.addEventListener("wheel", event => {
    if (!(alone || event.ctrlKey || viewer.contains(document.activeElement))) return;
    event.preventDefault();
    const p = at(event.clientX, event.clientY);
    const lines = event.deltaMode === 1 ? 16 : 1;
    zoom(Math.exp(event.deltaY * lines / 500), p.x, p.y);
  }, {passive: false});
  viewer.mark = name => {
    for (const node of svg.querySelectorAll(".chosen")) node.classList.remove("chosen");
    const node = [...svg.querySelectorAll(".node")].find(one => one.dataset.name === name);
    if (node) node.classList.add("chosen");
    return node;
  };
  viewer.reveal = name => {
    const node = viewer.mark(name);
    if (!node) return;
    const [width, height] = size(), place = node.getBBox();
    const shift = svg.querySelector("g").transform.baseVal.consolidate().matrix;
    const scale = Math.max(1, view[2] / width, view[3] / height);
    if (scale > 1.6) view = [0, 0, width, height];
    view[0] = place.x + place.width / 2 + shift.e - view[2] / 2;
    view[1] = place.y + place.height / 2 + shift.f - view[3] / 2;
    show();
  };
  new ResizeObserver(() => {
    if (!view && viewer.clientWidth) begin();
  }).observe(viewer);
}
"""

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{policy}
<title>{title}</title>
<style>
html,body{{margin:0;height:100%;overflow:hidden}}
.viewer{{height:100%}}
{style}</style>
</head>
<body>
{viewer}<script>
{script}</script>
</body>
</html>
"""


def html_text(svg: str, title: str) -> str:
    """The page of one drawing, around an SVG text, which must be safe already."""
    return _PAGE.format(
        policy=POLICY,
        title=escape(title),
        style=STYLE,
        viewer=viewer(svg, title, alone=True),
        script=SCRIPT,
    )


def viewer(svg: str, label: str, alone: bool = False, height: int | None = None) -> str:
    """A drawing in a frame with its tools, for a page that has `STYLE` and `SCRIPT`.

    height: in pixels, for the page's style.
    alone: whether it is all there is on the page, so that the wheel is always meant for it.
    """
    tools = "".join(
        f'<button type="button" data-do="{action}" title="{tip}">{text}</button>'
        for action, text, tip in (
            ("in", "+", "Zoom in: + or the wheel"),
            ("out", "\u2212", "Zoom out: - or the wheel"),
            ("all", "all", "Show all: 0 or a double click"),
            ("plain", "1:1", "Its own size: 1"),
        )
    )
    kind = "viewer alone" if alone else "viewer"
    tall = "" if height is None else f' style="--height:{height}px"'
    return (
        f'<div class="{kind}" tabindex="0" role="group"{tall} '
        f'aria-label="Drawing of {escape(label)}">\n'
        f'{svg}<div class="tools">{tools}</div>\n</div>\n'
    )
