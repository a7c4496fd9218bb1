"""`flashgrep serve`: opens the listeners and serves them all together."""

from __future__ import annotations

import errno
import ipaddress
import itertools
import logging
import os
import secrets
import shlex
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import anyio

from flashgrep import __version__
from flashgrep.errors import SettingsError
from flashgrep.settings import BY_NAME, Settings
from flashgrep.system.program import own_line
from flashgrep.system.state import StateDirectory, workspace_id
from flashgrep.tools.dispatch.caller import Caller, Callers
from flashgrep.tools.dispatch.toolbox import Toolbox
from flashgrep.transports.access import (
    SERVER,
    SESSION_MARK,
    Authorisation,
    ConnectionSlots,
    Entrance,
    is_session,
)
from flashgrep.transports.lines.offers import Offers, direct_methods
from flashgrep.transports.lines.sockets import LineListener, socket_rules
from flashgrep.transports.lines.unix_socket import UnixSocket, bind_unix, peer_is_us
from flashgrep.transports.plain import Offer
from flashgrep.transports.signals import serve_until_signal
from flashgrep.workspace.scope import shown_name

if TYPE_CHECKING:
    from flashgrep.transports.http.server import Mounted

log = logging.getLogger(__name__)


# ── addresses ────────────────────────────────────────────────────────────────────────────────────
# Where `serve` listens: which hosts are safe to bind, and what a taken port means.
#
# A default port that is taken is logged, told and left out; a given port that is taken is an error.
# Sockets are bound here and passed on, so nothing else decides modes or addresses.


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


class ListenerOff(Exception):
    """A listener that is off, and the reason for a person to read."""


def _another_program(_: int) -> str:
    return "another program"


def bind_port(
    setting: str,
    settings: Settings,
    host: Host,
    holder: Callable[[int], str] = _another_program,
    *,
    is_expected: bool = False,
) -> socket.socket:
    """The listening socket of a port; `ListenerOff` if it is off, or a default that is taken.

    `holder` says who has a port that is taken. `is_expected`: that is not worth a warning.
    """
    port, flag = getattr(settings, setting), BY_NAME[setting].flag
    if port == "none":
        raise ListenerOff(f"{flag} is none")
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
        reason = f"{flag} {number} on {settings.host}: {error.strerror or error}"
        if setting in settings.explicit:
            raise SettingsError(f"{reason}; choose another, auto or none") from None
        is_taken = error.errno == errno.EADDRINUSE
        if not (is_taken and is_expected):
            log.warning("%s; this listener is off (choose a port with %s)", reason, flag)
        told = f"{number} is taken by {holder(number)}" if is_taken else reason
        raise ListenerOff(told) from None
    listener.setblocking(False)
    return listener


def shown(listener: socket.socket) -> str:
    """host:port of a listener, as a URL writes it."""
    address, port = listener.getsockname()[:2]
    with suppress(ValueError):
        if ipaddress.ip_address(address.partition("%")[0]).version == 6:
            address = f"[{address}]"
    return f"{address}:{port}"


# ── serve ────────────────────────────────────────────────────────────────────────────────────────


STOP_HINT = "Ctrl-C stops."
"""The last line that is printed: everything listens by then."""

_STRANGER = (
    ": this connection is not known to come from the user who runs the server "
    "(the token is kept for that user, and printed when the server starts)"
)


_VARIABLE = "$FLASHGREP_TOKEN"
_SEND = "Send the server's token in the header Authorization, as Bearer TOKEN"
_SEND_AGENTS = "Send the agent's token in the header Authorization, as Bearer TOKEN"
"""Not as `Authorization: Bearer …`: clients that hide secrets in their logs hide all after it."""


@dataclass(frozen=True)
class Secret:
    """The token in force, and how much of it is printed."""

    token: str | None
    told: str
    in_shell: str = ""
    """How a shell command line spells it."""
    remedy: str = ""
    """For a client without it: where it is, never what it is."""


