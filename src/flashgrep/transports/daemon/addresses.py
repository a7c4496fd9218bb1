"""Where `serve` listens: which hosts are safe to bind, and what a taken port means.

A default port that is taken is told and left out, the rest goes on; a port that was asked for is
an error. Sockets are bound here and handed on, so nothing else decides modes or addresses.
"""

from __future__ import annotations

import ipaddress
import logging
import socket
from contextlib import suppress
from dataclasses import dataclass

from flashgrep.errors import SettingsError
from flashgrep.settings import BY_NAME, Settings

log = logging.getLogger(__name__)

_BACKLOG = 512


@dataclass(frozen=True)
class Host:
    """A resolved address to bind."""

    family: socket.AddressFamily
    address: str
    loopback: bool
    wildcard: bool


def resolve_host(name: str) -> Host:
    """The address of `--host`; names are resolved, and loopback only where every address is."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise SettingsError(f"--host: {name!r} cannot be resolved ({error})") from None
    addresses = [ipaddress.ip_address(str(row[4][0]).partition("%")[0]) for row in found]
    return Host(
        found[0][0],
        str(found[0][4][0]),
        loopback=all(address.is_loopback for address in addresses),
        wildcard=addresses[0].is_unspecified,
    )


def check_exposure(settings: Settings, host: Host) -> None:
    """Refuse to serve other machines without a token of the user's and a scope."""
    if host.loopback:
        return
    if settings.no_auth:
        raise SettingsError(
            f"--no-auth works on loopback only; {settings.host!r} is reachable from elsewhere"
        )
    missing = [
        flag
        for flag, given in (("--token", settings.token), ("--allow-dir", settings.allow_dir))
        if not given
    ]
    if missing:
        raise SettingsError(
            f"--host {settings.host} is reachable from other machines and needs "
            f"{' and '.join(missing)}; or use 127.0.0.1"
        )


def bind_port(setting: str, settings: Settings, host: Host) -> socket.socket | None:
    """The listening socket of a port setting; None where it is off or a default that is taken."""
    port = getattr(settings, setting)
    if port == "none":
        return None
    number = 0 if port == "auto" else int(port)
    # The protocol is named: asyncio turns Nagle's delay (40 ms an answer) off only where it is.
    listener = socket.socket(host.family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if host.family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((host.address, number))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        flag = BY_NAME[setting].flag
        reason = f"{flag} {number} on {settings.host}: {error.strerror or error}"
        if setting in settings.explicit:
            raise SettingsError(f"{reason}; choose another, auto or none") from None
        log.warning("%s; this listener is off (choose a port with %s)", reason, flag)
        return None
    listener.setblocking(False)
    return listener


def shown(listener: socket.socket) -> str:
    """host:port of a listener, as a URL writes it."""
    address, port = listener.getsockname()[:2]
    with suppress(ValueError):
        if ipaddress.ip_address(address.partition("%")[0]).version == 6:
            address = f"[{address}]"
    return f"{address}:{port}"
