"""An index without room, rights or watches: searches are right all the same, and it says why.

Limits are set in a namespace of the server's own, so that nothing else on the machine meets them.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.faults.victim import Victim, victim
from tests.index.twins import twins, unwatched, wait_for

from flashgrep.app import build
from flashgrep.settings import Settings

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"

pytestmark = [pytest.mark.fault, pytest.mark.timeout(600)]


def isolated(*flags: str) -> list[str]:
    """The start of a command that runs in namespaces of its own; skips where there are none."""
    command = ["unshare", *flags]
    try:
        subprocess.run([*command, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f"no {' '.join(command)} here")
    return command


def after(script: str, word: str, *flags: str) -> list[str]:
    """A command's start that first runs a script of the shell, with `$0` for a word."""
    return [*isolated(*flags), "sh", "-c", f'{script} && exec "$@"', word]


@pytest.fixture
def top(tmp_path: Path) -> Path:
    for number in range(30):
        place = tmp_path / "ws" / f"d{number % 3}" / f"f{number:02}"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"needle {number}\n" + "hay\n" * 5_000)
    (tmp_path / "state").mkdir(mode=0o700)
    return tmp_path


def stats(server: Victim) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(server.text("stats"))
    return data


def wait_for_reason(server: Victim, word: str) -> None:
    """Until the server says why there is no index."""
    wait_for(
        lambda: word in stats(server).get("reason", ""), lambda: f"no {word!r} in {stats(server)}"
    )


def compare(server: Victim, top: Path) -> None:
    """Searches are right, and see a change at once."""
    assert server.text("grep", pattern="needle 2$") == "d2/f02"
    changed = top / "ws" / "d1" / "f01"
    for text in ("changed\n", "changed again\n", "needle 1\n"):
        changed.write_text(text)
        expected = "d1/f01" if "changed" in text else "No matches found"
        assert server.text("grep", pattern="changed") == expected
    new = top / "ws" / "d3" / "sub" / "new"
    new.parent.mkdir(parents=True)
    new.write_text("brand new\n")
    assert server.text("grep", pattern="brand") == "d3/sub/new"
    new.unlink()
    new.parent.rmdir()
    new.parent.parent.rmdir()
    assert server.text("grep", pattern="brand") == "No matches found"


# ── room ────────────────────────────────────────────────────────────────────────────────────────


def test_a_state_directory_without_room(top: Path) -> None:
    prefix = after('mount -t tmpfs -o size=1m,mode=700 tmpfs "$0"', str(top / "state"), "-m")
    with victim(top, prefix=prefix) as server:
        compare(server, top)
        wait_for_reason(server, "free")
        assert not stats(server)["grep_ready"]
        compare(server, top)


@pytest.mark.skipif(not HEAVY, reason="it tries again after a while")
def test_room_that_returns_is_used(top: Path) -> None:
    state = str(top / "state")
    prefix = after('mount -t tmpfs -o size=1m,mode=700 tmpfs "$0"', state, "-m")
    with victim(top, prefix=prefix) as server:
        wait_for_reason(server, "free")
        inside = ["nsenter", "-t", str(server.process.pid), "-m"]
        subprocess.run([*inside, "mount", "-o", "remount,size=500m", state], check=True)
        wait_for(lambda: stats(server)["grep_ready"], lambda: "no index")
        assert "reason" not in stats(server)
        compare(server, top)


@pytest.mark.thorough
def test_a_disk_that_is_full_in_the_middle(top: Path) -> None:
    """No file may grow beyond 100,000 bytes: the free space looks fine, and a write fails."""
    with victim(top, prefix=["prlimit", "--fsize=100000"]) as server:
        compare(server, top)
        wait_for_reason(server, "large")
        compare(server, top)
        left = [path.name for path in (top / "state").rglob("*.seg*")]
        assert not left, "what was half written fills the disk"


# ── rights ──────────────────────────────────────────────────────────────────────────────────────


def test_a_state_directory_that_cannot_be_written(top: Path) -> None:
    prefix = after('mount -t tmpfs -o ro,mode=700 tmpfs "$0"', str(top / "state"), "-m")
    with victim(top, prefix=prefix) as server:
        compare(server, top)
        wait_for_reason(server, "index")
        assert stats(server)["state"] == "off"


