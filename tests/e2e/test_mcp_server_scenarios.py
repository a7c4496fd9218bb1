"""The requirements of the server's methods: one test for each scenario, on every transport.

Each call is made over stdio, HTTP (both eras), TCP and the unix socket, and on the two sockets as
a direct method too; the answers must be the same (`everywhere`).
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.agent import Workspace
from tests.e2e.everywhere import DIRECT, TOOLS, WAYS, Everywhere, everywhere
from tests.e2e.scenarios import scenario
from tests.transports.clients import RawLines, request, serving

from flashgrep import __version__
from flashgrep.settings import DEFAULT_TCP_PORT, Settings, settings_hash
from flashgrep.tools.dispatch.caller import content_hash

ALIASES = ("bootstrap_skill", "flashgrep-init", "flashgrep_init", "fgrep-boot", "fgrep_boot")
METHODS = ("query", "get_slice", "get_symbol", "list_files", "stats", "read_code", "write_code")
SUSPEND = """\
#include "power.h"

/* Bring the device to its low power state. */
int radio_suspend(struct device *dev)
{
    stop_queue(dev);
    return power_down(dev);
}
"""


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Everywhere]:
    workdir = tmp_path_factory.mktemp("m").resolve() / "ws"
    workdir.mkdir()
    with everywhere(workdir) as running:
        yield running


@pytest.fixture(scope="module")
def skilled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Everywhere, Path]]:
    """Servers with a skill file of their own, and the place for it; they search nothing."""
    top = tmp_path_factory.mktemp("m")
    work, skill = top / "ws", top / "skill.md"
    work.mkdir()
    with everywhere(work, ["--skill-file", str(skill), "--no-index"]) as running:
        yield running, skill


@pytest.fixture(scope="module")
def fewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Everywhere]:
    """Servers without two names of a tool, and without an index."""
    work = tmp_path_factory.mktemp("m").resolve() / "ws"
    work.mkdir()
    flags = ["--disable-tools", "fgrep-boot,bootstrap_skill", "--no-index"]
    with everywhere(work, flags) as running:
        yield running


@pytest.fixture
def ws(servers: Everywhere) -> Workspace:
    """The workspace, empty but for the server's own directory."""
    for entry in servers.workdir.iterdir():
        if entry.name == ".flashgrep":
            continue
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    return Workspace(servers.workdir)


def source(ws: Workspace) -> None:
    """A small source tree."""
    ws.file("src/radio.c", SUSPEND)
    ws.file("src/power.h", "int power_down(struct device *dev);\n")
    ws.file("src/main.py", "def main():\n    return helper()\n\n\ndef helper():\n    return 1\n")
    ws.file("docs/notes.md", "Notes on nothing in particular.\n")


# ── JSON-RPC protocol ───────────────────────────────────────────────────────────────────────────


@scenario("Accept JSON-RPC requests")
def test_accept_json_rpc_requests(servers: Everywhere, ws: Workspace) -> None:
    source(ws)
    assert servers.ask("list_files")["total"] == 4
    with RawLines(servers.server.open_unix()) as client:  # no handshake before it
        for request_id in (1, "one", 0, "", 10**18):
            client.send(request("list_files", request_id))
            assert client.receive()["id"] == request_id
        client.send([request("stats", 1), request("list_files", "two")])
        assert {answer["id"] for answer in client.receive()} == {1, "two"}


@scenario("Return JSON-RPC responses")
def test_return_json_rpc_responses(servers: Everywhere, ws: Workspace) -> None:
    source(ws)
    for opened in (servers.server.open_tcp, servers.server.open_unix):
        with RawLines(opened()) as client:
            answer = client.ask("list_files", 5)
            assert set(answer) == {"jsonrpc", "id", "result"}
            assert (answer["jsonrpc"], answer["id"]) == ("2.0", 5)
            answer = client.ask("no_such_method", 6)
            assert set(answer) == {"jsonrpc", "id", "error"}
            assert (answer["id"], answer["error"]["code"]) == (6, -32601)
            client.send({"jsonrpc": "2.0", "id": 7, "method": "get_slice", "params": ["f", 1, 2]})
            assert client.receive()["error"]["code"] == -32602
            client.send({"jsonrpc": "1.0", "id": 8, "method": "stats"}, b"{not json")
            assert client.receive()["error"]["code"] == -32600
            assert client.receive()["error"]["code"] == -32700
            client.send({"jsonrpc": "2.0", "method": "stats"})  # a notification has no answer
            assert client.ask("list_files", 9)["id"] == 9
    outcomes = servers.each("get_slice", file_path="none", start_line=1, end_line=1)
    assert {way: set(outcome) for way, outcome in outcomes.items()} == {w: {"error"} for w in WAYS}


