from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import breathcast as bc
from breathcast.evaluation.compare import Comparison
from breathcast.evaluation.evaluate import IMMEDIATE_WARNING
from breathcast.reports.comparison_page import comparison_page, results
from breathcast.reports.inspection_page import inspection_page
from breathcast.reports.plain import to_json
from breathcast.reports.study_page import study_page
from tests.reports.conftest import HOSTILE, Study, recordings

VOID = {"meta", "input", "link", "br", "img", "hr"}


class Page(HTMLParser):
    """What a page consists of; every element is closed by its own end."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: Counter[str] = Counter()
        self.blocks: dict[str, str] = {}
        self._open: list[tuple[str, dict[str, str]]] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {key: value or "" for key, value in attrs}
        self.elements.append((tag, found))
        if tag not in VOID:
            self._open.append((tag, found))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        tag, attributes = self._open[-1] if self._open else ("", {})
        if tag == "script":
            self.blocks[attributes.get("id", str(len(self.blocks)))] = data
        elif tag != "style":
            self.texts[data] += 1

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def page(comparison: Comparison) -> Page:
    return Page(comparison_page(comparison))


@pytest.fixture(scope="module")
def inspected() -> Page:
    shown = recordings()
    return Page(inspection_page(shown, [bc.inspect(recording) for recording in shown]))


@pytest.fixture(scope="module")
def studied(study: Study) -> Page:
    return Page(study_page(*study, None))


@pytest.fixture(params=["page", "inspected", "studied"])
def either(request: pytest.FixtureRequest) -> Page:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Page)
    return found


def test_it_is_complete_in_itself(either: Page) -> None:
    for tag, attributes in either.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form")
        for key in ("src", "href", "srcset", "data", "action", "poster"):
            assert attributes.get(key, "#").startswith("#"), (tag, attributes)
    policies = [m["content"] for m in either.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert len(policies) == 1
    assert policies[0].startswith("default-src 'none'")


def test_plotly_is_there_once_and_sends_nothing(either: Page) -> None:
    scripts = [text for text in either.blocks.values() if len(text) > 1_000_000]
    assert len(scripts) == 1
    assert "plotly.js v" in scripts[0][:200]
    drawing = list(either.blocks.values())[-1]
    assert "showSendToCloud: false" in drawing
    assert 'modeBarButtons: [["toImage"], ["zoom2d", "pan2d", "resetScale2d"]]' in drawing


def test_style_loads_nothing_and_knows_dark_phone_and_paper(comparison: Comparison) -> None:
    style = re.search(r"<style>(.*?)</style>", comparison_page(comparison), re.DOTALL)
    assert style
    assert not re.search(r"url\(|@import|@font-face", style[1])
    for word in ("prefers-color-scheme: dark", "@media print", "@media (max-width"):
        assert word in style[1]


def test_it_can_be_read_without_a_mouse_or_a_screen(either: Page) -> None:
    assert either.all("html") == [{"lang": "en"}]
    assert len(either.all("h1")) == len(either.all("main")) == len(either.all("title")) == 1
    assert all(th.get("scope") in ("col", "row") for th in either.all("th"))
    assert len(either.all("table")) == len(either.all("caption"))
    assert all(
        area["tabindex"] == "0" and area["aria-label"] for area in either.all("div") if "scroll" in area.values()
    )
    assert all(area["aria-label"] for area in either.all("div") if area.get("role") == "img")
    identifiers = [attributes["id"] for _, attributes in either.elements if "id" in attributes]
    assert len(set(identifiers)) == len(identifiers)
    assert {link["href"][1:] for link in either.all("a")} <= set(identifiers)


def test_the_notice_is_there(either: Page) -> None:
    assert sum("Research use only; not a medical device" in text for text in either.texts) >= 2


def test_names_cannot_become_markup(either: Page) -> None:
    assert any(HOSTILE in text for text in either.texts)
    assert "alert" not in "".join(text for key, text in either.blocks.items() if key.isdigit() and len(text) < 10_000)
    for tag, attributes in either.elements:
        assert tag != "script" or attributes in ({}, {"type": "application/json", "id": attributes.get("id")})


def test_every_figure_has_its_data(either: Page) -> None:
    sources = [attributes["data-source"] for attributes in either.all("figure")]
    assert sources
    for source in sources:
        assert json.loads(either.blocks[source])


def test_all_numbers_are_embedded(page: Page, comparison: Comparison) -> None:
    assert json.loads(page.blocks["results"]) == json.loads(to_json(results(comparison)))


def test_choices_and_switches(page: Page, comparison: Comparison) -> None:
    boxes = [box for box in page.all("input") if box["type"] == "checkbox"]
    assert len(boxes) == 2 * len(comparison.methods)
    assert sum("checked" in box for box in boxes) == len(comparison.methods) + 3
    assert [choice["data-name"] for choice in page.all("select")] == ["score", "recording", "coordinate"]


def test_immediate_feedback_is_labelled_in_every_part(immediate: Comparison, comparison: Comparison) -> None:
    page = Page(comparison_page(immediate))
    assert sum(count for text, count in page.texts.items() if IMMEDIATE_WARNING in text) >= 8
    assert page.texts[f"({IMMEDIATE_WARNING})"] == 3  # one for each table of scores
    figures = json.loads(page.blocks["score-figures"])
    assert all(IMMEDIATE_WARNING in spec["layout"]["title"]["text"] for spec in figures.values())
    assert IMMEDIATE_WARNING in page.blocks["time-figure"]
    assert json.loads(page.blocks["results"])["warning"] == IMMEDIATE_WARNING
    plain = Page(comparison_page(comparison))
    assert not any(IMMEDIATE_WARNING in text for text in plain.texts)


def test_size(comparison: Comparison) -> None:
    assert len(comparison_page(comparison)) < 7_000_000


def test_a_long_recording_does_not_make_a_large_page() -> None:
    long = bc.Recording(np.random.default_rng(0).normal(size=(300_000, 3, 3)), 30.0)
    assert len(inspection_page([long], [bc.inspect(bc.Recording(long.positions[:1000], 30.0))])) < 7_000_000


def test_a_comparison_of_one_recording_and_one_method(comparison: Comparison) -> None:
    method, recording = comparison.methods[3], comparison.recordings[0]
    cases = tuple(c for c in comparison.cases if c.method == method and c.recording == recording.name)
    small = replace(comparison, methods=(method,), recordings=(recording,), cases=cases, traces=())
    assert "Nothing was forecast" in comparison_page(small)