def choose_secret(settings: Settings, state: StateDirectory | None) -> Secret:
    """The given token, the generated one, or none."""
    if settings.no_auth:
        if settings.token:
            raise SettingsError("--token and --no-auth exclude each other; give one of them")
        remedy = "This server asks for none (--no-auth): leave the header Authorization out"
        return Secret(None, "no token is asked for (--no-auth)", remedy=remedy)
    if is_session(settings.token):
        raise SettingsError(f"--token: what begins with {SESSION_MARK} is a sign-in, not a token")
    if settings.token:
        told = "the one given with --token"
        remedy = f"{_SEND}; it is the one that flashgrep serve was given with --token"
        return Secret(token=settings.token, told=told, in_shell=_VARIABLE, remedy=remedy)
    if state is None:
        token = secrets.token_urlsafe(32)
        told = f"{token} (until this server ends: there is no place to keep it)"
        return Secret(
            token=token,
            told=told,
            in_shell=token,
            remedy=f"{_SEND}; flashgrep serve printed it when it started",
        )
    token, path = state.token(), state.token_path
    shown_path = shown_name(os.fsencode(path))
    remedy = f"{_SEND}; it is kept in {shown_path}, and flashgrep serve prints it when it starts"
    return Secret(
        token=token, told=f"{token} (kept in {path})", in_shell=f"$(cat '{path}')", remedy=remedy
    )


