"""One server, every client: what a connection asked for is what the server holds it to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from flashgrep import __version__
from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.settings import Settings, settings_hash
from tests.transports.clients import (
    RawLines,
    Server,
    connect,
    request,
    serving,
    tool_call,
)

FLAGS = ["--http-port", "none", "--no-index"]
JOIN = "flashgrep/join"


@pytest.fixture(scope="module")
def workdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="module")
def daemon(workdir: Path) -> Iterator[Server]:
    with serving(workdir, FLAGS) as running:
        yield running


@pytest.fixture(autouse=True)
def file(workdir: Path) -> Path:
    """A file that each test finds as it is here."""
    path = workdir / "a.txt"
    path.write_text("one\n", encoding="ascii")
    return path


def joining(workdir: Path, **changed: Any) -> dict[str, Any]:
    own = settings_hash(Settings(workdir=str(workdir), no_index=True), __version__)
    return {"version": __version__, "settings_hash": own, "settings": {}} | changed


@contextmanager
def joined(server: Server, workdir: Path, **settings: str) -> Iterator[RawLines]:
    """A connection with settings of its own, after the handshake."""
    with RawLines(server.open_unix()) as client:
        answer = client.ask(JOIN, 0, **joining(workdir, settings=settings))
        assert answer["result"]["restricted"] == [], answer
        client.start()
        yield client


def tools(client: RawLines) -> list[str]:
    return [tool["name"] for tool in client.ask("tools/list", 1)["result"]["tools"]]


def call(client: RawLines, name: str, **arguments: Any) -> Any:
    client.send(tool_call(name, 2, **arguments))
    return client.receive()["result"]


def code(result: Any) -> str:
    return str(result.get("_meta", {}).get("flashgrep/error", "ok"))


# ── what a connection asks for, it gets ─────────────────────────────────────────────────────────


def test_each_connection_has_its_own_naming_mode(daemon: Server, workdir: Path) -> None:
    with (
        joined(daemon, workdir) as normal,
        joined(daemon, workdir, anthropic_compat="true") as compat,
        RawLines(daemon.open_unix()) as plain,
    ):
        plain.start()
        assert tools(normal)[:5] == ["grep", "glob", "view", "str_replace", "create_file"]
        assert tools(compat)[:5] == ["grep", "glob", "read", "edit", "write"]
        assert tools(plain) == tools(normal)


def test_toolsets_and_disabled_tools_are_neither_listed_nor_callable(
    daemon: Server, workdir: Path
) -> None:
    with joined(daemon, workdir, toolsets="files", disable_tools="grep,edit") as client:
        assert tools(client) == ["glob", "view", "str_replace", "create_file"]
        for name in ("grep", "edit", "query", "write_code", "fgrep-boot"):
            assert code(call(client, name)) == "invalid_params"
        assert code(call(client, "write", file_path="new.txt", content="x\n")) == "ok"


def test_read_only_is_enforced_by_the_server(daemon: Server, workdir: Path, file: Path) -> None:
    with joined(daemon, workdir, read_only="true") as client:
        edit = {"path": "a.txt", "old_str": "one", "new_str": "two"}
        refused = call(client, "str_replace", **edit)
        assert "read-only" in refused["content"][0]["text"]
        assert file.read_text(encoding="ascii") == "one\n"
    with joined(daemon, workdir) as client:
        assert code(call(client, "str_replace", **edit)) == "ok"


def test_whether_a_file_must_be_read_first_is_the_connections(
    daemon: Server, workdir: Path
) -> None:
    edit = {"path": "a.txt", "old_str": "one", "new_str": "one more"}
    with joined(daemon, workdir, require_view_before_edit="true") as client:
        assert code(call(client, "str_replace", **edit)) == "not_read"
    with joined(daemon, workdir, require_view_before_edit="false") as client:
        assert code(call(client, "edit", **edit)) == "ok"


def test_the_budget_and_structured_content_are_the_connections(
    daemon: Server, workdir: Path
) -> None:
    (workdir / "long.txt").write_text(f"{'x' * 99}\n" * 1_000, encoding="ascii")
    with joined(daemon, workdir, max_output_chars="5000") as client:
        text = call(client, "view", path="long.txt")["content"][0]["text"]
        assert 4_000 < len(text) <= 5_000
    with joined(daemon, workdir, max_output_chars="0", structured="true") as client:
        result = call(client, "view", path="long.txt")
        assert len(result["content"][0]["text"]) > 100_000
        assert result["structuredContent"]["text"] == result["content"][0]["text"]


def test_a_joined_connection_speaks_mcp_alone_as_stdio_does(daemon: Server, workdir: Path) -> None:
    with joined(daemon, workdir, read_only="true") as client:
        for method in ("stats", "write_code", "auth", JOIN):
            answer = client.ask(method, 7, **joining(workdir))
            assert answer["error"]["code"] == -32601, answer


# ── one server ──────────────────────────────────────────────────────────────────────────────────


def test_the_lines_of_the_readme_share_one_server(daemon: Server, workdir: Path) -> None:
    """`flashgrep mcp --anthropic-compat` beside `flashgrep serve`: the daemon answers."""

    async def use() -> tuple[list[str], str]:
        flags = ["--no-index", "--anthropic-compat", "--disable-tools", "query"]
        async with connect("stdio", workdir, flags) as session:
            listed = [tool.name for tool in (await session.list_tools()).tools]
            answer = await session.call_tool("read", {"file_path": "a.txt"})
            return listed, answer.model_dump_json()

    listed, answer = anyio.run(use)
    assert listed[:5] == ["grep", "glob", "read", "edit", "write"]
    assert "query" not in listed
    assert "one" in answer
    log = (workdir.parent / f"{workdir.name}-home" / "mcp.log").read_text(encoding="utf-8")
    assert log == "", "it serves by itself, and says why"


def test_the_notes_of_a_server_are_shared_too(tmp_path: Path) -> None:
    Home.create(tmp_path / "kb")
    with closing(KnowledgeBase(tmp_path / "kb")) as notes:
        notes.ask(lambda library: library.create("Note.md", "alpha\n", "ann"))
    work = tmp_path / "work"
    work.mkdir()
    flags = ["--no-index", "--kb", str(tmp_path / "kb")]
    edit = {"file_path": "kb://Note.md", "old_string": "alpha", "new_string": "beta"}

    async def use(*more: str) -> tuple[str, str, str]:
        async with connect("stdio", work, [*flags, *more]) as session:
            read = await session.call_tool("read", {"file_path": "kb://Note.md"})
            edited = await session.call_tool("edit", edit)
            log = (tmp_path / "work-home" / "mcp.log").read_text(encoding="utf-8")
            return read.model_dump_json(), edited.model_dump_json(), log

    with serving(work, [*flags, "--tcp-port", "none", "--http-port", "auto"], ports=False):
        read, edited, log = anyio.run(use, "--read-only")
        assert "alpha" in read
        assert "This server is read-only" in edited
        assert log == ""
        read, edited, log = anyio.run(use, "--anthropic-compat")
        assert "alpha" in read
        assert "flashgrep/error" not in edited
        assert log == ""


def test_what_one_connection_read_another_has_not(daemon: Server, workdir: Path) -> None:
    edit = {"file_path": "a.txt", "old_string": "one", "new_string": "two"}
    compat = {"anthropic_compat": "true"}
    with joined(daemon, workdir, **compat) as first, joined(daemon, workdir, **compat) as second:
        call(first, "read", file_path="a.txt")
        assert code(call(second, "edit", **edit)) == "not_read"
        assert code(call(first, "edit", **edit)) == "ok"


def test_restrictions_of_the_server_hold_for_whoever_joins(tmp_path: Path) -> None:
    flags = [*FLAGS, "--read-only", "--disable-tools", "glob", "--toolsets", "files"]
    with serving(tmp_path, flags) as server, RawLines(server.open_unix()) as client:
        asked = {"read_only": "false", "anthropic_compat": "true", "toolsets": "files,index"}
        told = client.ask(JOIN, 0, **joining(tmp_path, settings=asked))["result"]["restricted"]
        assert told == ["--read-only", "--disable-tools glob", "--toolsets files"]
        client.start()
        assert tools(client) == ["grep", "read"]
        for name in ("glob", "edit", "write", "str_replace", "create_file", "query", "write_code"):
            assert code(call(client, name)) == "invalid_params"


# ── what is refused ─────────────────────────────────────────────────────────────────────────────

REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("another version", {"version": "0.0.1"}, "conflict", "is flashgrep " + __version__),
    ("no version", {"version": None}, "conflict", "None asks"),
    ("another scope", {"settings_hash": "0" * 24}, "conflict", "has other settings"),
    ("a hash that is none", {"settings_hash": ["x"]}, "conflict", "has other settings"),
    ("an unknown setting", {"settings": {"deny_dir": "x"}}, "invalid_params", "deny_dir"),
    ("a malformed one", {"settings": {"read_only": 1}}, "invalid_params", "must be text"),
    ("a list", {"settings": ["read_only"]}, "invalid_params", "object"),
    ("a tool that is none", {"settings": {"disable_tools": "x"}}, "invalid_params", "tool 'x'"),
    ("an empty offer", {"settings": {"toolsets": "kb"}}, "invalid_params", "kb needs --kb"),
    ("an unknown parameter", {"mode": "compat"}, "invalid_params", "does not take mode"),
]


@pytest.mark.parametrize(
    ("changed", "code", "reason"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_settings_that_cannot_be_are_refused_and_nothing_changes(
    daemon: Server, workdir: Path, changed: dict[str, Any], code: str, reason: str
) -> None:
    with RawLines(daemon.open_unix()) as client:
        error = client.ask(JOIN, 3, **joining(workdir, **changed))["error"]
        assert error["data"]["code"] == code
        assert reason in error["message"]
        assert "result" in client.ask("stats", 4)


def test_only_the_first_message_joins(daemon: Server, workdir: Path) -> None:
    with RawLines(daemon.open_unix()) as client:
        client.ask("stats", 1)
        error = client.ask(JOIN, 2, **joining(workdir, settings={"read_only": "true"}))["error"]
        assert "must be the first message" in error["message"]
    with RawLines(daemon.open_unix()) as client:
        client.send([request(JOIN, 1, **joining(workdir))])
        assert "must be the first message" in json.dumps(client.receive())
    with RawLines(daemon.open_unix()) as client:
        client.send({"jsonrpc": "2.0", "method": JOIN, "params": joining(workdir)})
        assert "result" in client.ask("stats", 1), "a notification joins nothing"


def test_without_settings_a_server_only_says_who_it_is(daemon: Server, workdir: Path) -> None:
    with RawLines(daemon.open_unix()) as client:
        told = client.ask(JOIN, 1)["result"]
        assert told == {key: joining(workdir)[key] for key in ("version", "settings_hash")}
        assert "result" in client.ask("stats", 2)


def test_nobody_joins_on_tcp(daemon: Server, workdir: Path) -> None:
    with RawLines(daemon.open_tcp()) as client:
        assert "error" in client.ask(JOIN, 1, **joining(workdir))
