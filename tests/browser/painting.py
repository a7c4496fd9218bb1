"""How long the pages work at once: `python -m tests.browser.painting`.

    search  1,000 matches: from the server's answer to the moment after their paint, and what the
            page's main thread did in between: processor time, longest task
    review  5,000 suggestions in 200 notes: the longest task while the page scrolls through them and
            while a person decides on a hundred by keys

Figures are from Chromium's own trace, in milliseconds. Not a test: tests assert no times. What else
the machine does counts in every figure but the processor time: the load stands beside them.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.bundle import build
from tests.browser.site import Pages

TRIALS = 12
PAINTED = "flashgrep:painted"
_TASK = "ThreadControllerImpl::RunTask"
_CATEGORIES = ["toplevel", "devtools.timeline", "blink.user_timing"]
# The page asks for 250 matches and then for more; here for all at once.
_ALL = """() => { const own = window.fetch; window.fetch = (path, options) => {
    if (path === "/api/search")
        options = {...options, body: JSON.stringify({...JSON.parse(options.body), limit: 1000})};
    return own(path, options);
} }"""
_SCROLL = """async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    for (let step = 0; step < 120; step++) { scrollBy(0, 700); await frame(); }
}"""


@dataclass
class Trace:
    """The tasks of a page's main thread while a block ran: start, duration, processor time."""

    tasks: list[tuple[float, float, float]] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    """When searches had been answered."""
    painted: list[float] = field(default_factory=list)
    """When results had been painted."""

    @property
    def longest(self) -> tuple[float, float, float]:
        return max(self.tasks, key=lambda task: task[1])


@contextmanager
def traced(browser: Browser, page: Page) -> Iterator[Trace]:
    """Trace a page until the block ends."""
    trace = Trace()
    browser.start_tracing(page=page, categories=_CATEGORIES)
    try:
        yield trace
    finally:
        events = json.loads(browser.stop_tracing())["traceEvents"]
        _read(events, trace)


def _read(events: Sequence[Mapping[str, Any]], trace: Trace) -> None:
    mains = {
        (one["pid"], one["tid"])
        for one in events
        if one["name"] == "thread_name" and one["args"]["name"] == "CrRendererMain"
    }
    asked = {
        one["args"]["data"]["requestId"]
        for one in events
        if one["name"] == "ResourceSendRequest"
        and one["args"]["data"]["url"].endswith("/api/search")
    }
    for one in events:
        at = one["ts"] / 1000
        if one["name"] == "ResourceFinish" and one["args"]["data"]["requestId"] in asked:
            trace.answered.append(at)
        elif one["name"] == PAINTED and one["ph"] == "e":
            trace.painted.append(at)
        elif one["name"] == _TASK and (one["pid"], one["tid"]) in mains:
            trace.tasks.append((at, one.get("dur", 0) / 1000, one.get("tdur", 0) / 1000))


# ── the search page ──────────────────────────────────────────────────────────────────────────────


def thousand_matches(browser: Browser, pages: Pages) -> None:
    """Ask for 1,000 matches at once, again and again."""
    pages.workspace.mkdir()
    for number in range(50):
        lines = (f"    value_{number}_{at} = compute(alpha, {at}) or beta" for at in range(20))
        (pages.workspace / f"part{number}.py").write_text("\n".join(lines) + "\n")
    with pages.serving({}, flags=["--no-auth"]) as site:
        page = site.visitor()
        page.add_init_script(f"({_ALL})()")
        page.goto("/")
        waits, works, longest = [], [], []
        for trial in range(TRIALS):
            with traced(browser, page) as trace:
                page.get_by_role("searchbox").fill("alpha" if trial % 2 else "beta")
                expect(page.locator(".search-total")).to_have_text("1,000 matches in 50 files")
                expect(page.locator("mark").first).to_have_text("alpha" if trial % 2 else "beta")
                page.evaluate("() => new Promise((done) => setTimeout(done, 200))")
            wait, work, task = _painted(trace)
            waits.append(wait)
            works.append(work)
            longest.append(task)
            page.get_by_role("searchbox").fill("")
            expect(page.locator(".hints")).to_be_visible()
    _tell("1,000 matches, answer to paint", waits)
    _tell("  processor time in between", works)
    _tell("  longest task", longest)


def _painted(trace: Trace) -> tuple[float, float, float]:
    """Milliseconds from the answer to its paint; processor time in between; longest task."""
    [answered], [painted] = trace.answered, trace.painted
    tasks = [task for task in trace.tasks if task[0] + task[1] > answered and task[0] < painted]
    return painted - answered, sum(work for _, _, work in tasks), max(took for _, took, _ in tasks)


# ── the review page ──────────────────────────────────────────────────────────────────────────────


def five_thousand_suggestions(browser: Browser, pages: Pages) -> None:
    """Scroll through them, then decide on some."""
    with pages.serving({}) as site:
        for number in range(200):
            text = "\n\n".join(f"line {{++{at}++}}" for at in range(25))
            site.running.post("/kb/notes", {"path": f"F{number % 7}/N{number}.md", "text": text})
        page = site.person("ann")
        expect(page.get_by_text("5,000 suggestions in 200 notes")).to_be_visible()
        with traced(browser, page) as scrolled:
            page.evaluate(_SCROLL)
        page.keyboard.press("j")
        with traced(browser, page) as decided:
            for _ in range(100):
                page.keyboard.press("a")
            expect(page.get_by_text("4,900 suggestions in")).to_be_visible()
    for name, trace in (("scrolling", scrolled), ("deciding on 100", decided)):
        _, took, work = trace.longest
        over = sum(one > 50 for _, one, _ in trace.tasks)
        sys.stdout.write(
            f"5,000 suggestions, {name}: longest task {took:.1f} ms ({work:.1f} of processor), "
            f"{over} of {len(trace.tasks):,} over 50 ms\n"
        )


def _tell(name: str, values: Sequence[float]) -> None:
    every = " ".join(f"{value:.0f}" for value in sorted(values))
    sys.stdout.write(f"{name}: median {statistics.median(values):.1f} ms; {every}\n")


def main() -> None:
    """Measure, and tell."""
    build()
    program = shutil.which("chromium")
    with sync_playwright() as playwright:
        for measure in (thousand_matches, five_thousand_suggestions):
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            with tempfile.TemporaryDirectory() as place:
                measure(browser, Pages(browser, Path(place)))
            browser.close()
    sys.stdout.write("load {:.1f} {:.1f} {:.1f}\n".format(*os.getloadavg()))


if __name__ == "__main__":
    main()
