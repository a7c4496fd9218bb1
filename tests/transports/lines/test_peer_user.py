"""Who is recognised on the TCP port: our own user, and nobody else."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from flashgrep.transports.lines.peer_user import PeerUsers
from tests.transports.clients import (
    HANDSHAKE,
    PATIENCE_SECONDS,
    TINY,
    RawLines,
    Server,
    request,
    serving,
    tool_call,
)

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")

# --host, family and address of the client
WAYS = [("127.0.0.1", socket.AF_INET, "127.0.0.1")]
if Path("/proc/net/if_inet6").exists():  # this machine speaks IPv6
    WAYS += [
        ("127.0.0.1", socket.AF_INET6, "::ffff:127.0.0.1"),
        ("::1", socket.AF_INET6, "::1"),
    ]


def connected(family: int, address: str, port: int) -> socket.socket:
    client = socket.socket(family, socket.SOCK_STREAM)
    client.settimeout(PATIENCE_SECONDS)
    client.connect((address, port))
    return client


def as_user(uid: int, act: Callable[[], Any]) -> Any:
    """What `act` gives in a process of that user; it can import nothing any more."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            os.write(writer, json.dumps(act()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return json.loads(said)


def codes(client: RawLines, *messages: dict[str, Any]) -> list[str]:
    found = []
    for message in messages:
        client.send(message)
        answer = client.receive()
        found.append(answer["error"]["data"]["code"] if "error" in answer else "ok")
    return found


EVERYTHING = (
    request("ping", 1),
    request("initialize", 2, **HANDSHAKE),
    request("tools/list", 3),
    tool_call("echo", 4, text="hello"),
    request("echo", 5, text="hello"),
    request("put", 6, text="hello"),
)


@as_root
@pytest.mark.parametrize(("host", "family", "address"), WAYS)
def test_another_user_gets_nothing_before_the_token(
    tmp_path: Path, host: str, family: int, address: str
) -> None:
    (tmp_path / "w").mkdir()
    with serving(tmp_path / "w", ["--host", host], tools=TINY, home=tmp_path) as server:

        def act() -> list[list[str]]:
            with RawLines(connected(family, address, server.tcp or 0)) as client:
                before = codes(client, *EVERYTHING)
                shown = codes(client, request("auth", 0, token=server.token))
                return [before, shown, codes(client, request("put", 7, text="hello"))]

        refused = ["access_denied"] * len(EVERYTHING)
        assert as_user(NOBODY, act) == [refused, ["ok"], ["ok"]]
        with RawLines(connected(family, address, server.tcp or 0)) as client:
            assert codes(client, *EVERYTHING) == [*["ok"] * 5, "access_denied"]


@as_root
def test_another_user_reads_no_file_of_the_real_server(tmp_path: Path) -> None:
    secret = tmp_path / "w" / "secret"
    secret.parent.mkdir()
    secret.write_text("hidden\n", encoding="utf-8")
    secret.chmod(0o600)
    flags = ["--no-index"]
    lines = {"file_path": str(secret), "start_line": 1, "end_line": 1}

    with serving(tmp_path / "w", flags, home=tmp_path) as server:

        def act() -> Any:
            with RawLines(connected(socket.AF_INET, "127.0.0.1", server.tcp or 0)) as client:
                return client.ask("get_slice", 1, **lines)

        answer = as_user(NOBODY, act)
        assert answer["error"]["data"] == {"code": "access_denied"}
        assert "not known to come from the user who runs the server" in answer["error"]["message"]
        assert act()["result"]["content"] == "hidden"


@contextmanager
def paused(server: Server) -> Iterator[None]:
    """The kernel accepts connections meanwhile, the program does not."""
    server.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.process.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("uid", [os.geteuid(), pytest.param(NOBODY, marks=as_root)])
def test_a_peer_that_closes_at_once_is_nobody(tmp_path: Path, uid: int) -> None:
    """Its row reads uid 0, which a server of root's would take for its own user."""
    witness = tmp_path / "witness"
    (tmp_path / "w").mkdir()
    with serving(tmp_path / "w", tools=TINY, home=tmp_path) as server:

        def act() -> bool:
            with connected(socket.AF_INET, "127.0.0.1", server.tcp or 0) as client:
                client.sendall(json.dumps(request("wait", 1, text=str(witness))).encode() + b"\n")
            return True

        with paused(server):
            assert as_user(uid, act) if uid != os.geteuid() else act()
        with RawLines(server.open_tcp()) as later:
            assert later.ask("echo", 1, text="after it")["result"]
        server.stop()
        assert not witness.exists()


