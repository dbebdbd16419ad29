"""The dashboard in a real browser, on a real server with its simulated patient."""

from __future__ import annotations

import json
import math
import re
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.live.browsing import TOKEN, browsing, screenshot, serving

PAGE = files("breathcast") / "dashboard"
TRAP = "<img src=x onerror=window.trapped=1>"
STATES = {"WARMUP", "OK", "DEGRADED", "HOLD", "FAULT"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dashboard")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    pytest.importorskip("fastapi")
    with browsing() as started:
        yield started


@pytest.fixture(scope="module")
def address(browser: Any, folder: Path) -> Iterator[str]:
    with serving(folder) as started:
        yield started


@contextmanager
def opened(browser: Any, address: str, *, size: tuple[int, int] = (1280, 900), **options: Any) -> Iterator[Any]:
    """The page, once it is live; whatever it complains of fails the test."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **options)
    context.set_default_timeout(60_000)
    page = context.new_page()
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    try:
        page.goto(f"{address}/#token={TOKEN}")
        page.wait_for_selector("[data-line=live]")
        yield page
        unexpected = [text for text in complaints if "Failed to load resource" not in text and "WebSocket" not in text]
        assert not unexpected
        assert all(url.startswith((address, "data:")) for url in asked), asked  # nothing comes from elsewhere
    finally:
        context.close()


def call(address: str, path: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(address + path, data, headers), timeout=60) as answer:
        return json.loads(answer.read())


def feed(address: str, name: str, count: int, first: int = 0) -> dict[str, Any]:
    """Samples of one marker at 10 Hz, in real time."""
    output: dict[str, Any] = {}
    for n in range(first, first + count):
        position = [[math.sin(n / 5), 2.0, 3.0]]
        output = call(address, f"/api/sessions/{name}/samples", {"time": 100 + n / 10, "positions": position})
        time.sleep(0.08)
    return output


def until(page: Any, expression: str, seconds: float = 60.0) -> None:
    """Wait until a JavaScript expression is true. (Playwright's own waiting needs `eval`, which the page forbids.)"""
    begun = time.monotonic()
    while not page.evaluate(expression):
        assert time.monotonic() - begun < seconds, expression
        page.wait_for_timeout(50)


def word(page: Any) -> str:
    return str(page.inner_text("#word"))


def drawn(page: Any) -> str:
    return str(page.evaluate("document.querySelector('#axes canvas').toDataURL()"))


def stands(page: Any) -> bool:
    """Whether the picture comes to rest: a layout that changed may have it drawn once more, but not again and again."""
    for _ in range(6):
        before = drawn(page)
        page.wait_for_timeout(700)
        if drawn(page) == before:
            return True
    return False


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_the_simulated_patient_is_drawn_and_moves(browser: Any, address: str, folder: Path, scheme: str) -> None:
    with opened(browser, address, color_scheme=scheme) as page:
        assert page.is_visible("#notice")
        assert "not for beam control" in page.inner_text("#notice")
        assert page.get_attribute("html", "data-theme") == scheme
        assert word(page) in STATES
        assert page.locator("#axes canvas").count() == 3
        until(page, "document.querySelectorAll('#errors tr').length === 3")
        before = drawn(page)
        page.wait_for_timeout(500)
        assert drawn(page) != before
        assert page.locator("#marker option").all_inner_texts() == ["lower abdomen", "upper abdomen", "chest"]
        assert "ms" in page.inner_text("#health")
        page.evaluate("scrollTo(0, 400)")
        assert page.locator("#notice").bounding_box()["y"] == 0  # always in view
        page.evaluate("scrollTo(0, 0)")
        screenshot(page, folder, scheme)


def test_a_phone_shows_it_all_without_scrolling_sideways(browser: Any, address: str, folder: Path) -> None:
    with opened(browser, address, size=(360, 740), has_touch=True) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.is_visible("#notice")
        assert page.is_visible("#word")
        box = page.locator("#word").bounding_box()
        assert box["x"] + box["width"] <= 360
        screenshot(page, folder, "phone")
        page.locator("#gating").scroll_into_view_if_needed()
        assert page.is_visible("#notice")
        page.evaluate("document.getElementById('gating').scrollIntoView()")
        screenshot(page, folder, "phone-gating")


def test_hold_is_latched_until_somebody_re_arms_with_the_keyboard(browser: Any, address: str, folder: Path) -> None:
    name, other = "latched", "demo"
    call(
        address,
        "/api/sessions",
        {"name": name, "method": "lms(history=1,training=3)", "markers": [TRAP], "rate": 10, "horizons_ms": [200]},
    )
    feed(address, name, 60)
    with opened(browser, address) as page:
        page.get_by_role("button", name=re.compile(name)).click()
        page.wait_for_selector("[data-state=HOLD]")
        page.wait_for_selector("[data-line=waiting], [data-line=stale]")
        assert "HOLD" in page.title()
        assert page.is_visible("#rearm")
        assert page.locator("body.frozen").count() == 1
        until(page, "document.getElementById('shouted').textContent.includes('HOLD')")
        # A name is a text, whatever it looks like.
        assert page.locator("#marker option").all_inner_texts() == [TRAP]
        assert page.evaluate("window.trapped === undefined && document.images.length === 0")
        assert stands(page)  # a picture that is not live does not move
        screenshot(page, folder, "hold")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("a")
        assert page.evaluate("document.activeElement.id") == "rearm"
        assert call(address, f"/api/sessions/{name}")["state"] == "HOLD"  # the key alone does nothing
        page.keyboard.press("Enter")
        begun = time.monotonic()  # what the page answers is gone when the next state comes
        while "rearmed" not in [change["cause"] for change in call(address, f"/api/sessions/{name}/transitions")]:
            assert time.monotonic() - begun < 30
            time.sleep(0.05)
        page.get_by_role("button", name=re.compile(other)).click()
        page.wait_for_selector("[data-line=live]")
        assert not page.is_visible("#rearm")


def test_the_keyboard_alone_is_enough(browser: Any, address: str) -> None:
    with opened(browser, address) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        order = []
        for _ in range(4):
            page.keyboard.press("Tab")
            order.append(page.evaluate("document.activeElement.id || document.activeElement.innerText"))
        assert order[:2] == ["theme", "help"]
        page.keyboard.press("?")
        assert page.is_visible("#keys")
        assert "next marker" in page.inner_text("#keys")
        page.keyboard.press("Escape")
        assert not page.is_visible("#keys")
        page.keyboard.press("3")
        assert page.is_checked("[data-horizon='2']")
        page.keyboard.press("m")
        assert page.locator("#marker").input_value() == "1"
        page.keyboard.press("t")
        assert page.get_attribute("html", "data-theme") == "dark"
        page.focus("#low")
        page.keyboard.type("3")
        assert page.is_checked("[data-horizon='2']")  # digits in a field are digits
        page.keyboard.press("Tab")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("?")
        page.uncheck("#keys-on")
        page.keyboard.press("Escape")
        page.keyboard.press("3")
        assert page.is_checked("[data-horizon='2']")


def test_the_gating_preview_counts_and_says_what_it_is(browser: Any, address: str, folder: Path) -> None:
    with opened(browser, address) as page:
        assert "Preview for research" in page.inner_text("#gating")
        until(page, "document.getElementById('low').value !== ''")  # a window is suggested by itself
        until(page, "document.querySelectorAll('#gate-numbers tr').length === 3")
        ideal = page.locator("#gate-numbers tr").first.inner_text()
        assert "0.0 s (0.0%)" in ideal
        page.fill("#low", "5")
        page.fill("#high", "1")
        until(page, "document.getElementById('window-answer').textContent.includes('below')")
        assert page.locator("#gate-numbers tr").count() == 0
        page.select_option("#kind", "ball")
        page.click("#reference")
        until(page, "document.getElementById('window-answer').textContent.startsWith('Reference')")
        until(page, "document.querySelectorAll('#gate-numbers tr').length === 3")
        page.evaluate("document.getElementById('gating').scrollIntoView()")
        screenshot(page, folder, "gating")


def test_who_wants_no_motion_gets_little(browser: Any, address: str) -> None:
    count = """() => new Promise((done) => {
      let frames = 0;
      const canvas = document.querySelector("#axes canvas").getContext("2d");
      const clear = canvas.clearRect;
      canvas.clearRect = function (...box) { frames += 1; return clear.apply(this, box); };
      setTimeout(() => done(frames), 2200);
    })"""
    with opened(browser, address, reduced_motion="reduce") as page:
        assert 1 <= page.evaluate(count) <= 6


def test_without_the_token_the_page_says_so(browser: Any, address: str) -> None:
    page = browser.new_page()
    try:
        page.goto(address)
        until(page, "document.getElementById('alarm').textContent.includes('token')")
        assert page.inner_text("#word") == "NO DATA"
    finally:
        page.close()


def test_a_lost_server_is_seen_and_found_again(browser: Any, tmp_path: Path, folder: Path) -> None:
    with serving(tmp_path) as address:
        port = int(address.rpartition(":")[2])
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.set_default_timeout(90_000)
        page.goto(f"{address}/#token={TOKEN}")
        page.wait_for_selector("[data-line=live]")
    try:
        page.wait_for_selector("[data-line=disconnected]")
        assert word(page) == "NO LINE"
        page.wait_for_selector("#alarm:not([hidden])")
        until(page, "document.getElementById('shouted').textContent.includes('NO LINE')")
        screenshot(page, folder, "no-line")
        with serving(tmp_path, port):
            page.wait_for_selector("[data-line=live]")
            assert word(page) in STATES
            assert not page.is_visible("#alarm")
    finally:
        context.close()


def _luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_every_text_has_enough_contrast(theme: str) -> None:
    css = (PAGE / "style.css").read_text(encoding="utf-8")
    blocks = re.findall(r":root[^{]*\{(.*?)\}", css, re.S)
    dark, light = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block)) for block in blocks[:2])
    colours = dark if theme == "dark" else dark | light
    texts = [(ink, paper) for ink in ("ink", "soft", "link", "flag") for paper in ("paper", "shade")]
    texts += [(f"{state}-ink", state) for state in ("ok", "degraded", "warmup", "hold", "fault")]
    texts += [("flag", "flag-paper")]
    for ink, paper in texts:
        assert _contrast(colours[ink], colours[paper]) >= 4.5, (theme, ink, paper)
    for line in ("truth", "none", "h0", "h1", "h2", "h3"):  # lines need 3
        assert _contrast(colours[line], colours["shade"]) >= 3, (theme, line)


def test_nothing_is_inline_and_names_never_become_markup() -> None:
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<script(?![^>]*src=)|\son\w+=|\sstyle=|<style", html)
    assert "default-src 'none'" in html
    for file in PAGE.iterdir():
        text = file.read_text(encoding="utf-8")
        unsafe = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function"
        assert not re.search(unsafe, text), file
        assert not re.search(r"""(?:src|href|from|fetch\()\s*=?\s*["'](?:https?:)?//""", text), file
