"""The user at the other end of a TCP connection inside one machine.

The kernel knows the owner of both ends. The peer's end is looked up by its exact addresses and
ports:

    sock_diag       a netlink request, answered from the kernel's hash table: about 20 µs, however
                    many sockets there are
    /proc/net/tcp   the same rows as text, where netlink is not available: the whole table is
    /proc/net/tcp6  read, so in a thread, one reader at a time

Only a row with an inode counts: a peer that has closed leaves a row with owner 0, which would make
it root. Listeners and half-open connections do not count either. An unknown peer is not our user;
on a system with neither table, no peer is.

The uid is that of the process that made the socket. A process of our user that passes its socket
on, or forwards connections, acts as our user: nothing here can detect that.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Final, NamedTuple

import anyio
import anyio.to_thread

TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_OVERFLOW_UID: Final = Path("/proc/sys/kernel/overflowuid")
_READINGS: Final = 2
"""The kernel gives a table in pieces, and a row may slip between two while others come and go."""
_UID_MAP: Final = Path("/proc/self/uid_map")
_EVERY_UID: Final = ["0", "0", "4294967295"]

# linux/sock_diag.h, linux/inet_diag.h, linux/netlink.h
_NETLINK_SOCK_DIAG: Final = 4
_SOCK_DIAG_BY_FAMILY: Final = 20
_NLM_F_REQUEST: Final = 1
_HEADER: Final = struct.Struct("=IHHII")  # length, type, flags, sequence, sender
_REQUEST: Final = struct.Struct("=BBBxI")  # family, protocol, extensions, states
_SOCKET_ID: Final = struct.Struct("!HH16s16s")  # source port, destination port, addresses
_ANY_COOKIE: Final = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)  # interface, cookie
_MESSAGE: Final = struct.Struct("=BBBB")  # family, state, timer, retransmissions
_OWNER: Final = struct.Struct("=IIIII")  # expires, receive queue, send queue, uid, inode
_ANSWER_BYTES: Final = 8192

_LISTEN: Final = 10
_CONNECTED: Final = frozenset({1, 4, 5, 8})
"""ESTABLISHED, FIN_WAIT1 and FIN_WAIT2 (it has sent all and still reads), CLOSE_WAIT."""


class Ends(NamedTuple):
    """A socket by its own address and port, and those of the other end."""

    address: bytes
    port: int
    far_address: bytes
    far_port: int


class Row(NamedTuple):
    """What the kernel says about a socket."""

    state: int
    uid: int
    inode: int


@dataclass(frozen=True)
class PeerUsers:
    """Looks up the peers of one listener."""

    by_netlink: bool
    tables: tuple[Path, Path] = TABLES
    _readers: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))

    @classmethod
    def of(cls, listener: socket.socket) -> PeerUsers:
        """Use netlink if it finds the listener itself."""
        address, port = listener.getsockname()[:2]
        packed = _packed(address)
        found = None
        with suppress(OSError):
            found = _ask_netlink(
                Ends(address=packed, port=port, far_address=bytes(len(packed)), far_port=0), _LISTEN
            )
        return cls(found is not None)

    async def is_us(self, connection: socket.socket) -> bool:
        """Whether the peer is known to run as our own user; root is not, unless we are."""
        try:
            ends = _ends_of_peer(connection)
            if self.by_netlink:
                row = _ask_netlink(ends)
            else:
                reading = partial(_read_tables, self.tables, ends)
                row = await anyio.to_thread.run_sync(reading, limiter=self._readers)
            # The addresses identify this peer only while our end is open: after a reset another
            # process may have connected from the same port.
            is_current = _is_open(connection)
        except OSError:
            return False
        return row is not None and is_current and _is_ours(row)


def _is_ours(row: Row) -> bool:
    is_alive = row.state in _CONNECTED and row.inode != 0
    return is_alive and row.uid == os.geteuid() and row.uid != _uid_of_strangers()


@cache
def _uid_of_strangers() -> int | None:
    """The uid by which a user namespace shows all users it does not know; None outside of one."""
    try:
        if _UID_MAP.read_text(encoding="ascii").split() == _EVERY_UID:
            return None
        return int(_OVERFLOW_UID.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _is_open(connection: socket.socket) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    state = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
    return state in _CONNECTED


def _ends_of_peer(connection: socket.socket) -> Ends:
    address, port = connection.getpeername()[:2]
    far_address, far_port = connection.getsockname()[:2]
    return Ends(
        address=_packed(address), port=port, far_address=_packed(far_address), far_port=far_port
    )


def _packed(address: str) -> bytes:
    """An address in bytes; IPv4 written as IPv6 is IPv4, as which the kernel keeps it too."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        return parsed.ipv4_mapped.packed
    return parsed.packed


