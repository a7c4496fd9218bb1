"""The other commands: what they print, and their exit statuses."""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path
from typing import Any

import pytest

from flashgrep.errors import Unavailable
from flashgrep.index.index import BUILT_ELSEWHERE
from flashgrep.terminal.index import wait_until_ready
from tests.terminal.console import flashgrep


@pytest.mark.usefixtures("tree")
def test_glob_prints_paths_below_the_path_given() -> None:
    assert flashgrep("glob", "--sort", "path", "*.py").lines == [
        "src/b.py",
        "src/deep/e.py",
        "tests/d.py",
    ]
    assert flashgrep("glob", "*.py", "tests").lines == ["tests/d.py"]
    assert flashgrep("glob", "-0", "*.py", "tests").out == b"tests/d.py\0"
    assert flashgrep("glob", "-e", "py", "-d", "1", "--sort", "path", "--reverse").lines == [
        "tests/d.py",
        "src/b.py",
    ]


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["view", "gap.txt", "-r", "9-3"], "'9-3' ends before it begins; write 3-9"),
        (["slice", "gap.txt:9-3"], "'9-3' ends before it begins; write 3-9"),
        (["view", "gap.txt", "-r", "0-3"], "'0-3' begins at line 0; lines are counted from 1"),
        (["view", "gap.txt", "-r", "99-"], "flashgrep: line 99 exceeds total lines"),
        (["slice", "gap.txt:99"], "flashgrep: line 99 is past the end of gap.txt"),
        (["glob", "*.py", "a.txt"], "flashgrep: a.txt: Not a directory"),
        (["glob", "*.py", "nope"], "flashgrep: nope: No such directory"),
        (["query", "-n", "x", "foo"], "'x' is not a valid whole number."),
        (["grep", "-A", "x", "foo"], "'x' is not a valid whole number."),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)
def test_mistakes_are_told_in_the_words_of_the_terminal(words: list[str], told: str) -> None:
    ran = flashgrep(*words)
    assert (ran.status, told in ran.err) == (2, True), ran.err


@pytest.mark.usefixtures("tree")
def test_glob_tells_nothing_found_from_an_error() -> None:
    assert flashgrep("glob", "*.zig").status == 1
    assert flashgrep("glob", "*.py", "nope").status == 2
    bare = flashgrep("glob")
    assert (bare.status, "name a PATTERN, such as '*.py', or an extension" in bare.err) == (2, True)
    assert flashgrep("glob", "*.py", "--json").json["total"] == 3


@pytest.mark.usefixtures("tree")
def test_view_numbers_lines_and_cuts_nothing() -> None:
    assert flashgrep("view", "a.txt").text.startswith("     1\tfoo bar\n     2\tbaz foo foo\n")
    assert flashgrep("view", "a.txt", "-r", "2").text == "     2\tbaz foo foo\n"
    assert flashgrep("view", "gap.txt", "-r", "8-").lines == ["     8\t6", "     9\tfoo"]
    assert flashgrep("view", "a.txt", "--json").json["path"] == "a.txt"
    assert flashgrep("view", "nope").status == 2
    assert flashgrep("view", "a.txt", "-r", "x").status == 2


def test_view_shows_a_large_file_whole(tree: Path) -> None:
    (tree / "large.txt").write_text("word\n" * 100_000, encoding="utf-8")
    assert len(flashgrep("view", "large.txt").lines) == 100_000


def test_view_tells_an_image(tree: Path) -> None:
    (tree / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 100)
    assert "image/png" in flashgrep("view", "dot.png").text


SLICES = [
    ("gap.txt:2-4", "1\n2\n3\n"),
    ("gap.txt:8-", "6\nfoo\n"),
    ("gap.txt:2", "1\n"),
    ("gap.txt:2:3", "1\n2\n"),
]


