"""The pages' bundle, built from `web/` where it is missing or older than its sources.

Once per run, however many processes the run has: they take turns by a lock on the folder.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
MANIFEST = ROOT / "src" / "flashgrep" / "web" / "static" / "manifest.json"
REQUIRED = "FLASHGREP_REQUIRE_BROWSER"


def unavailable(reason: str) -> None:
    """Skip the test, or fail it where a browser is required."""
    if os.environ.get(REQUIRED) == "1":
        pytest.fail(f"{reason} ({REQUIRED}=1)")
    pytest.skip(reason)


def build() -> None:
    """Have a bundle that is as new as its sources."""
    with _turn():
        if not _is_stale():
            return
        why = _why_not()
        if not why:
            subprocess.run(["node", "build.mjs"], cwd=WEB, check=True, stdout=subprocess.DEVNULL)
        elif not MANIFEST.exists():
            unavailable(why)


def _is_stale() -> bool:
    if not MANIFEST.exists():
        return True
    built = MANIFEST.stat().st_mtime_ns
    return any(path.stat().st_mtime_ns > built for path in _sources())


def _sources() -> Iterator[Path]:
    yield WEB / "build.mjs"
    yield WEB / "package-lock.json"
    yield from (path for path in (WEB / "src").rglob("*") if path.is_file())


def _why_not() -> str:
    if not shutil.which("node"):
        return "the pages cannot be built: Node is missing (apt-get install nodejs npm)"
    if not (WEB / "node_modules" / "esbuild").is_dir():
        return "the pages cannot be built: packages are missing (npm ci --prefix web)"
    return ""


@contextmanager
def _turn() -> Iterator[None]:
    folder = os.open(WEB, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)
