"""A browser per file, and the pages for each test.

Not one per process: while Playwright's blocking interface is open, its event loop counts as running
in this thread, and no test of another file could run a loop of its own.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.bundle import build, unavailable
from tests.browser.site import Pages
from tests.transports.clients import PATIENCE_SECONDS

_HERE = Path(__file__).parent
_HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
_PROGRAMS = ("chromium",) if _HEAVY else ("chromium-headless-shell", "chromium")
"""The same engine without a browser around it takes two thirds of the processor time."""
_FLAGS = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-proxy-server"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A page costs half a second of a core to open: `make test` has a share of the tests here."""
    for item in items:
        if item.path.parent == _HERE and item.get_closest_marker("daily") is None:
            item.add_marker("thorough")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, without a window."""
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        unavailable("Chromium is missing (apt-get install chromium)")
        return
    build()
    flags = [*_FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    expect.set_options(timeout=PATIENCE_SECONDS * 1000)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, headless=True, args=flags)
        yield started
        started.close()


@pytest.fixture
def pages(browser: Browser, tmp_path: Path) -> Pages:
    return Pages(browser, tmp_path)
