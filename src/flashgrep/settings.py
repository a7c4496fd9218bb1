"""The settings: each option is one row, and field, flag, environment name and docs come from it.

`Settings` is what the user asked for, validated and inert; `app.build` turns it into a server.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, TypeVar

from flashgrep import limits
from flashgrep.errors import SettingsError

ENVIRONMENT_PREFIX: Final = "FLASHGREP_"
OTHER_VARIABLES: Final = frozenset(
    f"{ENVIRONMENT_PREFIX}{name}"
    for name in (
        "NO_OPENAT2",
        "HEAVY",
        "SEED",
        "SOAK_MINUTES",
        "MUTANT",
        "CORPUS",
        "REQUIRE_BROWSER",
    )
)
"""Our variables that are not settings."""
TOOLSETS: Final = ("files", "index", "kb")
LOG_LEVELS: Final = ("debug", "info", "warning", "error")
LOG_FORMATS: Final = ("text", "json")
REQUIRE_VIEW: Final = ("auto", "true", "false")
KB_MARKUP: Final = ("plain", "commentator")
DEFAULT_HTTP_PORT: Final = 7778
DEFAULT_TCP_PORT: Final = 7777

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Setting:
    """One option: how it is named, what it holds, what it means."""

    name: str
    default: Any
    parse: Callable[[str], Any]
    help: str
    unit: str = ""
    details: str = ""
    """What docs/settings.md says beyond the help; whole sentences."""
    metavar: str = ""
    repeatable: bool = False
    serve_only: bool = False
    per_connection: bool = False
    """Whether each connection has its own; see `transports.lines.join`."""

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def environment(self) -> str:
        return ENVIRONMENT_PREFIX + self.name.upper()

    @property
    def described(self) -> str:
        """The help, with the default, and whether it may be given again."""
        notes = ["repeatable"] if self.repeatable else []
        if self.default not in ("", (), False, None):
            shown = ",".join(self.default) if isinstance(self.default, tuple) else self.default
            notes.append(f"default {shown}")
        return f"{self.help} ({'; '.join([*notes, self.environment])})"

    @property
    def takes(self) -> str:
        """What it may hold, as its parser says."""
        return (self.parse.__doc__ or "").partition("\n")[0].rstrip(".")

    @property
    def is_switch(self) -> bool:
        return self.parse is parse_switch


def parse_text(text: str) -> str:
    """Text without NUL."""
    if "\0" in text:
        raise SettingsError("a NUL character is not allowed here")
    return text


def parse_directory(text: str) -> Path:
    """A directory; an empty path is refused, because it would be the current one."""
    if not text:
        raise SettingsError("the path is empty; name a directory")
    return Path(parse_text(text))


def parse_switch(text: str) -> bool:
    """A yes or no, as environments spell it."""
    lowered = text.strip().lower()
    if lowered in _TRUE or lowered in _FALSE:
        return lowered in _TRUE
    raise SettingsError(f"{text!r} is not a switch; use true or false")


def parse_size(text: str) -> int:
    """A size in binary multiples: 512, 64KB, 1.5MB."""
    match = _SIZE.fullmatch(text.strip())
    size = int(float(match[1]) * _UNITS[match[2].lower()]) if match else 0
    if size < 1:
        raise SettingsError(f"{text!r} is not a size; write 512KB, 10MB or 1.5GB")
    return size


def parse_count(text: str) -> int:
    """A whole number, zero or more."""
    if not re.fullmatch(r"\d{1,12}", text.strip()):
        raise SettingsError(f"{text!r} is not a whole number of zero or more")
    return int(text)


def parse_number(text: str) -> int:
    """A whole number from 1 to 999999."""
    if not re.fullmatch(r"\d{1,6}", text.strip()) or int(text) < 1:
        raise SettingsError(f"{text!r} is not a number from 1 to 999999")
    return int(text)


def parse_port(text: str) -> int | str:
    """A port number; `0` or `none` is off, `auto` any free one."""
    word = text.strip().lower()
    if word in ("none", "0"):
        return "none"
    if word == "auto":
        return "auto"
    if re.fullmatch(r"\d{1,5}", word) and 1 <= int(word) <= 65535:
        return int(word)
    raise SettingsError(f"{text!r} is not a port; use 1 to 65535, none or auto")


def one_of(valid: Sequence[str]) -> Callable[[str], str]:
    """A parser for a word out of a list."""

    def parse(text: str) -> str:
        word = text.strip().lower()
        if word not in valid:
            raise SettingsError(f"{text!r} is not valid; use one of {', '.join(valid)}")
        return word

    parse.__doc__ = f"One of {', '.join(valid)}."
    return parse


def parse_words(text: str) -> tuple[str, ...]:
    """Words separated by commas."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def parse_toolsets(text: str) -> tuple[str, ...]:
    """Toolset names separated by commas."""
    words = parse_words(text)
    for word in words:
        if word not in TOOLSETS:
            raise SettingsError(f"unknown toolset {word!r}; valid: {', '.join(TOOLSETS)}")
    if not words:
        raise SettingsError(f"no toolset named; valid: {', '.join(TOOLSETS)}")
    return words