# ── transport layer ─────────────────────────────────────────────────────────────────────────────


@scenario("TCP transport")
def test_tcp_transport(tmp_path: Path) -> None:
    """Where another program has the port, that is told: it is the one we asked for."""
    work = tmp_path / "ws"
    work.mkdir()
    assert DEFAULT_TCP_PORT == 7777
    with serving(work, ["--http-port", "none", "--no-index"], ports=False) as server:
        if server.tcp is None:
            assert "7777" in server.log.read_text(encoding="utf-8")
            return
        assert "  tcp    127.0.0.1:7777" in server.told
        with RawLines(server.open_tcp()) as client:
            assert client.ask("list_files")["result"]["files"] == []


@scenario("Unix socket transport")
def test_unix_socket_transport(servers: Everywhere, ws: Workspace) -> None:
    source(ws)
    assert servers.server.unix == str(ws.root / ".flashgrep" / "mcp.sock")
    with RawLines(servers.server.open_unix()) as client:
        assert client.ask("list_files")["result"]["total"] == 4


# ── query ───────────────────────────────────────────────────────────────────────────────────────


@scenario("Query with text parameter")
def test_query_with_text_parameter(servers: Everywhere, ws: Workspace) -> None:
    source(ws)
    found = servers.ask("query", text="suspend device", ignoring=["score"])
    assert set(found) >= {"results", "total", "truncated", "next_offset"}
    best = found["results"][0]
    assert set(best) >= {"file_path", "start_line", "end_line", "score", "symbol", "preview"}
    assert best["file_path"] == "src/radio.c"
    assert 1 <= best["start_line"] <= 4 <= best["end_line"] <= 8
    assert "radio_suspend" in best["preview"]
    assert servers.ask("query", text="zebra crossing")["results"] == []
    servers.refuse("query", "invalid_params")


@scenario("Query with limit parameter")
def test_query_with_limit_parameter(servers: Everywhere, ws: Workspace) -> None:
    for number in range(12):
        ws.file(f"f{number:02}.py", f"def frobnicate_{number}():\n    return 'frobnicate'\n")
    found = servers.ask("query", text="frobnicate", limit=5, ignoring=["score"])
    assert len(found["results"]) == 5
    assert (found["truncated"], found["next_offset"]) == (True, 5)
    rest = servers.ask("query", text="frobnicate", limit=50, offset=5, ignoring=["score"])
    assert (rest["truncated"], rest["next_offset"]) == (False, None)
    assert len(rest["results"]) == found["total"] - 5
    servers.refuse("query", "invalid_params", text="frobnicate", limit=0)


# ── get_slice ───────────────────────────────────────────────────────────────────────────────────


@scenario("Get specific line range")
def test_get_specific_line_range(servers: Everywhere, ws: Workspace) -> None:
    ws.numbered("a.py", 120)
    assert servers.ask("get_slice", file_path="a.py", start_line=5, end_line=7) == {
        "file_path": "a.py",
        "start_line": 5,
        "end_line": 7,
        "content": "line 5\nline 6\nline 7",
        "total_lines": 120,
        "truncated": False,
    }
    last = servers.ask("get_slice", path="a.py", start_line=119, end_line=500)
    assert (last["end_line"], last["content"]) == (120, "line 119\nline 120")
    for start, end in ((121, 130), (7, 5), (0, 5)):
        servers.refuse("get_slice", "invalid_params", path="a.py", start_line=start, end_line=end)


