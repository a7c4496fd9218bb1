"""What we keep is for us alone, whatever the umask says."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from tests.transports.clients import FLASHGREP, PATIENCE_SECONDS, RawLines, environment, serving

OTHERS = 0o077


def run(home: Path, workdir: Path, *words: str) -> None:
    subprocess.run(
        [*FLASHGREP, *words],
        cwd=workdir,
        env=environment(home),
        umask=0,
        capture_output=True,
        check=True,
        timeout=2 * PATIENCE_SECONDS,
    )


def open_to_others(*tops: Path) -> list[str]:
    """Everything below some directories that anybody else could read or write."""
    found = []
    for top in tops:
        for path in (top, *top.rglob("*")):
            mode = path.lstat().st_mode
            if not stat.S_ISLNK(mode) and mode & OTHERS:
                found.append(f"{stat.filemode(mode)} {path}")
    return found


@pytest.mark.thorough
def test_nothing_of_ours_is_open_to_others_under_an_open_umask(tmp_path: Path) -> None:
    home, workdir, kb, vault = (tmp_path / name for name in ("home", "work", "kb", "vault"))
    for made in (home, workdir, vault):
        made.mkdir()
    (workdir / "a.py").write_text("def function():\n    pass\n", encoding="utf-8")
    (vault / "Note.md").write_text("text\n", encoding="utf-8")
    (vault / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    run(home, workdir, "index")
    run(home, workdir, "kb", "init", "--kb", str(kb))
    run(home, workdir, "kb", "import", str(vault), "--kb", str(kb))
    before = os.umask(0)
    try:
        with serving(workdir, ["--kb", str(kb)], home=home) as server:
            with RawLines(server.open_unix()) as client:
                answer = client.ask("query", 1, text="function")
                assert "result" in answer, answer
            kept = (home / ".cache", kb, workdir / ".flashgrep")
            assert (workdir / ".flashgrep" / "mcp.sock").exists()
            assert open_to_others(*kept) == []
    finally:
        os.umask(before)
    suffixes = {path.suffix for path in (home / ".cache").rglob("*")}
    assert {".seg", ".term", ".json"} <= suffixes


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o711, 0o777])
def test_a_state_directory_that_others_can_look_into_is_refused(tmp_path: Path, mode: int) -> None:
    state = tmp_path / "state"
    state.mkdir()
    state.chmod(mode)
    done = subprocess.run(
        [*FLASHGREP, "mcp", "--state-dir", str(state)],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 2
    assert f"run chmod 700 {state}" in done.stderr
    assert f"(mode {mode:04o})" in done.stderr
    assert stat.S_IMODE(state.stat().st_mode) == mode