def _setting(
    default: _Value,
    parse: Callable[[str], Any],
    help: str,  # noqa: A002 - as click has it
    **rest: Any,
) -> _Value:
    """A field of `Settings` and its row; to a type checker, its default."""
    made: _Value = field(default=default, metadata={"parse": parse, "help": help, **rest})
    return made


def _switch(help: str, **rest: Any) -> bool:  # noqa: A002 - as click has it
    return _setting(False, parse_switch, help, **rest)


@dataclass(frozen=True)
class Settings:
    """What the user asked for: validated, frozen, doing nothing.

    Each field is a row of the table: flag, environment variable, help and the row of
    docs/settings.md come from it.
    """

    workdir: str = _setting(".", parse_text, "where relative paths start", metavar="DIR")
    allow_dir: tuple[str, ...] = _setting(
        (), parse_text, "only paths in this directory are reachable", metavar="DIR", repeatable=True
    )
    deny_dir: tuple[str, ...] = _setting(
        (),
        parse_text,
        "paths matching this glob are not reachable",
        details="Such as `**/.env`. Deny wins over allow.",
        metavar="GLOB",
        repeatable=True,
    )
    max_file_size: int = _setting(
        limits.FILE_BYTES,
        parse_size,
        "largest file for view, read, images and writes",
        unit="bytes",
        details="One message, so one write, is at most 4 MiB.",
        metavar="SIZE",
    )
    anthropic_compat: bool = _switch("Claude Code's tool and parameter names", per_connection=True)
    require_view_before_edit: str = _setting(
        "auto",
        one_of(REQUIRE_VIEW),
        "auto: edit and write need a read first; true: str_replace too; false: no tool does",
        metavar="|".join(REQUIRE_VIEW),
        per_connection=True,
    )
    toolsets: tuple[str, ...] = _setting(
        TOOLSETS,
        parse_toolsets,
        "toolsets to offer, comma-separated",
        metavar="NAMES",
        per_connection=True,
    )
    disable_tools: tuple[str, ...] = _setting(
        (),
        parse_words,
        "tools to leave out, comma-separated; for a server that writes nothing use --read-only",
        details="Other tools still write.",
        metavar="NAMES",
        per_connection=True,
    )
    read_only: bool = _switch(
        "offer no tool that writes, in either naming mode, on any transport",
        details="People still edit notes on the pages of `serve --kb`.",
        per_connection=True,
    )
    structured: bool = _switch("add structuredContent to answers", per_connection=True)
    max_output_chars: int = _setting(
        limits.OUTPUT_CHARS,
        parse_count,
        "longest answer in characters; 0 = no limit; by default "
        f"{limits.HINTED_OUTPUT_CHARS} for clients that take answers of that size whole",
        unit="characters",
        details="The clients with the larger budget are Claude Code from 2.1.98 on.",
        metavar="N",
        per_connection=True,
    )
    call_seconds: int = _setting(
        limits.CALL_SECONDS,
        parse_count,
        "time limit of one call in seconds; 0 = no limit",
        unit="seconds",
        details="The answer says if it was reached.",
        metavar="N",
        per_connection=True,
    )
    skill_file: str = _setting(
        "", parse_text, "skill file to use instead of the built-in one", metavar="FILE"
    )
    no_index: bool = _switch("search by scanning the files, without an index")
    verify_index: bool = _switch(
        "answer with and without the index and compare", details="Any difference is reported."
    )
    state_dir: str = _setting(
        "", parse_text, "where flashgrep keeps its state (index, token)", metavar="DIR"
    )
    kb: Path | None = _setting(  # noqa: RUF009 - makes a field; None is immutable
        None, parse_directory, "serve the notes of this knowledge base too", metavar="PATH"
    )
    no_workspace: bool = _switch("serve the notes of --kb only, and no files")
    kb_markup: str = _setting(
        "plain",
        one_of(KB_MARKUP),
        "how suggestions are marked: plain, or with Obsidian Commentator's metadata as well",
        metavar="|".join(KB_MARKUP),
    )
    log_level: str = _setting(
        "info", one_of(LOG_LEVELS), "what is logged to stderr", metavar="LEVEL"
    )
    log_format: str = _setting("text", one_of(LOG_FORMATS), "text or json lines", metavar="FORMAT")
    host: str = _setting(
        "127.0.0.1", parse_text, "address to listen on", metavar="ADDRESS", serve_only=True
    )
    http_port: int | str = _setting(
        DEFAULT_HTTP_PORT,
        parse_port,
        "HTTP port; 0 or none = off, auto = any free one",
        details="If the default port is taken, this listener is off and the banner says so; "
        "if a port that you gave is taken, that is an error.",
        metavar="PORT",
        serve_only=True,
    )
    tcp_port: int | str = _setting(
        DEFAULT_TCP_PORT,
        parse_port,
        "TCP port; 0 or none = off, auto = any free one",
        details="As with `--http-port`.",
        metavar="PORT",
        serve_only=True,
    )
    socket: str = _setting(
        "",
        parse_text,
        "unix socket (default .flashgrep/mcp.sock in the workdir); none = off",
        metavar="PATH",
        serve_only=True,
    )
    token: str = _setting(
        "", parse_text, "bearer token callers must present", metavar="T", serve_only=True
    )
    live_connections: int = _setting(
        limits.LIVE_CONNECTIONS,
        parse_number,
        "connections that stay open on HTTP: live editing, events, MCP streams",
        unit="connections",
        metavar="N",
        serve_only=True,
    )
    live_share: int = _setting(
        limits.LIVE_SHARE,
        parse_number,
        "how many of these one token may hold",
        unit="connections",
        metavar="N",
        serve_only=True,
    )
    no_auth: bool = _switch("no token on loopback", serve_only=True)
    allowed_host: tuple[str, ...] = _setting(
        (),
        parse_text,
        "further Host header to accept",
        metavar="HOST",
        repeatable=True,
        serve_only=True,
    )
    allowed_origin: tuple[str, ...] = _setting(
        (),
        parse_text,
        "further Origin header to accept",
        metavar="URL",
        repeatable=True,
        serve_only=True,
    )
    explicit: frozenset[str] = frozenset()
    """Names of the settings that were given: a given port that is taken is an error."""

    @property
    def compat_names(self) -> bool:
        """Whether tools are listed with Claude Code's names; over notes alone they always are."""
        return self.anthropic_compat or self.no_workspace