@scenario("Handle missing file")
def test_handle_missing_file(servers: Everywhere, ws: Workspace) -> None:
    source(ws)
    error = servers.refuse(
        "get_slice", "not_found", file_path="src/radio.h", start_line=1, end_line=2
    )
    assert "src/radio.h" in error["message"]
    assert "Did you mean src/radio.c?" in error["message"]


# ── get_symbol, list_files, stats ───────────────────────────────────────────────────────────────


@scenario("Find symbol by name")
def test_find_symbol_by_name(servers: Everywhere, ws: Workspace) -> None:
    source(ws)
    ws.file("src/user.go", "package x\n\n// power_down is called here\nvar x = power_down\n")
    found = servers.ask("get_symbol", symbol_name="power_down")
    assert set(found) >= {"symbol_name", "definitions", "references", "total", "truncated"}
    lines = {
        (row["file_path"], row["line"]) for row in (*found["definitions"], *found["references"])
    }
    assert lines == {("src/power.h", 1), ("src/radio.c", 7), ("src/user.go", 3), ("src/user.go", 4)}
    (helper,) = servers.ask("get_symbol", symbol_name="helper")["definitions"]
    assert (helper["file_path"], helper["line"], helper["kind"]) == ("src/main.py", 5, "function")
    assert servers.ask("get_symbol", symbol_name="nowhere_to_be_seen")["total"] == 0


@scenario("List all files")
def test_list_all_files(servers: Everywhere, ws: Workspace) -> None:
    source(ws)
    ws.file(".gitignore", "build/\n")
    ws.file("build/out.o", "x\n")
    ws.file("node_modules/x/index.js", "x\n")
    ws.link("link.c", "src/radio.c")
    files = [".gitignore", "docs/notes.md", "link.c", "src/main.py", "src/power.h", "src/radio.c"]
    assert servers.ask("list_files") == {"files": files, "total": 6, "next_offset": None}
    page = servers.ask("list_files", pattern="src/**", limit=2, offset=1)
    assert page == {"files": files[4:], "total": 3, "next_offset": None}
    assert servers.ask("list_files", limit=2)["next_offset"] == 2


@scenario("Get index stats")
def test_get_index_stats(servers: Everywhere, ws: Workspace) -> None:
    """Two processes may have come to different points in building: the rest is equal."""
    source(ws)
    kinds: dict[str, Any] = {
        "total_files": int,
        "total_chunks": int,
        "index_size_bytes": int,
        "last_update": str | None,
        "state": str,
        "grep_ready": bool,
        "query_ready": bool,
        "progress": float,
        "freshness": str,
        "settings_hash": str,
    }
    expected = settings_hash(Settings(workdir=str(ws.root)), __version__)
    for way, outcome in servers.each("stats").items():
        found = outcome["result"]
        assert found.keys() - {"reason"} == kinds.keys(), way
        assert all(isinstance(found[name], kind) for name, kind in kinds.items()), (way, found)
        assert found["state"] in ("building", "ready", "off")
        assert found["freshness"] in ("watching", "sweeping")
        assert found["settings_hash"] == expected
        if found["last_update"] is not None:
            assert datetime.fromisoformat(found["last_update"]).tzinfo is not None
    servers.refuse("stats", "invalid_params", verbose=True)


@scenario("No full file content by default")
def test_no_full_file_content_by_default(servers: Everywhere, ws: Workspace) -> None:
    rows = [f"    value_{number} = compute({number})" for number in range(400)]
    rows[200] = "    walrus = harpsichord(1)"
    ws.file("long.py", "def long():\n" + "\n".join(rows) + "\n")
    found = servers.ask("query", text="walrus harpsichord", ignoring=["score"])
    (best, *_) = found["results"]
    assert "walrus" in best["preview"]
    assert len(json.dumps(found)) < 4_000
    assert "value_0 " not in json.dumps(found)
    whole = servers.ask("get_slice", file_path="long.py", start_line=1, end_line=401)
    assert whole["content"].split("\n")[1:] == rows


# ── bootstrap ───────────────────────────────────────────────────────────────────────────────────