@dataclass
class Serving:
    """Bound listeners over one toolbox."""

    toolbox: Toolbox
    callers: Callers
    settings: Settings
    secret: Secret
    host: Host
    http: socket.socket | None
    tcp: socket.socket | None
    unix: UnixSocket | None
    off: Mapping[str, str] = field(default_factory=dict)
    """Why a listener is off, by its name in the banner."""
    neighbour: str = ""
    """What to say of a server of this workspace that runs already."""
    mounted: Mounted | None = None
    """Further routes on HTTP."""
    toolbox_for: Callable[[Settings], Toolbox] | None = None
    """Makes the tools of a connection that has its own settings; None: none has."""
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    @classmethod
    def prepare(
        cls,
        toolbox: Toolbox,
        callers: Callers,
        settings: Settings,
        workdir: str,
        state: StateDirectory | None,
        neighbour: str = "",
        holder: Callable[[int], str] = _another_program,
    ) -> Serving:
        """Bind everything, or raise `SettingsError`; `holder` says who has a port that is taken."""
        host = resolve_host(settings.host)
        check_exposure(settings, host)
        secret = choose_secret(settings, state)
        off: dict[str, str] = {}
        with ExitStack() as bound:

            def port(name: str) -> socket.socket | None:
                try:
                    listener = bind_port(
                        f"{name}_port", settings, host, holder, is_expected=bool(neighbour)
                    )
                except ListenerOff as reason:
                    off[name] = str(reason)
                    return None
                return bound.enter_context(closing(listener))

            http, tcp = port("http"), port("tcp")
            unix = bind_unix(settings, workdir, is_expected=bool(neighbour))
            if unix is not None:
                bound.callback(unix.close)
            if http is None and tcp is None and unix is None:
                raise SettingsError(neighbour or "no listener is left; use --http-port auto")
            bound.pop_all()
        return cls(
            toolbox=toolbox,
            callers=callers,
            settings=settings,
            secret=secret,
            host=host,
            http=http,
            tcp=tcp,
            unix=unix,
            off=off,
            neighbour=neighbour,
        )

    @property
    def told(self) -> list[str]:
        """What is printed at the start: addresses, token, a line to paste."""
        lines = [self.neighbour] if self.neighbour else []
        lines.append(f"flashgrep {__version__}")
        lines += [f"  http   {self._url(self.http)}/mcp"] if self.http else self._told_off("http")
        if self.tcp is not None:
            lines.append(f"  tcp    {shown(self.tcp)}")
            lines.append(f"         {self._told_of_tcp}")
        else:
            lines += self._told_off("tcp")
        if self.unix is not None:
            lines.append(f"  unix   {self.unix.path}")
        if not self.settings.no_workspace:
            workdir = os.path.realpath(os.fsencode(self.settings.workdir))
            lines.append(f"  files  {shown_name(workdir)}")
        lines += self._told_of_notes() if self._has_notes else [f"  token  {self.secret.told}"]
        if self.http is not None and (pasted := self._pasted(f"{self._url(self.http)}/mcp")):
            lines.append(f"  claude mcp add --transport http flashgrep {pasted}")
            if _VARIABLE in pasted:  # a token that was given is never printed
                lines.append(f"         set {_VARIABLE[1:]} to that token where you paste this")
        if self.mounted is not None and self.mounted.link:
            lines.append(f"Open: {self.mounted.link}")
        return [*lines, STOP_HINT]

    def _told_off(self, name: str) -> list[str]:
        """That a port is off although nobody turned it off, and what to do."""
        flag = f"--{name}-port"
        if getattr(self.settings, f"{name}_port") == "none":
            return []
        remedy = "" if self.neighbour else f"; choose one with {flag}, or {flag} auto"
        return [f"  {name:<5}  off: {self.off[name]}{remedy}"]

    @property
    def _has_notes(self) -> bool:
        return self.mounted is not None and self.mounted.tokens is not None

    @property
    def address(self) -> str | None:
        """Where a browser finds the pages; None where HTTP is off."""
        return self._url(self.http) if self.http is not None else None

    def _told_of_notes(self) -> Iterator[str]:
        """What is mounted, and who each token is for: one decides, the other suggests."""
        mounted = self.mounted
        assert mounted is not None  # noqa: S101 - asked for only then
        yield f"  notes  {mounted.told}"
        if self.secret.token is None:
            yield f"  token  {self.secret.told}: every client decides on suggestions"
            return
        yield f"  token  {self.secret.told}: yours; admin on the notes, decides on suggestions"
        if mounted.agent is not None:
            files = "" if self.settings.no_workspace else "; opens the files as yours does"
            kept = f"{mounted.agent.name} (kept in {mounted.agent.path})"
            yield f"  agent  {kept}: suggest on the notes, decides nothing{files}"
        elif self.http is not None or self.tcp is not None:
            kb = str(self.settings.kb.absolute()) if self.settings.kb else "PATH"
            make_one = own_line("kb", "token", "make", "NAME", "--role", "suggest", "--kb", kb)
            yield f"  agent  none; make one with: {make_one}"

    @property
    def _remedy(self) -> str:
        """For a client without a token: with notes, the one that decides nothing."""
        if self.mounted is None or self.mounted.agent is None:
            return self.secret.remedy
        if not self.host.loopback:  # a path names the user, and other machines are told no names
            return f"{_SEND_AGENTS}; flashgrep serve said where it is kept when it started"
        path = shown_name(os.fsencode(self.mounted.agent.path))
        return (
            f"{_SEND_AGENTS}; it is kept in {path} (where it was revoked, the next start of "
            "flashgrep serve makes another)"
        )

    def agents_of(self, workdir: str) -> str | None:
        """What a token for agents is made for; None where they need none, or cannot connect."""
        if (self.http is None and self.tcp is None) or self.secret.token is None:
            return None
        return "notes" if self.settings.no_workspace else workspace_id(os.fsencode(workdir))

    @property
    def _told_of_tcp(self) -> str:
        if self.secret.token is None:
            return "everything is open to every user of this machine (--no-auth)"
        if self.settings.token:
            return "only auth is accepted until the token has been presented"
        return "your own programs may read; writing, and other users, need auth with the token"

    def _url(self, listener: socket.socket) -> str:
        """Where clients reach us: the guard would not accept a wildcard address."""
        address = shown(listener)
        if self.host.wildcard:
            port = address.rpartition(":")[2]
            name = next(iter(self.settings.allowed_host), "localhost")
            address = name if name.endswith(f":{port}") else f"{name}:{port}"
        return f"http://{address}"

    def _pasted(self, url: str) -> str:
        """The address and the token to paste; with notes never the one that decides on them."""
        if self.secret.token is None:
            return url
        shell = self.secret.in_shell
        if self.mounted is not None and self._has_notes:
            if self.mounted.agent is None:
                return ""
            shell = f"$(cat {shlex.quote(str(self.mounted.agent.path))})"
        return f'{url} --header "Authorization: Bearer {shell}"'

    async def run(self) -> None:
        """Serve until a signal; afterwards sockets and their files are removed."""
        try:
            await serve_until_signal(self._serve)
        finally:
            self.close()

    def close(self) -> None:
        """Stop listening, and remove the socket file."""
        for listener in (self.http, self.tcp, self.unix):
            if listener is not None:
                listener.close()

    async def _serve(self) -> None:
        async with anyio.create_task_group() as tasks:
            for listener in self._line_listeners():
                tasks.start_soon(listener.run)
            if self.http is not None:
                tasks.start_soon(self._serve_http, self.http)

    def _line_listeners(self) -> Iterator[LineListener]:
        offer = Offer(self.toolbox, structured=self.settings.structured)
        direct = direct_methods(self.toolbox)
        if self.tcp is not None:
            # With --token the user at the other end makes no difference.
            admits_own = not self.settings.token
            rules = socket_rules(direct, strict_first_line=True)
            yield LineListener(
                self.tcp, offer, self._tcp_gate, rules, admits_own, self.toolbox.activity
            )
        if self.unix is not None:
            join = Offers(self.settings, self.toolbox_for).join if self.toolbox_for else None
            rules = socket_rules(direct, join=join)
            yield LineListener(
                self.unix.listener,
                offer,
                self._unix_gate,
                rules,
                activity=self.toolbox.activity,
            )

    async def _serve_http(self, listener: socket.socket) -> None:
        from flashgrep.transports.http.connections import serve_http
        from flashgrep.transports.http.guard import Names
        from flashgrep.transports.http.server import build_app

        accepted = Names.of(
            self._bound_names(),
            listener.getsockname()[1],
            self.settings.allowed_host,
            self.settings.allowed_origin,
        )
        app = build_app(
            self.toolbox,
            self.callers,
            accepted,
            self._entrance,
            self.settings.structured,
            self.mounted,
            self._remedy,
            self.secret.remedy,
        )
        await serve_http(app, listener)

    def _bound_names(self) -> list[str]:
        if self.host.wildcard:
            return []
        six = self.host.family == socket.AF_INET6
        return [self.settings.host, f"[{self.host.address}]" if six else self.host.address]

    def _tcp_gate(self, connection: socket.socket) -> Authorisation:
        open_to_all = self.secret.token is None
        token = "" if open_to_all else SERVER
        caller = Caller(f"tcp:{next(self._numbers)}", may_write=open_to_all, token=token)
        reason = "" if self.settings.token else _STRANGER
        return Authorisation(caller, self._entrance, locked=not open_to_all, reason=reason)

    def _unix_gate(self, connection: socket.socket) -> Authorisation | None:
        if not peer_is_us(connection):
            return None
        return Authorisation(Caller(f"unix:{next(self._numbers)}"), self._entrance)

    @cached_property
    def _entrance(self) -> Entrance:
        """For HTTP and for `auth`, which take the same tokens."""
        mounted = self.mounted
        return Entrance(
            self.secret.token,
            mounted.tokens if mounted else None,
            ConnectionSlots(self.settings.live_connections, self.settings.live_share),
            mounted.agent.secret if mounted and mounted.agent else None,
            mounted.sessions if mounted else None,
        )