SETTINGS: Final[tuple[Setting, ...]] = tuple(
    Setting(name=each.name, default=each.default, **each.metadata)
    for each in fields(Settings)
    if each.metadata
)
BY_NAME: Final[Mapping[str, Setting]] = {row.name: row for row in SETTINGS}


def read_settings(given: Mapping[str, Any], environment: Mapping[str, str]) -> Settings:
    """Join flags over environment over defaults; a bad value is a `SettingsError` naming it."""
    values = {row.name: _given(row, given, environment) for row in SETTINGS}
    kept = {name: value for name, value in values.items() if value is not None}
    settings = Settings(**kept, explicit=frozenset(kept))
    # The default share is not checked: with few connections, one token may hold all of them.
    if "live_share" in settings.explicit and settings.live_share > settings.live_connections:
        raise SettingsError(
            f"--live-share is {settings.live_share}, more than the {settings.live_connections} "
            "of --live-connections; lower the share, or raise --live-connections"
        )
    return settings


_SHARED: Final = tuple(
    row
    for row in SETTINGS
    if not (row.serve_only or row.per_connection)
    and row.name not in ("workdir", "log_level", "log_format")
)
"""What a connection must share with a server; the place of the socket ensures the workdir."""
_CREDENTIALS: Final = re.compile(r"://[^/@\s]*@")
_TOLD_CHARS: Final = 500