@scenario("Bootstrap method returns structured success response")
def test_bootstrap_method_returns_structured_success_response(servers: Everywhere) -> None:
    told = servers.ask("bootstrap_skill", force=True)
    assert told["ok"] is True
    assert told["status"] == "injected"
    assert told["canonical_trigger"] == "flashgrep-init"
    markdown = told["skill_markdown"].encode()
    assert told["skill"] == {
        "source": "skills/SKILL.md",
        "version": "1.0.0",
        "hash": content_hash(markdown),
        "size": len(markdown),
    }


@scenario("Bootstrap method validates trigger")
def test_bootstrap_method_validates_trigger(servers: Everywhere) -> None:
    error = servers.refuse("bootstrap_skill", "invalid_trigger", trigger="please")
    assert error["allowed_triggers"] == list(ALIASES)
    assert all(name in error["message"] for name in ALIASES)


@scenario("Existing tools remain callable after bootstrap support is added")
def test_existing_tools_remain_callable_after_bootstrap_support_is_added(
    servers: Everywhere, ws: Workspace
) -> None:
    servers.ask("bootstrap_skill", force=True)
    call_every_method(servers, ws)


def call_every_method(servers: Everywhere, ws: Workspace) -> dict[str, Any]:
    """Each core method once on every way; what they answered."""

    def afresh() -> None:
        source(ws)

    afresh()
    hash_before = content_hash(SUSPEND.encode())
    place: dict[str, Any] = {"file_path": "src/radio.c", "start_line": 4, "end_line": 4}
    held = {"expected_file_hash": hash_before, "expected_start_line_text": SUSPEND.split("\n")[3]}
    answers = {
        "query": servers.ask("query", text="suspend device", ignoring=["score"]),
        "get_slice": servers.ask("get_slice", **place),
        "get_symbol": servers.ask("get_symbol", symbol_name="power_down"),
        "list_files": servers.ask("list_files"),
        "stats": servers.ask(
            "stats",
            ignoring=[
                *("total_files", "total_chunks", "index_size_bytes", "last_update", "state"),
                *("grep_ready", "query_ready", "progress", "freshness", "reason"),
            ],
        ),
        "read_code": servers.ask("read_code", **place),
        "write_code": servers.ask(
            "write_code", afresh, **place, replacement="int changed(void)", precondition=held
        ),
    }
    assert set(answers) == set(METHODS)
    assert "int changed(void)\n{" in ws.read("src/radio.c")
    return answers


@scenario("Skill file load failure returns typed error")
def test_skill_file_load_failure_returns_typed_error(skilled: tuple[Everywhere, Path]) -> None:
    servers, skill = skilled
    skill.unlink(missing_ok=True)
    for code in ("skill_not_found", "skill_unreadable"):
        for name in ALIASES:
            error = servers.refuse(name, code)
            assert str(skill) in error["message"]
            assert "--skill-file" in error["message"]
        skill.write_bytes(b"\xff\xfe no text")
    skill.write_text("# Mended\n")
    assert servers.ask("bootstrap_skill", force=True)["skill_markdown"] == "# Mended\n"


# ── consistency ─────────────────────────────────────────────────────────────────────────────────


@scenario("Bootstrap aliases are handled consistently")
def test_bootstrap_aliases_are_handled_consistently(servers: Everywhere) -> None:
    expected = servers.ask("bootstrap_skill", force=True)
    for name in ALIASES:
        assert servers.ask(name, force=True) == expected
        assert servers.ask(name, trigger=name, force=True) == expected
        assert servers.ask("bootstrap_skill", trigger=name, force=True) == expected
        again = servers.ask(name, trigger="bootstrap_skill")
        assert again == expected | {"status": "already_injected", "skill_markdown": ""}


