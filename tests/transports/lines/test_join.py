"""Looking for a daemon: joined where it is the same, never trusted blindly.

The daemons are real `serve` processes, or fakes on a real socket.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from flashgrep import __version__, limits
from flashgrep.settings import BY_NAME, SETTINGS, Settings, settings_hash
from flashgrep.transports.lines import join as joining
from flashgrep.transports.lines.join import JOIN_BYTES, join
from tests.transports.clients import RawLines, Server, serving

NO_PORTS = ("--http-port", "none", "--tcp-port", "none")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    workdir = tmp_path_factory.mktemp("workspace")
    with serving(workdir, NO_PORTS, ports=False) as running:
        yield running


def workdir_of(server: Server) -> str:
    return str(Path(server.unix or "").parent.parent)


def joins(settings: Settings) -> bool:
    connection = join(settings)
    if connection is None:
        return False
    connection.close()
    return True


# ── real daemons ────────────────────────────────────────────────────────────────────────────────


def test_a_daemon_with_the_same_settings_is_joined(daemon: Server) -> None:
    workdir = workdir_of(daemon)
    assert joins(Settings(workdir=workdir))
    # How it is reached and what it logs is no difference.
    assert joins(Settings(workdir=workdir, log_level="debug", token="x", http_port=1))


OWN: list[dict[str, object]] = [
    {"anthropic_compat": True},
    {"structured": True},
    {"max_output_chars": 5},
    {"toolsets": ("files",)},
    {"disable_tools": ("glob",)},
    {"require_view_before_edit": "true"},
    {"read_only": True},
]


@pytest.mark.parametrize("changed", OWN, ids=[next(iter(row)) for row in OWN])
def test_a_daemon_is_joined_whatever_belongs_to_the_connection(
    daemon: Server, changed: dict[str, object]
) -> None:
    assert joins(Settings(workdir=workdir_of(daemon), **changed))  # type: ignore[arg-type]


def test_a_connection_with_settings_it_does_not_take_serves_by_itself(
    daemon: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert not joins(Settings(workdir=workdir_of(daemon), disable_tools=("no such tool",)))
    assert "refuses us: --disable-tools: unknown tool 'no such tool'" in caplog.text


DIFFERENCES = {
    "deny_dir": "not set there and x",
    "allow_dir": "not set there and /",
    "max_file_size": f"{10 * limits.MIB} there and 5",
    "no_index": "off there and on",
    "verify_index": "off there and on",
    "skill_file": "not set there and /skill.md",
    "kb_markup": "plain there and commentator",
}
OTHERS: list[dict[str, object]] = [
    {"deny_dir": ("x",)},
    {"allow_dir": ("/",)},
    {"max_file_size": 5},
    {"no_index": True},
    {"verify_index": True},
    {"skill_file": "/skill.md"},
    {"kb_markup": "commentator"},
]


@pytest.mark.parametrize("changed", OTHERS, ids=[next(iter(row)) for row in OTHERS])
def test_a_daemon_with_other_settings_is_not(
    daemon: Server, changed: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert not joins(Settings(workdir=workdir_of(daemon), **changed))  # type: ignore[arg-type]
    name = next(iter(changed))
    assert f"its settings differ: {BY_NAME[name].flag} is {DIFFERENCES[name]} here" in caplog.text
    assert caplog.text.count(" there and ") == 1


def test_every_setting_that_differs_is_told_and_no_password(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    flags = [*NO_PORTS, "--deny-dir", "a", "--deny-dir", "b\nc", "--token", "secret-token"]
    with serving(tmp_path, flags, ports=False):
        assert not joins(
            Settings(workdir=str(tmp_path), deny_dir=("x://me:word@y",), no_index=True)
        )
    assert (
        "--deny-dir is a b\ufffdc there and x://…@y here; --no-index is off there and on here"
        in (caplog.text)
    )
    assert "secret-token" not in caplog.text


def test_a_restriction_of_the_daemon_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    flags = [*NO_PORTS, "--read-only", "--disable-tools", "glob"]
    with serving(tmp_path, flags, ports=False):
        assert joins(Settings(workdir=str(tmp_path), anthropic_compat=True))
    (record,) = caplog.records
    assert record.message.endswith("which restricts us to --read-only --disable-tools glob")


def test_a_relative_allow_dir_is_the_directory_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    here = Settings(workdir=str(tmp_path), allow_dir=("a",))
    there = Settings(workdir=str(tmp_path), allow_dir=(str(tmp_path / "a"),))
    before = os.getcwd()
    assert settings_hash(here, "1") != settings_hash(there, "1")
    os.chdir(tmp_path)
    try:
        assert settings_hash(here, "1") == settings_hash(there, "1")
    finally:
        os.chdir(before)


def test_a_daemon_in_a_deep_directory_is_joined(tmp_path: Path) -> None:
    """A socket address holds 108 bytes."""
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    with serving(deep, NO_PORTS, ports=False, home=tmp_path):
        assert joins(Settings(workdir=str(deep)))


def test_a_daemon_on_a_socket_of_its_own_is_joined_there(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    path = tmp_path / "own.sock"
    with serving(work, [*NO_PORTS, "--socket", str(path)], ports=False):
        assert joins(Settings(workdir=str(work), socket=str(path)))
        assert not joins(Settings(workdir=str(work)))
        assert not joins(Settings(workdir=str(work), socket="none"))


def test_another_version_is_not_joined(daemon: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joining, "__version__", "0.0.1")
        assert not joins(Settings(workdir=workdir_of(daemon)))
    assert f"this server is flashgrep {__version__}, and 0.0.1 asks" in caplog.text


def test_a_version_that_asks_for_stats_finds_a_hash_it_does_not_expect(daemon: Server) -> None:
    """As `flashgrep mcp` did when all settings had to agree: it then serves by itself."""
    settings = Settings(workdir=workdir_of(daemon))
    parts = [__version__, os.path.realpath(settings.workdir)]
    reached = {"log_level", "log_format", "workdir"}
    parts += [
        f"{row.name}={getattr(settings, row.name)!r}"
        for row in SETTINGS
        if not row.serve_only and row.name not in reached
    ]
    before = hashlib.blake2b("\0".join(parts).encode(), digest_size=12).hexdigest()
    with RawLines(daemon.open_unix()) as client:
        assert client.ask("stats")["result"]["settings_hash"] != before


# ── things that stand where a socket should ─────────────────────────────────────────────────────


@contextmanager
def fake(workdir: Path, behave: Callable[[socket.socket], None]) -> Iterator[None]:
    """Something that listens where a daemon would, and does as told with the first connection."""
    directory = workdir / ".flashgrep"
    directory.mkdir(exist_ok=True)
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(directory / "mcp.sock"))
        listener.listen()
        done = threading.Event()

        def run() -> None:
            connection, _ = listener.accept()
            with closing(connection):
                behave(connection)
                done.wait(120)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def answer(workdir: Path, **changed: object) -> bytes:
    own = settings_hash(Settings(workdir=str(workdir)), __version__)
    result = {"settings_hash": own}
    return json.dumps({"jsonrpc": "2.0", "id": 0, "result": result, **changed}).encode() + b"\n"


def says(data: bytes) -> Callable[[socket.socket], None]:
    return lambda connection: connection.sendall(data)


def test_the_fake_itself_is_joined_when_it_says_the_right_thing(tmp_path: Path) -> None:
    with fake(tmp_path, says(answer(tmp_path))):
        assert joins(Settings(workdir=str(tmp_path)))


@pytest.mark.parametrize("odd", [None, 7, "x", {}, [], [1, None]])
def test_restrictions_that_are_no_list_of_words_harm_nothing(tmp_path: Path, odd: object) -> None:
    result = {**json.loads(answer(tmp_path))["result"], "restricted": odd}
    with fake(tmp_path, says(answer(tmp_path, result=result))):
        assert joins(Settings(workdir=str(tmp_path)))


LIES: list[tuple[str, Callable[[Path], bytes], str]] = [
    (
        "another version",
        lambda w: answer(
            w, error={"code": -32000, "message": "other version", "data": {"code": "conflict"}}
        ),
        "refuses us: other version",
    ),
    ("an error without words", lambda w: answer(w, error={"data": {"code": "x"}}), "not know"),
    ("another hash", lambda w: answer(w, result={"settings_hash": "0" * 24}), "other settings"),
    ("a hash that is no text", lambda w: answer(w, result={"settings_hash": None}), "settings"),
    ("a hash that is a list", lambda w: answer(w, result={"settings_hash": []}), "settings"),
    ("no hash", lambda w: answer(w, result={}), "other settings"),
    ("no object", lambda w: answer(w, result=7), "does not know flashgrep/join"),
    (
        "an error",
        lambda w: b'{"jsonrpc":"2.0","id":0,"error":{"code":-32601}}\n',
        "does not know flashgrep/join",
    ),
    ("another id", lambda w: answer(w, id=1), "does not know flashgrep/join"),
    ("no JSON", lambda w: b"HTTP/1.1 400 Bad Request\r\n", "does not know flashgrep/join"),
    ("a list", lambda w: b"[1]\n", "does not know flashgrep/join"),
    ("broken UTF-8", lambda w: b'{"result":"\xff"}\n', "does not know flashgrep/join"),
    ("deep nesting", lambda w: b"[" * 60_000 + b"\n", "does not know flashgrep/join"),
    ("two lines", lambda w: answer(w) * 2, "more than it was asked"),
    ("a flood", lambda w: b"x" * (JOIN_BYTES + 1), "more than it was asked"),
]


@pytest.mark.parametrize(("lie", "reason"), [row[1:] for row in LIES], ids=[r[0] for r in LIES])
def test_one_that_says_something_else_is_not_joined(
    tmp_path: Path,
    lie: Callable[[Path], bytes],
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    with fake(tmp_path, says(lie(tmp_path))):
        assert not joins(Settings(workdir=str(tmp_path)))
    assert reason in caplog.text
    assert len(caplog.records) == 1


def test_one_that_says_nothing_is_not_waited_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flashgrep.transports.lines.join.JOIN_SECONDS", 0.05)
    caplog.set_level(logging.INFO)
    with fake(tmp_path, lambda connection: None):
        assert not joins(Settings(workdir=str(tmp_path)))
    assert "did not answer within 0.05 s" in caplog.text


def test_one_that_dribbles_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("flashgrep.transports.lines.join.JOIN_SECONDS", 0.2)
    caplog.set_level(logging.INFO)

    def dribble(connection: socket.socket) -> None:
        gone = threading.Event()
        try:
            while not gone.wait(0.02):
                connection.sendall(b" ")
        except OSError:
            return

    with fake(tmp_path, dribble):
        assert not joins(Settings(workdir=str(tmp_path)))
    assert "did not answer" in caplog.text


def test_one_that_hangs_up_is_not_joined(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with fake(tmp_path, lambda connection: connection.shutdown(socket.SHUT_RDWR)):
        assert not joins(Settings(workdir=str(tmp_path)))
    assert "not joining the running server" in caplog.text


def test_no_socket_is_nothing_to_talk_about(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert not joins(Settings(workdir=str(tmp_path)))
    (tmp_path / ".flashgrep").mkdir()
    assert not joins(Settings(workdir=str(tmp_path)))
    assert not caplog.records


def _stale(own: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as dead:
        dead.bind(str(own / "mcp.sock"))


def _file(own: Path) -> None:
    (own / "mcp.sock").write_text("not a socket", encoding="utf-8")


def _link_to_a_socket(own: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as other:
        other.bind(str(own / "other.sock"))
    (own / "mcp.sock").symlink_to("other.sock")


ODD = [(_stale, "refused"), (_file, "not a socket"), (_link_to_a_socket, "not a socket")]


@pytest.mark.parametrize(("put", "reason"), ODD, ids=["stale", "file", "link"])
def test_what_is_no_living_socket_is_told_and_left_alone(
    tmp_path: Path,
    put: Callable[[Path], None],
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    own = tmp_path / ".flashgrep"
    own.mkdir()
    put(own)
    before = stat.S_IFMT((own / "mcp.sock").lstat().st_mode)
    caplog.set_level(logging.INFO)
    assert not joins(Settings(workdir=str(tmp_path)))
    assert reason in caplog.text
    assert stat.S_IFMT((own / "mcp.sock").lstat().st_mode) == before


def test_a_directory_that_is_a_link_is_not_entered(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere, work = tmp_path / "elsewhere", tmp_path / "work"
    elsewhere.mkdir()
    work.mkdir()
    with fake(elsewhere, says(answer(work))):
        (work / ".flashgrep").symlink_to(elsewhere / ".flashgrep")
        caplog.set_level(logging.INFO)
        assert not joins(Settings(workdir=str(work)))
        assert "is a link" in caplog.text
        assert joins(Settings(workdir=str(elsewhere))) is False  # lets the fake go: another hash


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_a_directory_of_another_user_is_not_trusted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = tmp_path / ".flashgrep"
    own.mkdir()
    os.chown(own, 65534, 65534)
    caplog.set_level(logging.INFO)
    assert not joins(Settings(workdir=str(tmp_path)))
    assert "another user" in caplog.text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_a_listener_of_another_user_is_not_trusted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = tmp_path / ".flashgrep"
    own.mkdir()
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(own / "mcp.sock"))
        # The kernel notes who listens, when it begins to.
        os.seteuid(65534)
        try:
            listener.listen()
        finally:
            os.seteuid(0)
        caplog.set_level(logging.INFO)
        assert not joins(Settings(workdir=str(tmp_path)))
    assert "another user" in caplog.text