@pytest.mark.parametrize(("place", "text"), SLICES)
@pytest.mark.usefixtures("tree")
def test_slice_prints_bare_lines(place: str, text: str) -> None:
    assert flashgrep("slice", place).text == text


@pytest.mark.parametrize("place", ["gap.txt", "gap.txt:x", "gap.txt:9-2", "gap.txt:99", "nope:1"])
@pytest.mark.usefixtures("tree")
def test_slice_refuses_lines_that_are_not_there(place: str) -> None:
    ran = flashgrep("slice", place)
    assert (ran.status, ran.out) == (2, b"")
    assert ran.err


def test_slice_takes_a_name_with_colons(tree: Path) -> None:
    (tree / "a:1:b").write_text("x\ny\n", encoding="utf-8")
    assert flashgrep("slice", "a:1:b:2").text == "y\n"


@pytest.mark.usefixtures("tree")
def test_files_lists_what_a_search_looks_at() -> None:
    shown = flashgrep("files").out
    assert b"src/b.py\n" in shown
    assert b"ignored.log" not in shown
    assert flashgrep("files", "*.py", "-n", "1").lines == ["src/b.py"]
    assert flashgrep("files", "*.zig").status == 1
    assert (
        flashgrep("files", "--json").json["total"]
        == len(flashgrep("files", "-0").out.split(b"\0")) - 1
    )


@pytest.mark.usefixtures("tree")
def test_stats_are_shown() -> None:
    assert "settings_hash" in flashgrep("stats").text
    assert flashgrep("stats", "--json").json["state"] in ("building", "ready", "off")


# ── index ───────────────────────────────────────────────────────────────────────────────────────


def test_an_index_is_removed_but_for_its_lock(tree: Path, tmp_path: Path) -> None:
    index = tmp_path / "state" / "index"
    (index / "generation").mkdir(parents=True)
    (index / "generation" / "segment").write_bytes(b"x")
    (index / "current").symlink_to("generation")
    (index / "lock").touch()
    (index / "part" / "deep").mkdir(parents=True)
    (index / "part" / "lock").touch()
    words = ("index", "--remove", "--state-dir", str(tmp_path / "state"))
    ran = flashgrep(*words)
    assert (ran.status, ran.text, ran.err) == (0, f"removed the index at {index}\n", "")
    left = sorted(str(path.relative_to(index)) for path in index.rglob("*"))
    assert left == ["lock", "part", "part/lock"]
    again = flashgrep(*words, "--json")
    told = {"removed": False, "path": str(index)}
    assert (again.status, again.json, again.err) == (1, told, "")
    (index / "segment").write_bytes(b"xyz")
    told = {"removed": True, "path": str(index)}
    assert flashgrep(*words, "--json").json == told


