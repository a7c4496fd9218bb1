"""The unix socket file: private, replaced only when dead, never through a link, gone at the end."""

from __future__ import annotations

import os
import signal
import socket
import stat
from pathlib import Path

import pytest

from flashgrep.errors import SettingsError
from flashgrep.settings import Settings
from flashgrep.transports.lines.unix_socket import bind_unix, peer_is_us
from tests.transports.clients import TINY, RawLines, serving


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    path = tmp_path / "workspace"
    path.mkdir()
    return path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_directory_and_socket_are_private_whatever_the_umask(workdir: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        bound = bind_unix(Settings(), str(workdir))
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert bound is not None
    own = workdir / ".flashgrep"
    assert (mode(own), mode(own / "mcp.sock")) == (0o700, 0o600)
    assert (own / ".gitignore").read_text(encoding="utf-8") == "*\n"
    assert sorted(os.listdir(own)) == [".gitignore", "mcp.sock"]
    bound.close()
    assert sorted(os.listdir(own)) == [".gitignore"]


def test_a_directory_others_can_enter_is_made_private(workdir: Path) -> None:
    (workdir / ".flashgrep").mkdir(mode=0o755)
    bound = bind_unix(Settings(), str(workdir))
    assert bound is not None
    assert mode(workdir / ".flashgrep") == 0o700
    bound.close()


def test_a_dead_socket_is_replaced_and_a_living_one_is_not(workdir: Path) -> None:
    path = workdir / ".flashgrep" / "mcp.sock"
    path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    first = bind_unix(Settings(), str(workdir))
    assert first is not None
    assert bind_unix(Settings(), str(workdir)) is None
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
    first.close()
    assert not path.exists()


def test_closing_leaves_the_socket_of_a_successor(workdir: Path) -> None:
    path = workdir / ".flashgrep" / "mcp.sock"
    first = bind_unix(Settings(), str(workdir))
    assert first is not None
    path.unlink()
    second = bind_unix(Settings(), str(workdir))
    assert second is not None
    first.close()
    assert path.exists()
    second.close()


def planted_link(workdir: Path) -> None:
    (workdir / ".flashgrep").symlink_to(workdir.parent)


def planted_file(workdir: Path) -> None:
    (workdir / ".flashgrep").write_text("", encoding="utf-8")


def planted_socket_link(workdir: Path) -> None:
    (workdir / ".flashgrep").mkdir(mode=0o700)
    (workdir / ".flashgrep" / "mcp.sock").symlink_to(workdir.parent / "target")


def planted_regular_socket(workdir: Path) -> None:
    (workdir / ".flashgrep").mkdir(mode=0o700)
    (workdir / ".flashgrep" / "mcp.sock").write_text("precious", encoding="utf-8")


PLANTED = [planted_link, planted_file, planted_socket_link, planted_regular_socket]


@pytest.mark.parametrize("plant", PLANTED)
def test_what_was_planted_there_is_refused_and_left(workdir: Path, plant: object) -> None:
    assert callable(plant)
    plant(workdir)
    before = sorted(path.name for path in workdir.parent.iterdir())
    assert bind_unix(Settings(), str(workdir)) is None
    assert sorted(path.name for path in workdir.parent.iterdir()) == before


def test_a_gitignore_that_is_a_link_is_not_written_through(workdir: Path) -> None:
    (workdir / ".flashgrep").mkdir(mode=0o700)
    target = workdir / "target"
    target.write_text("precious", encoding="utf-8")
    (workdir / ".flashgrep" / ".gitignore").symlink_to(target)
    bound = bind_unix(Settings(), str(workdir))
    assert bound is not None
    bound.close()
    assert target.read_text(encoding="utf-8") == "precious"


def test_a_path_over_108_bytes_is_bound(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    with serving(deep, tools=TINY, home=tmp_path) as server:
        assert server.unix == str(deep / ".flashgrep" / "mcp.sock")
        before = os.getcwd()
        os.chdir(deep / ".flashgrep")
        try:
            server.unix = "mcp.sock"
            with RawLines(server.open_unix()) as client:
                assert client.ask("ping")["result"] == {}
        finally:
            os.chdir(before)


def test_a_path_that_was_asked_for_and_cannot_be_is_an_error(workdir: Path) -> None:
    settings = Settings(socket=str(workdir / "missing" / "s"), explicit=frozenset({"socket"}))
    with pytest.raises(SettingsError, match="--socket"):
        bind_unix(settings, str(workdir))


def test_none_is_off(workdir: Path) -> None:
    assert bind_unix(Settings(socket="none"), str(workdir)) is None
    assert not (workdir / ".flashgrep").exists()


def test_our_own_processes_are_us() -> None:
    left, right = socket.socketpair()
    with left, right:
        assert peer_is_us(left)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_refused(workdir: Path) -> None:
    """The modes are opened on purpose, so that only the uid check is left."""
    with serving(workdir, tools=TINY) as server:
        path = workdir / ".flashgrep" / "mcp.sock"
        reachable = [path, *path.parents]
        before = {part: mode(part) for part in reachable}
        for part in reachable:
            part.chmod(mode(part) | 0o777 if part == path else mode(part) | 0o055)
        try:
            assert ask_as(65534, path) == b""
            assert ask_as(0, path).startswith(b'{"jsonrpc"')
        finally:
            for part, bits in before.items():
                part.chmod(bits)
        assert server.process.poll() is None


def ask_as(uid: int, path: Path) -> bytes:
    """What a process of that user is answered."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setresuid(uid, uid, uid)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            try:
                client.sendall(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
                os.write(writer, client.recv(1000))
            except (BrokenPipeError, ConnectionResetError):
                pass
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_file_is_gone_after_a_signal_even_with_open_connections(
    workdir: Path, number: int
) -> None:
    with serving(workdir, tools=TINY) as server:
        clients = [server.open_unix(), server.open_tcp(), server.open_http()]
        speaking = RawLines(server.open_tcp())
        speaking.start()
        assert server.stop(number) == 0
        assert not (workdir / ".flashgrep" / "mcp.sock").exists()
        speaking.__exit__()
        for client in clients:
            client.close()
        assert "Traceback" not in server.log.read_text(encoding="utf-8")