@scenario("Existing core methods keep consistent behavior")
def test_existing_core_methods_keep_consistent_behavior(servers: Everywhere, ws: Workspace) -> None:
    answers = call_every_method(servers, ws)
    fields = {
        "query": "results total truncated next_offset",
        "get_slice": "file_path start_line end_line content total_lines truncated",
        "get_symbol": "symbol_name definitions references total truncated next_offset",
        "list_files": "files total next_offset",
        "stats": "total_files total_chunks index_size_bytes last_update state settings_hash",
        "read_code": "file_path start_line end_line content truncated file_hash total_lines",
        "write_code": "ok replaced_line_count new_line_count file_hash_before file_hash_after",
    }
    for name, required in fields.items():
        assert set(required.split()) <= answers[name].keys(), name
    stale = {"expected_file_hash": "0" * 32}
    place: dict[str, Any] = {"file_path": "src/radio.c", "start_line": 1, "end_line": 1}
    servers.refuse("write_code", "precondition_failed", **place, replacement="", precondition=stale)
    servers.refuse("write_code", "not_found", **(place | {"file_path": "x/y"}), replacement="")
    servers.refuse("read_code", "invalid_params", file_path="src/radio.c", max_lines=0)
    operations = [{**place, "id": "one", "replacement": "x"}, {**place, "replacement": "y"}]
    servers.refuse("batch_write_code", "conflict", operations=operations)
    told = servers.ask("batch_write_code", lambda: source(ws), operations=operations[:1])
    assert told == {"ok": True, "results": [{"id": "one", "status": "applied", "reason": None}]}


@scenario("Bootstrap logic is centralized")
def test_bootstrap_logic_is_centralized(skilled: tuple[Everywhere, Path]) -> None:
    """A change of what is shared shows on every way at once, and each connection has its state."""
    servers, skill = skilled
    for version in ("1.1", "1.2"):
        skill.write_text(f"---\nversion: {version}\n---\n# Guide\n\n## A\n\n## B\n")
        first = servers.ask("fgrep-boot")
        assert (first["status"], first["skill"]["version"]) == ("injected", version)
        assert servers.ask("bootstrap_skill")["status"] == "already_injected"
        assert servers.ask("flashgrep_init", force=True) == first
        short = servers.ask("flashgrep-init", compact=True, force=True)
        assert short["skill_markdown"] == "# Guide\n\n## A\n"
    servers.connect()
    assert servers.one("stdio", "bootstrap_skill")["result"]["status"] == "already_injected"
    for way in (*TOOLS[1:], *DIRECT):
        assert servers.one(way, "bootstrap_skill")["result"]["status"] == "injected", way


@scenario("Tool definition aliases remain synchronized")
def test_tool_definition_aliases_remain_synchronized(
    servers: Everywhere, fewer: Everywhere
) -> None:
    check_aliases(servers, ALIASES)
    check_aliases(fewer, ("flashgrep-init", "flashgrep_init", "fgrep_boot"))


def check_aliases(servers: Everywhere, names: tuple[str, ...]) -> None:
    """Exactly these are listed, callable and direct, on every way."""
    listed = servers.listed()
    assert all(listed[way] == listed["stdio"] for way in TOOLS)
    assert [name for name in listed["stdio"] if name in ALIASES] == list(names)
    for name in ALIASES:
        if name in names:
            assert servers.ask(name, force=True)["ok"] is True
            continue
        for way in TOOLS:
            assert "Unknown tool" in servers.one(way, name)["error"]["message"]
        for way in DIRECT:
            assert servers.lines[way].ask(name)["error"]["code"] == -32601


# ── glob ────────────────────────────────────────────────────────────────────────────────────────

OPTIONS: list[tuple[dict[str, Any], list[str]]] = [
    ({"pattern": "**/*.py"}, ["sub/deep/d.py", "b.py", "a.py"]),
    ({"extensions": ["py", ".js"]}, ["sub/deep/d.py", "sub/c.js", "b.py", "a.py"]),
    ({"pattern": "*", "exclude": ["*.py", "sub/deep"]}, ["sub/c.js", ".hidden"]),
    ({"pattern": "*.py", "max_depth": 0}, ["b.py", "a.py"]),
    ({"pattern": "*", "include_hidden": False, "max_depth": 0}, ["b.py", "a.py"]),
    ({"pattern": "*.py", "sort_by": "name"}, ["a.py", "b.py", "sub/deep/d.py"]),
    (
        {"pattern": "*.py", "sort_by": "size", "sort_order": "asc"},
        ["a.py", "b.py", "sub/deep/d.py"],
    ),
    ({"pattern": "*.py", "limit": 1}, ["sub/deep/d.py"]),
    ({"pattern": "*.py", "limit": 1, "offset": 2}, ["a.py"]),
    ({"pattern": "*.PY", "case_sensitive": False, "path": "sub"}, ["deep/d.py"]),
    ({"pattern": "deep", "type": "directory"}, ["sub/deep"]),
    ({"pattern": "*.nothing"}, []),
]


