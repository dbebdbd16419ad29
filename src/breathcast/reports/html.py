"""A page in one file: its style, its script and its data inside, nothing loaded from anywhere."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

from breathcast.reports.plain import to_json
from breathcast.reports.tables import Cell, Row, Table
from breathcast.reports.versions import versions
from breathcast.version import NOTICE

# Nothing may be loaded, whatever a name in the data says; inline parts are all that there is.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "form-action 'none'; base-uri 'none'"
)


@dataclass(frozen=True)
class Section:
    """A part of a page with its own heading."""

    id: str
    heading: str
    body: str


def page(
    title: str, lead: str, sections: Sequence[Section], data: Mapping[str, Any], warning: str | None = None
) -> str:
    """The whole page; `data` are the blocks of JSON that its figures and readers take, by id."""
    contents = "".join(f'<li><a href="#{part.id}">{escape(part.heading)}</a></li>' for part in sections)
    body = "\n".join(
        f'<section id="{part.id}"><h2>{escape(part.heading)}</h2>\n{part.body}\n</section>' for part in sections
    )
    blocks = "\n".join(
        f'<script type="application/json" id="{key}">{_harmless(to_json(value, indent=None))}</script>'
        for key, value in data.items()
    )
    flag = "" if warning is None else f'<p class="flag" role="alert">Immediate feedback: {escape(warning)}.</p>'
    made = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="generator" content="breathcast {versions()["breathcast"]}">
<title>{escape(title)}</title>
<style>{_resource("page.css")}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<h1>{escape(title)}</h1>
<p class="notice" role="note">{escape(NOTICE)}</p>
{flag}
{lead}
<nav aria-label="Contents"><ul>{contents}</ul></nav>
</header>
<main id="main">
<noscript><p class="notice">The figures need JavaScript; every number is in the tables as well.</p></noscript>
{body}
</main>
<footer><p>Made by breathcast {versions()["breathcast"]} on {made}. {escape(NOTICE)}</p></footer>
{blocks}
<script>{plotly()}</script>
<script>{_resource("page.js")}</script>
</body>
</html>
"""


def escape(text: object) -> str:
    """Text that cannot be taken for markup, in an element or an attribute."""
    return html.escape(str(text), quote=True)


def table(content: Table, *, titles: bool = False) -> str:
    """A table that scrolls sideways where it is wide; with `titles` a row head shows its long name too."""
    heads = "".join(f'<th scope="col">{escape(head)}</th>' for head in content.columns)
    rooms = [None] * (len(content.columns) - 1) if content.words else _rooms(content)
    rows = "\n".join(_row(row, titles, rooms) for row in content.rows)
    warning = f' <strong class="warning">({escape(content.warning)})</strong>' if content.warning else ""
    head = f"<thead><tr>{heads}</tr></thead>" if any(content.columns) else ""
    kind = "words" if content.words else "numbers"
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(content.caption)}">'
        f'<table class="{kind}"><caption><span>{escape(content.caption)}{warning}</span></caption>'
        f"{head}<tbody>{rows}</tbody></table></div>"
    )


def paragraphs(lines: Iterable[str]) -> str:
    """One paragraph a line."""
    return "".join(f"<p>{escape(line)}</p>" for line in lines)


def bullets(lines: Iterable[str]) -> str:
    """A list, or nothing."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def figure(key: str, kind: str, alternative: str, caption: str, controls: str = "") -> str:
    """The place of a figure; page.js draws it from the block of JSON with the id `key`."""
    return (
        f'<figure class="chart" data-kind="{kind}" data-source="{key}">{controls}'
        f'<div class="plot" role="img" aria-label="{escape(alternative)}"></div>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def choice(name: str, label: str, options: Mapping[str, str], chosen: str = "") -> str:
    """A list to choose one of, by its key."""
    items = "".join(
        f'<option value="{escape(key)}"{" selected" if key == chosen else ""}>{escape(text)}</option>'
        for key, text in options.items()
    )
    return f'<label class="choice">{escape(label)} <select data-name="{name}">{items}</select></label>'


def switches(entries: Iterable[Mapping[str, Any]], label: str = "Methods shown") -> str:
    """The legend of a figure: a box to tick for each line."""
    boxes = "".join(
        f'<label><input type="checkbox" value="{escape(entry["name"])}"{" checked" if entry["shown"] else ""}>'
        f'<span class="line {escape(entry["dash"])}" style="--line:{escape(entry["colour"])}"></span>'
        f'<span title="{escape(entry["title"])}">{escape(entry["name"])}</span></label>'
        for entry in entries
    )
    return f'<fieldset class="legend"><legend>{escape(label)}</legend>{boxes}</fieldset>'


def warned(warning: str | None) -> str:
    """The end of a caption: what a reader of these numbers must know first."""
    return f" Immediate feedback: {warning}." if warning else ""


def noted(
    name: str, samples: int, rate: float, markers: Sequence[str], labels: Sequence[str], notes: Sequence[str]
) -> str:
    """A recording, and what its reader assumed or repaired."""
    named = f"; markers: {escape(', '.join(markers))}" if markers else ""
    labelled = f"; labels: {escape(', '.join(labels))}" if labels else ""
    return (
        f"<h3>{escape(name)}</h3><p>{samples / rate:.1f} s at {rate:g} Hz{named}{labelled}.</p>"
        f"{bullets(notes) or '<p>Nothing had to be assumed or repaired.</p>'}"
    )


def saving() -> str:
    """Where the numbers of a page are, and a button that saves them."""
    return (
        "<p>All numbers of this page are embedded in it as JSON (the element with the id <code>results</code>). "
        '<button type="button" data-save="results" data-file="results.json">Save results.json</button></p>'
    )


def _row(row: Row, titles: bool, rooms: Sequence[str | None]) -> str:
    kind = ' class="reference"' if row.reference else ""
    title = f'<span class="title">{escape(row.title)}</span>' if titles and row.title else ""
    cells = "".join(_cell(cell, room) for cell, room in zip(row.cells, rooms, strict=True))
    return f'<tr{kind}><th scope="row">{escape(row.head)}{title}</th>{cells}</tr>'


def _rooms(content: Table) -> list[str | None]:
    """For each column the widest interval: cells without one leave the place free, so that mean is below mean."""
    columns = zip(*(row.cells for row in content.rows), strict=True)
    return [max((cell.text.partition(" ±")[2] for cell in column), key=len, default="") for column in columns]


def _cell(cell: Cell, room: str | None) -> str:
    """A field; `room` is the interval to leave place for, None in a table of words."""
    if room is None:
        return f"<td>{escape(cell.text)}</td>"
    mean, mark, half = cell.text.partition(" ±")
    shown = escape(mean)
    if mark:
        shown += f' <span class="half">± {escape(half)}</span>'
    elif room:
        shown += f' <span class="half free" aria-hidden="true">± {escape(room)}</span>'
    if not cell.best:
        return f"<td>{shown}</td>"
    return f'<td class="best"><span title="the best">★<span class="unseen">best: </span></span> {shown}</td>'


def _harmless(text: str) -> str:
    """JSON that cannot end the script element it stands in."""
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def _resource(name: str) -> str:
    return files("breathcast.reports").joinpath(name).read_text(encoding="utf-8")


@cache
def plotly() -> str:
    """The drawing library, from the wheel of Plotly."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())