def test_a_peer_that_has_said_all_before_it_is_accepted_is_answered(server: Server) -> None:
    """As `echo … | nc -N` does."""
    with paused(server):
        client = RawLines(server.open_tcp())
        client.send(request("echo", 1, text="hello"))
        client.connection.shutdown(socket.SHUT_WR)
    with client:
        assert client.receive()["result"]


def test_what_is_told_says_who_needs_the_token(server: Server, locked_server: Server) -> None:
    assert any("other users" in line and "auth" in line for line in server.told)
    assert any("only auth is accepted" in line for line in locked_server.told)


# ── the two tables ──────────────────────────────────────────────────────────────────────────────


def established(client: socket.socket, accepted: socket.socket) -> None:
    pass


def half_closed(client: socket.socket, accepted: socket.socket) -> None:
    client.shutdown(socket.SHUT_WR)


def closed(client: socket.socket, accepted: socket.socket) -> None:
    client.close()


def closed_on_both_sides(client: socket.socket, accepted: socket.socket) -> None:
    accepted.shutdown(socket.SHUT_WR)
    client.close()


def reset(client: socket.socket, accepted: socket.socket) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def replaced_by_a_listener(client: socket.socket, accepted: socket.socket) -> None:
    """Where no connection is, the kernel offers whoever listens on the port."""
    address = client.getsockname()
    reset(client, accepted)
    again = socket.socket(client.family)
    _KEPT.append(again)
    again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    again.bind(address)
    again.listen()


def replaced_by_a_peer(client: socket.socket, accepted: socket.socket) -> None:
    """After a reset somebody else may connect from the same port."""
    address, far = client.getsockname(), client.getpeername()
    reset(client, accepted)
    again = socket.socket(client.family)
    _KEPT.append(again)
    again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    again.bind(address)
    again.connect(far)


_KEPT: list[socket.socket] = []


@pytest.fixture(autouse=True)
def _release() -> Iterator[None]:
    yield
    while _KEPT:
        _KEPT.pop().close()


MOMENTS = [
    (established, True),
    (half_closed, True),
    (closed, False),
    (closed_on_both_sides, False),
    (reset, False),
    (replaced_by_a_listener, False),
    (replaced_by_a_peer, False),
]


@pytest.mark.parametrize(("host", "family", "address"), WAYS)
@pytest.mark.parametrize(("moment", "expected"), MOMENTS)
def test_both_tables_know_our_user_while_it_is_there(
    host: str,
    family: int,
    address: str,
    moment: Callable[[socket.socket, socket.socket], None],
    expected: bool,
) -> None:
    for by_netlink in (True, False):
        with listening(host) as listener:
            assert PeerUsers.of(listener).by_netlink
            accepted, client = brought_to(moment, listener, family, address)
            with accepted, client:
                assert anyio.run(PeerUsers(by_netlink).is_us, accepted) is expected


def brought_to(
    moment: Callable[[socket.socket, socket.socket], None],
    listener: socket.socket,
    family: int,
    address: str,
) -> tuple[socket.socket, socket.socket]:
    """Both ends of a connection; tried again where another program has taken the port."""
    for _ in range(50):
        client = connected(family, address, listener.getsockname()[1])
        accepted, _ = listener.accept()
        try:
            moment(client, accepted)
        except OSError:
            client.close()
            accepted.close()
        else:
            return accepted, client
    raise AssertionError("no port could be had twice")


def test_a_peer_is_known_through_a_listener_of_both_families() -> None:
    both = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    with both as listener, connected(socket.AF_INET, "127.0.0.1", both.getsockname()[1]):
        accepted, _ = listener.accept()
        with accepted:
            for by_netlink in (PeerUsers.of(listener).by_netlink, False):
                assert anyio.run(PeerUsers(by_netlink).is_us, accepted)


def test_without_any_table_nobody_is_recognised(tmp_path: Path) -> None:
    missing = (tmp_path / "tcp", tmp_path / "tcp6")
    listener = listening("127.0.0.1")
    with listener, connected(socket.AF_INET, "127.0.0.1", listener.getsockname()[1]):
        accepted, _ = listener.accept()
        with accepted:
            assert not anyio.run(PeerUsers(by_netlink=False, tables=missing).is_us, accepted)


def listening(host: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, 0), family=family)