@pytest.mark.parametrize("part", [".", "part"])
def test_an_index_in_use_is_not_removed(tree: Path, tmp_path: Path, part: str) -> None:
    index = tmp_path / "state" / "index"
    (index / part).mkdir(parents=True)
    (index / "segment").write_bytes(b"x")
    with (index / part / "lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ran = flashgrep("index", "--remove", "--state-dir", str(tmp_path / "state"))
    assert ran.status == 2
    assert "stop it first" in ran.err
    assert (index / "segment").exists()


def test_no_index_to_remove_is_nothing_found(tree: Path, tmp_path: Path) -> None:
    ran = flashgrep("index", "--remove", "--state-dir", str(tmp_path / "state"))
    assert (ran.status, ran.text) == (1, "")
    assert ran.err == f"flashgrep: there is no index at {tmp_path}/state/index\n"
    assert not (tmp_path / "state").exists()


def test_an_index_that_is_a_link_is_left_alone(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "x").touch()
    os.symlink(tmp_path / "precious", tmp_path / "state" / "index")
    assert flashgrep("index", "--remove", "--state-dir", str(tmp_path / "state")).status == 2
    assert (tmp_path / "precious" / "x").exists()


def test_the_status_of_an_index_nobody_keeps_is_what_is_on_disk(tree: Path, tmp_path: Path) -> None:
    index = tmp_path / "state" / "index"
    index.mkdir(parents=True)
    (index / "segment").write_bytes(b"x" * 1000)
    (index / "manifest").touch()
    os.utime(index / "manifest", (0, 1_700_000_000))
    for command in (["index", "--status"], ["stats"]):
        told = flashgrep(*command, "--json", "--state-dir", str(tmp_path / "state")).json
        assert (told["index_size_bytes"], told["total_files"]) == (1000, None)
        assert told["last_update"] == "2023-11-14T22:13:20Z"
        assert "no server" in told["reason"]
    shown = flashgrep("stats", "--state-dir", str(tmp_path / "state")).text
    assert re.search(r"^total_files +not known$", shown, re.MULTILINE)


def test_a_finished_build_is_told_as_one_when_no_server_runs(tree: Path, tmp_path: Path) -> None:
    state = ("--state-dir", str(tmp_path / "state"))
    before = flashgrep("index", "--status", "--json", *state)
    assert (before.status, before.json["state"], before.json["progress"]) == (1, "off", 0.0)
    assert "no complete index is on disk" in before.json["reason"]
    built = flashgrep("index", "--json", *state).json
    assert built["last_update"].endswith("Z")
    assert built["settings_hash"]
    assert built["freshness"] is None
    for command in (["index", "--status"], ["stats"]):
        told = flashgrep(*command, "--json", *state)
        assert told.status == 0
        for name in ("state", "grep_ready", "query_ready", "progress", "total_files", "freshness"):
            assert told.json[name] == built[name], name
        assert (told.json["state"], told.json["progress"]) == ("ready", 1.0)
        assert "no server is running here" in told.json["reason"]
    assert "state             ready" in flashgrep("index", "--status", *state).text
    manifest = next((tmp_path / "state").rglob("manifest"))
    manifest.write_bytes(manifest.read_bytes()[:-5])
    assert flashgrep("index", "--status", "--json", *state).json["state"] == "off"


def test_the_index_of_an_empty_directory_is_ready_when_no_server_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    state = ("--state-dir", str(tmp_path / "state"))
    assert flashgrep("index", "--json", *state).json["state"] == "ready"
    shown = flashgrep("index", "--status", "--json", *state)
    assert (shown.status, shown.json["state"], shown.json["total_files"]) == (0, "ready", 0)


def test_the_files_that_would_be_searched_are_those_a_search_follows_links_to(
    tree: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "o.txt").write_text("foo elsewhere\n", encoding="utf-8")
    (tree / "od").symlink_to(f"{tmp_path}/outside/")
    assert flashgrep("grep", "-l", "foo elsewhere").lines == ["od/o.txt"]
    assert "od/o.txt" in flashgrep("grep", "--files").lines


def test_without_an_index_building_one_is_an_error(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLASHGREP_NO_INDEX", "1")
    ran = flashgrep("index", "--state-dir", str(tmp_path / "state"))
    assert ran.status == 2
    assert "no index" in ran.err


def test_building_is_waited_for_until_everything_is_ready() -> None:
    building: dict[str, Any] = {
        "state": "building",
        "grep_ready": False,
        "query_ready": False,
        "progress": 0.5,
        "total_files": 7,
    }
    steps = iter([building, {**building, "grep_ready": True}, {**building, **READY}])
    assert wait_until_ready(lambda: next(steps))["query_ready"]


def test_an_index_that_is_off_is_not_waited_for() -> None:
    off = {"state": "off", "grep_ready": False, "query_ready": False, "reason": "disk full"}
    with pytest.raises(Unavailable, match="disk full"):
        wait_until_ready(lambda: off)


def test_an_index_that_keeps_failing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flashgrep.terminal.index._RETRIES_SECONDS", 0.15)
    failing: dict[str, Any] = {
        "state": "building",
        "grep_ready": False,
        "query_ready": False,
        "progress": 0.0,
        "total_files": 0,
        "reason": "a disk that is full",
    }
    elsewhere = {**failing, "reason": BUILT_ELSEWHERE}
    steps = iter([failing, *[elsewhere] * 4, {**failing, "reason": ""}, {**failing, **READY}])
    assert wait_until_ready(lambda: next(steps))["query_ready"]
    with pytest.raises(Unavailable, match="cannot be built: a disk that is full"):
        wait_until_ready(lambda: failing)


READY = {"state": "ready", "grep_ready": True, "query_ready": True}


@pytest.mark.usefixtures("tree")
def test_query_shows_place_score_and_the_lines_that_fit() -> None:
    ran = flashgrep("query", "last", "-g", "*.txt")
    assert ran.status == 0
    place, *lines = ran.lines
    assert re.fullmatch(r"a\.txt:\d+-\d+  \d+\.\d", place)
    assert any(line.startswith("    4: last") for line in lines)
    assert flashgrep("query", "last", "--json").json["results"][0]["file_path"] == "a.txt"
    assert flashgrep("query", "nosuchword").status == 1
    assert flashgrep("query", " ").err.startswith("flashgrep: WORDS must not be empty")
    assert flashgrep("symbol", " ").err == "flashgrep: NAME must not be empty\n"
    assert "--offset 1" in flashgrep("query", "foo", "-n", "1").text


def test_symbol_shows_definitions_before_uses(tree: Path) -> None:
    (tree / "m.py").write_text("helper()\n\n\ndef helper():\n    pass\n", encoding="utf-8")
    ran = flashgrep("symbol", "helper")
    assert ran.lines[0].startswith("m.py:4:function: def helper()")
    assert "m.py:1:helper()" in ran.lines
    assert len(flashgrep("symbol", "-d", "helper").lines) == 1
    assert flashgrep("symbol", "helper", "--json").json["symbol_name"] == "helper"
    assert flashgrep("symbol", "nosuchname").status == 1
    assert "\x1b[35m" in flashgrep("symbol", "--color", "always", "helper").text


# ── carried indexes ─────────────────────────────────────────────────────────────────────────────


def test_an_index_is_exported_and_another_begins_with_it(tree: Path, tmp_path: Path) -> None:
    first, second = (("--state-dir", str(tmp_path / name)) for name in ("first", "second"))
    file = str(tmp_path / "snapshot")
    written = flashgrep("index", "--export", file, *first).text
    size = os.stat(file).st_size
    assert written.startswith(f"wrote {file} ({size:,} bytes): ")
    out = flashgrep("index", "--export", file, "--json", *first)
    assert out.status == 0
    assert out.json["files"] > 1
    told = flashgrep("index", "--import", file, *second)
    assert told.status == 0
    assert told.text.startswith(f"imported {out.json['files']} files ")
    assert "flashgrep index, ranks them" in told.text
    assert "query_ready       not yet: the next server ranks" in flashgrep("stats", *second).text
    assert flashgrep("index", "--json", *second).json["state"] == "ready"
    assert next((tmp_path / "second").rglob("*.seg"))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--export", "a", "--import", "b"], "--export and --import exclude each other"),
        (["--status", "--export", "a"], "--status and --export exclude each other"),
        (["--import", "missing"], "missing"),
        (["--export", "missing/x"], "/missing/x\n"),
        (["--export", "x", "--workdir", "/"], "there is no index here: the file system's root"),
        (["--import", "x", "--workdir", "/"], "there is no index here: the file system's root"),
    ],
)
def test_what_cannot_be_carried_is_refused(
    tree: Path, tmp_path: Path, words: list[str], reason: str
) -> None:
    ran = flashgrep("index", *words, "--state-dir", str(tmp_path / "state"))
    assert ran.status == 2
    assert reason in ran.err
