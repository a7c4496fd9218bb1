"""How long a letter takes from one browser to another: `python -m tests.browser.letters`.

Two Chromium contexts have the same note open. One types a hundred letters; the time is from the key
press there to the letter's appearance in the page here. Not a test: tests assert no times.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.browser.bundle import build
from tests.browser.site import Pages
from tests.browser.test_note import at_the_end, editor, opened

LETTERS = 100
_PRESSED = """() => { window.pressed = []; addEventListener("keydown", (event) =>
    window.pressed.push(performance.timeOrigin + event.timeStamp), true) }"""
_SEEN = """() => { window.seen = []; const box = document.querySelector(".cm-content");
    new MutationObserver(() => {
        const count = box.textContent.split("x").length - 1;
        const now = performance.timeOrigin + performance.now();
        while (window.seen.length < count) window.seen.push(now);
    }).observe(box, {childList: true, subtree: true, characterData: true}) }"""


def measured(typist: Page, reader: Page) -> list[float]:
    """The milliseconds of each letter."""
    typist.evaluate(_PRESSED)
    reader.evaluate(_SEEN)
    at_the_end(typist)
    typist.evaluate("window.pressed.length = 0")
    editor(typist).press_sequentially("x" * LETTERS, delay=60)
    reader.wait_for_function(f"window.seen.length >= {LETTERS}")
    pressed, seen = typist.evaluate("window.pressed"), reader.evaluate("window.seen")
    return [there - here for here, there in zip(pressed, seen, strict=True)]


def main() -> None:
    """Measure, and tell."""
    program = shutil.which("chromium")
    build()
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        with Pages(browser, Path(place)).serving({"Fox.md": "A dog. " * 500}) as site:
            times = sorted(measured(opened(site, "ann"), opened(site, "bob")))
        browser.close()
    p95 = times[int(0.95 * (len(times) - 1))]
    sys.stdout.write(
        f"{len(times)} letters: median {statistics.median(times):.1f} ms, p95 {p95:.1f} ms, "
        f"longest {times[-1]:.1f} ms\n"
    )


if __name__ == "__main__":
    main()