def settings_hash(settings: Settings, version: str) -> str:
    """What a connection must share with a server to be served by it.

    Everything but how servers are reached and what belongs to each connection: scope, index, size
    limits, skill and knowledge base.
    """
    parts = [version, os.path.realpath(settings.workdir)]
    parts += [f"{row.name}={_resolved(row.name, getattr(settings, row.name))!r}" for row in _SHARED]
    return hashlib.blake2b(
        "\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=12
    ).hexdigest()


def shared_settings(settings: Settings) -> dict[str, str]:
    """What `settings_hash` covers, by flag, in words for a person: to say what differs."""
    return {row.flag: _told(_resolved(row.name, getattr(settings, row.name))) for row in _SHARED}


def _told(value: Any) -> str:
    """A value as another process of the same user may see it; never with a password."""
    if isinstance(value, bool):
        return "on" if value else "off"
    text = " ".join(map(str, value)) if isinstance(value, tuple) else str(value or "")
    text = _CREDENTIALS.sub("://…@", text)
    text = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return f"{text[:_TOLD_CHARS]}…" if len(text) > _TOLD_CHARS else text or "not set"


def _resolved(name: str, value: Any) -> Any:
    """A relative path means another place to a server that started elsewhere."""
    if name == "allow_dir":
        return tuple(os.path.realpath(path) for path in value)
    return os.path.realpath(value) if value and name in ("state_dir", "skill_file", "kb") else value


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Variables that look like our settings and are not: most likely a typo."""
    known = {row.environment for row in SETTINGS} | OTHER_VARIABLES
    return sorted(
        name for name in environment if name.startswith(ENVIRONMENT_PREFIX) and name not in known
    )


def closest_variable(name: str) -> str:
    """The variable of ours that a typo was meant for; "" where none is near."""
    import difflib  # only where there is one: a start need not load it

    # Without what all of them begin with, which would make any two alike.
    known = {row.environment.removeprefix(ENVIRONMENT_PREFIX): row.environment for row in SETTINGS}
    close = difflib.get_close_matches(name.removeprefix(ENVIRONMENT_PREFIX), known, 1, 0.75)
    return known[close[0]] if close else ""


def _given(row: Setting, given: Mapping[str, Any], environment: Mapping[str, str]) -> Any:
    flag_value = given.get(row.name)
    if flag_value not in (None, (), False):
        return _parsed(row, flag_value, row.flag)
    text = environment.get(row.environment)
    if text is None:
        return None
    if row.repeatable and not text:
        # An unset variable passed on as an empty one must not open what was meant to be closed.
        raise SettingsError(f"{row.environment} is set but empty; unset it, or give it a value")
    if row.repeatable:
        return _parsed(row, [part for part in text.split(os.pathsep) if part], row.environment)
    return _parsed(row, text, row.environment)


def _parsed(row: Setting, value: Any, source: str) -> Any:
    try:
        if row.is_switch and value is True:
            return True
        if row.repeatable:
            return tuple(row.parse(str(part)) for part in value)
        return row.parse(str(value))
    except SettingsError as error:
        raise SettingsError(f"{source}: {error}") from None