def glob_tree(ws: Workspace) -> None:
    for age, name in enumerate((".hidden", "a.py", "b.py", "sub/c.js", "sub/deep/d.py")):
        ws.file(name, "x" * (age + 1), modified=1_000 + age)


@scenario("Advanced glob options are accepted")
def test_advanced_glob_options_are_accepted(servers: Everywhere, ws: Workspace) -> None:
    glob_tree(ws)
    for given, expected in OPTIONS:
        outcomes = servers.each("glob", **given)
        texts = {outcomes[way]["result"] for way in TOOLS}
        (text,) = texts
        shown = [line for line in text.split("\n") if not line.startswith("(")]
        assert shown == (expected or ["No files found"]), given
        objects = [outcomes[way]["result"] for way in DIRECT]
        assert objects[0] == objects[1]
        assert objects[0].keys() == {"paths", "total", "truncated", "next_offset"}
        assert objects[0]["paths"] == expected
    cut = servers.one("direct-tcp", "glob", pattern="*.py", limit=2)["result"]
    assert (cut["total"], cut["truncated"], cut["next_offset"]) == (3, True, 2)


CONFLICTS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["pattern", "extensions"]),
    ({"pattern": "a/b/*.py", "max_depth": 1}, ["max_depth 1", "a/b/*.py"]),
    ({"pattern": ".git*", "include_hidden": False}, ["include_hidden", ".git*"]),
    ({"pattern": "*.py", "extensions": ["js"]}, ["extensions", "*.py"]),
    ({"pattern": "*", "sort_order": "asc"}, ["sort_order", "sort_by"]),
    ({"pattern": "*", "limit": 0}, ["limit"]),
    ({"pattern": "*", "offset": -1}, ["offset"]),
    ({"pattern": "*", "sort_by": "age"}, ["sort_by", "modified"]),
    ({"pattern": "*", "depth": 2}, ["depth", "max_depth"]),
    ({"pattern": "[a"}, ["[a"]),
]


@scenario("Invalid option combinations return structured errors")
def test_invalid_option_combinations_return_structured_errors(
    servers: Everywhere, ws: Workspace
) -> None:
    glob_tree(ws)
    for given, named in CONFLICTS:
        error = servers.refuse("glob", "invalid_params", **given)
        assert all(name in error["message"] for name in named), (given, error)


@scenario("Early pruning with excludes and depth")
def test_early_pruning_with_excludes_and_depth(fewer: Everywhere) -> None:
    """The kernel tells which directories were opened; an index would open them besides."""
    work = fewer.workdir
    for name in ("kept/a.py", "left/b.py", "kept/deep/c.py"):
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n")
    for way in WAYS:
        for given in (
            {"pattern": "**/*.py", "exclude": ["left", "deep"]},
            {"pattern": "**/*.py", "exclude": ["left"], "max_depth": 1},
            {"pattern": "kept/*.py"},
        ):
            with opens_of(work / "kept", work / "left", work / "kept" / "deep") as opened:
                fewer.one(way, "glob", **given)
            assert set(opened) == {"kept"}, (way, given)
        with opens_of(work / "kept", work / "left", work / "kept" / "deep") as opened:
            fewer.one(way, "glob", pattern="**/*.py")
        assert set(opened) == {"kept", "left", "deep"}


@contextmanager
def opens_of(*directories: Path) -> Iterator[list[str]]:
    """The names of those directories that were opened for reading during the block."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    assert fd >= 0
    try:
        names = {}
        for path in directories:
            names[libc.inotify_add_watch(fd, os.fsencode(path), 0x20)] = path.name  # IN_OPEN
        found: list[str] = []
        yield found
        try:
            events = os.read(fd, 65_536)
        except BlockingIOError:
            events = b""
        while events:
            watch, _, _, size = struct.unpack_from("iIII", events)
            is_itself = size == 0
            if is_itself:
                found.append(names[watch])
            events = events[16 + size :]
    finally:
        os.close(fd)
