"""The style and the script of the page that `adjoint show --html` writes."""

from __future__ import annotations

from typing import Final

STYLE: Final = """\
:root{color-scheme:light dark;--ink:#2b2b33;--faint:#6b6b76;--paper:#fbfbfd;--card:#fff;\
--line:#dcdce3;--derived:#b98a2a;--blue:#1f5fa8;--red:#b3261e;--mark:#eaf2fb;\
--mono:"DejaVu Sans Mono",Menlo,Consolas,monospace}
@media (prefers-color-scheme:dark){:root{--ink:#e6e6ec;--faint:#a2a2ae;--paper:#101014;\
--card:#17171c;--line:#34343d;--derived:#d3a544;--blue:#86b9f0;--red:#ff8a80;--mark:#1b2c40}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1500px;margin:0 auto;padding:20px 20px 60px}
h1{font-size:22px;margin:0;overflow-wrap:anywhere}
h1 code{font-size:inherit}
h2{font-size:18px;margin:36px 0 10px}
h3{font-size:15px;margin:20px 0 6px}
p{margin:4px 0 10px;max-width:90ch}
code,pre{font-family:var(--mono);font-size:12.5px}
pre{margin:4px 0;overflow-x:auto}
a{color:var(--blue)}
nav{position:sticky;top:0;z-index:2;display:flex;gap:16px;overflow-x:auto;padding:8px 20px;\
background:var(--card);border-bottom:1px solid var(--line);white-space:nowrap}
nav a{text-decoration:none}
.faint{color:var(--faint)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px;\
margin:16px 0}
.tile{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:8px 12px}
.tile b{display:block;font-size:17px;overflow-wrap:anywhere}
.tile span{color:var(--faint);font-size:13px}
.sheet{display:grid;grid-template-columns:minmax(0,1fr);gap:12px}
.viewer{height:min(60vh,var(--height));border:1px solid var(--line);border-radius:8px}
.scroll{overflow:auto;border:1px solid var(--line);border-radius:8px;background:var(--card)}
.equations{max-height:80vh}
table{border-collapse:collapse;width:100%;font-size:13px}
th,td{padding:4px 10px;text-align:left;vertical-align:top;border-top:1px solid var(--line)}
thead th{position:sticky;top:0;background:var(--card);border-top:0;z-index:1;\
color:var(--faint);font-weight:500}
td.number,th.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td.source{border-right:1px solid var(--line);max-width:420px}
td.source code{white-space:pre-wrap;overflow-wrap:anywhere}
td.source .where{display:block;color:var(--faint);font-size:12px}
td.equation code{white-space:pre-wrap;overflow-wrap:anywhere}
tr.derived td.equation{box-shadow:inset 3px 0 var(--derived)}
tr.input td.equation code{color:var(--faint)}
td.value{font-family:var(--mono);font-size:12px;overflow-wrap:anywhere;min-width:9em}
td.odd,.odd{color:var(--red);font-weight:600}
tr[data-name]{cursor:pointer}
tr[data-name]:hover td:not(.source){background:var(--mark)}
tr.chosen td:not(.source){background:var(--mark)}
details pre{border-left:2px solid var(--line);padding-left:8px}
summary{cursor:pointer;color:var(--faint);font-size:12px}
.chip{display:inline-block;padding:0 7px;border-radius:9px;font-size:12px;white-space:nowrap;\
border:1px solid var(--region,var(--line))}
.chip.numpy{border-color:var(--red);color:var(--red)}
.r0{--region:#1f77b4}.r1{--region:#e08214}.r2{--region:#2ca02c}.r3{--region:#9467bd}
.r4{--region:#17a2b8}.r5{--region:#c2185b}.r6{--region:#8c6d31}.r7{--region:#7f7f7f}
.chip[class*=" r"]{background:color-mix(in srgb,var(--region) 16%,transparent)}
.bar{height:12px;border-radius:3px;background:var(--blue);min-width:2px}
.bars{display:grid;grid-template-columns:max-content minmax(0,1fr) max-content;\
gap:6px 12px;align-items:center;max-width:700px}
.fact{margin:0 0 14px}
.fact h3{margin:0}
.fact ul{margin:2px 0 8px;padding-left:20px}
.fact li code{white-space:pre-wrap;overflow-wrap:anywhere}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:13px;color:var(--faint)}
.legend i{display:inline-block;width:12px;height:12px;border-radius:3px;margin-right:5px;\
vertical-align:-1px;border:1.4px solid}
.legend .argument{background:#b9e0b3;border-color:#2e7d32}
.legend .constant{background:#e4e4e8;border-color:#8a8a94}
.legend .equation{background:#fbfaf5;border-color:#55555e}
.legend .derived{background:#fff5dd;border-color:#b98a2a}
.legend .result{background:#b5d2f2;border-color:#1f5fa8}
@media (prefers-color-scheme:dark){
.legend .argument{background:#234a26;border-color:#85cf8b}
.legend .constant{background:#303038;border-color:#8a8a94}
.legend .equation{background:#24242b;border-color:#9a9aa6}
.legend .derived{background:#3d3213;border-color:#d3a544}
.legend .result{background:#1b3d61;border-color:#86b9f0}
}
@media (max-width:760px){
main{padding:12px 10px 40px}
.viewer{height:min(60vh,max(var(--height),300px))}
.equations{max-height:none}
.equations thead{display:none}
.equations tr,.equations td{display:block;border-right:0;max-width:none}
.equations td{border-top:0;padding:2px 10px}
.equations td.source{border-top:1px solid var(--line);padding-top:8px}
.equations tr{padding-bottom:4px}
.equations td.value,.equations td.place{display:inline-block}
.equations td:empty{display:none}
}
"""

# A row and its box in the drawing are chosen together; choosing in one brings the other into view.
SCRIPT: Final = """\
for (const sheet of document.querySelectorAll(".sheet")) {
  const viewer = sheet.querySelector(".viewer"), list = sheet.querySelector(".equations");
  const rows = [...sheet.querySelectorAll("tr[data-name]")];
  const mark = name => {
    for (const row of rows) row.classList.toggle("chosen", row.dataset.name === name);
    return rows.find(row => row.dataset.name === name);
  };
  for (const row of rows) row.addEventListener("click", event => {
    if (event.target.closest("summary")) return;
    mark(row.dataset.name);
    if (viewer) viewer.reveal(row.dataset.name);
  });
  if (viewer) viewer.addEventListener("chosen", event => {
    viewer.mark(event.detail);
    const row = mark(event.detail);
    if (!row) return;
    const place = row.getBoundingClientRect(), frame = list.getBoundingClientRect();
    list.scrollTop += place.top - frame.top - list.clientHeight / 3;
  });
}
"""