# ── sock_diag ───────────────────────────────────────────────────────────────────────────────────


def _ask_netlink(ends: Ends, state: int | None = None) -> Row | None:
    """The row of a socket; None if there is none, or only one that resembles it."""
    family = socket.AF_INET if len(ends.address) == 4 else socket.AF_INET6
    wanted = _SOCKET_ID.pack(ends.port, ends.far_port, ends.address, ends.far_address)
    body = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, 0xFFFFFFFF) + wanted + _ANY_COOKIE
    head = _HEADER.pack(
        _HEADER.size + len(body), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, sequence := 1, 0
    )
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
        kernel.sendto(head + body, (0, 0))
        answer = kernel.recv(_ANSWER_BYTES, socket.MSG_DONTWAIT)  # it is there: sendto made it
    _, kind, _, answered, _ = _HEADER.unpack_from(answer)
    if kind != _SOCK_DIAG_BY_FAMILY or answered != sequence:
        return None
    at = _HEADER.size
    _, found_state, _, _ = _MESSAGE.unpack_from(answer, at)
    at += _MESSAGE.size
    found = _SOCKET_ID.unpack_from(answer, at)
    at += _SOCKET_ID.size + len(_ANY_COOKIE)
    *_, uid, inode = _OWNER.unpack_from(answer, at)
    # Where no such connection exists, the kernel answers with a listener on the port.
    if state is None and not _names(found, ends):
        return None
    if state is not None and found_state != state:
        return None
    return Row(found_state, uid, inode)


def _names(found: tuple[int, int, bytes, bytes], ends: Ends) -> bool:
    port, far_port, address, far_address = found
    return (port, far_port) == (ends.port, ends.far_port) and (
        _same(address, ends.address) and _same(far_address, ends.far_address)
    )


def _same(found: bytes, wanted: bytes) -> bool:
    """The kernel reports an IPv6 socket that speaks IPv4 with a mapped address."""
    if len(wanted) == 4:
        return found in (wanted + bytes(12), _mapped(wanted))
    return found == wanted


def _mapped(address: bytes) -> bytes:
    return bytes(10) + b"\xff\xff" + address


# ── /proc ───────────────────────────────────────────────────────────────────────────────────────


def _read_tables(tables: tuple[Path, Path], ends: Ends) -> Row | None:
    """The row of a socket in the tables as text; IPv4 may be in either."""
    forms = [ends]
    if len(ends.address) == 4:
        forms.append(
            ends._replace(address=_mapped(ends.address), far_address=_mapped(ends.far_address))
        )
    for form in forms * _READINGS:
        table = tables[len(form.address) == 16]
        with suppress(FileNotFoundError):  # no IPv6 here
            row = _find_row(table.read_bytes(), form)
            if row is not None:
                return row
    return None


def _find_row(table: bytes, ends: Ends) -> Row | None:
    """A line: number, both ends, state, queues, timer, retransmissions, uid, time-out, inode."""
    near = f"{_hexadecimal(ends.address)}:{ends.port:04X}"
    far = f"{_hexadecimal(ends.far_address)}:{ends.far_port:04X}"
    _, found, rest = table.partition(f" {near} {far} ".encode())
    if not found:
        return None
    fields = rest.partition(b"\n")[0].split()
    return Row(int(fields[0], 16), int(fields[4]), int(fields[6]))


def _hexadecimal(address: bytes) -> str:
    """As the kernel prints it: words of four bytes, each as this machine's number."""
    words = struct.unpack(f"={len(address) // 4}I", address)
    return "".join(f"{word:08X}" for word in words)