def restricted() -> list[str]:
    """A root that may not read everything; anybody else is so by nature."""
    if os.geteuid() != 0:
        return []
    gone = "-dac_override,-dac_read_search"
    command = ["setpriv", f"--bounding-set={gone}", f"--inh-caps={gone}"]
    try:
        subprocess.run([*command, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no setpriv here")
    return command


@pytest.mark.thorough
def test_what_cannot_be_read_is_told_with_an_index_as_without(top: Path) -> None:
    ws = top / "ws"
    closed, listed, file = ws / "closed", ws / "listed", ws / "file"
    for place in (closed, listed):
        place.mkdir()
        (place / "inner").write_text("needle x\n")
    file.write_text("needle x\n")
    prefix = restricted()
    try:
        with (
            victim(top, prefix=prefix) as indexed,
            victim(top, ["--no-index"], prefix=prefix) as plain,
        ):
            for modes in ((0, 0o444, 0), (0o700, 0o444, 0), (0, 0o700, 0o600), (0o700,) * 3):
                for place, mode in zip((closed, listed, file), modes, strict=True):
                    place.chmod(mode)
                _alike(indexed, plain)
                wait_for(lambda: stats(indexed)["grep_ready"], lambda: "no index")
                _alike(indexed, plain)
                (ws / "d0" / "f00").write_text(f"needle x {modes}\n")
                _alike(indexed, plain)
    finally:
        closed.chmod(0o700)
        listed.chmod(0o700)


def _alike(indexed: Victim, plain: Victim) -> None:
    for arguments in ({"path": "."}, {"path": "closed"}, {"path": "d0"}, {"path": "listed"}):
        asked: dict[str, Any] = {"pattern": "needle x", "output_mode": "count", **arguments}
        assert indexed.call("grep", **asked) == plain.call("grep", **asked), arguments


@pytest.mark.parametrize("place", ["/", "home"])
def test_a_whole_machine_or_home_is_not_indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    workdir = "/" if place == "/" else str(home)
    application = build(Settings(workdir=workdir, state_dir=str(tmp_path / "state")))
    try:
        application.start_index()
        status = application.services.index.status()
        assert (status.state, status.grep_ready) == ("off", False)
        assert "not indexed" in status.reason
    finally:
        application.close()


# ── watches ─────────────────────────────────────────────────────────────────────────────────────

LIMITS: Sequence[tuple[str, int]] = [
    ("max_inotify_instances", 0),
    ("max_inotify_watches", 2),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("limit", "granted"), LIMITS)
def test_a_machine_that_grants_no_more_watches(top: Path, limit: str, granted: int) -> None:
    prefix = after(f'echo {granted} > "$0"', f"/proc/sys/user/{limit}", "-U", "-r")
    with victim(top, prefix=prefix) as server:
        compare(server, top)
        wait_for(
            lambda: stats(server)["grep_ready"] or stats(server).get("reason"), lambda: "no index"
        )
        compare(server, top)


@pytest.mark.thorough
def test_a_new_directory_beyond_the_last_watch(top: Path) -> None:
    """The watches last for the tree as it is, and not for what comes."""
    prefix = after('echo 4 > "$0"', "/proc/sys/user/max_inotify_watches", "-U", "-r")
    with victim(top, prefix=prefix) as server:
        wait_for(lambda: stats(server)["grep_ready"], lambda: "no index")
        for number in range(5):
            place = top / "ws" / f"new{number}"
            place.mkdir()
            (place / "f").write_text("brand new\n")
            found = server.text("grep", pattern="brand", output_mode="count").split("\n")
            assert len(found) == number + 1
            wait_for(lambda: stats(server)["grep_ready"], lambda: "no index")
            (place / "f").write_text("brand new, brand new\n")
            assert f"new{number}/f" in server.text("grep", pattern="new, brand")


def test_twins_agree_where_nothing_can_be_watched(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a").write_text("old\n")
    with unwatched(), twins(tmp_path) as pair:
        assert pair.indexed.services.index.status().freshness == "sweeping"
        (tmp_path / "work" / "a").write_text("new\n")
        assert pair.agree("grep", pattern="new") == "a"
        assert pair.by_index
